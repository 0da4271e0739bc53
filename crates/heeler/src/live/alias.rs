//! What Slurm users type first, answered with the command that does it here.

use heeler_api::read::{FLAGS, Takes};

/// Slurm's commands, and ours.
const KNOWN: [(&str, &str); 6] = [
    ("sbatch", "submit"),
    ("squeue", "queue"),
    ("scancel", "cancel"),
    ("sinfo", "nodes"),
    ("srun", "run"),
    ("sacct", "history"),
];

/// The words of a command line as ours, and what to say if they were Slurm's.
pub(crate) fn rewrite(words: Vec<String>) -> (Vec<String>, Option<String>) {
    let Some(typed) = words.get(1).cloned() else { return (words, None) };
    let rest = || words[2..].to_vec();
    let rewritten = match typed.as_str() {
        "sbatch" => with_dashes(rest()),
        "scancel" | "scontrol" => {
            let signals = typed == "scancel";
            let other = if signals { scancel(&rest()) } else { scontrol(&rest()) };
            match other {
                Some(rewritten) => {
                    let told = told(&typed, &rewritten[0]);
                    return (full(&words, rewritten), Some(told));
                }
                None if signals => rest(),
                None => return (words, None),
            }
        }
        _ => rest(),
    };
    match KNOWN.iter().find(|(slurm, _)| *slurm == typed) {
        Some((slurm, ours)) => {
            let mut all = vec![(*ours).to_string()];
            all.extend(rewritten);
            (full(&words, all), Some(told(slurm, ours)))
        }
        None => (words, None),
    }
}

fn full(words: &[String], rest: Vec<String>) -> Vec<String> {
    words[..1].iter().cloned().chain(rest).collect()
}

fn told(slurm: &str, ours: &str) -> String {
    format!("{slurm} is `heeler {ours}` here; see `heeler {ours} --help`")
}

/// `show job 17`, `hold 17` and the like.
fn scontrol(words: &[String]) -> Option<Vec<String>> {
    let text: Vec<&str> = words.iter().map(String::as_str).collect();
    let owned = |words: &[&str]| words.iter().map(ToString::to_string).collect();
    match text.as_slice() {
        ["show", what, rest @ ..] if what.starts_with("job") => {
            let rest = if rest.is_empty() { &["all"][..] } else { rest };
            Some(owned(&[&["show"], rest].concat()))
        }
        ["show", what, ..] if what.starts_with("node") => Some(owned(&["nodes"])),
        ["show", "config", ..] | ["ping", ..] => Some(owned(&["server"])),
        [act @ ("hold" | "release" | "suspend" | "resume" | "requeue"), rest @ ..] => {
            Some(owned(&[&[*act], rest].concat()))
        }
        ["update", rest @ ..] => update(rest),
        _ => None,
    }
}

/// `update NodeName=n1 State=drain Reason=fan` and `update JobId=17 TimeLimit=60`.
fn update(words: &[&str]) -> Option<Vec<String>> {
    let value = |key: &str| {
        let pairs = words.iter().filter_map(|word| word.split_once('='));
        let mut found = pairs.filter(|(name, _)| name.eq_ignore_ascii_case(key));
        found.next().map(|(_, value)| value.to_string())
    };
    let line = |words: &[&str]| Some(words.iter().map(ToString::to_string).collect());
    if let Some(job) = value("jobid").or_else(|| value("job")) {
        return match (value("timelimit"), value("priority")) {
            (Some(limit), None) => line(&["time-limit", &job, &limit]),
            (None, Some(priority)) => line(&["priority", &job, &priority]),
            _ => None,
        };
    }
    let node = value("nodename").or_else(|| value("node"))?;
    match value("state")?.to_ascii_lowercase().as_str() {
        "drain" => match value("reason") {
            Some(reason) => line(&["drain", &node, "--note", &reason]),
            None => line(&["drain", &node]),
        },
        "resume" | "undrain" | "idle" => line(&["undrain", &node]),
        _ => None,
    }
}

