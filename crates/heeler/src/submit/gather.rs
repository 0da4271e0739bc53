//! From files and words on the command line to jobs.

use crate::mistake::Mistake;
use anyhow::Result;
use heeler_api::read::{Context, Draft, Given, Job, LARGEST_FILE, script, yaml};
use jiff::Zoned;
use std::io::Read;
use std::path::Path;

/// Where jobs are handed in from.
fn context(name: &str, command: &[String]) -> Result<Context> {
    let dir = std::env::current_dir()
        .map_err(|error| Mistake::new(format!("this folder cannot be used: {error}")))?;
    // What is no text cannot be sent, and no program expects it.
    let env = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    Ok(Context {
        now: Zoned::now(),
        dir: dir.to_string_lossy().into_owned(),
        env: env.collect(),
        name: name.to_string(),
        command: command.to_vec(),
    })
}

/// The job of a command.
pub(crate) fn of_command(command: &[String], given: &[Given]) -> Result<Job> {
    let name = command.first().map_or("", String::as_str);
    Ok(Draft::default().build(given, &context(name, command)?)?)
}

/// The job of a line for a shell.
pub(crate) fn of_line(line: &str, given: &[Given]) -> Result<Job> {
    let script = Some(format!("#!/bin/sh\n{line}\n"));
    Ok(Draft { script, ..Draft::default() }.build(given, &context("wrap", &[])?)?)
}

/// The job of a file; `-` is the standard input.
pub(crate) fn of_file(path: &Path, arguments: &[String], given: &[Given]) -> Result<Job> {
    let shown = path.display().to_string();
    let (text, name) = match shown.as_str() {
        "-" => (limited(&mut std::io::stdin(), "the standard input")?, "standard-input"),
        _ => (open(path)?, shown.as_str()),
    };
    let is_yaml = path.extension().is_some_and(|ending| ending == "yaml" || ending == "yml");
    let draft = if is_yaml { yaml::read(&text, name)? } else { script::read(&text, name)? };
    Ok(draft.build(given, &context(name, arguments)?)?)
}

fn open(path: &Path) -> Result<String> {
    let shown = path.display();
    let unread = |error: std::io::Error| {
        let hint = match error.kind() {
            std::io::ErrorKind::NotFound => format!(
                "a command goes after two dashes: `heeler submit -- {shown} …`; so do a script's \
                 own arguments"
            ),
            _ => "check the path".into(),
        };
        Mistake::new(format!("{shown}: cannot be read: {error}")).hint(hint)
    };
    let mut file = std::fs::File::open(path).map_err(unread)?;
    if file.metadata().map_err(unread)?.is_dir() {
        return Err(Mistake::new(format!("{shown} is a folder")).hint("name a script").into());
    }
    limited(&mut file, &shown.to_string())
}

fn limited(from: &mut impl Read, name: &str) -> Result<String> {
    let mut bytes = Vec::new();
    let most = LARGEST_FILE as u64 + 1;
    from.take(most)
        .read_to_end(&mut bytes)
        .map_err(|error| Mistake::new(format!("{name}: cannot be read: {error}")))?;
    if bytes.len() > LARGEST_FILE {
        let mistake = Mistake::new(format!("{name} is larger than a job's file may be (1 MiB)"));
        return Err(mistake.hint("to run a program, say `-- ./program`").into());
    }
    String::from_utf8(bytes).map_err(|_| {
        let mistake = Mistake::new(format!("{name} is no text"));
        mistake.hint("to run a program, say `-- ./program`").into()
    })
}
