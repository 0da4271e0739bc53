//! The metrics of one simulation as text.

use super::number::{count, decimal, percent, seconds};
use super::table::Table;
use heeler_engine::Calibration;
use heeler_sim::Loan;
use heeler_sim::metrics::{
    FinishTime, Group, NodeFigures, ServiceFigures, Spread, StudySummary, Summary,
};

/// What is simulated, in a line.
pub(crate) fn facts_line(facts: &[(String, String)]) -> String {
    let parts: Vec<String> = facts.iter().map(|(name, value)| format!("{name} {value}")).collect();
    parts.join(" · ")
}

/// What a simulation showed.
pub(crate) fn summary(summary: &Summary) -> String {
    let mut times = Table::new(&["", "mean>", "p50>", "p95>", "p99>", "max>"]);
    // Of nobody there is nothing to say.
    let known = summary.jobs.finished > 0;
    times.row(spread("completion", &summary.completion_s, known));
    times.row(spread("waiting", &summary.waiting_s, known));
    let mut fairness = Table::new(&[
        "finish-time fairness",
        "mean>",
        "p50>",
        "p99>",
        "worst>",
        "above 1.05>",
        "Gini>",
    ]);
    let variants = &summary.fairness;
    fairness.row(ratio("against equal shares", &variants.isolated, known));
    fairness.row(ratio("against mean contention", &variants.themis, known));
    fairness.row(ratio("against static contention", &variants.static_contention, known));
    let mut text = format!("{}\n{}\n{}", times.text(), facts(summary), fairness.text());
    if let Some(table) = shares(summary) {
        text.push_str(&format!("\n{table}"));
    }
    for table in [services(&summary.services), loans(&summary.loans)].into_iter().flatten() {
        text.push_str(&format!("\n{table}"));
    }
    if let Some(table) = predictions(&summary.predictions) {
        text.push_str(&format!("\n{table}"));
    }
    if !summary.studies.is_empty() {
        text.push_str(&format!("\n{}", studies(&summary.studies)));
    }
    text
}

/// What predictors said beside what was seen, unless they were always right.
fn predictions(all: &[Calibration]) -> Option<String> {
    let stated = all.iter().any(|known| known.within_stated.is_some());
    let mut columns =
        vec!["predicted", "by>", "seen>", "unknown>", "factor>", "p10>", "p50>", "p90>"];
    columns.push("within 2x>");
    columns.extend(stated.then_some("within 2σ>"));
    let mut table = Table::new(&columns);
    let mut wrong = all.iter().filter(|known| !known.is_exact()).peekable();
    wrong.peek()?;
    for known in wrong {
        let within = known.within_stated.map_or_else(|| "–".to_string(), percent);
        // Of one that never said anything nothing is known.
        let said = |text: String| if known.seen == 0 { "–".to_string() } else { text };
        let cells = [
            known.of.clone(),
            known.predictor.clone(),
            count(known.seen),
            count(known.unknown),
            said(decimal(known.factor)),
            said(decimal(known.ratio_p10)),
            said(decimal(known.ratio_p50)),
            said(decimal(known.ratio_p90)),
            said(percent(known.within_double)),
        ];
        table.row(cells.into_iter().chain(stated.then_some(within)));
    }
    Some(table.text())
}

/// How services fared, if there are any.
fn services(services: &[ServiceFigures]) -> Option<String> {
    let columns = [
        "service",
        "requests>",
        "in time>",
        "p50>",
        "p95>",
        "p99>",
        "batch>",
        "cached>",
        "replicas>",
        "GPU-hours>",
    ];
    let mut table = Table::new(&columns);
    for service in services {
        let latency = &service.latency_ms;
        let ms = |value: f64| match service.answered {
            0 => "–".to_string(),
            _ if value < 10_000.0 => format!("{} ms", decimal(value)),
            _ => seconds(value / 1000.0),
        };
        table.row([
            service.name.clone(),
            count(service.requests),
            percent(service.attainment),
            ms(latency.p50),
            ms(latency.p95),
            ms(latency.p99),
            decimal(service.batch),
            percent(service.cached as f64 / service.requests.max(1) as f64),
            decimal(service.replicas),
            decimal(service.gpu_hours),
        ]);
    }
    let idle = services.iter().filter(|service| service.gpu_hours == 0.0);
    let notes = idle.map(|service| format!("no replica of {} ever ran\n", service.name));
    (!services.is_empty()).then(|| table.text() + &notes.collect::<String>())
}

/// What tenants had beside what they were entitled to, if there are several.
fn shares(summary: &Summary) -> Option<String> {
    let inequality = summary.inequality?;
    let mut table = Table::new(&[
        "tenant",
        "weight>",
        "entitled GPU-hours>",
        "had>",
        "had of entitled>",
        "envy GPU-hours>",
    ]);
    for share in &summary.shares {
        table.row([
            share.name.clone(),
            share.weight.to_string(),
            decimal(share.due_gpu_hours),
            decimal(share.had_gpu_hours),
            percent(share.ratio),
            decimal(share.envy_gpu_hours),
        ]);
    }
    let worst = summary.shares.iter().map(|share| share.ratio).fold(f64::INFINITY, f64::min);
    let note = format!("worst {} of its part, Gini {}\n", percent(worst), decimal(inequality));
    Some(table.text() + &note)
}

/// Who lent GPUs to whom, if anybody has a quota.
fn loans(loans: &[Loan]) -> Option<String> {
    let mut table = Table::new(&["tenant", "quota>", "lent GPU-hours>", "borrowed GPU-hours>"]);
    for loan in loans {
        let (lent, borrowed) = (decimal(loan.lent_gpu_hours), decimal(loan.borrowed_gpu_hours));
        table.row([loan.name.clone(), loan.quota.to_string(), lent, borrowed]);
    }
    (!loans.is_empty()).then(|| table.text())
}