/// `scancel -s USR1 17`: what it does with a signal is another command here.
fn scancel(words: &[String]) -> Option<Vec<String>> {
    let signals = |word: &String| word.starts_with("-s") || word.starts_with("--signal");
    let all = std::iter::once("signal".to_string()).chain(words.iter().cloned());
    words.iter().any(signals).then(|| all.collect())
}

/// `sbatch [options] script arguments…`: the arguments go behind two dashes.
fn with_dashes(words: Vec<String>) -> Vec<String> {
    let mut at = 0;
    while let Some(word) = words.get(at) {
        if word == "--" {
            return words;
        }
        if !word.starts_with('-') || word == "-" {
            let mut all = words[..=at].to_vec();
            if words.len() > at + 1 {
                all.push("--".into());
                all.extend_from_slice(&words[at + 1..]);
            }
            return all;
        }
        at += if takes_next(word) { 2 } else { 1 };
    }
    // Without a script, the script comes from the standard input.
    let elsewhere = |word: &String| word.starts_with("--wrap") || word == "--help" || word == "-h";
    match words.iter().any(elsewhere) {
        true => words,
        false => words.into_iter().chain(std::iter::once("-".into())).collect(),
    }
}

/// Whether the word after an option is its value.
fn takes_next(word: &str) -> bool {
    let flag = match word.strip_prefix("--") {
        Some("wrap" | "server") => return true,
        Some(long) if long.contains('=') => return false,
        Some(long) => FLAGS.iter().find(|flag| flag.long == long || flag.also.contains(&long)),
        None => {
            let mut letters = word.chars().skip(1);
            let letter = letters.next();
            // A value may follow its letter at once.
            if letters.next().is_some() {
                return false;
            }
            FLAGS.iter().find(|flag| flag.short == letter)
        }
    };
    flag.is_some_and(|flag| flag.takes != Takes::Nothing)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rewritten(line: &str) -> String {
        let words = line.split(' ').map(str::to_string).collect();
        rewrite(words).0.join(" ")
    }

    #[test]
    fn slurms_commands_are_ours() {
        for (slurm, ours) in [
            ("h squeue --me", "h queue --me"),
            ("h scancel 17", "h cancel 17"),
            ("h sinfo", "h nodes"),
            ("h sacct", "h history"),
            ("h srun -n 4 python x.py", "h run -n 4 python x.py"),
            ("h sbatch x.sh", "h submit x.sh"),
            ("h sbatch -N 2 -t5 --gpus=4 x.sh --lr 1", "h submit -N 2 -t5 --gpus=4 x.sh -- --lr 1"),
            ("h sbatch -H --time 5 x.sh a", "h submit -H --time 5 x.sh -- a"),
            ("h scontrol show job 17", "h show 17"),
            ("h scontrol hold 17", "h hold 17"),
            ("h scontrol show nodes", "h nodes"),
            ("h scontrol update NodeName=n1 State=DRAIN", "h drain n1"),
            ("h scontrol update nodename=n1 state=drain reason=fan", "h drain n1 --note fan"),
            ("h scontrol update nodename=n1 state=resume", "h undrain n1"),
            ("h scontrol update jobid=1 timelimit=5", "h time-limit 1 5"),
            ("h scontrol update JobId=1 Priority=-3", "h priority 1 -3"),
            ("h scancel -s USR1 17", "h signal -s USR1 17"),
            ("h scancel -u root", "h cancel -u root"),
            ("h sbatch --gpus 4", "h submit --gpus 4 -"),
            ("h sbatch --wrap ls", "h submit --wrap ls"),
        ] {
            assert_eq!(rewritten(slurm), ours);
        }
        let (words, told) = rewrite(vec!["h".into(), "queue".into()]);
        assert_eq!((words.len(), told), (2, None));
    }
}
