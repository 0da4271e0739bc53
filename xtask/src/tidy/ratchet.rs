//! Exceptions from the limits on size, which may only shrink. They are listed in `ratchet.toml`
//! with the size they have; growing is refused, and so is a list that says more than is so.

use super::Problem;
use super::size::{Measure, measure};
use crate::tree::Tree;
use std::collections::BTreeMap;
use std::fmt::Write;
use toml::{Table, Value};

/// Where the exceptions are.
const FILE: &str = "xtask/ratchet.toml";

/// What the file begins with.
const HEADER: &str = "\
# What is longer than the rules allow, with the size it has. Entries may only shrink and go:
# `cargo xtask tidy --lower` writes what has become smaller. New ones are added by hand.
";

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// Lines of a file.
    Files,
    /// Lines of a function.
    Functions,
    /// The longest line of a file.
    Columns,
}

const KINDS: [Kind; 3] = [Kind::Files, Kind::Functions, Kind::Columns];

impl Kind {
    /// What its table is called.
    fn table(self) -> &'static str {
        match self {
            Kind::Files => "files",
            Kind::Functions => "functions",
            Kind::Columns => "columns",
        }
    }

    fn unit(self) -> &'static str {
        if self == Kind::Columns { "columns" } else { "lines" }
    }
}

/// The exceptions, by kind and name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Ratchet {
    listed: BTreeMap<(Kind, String), usize>,
}

impl Ratchet {
    /// Read the list; without a file there are no exceptions.
    pub(super) fn of(tree: &Tree) -> Result<Ratchet, Problem> {
        let mut ratchet = Ratchet::default();
        let Some(text) = tree.text(FILE) else { return Ok(ratchet) };
        let wrong = |words: String| Problem::new(FILE, 1, words);
        let tables = text.parse::<Table>().map_err(|error| wrong(format!("not TOML: {error}")))?;
        for (name, entries) in &tables {
            let kind = KINDS.into_iter().find(|kind| kind.table() == name);
            let kind = kind.ok_or_else(|| wrong(format!("there is no table [{name}]")))?;
            for (key, size) in entries.as_table().into_iter().flatten() {
                let size = size.as_integer().and_then(|size| usize::try_from(size).ok());
                let size = size.ok_or_else(|| wrong(format!("\"{key}\" needs a number")))?;
                ratchet.listed.insert((kind, key.clone()), size);
            }
        }
        Ok(ratchet)
    }

    /// Compare the list with what is so.
    pub(super) fn check(&self, measures: &[Measure]) -> Vec<Problem> {
        let mut problems = Vec::new();
        for measure in largest(measures).values() {
            let key = (measure.kind, measure.key.clone());
            let words = self.listed.get(&key).map_or_else(
                || (measure.size > measure.limit).then(|| too_long(measure)),
                |listed| listed_wrongly(measure, *listed),
            );
            problems.extend(words.map(|words| Problem::new(&measure.file, measure.line, words)));
        }
        let known = largest(measures);
        for (kind, key) in self.listed.keys().filter(|key| !known.contains_key(*key)) {
            let words = format!(
                "\"{key}\" in [{}] is gone; lower the ratchet: cargo xtask tidy --lower",
                kind.table()
            );
            problems.push(Problem::new(FILE, 1, words));
        }
        problems
    }

    /// The list without what is no longer needed. Nothing is raised or added.
    fn lowered(&self, measures: &[Measure]) -> Ratchet {
        let known = largest(measures);
        let lower = |(key, listed): (&(Kind, String), &usize)| {
            let measure = known.get(key).filter(|measure| measure.size > measure.limit)?;
            Some((key.clone(), measure.size.min(*listed)))
        };
        Ratchet { listed: self.listed.iter().filter_map(lower).collect() }
    }

    /// As it is written in the file.
    fn render(&self) -> String {
        let mut text = HEADER.to_owned();
        for kind in KINDS {
            let entries: Vec<_> = self.listed.iter().filter(|((of, _), _)| *of == kind).collect();
            if !entries.is_empty() {
                writeln!(text, "\n[{}]", kind.table()).expect("a string takes all");
            }
            for ((_, key), size) in entries {
                let key = Value::String(key.clone());
                writeln!(text, "{key} = {size}").expect("a string takes all");
            }
        }
        text
    }
}

