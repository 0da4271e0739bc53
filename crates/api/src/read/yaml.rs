//! Short YAML files shaped like SkyPilot's: `name`, `resources`, `num_nodes`, `envs`, `workdir`,
//! `setup` and `run`, and `options` for everything that the command line knows.

use super::{Draft, Given, LARGEST_FILE, Origin, Takes, Wrong, find};
use serde::de::Visitor;
use serde::{Deserialize, Deserializer};
use serde_saphyr::Spanned;
use std::collections::BTreeMap;
use std::fmt;

type Text = Spanned<Scalar>;

/// A value that may be a number, a word or a switch.
#[derive(Clone, Debug)]
enum Scalar {
    Switch(bool),
    Whole(i64),
    Number(f64),
    Word(String),
}

impl<'de> Deserialize<'de> for Scalar {
    // By hand, so that a list in its place is told what was expected.
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Scalar, D::Error> {
        struct Reads;
        impl Visitor<'_> for Reads {
            type Value = Scalar;

            fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
                to.write_str("a word or a number")
            }

            fn visit_bool<E>(self, value: bool) -> Result<Scalar, E> {
                Ok(Scalar::Switch(value))
            }

            fn visit_i64<E>(self, value: i64) -> Result<Scalar, E> {
                Ok(Scalar::Whole(value))
            }

            fn visit_u64<E>(self, value: u64) -> Result<Scalar, E> {
                Ok(i64::try_from(value).map_or(Scalar::Number(value as f64), Scalar::Whole))
            }

            fn visit_f64<E>(self, value: f64) -> Result<Scalar, E> {
                Ok(Scalar::Number(value))
            }

            fn visit_str<E>(self, value: &str) -> Result<Scalar, E> {
                Ok(Scalar::Word(value.into()))
            }
        }
        from.deserialize_any(Reads)
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct File {
    name: Option<Text>,
    resources: Resources,
    num_nodes: Option<Text>,
    envs: BTreeMap<String, Scalar>,
    workdir: Option<Text>,
    setup: Option<String>,
    run: Option<String>,
    options: BTreeMap<String, Text>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Resources {
    accelerators: Option<Spanned<Accelerators>>,
    cpus: Option<Text>,
    memory: Option<Text>,
    use_spot: Option<bool>,
}

/// `A100:8`, `A100`, or `{A100: 8}`.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Accelerators {
    Short(String),
    Counts(BTreeMap<String, u32>),
}

/// Read a YAML file.
pub fn read(text: &str, file: &str) -> Result<Draft, Wrong> {
    if text.len() > LARGEST_FILE {
        let wrong = Wrong::new("is larger than a job's file may be (1 MiB)");
        return Err(Wrong { file: Some(file.into()), ..wrong });
    }
    let parsed: File = serde_saphyr::from_str(text).map_err(|error| unread(&error, file, text))?;
    let mut draft = Draft::default();
    let mut reader = Reader { file, draft: &mut draft };
    reader.options(parsed.options)?;
    reader.text("job-name", parsed.name)?;
    reader.text("nodes", parsed.num_nodes)?;
    reader.text("chdir", parsed.workdir)?;
    reader.resources(parsed.resources)?;
    for (name, value) in parsed.envs {
        draft.env.push((name, value.text()));
    }
    draft.script = script(parsed.setup, parsed.run);
    match draft.script.is_some() {
        true => Ok(draft),
        false => {
            let wrong = Wrong::new("has nothing to run").about("run");
            Err(Wrong {
                file: Some(file.into()),
                ..wrong.hint("add a field `run: python train.py`")
            })
        }
    }
}

/// Setting up and running as one script. Running begins only if setting up went well.
fn script(setup: Option<String>, run: Option<String>) -> Option<String> {
    let run = run.filter(|run| !run.trim().is_empty())?;
    let mut script = String::from("#!/bin/bash\n");
    if let Some(setup) = setup.filter(|setup| !setup.trim().is_empty()) {
        script.push_str(&format!("set -e\n{}\nset +e\n", setup.trim_end()));
    }
    script.push_str(run.trim_end());
    script.push('\n');
    Some(script)
}

struct Reader<'a> {
    file: &'a str,
    draft: &'a mut Draft,
}

