//! Shares that are best by some objective, as linear programmes over the rates that jobs have on
//! each kind of GPU: Gavel (Narayanan et al., OSDI 2020, §4).

use super::beside::beside;
use super::isolated::{Isolated, isolated_rate};
use super::spare::{Spare, done_early, fill_up, max_min, min_max_finish};
use super::{Due, Shares, gpus, left, rate};
use heeler_engine::{Job, Predict, View};
use heeler_model::{KindId, KindSet, TenantId};
use heeler_solve::{Division, Finish, Floor, Row, Sharing, Within};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeSet;

/// A part of the time that is as good as nothing.
const DUST: f64 = 1e-3;
/// A price that is as good as nothing, as a part of the dearest.
const CHEAP: f64 = 1e-3;

/// What is best.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Objective {
    /// Whoever has the least, compared with an equal part of every kind, has as much as possible:
    /// least attained service for several kinds.
    MaxMin,
    /// All jobs that are there are done as early as possible.
    Makespan,
    /// All jobs together, each compared with an equal part of every kind, get as much done as
    /// possible.
    Throughput,
    /// All jobs together take as many steps as possible, whatever a step of each is.
    Steps,
    /// Nobody ends much later than with an equal part of every kind for itself, as in Themis.
    FinishTime,
    /// As much as possible gets done for its price, and deadlines are kept where that can be.
    Cost,
    /// The product of what all get done is as large as possible: Nash welfare.
    Nash,
    /// Tenants rise in proportion to their weights, each with all of its jobs; whoever cannot have
    /// more is settled, and the others go on rising.
    TenantsFair,
    /// The same, each tenant with its first job, then with the next.
    TenantsFifo,
}

/// Whether jobs are taken to run at different rates on different kinds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kinds {
    /// At the rates they have.
    #[default]
    Aware,
    /// At the same rate everywhere.
    Agnostic,
}

/// Shares that are best by an objective.
pub struct Optimal {
    objective: Objective,
    kinds: Kinds,
    /// Who says how much work jobs are, where that matters.
    predict: Box<dyn Predict>,
    /// Whether two jobs may share GPUs.
    pairs: bool,
    /// Who has what is left over when everybody has what the objective asks for.
    spare: Spare,
    /// What finish times are compared with.
    isolated: Isolated,
}

impl Objective {
    /// Whether two jobs on the same GPUs can be weighed by it.
    pub fn weighs_pairs(self) -> bool {
        match self {
            Objective::MaxMin
            | Objective::Makespan
            | Objective::Throughput
            | Objective::Steps
            | Objective::FinishTime => true,
            Objective::Cost | Objective::Nash | Objective::TenantsFair | Objective::TenantsFifo => {
                false
            }
        }
    }
}

impl Optimal {
    /// Shares that are best by an objective, telling kinds apart or not; a predictor says how much
    /// work jobs are, where that matters.
    pub fn new(objective: Objective, kinds: Kinds, predict: Box<dyn Predict>) -> Optimal {
        let (spare, isolated) = (Spare::default(), Isolated::default());
        Optimal { objective, kinds, predict, pairs: false, spare, isolated }
    }

    /// Who has what is left over, by max-min, makespan and finish times.
    pub fn sparing(self, spare: Spare) -> Optimal {
        Optimal { spare, ..self }
    }

    /// Two jobs may share GPUs, where it was measured what comes of it.
    pub fn in_pairs(self, pairs: bool) -> Optimal {
        Optimal { pairs, ..self }
    }

    /// The rates that a job is taken to have.
    fn rates(&self, job: &Job, kinds: usize, view: &View) -> Vec<f64> {
        // A gang goes where all of it fits; that a smaller one would fit elsewhere is no use to it.
        let fits =
            |kind: KindId| view.fleet().up_of(KindSet::only(kind)) >= job.spec.demand.asked();
        let each = (0..kinds as u8).map(KindId);
        let each = each.map(|kind| if fits(kind) { rate(job, kind, view) } else { 0.0 });
        let rates: Vec<f64> = each.collect();
        if self.kinds == Kinds::Aware {
            return rates;
        }
        // Who does not tell kinds apart takes one rate for all of them. Which one only matters
        // where it is compared with time that has passed: there, the published program takes the
        // first.
        let best = rates.iter().copied().fold(0.0, f64::max);
        let first = rates.first().copied().filter(|rate| *rate > 0.0).unwrap_or(best);
        let one = match self.objective {
            Objective::FinishTime | Objective::Makespan => first,
            _ => best,
        };
        rates.into_iter().map(|rate| if rate > 0.0 { one } else { 0.0 }).collect()
    }