/// Rewrite the list with what has become smaller; says how many entries changed or went.
pub fn lower(tree: &Tree, root: &std::path::Path) -> anyhow::Result<usize> {
    let before = Ratchet::of(tree).map_err(|problem| anyhow::anyhow!("{problem}"))?;
    let (measures, _) = measure(tree);
    let after = before.lowered(&measures);
    let changed = before.listed.iter().filter(|(key, size)| after.listed.get(key) != Some(size));
    let changed = changed.count();
    if changed > 0 {
        std::fs::write(root.join(FILE), after.render())?;
    }
    Ok(changed)
}

/// By kind and name. Two functions may share a name, as those of two traits on one type do; the
/// longer one counts.
fn largest(measures: &[Measure]) -> BTreeMap<(Kind, String), &Measure> {
    let mut known: BTreeMap<(Kind, String), &Measure> = BTreeMap::new();
    for measure in measures {
        let entry = known.entry((measure.kind, measure.key.clone())).or_insert(measure);
        if measure.size > entry.size {
            *entry = measure;
        }
    }
    known
}

fn too_long(measure: &Measure) -> String {
    let Measure { kind, key, size, limit, .. } = measure;
    let what = if *kind == Kind::Columns { "has a line of" } else { "has" };
    format!(
        "`{key}` {what} {size} {unit}, {limit} allowed; split it (or, if it cannot be helped now, \
         add `\"{key}\" = {size}` to [{table}] in {FILE})",
        unit = kind.unit(),
        table = kind.table(),
    )
}

fn listed_wrongly(measure: &Measure, listed: usize) -> Option<String> {
    let Measure { kind, key, size, limit, .. } = measure;
    let unit = kind.unit();
    let lower = "lower the ratchet: cargo xtask tidy --lower";
    if size <= limit {
        Some(format!("`{key}` has {size} {unit} and is within the limit; {lower}"))
    } else if *size > listed {
        Some(format!(
            "`{key}` grew from {listed} to {size} {unit}; it may only shrink, so split it"
        ))
    } else if *size < listed {
        Some(format!("`{key}` shrank from {listed} to {size} {unit}; {lower}"))
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::size::check;
    use crate::tidy::tests::assert_one;

    fn tree(lines: usize, listed: usize) -> Tree {
        let ratchet = format!("[files]\n\"a.rs\" = {listed}\n");
        Tree::of(&[("a.rs", &"//! x\n".repeat(lines)), (FILE, &ratchet)])
    }

    #[test]
    fn an_exception_may_stay_as_it_is() {
        assert_eq!(check(&tree(420, 420)), []);
    }

    #[test]
    fn an_exception_may_only_shrink() {
        assert_one(&check(&tree(421, 420)), "a.rs:1", "grew from 420 to 421");
        assert_one(&check(&tree(419, 420)), "a.rs:1", "lower the ratchet");
        assert_one(&check(&tree(399, 420)), "a.rs:1", "within the limit; lower the ratchet");
        let gone = tree(1, 420).with(FILE, "[columns]\n\"b.rs\" = 120\n");
        assert_one(&check(&gone), "xtask/ratchet.toml:1", "\"b.rs\" in [columns] is gone");
    }

    #[test]
    fn a_list_with_a_slip_is_found() {
        let slip = tree(1, 1).with(FILE, "[flies]\n");
        assert_one(&check(&slip), "xtask/ratchet.toml:1", "no table [flies]");
        let slip = tree(1, 1).with(FILE, "[files]\n\"a.rs\" = \"many\"\n");
        assert_one(&check(&slip), "xtask/ratchet.toml:1", "needs a number");
    }

    #[test]
    fn lowering_takes_off_and_never_adds() {
        let lowered = |tree: &Tree| {
            let ratchet = Ratchet::of(tree).unwrap().lowered(&measure(tree).0).render();
            ratchet.strip_prefix(HEADER).unwrap().to_owned()
        };
        assert_eq!(lowered(&tree(410, 420)), "\n[files]\n\"a.rs\" = 410\n");
        assert_eq!(lowered(&tree(430, 420)), "\n[files]\n\"a.rs\" = 420\n");
        assert_eq!(lowered(&tree(300, 420)), "");
        assert_eq!(lowered(&tree(430, 420).with(FILE, "")), "");
    }

    #[test]
    fn lowering_rewrites_the_file() {
        let place = crate::scratch::Scratch::new("ratchet").unwrap();
        let tree = tree(410, 420);
        place.write(FILE, tree.text(FILE).unwrap()).unwrap();
        assert_eq!(lower(&tree, place.path()).unwrap(), 1);
        let written = std::fs::read_to_string(place.path().join(FILE)).unwrap();
        assert_eq!(check(&tree.with(FILE, &written)), []);
    }
}
