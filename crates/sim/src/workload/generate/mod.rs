//! Workloads made from published statistics of real clusters: seeded, streamed job by job, and
//! completely determined by their options. Where the figures come from, and how close the jobs
//! come to them, stands in `docs/reference/generators.md`.

mod declare;
mod draw;
mod helios;
mod llm;
mod options;
mod pai;
mod philly;
mod plan;
mod shape;
mod study;
mod week;

pub use draw::Stream;
pub use options::{GeneratorOptions, OptionError};
pub use shape::{Shape, UnknownShape};

use super::{Arrivals, Names, TraceJob};
use draw::{Deck, Streams};
use heeler_model::{
    Cluster, Deadline, Demand, JobId, JobSpec, Milli, ModelId, Sizes, Span, Step, TenantId, Time,
    Truth,
};
use plan::{Plan, RUNS};
use std::sync::Arc;
use week::{Clock, Gaps};

/// Jobs follow one of so many before them.
const FOLLOWED: f64 = 32.0;

/// Ten thousand years; far longer ones would not fit into a `Time`.
const LONGEST_SPAN_S: f64 = 3.2e11;

/// Jobs like those of a published cluster, made one by one. A copy goes on by itself.
#[derive(Clone, Debug)]
pub struct Generator {
    plan: Arc<Plan>,
    tenants: Arc<[TenantId]>,
    streams: Streams,
    clock: Clock,
    gaps: Gaps,
    class_deck: Deck,
    decks: Vec<ClassDecks>,
    made: u32,
    /// Trials made so far; they come before all jobs.
    tried: usize,
}

#[derive(Clone, Debug)]
struct ClassDecks {
    sizes: Deck,
    /// One for each size, because large gangs that run long decide the load.
    durations: Vec<Deck>,
}

/// What is drawn first and what the rest depends on.
#[derive(Clone, Copy)]
struct Core {
    class: usize,
    ask: usize,
    gpus: u32,
    share: Milli,
    /// Where the duration lies among those of the class, from zero to one.
    rank: f64,
    seconds: f64,
}

impl Generator {
    /// A generator at its first job.
    pub fn new(options: &GeneratorOptions) -> Result<Generator, OptionError> {
        options.check()?;
        let plan = Plan::new(options);
        if plan.span_s > LONGEST_SPAN_S {
            let years = plan.span_s / 31_557_600.0;
            let expected = "more load, more GPUs or fewer jobs: at most 10,000 years";
            return Err(OptionError {
                option: "load",
                expected,
                found: format!("{years:.0} years"),
            });
        }
        let tenants = (0..plan.tenants.len()).map(|index| TenantId(index as u16)).collect();
        let decks = plan.classes.iter().map(|class| ClassDecks {
            sizes: Deck::new(),
            durations: vec![Deck::new(); class.asks.len()],
        });
        Ok(Generator {
            decks: decks.collect(),
            plan: Arc::new(plan),
            tenants,
            streams: Streams::new(options.seed),
            clock: Clock::default(),
            gaps: Gaps::new(),
            class_deck: Deck::new(),
            made: 0,
            tried: 0,
        })
    }

    /// The names of its tenants, those who submit most first. Until they are added to a cluster,
    /// jobs name them by their place in this list.
    pub fn tenants(&self) -> &[String] {
        &self.plan.tenants
    }

    /// Add its tenants to a cluster; from now on jobs name them by their number there.
    pub fn add_tenants_to(&mut self, cluster: &mut Cluster) {
        self.tenants = self.plan.tenants.iter().map(|name| cluster.tenant_named(name)).collect();
    }

    /// The models that its jobs train, by `ModelId`. A recurring job has a model of its own:
    /// `bert/07` is a job that trains `bert` and was run before.
    pub fn models(&self) -> &Names {
        &self.plan.models
    }

    /// GPU seconds that a job takes on average.
    pub fn gpu_seconds_per_job(&self) -> f64 {
        self.plan.gpu_seconds
    }

    /// When about the last job is submitted.
    pub fn expected_span(&self) -> Span {
        Span::from_secs_f64(self.plan.span_s)
    }

    /// The same workload with one thing drawn anew, such as other sizes at the same times. To be
    /// used before the first job is made.
    #[must_use]
    pub fn reseeded(mut self, stream: Stream, seed: u64) -> Generator {
        self.streams.reseed(stream, seed);
        self
    }

    fn submit(&mut self) -> Time {
        let random = self.streams.of(Stream::Arrivals);
        let gap = self.gaps.next(&self.plan.profile.batches, random);
        self.clock.advance(&self.plan.week, gap * self.plan.gap_s);
        self.clock.now()
    }

