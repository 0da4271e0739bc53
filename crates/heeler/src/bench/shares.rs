//! Fair shares of kinds of GPU, as Gavel computes them when jobs come or go, against one plain
//! linear programme for the same level: jobs that all differ, and jobs that fall into classes.

use super::choose::Numbers;
use super::clock::{median, timed};
use super::report::Figure;
use super::{Scope, step};
use anyhow::{Result, ensure};
use heeler_solve::{Linear, Row, Sharing, Status};

const ROUNDS: usize = 3;
const STEPS_MAX: u32 = 200;

/// So many jobs of so many classes on so many kinds of GPU.
struct Case {
    name: &'static str,
    jobs: usize,
    classes: usize,
    kinds: usize,
    /// The programme it is compared with has a row for each class, not for each job.
    peer_by_class: bool,
    ratio_max: f64,
}

const CASES: [Case; 3] = [
    Case {
        name: "shares max-min",
        jobs: 1_000,
        classes: 1_000,
        kinds: 3,
        peer_by_class: false,
        ratio_max: 1.0,
    },
    Case {
        name: "shares of 50 classes",
        jobs: 1_000,
        classes: 50,
        kinds: 6,
        peer_by_class: false,
        ratio_max: 0.1,
    },
    Case {
        name: "shares of 500 classes",
        jobs: 100_000,
        classes: 500,
        kinds: 6,
        peer_by_class: true,
        ratio_max: 2.0,
    },
];

/// Which of all shares with the highest level.
#[derive(Clone, Copy)]
enum Which {
    /// The most even ones.
    Even,
    /// Those in the middle, which `gavel` takes.
    Middle,
}

/// CPU time of max-min shares.
pub(super) fn measure(scope: &Scope) -> Result<Vec<Figure>> {
    let both = |case| [Which::Even, Which::Middle].map(|which| Case::measure(case, which, scope));
    CASES.iter().flat_map(both).collect()
}

impl Case {
    fn measure(&self, which: Which, scope: &Scope) -> Result<Figure> {
        let (jobs, kinds) = (scope.of(self.jobs), self.kinds);
        let classes = self.classes.min(jobs);
        let mut random = Numbers(2);
        let row = |_| {
            let size = f64::from(1 << (random.between(0.0, 4.0) as u32));
            let faster = |kind: usize| (kinds - kind) as f64;
            let speed =
                |kind: usize| if kind == 0 { 1.0 } else { random.between(1.0, faster(kind) + 1.0) };
            let speeds: Vec<f64> = (0..kinds).map(speed).collect();
            let equal: f64 = speeds.iter().sum::<f64>() / kinds as f64;
            Row { size, worth: speeds.iter().map(|speed| size * speed / equal).collect() }
        };
        let each: Vec<Row> = (0..classes).map(row).collect();
        let rows: Vec<Row> = (0..jobs).map(|job| each[job % classes].clone()).collect();
        let places = vec![jobs as f64 / 8.0; kinds];
        let sharing = Sharing { places, rows };
        let plain = match self.peer_by_class {
            true => {
                let places = vec![classes as f64 / 8.0; kinds];
                plain(&Sharing { places, rows: each })
            }
            false => plain(&sharing),
        };
        let (mut times_ms, mut ratios) = (Vec::new(), Vec::new());
        for round in 1..=ROUNDS {
            step(&format!("{}: run {round} of {ROUNDS}", self.name));
            let (division, seconds) = match which {
                Which::Even => timed(|| sharing.max_min()),
                // Where there is no room for a middle, the even ones are taken.
                Which::Middle => timed(|| {
                    let middle = sharing.middle(|level| level);
                    middle.unwrap_or_else(|| sharing.max_min())
                }),
            };
            let (answer, peer_seconds) = timed(|| plain.maximise(STEPS_MAX));
            ensure!(division.is_optimal && answer.status == Status::Optimal, "not solved");
            let off = division.level / answer.worth - 1.0;
            ensure!(off.abs() < 1e-6, "levels {} and {}", division.level, answer.worth);
            times_ms.push(seconds * 1000.0);
            ratios.push(seconds / peer_seconds);
        }
        let peer = match self.peer_by_class {
            true => "one linear programme over classes",
            false => "one linear programme",
        };
        let name = match which {
            Which::Even => self.name.to_owned(),
            Which::Middle => format!("{}, middle", self.name),
        };
        let figure = Figure::new(name, median(times_ms), "ms");
        Ok(figure.against(peer, median(ratios)).at_most(self.ratio_max))
    }
}

/// Only the level: maximise z, no row worth less than z.
fn plain(sharing: &Sharing) -> Linear {
    let kinds = sharing.places.len();
    let level = sharing.rows.len() * kinds;
    let mut programme = Linear::new(level + 1);
    programme.set_worth(level, 1.0);
    for (index, row) in sharing.rows.iter().enumerate() {
        let own = |kind: usize| index * kinds + kind;
        programme.at_most((0..kinds).map(|kind| (own(kind), 1.0)).collect(), 1.0);
        let terms = row.worth.iter().enumerate().map(|(kind, worth)| (own(kind), -worth));
        programme.at_most(terms.chain([(level, 1.0)]).collect(), 0.0);
    }
    for (kind, places) in sharing.places.iter().enumerate() {
        let rows = sharing.rows.iter().enumerate();
        let taken = rows.map(|(index, row)| (index * kinds + kind, row.size)).collect();
        programme.at_most(taken, *places);
    }
    programme
}
