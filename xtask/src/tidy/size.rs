//! How long files, functions and lines may be. A reader holds a page in mind, not a scroll; what
//! grows beyond it wants to be two things.

use super::Problem;
use super::ratchet::{Kind, Ratchet};
use crate::tree::Tree;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

const FILE_LINES: usize = 400;
const TEST_FILE_LINES: usize = 800;
/// A file that belongs to one paper; beyond that, a part wants to be born.
const RECIPE_LINES: usize = 150;
const FUNCTION_LINES: usize = 60;
const COLUMNS: usize = 100;

/// Something that has a size.
#[derive(Clone, Debug)]
pub(super) struct Measure {
    pub(super) kind: Kind,
    /// What the ratchet calls it.
    pub(super) key: String,
    pub(super) file: String,
    pub(super) line: usize,
    pub(super) size: usize,
    pub(super) limit: usize,
}

/// Find what is too long and what the ratchet lists wrongly.
pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let (measures, mut problems) = measure(tree);
    match Ratchet::of(tree) {
        Ok(ratchet) => problems.extend(ratchet.check(&measures)),
        Err(problem) => problems.push(problem),
    }
    problems
}

/// Measure all Rust files; those that do not parse are problems.
pub(super) fn measure(tree: &Tree) -> (Vec<Measure>, Vec<Problem>) {
    let (mut measures, mut problems) = (Vec::new(), Vec::new());
    for (path, text) in tree.rust() {
        measures.extend(measure_text(tree, path, text));
        match syn::parse_file(text) {
            Ok(file) => {
                let mut functions = Functions { file: path, inside: vec![], found: vec![] };
                functions.visit_file(&file);
                measures.extend(functions.found);
            }
            Err(error) => {
                let line = error.span().start().line;
                problems.push(Problem::new(path, line, format!("does not parse: {error}")));
            }
        }
    }
    (measures, problems)
}

fn measure_text(tree: &Tree, path: &str, text: &str) -> Vec<Measure> {
    let measure = |kind, line, size, limit| {
        let (key, file) = (path.to_owned(), path.to_owned());
        Measure { kind, key, file, line, size, limit }
    };
    let lines = text.lines().count();
    let mut measures = vec![measure(Kind::Files, 1, lines, file_limit(tree, path))];
    let columns = text.lines().map(|line| line.chars().count()).enumerate();
    // The first of the longest, so that the message names a line that stays where it is.
    let longest = columns.max_by_key(|(number, columns)| (*columns, usize::MAX - number));
    measures.extend(longest.map(|(at, size)| measure(Kind::Columns, at + 1, size, COLUMNS)));
    measures
}

fn file_limit(tree: &Tree, path: &str) -> usize {
    let is_test =
        path.starts_with("tests/") || path.contains("/tests/") || path.ends_with("/tests.rs");
    match path.strip_prefix("crates/recipes/src/") {
        _ if is_test => TEST_FILE_LINES,
        Some(inside) if belongs_to_paper(tree, inside) => RECIPE_LINES,
        _ => FILE_LINES,
    }
}

/// Whether a file of the recipe crate, or a folder that it is in, is called like a card or like the
/// beginning of one: `gavel.rs` belongs to `gavel-las.toml`.
fn belongs_to_paper(tree: &Tree, inside: &str) -> bool {
    let names = inside.strip_suffix(".rs").unwrap_or(inside).split('/');
    let names: Vec<_> = names.map(|name| name.replace('_', "-")).collect();
    let called = |card: &str, name: &String| {
        card.strip_prefix(name.as_str())
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
    };
    tree.inside("recipes", ".toml").any(|(card, ..)| names.iter().any(|name| called(card, name)))
}

/// Collects the functions of a file, with their bodies or without.
struct Functions<'a> {
    file: &'a str,
    /// The modules, types and traits around the present place.
    inside: Vec<String>,
    found: Vec<Measure>,
}

