//! How fast records become durable here, beside the plainest thing that could be done: append the
//! same bytes to a file and sync it. Both take turns, so that a busy disk slows both alike.
//! `cargo run --release -p heeler-journal --example rate -- FOLDER [ROUNDS]`

use heeler_journal::{Folder, Journal, Settings};
use std::fs::OpenOptions;
use std::io::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// About as long as a submission of one job.
const RECORD_BYTES: usize = 600;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder = PathBuf::from(arguments.next().ok_or("say in which folder to write")?);
    let rounds: u32 = arguments.next().map_or(Ok(1000), |text| text.parse())?;
    let path = folder.join("rate-journal");
    let mut journal = Journal::open(Folder::open(&path)?, Settings::default())?.journal;
    let plain = folder.join("rate-plain");
    let mut file = OpenOptions::new().create(true).append(true).open(&plain)?;
    let record = vec![b'r'; RECORD_BYTES];
    let (mut ours, mut raw) = (Duration::ZERO, Duration::ZERO);
    for _ in 0..rounds {
        let start = Instant::now();
        file.write_all(&record)?;
        file.sync_data()?;
        raw += start.elapsed();
        let start = Instant::now();
        journal.append(&record)?;
        journal.sync()?;
        ours += start.elapsed();
    }
    let start = Instant::now();
    for _ in 0..rounds.div_ceil(10) {
        for _ in 0..100 {
            journal.append(&record)?;
        }
        journal.sync()?;
    }
    let batched = f64::from(rounds.div_ceil(10) * 100) / start.elapsed().as_secs_f64();
    let rate = |time: Duration| f64::from(rounds) / time.as_secs_f64();
    println!("append and sync of a file: {:.0} records/s", rate(raw));
    println!("this journal, one by one:  {:.0} records/s", rate(ours));
    println!("this journal, by hundreds: {batched:.0} records/s");
    println!("ratio, one by one: {:.2}", rate(ours) / rate(raw));
    drop(journal);
    std::fs::remove_dir_all(path)?;
    std::fs::remove_file(plain)?;
    Ok(())
}
