//! Scripts that say what they need in lines such as `#HEELER --gpus=4` or `#SBATCH -t 2:00:00`.
//! Such lines count up to the first line that is not a comment, as in Slurm.

use super::flag::{closest, find, find_letter};
use super::{Draft, Given, LARGEST_FILE, Origin, Takes, Wrong};

/// What Slurm knows and we do without, and that takes no value.
const BARE: [&str; 12] = [
    "exclusive",
    "overcommit",
    "oversubscribe",
    "contiguous",
    "parsable",
    "quiet",
    "verbose",
    "wait",
    "test-only",
    "spread-job",
    "use-min-nodes",
    "reboot",
];

/// Who a line is for.
#[derive(Clone, Copy, PartialEq)]
enum For {
    /// Us: what is not understood is a mistake.
    Heeler,
    /// Slurm: what is not understood is left out with a note.
    Slurm,
}

/// Read a script that is in this file.
pub fn read(text: &str, file: &str) -> Result<Draft, Wrong> {
    let whole = |message: &str| Wrong { file: Some(file.into()), ..Wrong::new(message) };
    if text.len() > LARGEST_FILE {
        return Err(whole("is larger than a script may be (1 MiB)"));
    }
    if text.contains('\0') {
        return Err(whole("is no text").hint("to run a program, say `-- ./program`"));
    }
    if !text.starts_with("#!") {
        let hint = "begin it with a line such as #!/bin/bash";
        let wrong = Wrong { line: Some(1), ..whole("does not say what it is run by") };
        return Err(wrong.hint(hint));
    }
    // The interpreter of `#!/bin/sh\r` is nowhere to be found, and nobody sees why.
    if let Some(line) = text.split('\n').position(|line| line.ends_with('\r')) {
        let line = Some(u32::try_from(line + 1).unwrap_or(u32::MAX));
        let wrong = Wrong { line, ..whole("ends as lines do on DOS and Windows (CR LF)") };
        let hint = format!("`sed -i 's/\\r$//' {file}` or dos2unix makes them end as they should");
        return Err(wrong.hint(hint));
    }
    let mut draft = Draft { script: Some(text.to_string()), ..Draft::default() };
    let mut ignored: Vec<(u32, String)> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim_end();
        if !line.is_empty() && !line.starts_with('#') {
            break;
        }
        let (rest, whom) = match (line.strip_prefix("#HEELER"), line.strip_prefix("#SBATCH")) {
            (Some(rest), _) => (rest, For::Heeler),
            (_, Some(rest)) => (rest, For::Slurm),
            _ => continue,
        };
        if !rest.is_empty() && !rest.starts_with(char::is_whitespace) {
            continue;
        }
        let number = u32::try_from(index + 1).unwrap_or(u32::MAX);
        let origin = Origin::File { file: file.into(), line: number };
        let words = words(rest).map_err(|wrong| wrong.within(&origin))?;
        let left = options(&words, whom, &origin, &mut draft.given)
            .map_err(|wrong| wrong.within(&origin))?;
        ignored.extend(left.into_iter().map(|name| (number, name)));
    }
    draft.notes.extend(note(file, &ignored));
    draft.notes.extend(srun(text, file));
    Ok(draft)
}

/// The words of a line, up to a comment.
fn words(rest: &str) -> Result<Vec<String>, Wrong> {
    let rest = match rest.find(" #") {
        Some(at) => &rest[..at],
        None => rest,
    };
    shell_words::split(rest).map_err(|_| Wrong::new("a quote is not closed").about(rest.trim()))
}

/// Take the options of a line, and give back the names of those that are left out.
fn options(
    words: &[String],
    whom: For,
    origin: &Origin,
    given: &mut Vec<Given>,
) -> Result<Vec<String>, Wrong> {
    let mut left = Vec::new();
    let mut words = words.iter().peekable();
    while let Some(word) = words.next() {
        let (name, attached, known) = split(word)?;
        let Some(flag) = known else {
            if whom == For::Heeler {
                return Err(unknown(&name));
            }
            let bare = BARE.contains(&name.trim_start_matches('-'));
            // Its value is not an option of its own.
            if attached.is_none() && !bare {
                words.next_if(|next| !next.starts_with('-'));
            }
            left.push(name);
            continue;
        };
        let value = match (flag.takes, attached) {
            (Takes::Nothing, attached) => attached,
            (Takes::Value(_), Some(value)) => Some(value),
            (Takes::Value(what), None) => match words.next() {
                Some(value) => Some(value.clone()),
                None => return Err(Wrong::new(format!("{what} is missing")).about(name)),
            },
        };
        given.push(Given { flag, value, origin: origin.clone() });
    }
    Ok(left)
}