    /// What all the time on each kind is worth to a job.
    fn row(&self, job: &Job, places: &[f64], view: &View) -> Row {
        let rates = self.rates(job, places.len(), view);
        let gpus = gpus(job);
        let all: f64 = places.iter().sum();
        let equal: f64 = rates.iter().zip(places).map(|(rate, places)| rate * places / all).sum();
        let divide_by = match self.objective {
            Objective::MaxMin | Objective::TenantsFair | Objective::TenantsFifo => {
                equal / gpus * f64::from(job.spec.priority.max(1))
            }
            Objective::Throughput | Objective::Cost | Objective::Nash => equal,
            Objective::Makespan => self.left(job, view),
            Objective::Steps | Objective::FinishTime => 1.0,
        };
        let divide_by = divide_by.max(f64::MIN_POSITIVE);
        let prices = match self.objective {
            Objective::Cost => prices(view),
            _ => vec![1.0; places.len()],
        };
        let priced = rates.iter().zip(prices);
        Row { size: gpus, worth: priced.map(|(rate, price)| rate / divide_by / price).collect() }
    }

    /// When a job would end at the latest, were everybody by itself.
    fn finish(&self, job: &Job, view: &View) -> Finish {
        let elapsed_s = view.now().since(job.submitted).secs_f64();
        let left = self.left(job, view);
        // Whoever runs nowhere has no share that could be compared.
        let promised_s = self.isolated.whole_s(job, left).unwrap_or(f64::MAX);
        Finish { elapsed_s, left, promised_s }
    }

    /// What a job must have to end by its last deadline, if it can.
    fn floor(&self, job: &Job, kinds: usize, view: &View) -> Floor {
        let deadline = job.spec.deadlines().last()?;
        let time_s = deadline.at.since(view.now()).secs_f64();
        let rates = self.rates(job, kinds, view);
        let need = self.left(job, view) / time_s;
        let can = time_s > 0.0 && rates.iter().any(|rate| *rate >= need);
        can.then(|| rates.iter().map(|rate| rate / need).collect())
    }

    fn divide(&self, sharing: &Sharing, jobs: &[&Job], view: &View) -> Division {
        match self.objective {
            Objective::MaxMin => max_min(sharing, self.spare),
            Objective::Makespan => done_early(sharing, self.spare),
            Objective::Throughput | Objective::Steps => swept(sharing.max_sum()),
            Objective::FinishTime => {
                let finishes = jobs.iter().map(|job| self.finish(job, view));
                min_max_finish(sharing, &finishes.collect::<Vec<_>>(), self.spare)
            }
            Objective::Nash => sharing.max_log(),
            Objective::Cost => {
                let kinds = sharing.places.len();
                let floors: Vec<Floor> =
                    jobs.iter().map(|job| self.floor(job, kinds, view)).collect();
                swept(sharing.max_sum_above(&floors).unwrap_or_else(|| sharing.max_sum()))
            }
            Objective::TenantsFair => by_tenants(sharing, jobs, Within::Fair, view),
            Objective::TenantsFifo => by_tenants(sharing, jobs, Within::Fifo, view),
        }
    }

    /// The same, two jobs on the same GPUs where that is better.
    fn divide_in_pairs(&self, sharing: &Sharing, jobs: &[&Job], view: &View) -> Division {
        let beside = beside(jobs, sharing.places.len(), view);
        if beside.kept.iter().all(|kept| *kept <= 0.0) {
            return self.divide(sharing, jobs, view);
        }
        match self.objective {
            Objective::Throughput | Objective::Steps => sharing.max_sum_in_pairs(&beside),
            Objective::FinishTime => {
                let finishes = jobs.iter().map(|job| self.finish(job, view));
                sharing.min_max_finish_in_pairs(&finishes.collect::<Vec<_>>(), &beside)
            }
            Objective::Makespan => {
                let mut division = sharing.max_min_in_pairs(&beside);
                fill_up(&mut division, sharing);
                division
            }
            _ => sharing.max_min_in_pairs(&beside),
        }
    }

    fn left(&self, job: &Job, view: &View) -> f64 {
        left(job, self.predict.as_ref(), view)
    }
}

