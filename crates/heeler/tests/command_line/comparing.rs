//! What `compare` and `tune` say of figures that could mislead: jobs left undone, ratios, names
//! that are taken, declared times that are the truth; and files that cannot be written.

use super::Folder;

/// Two GPUs; d can never run on one node of two.
const TRACE: &str = "\
id,submit_s,gpus,duration_s
a,0,1,60
b,10,2,100
c,20,1,30
d,30,4,10
";

#[test]
fn jobs_left_undone_are_told() {
    let folder = Folder::new();
    folder.write("t.csv", TRACE);
    let compare = "compare fifo las --trace t.csv --cluster 1x2";
    let shown = folder.run(&format!("{compare} --report r.html")).good();
    let note = "1 of 4 jobs never able to run; their times are of the others";
    assert!(shown.contains(&format!("\nfifo, las: {note}\n")), "{shown}");
    assert!(folder.read("r.html").contains(&format!("fifo, las: {note}.")));
    let fifo = &folder.run(&format!("{compare} --json")).json()["loads"][0]["recipes"][0];
    let mean = |name: &str| fifo[name]["mean"].as_f64();
    assert_eq!((mean("submitted"), mean("finished")), (Some(4.0), Some(3.0)), "{fifo}");
    assert_eq!((mean("unrunnable"), mean("turned_away")), (Some(1.0), Some(0.0)), "{fifo}");
}

#[test]
fn where_nothing_finished_there_are_no_times() {
    let folder = Folder::new();
    folder.write("t.csv", "id,submit_s,gpus,duration_s\na,0,4,60\nb,10,4,60\n");
    let compare = "compare fifo las --trace t.csv --cluster 1x2";
    let shown = folder.run(compare).good();
    let row = shown.lines().find(|line| line.starts_with("fifo ")).expect("a row");
    assert!(row.contains('–') && !row.contains("0 s") && !shown.contains("NaN"), "{shown}");
    assert!(!shown.contains('◆'), "nobody is on a front: {shown}");
    assert!(shown.contains("never able to run; they have no times"), "{shown}");
    let fifo = &folder.run(&format!("{compare} --json")).json()["loads"][0]["recipes"][0];
    assert!(fifo["completion_mean_s"].is_null() && fifo["relative"].is_null(), "{fifo}");
    let sim = folder.run("sim --recipe fifo --trace t.csv --cluster 1x2").good();
    for row in ["completion ", "waiting ", "makespan ", "against equal shares "] {
        let line = sim.lines().find(|line| line.starts_with(row)).expect("a row");
        assert!(line.contains('–') && !line.contains("0 s"), "{row}: {sim}");
    }
    assert_eq!(fifo["pareto"], false);
}

#[test]
fn one_against_the_other_and_back_makes_one() {
    let folder = Folder::new();
    let setting = "--jobs 200 --cluster 2x8 --load 1.3 --seeds 3 --json";
    let relative = |names: &str| {
        let told = folder.run(&format!("compare {names} {setting}")).json();
        let factor = told["loads"][0]["recipes"][1]["relative"].clone();
        ["mean", "low", "high"].map(|name| factor[name].as_f64().expect("a number"))
    };
    let [there, low, high] = relative("fifo las");
    let [back, back_low, back_high] = relative("las fifo");
    assert!((there * back - 1.0).abs() < 1e-9, "{there} {back}");
    assert!((low * back_high - 1.0).abs() < 1e-9 && (high * back_low - 1.0).abs() < 1e-9);
    assert!(0.0 < low && low < there && there < high, "{low} {there} {high}");
}

#[test]
fn a_card_stands_beside_the_recipe_it_came_from() {
    let folder = Folder::new();
    let card = folder.run("recipes show fifo --card").good();
    folder.write("mine.toml", &card.replace("\"strict\"", "\"skip\""));
    folder.write("same.toml", &card);
    let compare = "compare fifo mine.toml same.toml --jobs 300 --cluster 2x8 --load 1.2 --seeds 1 \
                   --cache kept --json";
    let told = folder.run(compare).json();
    assert_eq!(folder.run(compare).json(), told, "what was kept is told apart");
    let recipes = told["loads"][0]["recipes"].as_array().expect("recipes");
    let names: Vec<&str> = recipes.iter().filter_map(|line| line["recipe"].as_str()).collect();
    assert_eq!(names, ["fifo", "fifo (mine.toml)", "fifo (same.toml)"]);
    let relative = |at: usize| recipes[at]["relative"]["mean"].as_f64().expect("a number");
    assert!(relative(1) < 0.99, "who may pass is not who may not: {}", relative(1));
    assert!((relative(2) - 1.0).abs() < 1e-12, "the same card is the same recipe");
    let twice = folder.run("compare mine.toml mine.toml --jobs 50").mistake();
    assert!(twice.contains("`fifo (mine.toml)` is named twice"), "{twice}");
    folder.run("report fifo mine.toml same.toml --jobs 50 --cluster 2x8 --out page.html").good();
    let page = folder.read("page.html");
    assert!(page.contains("fifo (mine.toml)") && page.contains("fifo (same.toml)"), "{page:.200}");
    let tune = "tune fifo mine.toml --jobs 300 --cluster 2x8 --load 1.2 --draws 0 --json";
    let tuned = folder.run(tune).json();
    let names = tuned["recipes"].as_array().expect("recipes").iter();
    let names: Vec<&str> = names.filter_map(|line| line["recipe"].as_str()).collect();
    assert!(names.iter().any(|name| name.starts_with("fifo (mine.toml)")), "{names:?}");
}

