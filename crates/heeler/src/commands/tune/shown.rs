//! What `heeler tune` says to people.

use super::{Line, Output, Round};
use crate::commands::compare::{DECLARED, TRUTH, mark};
use crate::show;

/// What was tried, the table of those that were tried on everything, and what to make of it.
pub(super) fn text(output: &Output) -> String {
    let facts = [
        ("jobs", &output.jobs),
        ("cluster", &output.cluster),
        ("world", &output.world),
        ("seed", &output.seed.to_string()),
        ("objective", &output.objective),
    ];
    let facts = facts.map(|(name, value)| (name.to_string(), value.clone()));
    let mut text = format!("{}\n\n", show::facts_line(&facts));
    output.rounds.iter().for_each(|round| text.push_str(&rung(round, output)));
    text.push_str(&format!("\n{}", table(output)));
    text.push_str(&format!(
        "\nscores are relative to {}; JCT and after: of the later jobs\n",
        output.base
    ));
    let endless = |line: &Line| line.tuned.is_infinite() || line.held_out.is_infinite();
    if output.recipes.iter().any(endless) {
        text.push_str(&format!("inf: did not finish all jobs that {} finished\n", output.base));
    }
    text.push_str(&worth(output));
    text.push_str(&notes(output));
    text
}

/// What came of one round.
fn rung(round: &Round, output: &Output) -> String {
    let Round { jobs, candidates, best, best_score, level } = round;
    let last = *jobs == output.tuned_jobs;
    match (candidates, level) {
        (1, _) => format!("1 candidate on {jobs} jobs: {best} at {best_score:.3}\n"),
        (_, level) if level == candidates => {
            let then = if last { "the first by name is first" } else { "all go on to more jobs" };
            format!(
                "{candidates} candidates on {jobs} jobs: all level at {best_score:.3}, which \
                 decides nothing; {then}\n"
            )
        }
        (_, 1) => {
            format!("{candidates} candidates on {jobs} jobs: best {best} at {best_score:.3}\n")
        }
        _ => format!(
            "{candidates} candidates on {jobs} jobs: best {best} at {best_score:.3}, and {} level \
             with it\n",
            level - 1
        ),
    }
}

fn table(output: &Output) -> String {
    let tuned = format!("on {} jobs>", output.tuned_jobs);
    let after = format!("on {} later ones>", output.held_out_jobs);
    let columns = ["recipe", &tuned, &after, "mean JCT>", "p99>", "unfair>", "restarts>"];
    let mut table = show::Table::new(&columns);
    for line in &output.recipes {
        let mark = mark(line.knows_the_truth, line.declared_is_true);
        // Where nothing finished there are no times.
        let known = |text: String| match line.held_out_undone < output.held_out_jobs {
            true => text,
            false => "–".to_string(),
        };
        table.row(vec![
            format!("{}{mark}", line.recipe),
            format!("{:.3}", line.tuned),
            format!("{:.3}", line.held_out),
            known(show::seconds(line.completion_mean_s)),
            known(show::seconds(line.completion_p99_s)),
            known(show::percent(line.unfair)),
            show::decimal(line.restarts_per_job),
        ]);
    }
    table.text()
}

/// What the best is worth.
fn worth(output: &Output) -> String {
    let Some(best) = output.recipes.first() else { return String::new() };
    // To a tenth, and never the zero below zero.
    let less = |score: f64| ((1.0 - score) * 1000.0).round() / 10.0 + 0.0;
    let (name, base, gain) = (&best.recipe, &output.base, less(best.tuned));
    let after = match best.held_out.is_finite() {
        true => format!("{:.1} % on jobs that came later", less(best.held_out)),
        false => "but it did not finish all jobs that came later".to_string(),
    };
    format!("{name}: {gain:.1} % less than {base} where it was chosen, {after}\n")
}

fn notes(output: &Output) -> String {
    let mut text = String::new();
    for aim in &output.decides_nothing {
        let why = if aim == "missed" { " (do any jobs have deadlines?)" } else { "" };
        text.push_str(&format!(
            "note: `{aim}` is zero for every candidate{why}: it decides nothing here\n"
        ));
    }
    for same in &output.same {
        text.push_str(&format!("note: {} is {}\n", same.recipe, same.as_recipe));
    }
    for none in &output.without_base {
        text.push_str(&format!(
            "note: `{}`: {} has none, so {} counts as one\n",
            none.aim, output.base, none.counts_as_one
        ));
    }
    if output.recipes.iter().any(|line| line.knows_the_truth) {
        text.push_str(&format!("{TRUTH}\n"));
    }
    if output.recipes.iter().any(|line| line.declared_is_true && !line.knows_the_truth) {
        text.push_str(&format!("{DECLARED}\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(recipe: &str, held_out: f64, held_out_undone: usize) -> Line {
        Line {
            recipe: recipe.into(),
            knows_the_truth: false,
            declared_is_true: false,
            tuned: 0.5,
            held_out,
            held_out_undone,
            completion_mean_s: 60.0,
            completion_p99_s: 60.0,
            unfair: 0.0,
            restarts_per_job: 0.0,
        }
    }

    #[test]
    fn who_left_jobs_undone_is_told_and_has_no_gain() {
        let mut output = Output {
            objective: "mean".into(),
            jobs: "100 jobs".into(),
            cluster: "1x8".into(),
            world: "plain".into(),
            load: None,
            seed: 1,
            held_out: 0.3,
            base: "fifo".into(),
            tuned_jobs: 70,
            held_out_jobs: 30,
            rounds: Vec::new(),
            recipes: vec![line("oasis", f64::INFINITY, 30), line("fifo", 1.0, 0)],
            decides_nothing: Vec::new(),
            same: Vec::new(),
            without_base: Vec::new(),
        };
        let told = text(&output);
        assert!(told.contains("inf: did not finish all jobs that fifo finished"), "{told}");
        assert!(told.contains("chosen, but it did not finish all jobs"), "{told}");
        let row = told.lines().find(|row| row.starts_with("oasis ")).expect("a row");
        assert!(row.contains("–") && row.contains("inf"), "{row}");
        output.recipes.remove(0);
        assert!(!text(&output).contains("inf"), "nobody to tell of");
    }
}
