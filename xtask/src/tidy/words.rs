//! Words that do not belong in what is committed: loose ends, tests that are switched off, paths of
//! one machine, code in comments. And a word that does: each Rust file begins by saying what it is
//! for.

use super::Problem;
use crate::tree::Tree;

/// This file has to name what it bans.
const THIS_FILE: &str = "xtask/src/tidy/words.rs";

/// What people write. Locks and data are made by programs.
const WRITTEN: [&str; 12] =
    [".css", ".html", ".js", ".json", ".md", ".py", ".rs", ".sh", ".toml", ".ts", ".yaml", ".yml"];

/// What may not be in Rust code, and what to do instead.
const IN_RUST: [(&str, &str); 4] = [
    ("todo!(", "finish it, or return an error that says what is not supported"),
    ("unimplemented!(", "finish it, or return an error that says what is not supported"),
    ("dbg!(", "remove it"),
    ("#[ignore", "a test that does not run shows nothing; make it run or remove it"),
];

/// What may not be in any text.
const MARKS: [&str; 2] = ["TODO", "FIXME"];

/// Folders of one machine. A test may use the second in an example, since it never goes there.
const PLACES: [&str; 3] = ["/work/", "/tmp/", "/root/"];

/// Find Rust files that do not say what they are for.
pub(super) fn check_headers(tree: &Tree) -> Vec<Problem> {
    let silent = tree.rust().filter(|(_, text)| !text.starts_with("//!"));
    let message = "begin with `//!` and one to four sentences: what the file is for, where it \
                   comes from";
    silent.map(|(path, _)| Problem::new(path, 1, message)).collect()
}

/// Find words that do not belong.
pub(super) fn check_words(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (path, text) in tree.files().filter(|(path, _)| is_written(path)) {
        for (number, line) in text.lines().enumerate() {
            let objections = objections(path, line);
            problems.extend(objections.into_iter().map(|it| Problem::new(path, number + 1, it)));
        }
    }
    problems
}

fn is_written(path: &str) -> bool {
    let by_ending = WRITTEN.iter().any(|ending| path.ends_with(ending));
    (by_ending || path == ".ci/run") && path != THIS_FILE
}

fn objections(path: &str, line: &str) -> Vec<String> {
    let mut found = Vec::new();
    if path.ends_with(".rs") {
        for (word, instead) in IN_RUST.iter().filter(|(word, _)| line.contains(word)) {
            found.push(format!("`{word}`: {instead}"));
        }
        if let Some(code) = commented_out(line) {
            found.push(format!("`{code}` is code in a comment; remove it, git remembers"));
        }
    }
    // A guide may quote a mark to say that there should be none.
    let quoted = if path.ends_with(".md") { '`' } else { '\0' };
    for mark in MARKS {
        if words_at(line, mark).any(|before| before != Some(quoted)) {
            found.push(format!("`{mark}`: do it now or leave it out"));
        }
    }
    let in_test = path.contains("/tests/") || path.starts_with("tests/");
    for place in PLACES.iter().filter(|place| !(in_test && **place == "/tmp/")) {
        let starts_here = |before: char| !before.is_alphanumeric() && !"._-}*".contains(before);
        let mut befores = line.match_indices(place).map(|(at, _)| line[..at].chars().last());
        if befores.any(|before| before.is_none_or(starts_here)) {
            found.push(format!("`{place}` is a path of one machine; use a relative path"));
        }
    }
    found
}

/// What stands before each place where `word` appears as a whole word.
fn words_at<'a>(line: &'a str, word: &'a str) -> impl Iterator<Item = Option<char>> + 'a {
    let part_of_word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    line.match_indices(word).filter_map(move |(at, _)| {
        let before = line[..at].chars().last();
        let after = line[at + word.len()..].chars().next();
        (!part_of_word(before) && !part_of_word(after)).then_some(before)
    })
}

/// The code in a line that is nothing but a comment. Prose ends in no brace and seldom in a
/// semicolon, and where it does, it does not parse.
fn commented_out(line: &str) -> Option<&str> {
    let code = line.trim().strip_prefix("// ")?.trim();
    let block = match code.chars().last()? {
        ';' if code.contains(['(', '=', '.', ':']) => format!("{{ {code} }}"),
        '{' => format!("{{ {code} }} }}"),
        _ => return None,
    };
    syn::parse_str::<syn::Block>(&block).ok().map(|_| code)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tests::assert_one;

    fn check_line(path: &str, line: &str) -> Vec<Problem> {
        check_words(&Tree::of(&[(path, &format!("//! What.\n{line}\n"))]))
    }

    #[test]
    fn a_file_that_does_not_say_what_it_is_for_is_found() {
        let tree = Tree::of(&[("a.rs", "use std::fmt;\n"), ("b.rs", "//! What.\n"), ("c.md", "")]);
        assert_one(&check_headers(&tree), "a.rs:1", "begin with `//!`");
    }

    #[test]
    fn loose_ends_are_found() {
        for line in ["todo!()", "unimplemented!(\"x\")", "dbg!(1);", "#[ignore = \"slow\"]"] {
            assert_one(&check_line("a.rs", line), "a.rs:2", "`: ");
        }
        assert_one(&check_line("a.toml", "# TODO: more"), "a.toml:2", "do it now");
        assert_one(&check_line("docs/a.md", "FIXME"), "docs/a.md:2", "do it now");
        assert_eq!(check_line("a.rs", "// MASTODON_TODOS are whole words"), []);
        assert_eq!(check_line("docs/a.md", "There is no `TODO` in our code."), []);
    }

    #[test]
    fn paths_of_one_machine_are_found() {
        assert_one(&check_line("docs/a.md", "See /work/x."), "docs/a.md:2", "/work/");
        assert_one(&check_line("src/a.rs", "\"/tmp/x\""), "src/a.rs:2", "/tmp/");
        assert_eq!(check_line("crates/sim/tests/a.rs", "\"/tmp/x\""), []);
        assert_eq!(check_line("docs/a.md", "See ../work/x and network/work/y."), []);
    }

    #[test]
    fn code_in_comments_is_found() {
        for line in ["// let x = 1;", "    // if ready {", "// jobs.sort();"] {
            assert_one(&check_line("a.rs", line), "a.rs:2", "code in a comment");
        }
        for line in ["// first this (or that);", "/// let x = 1;", "// so it is.", "// done;"] {
            assert_eq!(check_line("a.rs", line), []);
        }
    }

    #[test]
    fn what_programs_write_is_left_alone() {
        assert_eq!(check_line("Cargo.lock", "# TODO"), []);
    }
}
