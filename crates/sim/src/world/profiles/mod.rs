//! Measured profiles of training jobs: what is true of jobs that change their size and their batch,
//! where a folder of measurements says so. For each model there is a folder with how long steps
//! take on each kind of GPU and how training goes with each batch, as Pollux (OSDI 2021) and Sia
//! (SOSP 2023) published theirs.

mod between;
mod curves;
mod settings;
mod steps;
#[cfg(test)]
mod tests;

pub use curves::Curves;
pub use settings::{KnownPlaces, ModelSettings, TrainingSettings};
pub use steps::{StepTime, Steps};

use crate::workload::{Names, TraceError};
use heeler_model::{Batch, Cluster, Course, JobSpec, KindId, KindSet, ModelId, Sizes, Span, Truth};
use std::collections::BTreeMap;
use std::path::Path;

/// What was measured of one model.
#[derive(Clone, Debug)]
pub struct Profile {
    /// How training goes.
    pub curves: Curves,
    /// How long steps take, by kind; nothing where it was not measured.
    pub steps: Vec<Option<Steps>>,
    /// What the world says of the model.
    pub settings: ModelSettings,
    /// Whether a GPU takes as many examples in one pass as were measured on any placement.
    one_limit: bool,
}

/// Profiles of all models that occur.
#[derive(Clone, Debug, Default)]
pub struct Profiles {
    models: BTreeMap<ModelId, Profile>,
    /// GPUs of the largest node, by kind.
    on_node: Vec<u32>,
    /// GPUs in all, by kind.
    there: Vec<u32>,
    settings: TrainingSettings,
}

impl Profiles {
    /// Read the profiles of those models that occur in a trace, on the kinds of a cluster.
    pub fn read(
        folder: &Path,
        settings: &TrainingSettings,
        models: &Names,
        cluster: &Cluster,
    ) -> Result<Profiles, TraceError> {
        let mut profiles = Profiles { settings: settings.clone(), ..Profiles::default() };
        for kind in 0..cluster.kinds.len() as u8 {
            let of_kind = cluster.nodes.iter().filter(|node| node.kind == KindId(kind));
            profiles.on_node.push(of_kind.map(|node| node.gpus).max().unwrap_or(0));
            profiles.there.push(cluster.gpus_of(KindId(kind)));
        }
        for (index, name) in models.all().iter().enumerate() {
            let path = folder.join(name);
            if name.is_empty() || !path.is_dir() {
                continue;
            }
            let of_model = settings.models.get(name).cloned().unwrap_or_default();
            let mut profile = Profile::read(&path, of_model, cluster)?;
            profile.one_limit = settings.one_limit;
            let known = settings.between_as_in.into_iter().flat_map(KnownPlaces::lines);
            profile.list_places(name, known, folder)?;
            profile.list_places(name, settings.between.iter().map(String::as_str), folder)?;
            profiles.models.insert(ModelId(index as u16), profile);
        }
        if profiles.models.is_empty() {
            let message = "has no folder of a model that occurs in the trace";
            return Err(TraceError::file(folder, message)
                .hint("folders are named after what the trace calls models"));
        }
        Ok(profiles)
    }

    /// What the world says of training jobs.
    pub fn settings(&self) -> &TrainingSettings {
        &self.settings
    }

    /// What was measured of a model.
    pub fn of(&self, model: ModelId) -> Option<&Profile> {
        self.models.get(&model)
    }