impl Reader<'_> {
    fn at(&self, line: u64) -> Origin {
        Origin::File { file: self.file.into(), line: u32::try_from(line).unwrap_or(u32::MAX) }
    }

    fn give(&mut self, long: &str, value: Option<String>, line: u64) -> Result<(), Wrong> {
        let origin = self.at(line);
        let Some(flag) = find(long) else {
            let hint = match super::flag::closest(long) {
                Some(close) => format!("did you mean `{close}`?"),
                None => "`heeler submit --help` lists what there is, without the dashes".into(),
            };
            let wrong = Wrong::new("there is no such option").about(format!("options.{long}"));
            return Err(wrong.hint(hint).within(&origin));
        };
        self.draft.given.push(Given { flag, value, origin });
        Ok(())
    }

    fn text(&mut self, long: &str, value: Option<Text>) -> Result<(), Wrong> {
        let Some(value) = value else { return Ok(()) };
        self.give(long, Some(value.value.text()), value.referenced.line())
    }

    fn options(&mut self, options: BTreeMap<String, Text>) -> Result<(), Wrong> {
        for (name, value) in options {
            let line = value.referenced.line();
            let bare = find(&name).is_some_and(|flag| flag.takes == Takes::Nothing);
            match value.value {
                Scalar::Switch(true) if bare => self.give(&name, None, line)?,
                Scalar::Switch(false) if bare => {}
                value => self.give(&name, Some(value.text()), line)?,
            }
        }
        Ok(())
    }

    fn resources(&mut self, resources: Resources) -> Result<(), Wrong> {
        if let Some(accelerators) = resources.accelerators {
            let line = accelerators.referenced.line();
            let each = match accelerators.value {
                Accelerators::Short(text) => vec![text],
                Accelerators::Counts(counts) => {
                    counts.into_iter().map(|(kind, count)| format!("{kind}:{count}")).collect()
                }
            };
            let [each] = each.as_slice() else {
                let wrong = Wrong::new("expected one kind, such as A100:8");
                let hint = "several kinds that will do are `options: {gpu-kinds: A100,H100}`";
                let wrong = wrong.about("resources.accelerators").hint(hint);
                return Err(wrong.within(&self.at(line)));
            };
            let count = if each.contains(':') { each.clone() } else { format!("{each}:1") };
            self.give("gpus-per-node", Some(count), line)?;
        }
        if let Some(cpus) = resources.cpus {
            let value = cpus.value.text();
            self.give("cpus", Some(value.trim_end_matches('+').into()), cpus.referenced.line())?;
        }
        if let Some(memory) = resources.memory {
            let text = memory.value.text();
            let text = text.trim_end_matches('+');
            // SkyPilot counts memory in GB.
            let is_bare = text.ends_with(|c: char| c.is_ascii_digit());
            let value = if is_bare { format!("{text}G") } else { text.to_string() };
            self.give("mem", Some(value), memory.referenced.line())?;
        }
        if resources.use_spot == Some(true) {
            self.give("best-effort", None, 1)?;
        }
        Ok(())
    }
}

impl Scalar {
    fn text(&self) -> String {
        match self {
            Scalar::Switch(value) => value.to_string(),
            Scalar::Whole(value) => value.to_string(),
            Scalar::Number(value) => value.to_string(),
            Scalar::Word(value) => value.clone(),
        }
    }
}

/// A mistake that the reader of YAML found, in one line.
fn unread(error: &serde_saphyr::Error, file: &str, text: &str) -> Wrong {
    let message = error.without_snippet().to_string();
    let message = message.lines().next().unwrap_or("is no YAML").trim();
    // The line is said in front.
    let message = message.split(" at line ").next().unwrap_or(message);
    let line = error.location().map(|place| u32::try_from(place.line()).unwrap_or(u32::MAX));
    let wrong = Wrong::new(message).hint(
        "a job has name, resources (accelerators, cpus, memory), num_nodes, envs, workdir, \
         setup, run and options",
    );
    // Of a value that is of the wrong kind, its field is said, too.
    let place = line.and_then(|line| text.lines().nth(line as usize - 1));
    let named = place.and_then(|place| place.split_once(':')).map(|(name, _)| name.trim());
    let field = named.filter(|name| message.contains("expected") && !message.contains(*name));
    Wrong { file: Some(file.into()), line, field: field.map(str::to_string), ..wrong }
}

#[cfg(test)]
mod tests {
    use super::*;

    const JOB: &str = "\
name: train
resources:
  accelerators: A100:8
  cpus: 4+
  memory: 64
num_nodes: 2
envs:
  LR: 0.1
workdir: code
setup: |
  pip list
run: |
  python train.py
options:
  time: 2h
  array: 0-3
  hold: true
  requeue: false
";

    #[test]
    fn a_file_like_skypilots_is_read() {
        let draft = read(JOB, "job.yaml").expect("a job");
        let given: Vec<(&str, Option<&str>)> =
            draft.given.iter().map(|one| (one.flag.long, one.value.as_deref())).collect();
        assert_eq!(
            given,
            [
                ("array", Some("0-3")),
                ("hold", None),
                ("time", Some("2h")),
                ("job-name", Some("train")),
                ("nodes", Some("2")),
                ("chdir", Some("code")),
                ("gpus-per-node", Some("A100:8")),
                ("cpus", Some("4")),
                ("mem", Some("64G")),
            ]
        );
        assert_eq!(draft.env, [("LR".to_string(), "0.1".to_string())]);
        let script = "#!/bin/bash\nset -e\npip list\nset +e\npython train.py\n";
        assert_eq!(draft.script.as_deref(), Some(script));
        let counts = read("resources: {accelerators: {H100: 2}}\nrun: x\n", "j.yaml");
        assert_eq!(counts.expect("a job").given[0].value.as_deref(), Some("H100:2"));
    }

    #[test]
    fn mistakes_name_file_line_and_field() {
        for (text, says) in [
            ("name: a\nrunn: x\n", vec!["j.yaml:2: ", "runn"]),
            ("run: x\nresources:\n  gpus: 4\n", vec!["j.yaml:3: ", "gpus"]),
            ("run: x\noptions:\n  gpuz: 4\n", vec!["j.yaml:3: ", "options.gpuz"]),
            ("name: a\n", vec!["j.yaml: ", "`run`: has nothing to run"]),
            ("run: [1\n", vec!["j.yaml:"]),
            ("run: x\nnum_nodes: [2]\n", vec!["j.yaml:2", "`num_nodes`", "a word or a number"]),
            ("name: [a]\nrun: x\n", vec!["j.yaml:1: `name`: ", "a word or a number"]),
        ] {
            let wrong = read(text, "j.yaml").expect_err(text).to_string();
            assert!(says.iter().all(|part| wrong.contains(part)), "{wrong}");
        }
    }
}