/// What came of studies.
fn studies(studies: &[StudySummary]) -> String {
    let columns = [
        "study",
        "trials>",
        "started>",
        "finished>",
        "stopped early>",
        "pauses>",
        "promotions>",
        "GPU-hours>",
        "best>",
        "after>",
    ];
    let mut table = Table::new(&columns);
    for study in studies {
        let last = study.best_over_time.last();
        table.row([
            study.name.clone(),
            count(study.trials as u64),
            count(study.started as u64),
            count(study.finished as u64),
            count(study.stopped_early as u64),
            count(study.pauses),
            count(study.promotions),
            decimal(study.gpu_hours),
            study.best.map_or_else(|| "–".into(), |best| format!("{best:.4}")),
            last.map_or_else(|| "–".into(), |best| seconds(best.from_s)),
        ]);
    }
    table.text()
}

fn facts(summary: &Summary) -> String {
    let (jobs, restarts, hours) = (&summary.jobs, &summary.restarts, &summary.gpu_hours);
    let mut lines = vec![("jobs", became(jobs))];
    lines.push(("makespan", or_dash(jobs.finished > 0, seconds(summary.makespan_s))));
    lines.push(("utilisation", percent(summary.utilisation)));
    let (useful, lost, idle) = (decimal(hours.useful), decimal(hours.lost), decimal(hours.idle));
    let mut said = format!("{useful} useful, {lost} lost, {idle} idle");
    if hours.shared > 0.0 {
        said.push_str(&format!("; {} shared by several jobs", decimal(hours.shared)));
    }
    lines.push(("GPU-hours", said));
    lines.extend(summary.cost.map(|cost| ("cost", decimal(cost))));
    lines.extend(summary.nodes.map(|nodes| ("nodes", switched(&nodes))));
    let (stops, moves, losses) = (restarts.preemptions, restarts.moves, restarts.losses);
    let (stops, moves, losses) = (count(stops), count(moves), count(losses));
    let per_job = decimal(restarts.per_job);
    let said = format!("{stops} stops, {moves} moves, {losses} lost with a node; {per_job} a job");
    lines.push(("restarts", said));
    if summary.deadlines.jobs > 0 {
        let (missed, of) = (summary.deadlines.missed as u64, summary.deadlines.jobs as u64);
        let mut said = format!("{} of {} missed", count(missed), count(of));
        if summary.deadlines.value_lost > summary.deadlines.missed as f64 {
            let value = decimal(summary.deadlines.value_lost);
            said.push_str(&format!(", {value} counted by value"));
        }
        if summary.deadlines.promised > 0 {
            let promised = count(summary.deadlines.promised as u64);
            let broken = count(summary.deadlines.broken as u64);
            said.push_str(&format!("; {promised} promised, {broken} of those missed"));
        }
        lines.push(("deadlines", said));
    }
    lines.iter().map(|(name, value)| format!("{name:<12} {value}\n")).collect()
}

fn switched(nodes: &NodeFigures) -> String {
    let (used, of_on) = (percent(nodes.used), percent(nodes.used_of_on));
    let (off, woken) = (decimal(nodes.off_hours), count(nodes.woken));
    format!("{used} used, {of_on} of those on; {off} node-hours off, {woken} switched on again")
}

fn became(jobs: &heeler_sim::metrics::Counts) -> String {
    let mut text =
        format!("{} of {} finished", count(jobs.finished as u64), count(jobs.submitted as u64));
    for (number, what) in [
        (jobs.unfinished, "unfinished"),
        (jobs.unrunnable, "can never run as asked"),
        (jobs.stranded, "wait for a job that never finishes"),
        (jobs.stopped_early, "stopped early"),
        (jobs.turned_away, "turned away"),
        (jobs.dropped, "given up by the world"),
    ] {
        if number > 0 {
            text.push_str(&format!(", {} {what}", count(number as u64)));
        }
    }
    text
}

/// A dash where no finished job says anything.
fn or_dash(known: bool, text: String) -> String {
    if known { text } else { "–".to_string() }
}

fn spread(name: &str, spread: &Spread, known: bool) -> Vec<String> {
    let values = [spread.mean, spread.p50, spread.p95, spread.p99, spread.max];
    let values = values.map(|value| or_dash(known, seconds(value)));
    std::iter::once(name.to_string()).chain(values).collect()
}

fn ratio(name: &str, variant: &FinishTime, known: bool) -> Vec<String> {
    let values = [variant.ratio.mean, variant.ratio.p50, variant.ratio.p99, variant.ratio.max];
    let values = values
        .map(decimal)
        .into_iter()
        .chain([percent(variant.unfair), decimal(variant.inequality)])
        .map(|text| or_dash(known, text));
    std::iter::once(name.to_string()).chain(values).collect()
}

/// Metrics by tenant or size.
pub(crate) fn groups(title: &str, groups: &[Group]) -> String {
    let columns = [
        title,
        "jobs>",
        "GPU-hours>",
        "mean JCT>",
        "p99 JCT>",
        "mean wait>",
        "p99 wait>",
        "unfair>",
    ];
    let mut table = Table::new(&columns);
    for group in groups {
        let known = |text: String| or_dash(group.finished > 0, text);
        table.row([
            group.name.clone(),
            count(group.finished as u64),
            decimal(group.gpu_hours),
            known(seconds(group.completion_s.mean)),
            known(seconds(group.completion_s.p99)),
            known(seconds(group.waiting_s.mean)),
            known(seconds(group.waiting_s.p99)),
            known(percent(group.unfair)),
        ]);
    }
    table.text()
}
