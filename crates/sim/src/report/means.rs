//! The table of means over all seeds of a comparison, for each load, with how sure they are.

use super::fronts::{Figures, Front, Weighed};
use super::scale::Quantity;
use super::text::{escape, number};
use crate::metrics::Interval;
use std::fmt::Write;

/// A table for each load; nothing if the report is of one run of each recipe, which the summary
/// shows.
pub(super) fn section(out: &mut String, fronts: &[Front], several: bool) {
    if !several || fronts.is_empty() {
        return;
    }
    out.push_str(
        "<section><h2>Means over all runs</h2><p class=\"reading\">JCT, the job completion time, \
         is the time from submission to end. Each mean stands with half the width of its 95 % \
         confidence interval; means relative to a recipe are geometric means over runs on the same \
         jobs, with the interval itself.</p>",
    );
    for front in fronts {
        let first = front.recipes.first().map_or("", |recipe| recipe.label.as_str());
        let _ = write!(
            out,
            "<h3 class=\"which\">{}</h3><div class=\"scroll\"><table class=\"means\"><thead><tr>\
             <th scope=\"col\">recipe</th><th scope=\"col\">mean JCT</th><th scope=\"col\">vs {}\
             </th><th scope=\"col\">p99 JCT</th><th scope=\"col\">unfair</th><th scope=\"col\">\
             restarts for each job</th></tr></thead><tbody>",
            escape(&front.over),
            escape(first),
        );
        front.recipes.iter().for_each(|recipe| row(out, recipe));
        out.push_str("</tbody></table></div>");
    }
    out.push_str("</section>\n");
}

fn row(out: &mut String, recipe: &Weighed) {
    let Figures { completion_mean_s, relative, completion_p99_s, unfair, restarts_per_job } =
        &recipe.figures;
    let _ = write!(out, "<tr><th scope=\"row\">{}</th>", escape(&recipe.label));
    // Who finished nothing has no times, and nobody who was treated unfairly.
    let finished = completion_mean_s.mean > 0.0;
    let of_finished = |interval, quantity| match finished {
        true => words(interval, quantity),
        false => "–".to_string(),
    };
    let relative = match relative {
        Some(factor) => match (factor.low, factor.high) {
            (Some(low), Some(high)) => {
                format!("{} <small>{}..{}</small>", number(factor.mean), number(low), number(high))
            }
            _ => number(factor.mean),
        },
        None => "–".to_string(),
    };
    for cell in [
        of_finished(completion_mean_s, Quantity::Time),
        relative,
        of_finished(completion_p99_s, Quantity::Time),
        of_finished(unfair, Quantity::Part),
        words(restarts_per_job, Quantity::Number),
    ] {
        let _ = write!(out, "<td>{cell}</td>");
    }
    out.push_str("</tr>");
}

fn words(interval: &Interval, quantity: Quantity) -> String {
    let form = |value| match quantity {
        Quantity::Number => number(value),
        _ => quantity.words(value),
    };
    match interval.half_width.filter(|half| half.is_finite()) {
        Some(half) => format!("{} <small>± {}</small>", form(interval.mean), form(half)),
        None => form(interval.mean),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Factor;
    use super::*;

    fn fronts() -> Vec<Front> {
        let mean = |mean, half| Interval { mean, half_width: Some(half) };
        let figures = Figures {
            completion_mean_s: mean(600.0, 60.0),
            relative: Factor::of(&[0.5, 0.5]),
            ..Figures::default()
        };
        let fast = Weighed { label: "<fast>".into(), figures, ..Weighed::default() };
        let none = Weighed { label: "none".into(), ..Weighed::default() };
        vec![Front { over: "load 1".into(), recipes: vec![fast, none] }]
    }

    #[test]
    fn means_stand_with_their_intervals_and_who_finished_nothing_has_none() {
        let mut page = String::new();
        section(&mut page, &fronts(), true);
        assert!(page.contains("10 min <small>± 1 min</small>"), "{page}");
        assert!(page.contains("<td>0.50 <small>0.50..0.50</small></td>"), "{page}");
        assert!(page.contains("vs &lt;fast&gt;") && !page.contains("<fast>"), "{page}");
        let none = page.split("none</th>").nth(1).expect("a row");
        assert!(none.starts_with("<td>–</td><td>–</td><td>–</td><td>–</td><td>0.00</td>"));
    }

    #[test]
    fn one_run_of_each_has_no_table_of_means() {
        let mut page = String::new();
        section(&mut page, &fronts(), false);
        assert_eq!(page, "");
    }
}
