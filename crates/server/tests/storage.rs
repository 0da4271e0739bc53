//! What happens when the journal cannot be written, and how large it gets.

mod common;

use common::{Rig, cluster, job, until};
use heeler_api::{Code, Role, Who};
use heeler_journal::{Disk, DiskFile, Folder};
use heeler_live::{Ask, Done};
use heeler_server::noop::{Noop, RUNS_MS};
use heeler_server::{Asker, Handle, Loop, Server, Settings};
use serde_json::json;
use std::fs::File;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// A real folder on a disk that can be made full.
#[derive(Debug)]
struct Tight(Folder, Arc<AtomicBool>);

/// A file there.
#[derive(Debug)]
struct TightFile(File, Arc<AtomicBool>);

fn room(full: &AtomicBool) -> io::Result<()> {
    match full.load(Ordering::SeqCst) {
        true => Err(io::ErrorKind::StorageFull.into()),
        false => Ok(()),
    }
}

impl Disk for Tight {
    type File = TightFile;

    fn list(&mut self) -> io::Result<Vec<String>> {
        self.0.list()
    }

    fn open(&mut self, name: &str, create: bool) -> io::Result<TightFile> {
        Ok(TightFile(self.0.open(name, create)?, self.1.clone()))
    }

    fn rename(&mut self, from: &str, to: &str) -> io::Result<()> {
        self.0.rename(from, to)
    }

    fn remove(&mut self, name: &str) -> io::Result<()> {
        self.0.remove(name)
    }

    fn sync_names(&mut self) -> io::Result<()> {
        self.0.sync_names()
    }

    fn salt(&mut self) -> u64 {
        self.0.salt()
    }
}

impl DiskFile for TightFile {
    fn read(&mut self) -> io::Result<Vec<u8>> {
        DiskFile::read(&mut self.0)
    }

    fn write_at(&mut self, byte: u64, bytes: &[u8]) -> io::Result<usize> {
        room(&self.1)?;
        DiskFile::write_at(&mut self.0, byte, bytes)
    }

    fn set_len(&mut self, bytes: u64) -> io::Result<()> {
        DiskFile::set_len(&mut self.0, bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        room(&self.1)?;
        DiskFile::sync(&mut self.0)
    }
}

fn admin() -> Who {
    Who { user: "root".into(), role: Role::Admin, ..Who::default() }
}

fn submit(handle: &Handle, job: serde_json::Value) -> Result<Done, heeler_api::Problem> {
    let job = serde_json::from_value(job).expect("a job");
    handle.ask(Asker::Known(admin()), Ask::Submit(vec![job]))
}

fn noop(tell: heeler_backend::Tell) -> Result<Box<dyn heeler_backend::Backend>, String> {
    Ok(Box::new(Noop::new(cluster(), Duration::from_secs(60), tell)))
}

#[test]
fn a_full_disk_changes_nothing_and_loses_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let full = Arc::new(AtomicBool::new(false));
    let settings = Settings::new(folder.path());
    let disk = || {
        let journal = Folder::open(&folder.path().join("journal")).expect("a folder");
        Tight(journal, full.clone())
    };
    let main = Loop::start_on(disk(), &settings, noop).expect("a loop");
    let server = Server::listen(&settings, main).expect("a server");
    let client = common::Client { socket: settings.socket(), token: None };
    let mut short = job("short");
    short["env"] = json!({ RUNS_MS: "400" });
    assert_eq!(client.post("/v1/jobs", &short).status, 201);
    client.wait_for(1, "running");

    full.store(true, Ordering::SeqCst);
    let got = client.post("/v1/jobs", &job("refused"));
    assert_eq!((got.status, got.code().as_str()), (507, "not-stored"), "{}", got.text());
    assert_eq!(client.post("/v1/jobs/1/cancel", &json!(null)).status, 507);
    assert_eq!(client.get("/v1/jobs/1").json()["state"], "running");
    until(|| (client.get("/readyz").status == 503).then_some(()));
    // Meanwhile the job ends, and that cannot be written down either.
    std::thread::sleep(Duration::from_millis(600));
    assert_eq!(client.get("/v1/jobs/1").json()["state"], "running");
    assert!(client.get("/v1/server").json()["notes"].to_string().contains("cannot be written"));

    full.store(false, Ordering::SeqCst);
    client.wait_for(1, "completed");
    until(|| (client.get("/readyz").status == 200).then_some(()));
    let next = client.post("/v1/jobs", &job("next")).json();
    assert_eq!(next[0]["job"], 2, "the number of what was refused was not used");
    server.stop().expect("it ends well");
    let again = Loop::start_on(disk(), &settings, noop).expect("a loop");
    let states = again.handle().look(|live| {
        [1, 2, 3].map(|job| live.job(&admin(), job).map(|job| job.name).map_err(|no| no.code))
    });
    assert_eq!(states, [Ok("short".into()), Ok("next".into()), Err(Code::NotFound)]);
    again.stop().expect("it ends well");
}

#[test]
fn snapshots_keep_the_journal_short_and_are_enough_to_go_on() {
    let folder = tempfile::tempdir().expect("a folder");
    let settings = Settings { snapshot_bytes: 20_000, ..Settings::new(folder.path()) };
    let main = Loop::start(&settings, noop).expect("a loop");
    for number in 0..100 {
        submit(&main.handle(), job(&format!("job{number}"))).expect("it is taken up");
    }
    main.stop().expect("it ends well");
    let names = std::fs::read_dir(folder.path().join("journal")).expect("a folder");
    let names: Vec<String> =
        names.map(|entry| entry.expect("a file").file_name().to_string_lossy().into()).collect();
    assert!(names.iter().any(|name| name.contains("snap")), "{names:?}");
    let again = Loop::start(&settings, noop).expect("a loop");
    let found = again.handle().look(|live| live.job(&admin(), 100).map(|job| job.name));
    assert_eq!(found, Ok("job99".into()));
    let next = submit(&again.handle(), job("next")).expect("it is taken up");
    assert!(matches!(&next, Done::Submitted(jobs) if jobs[0].job == 101), "{next:?}");
    again.stop().expect("it ends well");
}

#[test]
fn many_at_once_share_a_record() {
    let rig = Rig::new();
    let handle = rig.server.as_ref().expect("a server").handle();
    let threads: Vec<_> = (0..8)
        .map(|thread| {
            let handle = handle.clone();
            std::thread::spawn(move || {
                for number in 0..25 {
                    submit(&handle, job(&format!("t{thread}-{number}"))).expect("taken up");
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().expect("it ends");
    }
    let jobs = rig.client().get("/v1/jobs").json();
    let mut ids: Vec<u64> =
        jobs.as_array().expect("a list").iter().map(|job| job["id"].as_u64().unwrap()).collect();
    ids.dedup();
    assert_eq!(ids, (1..=200).collect::<Vec<_>>());
}