    /// Say of a job what the profiles know: its work, its rates as it asked to run, the sizes and
    /// batches it can have. Says whether they know it.
    pub fn describe(&self, spec: &mut JobSpec) -> bool {
        let (Some(profile), Some(batch)) = (self.of(spec.model), spec.batch()) else {
            return false;
        };
        let (asked, adapts) = (batch.asked, batch.adapts);
        let (initial, most) = profile.curves.range();
        let kinds = 0..self.on_node.len();
        let steps = |kind: usize| profile.steps[kind].as_ref();
        let on_gpu: Vec<(u32, u32)> = kinds
            .clone()
            .map(|kind| steps(kind).map_or((0, 0), |s| profile.on_gpu(kind, s)))
            .collect();
        let alone = kinds.clone().map(|kind| steps(kind).map_or(0.0, Steps::alone)).collect();
        let mut there = KindSet::NONE;
        for kind in kinds.clone().filter(|kind| steps(*kind).is_some()) {
            there = there.with(KindId(kind as u8));
        }
        spec.demand.kinds = spec.demand.kinds.and(there);
        let sizes = &mut spec.demand.sizes;
        if adapts {
            let parts = on_gpu.iter().filter(|(least, _)| *least > 0);
            let smallest = parts.map(|(least, _)| most / least).max().unwrap_or(1);
            let max = smallest.min(self.settings.gpus_max).max(1);
            *sizes = Sizes::range(1, sizes.asked.clamp(1, max), max);
        }
        let limit = profile.settings.gpus_max.filter(|_| !sizes.is_rigid());
        if let Some(max) = limit.map(|max| max.clamp(1, sizes.max)) {
            *sizes = Sizes::range(1, sizes.asked.min(max), max);
        }
        let (gpus, elastic, sizes_max) = (sizes.asked, !sizes.is_rigid(), sizes.max);
        let rates: Vec<f64> = kinds.map(|kind| self.rate(profile, kind, gpus, asked)).collect();
        let best = rates.iter().copied().fold(0.0, f64::max).max(1e-9);
        let work = profile.curves.work();
        spec.nominal_pace = best / 1e6;
        spec.declared = Some(Span::from_secs_f64(work / best));
        let most = if self.settings.asked_is_most { asked } else { most };
        let course = (elastic && !adapts).then(|| self.course(profile, asked, sizes_max));
        let extras = spec.extras_mut();
        extras.course = course;
        extras.rates = rates;
        extras.restart_s = Some(profile.settings.said_restart_s);
        extras.batch = Some(Batch { asked, adapts, initial, most, on_gpu, alone });
        *spec = spec.clone().with_truth(Truth { work });
        true
    }

    /// How a job goes with one batch all the time, on so many GPUs at most.
    fn course(&self, profile: &Profile, batch: u32, most: u32) -> Course {
        let on_kind = |kind: usize| {
            let sizes = 1..=most.min(self.there[kind]);
            sizes.map(|gpus| self.iteration_s(profile, kind, gpus, batch, true)).collect()
        };
        Course {
            ends: profile.curves.ends().to_vec(),
            iterations: profile.curves.iterations_by_epoch(batch),
            step_s: (0..self.on_node.len()).map(on_kind).collect(),
        }
    }

    /// Seconds of an iteration on so many GPUs of a kind, on as few nodes as possible; zero where
    /// nothing was measured. What owners are told may differ from what is.
    fn iteration_s(
        &self,
        profile: &Profile,
        kind: usize,
        gpus: u32,
        batch: u32,
        told: bool,
    ) -> f64 {
        let Some(steps) = &profile.steps[kind] else { return 0.0 };
        let said = self.settings.told_gpus_on_node.filter(|_| told);
        let on_node = said.unwrap_or(self.on_node[kind]).max(1);
        let mut shape = vec![on_node; (gpus / on_node) as usize];
        shape.extend(Some(gpus % on_node).filter(|rest| *rest > 0));
        let twice = told && self.settings.two_passes_alone;
        let (own, accumulation) = profile.split_in(steps, &shape, batch, twice);
        let StepTime { step_s, exchange_s } = steps.at(&shape, own);
        step_s + (step_s - exchange_s) * f64::from(accumulation)
    }

    /// Work per second as asked: so many GPUs on as few nodes as possible, with one batch.
    fn rate(&self, profile: &Profile, kind: usize, gpus: u32, batch: u32) -> f64 {
        let iteration_s = self.iteration_s(profile, kind, gpus, batch, false);
        if iteration_s <= 0.0 {
            return 0.0;
        }
        let each = profile.curves.work() / profile.curves.iterations(batch).max(1.0);
        each / iteration_s / profile.settings.slow_down
    }
}

