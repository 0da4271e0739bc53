//! Everything that reads what strangers wrote, each as a function of bytes that must not panic
//! whatever they are. A fuzzer calls these without end (`fuzz/`); the tests here call them with a
//! small corpus and with some thousands of mutations of it.

mod control;
mod files;
mod jobs;
mod journal;
mod mutate;
mod scratch;
mod traces;

pub use mutate::Mutator;

/// Something that reads what strangers wrote.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// What it is called, and where its corpus is.
    pub name: &'static str,
    /// Read it once.
    pub one: fn(&[u8]),
}

/// All targets.
pub const TARGETS: [Target; 13] = [
    Target { name: "script", one: jobs::script },
    Target { name: "yaml", one: jobs::yaml },
    Target { name: "words", one: jobs::words },
    Target { name: "body", one: control::body },
    Target { name: "record", one: control::record },
    Target { name: "report", one: control::report },
    Target { name: "journal", one: journal::journal },
    Target { name: "cluster", one: files::cluster },
    Target { name: "recipe", one: files::recipe },
    Target { name: "service", one: files::service },
    Target { name: "world", one: files::world },
    Target { name: "trace", one: traces::trace },
    Target { name: "table", one: traces::table },
];

/// The target of that name.
pub fn target(name: &str) -> Option<Target> {
    TARGETS.into_iter().find(|target| target.name == name)
}

/// The text in some bytes; readers of text never see others.
fn text(data: &[u8]) -> Option<&str> {
    std::str::from_utf8(data).ok()
}

/// What stands on the first line, and what comes after it.
fn first_line(text: &str) -> (&str, &str) {
    text.split_once('\n').unwrap_or((text, ""))
}
