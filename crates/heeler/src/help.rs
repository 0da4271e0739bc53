//! The list of commands in groups, so that it can be read though it is long.

use clap::{Command, CommandFactory};

/// The groups, each with its commands in order. What is in none of them comes last.
const GROUPS: [(&str, &[&str]); 4] = [
    (
        "Commands for jobs",
        &[
            "submit",
            "run",
            "queue",
            "show",
            "logs",
            "cancel",
            "hold",
            "release",
            "suspend",
            "resume",
            "requeue",
            "signal",
            "priority",
            "time-limit",
        ],
    ),
    (
        "Commands to know",
        &["why", "when", "whatif", "top", "events", "history", "usage", "evictions", "audit"],
    ),
    (
        "Commands for the server",
        &[
            "up", "down", "server", "nodes", "drain", "undrain", "lose", "recipe", "tenant",
            "quota", "token",
        ],
    ),
    (
        "Commands to simulate and compare",
        &[
            "demo", "sim", "compare", "tune", "replay", "report", "recipes", "worlds", "services",
            "trace", "bench",
        ],
    ),
];

/// The command line with its commands in groups.
pub(crate) fn grouped<T: CommandFactory>() -> Command {
    let command = T::command();
    let template = format!(
        "{{about}}\n\n{{usage-heading}} {{usage}}\n\n{}Options:\n{{options}}{{after-help}}",
        list(&command)
    );
    command.help_template(template)
}

/// The commands in groups.
fn list(command: &Command) -> String {
    let about = |name: &str| {
        let found = command.get_subcommands().find(|one| one.get_name() == name);
        found.and_then(Command::get_about).map(ToString::to_string).unwrap_or_default()
    };
    let grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
    let rest = command.get_subcommands().filter(|one| !one.is_hide_set());
    let rest: Vec<&str> =
        rest.map(Command::get_name).filter(|name| !grouped.contains(name)).collect();
    let mut text = String::new();
    for (title, names) in GROUPS.iter().copied().chain([("Other commands", rest.as_slice())]) {
        if names.is_empty() {
            continue;
        }
        text.push_str(&format!("{title}:\n"));
        for name in names {
            text.push_str(&format!("  {name:<10}  {}\n", about(name)));
        }
        text.push('\n');
    }
    text
}
