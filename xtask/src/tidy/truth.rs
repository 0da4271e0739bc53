//! Who may look at the truth. A policy that sees how long a job really takes would look better than
//! it is, so the one function that tells is used only by the simulated world and by the predictors
//! that are named after it.

use super::Problem;
use crate::tree::Tree;

/// The function that tells.
const TRUTH: &str = "truth_for_the_oracle";

/// Where it may be used: where it is defined, in the oracle and its noisy sibling, in the world,
/// and here.
const ALLOWED: [&str; 5] = [
    "crates/model/",
    "crates/parts/src/predict/oracle.rs",
    "crates/parts/src/predict/noisy.rs",
    "crates/sim/",
    "xtask/src/tidy/truth.rs",
];

/// Find uses in other places.
pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (path, text) in tree.rust() {
        if ALLOWED.iter().any(|place| path.starts_with(place)) {
            continue;
        }
        for (number, line) in text.lines().enumerate().filter(|(_, line)| line.contains(TRUTH)) {
            let message = format!(
                "`{}` looks at the truth; ask the view's predictor instead, and let a recipe that \
                 needs the truth say `predict = \"oracle\"` in its card",
                line.trim()
            );
            problems.push(Problem::new(path, number + 1, message));
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tests::assert_one;

    #[test]
    fn a_policy_that_peeks_is_found() {
        let text = "fn key(job: &Job) -> f64 {\n    job.truth_for_the_oracle().work\n}\n";
        let tree = Tree::of(&[("crates/parts/src/order/shortest.rs", text)]);
        assert_one(&check(&tree), "crates/parts/src/order/shortest.rs:2", "looks at the truth");
        let tree = Tree::of(&[("crates/parts/src/predict/oracle.rs", text)]);
        assert_eq!(check(&tree), []);
    }
}
