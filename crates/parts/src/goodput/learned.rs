//! What is known of how fast a job gets on, shape by shape: a throughput model for each kind of
//! GPU, fitted to what the job reported there; a kind on which it never ran is told from one on
//! which it did, by how the two compare on one GPU (Sia, SOSP 2023, §3.3).

use super::shapes::{Shape, Shapes};
use heeler_model::{Batch, JobSpec, KindId, Report};
use heeler_solve::goodput::{Goodput, Limits, Noise, Sample, TO_FIVE_DIGITS, Throughput, fit};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a job has reported, and what follows from it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Learned {
    kinds: BTreeMap<KindId, Seen>,
    noise: Option<(f64, f64)>,
}

/// What it reported on one kind.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Seen {
    samples: Vec<Measured>,
    /// How many of them the model is fitted to.
    fitted: usize,
    #[serde(skip)]
    model: Option<Throughput>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Measured {
    nodes: u32,
    replicas: u32,
    batch: u32,
    gradient_s: f64,
    step_s: f64,
}

impl Learned {
    /// Take note of what a job on a kind of GPU says.
    pub fn observe(&mut self, kind: KindId, report: &Report) {
        match *report {
            Report::Step { nodes, replicas, batch, step_s, exchange_s, .. } => {
                let seen = self.kinds.entry(kind).or_default();
                let key = (nodes, replicas, batch);
                let usable = step_s > 0.0 && batch > 0 && replicas > 0;
                if usable && !seen.samples.iter().any(|s| (s.nodes, s.replicas, s.batch) == key) {
                    let gradient_s = (step_s - exchange_s).max(step_s * 1e-6);
                    seen.samples.push(Measured { nodes, replicas, batch, gradient_s, step_s });
                }
            }
            Report::Noise { square, variance } => self.noise = Some((square, variance)),
            Report::Loss { .. } | Report::Score { .. } | Report::Regime { .. } => {}
        }
    }

    /// Fit models to what came since they were fitted.
    pub fn refit(&mut self) {
        for seen in self.kinds.values_mut().filter(|seen| seen.samples.len() > seen.fitted) {
            seen.fitted = seen.samples.len();
            seen.fit();
        }
    }

    /// Fit models as they were before a restart.
    pub fn fit_again(&mut self) {
        for seen in self.kinds.values_mut().filter(|seen| seen.fitted > 0) {
            seen.fit();
        }
    }

    /// The most GPUs it has run on so far.
    pub fn largest(&self) -> u32 {
        let samples = self.kinds.values().flat_map(|seen| &seen.samples);
        samples.map(|sample| sample.replicas).max().unwrap_or(0)
    }

    /// GPUs and seconds of a whole step with a batch, as reported on a kind; a batch that does not
    /// fit in one pass is taken in several.
    pub fn steps(&self, kind: KindId, batch: u32) -> Vec<(u32, f64)> {
        let samples = self.kinds.get(&kind).map_or(&[][..], |seen| &seen.samples);
        let step = |sample: &Measured| {
            let each = sample.replicas * sample.batch.max(1);
            let more = f64::from(batch.div_ceil(each.max(1)).max(1) - 1);
            (sample.replicas, sample.step_s + more * sample.gradient_s)
        };
        samples.iter().map(step).collect()
    }

    /// The kind, of those that were measured, that tells about another: itself, or the first.
    fn told_by(&self, kind: KindId) -> Option<(KindId, Throughput)> {
        let own = self.kinds.get(&kind).and_then(|seen| seen.model);
        let first = || self.kinds.iter().find_map(|(kind, seen)| Some((*kind, seen.model?)));
        own.map(|model| (kind, model)).or_else(first)
    }

    /// Useful examples per second in a shape; none if nothing is known yet, zero if it cannot be.
    pub fn goodput(&self, batch: &Batch, shape: Shape, shapes: &Shapes) -> Option<f64> {
        let (square, variance) = self.noise?;
        let (from, throughput) = self.told_by(shape.kind)?;
        let there = shapes.fewest_nodes(from, shape.gpus);
        let (nodes, factor) = match from == shape.kind {
            true => (shape.nodes, 1.0),
            false => (there.nodes, ratio(&batch.alone, shape.kind, from)),
        };
        let limits = limits(batch, from, shape.gpus)?;
        let goodput = Goodput { throughput, noise: Noise { square, variance }, limits };
        let best = goodput.best_batch(nodes, shape.gpus);
        Some(best.map_or(0.0, |best| best.goodput * factor))
    }
}

