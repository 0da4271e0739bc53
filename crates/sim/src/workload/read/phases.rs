//! Jobs that change their batch on the way, in Heeler's own formats: the batches they go through,
//! when which one is due, and what a profile says of their epochs.

use super::super::error::TraceError;
use super::super::phases::{Change, Phases, Stage};
use super::super::row::Row;
use super::reading::Reading;
use heeler_model::{KindSet, Regimes};

/// More epochs or batches than any job has are a slip.
const EPOCHS_MAX: u32 = 1_000_000;
const STAGES_MAX: usize = 64;

const STAGE: &str = "expected `batch:steps of an epoch:kind=steps per second,…`";

/// The phases that a row describes, and what is known of them beforehand, if it does.
pub(super) fn phases(
    reading: &mut Reading<'_>,
    row: &Row<'_>,
) -> Result<Option<(Box<Phases>, Regimes)>, TraceError> {
    if row.get("stages").is_none() {
        let others = ["epochs", "due", "grows", "alone_s", "epoch_s"];
        return match others.into_iter().find(|name| row.get(name).is_some()) {
            Some(name) => Err(row
                .wrong(name, "needs `stages`")
                .hint("say which batches the job goes through")),
            None => Ok(None),
        };
    }
    if row.get("steps").is_none() {
        return Err(row.wrong("stages", "needs `steps`: how many the job has at its first batch"));
    }
    let epochs = row.count("epochs")?;
    if epochs == 0 || epochs > EPOCHS_MAX {
        return Err(row.wrong("epochs", format!("expected 1 to {EPOCHS_MAX}, found {epochs}")));
    }
    let parts: Vec<&str> = row.list("stages").collect();
    if parts.len() > STAGES_MAX {
        return Err(row.wrong("stages", format!("expected {STAGES_MAX} at most")));
    }
    let mut stages = Vec::with_capacity(parts.len());
    for part in parts {
        stages.push(stage(reading, row, part)?);
    }
    let change = match row.get("grows") {
        None | Some("0") => Change::AtOnce,
        Some("1") => Change::StepByStep,
        Some(other) => {
            return Err(row.wrong("grows", format!("expected 0 or 1, found `{other}`")));
        }
    };
    let due = due(row, stages.len())?;
    let alone_s = row.positive("alone_s")?;
    let epoch_s = row.list("epoch_s").map(|part| positive(row, "epoch_s", part));
    let regimes = Regimes { epochs, epoch_s: epoch_s.collect::<Result<_, _>>()? };
    Ok(Some((Box::new(Phases { epochs, stages, due, change, alone_s }), regimes)))
}

fn positive(row: &Row<'_>, name: &str, text: &str) -> Result<f64, TraceError> {
    let number = text.trim().parse::<f64>().ok();
    let number = number.filter(|number| number.is_finite() && *number > 0.0);
    number.ok_or_else(|| row.wrong(name, format!("expected a number above 0, found `{text}`")))
}

fn stage(reading: &mut Reading<'_>, row: &Row<'_>, part: &str) -> Result<Stage, TraceError> {
    let wrong = || row.wrong("stages", format!("{STAGE}, found `{part}`"));
    let mut words = part.splitn(3, ':').map(str::trim);
    let (Some(batch), Some(steps), Some(rates)) = (words.next(), words.next(), words.next()) else {
        return Err(wrong());
    };
    let batch = batch.parse::<u32>().ok().filter(|batch| *batch > 0).ok_or_else(wrong)?;
    let steps = positive(row, "stages", steps)?;
    let mut pairs = Vec::new();
    for pair in rates.split(',') {
        let (kind, rate) = pair.split_once('=').ok_or_else(wrong)?;
        let rate = rate.trim().parse::<f64>().ok().filter(|rate| rate.is_finite() && *rate >= 0.0);
        pairs.push((kind.trim(), rate.ok_or_else(wrong)?));
    }
    let (known, best) =
        reading.rates(&pairs, KindSet::ANY, &|message| row.wrong("stages", message))?;
    let rates = if known.is_empty() { vec![best; reading.cluster.kinds.len()] } else { known };
    Ok(Stage { batch, steps, rates })
}

/// `epoch:stage`, joined by `|`, earliest first.
fn due(row: &Row<'_>, stages: usize) -> Result<Vec<(u32, usize)>, TraceError> {
    let mut all: Vec<(u32, usize)> = Vec::new();
    for part in row.list("due") {
        let pair = part.split_once(':');
        let pair = pair.and_then(|(epoch, stage)| {
            Some((epoch.trim().parse::<u32>().ok()?, stage.trim().parse::<usize>().ok()?))
        });
        let sound = pair.filter(|(epoch, stage)| {
            *stage < stages && all.last().is_none_or(|(before, _)| before < epoch)
        });
        all.push(sound.ok_or_else(|| {
            let message = format!("expected `epoch:stage` in order of epochs, found `{part}`");
            row.wrong("due", message).hint("stages are counted from 0")
        })?);
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use crate::workload::testing::read_text;
    use crate::workload::{Change, Options};

    const HEADER: &str = "submit_s,gpus,steps,rates,epochs,stages,due,grows,alone_s,epoch_s\n";
    const STAGES: &str = "32:100:v100=10|64:50:v100=8";

    fn read(row: &str) -> Result<crate::workload::Trace, crate::workload::TraceError> {
        let mut cluster = crate::cluster::parse("v100=4").expect("a cluster");
        read_text("t.csv", &format!("{HEADER}{row}\n"), &Options::default(), &mut cluster)
    }

    #[test]
    fn phases_are_read() {
        let trace = read(&format!("0,1,400,v100=10,4,{STAGES},0:0|2:1,1,32.5,10|6.25"));
        let trace = trace.expect("a sound trace");
        let job = &trace.jobs()[0];
        let phases = job.phases.as_ref().expect("phases");
        assert_eq!((phases.epochs, phases.due.as_slice()), (4, &[(0, 0), (2, 1)][..]));
        assert_eq!((phases.stages[1].batch, phases.stages[1].rates[0]), (64, 8.0));
        assert_eq!((phases.change, job.duration().secs_f64()), (Change::StepByStep, 32.5));
        assert_eq!(job.spec.declared, Some(job.duration()), "they declare the truth");
        assert_eq!(job.spec.regimes().expect("a profile").epoch_s, [10.0, 6.25]);
    }

    #[test]
    fn mistakes_are_named() {
        for (row, found) in [
            ("0,1,400,v100=10,4,,,,,", "(`epochs`): needs `stages`"),
            ("0,1,400,v100=10,0,32:1:v100=1,,,1,", "(`epochs`): expected 1 to 1000000, found 0"),
            ("0,1,400,v100=10,4,32:1,,,1,", "(`stages`): expected `batch:steps"),
            ("0,1,400,v100=10,4,32:1:v100=1,0:1,,1,", "(`due`): expected `epoch:stage`"),
            ("0,1,400,v100=10,4,32:1:v100=1,0:0,2,1,", "(`grows`): expected 0 or 1, found `2`"),
        ] {
            let error = read(row).expect_err("a mistake").to_string();
            assert!(error.contains(found), "{error}");
        }
    }
}