impl Functions<'_> {
    /// From `fn` to the closing brace; attributes and comments above are free.
    fn add(&mut self, signature: &syn::Signature, block: &syn::Block) {
        let start = signature.span().start().line;
        let end = block.brace_token.span.close().end().line;
        let mut names = self.inside.clone();
        names.push(signature.ident.to_string());
        self.found.push(Measure {
            kind: Kind::Functions,
            key: format!("{}::{}", self.file, names.join("::")),
            file: self.file.to_owned(),
            line: start,
            size: end - start + 1,
            limit: FUNCTION_LINES,
        });
    }

    fn within(&mut self, name: String, walk: impl FnOnce(&mut Self)) {
        self.inside.push(name);
        walk(self);
        self.inside.pop();
    }
}

impl<'ast> Visit<'ast> for Functions<'_> {
    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.add(&item.sig, &item.block);
        self.within(item.sig.ident.to_string(), |inner| visit::visit_item_fn(inner, item));
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.add(&item.sig, &item.block);
        self.within(item.sig.ident.to_string(), |inner| visit::visit_impl_item_fn(inner, item));
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        if let Some(block) = &item.default {
            self.add(&item.sig, block);
        }
        self.within(item.sig.ident.to_string(), |inner| visit::visit_trait_item_fn(inner, item));
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        self.within(type_name(&item.self_ty), |inner| visit::visit_item_impl(inner, item));
    }

    fn visit_item_trait(&mut self, item: &'ast syn::ItemTrait) {
        self.within(item.ident.to_string(), |inner| visit::visit_item_trait(inner, item));
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        self.within(item.ident.to_string(), |inner| visit::visit_item_mod(inner, item));
    }
}

/// What a type is called, without its path and parameters.
fn type_name(of: &syn::Type) -> String {
    match of {
        syn::Type::Path(path) => {
            path.path.segments.last().map_or("_".into(), |segment| segment.ident.to_string())
        }
        syn::Type::Reference(reference) => type_name(&reference.elem),
        _ => "_".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tests::assert_one;

    fn lines(count: usize) -> String {
        "//! What.\n".repeat(count)
    }

    /// A function of this many lines, on line three.
    fn function(lines: usize) -> String {
        let body = "        ();\n".repeat(lines - 2);
        format!("impl Queue<u8> {{\n    /// Doc.\n    fn sort(&self) {{\n{body}    }}\n}}\n")
    }

    #[test]
    fn a_long_file_is_found() {
        assert_eq!(check(&Tree::of(&[("a.rs", &lines(400))])), []);
        let problems = check(&Tree::of(&[("a.rs", &lines(401))]));
        assert_one(&problems, "a.rs:1", "401 lines, 400 allowed");
    }

    #[test]
    fn tests_may_be_longer_and_recipes_shorter() {
        assert_eq!(check(&Tree::of(&[("crates/sim/tests/a.rs", &lines(800))])), []);
        let cards = Tree::of(&[("recipes/gavel-las.toml", "")]);
        let tree = cards.clone().with("crates/recipes/src/gavel.rs", &lines(151));
        assert_one(&check(&tree), "crates/recipes/src/gavel.rs:1", "151 lines, 150 allowed");
        let tree = cards.with("crates/recipes/src/registry.rs", &lines(151));
        assert_eq!(check(&tree), []);
    }

    #[test]
    fn a_long_function_is_found() {
        assert_eq!(check(&Tree::of(&[("a.rs", &function(60))])), []);
        let problems = check(&Tree::of(&[("a.rs", &function(61))]));
        assert_one(&problems, "a.rs:3", "`a.rs::Queue::sort` has 61 lines, 60 allowed");
    }

    #[test]
    fn a_long_line_is_found_and_characters_count() {
        let fits = format!("//! {}\n", "→".repeat(96));
        assert_eq!(check(&Tree::of(&[("a.rs", &fits)])), []);
        let text = format!("//! x\n//! {}\n", "→".repeat(97));
        assert_one(&check(&Tree::of(&[("a.rs", &text)])), "a.rs:2", "101 columns, 100 allowed");
    }

    #[test]
    fn what_does_not_parse_is_found() {
        assert_one(&check(&Tree::of(&[("a.rs", "//! x\nfn (")])), "a.rs:2", "does not parse");
    }
}
