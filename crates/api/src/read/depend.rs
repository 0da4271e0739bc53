//! What a job waits for, as Slurm writes it: `afterok:1:2,afterany:3`.

use crate::{Condition, Selection, Selector};

/// Jobs that another waits for, as they were named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wait {
    /// What must have happened.
    pub when: Condition,
    /// To which: a job (with all its tasks), a task of an array, or the latest.
    pub jobs: Selector,
}

/// What a text names. All of it must come true.
pub fn read(text: &str) -> Result<Vec<Wait>, String> {
    if text.contains('?') {
        return Err(
            "`?` (any of several) is not supported; jobs wait for all that they name".into()
        );
    }
    let mut waits = Vec::new();
    for part in text.trim().split(',') {
        add(part.trim(), &mut waits)?;
    }
    Ok(waits)
}

fn add(part: &str, waits: &mut Vec<Wait>) -> Result<(), String> {
    let mut words = part.split(':');
    let kind = words.next().unwrap_or("");
    let when = match kind.to_ascii_lowercase().as_str() {
        "after" => Condition::After,
        "afterok" => Condition::Ok,
        "afternotok" => Condition::NotOk,
        "afterany" => Condition::Any,
        "singleton" | "aftercorr" | "afterburstbuffer" | "expand" => {
            return Err(format!(
                "`{kind}` is not supported; there are after, afterok, afternotok and afterany"
            ));
        }
        _ => return Err(format!("expected afterok:17 or the like, found `{part}`")),
    };
    let mut any = false;
    for word in words {
        if word.contains('+') {
            return Err(format!("`{word}`: a delay after a job is not supported; see --begin"));
        }
        waits.push(Wait { when, jobs: job(word)? });
        any = true;
    }
    match any {
        true => Ok(()),
        false => Err(format!("`{part}` names no job; expected {kind}:17")),
    }
}

fn job(word: &str) -> Result<Selector, String> {
    let named = word.parse::<Selection>().map(|selection| selection.0);
    match named.as_deref() {
        Ok([selector @ (Selector::Job(_) | Selector::Tasks { .. } | Selector::Last)]) => {
            Ok(selector.clone())
        }
        _ => Err(format!("expected the number of a job, such as 17 or 17_3, found `{word}`")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_wait_for_others() {
        let wait = |when, job| Wait { when, jobs: Selector::Job(job) };
        assert_eq!(
            read("afterok:1:2,afterany:3"),
            Ok(vec![wait(Condition::Ok, 1), wait(Condition::Ok, 2), wait(Condition::Any, 3)])
        );
        assert_eq!(read("after:4"), Ok(vec![wait(Condition::After, 4)]));
        assert_eq!(read("AfterNotOk:4"), Ok(vec![wait(Condition::NotOk, 4)]));
        let last = Wait { when: Condition::Ok, jobs: Selector::Last };
        assert_eq!(read("afterok:last"), Ok(vec![last]));
        let task = Selector::Tasks { array: 17, tasks: vec![(3, 3)] };
        assert_eq!(read("afterok:17_3"), Ok(vec![Wait { when: Condition::Ok, jobs: task }]));
    }

    #[test]
    fn what_is_not_supported_says_so() {
        for (text, says) in [
            ("singleton", "`singleton` is not supported"),
            ("aftercorr:3", "`aftercorr` is not supported"),
            ("afterok:1?afterok:2", "any of several"),
            ("after:1+10", "see --begin"),
            ("afterok", "names no job"),
            ("afterok:", "number of a job"),
            ("afterok:x", "number of a job"),
            ("afterok:1-3", "number of a job"),
            ("17", "expected afterok:17"),
            ("", "expected afterok:17"),
        ] {
            let wrong = read(text).expect_err(text);
            assert!(wrong.contains(says), "{text}: {wrong}");
        }
    }
}
