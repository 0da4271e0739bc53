//! Who is told how long jobs really run. A simulator can tell; and where a trace declares just the
//! true run times, so do the owners of its jobs.

use heeler_recipes::Card;
use serde_json::Value;

/// What behind the name of a recipe says so.
pub(crate) fn mark(knows_the_truth: bool, declared_is_true: bool) -> &'static str {
    match (knows_the_truth, declared_is_true) {
        (true, _) => " *",
        (false, true) => " †",
        (false, false) => "",
    }
}

/// What the marks mean.
pub(crate) const TRUTH: &str = "* knows how long jobs really run, as only a simulator can";
pub(crate) const DECLARED: &str =
    "† goes by declared run times, which are the true ones of all jobs here";

/// Parts of a card that say nothing of what the recipe is made of.
const PROSE: [&str; 7] = ["name", "row", "paper", "summary", "knob", "claim", "differs"];

/// Whether a recipe goes by what owners declared.
pub(crate) fn goes_by_declared(card: &Card) -> bool {
    let Ok(Value::Object(mut parts)) = serde_json::to_value(card) else { return false };
    parts.retain(|part, _| !PROSE.contains(&part.as_str()));
    parts.values().any(names_it) || parts.get("policy").is_some_and(reserves_by_it)
}

/// Whether reservations go by declared run times because no predictor is named.
fn reserves_by_it(policy: &Value) -> bool {
    let reserves = policy["fit"] == "easy" || policy["fit"]["conservative"].is_object();
    let order = &policy["order"];
    let predicted = order.as_object().is_some_and(|order| {
        order.values().any(|part| part.get("predict").is_some_and(|predict| !predict.is_null()))
    });
    reserves && policy["estimate"].is_null() && !predicted
}

/// Whether a predictor of declared run times is named in a part; that by convergence begins so.
fn names_it(part: &Value) -> bool {
    match part {
        Value::String(word) => word == "declared",
        Value::Array(parts) => parts.iter().any(names_it),
        Value::Object(parts) => {
            parts.iter().any(|(word, part)| word == "convergence" || names_it(part))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::choose;

    #[test]
    fn recipes_that_go_by_declared_run_times_are_known() {
        for (text, expected) in [
            ("fifo", false),
            ("tiresias", false),
            ("srtf", false),
            ("srtf:predict=declared", true),
            ("fifo-easy", true),
            ("fifo-easy:estimate=oracle", false),
            ("fifo:fit=easy", true),
        ] {
            let card = choose(text).expect("a recipe").card;
            assert_eq!(goes_by_declared(&card), expected, "{text}");
        }
    }
}
