//! How fast one client can hand in jobs that survive a power loss, beside how fast the disk lets
//! anybody append and sync: `cargo bench -p heeler-server --bench submits [-- FOLDER]`.

use heeler_model::Cluster;
use heeler_server::noop::Noop;
use heeler_server::{Server, Settings};
use std::io::{BufRead, BufReader, Read, Seek, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

const SINGLE: u32 = 1_000;
const BATCHES: u32 = 100;
const BATCH: usize = 100;

fn main() {
    let place = std::env::args().skip(1).find(|word| !word.starts_with('-'));
    let folder = match place {
        Some(place) => tempfile::tempdir_in(place),
        None => tempfile::tempdir(),
    };
    let folder = folder.expect("a folder");
    let job = r#"{"name":"bench","command":["true"],"dir":"/","gpus":{"count":1}}"#;
    let raw = writes(folder.path(), job.len() * 4, 0);
    println!("append and sync           {raw:9.0} /s");
    let ahead = writes(folder.path(), job.len() * 4, 64 << 20);
    println!("the same, filled ahead    {ahead:9.0} /s");

    let settings = Settings::new(folder.path().join("state"));
    let world = |tell| {
        let runs = Duration::from_secs(3_600);
        Ok(Box::new(Noop::new(Cluster::uniform(1, 8), runs, tell)) as _)
    };
    let server = Server::start(&settings, world).expect("a server");
    let mut client = Client::new(&settings.socket());
    let start = Instant::now();
    for _ in 0..SINGLE {
        client.post(job);
    }
    let single = f64::from(SINGLE) / start.elapsed().as_secs_f64();
    let (of_raw, of_ahead) = (single / raw, single / ahead);
    println!("submits one by one        {single:9.0} /s   {of_raw:.2} and {of_ahead:.2} of those");
    let raw = writes(folder.path(), job.len() * 4, 0);
    println!("append and sync, again    {raw:9.0} /s   {:.2} of that", single / raw);

    let batch = format!("[{}]", vec![job; BATCH].join(","));
    let start = Instant::now();
    for _ in 0..BATCHES {
        client.post(&batch);
    }
    let jobs = f64::from(BATCHES) * BATCH as f64 / start.elapsed().as_secs_f64();
    println!("jobs in batches of {BATCH}    {jobs:9.0} /s");
    let metrics = client.get("/metrics");
    for name in ["journal_sync_seconds", "decision_seconds", "http_request_seconds"] {
        let value = |part: &str| {
            let name = format!("heeler_{name}_{part} ");
            let line = metrics.lines().find_map(|line| line.strip_prefix(name.as_str()));
            line.and_then(|value| value.parse::<f64>().ok()).unwrap_or(f64::NAN)
        };
        println!("mean {name:21} {:9.0} us", value("sum") / value("count") * 1e6);
    }
    server.stop().expect("it ends well");
}

/// How often a record can be added to a file and synced in a second, if so many bytes of zeros were
/// written there before.
fn writes(folder: &Path, bytes: usize, ahead: usize) -> f64 {
    let mut file = std::fs::File::create(folder.join("raw")).expect("a file");
    file.write_all(&vec![0; ahead]).expect("written");
    file.sync_all().expect("synced");
    file.rewind().expect("at the beginning");
    let record = vec![b'x'; bytes];
    let start = Instant::now();
    let mut count = 0;
    while start.elapsed() < Duration::from_secs(2) {
        file.write_all(&record).expect("written");
        file.sync_data().expect("synced");
        count += 1;
    }
    f64::from(count) / start.elapsed().as_secs_f64()
}

/// One connection, kept.
struct Client(BufReader<UnixStream>);

impl Client {
    fn new(socket: &Path) -> Client {
        Client(BufReader::new(UnixStream::connect(socket).expect("a socket")))
    }

    fn post(&mut self, body: &str) {
        let request = format!(
            "POST /v1/jobs HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n\
             content-length: {}\r\n\r\n{body}",
            body.len()
        );
        let (status, text) = self.exchange(&request);
        assert!(status.contains(" 201 "), "{status}: {text}");
    }

    fn get(&mut self, path: &str) -> String {
        self.exchange(&format!("GET {path} HTTP/1.1\r\nhost: x\r\n\r\n")).1
    }

    fn exchange(&mut self, request: &str) -> (String, String) {
        self.0.get_mut().write_all(request.as_bytes()).expect("sent");
        let (mut status, mut length) = (String::new(), 0);
        self.0.read_line(&mut status).expect("an answer");
        loop {
            let mut line = String::new();
            self.0.read_line(&mut line).expect("a header");
            let line = line.trim_end();
            if line.is_empty() {
                break;
            }
            if let Some(value) = line.strip_prefix("content-length: ") {
                length = value.parse().expect("a length");
            }
        }
        let mut body = vec![0; length];
        self.0.read_exact(&mut body).expect("a body");
        (status, String::from_utf8(body).expect("text"))
    }
}
