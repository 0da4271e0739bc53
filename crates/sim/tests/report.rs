//! Reports are whole pages: well formed, sufficient to themselves, equal for equal runs, true to
//! the metrics, and small however many jobs there were.

use heeler_model::{Cluster, Demand, JobSpec, Span, Tenant, TenantId, Time, Truth};
use heeler_recipes::{Card, find};
use heeler_sim::Simulation;
use heeler_sim::metrics::Summary;
use heeler_sim::report::{Report, Run};
use heeler_sim::workload::{Arrivals, Generator, GeneratorOptions, Shape, TraceJob, Workload};
use heeler_sim::world::{Cost, Costs, Failures, World};
use std::sync::Arc;

const HOSTILE: [&str; 5] = [
    "</script><script>alert(1)</script>",
    "\"><img src=x onerror=alert(1)>",
    "' onmouseover='alert(1)",
    "<!-- & &lt; ]]> \u{1b}[31m \u{0}",
    "</title></style></svg>\n<b>",
];

fn simulation(recipe: &str, cluster: Cluster, arrivals: Box<dyn Arrivals>) -> Simulation {
    let built_in = find(recipe).expect("a recipe that is built in");
    let card = Card::read(built_in.text, recipe).expect("built-in cards can be read");
    let costs = Costs { save: Cost::fixed(5.0), restore: Cost::fixed(10.0), ..Costs::default() };
    let failures = Some(Failures { mean_between_h: 200.0, mean_repair_h: 2.0 });
    let world = World { costs, failures, ..World::default() };
    let mut simulation = Simulation::of_recipe(&card, world, Arc::new(cluster), arrivals, 1);
    simulation.keep_segments();
    simulation
}

/// A recipe on jobs like Philly's.
fn generated(recipe: &str, jobs: usize, nodes: u32) -> Simulation {
    let mut cluster = Cluster::uniform(nodes, 8);
    let shape = Shape::Philly;
    let gpus = nodes * 8;
    let options =
        GeneratorOptions { shape, jobs, gpus, deadlines: 0.1, load: 0.9, ..Default::default() };
    let mut generator = Generator::new(&options).expect("the options are fine");
    generator.add_tenants_to(&mut cluster);
    let mut simulation = simulation(recipe, cluster, Box::new(generator));
    simulation.run();
    simulation
}

fn job(name: &str, submit_s: u64, gpus: u32, length_s: u64, tenant: u16) -> TraceJob {
    let truth = Truth { work: length_s as f64 * 1e6 };
    let mut spec = JobSpec::new(Demand::gpus(gpus)).with_truth(truth);
    spec.tenant = TenantId(tenant);
    spec.declared = Some(Span::from_secs(length_s));
    TraceJob { name: Some(name.into()), ..TraceJob::new(Time::from_secs(submit_s), spec) }
}

/// A few jobs by hand, on one node.
fn by_hand(cluster: Cluster, jobs: Vec<TraceJob>) -> Simulation {
    simulation("fifo", cluster, Box::new(Workload::new(jobs)))
}

fn page(title: &str, runs: Vec<Run>) -> String {
    let facts = vec![("Workload".to_string(), title.to_string())];
    let mut bytes = Vec::new();
    let report = Report { title: title.to_string(), facts, runs, ..Report::default() };
    report.write(&mut bytes).expect("a vector takes everything");
    String::from_utf8(bytes).expect("pages are text")
}

fn three_runs() -> String {
    let recipes = ["fifo", "srtf", "tiresias"];
    page("Three", recipes.map(|recipe| Run::of(recipe, &generated(recipe, 400, 4))).to_vec())
}

/// A page on which everything that has a name has a hostile one.
fn hostile() -> String {
    let mut cluster = Cluster::uniform(2, 2);
    cluster.tenants = HOSTILE.map(Tenant::named).to_vec();
    for (node, name) in cluster.nodes.iter_mut().zip(HOSTILE) {
        node.name = name.to_string();
    }
    let jobs = (0..10u16).map(|number| {
        let name = HOSTILE[usize::from(number) % 5];
        job(name, u64::from(number), 1 + u32::from(number) % 3, 20, number / 2)
    });
    let mut simulation = by_hand(cluster, jobs.collect());
    simulation.run();
    let runs = HOSTILE.map(|label| Run::of(label, &simulation)).to_vec();
    page(HOSTILE[4], runs)
}

