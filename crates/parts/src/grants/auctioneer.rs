//! Finish-time fairness by auction, as in Themis (Mahajan et al., NSDI 2020): GPUs whose leases are
//! over are offered to those apps whose finish-time ratios are worst. They bid what every number of
//! GPUs is worth to them; a partial-allocation auction decides, and each gives back a part. What is
//! left goes to anybody at random.
//!
//! An app is a tenant with all its unfinished jobs, or a study, or a job. Its ratio rho is the time
//! from its first submission to its end, with so many GPUs from now on, over the time it would take
//! on the n-th part of the cluster for itself, where n is the number of apps. A bid is worth 1/rho.

use super::{Among, Floor, Offer, Party, Rule, Turns};
use heeler_engine::{Calibration, Job, Note, Predict, View};
use heeler_model::{KindSet, Span, Time};
use heeler_solve::auction::{Bid, Won, auction};
use rand::RngExt;
use serde_json::Value;
use std::collections::{BTreeMap, VecDeque};

/// An app without GPUs counts as having this part of one, so that it ever ends.
const NOTHING: f64 = 0.1;
/// An auction looks at so many sums of worths at most.
const STEPS: u64 = 5_000_000;

/// GPUs are auctioned off.
pub struct Auctioneer {
    among: Among,
    /// All but this part of the apps take part in an auction.
    fairness: f64,
    predict: Box<dyn Predict>,
}

impl Auctioneer {
    /// Auctions among some, for all but a part of them; a predictor says how long jobs run.
    pub fn new(among: Among, fairness: f64, predict: Box<dyn Predict>) -> Auctioneer {
        Auctioneer { among, fairness, predict }
    }

    /// Time that a job takes in all and what is left of it, seconds. Of whom nothing is known it is
    /// taken that it runs as long again as it has.
    fn times_s(&self, job: &Job, lease: Span, view: &View) -> (f64, f64) {
        let left = self.predict.left(job, view).map(Span::secs_f64);
        let work = self.predict.work(job, view);
        match (work, left) {
            (Some(work), Some(left)) => (work / job.spec.nominal_pace / 1e6, left),
            _ => {
                let ran = view.service(job).run.max(lease).secs_f64();
                (2.0 * ran, ran)
            }
        }
    }
}

/// An app, as it bids.
#[derive(Default)]
struct App<'a> {
    asking: Vec<&'a Job>,
    /// GPUs it keeps.
    keeps: f64,
    /// GPUs it has or asks for.
    wants: f64,
    first: Option<Time>,
    gpu_s: f64,
    left_gpu_s: f64,
}

impl<'a> App<'a> {
    fn add(&mut self, job: &'a Job, (all_s, left_s): (f64, f64), keeps: bool) {
        let gpus = f64::from(job.gpus());
        self.first = Some(self.first.map_or(job.submitted, |first| first.min(job.submitted)));
        self.wants += gpus;
        self.gpu_s += gpus * all_s;
        self.left_gpu_s += gpus * left_s;
        match keeps {
            true => self.keeps += gpus,
            false => self.asking.push(job),
        }
    }

    /// Its finish-time ratio, were it to have so many GPUs until it ends.
    fn rho(&self, gpus: f64, apps: usize, cluster: f64, now: Time) -> f64 {
        let on_s = |gpu_s: f64, gpus: f64| gpu_s / gpus.min(self.wants).max(NOTHING);
        let elapsed_s = self.first.map_or(0.0, |first| now.since(first).secs_f64());
        let shared_s = elapsed_s + on_s(self.left_gpu_s, gpus);
        let alone_s = on_s(self.gpu_s, cluster) * apps as f64;
        shared_s.max(1e-3) / alone_s.max(1e-3)
    }

    /// What the first of its jobs, the first two and so on are worth.
    fn bids(&self, worth: impl Fn(f64) -> f64) -> Vec<Bid> {
        let mut amount = 0;
        let mut bids = vec![Bid { amount, worth: worth(self.keeps) }];
        for job in &self.asking {
            amount += job.spec.demand.asked();
            bids.push(Bid { amount, worth: worth(self.keeps + f64::from(amount)) });
        }
        bids
    }

