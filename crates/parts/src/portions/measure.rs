//! How much CPU and memory is a job's proportional share, and how much it can make use of.

use heeler_engine::{Job, Shares};
use heeler_model::{Cluster, Portion};
use serde::{Deserialize, Serialize};

/// What jobs get beside their GPUs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Give {
    /// What they can make use of; where that is not free, their proportional share, for which
    /// others give back what they have beyond theirs.
    #[default]
    Tune,
    /// Their proportional share.
    Proportional,
    /// What they can make use of; where that is not free, they wait.
    Enough,
}

/// What there is beside the GPUs of a cluster.
#[derive(Clone, Debug, Default)]
pub(super) struct Measure {
    /// GPUs, thousandths of CPUs and MB in all.
    all: [u64; 3],
    /// What every GPU can have on every node; zero where no node says what it has.
    each: Portion,
    /// The most GPUs, thousandths of CPUs and MB of one node.
    node: [u64; 3],
    /// What a proportional share does for a job that was profiled.
    shares: Shares,
}

/// A ratio as a whole number; nothing is unlimited here, only unknown.
fn fitted(amount: u64) -> u32 {
    u32::try_from(amount).unwrap_or(u32::MAX)
}

impl Measure {
    pub(super) fn of(cluster: &Cluster, shares: Shares) -> Measure {
        let mut measure = Measure { shares, ..Measure::default() };
        let (mut cpu_milli, mut memory_mb) = (u64::MAX, u64::MAX);
        for node in cluster.nodes.iter().filter(|node| node.gpus > 0) {
            let has = [u64::from(node.gpus), node.cpu_milli, node.memory_mb];
            for (sum, amount) in measure.all.iter_mut().zip(has) {
                *sum += amount;
            }
            for (most, amount) in measure.node.iter_mut().zip(has) {
                *most = (*most).max(amount);
            }
            let each = |amount: u64| if amount == 0 { u64::MAX } else { amount / has[0] };
            cpu_milli = cpu_milli.min(each(node.cpu_milli));
            memory_mb = memory_mb.min(each(node.memory_mb));
        }
        let known = |least: u64| if least == u64::MAX { 0 } else { fitted(least) };
        measure.each = Portion { cpu_milli: known(cpu_milli), memory_mb: known(memory_mb) };
        measure
    }

    /// A job's proportional share beside each of its GPUs, or what it asked for, if that is more.
    pub(super) fn share(&self, job: &Job) -> Portion {
        let demand = &job.spec.demand;
        if demand.asked() == 0 {
            return demand.portion();
        }
        let part = |each: u32| fitted(u64::from(each) * u64::from(demand.share.0) / 1000);
        let Portion { cpu_milli, memory_mb } = self.each;
        let share = Portion { cpu_milli: part(cpu_milli), memory_mb: part(memory_mb) };
        share.at_least(demand.portion())
    }

    /// What a job has that gets its proportional share. Where that is to do nothing for it, it is
    /// kept short of what is enough.
    pub(super) fn proportional(&self, job: &Job) -> Portion {
        let share = self.share(job);
        self.plain(job, share).unwrap_or(share)
    }

    /// The like of what a job has with which it is no faster than with its proportional share,
    /// where such a share does nothing for it and this would.
    pub(super) fn plain(&self, job: &Job, has: Portion) -> Option<Portion> {
        let enough = job.spec.appetite().filter(|_| !self.shares.are_measured())?.enough;
        let cpu_milli = enough.cpu_milli.checked_sub(1).filter(|_| has.covers(enough))?;
        let plain = Portion { cpu_milli, ..has };
        plain.covers(job.spec.demand.portion()).then_some(plain)
    }

    /// What a job can make use of, as far as a node has it; its proportional share, where nothing
    /// is known. One that is larger than a node gets no more than that share.
    pub(super) fn enough(&self, job: &Job) -> Portion {
        let demand = &job.spec.demand;
        let gpus = u64::from(demand.asked());
        let Some(appetite) = job.spec.appetite().filter(|_| gpus > 0) else {
            return self.share(job);
        };
        if gpus > self.node[0] {
            return appetite.enough.at_most(self.share(job)).at_least(demand.portion());
        }
        let most = |amount: u64| if amount == 0 { u32::MAX } else { fitted(amount / gpus) };
        let (cpu_milli, memory_mb) = (most(self.node[1]), most(self.node[2]));
        appetite.enough.at_most(Portion { cpu_milli, memory_mb }).at_least(demand.portion())
    }

    /// What a job gets if all goes well.
    pub(super) fn wanted(&self, job: &Job, give: Give) -> Portion {
        match give {
            Give::Proportional => self.proportional(job),
            Give::Tune | Give::Enough => self.enough(job),
        }
    }

    /// The parts of all GPUs, CPUs and memory that a job wants, in this order, whatever it gets;
    /// none of what nobody knows how much there is.
    pub(super) fn parts(&self, job: &Job) -> [f64; 3] {
        let (gpus, wanted) = (f64::from(job.spec.demand.asked()), self.enough(job));
        let amounts = [1.0, f64::from(wanted.cpu_milli), f64::from(wanted.memory_mb)];
        let part = |index: usize| match self.all[index] {
            0 => 0.0,
            all => gpus * amounts[index] / all as f64,
        };
        [part(0), part(1), part(2)]
    }
}

/// How fast a job is with so much beside its GPUs, compared with its nominal pace.
pub(super) fn speed(job: &Job, with: Portion) -> f64 {
    let other = with != job.spec.demand.portion();
    let appetite = job.spec.appetite().filter(|_| other);
    let pace = appetite.map_or(1.0, |appetite| appetite.pace(with));
    if pace > 0.0 && pace.is_finite() { pace } else { 1.0 }
}