/// A page of runs in which no job finished, one of them without a single job.
fn empty() -> String {
    let mut none = by_hand(Cluster::uniform(1, 2), Vec::new());
    none.run();
    let mut too_large = by_hand(Cluster::uniform(1, 2), vec![job("large", 0, 64, 10, 0)]);
    too_large.run();
    page("Empty", vec![Run::of("none", &none), Run::of("too large", &too_large)])
}

/// What lies between two marks, each time.
fn between<'a>(text: &'a str, from: &str, to: &str) -> Vec<&'a str> {
    let pieces = text.split(from).skip(1);
    pieces.map(|piece| piece.split_once(to).expect("what begins ends").0).collect()
}

/// The page without its figures for programs and its script.
fn visible(page: &str) -> &str {
    page.split_once("<script").expect("a page has scripts").0
}

/// Every tag is closed in the order in which they were opened; attributes are quoted.
fn assert_well_formed(page: &str) {
    let mut rest = page.strip_prefix("<!DOCTYPE html>\n").expect("a page begins with its type");
    let mut open: Vec<&str> = Vec::new();
    while let Some(start) = rest.find('<') {
        let end = start + rest[start..].find('>').expect("a tag ends");
        let tag = &rest[start + 1..end];
        rest = &rest[end + 1..];
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name), "… {}", &rest[..rest.len().min(80)]);
            continue;
        }
        let name = tag.split([' ', '/', '\n']).next().expect("a tag has a name");
        assert!(name.chars().all(|c| c.is_ascii_alphanumeric()), "{tag}");
        assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
        if ["script", "style"].contains(&name) {
            let close = format!("</{name}>");
            rest = &rest[rest.find(&close).expect("it ends")..];
        }
        if !tag.ends_with('/') {
            open.push(name);
        }
    }
    assert!(open.is_empty(), "{open:?}");
}

/// Runs of a study, one of them without any.
fn studies() -> String {
    let mut cluster = Cluster::uniform(1, 8);
    let options = GeneratorOptions { jobs: 5, trials: 20, gpus: 8, ..Default::default() };
    let mut generator = Generator::new(&options).expect("the options are fine");
    generator.add_tenants_to(&mut cluster);
    let mut runs = vec![Run::of("none", &generated("fifo", 20, 1))];
    for recipe in ["fifo", "asha"] {
        let arrivals = Box::new(generator.clone());
        let mut simulation = simulation(recipe, cluster.clone(), arrivals);
        simulation.run();
        runs.push(Run::of(recipe, &simulation));
    }
    page("Studies", runs)
}

#[test]
fn studies_have_a_line_for_each_run_that_had_them() {
    let page = studies();
    assert_well_formed(&page);
    let section = between(&page, "<h2>Studies</h2>", "</section>");
    assert_eq!(section.len(), 1);
    assert_eq!(section[0].matches("<polyline").count(), 2);
    assert_eq!(between(section[0], "<tbody>", "</tbody>")[0].matches("<tr>").count(), 2);
    assert!(!three_runs().contains("<h2>Studies</h2>"), "without studies nothing is said");
}

#[test]
fn pages_are_well_formed() {
    let alone = Run::of("alone", &generated("fifo", 50, 1));
    for page in [three_runs(), hostile(), empty(), page("No runs", vec![]), page("1", vec![alone])]
    {
        assert_well_formed(&page);
        assert!(page.ends_with("</body></html>\n"));
    }
}

#[test]
fn pages_need_nothing_but_themselves() {
    let page = three_runs();
    for outside in
        ["http:", "https:", "src=", "href=", "url(", "@import", "import(", "fetch(", "XMLHttp"]
    {
        assert!(!page.contains(outside), "{outside}");
    }
    assert!(page.contains("default-src 'none'"));
}

#[test]
fn equal_runs_give_equal_bytes() {
    assert_eq!(three_runs(), three_runs());
}

