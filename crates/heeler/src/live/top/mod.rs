//! `heeler top`: GPUs, jobs and tenants on a terminal, drawn again when something happens.

mod draw;

use super::asking::Asking;
use super::events;
use crate::client::{Address, Client};
use crate::mistake::Mistake;
use anyhow::Result;
use clap::Args;
use crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};
use heeler_api::{JobView, NodeView, ServerView, TenantView};
use std::io::IsTerminal;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};
use tokio::signal::unix::{SignalKind, signal};

/// Keys are looked for so often.
const TICK: Duration = Duration::from_millis(100);
/// At most so often something new is asked for.
const FRESH: Duration = Duration::from_millis(250);
/// At least so often: times go on though nothing happens.
const STALE: Duration = Duration::from_secs(1);

#[derive(Args)]
pub(crate) struct Top {
    #[command(flatten)]
    asking: Asking,
}

/// What is shown.
#[derive(Clone, Debug, Default)]
struct Seen {
    server: ServerView,
    nodes: Vec<NodeView>,
    jobs: Vec<JobView>,
    tenants: Vec<TenantView>,
    /// What went wrong when it was last asked for.
    trouble: Option<String>,
    /// The first line of jobs that is shown.
    scroll: usize,
}

enum News {
    /// Something happened.
    Changed,
    /// This command is to end.
    End,
}

impl Top {
    pub(crate) fn run(&self) -> Result<()> {
        let client = self.asking.client()?;
        let mut seen = Seen::default();
        look(&client, &mut seen)?;
        if self.asking.json {
            let jobs = &seen.jobs;
            return super::asking::print_json("jobs", jobs);
        }
        if !std::io::stdout().is_terminal() {
            let mistake = Mistake::new("`heeler top` needs a terminal");
            return Err(mistake.hint("`heeler queue` and `heeler nodes` print once").into());
        }
        let (tell, news) = channel();
        watch_events(client.address().clone(), tell.clone());
        watch_signals(tell);
        // Gives the terminal back when this panics, too.
        let mut terminal = ratatui::try_init()?;
        let done = show(&mut terminal, &client, &mut seen, &news);
        ratatui::restore();
        done
    }
}

fn show(
    terminal: &mut ratatui::DefaultTerminal,
    client: &Client,
    seen: &mut Seen,
    news: &Receiver<News>,
) -> Result<()> {
    let (mut looked, mut changed) = (Instant::now(), false);
    loop {
        terminal.draw(|frame| draw::draw(frame, seen))?;
        if event::poll(TICK)? && is_end(&event::read()?, seen) {
            return Ok(());
        }
        for one in news.try_iter() {
            match one {
                News::End => return Ok(()),
                News::Changed => changed = true,
            }
        }
        let age = looked.elapsed();
        if age >= STALE || (changed && age >= FRESH) {
            // A server that is away for a while comes back.
            seen.trouble = look(client, seen).err().map(|error| format!("{error:#}"));
            (looked, changed) = (Instant::now(), false);
        }
    }
}

/// Whether a key ends it; others scroll.
fn is_end(event: &Event, seen: &mut Seen) -> bool {
    let Event::Key(key) = event else { return false };
    if key.kind == KeyEventKind::Release {
        return false;
    }
    let last = seen.jobs.len().saturating_sub(1);
    match key.code {
        KeyCode::Char('q') | KeyCode::Esc => return true,
        KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => return true,
        KeyCode::Down | KeyCode::Char('j') => seen.scroll = (seen.scroll + 1).min(last),
        KeyCode::Up | KeyCode::Char('k') => seen.scroll = seen.scroll.saturating_sub(1),
        KeyCode::PageDown => seen.scroll = (seen.scroll + 20).min(last),
        KeyCode::PageUp => seen.scroll = seen.scroll.saturating_sub(20),
        _ => {}
    }
    false
}

fn look(client: &Client, seen: &mut Seen) -> Result<()> {
    seen.server = client.get("/v1/server")?;
    seen.nodes = client.get("/v1/nodes")?;
    seen.jobs = client.get("/v1/jobs?state=active&limit=500")?;
    seen.tenants = client.get("/v1/tenants")?;
    seen.jobs.sort_by_key(|job| (job.on.is_none(), job.id));
    seen.scroll = seen.scroll.min(seen.jobs.len().saturating_sub(1));
    Ok(())
}

/// Tell of everything that happens, through restarts of the server.
fn watch_events(address: Address, tell: Sender<News>) {
    std::thread::spawn(move || {
        let Ok(client) = Client::at(address) else { return };
        loop {
            let ended: Result<()> = client.wait_for(async {
                let mut events = events::follow(&client).await?;
                while events.event().await?.is_some() {
                    tell.send(News::Changed)?;
                }
                Ok(())
            });
            let nobody_listens =
                |error: &anyhow::Error| error.is::<std::sync::mpsc::SendError<News>>();
            if ended.as_ref().is_err_and(nobody_listens) {
                return;
            }
            std::thread::sleep(STALE);
        }
    });
}

/// Tell when this command is to end, so that the terminal is given back before it does.
fn watch_signals(tell: Sender<News>) {
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let Ok(runtime) = runtime else { return };
        let ended = runtime.block_on(async {
            let mut term = signal(SignalKind::terminate())?;
            let mut hangup = signal(SignalKind::hangup())?;
            tokio::select! { _ = term.recv() => {}, _ = hangup.recv() => {} }
            Ok::<_, std::io::Error>(())
        });
        if ended.is_ok() {
            // Nobody listens if it has ended already.
            let _ = tell.send(News::End);
        }
    });
}