/// Whether jobs of this batch can be told in advance how fast they would be.
pub(super) fn described(spec: &JobSpec) -> Option<&Batch> {
    spec.batch().filter(|batch| batch.initial > 0 && !spec.demand.sizes.is_rigid())
}

/// Which batches a job may take; a batch that it must not change is all there is to choose from.
fn limits(batch: &Batch, kind: KindId, gpus: u32) -> Option<Limits> {
    let (atomic_min, atomic_max) = *batch.on_gpu.get(kind.index()).filter(|(_, most)| *most > 0)?;
    let (initial_batch, most) = match batch.adapts {
        true => (batch.initial, batch.most),
        false => (batch.asked, batch.asked),
    };
    // However small its batch is, every GPU takes some.
    let batch_max = most.max(atomic_min * gpus);
    Some(Limits { initial_batch, batch_max, atomic_min, atomic_max, accumulates: true })
}

/// How much faster one kind is than another, by one GPU of each.
fn ratio(alone: &[f64], kind: KindId, other: KindId) -> f64 {
    let of = |kind: KindId| alone.get(kind.index()).copied().filter(|rate| *rate > 0.0);
    of(kind).zip(of(other)).map_or(1.0, |(one, two)| one / two)
}

impl Seen {
    fn fit(&mut self) {
        let sample = |m: &Measured| Sample {
            nodes: m.nodes,
            replicas: m.replicas,
            batch: m.batch,
            gradient_s: m.gradient_s,
            step_s: m.step_s,
        };
        let samples: Vec<Sample> = self.samples[..self.fitted].iter().map(sample).collect();
        self.model = Some(fit(&samples, TO_FIVE_DIGITS).throughput);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAST: KindId = KindId(1);

    fn batch() -> Batch {
        Batch {
            asked: 256,
            adapts: true,
            initial: 64,
            most: 1024,
            on_gpu: vec![(16, 256), (16, 256)],
            alone: vec![100.0, 300.0],
        }
    }

    fn step(replicas: u32, batch: u32, step_s: f64) -> Report {
        let (nodes, accumulation) = (1, 0);
        Report::Step { nodes, replicas, batch, accumulation, step_s, exchange_s: 0.0 }
    }

    fn on(kind: KindId, gpus: u32) -> Shape {
        Shape { kind, gpus, nodes: 1 }
    }

    #[test]
    fn an_unknown_kind_is_told_by_how_one_gpu_compares() {
        let (mut learned, batch) = (Learned::default(), batch());
        let shapes = Shapes::default();
        assert_eq!(learned.goodput(&batch, on(KindId(0), 1), &shapes), None, "nothing is known");
        learned.observe(KindId(0), &step(1, 64, 0.64));
        learned.observe(KindId(0), &Report::Noise { square: 1.0, variance: 8.0 });
        learned.refit();
        let slow = learned.goodput(&batch, on(KindId(0), 1), &shapes).expect("it was measured");
        let fast = learned.goodput(&batch, on(FAST, 1), &shapes).expect("told by the other");
        assert!((fast / slow - 3.0).abs() < 1e-9, "{fast} {slow}");
        let two = learned.goodput(&batch, on(KindId(0), 2), &shapes).expect("hoped for");
        assert!(two > 1.5 * slow, "what was not seen is taken to scale: {two} {slow}");
        assert_eq!(learned.largest(), 1);
    }

    #[test]
    fn what_was_fitted_is_the_same_after_a_restart() {
        let (mut learned, batch) = (Learned::default(), batch());
        learned.observe(FAST, &Report::Noise { square: 1.0, variance: 8.0 });
        learned.observe(FAST, &step(1, 64, 0.2));
        learned.refit();
        learned.observe(FAST, &step(2, 64, 0.3));
        let saved = serde_json::to_value(&learned).expect("plain data");
        let mut again: Learned = serde_json::from_value(saved).expect("as it was saved");
        again.fit_again();
        let shapes = Shapes::default();
        let of = |learned: &Learned| learned.goodput(&batch, on(FAST, 4), &shapes);
        assert_eq!(of(&learned), of(&again), "the second step is not fitted yet in either");
        learned.refit();
        assert_ne!(of(&learned), of(&again));
    }
}