#[test]
fn names_are_never_markup() {
    let page = hostile();
    assert_eq!((page.matches("<script").count(), page.matches("</script>").count()), (2, 2));
    assert_eq!((page.matches("<style").count(), page.matches("<title>al").count()), (1, 0));
    for markup in ["<img", "<b>", "<!--", "\u{0}", "\u{1b}"] {
        assert!(!page.contains(markup), "{markup:?}");
    }
    assert!(!visible(&page).contains("' onmouseover='"), "quotes do not end an attribute");
    assert!(page.contains("&lt;/script&gt;&lt;script&gt;alert(1)"), "names are shown all the same");
}

#[test]
fn programs_can_read_the_figures() {
    let page = hostile();
    let text = between(&page, "id=\"heeler-summary\">", "</script>")[0];
    let value: serde_json::Value = serde_json::from_str(text).expect("the block is JSON");
    assert_eq!(value["title"], HOSTILE[4]);
    assert_eq!(value["facts"][0][1], HOSTILE[4]);
    for (run, label) in value["runs"].as_array().expect("runs").iter().zip(HOSTILE) {
        assert_eq!(run["label"], label);
        assert_eq!(run["summary"]["jobs"]["finished"], 10);
        assert_eq!(run["summary"]["tenants"][0]["name"], HOSTILE[0]);
    }
}

#[test]
fn the_table_has_the_figures_of_the_summary() {
    let simulations = ["fifo", "srtf"].map(|recipe| generated(recipe, 400, 4));
    let runs: Vec<Run> = simulations.iter().map(|s| Run::of("run", s)).collect();
    let page = page("Table", runs.clone());
    let table = between(&page, "<table class=\"summary\">", "</table>")[0];
    let rows = between(table.split_once("<tbody>").expect("a body").1, "<tr>", "</tr>");
    assert_eq!(rows.len(), 2);
    for ((row, simulation), run) in rows.iter().zip(&simulations).zip(&runs) {
        let shown: Vec<f64> = between(row, "data-value=\"", "\"")
            .iter()
            .map(|value| value.parse().expect("a number"))
            .collect();
        let summary = Summary::of(simulation);
        assert_eq!(run.summary(), &summary);
        let restarts = summary.restarts;
        let expected = [
            summary.jobs.finished as f64,
            summary.completion_s.mean,
            summary.completion_s.p50,
            summary.completion_s.p95,
            summary.completion_s.p99,
            summary.waiting_s.mean,
            summary.makespan_s,
            summary.utilisation,
            summary.fairness.isolated.ratio.max,
            summary.fairness.isolated.unfair,
            (restarts.preemptions + restarts.moves + restarts.losses) as f64,
            summary.gpu_hours.lost,
            summary.deadlines.missed as f64,
        ];
        assert_eq!(shown, expected);
    }
    // Preemption is better for the mean and costs restarts.
    let cells = |row: usize| between(rows[row], "<td", "</td>");
    assert!(!cells(0)[1].contains("best") && cells(1)[1].contains("best"), "mean JCT");
    assert!(cells(0)[10].contains("best") && !cells(1)[10].contains("best"), "restarts");
}

#[test]
fn distributions_rise_to_all_of_the_jobs() {
    let page = three_runs();
    let charts = between(&page, "<svg class=\"plot lines\"", "</svg>");
    assert_eq!(charts.len(), 5);
    for chart in charts {
        let top = between(chart, "data-box=\"", ",")[0].parse::<f64>().expect("a number");
        let lines = between(chart, " points=\"", "\"");
        assert_eq!(lines.len(), 3);
        for line in lines {
            let points: Vec<(f64, f64)> = line
                .split(' ')
                .map(|point| {
                    let (x, y) = point.split_once(',').expect("a point has two coordinates");
                    (x.parse().expect("a number"), y.parse().expect("a number"))
                })
                .collect();
            assert_eq!(points.last().expect("points").1, top, "{line}");
            assert!(points.is_sorted_by(|a, b| a.0 <= b.0 && a.1 >= b.1), "{line}");
        }
    }
}

