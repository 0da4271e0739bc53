//! The rules of the house, one test each, on the repository as it is.

use xtask::tidy::RULES;
use xtask::tree::Tree;

/// That nothing in the repository breaks the rule.
#[track_caller]
fn holds(name: &str) {
    let rule = RULES.iter().find(|rule| rule.name == name).expect("the rule exists");
    let tree = Tree::of_repository(&xtask::root()).expect("git lists the files");
    assert!(tree.text("xtask/src/tidy/mod.rs").is_some(), "the files are really read");
    let problems: Vec<_> = (rule.check)(&tree).iter().map(ToString::to_string).collect();
    assert!(problems.is_empty(), "{}:\n{}", rule.about, problems.join("\n"));
}

#[test]
fn arrows() {
    holds("arrows");
}

#[test]
fn purity() {
    holds("purity");
}

#[test]
fn truth() {
    holds("truth");
}

#[test]
fn size() {
    holds("size");
}

#[test]
fn words() {
    holds("words");
}

#[test]
fn headers() {
    holds("headers");
}

#[test]
fn cards() {
    holds("cards");
}

#[test]
fn licence() {
    holds("licence");
}

#[test]
fn changelog() {
    holds("changelog");
}

#[test]
fn every_rule_has_a_test_here() {
    let text = include_str!("tidy.rs");
    for rule in RULES {
        assert!(text.contains(&format!("    holds(\"{}\");", rule.name)), "{}", rule.name);
    }
}
