//! One line a job, as CSV.

use crate::record::{Outcome, Record};
use crate::simulation::Simulation;
use heeler_model::{Span, Time};
use std::io::Write;

/// Write one line for each job, in order of submission.
pub fn write_jobs(simulation: &Simulation, to: impl Write) -> Result<(), csv::Error> {
    let mut out = csv::Writer::from_writer(to);
    out.write_record([
        "job",
        "tenant",
        "gpus",
        "submit_s",
        "start_s",
        "end_s",
        "completion_s",
        "waiting_s",
        "alone_s",
        "preemptions",
        "moves",
        "losses",
        "outcome",
    ])?;
    for (job, record) in simulation.records().iter().filter(|(_, record)| !record.serves) {
        let name = simulation.name(job);
        let tenant = &simulation.cluster().tenants[record.tenant.index()].name;
        let waited = record.waited_by(simulation.now());
        out.write_record(row(&name, tenant, record, waited))?;
    }
    out.flush()?;
    Ok(())
}

fn row(name: &str, tenant: &str, record: &Record, waited: Span) -> [String; 13] {
    let maybe = |time: Option<Time>| time.map_or(String::new(), |t| seconds(t.micros()));
    let completion = record.completion().map_or(String::new(), |span| seconds(span.micros()));
    let outcome = match record.outcome {
        Outcome::Finished => "finished",
        Outcome::Unfinished => "unfinished",
        Outcome::Unrunnable => "unrunnable",
        Outcome::Stranded => "stranded",
        Outcome::StoppedEarly => "stopped-early",
        Outcome::TurnedAway => "turned-away",
        Outcome::Dropped => "dropped",
        Outcome::Served => "served",
    };
    [
        name.to_string(),
        tenant.to_string(),
        record.gpus.to_string(),
        seconds(record.submitted.micros()),
        maybe(record.started),
        maybe(record.ended),
        completion,
        seconds(waited.micros()),
        seconds(record.alone.micros()),
        record.preemptions.to_string(),
        record.moves.to_string(),
        record.losses.to_string(),
        outcome.to_string(),
    ]
}

/// Microseconds as seconds, exactly: `12`, `12.5`, `0.000001`.
fn seconds(micros: u64) -> String {
    let text = format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000);
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}

#[cfg(test)]
mod tests {
    use super::seconds;

    #[test]
    fn seconds_are_exact() {
        for (micros, text) in [(0, "0"), (12_000_000, "12"), (12_500_000, "12.5"), (1, "0.000001")]
        {
            assert_eq!(seconds(micros), text);
        }
    }
}
