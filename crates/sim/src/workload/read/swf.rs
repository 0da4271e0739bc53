//! The Standard Workload Format of parallel computers (Feitelson and others): comments with `;`,
//! then eighteen numbers on each line, -1 where something is not known.

use super::super::date;
use super::super::error::{Field, TraceError};
use super::super::table::Lines;
use super::reading::{Reading, timed_job};
use heeler_model::{Demand, Span, Time};

const FIELDS: [&str; 18] = [
    "job number",
    "submit time",
    "wait time",
    "run time",
    "allocated processors",
    "CPU time",
    "used memory",
    "requested processors",
    "requested time",
    "requested memory",
    "status",
    "user",
    "group",
    "application",
    "queue",
    "partition",
    "preceding job",
    "think time",
];

/// Statuses of lines that are parts of a job which has a line of its own.
const PARTS: [f64; 3] = [2.0, 3.0, 4.0];
const CANCELLED: f64 = 5.0;
/// Times from here on are mistakes.
const TOO_LATE_S: f64 = 1e12;
const TOO_LONG_S: f64 = 1e9;

/// One line.
struct Line {
    numbers: [f64; 18],
}

impl Line {
    /// A field, counted from one as the format does; none where it is not known.
    fn get(&self, field: usize) -> Option<f64> {
        Some(self.numbers[field - 1]).filter(|number| *number >= 0.0)
    }
}

pub(super) fn read(reading: &mut Reading<'_>) -> Result<(), TraceError> {
    let path = reading.path;
    let per_gpu = f64::from(reading.options.processors_per_gpu.unwrap_or(1).max(1));
    let mut lines = Lines::open(path)?;
    let mut any = false;
    while let Some((number, text)) = lines.next()? {
        any = true;
        if let Some(comment) = text.strip_prefix(';') {
            let start = comment.trim().strip_prefix("UnixStartTime:");
            if let Some(seconds) = start.and_then(|text| date::seconds(text.trim())) {
                reading.origin = Some(format!("{} UTC", date::text(seconds)));
            }
            continue;
        }
        let line = parse(text).map_err(|(field, message)| TraceError {
            field,
            ..TraceError::line(path, number, message)
                .hint("a line has eighteen numbers; name the format if this is not SWF")
        })?;
        enter(reading, &line, number, per_gpu)?;
    }
    if any { Ok(()) } else { Err(TraceError::file(path, "is empty")) }
}

fn parse(text: &str) -> Result<Line, (Option<Field>, String)> {
    let mut numbers = [-1.0; 18];
    let mut count = 0;
    for (index, part) in text.split_whitespace().enumerate() {
        count = index + 1;
        if let Some(number) = numbers.get_mut(index) {
            let parsed = part.parse::<f64>().ok().filter(|number| number.is_finite());
            *number = parsed.ok_or_else(|| {
                let field = Field { column: Some(count as u32), name: FIELDS[index].into() };
                (Some(field), format!("expected a number, found `{part}`"))
            })?;
        }
    }
    if count == FIELDS.len() {
        Ok(Line { numbers })
    } else {
        Err((None, format!("has {count} fields")))
    }
}