#[test]
fn who_ran_where_is_drawn_where_they_ran() {
    let mut cluster = Cluster::uniform(1, 2);
    cluster.tenants = ["red", "blue"].map(Tenant::named).to_vec();
    let jobs = vec![job("a", 0, 1, 60, 0), job("b", 0, 1, 20, 1), job("c", 30, 1, 30, 1)];
    let mut simulation = by_hand(cluster, jobs);
    simulation.run();
    let page = page("Gantt", vec![Run::of("fifo", &simulation)]);
    let picture = between(&page, "<svg class=\"plot gantt\"", "</svg>")[0];
    let grid = between(picture, "data-grid=\"", "\"")[0];
    let width_s: f64 = grid.split(',').nth(2).expect("a width").parse().expect("a number");
    let stroke = |title: &str| {
        let path = between(picture, &format!("<title>{title}</title>"), "</g>")[0];
        let numbers = between(path, " d=\"M", "\"").join(" ").replace(['M', 'h'], " ");
        let numbers: Vec<f64> =
            numbers.split_whitespace().map(|number| number.parse().expect("a number")).collect();
        let strokes = numbers.chunks_exact(3);
        let from = strokes.clone().map(|stroke| stroke[0]).fold(f64::MAX, f64::min);
        let until = strokes.map(|stroke| stroke[0] + stroke[2]).fold(0.0, f64::max);
        // The row, and from when until when, in whole seconds.
        (numbers[1], (from * width_s).round(), (until * width_s).round())
    };
    assert_eq!(stroke("job a of red"), (0.0, 0.0, 60.0));
    assert_eq!(stroke("job b of blue"), (1.0, 0.0, 20.0));
    assert_eq!(stroke("job c of blue"), (1.0, 30.0, 60.0));
}

#[test]
fn jobs_that_still_run_are_shown() {
    let mut simulation = by_hand(Cluster::uniform(1, 2), vec![job("long", 0, 2, 1_000, 0)]);
    simulation.run_until(Time::from_secs(100));
    let page = page("Half way", vec![Run::of("fifo", &simulation)]);
    assert!(page.contains("<title>job long of default</title>"));
    assert!(page.contains("No job finished."));
    assert_well_formed(&page);
}

#[test]
fn runs_in_which_nothing_finished_can_be_read() {
    let page = empty();
    for odd in ["NaN", "inf", "null"] {
        assert!(!visible(&page).contains(odd), "{odd}");
    }
    assert!(!between(&page, "id=\"heeler-summary\">", "<")[0].contains("null"));
    assert!(page.contains("No job finished."));
    assert!(page.contains("No job held a GPU."));
    let mut unwatched = Simulation::of_recipe(
        &Card::read(find("fifo").expect("built in").text, "fifo").expect("a card"),
        World::default(),
        Arc::new(Cluster::uniform(1, 2)),
        Box::new(Workload::new(vec![job("a", 0, 1, 60, 0)])),
        1,
    );
    unwatched.run();
    let page = self::page("Unwatched", vec![Run::of("fifo", &unwatched)]);
    assert!(page.contains("This was not recorded"));
}

#[test]
fn many_jobs_make_no_large_page() {
    let simulation = generated("srtf", 60_000, 100);
    let run = Run::of("srtf", &simulation);
    let one = page("Large", vec![run.clone()]);
    assert!(one.len() < 600_000, "{} bytes", one.len());
    let twelve = page("Large", vec![run; 12]);
    assert!(twelve.len() < 880_000, "{} bytes", twelve.len());
    // The picture reaches to the end, not to a limit of what was kept.
    let picture = between(&one, "<svg class=\"plot gantt\"", "</svg>")[0];
    let grid = between(picture, "data-grid=\"", "\"")[0];
    let width_s: f64 = grid.split(',').nth(2).expect("a width").parse().expect("a number");
    let strokes = between(picture, " d=\"", "\"").join("").replace('h', " ");
    let end = strokes.split('M').filter_map(|stroke| {
        let mut numbers = stroke.split(' ').map(|number| number.parse::<f64>().ok());
        Some(numbers.next()?? + numbers.nth(1)??)
    });
    let end = end.fold(0.0, f64::max) * width_s;
    let now = simulation.now().secs_f64();
    assert!(end > 0.98 * now && end <= now + width_s, "{end} of {now}");
}

#[test]
fn reports_can_be_sent_to_other_threads() {
    fn is_send<T: Send>() {}
    is_send::<Run>();
    is_send::<Report>();
}