#[test]
fn what_cannot_be_written_is_told_before_anything_runs() {
    let folder = Folder::new();
    folder.write("file", "");
    for (option, hint) in [
        ("--report nowhere/r.html", "--report names a file in a folder"),
        ("--runs-out nowhere/r.csv", "--runs-out names a file in a folder"),
        ("--cache file/kept", "--cache names a folder"),
    ] {
        // A trace that is not there would be the mistake if the place were looked at later.
        let late = if option.starts_with("--cache") { "" } else { "--trace none.csv" };
        let said = folder.run(&format!("compare fifo --jobs 20 {late} {option}"));
        let said = said.mistake();
        let path = option.split_once(' ').expect("a path").1;
        assert!(said.contains(path) && said.contains(hint), "{said}");
    }
    // A device that is always full is found only by writing to it; the table is shown all the same.
    let ended = folder.run("compare fifo --jobs 20 --runs-out /dev/full");
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.out.contains("fifo") && ended.err.contains("/dev/full"), "{ended:?}");
}

#[test]
fn tuning_says_what_was_asked_and_keeps_the_base_in_the_table() {
    let folder = Folder::new();
    let tune = "tune fifo srtf las tiresias sjf fifo-skip fifo-easy --jobs 300 --cluster 2x8 \
                --load 1.2 --draws 0 --objective mean,restarts=0.5";
    let told = folder.run(&format!("{tune} --json")).json();
    assert_eq!(told["objective"], "mean,restarts=0.5");
    assert_eq!(told["jobs"], "300 generated jobs like philly at load 1.2");
    assert_eq!((&told["load"], &told["seed"]), (&1.2.into(), &1.into()));
    assert_eq!((&told["world"], &told["held_out"]), (&"plain".into(), &0.3.into()));
    let recipes = told["recipes"].as_array().expect("recipes");
    let base = recipes.iter().find(|line| line["recipe"] == "fifo").expect("the base");
    assert_eq!((&base["tuned"], &base["held_out"]), (&1.0.into(), &1.0.into()));
    assert_eq!(told["without_base"][0]["aim"], "restarts", "{told}");
    let shown = folder.run(tune).good();
    assert!(shown.starts_with("jobs 300 generated jobs like philly at load 1.2 · "), "{shown}");
    assert!(shown.contains("`restarts`: fifo has none, so 0.01 counts as one"), "{shown}");
}

#[test]
fn recipes_that_are_told_the_truth_by_the_trace_are_marked() {
    let folder = Folder::new();
    let jobs = "a,0,1,60,60\nb,10,2,100,100\nc,20,1,30,30\n";
    folder.write("t.csv", &format!("id,submit_s,gpus,duration_s,declared_s\n{jobs}"));
    let compare = "compare fifo fifo-easy qssf slaq --cluster 1x2 --trace";
    let ended = folder.run(&format!("{compare} t.csv"));
    assert!(ended.err.contains("declared run times of its jobs are the true ones"), "{ended:?}");
    let shown = ended.good();
    assert!(shown.contains("fifo-easy †") && shown.contains("† looks at declared"), "{shown}");
    assert!(shown.contains("qssf †") && shown.contains("slaq †"), "also indirectly: {shown}");
    let recipes = &folder.run(&format!("{compare} t.csv --json")).json()["loads"][0]["recipes"];
    assert_eq!(recipes[0]["declared_is_true"], false);
    assert_eq!(recipes[1]["declared_is_true"], true);
    let guessed = jobs.replace("100,100", "100,300");
    folder.write("u.csv", &format!("id,submit_s,gpus,duration_s,declared_s\n{guessed}"));
    let ended = folder.run(&format!("{compare} u.csv"));
    assert!(!ended.err.contains("true ones") && !ended.good().contains('†'));
}

#[test]
fn reports_say_which_run_they_show_and_have_the_means_of_all() {
    let folder = Folder::new();
    let compare = "compare fifo las --jobs 100 --cluster 1x8 --load 0.8,1.1 --report r.html";
    folder.run(&format!("{compare} --seeds 2")).good();
    let page = folder.read("r.html");
    assert!(page.contains("<h2>Summary of one run: load 0.8, seed 1</h2>"));
    assert!(page.contains("2 recipes on 100 generated jobs like philly at loads 0.8, 1.1</h1>"));
    assert!(page.contains("<dt>seeds</dt><dd>1 to 2</dd>"));
    assert_eq!(page.matches("<table class=\"means\">").count(), 2, "one for each load");
    let alone = "compare fifo --jobs 50 --cluster 1x8 --seeds 1 --report r.html";
    folder.run(alone).good();
    let page = folder.read("r.html");
    assert!(page.contains("<h2>Summary</h2>") && !page.contains("class=\"means\""));
}

#[test]
fn a_trace_has_its_own_number_of_jobs() {
    let folder = Folder::new();
    folder.write("t.csv", TRACE);
    for command in ["sim", "compare fifo", "tune"] {
        let said = folder.run(&format!("{command} --trace t.csv --jobs 2")).mistake();
        assert!(said.contains("--jobs is for generated jobs"), "{said}");
        assert!(said.contains("`--first 2`"), "{said}");
    }
}
