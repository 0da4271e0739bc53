//! Jobs of which profiles were measured, as they run: each trains in stretches, until an epoch ends
//! or it is time to report. After a stretch it knows how long its steps took and how noisy its
//! gradients were, says so, and takes the batch that it thinks best.

use crate::queue::Happening;
use crate::simulation::Simulation;
use crate::world::{Profile, Profiles, StepTime, Steps};
use heeler_model::{
    Assignment, Cluster, Event, Generation, JobId, KindId, Report, Span, Time, Transition,
};
use heeler_solve::goodput::{Goodput, Limits, Noise, Sample, TO_FIVE_DIGITS, Throughput, fit};

/// A training job, as the world and the job itself know it.
#[derive(Clone, Debug)]
pub(crate) struct Trainee {
    /// What it measured, by kind.
    seen: Vec<Seen>,
    /// How noisy its gradients were last.
    noise: Option<Noise>,
    /// What it runs on: the kind, and the GPUs of each node.
    on: Option<(KindId, Vec<u32>)>,
    /// Until when it is starting.
    ready: Time,
    /// Examples of a pass on each GPU, and passes before the one with an exchange.
    batch: (u32, u32),
    stretch: Stretch,
    /// How long its steps take with this batch where it is, once that was looked up.
    timed: Option<(u32, StepTime)>,
    /// Whether others are in its way.
    pub(crate) crowded: bool,
}

/// What it measured on one kind of GPU.
#[derive(Clone, Debug, Default)]
struct Seen {
    samples: Vec<Sample>,
    fitted: Option<Throughput>,
}

/// A stretch of training with nothing changed.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    time: StepTime,
    noise: Noise,
    /// Progress at its end.
    reaches: f64,
}

impl Trainee {
    pub(crate) fn new(kinds: usize) -> Trainee {
        let time = StepTime { step_s: 1.0, exchange_s: 0.0 };
        let noise = Noise { square: 1.0, variance: 0.0 };
        Trainee {
            seen: vec![Seen::default(); kinds],
            noise: None,
            on: None,
            ready: Time::ZERO,
            batch: (1, 0),
            stretch: Stretch { time, noise, reaches: 0.0 },
            timed: None,
            crowded: false,
        }
    }

    /// Learn from the stretch that is over.
    fn learn(&mut self, adapts: bool) {
        let Some((kind, shape)) = &self.on else { return };
        let Stretch { time, noise, .. } = self.stretch;
        self.noise = Some(noise);
        let (nodes, replicas) = (shape.len() as u32, shape.iter().sum());
        let seen = &mut self.seen[kind.index()];
        let key = (nodes, replicas, self.batch.0);
        let known = |s: &Sample| (s.nodes, s.replicas, s.batch) == key;
        if !seen.samples.iter().any(known) {
            let gradient_s = (time.step_s - time.exchange_s).max(1e-9);
            let (batch, step_s) = (self.batch.0, time.step_s);
            seen.samples.push(Sample { nodes, replicas, batch, gradient_s, step_s });
            if adapts {
                seen.fitted = Some(fit(&seen.samples, TO_FIVE_DIGITS).throughput);
            }
        }
    }

    /// Take the batch with the best goodput, as far as the job can tell; on a kind of GPU it does
    /// not know, the one it began with.
    fn choose(&mut self, profile: &Profile, adapts: bool, asked: u32) {
        let Some((kind, shape)) = &self.on else { return };
        let Some(steps) = &profile.steps[kind.index()] else { return };
        let (nodes, gpus) = (shape.len() as u32, shape.iter().sum::<u32>());
        let (initial, most) = profile.curves.range();
        let (least, _) = steps.range();
        self.batch = match (adapts, self.noise, self.seen[kind.index()].fitted) {
            (false, _, _) => profile.split(steps, shape, asked),
            (true, Some(noise), Some(throughput)) => {
                let limits = Limits {
                    initial_batch: initial,
                    batch_max: most,
                    atomic_min: least,
                    atomic_max: profile.most_in_a_pass(steps, shape),
                    accumulates: true,
                };
                match (Goodput { throughput, noise, limits }).best_batch(nodes, gpus) {
                    Some(best) => profile.within(steps, gpus, best.batch, best.accumulation, most),
                    None => profile.split(steps, shape, initial.max(least * gpus)),
                }
            }
            (true, _, _) => profile.split(steps, shape, initial.max(least * gpus)),
        };
    }

    /// Progress per second in the next stretch, which begins with so much done.
    fn pace(&mut self, profile: &Profile, steps: &Steps, done: f64) -> f64 {
        let shape = self.on.as_ref().map_or(&[][..], |(_, shape)| shape);
        let gpus: u32 = shape.iter().sum();
        let (own, accumulation) = self.batch;
        let all = gpus * own * (accumulation + 1);
        let time = match self.timed {
            Some((batch, time)) if batch == own => time,
            _ => steps.at(shape, own),
        };
        self.timed = Some((own, time));
        let noise = profile.curves.noise(all, done);
        self.stretch = Stretch { time, noise, reaches: done };
        let gain = noise.gain(f64::from(all) / f64::from(profile.curves.range().0));
        let again = (time.step_s - time.exchange_s) * f64::from(accumulation);
        gain / (time.step_s + again) / profile.settings.slow_down
    }

