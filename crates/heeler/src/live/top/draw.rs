//! What `heeler top` looks like.

use super::Seen;
use crate::live::{queue, words};
use heeler_api::{JobState, JobView, NodeView};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Cell, Gauge, Paragraph, Row, Table};

/// Draw everything.
pub(super) fn draw(frame: &mut Frame<'_>, seen: &Seen) {
    let nodes = (seen.nodes.len() as u16 + 2).min(frame.area().height / 3).max(3);
    let tenants = (seen.tenants.len() as u16 + 3).min(frame.area().height / 4).max(3);
    let parts = [
        Constraint::Length(1),
        Constraint::Length(1),
        Constraint::Length(nodes),
        Constraint::Min(3),
        Constraint::Length(tenants),
        Constraint::Length(1),
    ];
    let [top, gauge, nodes, jobs, tenants, bottom] = Layout::vertical(parts).areas(frame.area());
    frame.render_widget(heading(seen), top);
    frame.render_widget(use_of_gpus(seen), gauge);
    draw_nodes(frame, nodes, seen);
    draw_jobs(frame, jobs, seen);
    draw_tenants(frame, tenants, seen);
    let keys = match &seen.trouble {
        Some(trouble) => Line::styled(trouble.clone(), Style::new().fg(Color::Red)),
        None => Line::from("q quits   ↑ ↓ scroll"),
    };
    frame.render_widget(Paragraph::new(keys), bottom);
}

fn heading(seen: &Seen) -> Paragraph<'static> {
    let counts: Vec<String> =
        seen.server.jobs.iter().map(|(state, count)| format!("{count} {state}")).collect();
    let bold = Style::new().add_modifier(Modifier::BOLD);
    Paragraph::new(Line::from(vec![
        Span::styled(format!("Heeler {} ", seen.server.version), bold),
        Span::raw(format!("  {}   {}", seen.server.recipe, counts.join(", "))),
    ]))
}

fn use_of_gpus(seen: &Seen) -> Gauge<'static> {
    let all = u64::from(seen.server.gpus) * 1000;
    let part = if all == 0 { 0.0 } else { seen.server.used_milli as f64 / all as f64 };
    let label = format!("{} of {} GPUs", words::gpus(seen.server.used_milli), seen.server.gpus);
    Gauge::default().ratio(part.clamp(0.0, 1.0)).label(label).gauge_style(Color::Green)
}

fn draw_nodes(frame: &mut Frame<'_>, area: Rect, seen: &Seen) {
    let rows = seen.nodes.iter().map(|node| {
        Row::new([
            Cell::from(node.name.clone()),
            Cell::from(node.state.clone()).style(match node.state.as_str() {
                "up" => Style::new(),
                _ => Style::new().fg(Color::Yellow),
            }),
            Cell::from(node.kind.clone()),
            Cell::from(bar(node)),
            Cell::from(readings(node)),
        ])
    });
    let widths = [
        Constraint::Length(16),
        Constraint::Length(9),
        Constraint::Length(16),
        Constraint::Length(20),
        Constraint::Min(10),
    ];
    let table = Table::new(rows, widths).block(Block::bordered().title("nodes"));
    frame.render_widget(table, area);
}

/// GPUs as boxes: full ones are in use.
fn bar(node: &NodeView) -> String {
    let used = (node.gpus * 1000).saturating_sub(node.free_milli).div_ceil(1000);
    let boxes = |count: u32, letter: &str| letter.repeat(count.min(16) as usize);
    format!("{}{}", boxes(used, "■"), boxes(node.gpus.saturating_sub(used), "□"))
}

fn readings(node: &NodeView) -> String {
    let each = node.readings.iter().map(|gpu| {
        let percent = gpu.get("use-percent").copied().unwrap_or(0.0);
        let memory = gpu.get("memory-used-mb").copied().unwrap_or(0.0) / 1024.0;
        format!("{percent:.0}% {memory:.0}G")
    });
    each.collect::<Vec<_>>().join("  ")
}

