//! Trials of a study in Heeler's own formats: which study, and the scores that will be reported.

use super::super::curve::{Curve, Rising, Trial};
use super::super::error::TraceError;
use super::super::row::Row;

const CURVE: &str = "expected `limit=X|tau=X`, and perhaps `noise=X` and `seed=N`";

/// The trial that a row describes, if it does.
pub(super) fn trial(row: &Row<'_>) -> Result<Option<Box<Trial>>, TraceError> {
    let Some(study) = row.get("study") else {
        return match ["curve", "scores"].into_iter().find(|name| row.get(name).is_some()) {
            Some(name) => Err(row
                .wrong(name, "needs `study`")
                .hint("name the study that the job is a trial of")),
            None => Ok(None),
        };
    };
    if row.get("steps").is_none() {
        let hint = "give `steps`, one for each iteration, and `rates` (steps per second)";
        return Err(row.wrong("study", "needs `steps`: a trial counts iterations").hint(hint));
    }
    let curve = match (row.get("curve"), row.get("scores")) {
        (Some(_), None) => Curve::Rising(rising(row)?),
        (None, Some(_)) => Curve::Listed(scores(row)?.into()),
        (Some(_), Some(_)) => {
            return Err(row.wrong("scores", "is given beside `curve`").hint("give one of them"));
        }
        (None, None) => {
            let hint = "give `scores`, one for each iteration, or a `curve` they follow";
            return Err(row.wrong("study", "needs what the trial will report").hint(hint));
        }
    };
    Ok(Some(Box::new(Trial { study: study.into(), curve })))
}

fn scores(row: &Row<'_>) -> Result<Vec<f64>, TraceError> {
    let score = |part: &str| {
        let score = part.parse::<f64>().ok().filter(|score| score.is_finite());
        score.ok_or_else(|| row.wrong("scores", format!("expected a number, found `{part}`")))
    };
    row.list("scores").map(score).collect()
}

fn rising(row: &Row<'_>) -> Result<Rising, TraceError> {
    let wrong = |part: &str| row.wrong("curve", format!("{CURVE}, found `{part}`"));
    let (mut limit, mut tau, mut noise, mut seed) = (None, None, 0.0, 0);
    for part in row.list("curve") {
        let (name, text) = part.split_once('=').ok_or_else(|| wrong(part))?;
        let number = text.trim().parse::<f64>().ok().filter(|number| number.is_finite());
        let number = number.ok_or_else(|| wrong(part))?;
        match name.trim() {
            "limit" => limit = Some(number),
            "tau" if number > 0.0 => tau = Some(number),
            "noise" if number >= 0.0 => noise = number,
            "seed" => seed = text.trim().parse().map_err(|_| wrong(part))?,
            _ => return Err(wrong(part)),
        }
    }
    match (limit, tau) {
        (Some(limit), Some(tau)) => Ok(Rising { limit, tau, noise, seed }),
        _ => Err(wrong(row.text("curve")?)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{jobs, wrong};
    use super::*;
    use heeler_model::StudyId;

    #[test]
    fn trials_name_their_study_and_their_scores() {
        let jobs = jobs(
            "submit_s,gpus,steps,rates,study,curve,scores\n\
             0,1,200,0.05,b,limit=0.9|tau=20|noise=0.004|seed=7,\n\
             0,1,3,1,a,,0.1|0.5|0.7\n1,1,9,1,,,\n2,1,9,1,b,tau=4|limit=1,\n",
        );
        let studies: Vec<_> = jobs.iter().map(|job| job.spec.study()).collect();
        let [first, second] = [StudyId(0), StudyId(1)];
        assert_eq!(studies, [Some(first), Some(second), None, Some(first)]);
        let curve = |index: usize| jobs[index].trial.as_ref().map(|trial| trial.curve.clone());
        let rising = Rising { limit: 0.9, tau: 20.0, noise: 0.004, seed: 7 };
        assert_eq!(curve(0), Some(Curve::Rising(rising)));
        assert_eq!(curve(1), Some(Curve::Listed([0.1, 0.5, 0.7].into())));
        assert_eq!(curve(2), None);
        let rising = Rising { limit: 1.0, tau: 4.0, noise: 0.0, seed: 0 };
        assert_eq!(curve(3), Some(Curve::Rising(rising)));
    }

    #[test]
    fn mistakes_are_named_with_their_place() {
        let header = "submit_s,gpus,duration_s,steps,study,curve,scores\n";
        for (row, message) in [
            ("0,1,9,9,,limit=1|tau=1,", "(`curve`): needs `study`"),
            ("0,1,9,,a,limit=1|tau=1,", "(`study`): needs `steps`"),
            ("0,1,9,9,a,,", "(`study`): needs what the trial will report"),
            ("0,1,9,9,a,limit=1|tau=1,0.5", "(`scores`): is given beside `curve`"),
            ("0,1,9,9,a,limit=1,", "(`curve`): expected `limit=X|tau=X`"),
            ("0,1,9,9,a,limit=1|tau=0,", "found `tau=0`"),
            ("0,1,9,9,a,limit=1|tau=2|seed=1.5,", "found `seed=1.5`"),
            ("0,1,9,9,a,,0.1|x", "(`scores`): expected a number, found `x`"),
        ] {
            let (error, _) = wrong(&format!("{header}{row}\n"));
            assert!(error.contains(message) && error.contains(":2"), "{row}: {error}");
        }
    }
}