    fn reports(&self) -> [Report; 2] {
        let shape = self.on.as_ref().map_or(&[][..], |(_, shape)| shape);
        let (nodes, replicas) = (shape.len() as u32, shape.iter().sum());
        let (batch, accumulation) = self.batch;
        let Stretch { time, noise, .. } = self.stretch;
        let StepTime { step_s, exchange_s } = time;
        let Noise { square, variance } = noise;
        [
            Report::Step { nodes, replicas, batch, accumulation, step_s, exchange_s },
            Report::Noise { square, variance },
        ]
    }
}

/// The kind of an assignment, and its GPUs of each node.
fn shape_of(on: &Assignment, cluster: &Cluster, largest_first: bool) -> (KindId, Vec<u32>) {
    let slices = on.placement.slices();
    let kind = slices.first().map_or(KindId(0), |slice| cluster.nodes[slice.node.index()].kind);
    let mut gpus: Vec<u32> = slices.iter().map(|slice| slice.slots.count()).collect();
    if largest_first {
        gpus.sort_unstable_by(|a, b| b.cmp(a));
    }
    (kind, gpus)
}

impl Simulation {
    fn profiles(&self) -> std::sync::Arc<Profiles> {
        self.world.profiles.clone().expect("jobs train only where there are profiles")
    }

    /// A training job gets GPUs.
    pub(crate) fn start_training(
        &mut self,
        job: JobId,
        number: Generation,
        on: &Assignment,
        transition: Transition,
    ) {
        let (now, profiles) = (self.now, self.profiles());
        let spec = &self.engine.state().job(job).spec;
        let profile = profiles.of(spec.model).expect("looked up when it was submitted");
        let batch = spec.batch().cloned().unwrap_or_default();
        let trainee = self.trainees.get_mut(&job).expect("asked a line above");
        let shape = shape_of(on, &self.cluster, profiles.settings().largest_first);
        let equal = transition == Transition::Move && trainee.on.as_ref() == Some(&shape);
        if !(equal && profiles.settings().equal_shapes_are_free) {
            trainee.on = Some(shape);
            trainee.timed = None;
            trainee.ready = now + Span::from_secs_f64(profile.settings.restart_s);
            trainee.choose(profile, batch.adapts, batch.asked);
        }
        let record = &mut self.records[job];
        record.generation = number.0;
        record.waited += now.since(record.held_since);
        record.held_since = now;
        record.started.get_or_insert(now);
        self.begins_to_hold(job, on);
        let progress = self.stretch(job);
        self.answers.push(progress);
    }

    /// A stretch begins: how fast it goes and when it ends.
    pub(crate) fn stretch(&mut self, job: JobId) -> Event {
        let (now, profiles) = (self.now, self.profiles());
        let settings = profiles.settings();
        let profile = profiles.of(self.engine.state().job(job).spec.model);
        let profile = profile.expect("looked up when it was submitted");
        let trainee = self.trainees.get_mut(&job).expect("the job trains");
        let record = &mut self.records[job];
        let start = trainee.ready.max(now);
        let kind = trainee.on.as_ref().map_or(KindId(0), |(kind, _)| *kind);
        let steps = profile.steps[kind.index()].as_ref().expect("jobs run on measured kinds");
        let lost = if trainee.crowded { settings.interference } else { 0.0 };
        let pace = trainee.pace(profile, steps, record.done) * (1.0 - lost);
        let end = profile.curves.end_after(record.done);
        let every = Span::from_secs_f64(settings.report_every_s).micros().max(1);
        let report = Time::from_micros((start.micros() / every + 1) * every);
        let reached = record.done + pace * report.since(start).secs_f64();
        let (until, reaches) = if reached < end {
            (report, reached)
        } else {
            let seconds = (end - record.done) / pace;
            let seconds = if settings.whole_seconds { seconds.round_ties_even() } else { seconds };
            (start + Span::from_secs_f64(seconds), end)
        };
        trainee.stretch.reaches = reaches;
        record.stamp += 1;
        record.pace = pace / 1e6;
        record.from = start;
        let turn = Happening::Turn(job, record.stamp);
        // A stretch that takes no time is still one after the decision of this moment: it may come
        // to be trained elsewhere.
        match until > now {
            true => self.queue.push(until, turn),
            false => self.deferred.push(turn),
        }
        let generation = Generation(record.generation);
        Event::Progress { job, generation, done: record.done, from: start, pace: record.pace }
    }

    /// A stretch is over.
    pub(crate) fn turn(&mut self, job: JobId) {
        let (now, profiles) = (self.now, self.profiles());
        let trainee = self.trainees.get_mut(&job).expect("the job trains");
        let record = &mut self.records[job];
        let (done, generation) = (trainee.stretch.reaches, Generation(record.generation));
        let reports = trainee.reports();
        if done >= record.work {
            return self.finish(job);
        }
        record.useful_milli += record.useful_since_start(now);
        record.done = done;
        let spec = &self.engine.state().job(job).spec;
        let profile = profiles.of(spec.model).expect("looked up when it was submitted");
        let (adapts, asked) = spec.batch().map_or((false, 1), |batch| (batch.adapts, batch.asked));
        trainee.learn(adapts);
        trainee.choose(profile, adapts, asked);
        for report in reports {
            self.engine.observe(now, Event::Reported { job, generation, report });
        }
        let progress = self.stretch(job);
        self.engine.observe(now, progress);
    }
}