    fn core(&mut self) -> Core {
        let sizes = self.streams.of(Stream::Sizes);
        let class = self.plan.class_shares.pick(self.class_deck.draw(sizes));
        let decks = &mut self.decks[class];
        let of_class = &self.plan.classes[class];
        let ask = match of_class.asks.len() {
            1 => 0,
            _ => of_class.ask_shares.pick(decks.sizes.draw(sizes)),
        };
        let (gpus, share) = of_class.asks[ask];
        let rank = decks.durations[ask].draw(self.streams.of(Stream::Durations));
        let seconds = of_class.durations.at(rank);
        Core { class, ask, gpus, share, rank, seconds }
    }

    /// Who submits a job and what it trains. Runs of the same thing have the same owner, model and
    /// size, and nearly the same duration: they are the jobs of one 64th of the durations of their
    /// class and size. So the distribution of durations does not depend on how many jobs recur.
    fn owner_and_model(&mut self, core: &Core) -> (TenantId, ModelId, bool) {
        let plan = &self.plan;
        let mut tenant = self.streams.uniform(Stream::Tenants);
        let mut model = self.streams.uniform(Stream::Models);
        let recurs = self.streams.uniform(Stream::Models) < plan.profile.recurring;
        let mut run = None;
        if recurs {
            let part = (core.rank * 64.0) as u64;
            let thing = (core.class as u64) << 32 | (core.ask as u64) << 16 | part;
            let bits = scatter(plan.options.seed ^ scatter(thing));
            tenant = fraction(bits);
            model = fraction(scatter(bits));
            run = Some(bits as usize % RUNS);
        }
        let tenant = self.tenants[plan.tenant_shares.pick(tenant)];
        let model = plan.classes[core.class].model_shares.pick(model);
        let skewed = plan.profile.models[model].skewed;
        // The first name is that of no model.
        let number = match run {
            Some(run) => 1 + plan.profile.models.len() + model * RUNS + run,
            None => 1 + model,
        };
        (tenant, ModelId(number as u16), skewed)
    }

    fn demand(&mut self, core: &Core) -> Demand {
        let options = &self.plan.options;
        let elastic = options.elastic > 0.0
            && self.streams.uniform(Stream::Elastic) < options.elastic
            && core.share.is_whole();
        let mut demand = Demand { share: core.share, ..Demand::gpus(core.gpus) };
        if elastic {
            let asked = core.gpus;
            let max = (2 * asked).min(options.max_gpus()).max(asked);
            let step = match asked.is_power_of_two() {
                true => Step::PowersOfTwo,
                false => Step::Any,
            };
            demand.sizes = Sizes { asked, min: (asked / 2).max(1), max, step };
        }
        demand
    }

    fn add_extras(&mut self, spec: &mut JobSpec, submit: Time, seconds: f64) {
        let options = &self.plan.options;
        let streams = &mut self.streams;
        if options.deadlines > 0.0 && streams.uniform(Stream::Deadlines) < options.deadlines {
            let (low, high) = options.slack;
            let factor = low + (high - low) * streams.uniform(Stream::Deadlines);
            let at = submit + Span::from_secs_f64(seconds * factor);
            spec.extras_mut().deadlines.push(Deadline { at, value: 1 });
        }
        if options.dependencies > 0.0
            && streams.uniform(Stream::Dependencies) < options.dependencies
            && self.made > 0
        {
            let back = streams.uniform(Stream::Dependencies) * f64::from(self.made).min(FOLLOWED);
            let first = options.trials as u32;
            spec.extras_mut().after.push(JobId(first + self.made - 1 - back as u32));
        }
    }
}

impl Arrivals for Generator {
    fn next_job(&mut self) -> Option<TraceJob> {
        let GeneratorOptions { trials, seed, .. } = self.plan.options;
        if self.tried < trials {
            self.tried += 1;
            return Some(study::trial(self.tried - 1, self.tenants[0], seed));
        }
        if self.made as usize >= self.plan.options.jobs {
            return None;
        }
        let submit = self.submit();
        let core = self.core();
        let duration = Span::from_secs_f64(core.seconds);
        let truth = Truth { work: duration.micros() as f64 };
        let mut spec = JobSpec::new(self.demand(&core)).with_truth(truth);
        (spec.tenant, spec.model, spec.skewed) = self.owner_and_model(&core);
        let durations = &self.plan.classes[core.class].durations;
        let early = self.plan.profile.early;
        spec.declared = Some(declare::declared(core.seconds, early, durations, &mut self.streams));
        self.add_extras(&mut spec, submit, core.seconds);
        self.made += 1;
        Some(TraceJob::new(submit, spec))
    }

    fn remaining(&self) -> Option<usize> {
        let options = &self.plan.options;
        Some(options.trials - self.tried + options.jobs - self.made as usize)
    }

    fn fork(&self) -> Box<dyn Arrivals> {
        Box::new(self.clone())
    }
}

/// Bits that look random (the finaliser of the SplitMix64 generator).
const fn scatter(bits: u64) -> u64 {
    let bits = bits.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ bits >> 31
}

/// A number from zero to one, one excluded.
fn fraction(bits: u64) -> f64 {
    (bits >> 11) as f64 / (1u64 << 53) as f64
}