fn draw_jobs(frame: &mut Frame<'_>, area: Rect, seen: &Seen) {
    let header = Row::new(["job", "name", "user", "tenant", "state", "GPUs", "time", "on or why"])
        .style(Style::new().add_modifier(Modifier::BOLD));
    let rows = seen.jobs.iter().skip(seen.scroll).take(area.height as usize).map(|job| {
        let state = Cell::from(words::state(job.state)).style(colour(job.state));
        let mut cells: Vec<Cell<'_>> =
            [words::label(job), job.name.clone(), job.user.clone(), job.tenant.clone()]
                .into_iter()
                .map(Cell::from)
                .collect();
        cells.push(state);
        cells.extend([job.gpus.to_string(), words::clock(job.ran_s), place(job)].map(Cell::from));
        Row::new(cells)
    });
    let widths = [
        Constraint::Length(9),
        Constraint::Length(18),
        Constraint::Length(10),
        Constraint::Length(10),
        Constraint::Length(10),
        Constraint::Length(4),
        Constraint::Length(11),
        Constraint::Min(10),
    ];
    let title = format!("jobs ({})", seen.jobs.len());
    let table = Table::new(rows, widths).header(header).block(Block::bordered().title(title));
    frame.render_widget(table, area);
}

fn place(job: &JobView) -> String {
    let progress = job.progress.map(|part| format!(" {:.0}%", part * 100.0)).unwrap_or_default();
    match &job.on {
        Some(on) => format!("{on}{progress}"),
        None => queue::reason(job),
    }
}

fn colour(state: JobState) -> Style {
    match state {
        JobState::Running => Style::new().fg(Color::Green),
        JobState::Starting | JobState::Stopping => Style::new().fg(Color::Cyan),
        JobState::Suspended | JobState::Held => Style::new().fg(Color::Yellow),
        _ => Style::new(),
    }
}

fn draw_tenants(frame: &mut Frame<'_>, area: Rect, seen: &Seen) {
    let header = Row::new(["tenant", "in use", "quota", "limit", "jobs"])
        .style(Style::new().add_modifier(Modifier::BOLD));
    let rows = seen.tenants.iter().map(|tenant| {
        let some = |gpus: Option<u32>| gpus.map_or("–".into(), |gpus| gpus.to_string());
        Row::new([
            tenant.name.clone(),
            words::gpus(tenant.used_milli),
            some(tenant.quota),
            some(tenant.limit),
            tenant.jobs.to_string(),
        ])
    });
    let table = Table::new(
        rows,
        [
            Constraint::Length(20),
            Constraint::Length(8),
            Constraint::Length(8),
            Constraint::Length(8),
            Constraint::Min(6),
        ],
    )
    .header(header)
    .block(Block::bordered().title("tenants"));
    frame.render_widget(table, area);
}

#[cfg(test)]
mod tests {
    use super::*;
    use heeler_api::{ReasonView, ServerView, TenantView};
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    #[test]
    fn everything_is_on_the_screen() {
        let waiting = JobView {
            id: 18,
            name: "big".into(),
            gpus: 8,
            reason: Some(ReasonView { sentence: "it needs 8".into(), ..ReasonView::default() }),
            ..JobView::default()
        };
        let running = JobView {
            id: 17,
            state: JobState::Running,
            on: Some("n0[0-3]".into()),
            ran_s: 65.0,
            ..JobView::default()
        };
        let node = NodeView {
            name: "n0".into(),
            state: "up".into(),
            gpus: 8,
            free_milli: 4000,
            ..NodeView::default()
        };
        let seen = Seen {
            server: ServerView { gpus: 8, used_milli: 4000, ..ServerView::default() },
            nodes: vec![node],
            jobs: vec![running, waiting],
            tenants: vec![TenantView { name: "vision".into(), ..TenantView::default() }],
            trouble: None,
            scroll: 0,
        };
        let mut terminal = Terminal::new(TestBackend::new(110, 30)).expect("a screen");
        terminal.draw(|frame| draw(frame, &seen)).expect("it is drawn");
        let screen = terminal.backend().to_string();
        for text in
            ["4 of 8 GPUs", "■■■■□□□□", "n0[0-3]", "1:05", "it needs 8", "vision", "q quits"]
        {
            assert!(screen.contains(text), "{text} is missing:\n{screen}");
        }
        let small = TestBackend::new(5, 2);
        Terminal::new(small).expect("a screen").draw(|frame| draw(frame, &seen)).expect("it fits");
    }
}