/// An option's name, the value that is attached to it, and which one it is.
type Split = (String, Option<String>, Option<&'static super::Flag>);

fn split(word: &str) -> Result<Split, Wrong> {
    if let Some(long) = word.strip_prefix("--") {
        let (name, value) = match long.split_once('=') {
            Some((name, value)) => (name, Some(value.to_string())),
            None => (long, None),
        };
        return Ok((format!("--{name}"), value, find(name)));
    }
    let letter = word.strip_prefix('-').and_then(|rest| rest.chars().next());
    let Some(letter) = letter else {
        return Err(Wrong::new("expected an option such as --gpus=4").about(word));
    };
    let rest = &word[1 + letter.len_utf8()..];
    let rest = rest.strip_prefix('=').unwrap_or(rest);
    let value = (!rest.is_empty()).then(|| rest.to_string());
    Ok((format!("-{letter}"), value, find_letter(letter)))
}

fn unknown(name: &str) -> Wrong {
    let wrong = Wrong::new("there is no such option").about(name);
    match closest(name.trim_start_matches('-')) {
        Some(close) => wrong.hint(format!("did you mean --{close}?")),
        None => wrong.hint("`heeler submit --help` lists them"),
    }
}

/// What to say of options that are left out.
fn note(file: &str, ignored: &[(u32, String)]) -> Option<String> {
    if ignored.is_empty() {
        return None;
    }
    let named: Vec<String> =
        ignored.iter().map(|(line, name)| format!("{name} (line {line})")).collect();
    Some(format!("{file}: ignored, as Heeler has nothing like them: {}", named.join(", ")))
}

/// What to say of a script that calls `srun`.
fn srun(text: &str, file: &str) -> Option<String> {
    let calls = |line: &str| line.trim_start().split(' ').next() == Some("srun");
    let line = text.lines().position(calls)? + 1;
    Some(format!(
        "{file}: line {line} calls srun, which is Slurm's; with --ranks per-gpu (or per-node) \
         Heeler itself starts the script once for each"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(text: &str) -> Vec<(&'static str, Option<String>, u32)> {
        let line = |origin: Origin| match origin {
            Origin::File { line, .. } => line,
            Origin::Typed => 0,
        };
        let draft = read(text, "job.sh").expect("a script");
        draft.given.into_iter().map(|one| (one.flag.long, one.value, line(one.origin))).collect()
    }

    #[test]
    fn lines_of_both_kinds_are_read_up_to_the_first_command() {
        let text = "#!/bin/bash\n#SBATCH -J train -N2\n# words\n\n#SBATCH --gpus-per-node=a100:4\n\
                    #HEELER --retries 3 # a remark\n#SBATCH --requeue\necho\n#SBATCH -t 5\n";
        let some = |text: &str| Some(text.to_string());
        assert_eq!(
            given(text),
            [
                ("job-name", some("train"), 2),
                ("nodes", some("2"), 2),
                ("gpus-per-node", some("a100:4"), 5),
                ("retries", some("3"), 6),
                ("requeue", None, 7),
            ]
        );
        assert_eq!(given("#!/bin/sh\n#SBATCHED -t 5\n#SBATCH\n"), []);
        let quoted = given("#!/bin/sh\n#SBATCH --output=\"my logs/%j\"\n");
        assert_eq!(quoted, [("output", some("my logs/%j"), 2)]);
    }

    #[test]
    fn what_slurm_knows_and_we_do_not_is_noted() {
        let text = "#!/bin/bash\n#SBATCH --mail-type END -t 5\n#SBATCH --exclusive\nsrun python\n";
        let draft = read(text, "job.sh").expect("a script");
        assert_eq!(draft.given.len(), 1);
        assert!(draft.notes[0].contains("--mail-type (line 2), --exclusive (line 3)"));
        assert!(draft.notes[1].contains("line 4 calls srun"));
    }

    #[test]
    fn mistakes_name_file_and_line() {
        for (text, says) in [
            ("echo\n", "job.sh:1: does not say what it is run by"),
            ("", "job.sh:1: does not say"),
            ("#!/bin/sh\n#HEELER --gpu-per-node 4\n", "job.sh:2: `--gpu-per-node`: there is no"),
            ("#!/bin/sh\n\n#SBATCH --time\n", "job.sh:3: `--time`: TIME is missing"),
            ("#!/bin/sh\n#SBATCH gpus=3\n", "job.sh:2: `gpus=3`: expected an option"),
            ("#!/bin/sh\n#SBATCH -J 'a\n", "job.sh:2: `-J 'a`: a quote is not closed"),
            ("#!\0", "job.sh: is no text"),
        ] {
            let wrong = read(text, "job.sh").expect_err(text).to_string();
            assert!(wrong.contains(says), "{wrong}");
        }
    }
}