impl Shares for Optimal {
    fn shares(&self, jobs: &[&Job], places: &[f64], view: &View) -> Due {
        let rows: Vec<Row> = jobs.iter().map(|job| self.row(job, places, view)).collect();
        // Whoever can run nowhere now would hold everybody down to nothing.
        let runs = |row: &Row| row.worth.iter().zip(places).any(|(w, p)| *w > 0.0 && *p > 0.0);
        let able: Vec<bool> = rows.iter().map(runs).collect();
        let sharers = rows.iter().zip(&able).filter(|(_, able)| **able);
        let places = places.to_vec();
        let sharing = Sharing { places, rows: sharers.map(|(row, _)| row.clone()).collect() };
        let nothing = vec![0.0; sharing.places.len()];
        if sharing.rows.is_empty() {
            return vec![nothing; jobs.len()].into();
        }
        let numbers: Vec<usize> = (0..jobs.len()).filter(|number| able[*number]).collect();
        let sharers: Vec<&Job> = numbers.iter().map(|number| jobs[*number]).collect();
        let division = match self.packs() {
            true => self.divide_in_pairs(&sharing, &sharers, view),
            false => self.divide(&sharing, &sharers, view),
        };
        let mut alone = vec![nothing; jobs.len()];
        for (number, parts) in numbers.iter().zip(division.parts) {
            alone[*number] = parts;
        }
        let mut pairs = division.pairs;
        for pair in &mut pairs {
            pair.rows = (numbers[pair.rows.0], numbers[pair.rows.1]);
        }
        Due { alone, pairs }
    }

    fn packs(&self) -> bool {
        self.pairs && self.objective.weighs_pairs()
    }

    fn settle(&mut self, jobs: &[&Job], places: &[f64], view: &View) {
        if self.objective != Objective::FinishTime {
            return;
        }
        let mut isolated = std::mem::take(&mut self.isolated);
        isolated.settle(jobs, |job| {
            let rates = self.rates(job, places.len(), view);
            let rate = isolated_rate(&rates, places, gpus(job), jobs.len());
            (self.left(job, view), rate)
        });
        self.isolated = isolated;
    }

    fn save(&self) -> Value {
        serde_json::to_value(&self.isolated).expect("plain data")
    }

    fn restore(&mut self, saved: &Value) -> Result<(), String> {
        self.isolated = serde_json::from_value(saved.clone()).map_err(|error| error.to_string())?;
        Ok(())
    }

    fn predictor(&self) -> Option<&dyn Predict> {
        Some(&*self.predict)
    }

    fn predictor_mut(&mut self) -> Option<&mut dyn Predict> {
        Some(&mut *self.predict)
    }

    fn fork(&self) -> Box<dyn Shares> {
        let (predict, isolated) = (self.predict.fork(), self.isolated.clone());
        Box::new(Optimal { predict, isolated, ..*self })
    }
}

/// Without parts so small that they are what a solver leaves, not what is best: whoever has any
/// part of a kind may have all of it while nobody else does.
fn swept(mut division: Division) -> Division {
    division.parts.iter_mut().flatten().filter(|part| **part < DUST).for_each(|part| *part = 0.0);
    division
}

/// What an hour of a GPU of each kind costs now. Where nothing has a price, all cost the same; one
/// that costs nothing beside others that do is very cheap.
fn prices(view: &View) -> Vec<f64> {
    let fleet = view.fleet();
    let each = fleet.cluster().kinds.iter().map(|kind| kind.price_at(view.now()));
    let prices: Vec<f64> = each.collect();
    let dearest = prices.iter().copied().fold(0.0, f64::max);
    let least = if dearest > 0.0 { dearest * CHEAP } else { 1.0 };
    prices.into_iter().map(|price| price.max(least)).collect()
}

/// Shares by tenants, each with its weight among those beside it.
fn by_tenants(sharing: &Sharing, jobs: &[&Job], within: Within, view: &View) -> Division {
    let tenants = view.tenants();
    let mut active: BTreeSet<TenantId> = BTreeSet::new();
    for job in jobs {
        active.extend(tenants.lineage(job.spec.tenant));
    }
    // The part of its parent's part that a tenant has, among those that have jobs.
    let weight = |tenant: TenantId| f64::from(tenants.spec(tenant).weight.max(1));
    let part = |tenant: TenantId| {
        let parent = tenants.spec(tenant).parent;
        let beside = active.iter().filter(|other| tenants.spec(**other).parent == parent);
        weight(tenant) / beside.map(|other| weight(*other)).sum::<f64>()
    };
    let owners: Vec<TenantId> = active.iter().copied().collect();
    let weights = owners.iter().map(|tenant| tenants.lineage(*tenant).map(part).product());
    let weights: Vec<f64> = weights.collect();
    let owner_of = |job: &&Job| owners.binary_search(&job.spec.tenant).expect("it has this job");
    let of_jobs: Vec<usize> = jobs.iter().map(owner_of).collect();
    sharing.water_fill(&of_jobs, &weights, within)
}
