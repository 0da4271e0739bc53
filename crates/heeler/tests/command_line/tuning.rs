//! Long comparisons that are kept and gone on with, and `tune`.

use super::Folder;

#[test]
fn what_was_run_before_is_not_run_again() {
    let folder = Folder::new();
    let compare = "compare fifo las --jobs 300 --cluster 2x8 --load 0.8,1.1 --seeds 2";
    let fresh = folder.run(&format!("{compare} --json")).good();
    let cached = format!("{compare} --json --cache kept");
    assert_eq!(folder.run(&cached).good(), fresh);
    let kept = || -> Vec<std::path::PathBuf> {
        let entries = std::fs::read_dir(folder.0.join("kept")).expect("a folder");
        entries.map(|entry| entry.expect("an entry").path()).collect()
    };
    assert_eq!(kept().len(), 2 * 2 * 2);
    assert_eq!(folder.run(&cached).good(), fresh, "to the last digit");
    // One that was lost or torn is run again; the others are believed.
    let files = kept();
    std::fs::write(&files[0], "{").expect("a torn file");
    std::fs::remove_file(&files[1]).expect("a file less");
    assert_eq!(folder.run(&cached).good(), fresh);
    for file in &kept() {
        let text = std::fs::read_to_string(file).expect("a summary");
        let marked = text.replacen("\"finished\":300", "\"finished\":299", 1);
        assert_ne!(marked, text);
        std::fs::write(file, marked).expect("another summary");
    }
    assert_ne!(folder.run(&cached).good(), fresh, "they are read, not run");
    // Other jobs are other runs.
    let other = folder.run(&format!("{compare} --json --cache kept --max-gpus 2")).good();
    assert_ne!(other, fresh);
    assert_eq!(kept().len(), 2 * 2 * 2 * 2);
}

#[test]
fn comparisons_mark_the_pareto_front() {
    let folder = Folder::new();
    let compare = "compare fifo fifo-easy las --jobs 300 --cluster 2x8 --load 1.1 --seeds 1";
    let shown = folder.run(compare).good();
    assert!(shown.contains('◆') && shown.contains("nobody else is as good"), "{shown}");
    let recipes = folder.run(&format!("{compare} --json")).json()["loads"][0]["recipes"].clone();
    let recipes = recipes.as_array().expect("a list");
    let front = recipes.iter().filter(|line| line["pareto"] == true).count();
    assert!(front > 0, "{recipes:?}");
}

#[test]
fn tuning_chooses_by_some_jobs_and_says_what_that_is_worth_on_others() {
    let folder = Folder::new();
    let tune = "tune fifo tiresias las --jobs 900 --cluster 2x8 --load 1.0 --draws 4";
    let seen = folder.run(&format!("{tune} --json")).json();
    assert_eq!(seen["base"], "fifo");
    assert_eq!((&seen["tuned_jobs"], &seen["held_out_jobs"]), (&630.into(), &270.into()));
    let rounds = seen["rounds"].as_array().expect("a list");
    assert!(rounds.len() > 1, "{rounds:?}");
    let count = |at: usize| rounds[at]["candidates"].as_u64().expect("a number");
    assert!(count(0) > 10 && count(rounds.len() - 1) < count(0), "{rounds:?}");
    assert_eq!(rounds[rounds.len() - 1]["jobs"], 630);
    let best = &seen["recipes"][0];
    let score = |name: &str| best[name].as_f64().expect("a number");
    assert!(score("tuned") < 0.9, "something passes first come, first served: {best}");
    assert!(score("held_out") < 1.0, "{best}");
    let shown = folder.run(&format!("{tune} --objective mean=0.5,p99=0.5")).good();
    assert!(shown.contains("on jobs that came later"), "{shown}");
    // The same question has the same answer.
    assert_eq!(folder.run(&format!("{tune} --json")).json(), seen);
}

#[test]
fn mistakes_in_tuning_are_named() {
    let folder = Folder::new();
    let few = folder.run("tune fifo las --jobs 20 --cluster 2x8").mistake();
    let needed = "20 jobs are too few to choose a recipe by: with --held-out 0.3 it takes 81";
    assert!(few.contains(needed), "{few}");
    let aim = folder.run("tune fifo las --objective speed").mistake();
    assert!(aim.contains("`speed` is none of mean, p99"), "{aim}");
    let part = folder.run("tune fifo las --held-out 1.5").mistake();
    assert!(part.contains("--held-out"), "{part}");
}

/// Jobs that nobody waits for at first, and many at once that do later.
fn level_at_first() -> String {
    let mut trace = String::from("id,submit_s,gpus,duration_s\n");
    for job in 0..400 {
        let (submit_s, gpus) = match job {
            0..150 => (job * 1000, 1),
            _ => (150_000 + (job - 150) * 20, 1 + job % 3),
        };
        trace.push_str(&format!("j{job},{submit_s},{gpus},{}\n", 60 + job * 37 % 400));
    }
    trace
}

#[test]
fn the_order_of_naming_does_not_choose() {
    let folder = Folder::new();
    folder.write("t.csv", &level_at_first());
    let tune = |names: &str| {
        let tune = format!("tune {names} --trace t.csv --cluster 1x8 --draws 6");
        folder.run(&tune)
    };
    let names = ["fifo", "las", "tiresias", "max-min", "gandiva", "smallest", "fifo-skip"];
    let there = folder
        .run(&format!("tune {} --trace t.csv --cluster 1x8 --draws 6 --json", names.join(" ")));
    let there = there.json();
    let rounds = there["rounds"].as_array().expect("a list");
    assert_eq!(rounds[0]["level"], rounds[0]["candidates"], "nobody waits at first: {rounds:?}");
    assert_eq!(rounds[1]["candidates"], rounds[0]["candidates"], "{rounds:?}");
    assert!(rounds.last().expect("a round")["level"].as_u64() < Some(5), "{rounds:?}");
    let best = there["recipes"][0]["recipe"].as_str().expect("a name").to_string();
    for first in [2, 4, 6] {
        let mut names = names.to_vec();
        names.rotate_left(first);
        let shown = tune(&names.join(" ")).good();
        assert!(shown.contains("all level at 1.000, which decides nothing"), "{shown}");
        assert!(shown.contains(&format!("\n{best}")), "{best}: {shown}");
        let row = shown.lines().skip_while(|line| !line.starts_with("recipe ")).nth(2);
        let row = row.expect("a row");
        assert!(row.split(' ').next() == Some(&best), "{best}: {row}");
    }
}
