//! A whole server whose jobs are no processes, to try the API against:
//! `cargo run -p heeler-server --example noop -- STATE-FOLDER [127.0.0.1:PORT]`.

use heeler_model::Cluster;
use heeler_server::noop::Noop;
use heeler_server::{Settings, Tcp};
use std::time::Duration;

fn main() -> Result<(), String> {
    let mut words = std::env::args().skip(1);
    let mut settings = Settings::new(words.next().ok_or("name a folder")?);
    if let Some(listen) = words.next() {
        let listen = listen.parse().map_err(|error| format!("{listen}: {error}"))?;
        settings.tcp = Some(Tcp { listen, tls: None });
    }
    heeler_server::log_to_stderr("info", false)?;
    heeler_server::serve(&settings, |tell| {
        Ok(Box::new(Noop::new(Cluster::uniform(2, 4), Duration::from_secs(2), tell)))
    })
    .map_err(|error| error.to_string())
}