fn enter(
    reading: &mut Reading<'_>,
    line: &Line,
    number: u64,
    per_gpu: f64,
) -> Result<(), TraceError> {
    let status = line.get(11).unwrap_or(-1.0);
    let run_time = line.get(4).filter(|seconds| *seconds > 0.0);
    let processors = line.get(8).filter(|count| *count > 0.0).or(line.get(5));
    let skip = match (run_time, processors) {
        _ if PARTS.contains(&status) => Some("are parts of a job with a line of its own"),
        (None, _) if status == CANCELLED => Some("were cancelled before they started"),
        (None, _) => Some("have no run time"),
        (_, None) => Some("do not say how many processors"),
        _ => None,
    };
    if let Some(reason) = skip {
        reading.skipped.add(reason);
        return Ok(());
    }
    let (run_time, processors) = (run_time.unwrap_or(0.0), processors.unwrap_or(0.0));
    let wrong = |index: usize| {
        let field = Some(Field { column: Some(index as u32), name: FIELDS[index - 1].into() });
        let message = "expected a time from 0 on, and below 1e12 seconds";
        TraceError { field, ..TraceError::line(reading.path, number, message) }
    };
    let submit = line.get(2).filter(|seconds| *seconds < TOO_LATE_S).ok_or_else(|| wrong(2))?;
    if run_time >= TOO_LONG_S {
        return Err(wrong(4));
    }
    let mut demand = Demand::gpus((processors / per_gpu).ceil() as u32);
    // Requested memory is kilobytes beside each processor.
    demand.memory_mb = (line.get(10).unwrap_or(0.0) * per_gpu / 1024.0).ceil() as u32;
    let submit = Time::from_secs_f64(submit);
    let mut job = timed_job(submit, Span::from_secs_f64(run_time), demand);
    job.name = Some(line.numbers[0].to_string().into());
    job.spec.declared = line.get(9).filter(|seconds| *seconds > 0.0).map(Span::from_secs_f64);
    let named = |field: usize, letter: char| line.get(field).map(|id| format!("{letter}{id}"));
    reading.owner(named(13, 'g').as_deref(), named(12, 'u').as_deref(), &mut job.spec)?;
    if let Some(application) = named(14, 'a') {
        job.spec.model = reading.model(&application)?;
    }
    let before = line.get(17).filter(|before| *before > 0.0);
    if before.is_some() && line.get(18).is_some_and(|think| think > 0.0) {
        reading.assumed.add("follow a job without the time their user thought after it");
    }
    let names = before.map(|before| before.to_string()).into_iter().collect();
    reading.push_after(job, number, names);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::testing::read_text;
    use super::*;
    use crate::workload::{Options, Trace};
    use heeler_model::{Cluster, JobId};

    const TRACE: &str = "; Version: 2.2\n; UnixStartTime: 86400\n\n\
        1 0 5 100 8 -1 -1 8 200 2048 1 3 2 7 1 -1 -1 -1\n\
        2 10 5 50 -1 -1 -1 3 -1 -1 0 4 2 7 1 -1 1 60\n\
        3 11 -1 -1 -1 -1 -1 3 -1 -1 5 4 2 7 1 -1 -1 -1\n\
        4 12 0 10 1 -1 -1 1 -1 -1 2 4 2 7 1 -1 -1 -1\n";

    fn read(text: &str, per_gpu: Option<u32>) -> Result<Trace, TraceError> {
        let options = Options { processors_per_gpu: per_gpu, ..Options::default() };
        read_text("t.swf", text, &options, &mut Cluster::uniform(4, 8))
    }

    #[test]
    fn processors_are_gpus() {
        let trace = read(TRACE, None).expect("a trace");
        let [first, second] = trace.jobs() else { panic!("two jobs") };
        assert_eq!((first.spec.demand.asked(), second.spec.demand.asked()), (8, 3));
        assert_eq!(first.spec.declared, Some(Span::from_secs(200)));
        assert_eq!(second.spec.declared, None, "nothing was requested");
        assert_eq!(first.spec.demand.memory_mb, 2);
        assert_eq!(second.spec.after(), [JobId(0)]);
        assert_eq!(trace.origin.as_deref(), Some("1970-01-02 00:00:00 UTC"));
        assert_eq!(trace.skipped.total(), 2);
        assert_eq!(trace.assumed.total(), 1);
    }

    #[test]
    fn several_processors_can_make_a_gpu() {
        let trace = read(TRACE, Some(4)).expect("a trace");
        assert_eq!(trace.jobs()[0].spec.demand.asked(), 2);
        assert_eq!(trace.jobs()[1].spec.demand.asked(), 1, "a part counts in full");
        assert_eq!(trace.jobs()[0].spec.demand.memory_mb, 8);
    }

    #[test]
    fn mistakes_are_named_with_their_place() {
        for (text, error) in [
            ("", "t.swf: is empty"),
            ("; hello\n1 2 3\n", "t.swf:2: has 3 fields"),
            (
                "1 0 5 x 8 -1 -1 8 200 -1 1 3 2 7 1 -1 -1 -1",
                "t.swf:1: column 4 (`run time`): expected a number, found `x`",
            ),
            (
                "1 -4 5 10 8 -1 -1 8 200 -1 1 3 2 7 1 -1 -1 -1",
                "t.swf:1: column 2 (`submit time`): expected a time from 0 on, and below 1e12 \
                 seconds",
            ),
        ] {
            assert_eq!(read(text, None).expect_err(text).to_string(), error);
        }
    }
}
