//! A job's terminal as this one: what is typed goes there, what it shows comes here. The terminal
//! is always given back as it was.

use super::run::begun;
use super::wait;
use crate::client::Client;
use crate::mistake::Mistake;
use anyhow::Result;
use heeler_api::JobView;
use heeler_backend::{Window, frame, resized};
use std::io::{IsTerminal, Read, Write};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

/// Whether there is a terminal to give.
pub(crate) fn check() -> Result<()> {
    if std::io::stdin().is_terminal() && std::io::stdout().is_terminal() {
        return Ok(());
    }
    let mistake = Mistake::new("`--pty` gives the job this terminal, and there is none here");
    Err(mistake.hint("leave it out").into())
}

/// A terminal that passes on every key, until it is dropped.
struct Raw;

impl Raw {
    fn take() -> Result<Raw> {
        crossterm::terminal::enable_raw_mode()?;
        Ok(Raw)
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        // There is nobody left to tell if even this fails.
        let _ = crossterm::terminal::disable_raw_mode();
    }
}

fn window() -> Window {
    // A terminal that does not know its size says zero.
    let known =
        crossterm::terminal::size().ok().filter(|(columns, rows)| *columns > 0 && *rows > 0);
    let (columns, rows) = known.unwrap_or((80, 24));
    Window { rows, columns }
}

/// Be a job's terminal until it is over. A job that is stopped and goes on gets it again.
pub(crate) async fn follow(client: &Client, job: u32) -> Result<JobView> {
    let mut typed: Option<mpsc::Receiver<Vec<u8>>> = None;
    loop {
        let view = begun(client, job).await?;
        if view.state.is_over() {
            return Ok(view);
        }
        let typed = typed.get_or_insert_with(keys);
        if let Err(error) = attach(client, job, typed).await {
            let view = wait::until(client, job, |_| true).await?;
            // A job that ended in between has no terminal any more.
            if !view.state.is_over() {
                return Err(error);
            }
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
}

/// What is typed, read on a thread of its own: reading keys cannot be given up.
fn keys() -> mpsc::Receiver<Vec<u8>> {
    let (send, receive) = mpsc::channel(16);
    std::thread::spawn(move || {
        let mut buffer = [0_u8; 4096];
        while let Ok(count @ 1..) = std::io::stdin().lock().read(&mut buffer) {
            if send.blocking_send(buffer[..count].to_vec()).is_err() {
                return;
            }
        }
    });
    receive
}

async fn attach(client: &Client, job: u32, typed: &mut mpsc::Receiver<Vec<u8>>) -> Result<()> {
    let size = window();
    let path = format!("/v1/jobs/{job}/attach?rows={}&columns={}", size.rows, size.columns);
    let stream = client.upgrade(&path).await?;
    let (mut from, mut to) = tokio::io::split(stream);
    let mut sizes = signal(SignalKind::window_change())?;
    let _raw = Raw::take()?;
    let mut buffer = vec![0_u8; 16 << 10];
    loop {
        tokio::select! {
            read = from.read(&mut buffer) => match read {
                Ok(0) | Err(_) => return Ok(()),
                Ok(count) => {
                    let mut out = std::io::stdout();
                    out.write_all(&buffer[..count])?;
                    out.flush()?;
                }
            },
            keys = typed.recv() => match keys {
                Some(keys) => send(&mut to, &frame(&keys)).await,
                None => return Ok(()),
            },
            _ = sizes.recv() => send(&mut to, &resized(window())).await,
        }
    }
}

/// A terminal that went away in the meantime says so when it is read.
async fn send(to: &mut (impl AsyncWriteExt + Unpin), bytes: &[u8]) {
    let _ = to.write_all(bytes).await;
}