impl Profile {
    fn read(
        folder: &Path,
        settings: ModelSettings,
        cluster: &Cluster,
    ) -> Result<Profile, TraceError> {
        let curves = Curves::read(folder, settings.epochs)?;
        let mut steps = Vec::new();
        for kind in &cluster.kinds {
            let own = format!("-{}", kind.name);
            let exists = |suffix: &str| folder.join(format!("placements{suffix}.csv")).exists();
            let only = cluster.kinds.len() == 1 && exists("");
            steps.push(match exists(&own) {
                true => Some(Steps::read(folder, &own)?).filter(|steps| !steps.is_empty()),
                false if only => Some(Steps::read(folder, "")?).filter(|steps| !steps.is_empty()),
                false => None,
            });
        }
        if steps.iter().all(Option::is_none) {
            let kinds: Vec<_> = cluster.kinds.iter().map(|kind| kind.name.as_str()).collect();
            let message = format!("has no placements measured on {}", kinds.join(", "));
            return Err(TraceError::file(folder, message)
                .hint("tables are called `placements-KIND.csv` and `scalability-KIND.csv`"));
        }
        let limits = settings.most_on_gpu.iter();
        let limits = limits.filter_map(|(name, most)| {
            let kind = cluster.kinds.iter().position(|kind| kind.name == *name)?;
            Some((kind, *most))
        });
        let limits: Vec<(usize, u32)> = limits.collect();
        let settings = ModelSettings { limits, ..settings };
        Ok(Profile { curves, steps, settings, one_limit: false })
    }

    /// Which measurements count at places between them, as far as a world says.
    fn list_places<'a>(
        &mut self,
        model: &str,
        lines: impl Iterator<Item = &'a str>,
        folder: &Path,
    ) -> Result<(), TraceError> {
        for line in lines.filter(|line| line.split(' ').next() == Some(model)) {
            let triple = |text: &str| -> Option<[u32; 3]> {
                let numbers: Option<Vec<u32>> =
                    text.split_whitespace().map(|number| number.parse().ok()).collect();
                numbers?.try_into().ok()
            };
            let (place, corners) = line[model.len()..].split_once(':').unwrap_or_default();
            let corners: Option<Vec<[u32; 3]>> = corners.split(',').map(triple).collect();
            let (Some(place), Some(corners)) = (triple(place), corners) else {
                let message = format!("has a world that lists `{line}`");
                return Err(TraceError::file(folder, message)
                    .hint("write it as `MODEL NODES GPUS BATCH: NODES GPUS BATCH, …`"));
            };
            for steps in self.steps.iter_mut().flatten() {
                steps.list(place, &corners);
            }
        }
        Ok(())
    }

    /// The most examples that a GPU takes in one pass.
    pub fn most_in_a_pass(&self, steps: &Steps, shape: &[u32]) -> u32 {
        match self.one_limit {
            true => self.settings.most_on_any_gpu.unwrap_or_else(|| steps.range().1),
            false => steps.most_on(shape),
        }
    }

    /// The fewest and the most examples in one pass on a GPU of a kind, as jobs say of themselves.
    fn on_gpu(&self, kind: usize, steps: &Steps) -> (u32, u32) {
        let (least, most) = steps.range();
        let limit = self.settings.limits.iter().find(|(limited, _)| *limited == kind);
        let most = self.settings.most_on_any_gpu.unwrap_or(most);
        (least, limit.map_or(most, |(_, limit)| *limit))
    }

    /// A batch as examples of a pass on each GPU, and passes before the one with an exchange.
    pub fn split(&self, steps: &Steps, shape: &[u32], batch: u32) -> (u32, u32) {
        self.split_in(steps, shape, batch, false)
    }

    /// The same, on one GPU in two passes at least if that is said.
    fn split_in(&self, steps: &Steps, shape: &[u32], batch: u32, twice: bool) -> (u32, u32) {
        let gpus: u32 = shape.iter().sum();
        let (initial, most) = self.curves.range();
        let own = batch.div_ceil(gpus.max(1));
        let mut passes = own.div_ceil(self.most_in_a_pass(steps, shape).max(1)).max(1);
        // One gradient by itself does not tell how noisy gradients are.
        if gpus == 1 && (batch > initial || twice) {
            passes = passes.max(2);
        }
        self.within(steps, gpus, own.div_ceil(passes), passes - 1, most)
    }

    /// The same, no larger than what was measured and what the whole batch may be.
    pub fn within(
        &self,
        steps: &Steps,
        gpus: u32,
        own: u32,
        accumulation: u32,
        most: u32,
    ) -> (u32, u32) {
        let measured = steps.most_with(gpus).filter(|_| !self.one_limit);
        let own = measured.map_or(own, |most| own.min(most));
        (own.min(most / (gpus.max(1) * (accumulation + 1))).max(1), accumulation)
    }
}