    /// The jobs that an app runs on what it won, after it has paid. Where that ends in the middle
    /// of a gang, chance decides, so that it keeps its part in the mean.
    fn runs(&self, won: Won, chance: f64) -> &[&'a Job] {
        let gpus = |jobs: &[&Job]| jobs.iter().map(|job| job.spec.demand.asked()).sum::<u32>();
        let mut left = f64::from(gpus(&self.asking[..won.bid])) * won.keeps;
        for (index, job) in self.asking[..won.bid].iter().enumerate() {
            let gang = f64::from(job.spec.demand.asked());
            if gang > left + 1e-9 {
                let more = usize::from(chance < left / gang);
                return &self.asking[..index + more];
            }
            left -= gang;
        }
        &self.asking[..won.bid]
    }
}

/// Offers that are known from the start.
struct Listed(VecDeque<Offer>);

impl Turns for Listed {
    fn next(&mut self) -> Option<Offer> {
        self.0.front().copied()
    }

    fn took(&mut self) {
        self.0.pop_front();
    }

    fn passed(&mut self) {
        self.0.pop_front();
    }
}

impl Rule for Auctioneer {
    fn open<'a>(&'a self, floor: &Floor<'a>, view: &View<'a>) -> Box<dyn Turns + 'a> {
        let now = view.now();
        let lease = floor.until.map_or(Span::from_secs(1), |until| until.since(now));
        let mut apps: BTreeMap<Party, App> = BTreeMap::new();
        let asking = floor.asking.iter().map(|job| (*job, false));
        for (job, keeps) in asking.chain(floor.keeping.iter().map(|job| (*job, true))) {
            let times_s = self.times_s(job, lease, view);
            apps.entry(self.among.party(job)).or_default().add(job, times_s, keeps);
        }
        let (count, cluster) = (apps.len(), view.fleet().up_of(KindSet::ANY));
        let kept: f64 = apps.values().map(|app| app.keeps).sum();
        let rho = |app: &App, gpus: f64| app.rho(gpus, count, cluster.into(), now);
        let mut bidders: Vec<App> =
            apps.into_values().filter(|app| !app.asking.is_empty()).collect();
        // The worst first, were everybody to have an equal part from now on; ties stay in order.
        let equal = f64::from(cluster) / count.max(1) as f64;
        bidders.sort_by(|a, b| rho(b, equal).total_cmp(&rho(a, equal)));
        let part = ((1.0 - self.fairness) * bidders.len() as f64).ceil() as usize;
        let (worst, _) = bidders.split_at(part.clamp(1, bidders.len().max(1)).min(bidders.len()));
        let bids: Vec<Vec<Bid>> =
            worst.iter().map(|app| app.bids(|gpus| 1.0 / rho(app, gpus))).collect();
        let there = (f64::from(cluster) - kept).max(0.0) as u32;
        let outcome = auction(&bids, there, STEPS);
        let mut rng = view.rng("auction");
        let mut offers: Vec<&Job> = Vec::new();
        for (app, won) in worst.iter().zip(outcome.won) {
            offers.extend(app.runs(won, rng.random::<f64>()));
        }
        // What is left goes to anybody, at random.
        let winners: Vec<_> = offers.iter().map(|job| job.id).collect();
        let mut rest: Vec<(u64, &Job)> = Vec::new();
        for app in &bidders {
            let left = app.asking.iter().filter(|job| !winners.contains(&job.id));
            rest.extend(left.map(|job| (rng.random::<u64>(), *job)));
        }
        rest.sort_by_key(|(drawn, job)| (*drawn, job.id));
        offers.extend(rest.into_iter().map(|(.., job)| job));
        let offer = |job: &Job| Offer { job: job.id, kinds: job.spec.demand.kinds };
        Box::new(Listed(offers.into_iter().map(offer).collect()))
    }

    fn observe(&mut self, note: &Note, view: &View) {
        self.predict.observe(note, view);
    }

    fn calibration(&self) -> Option<Calibration> {
        self.predict.calibration()
    }

    fn save(&self) -> Value {
        self.predict.save()
    }

    fn restore(&mut self, saved: &Value) -> Result<(), String> {
        self.predict.restore(saved)
    }

    fn fork(&self) -> Box<dyn Rule> {
        let predict = self.predict.fork();
        Box::new(Auctioneer { among: self.among, fairness: self.fairness, predict })
    }
}
