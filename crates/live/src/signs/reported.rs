//! What running jobs say of themselves: how far they are, and how fast they go beside others.

use crate::check::REGIMES_MAX;
use crate::job::Told;
use crate::live::Live;
use heeler_api::RunReport;
use heeler_model::{Event, Generation, JobId, Report};
use serde_json::Value;

/// How much a pace has to differ from what the engine was told, to be told again.
const TELL_FROM: f64 = 0.05;

impl Live {
    /// A report; garbage and older ones are ignored.
    pub(super) fn reported(&mut self, id: u32, generation: Generation, said: &Value) {
        let Ok(report) = serde_json::from_value::<RunReport>(said.clone()) else { return };
        let now = self.now;
        let Some(job) = self.jobs.live_mut(id).filter(|job| job.is_at(generation)) else { return };
        let heard = &mut job.heard;
        if heard.seq.is_some_and(|seen| seen >= (generation, report.seq)) {
            return;
        }
        let fresh = heard.seq.is_none_or(|(spoke, _)| spoke != generation);
        heard.seq = Some((generation, report.seq));
        heard.total_steps = report.total_steps.or(heard.total_steps);
        heard.loss = report.loss.filter(|loss| loss.is_finite()).or(heard.loss);
        heard.saved_step = report.saved_step.or(heard.saved_step);
        heard.saves = report.saves;
        let told = report.step_s.filter(|step_s| *step_s > 0.0 && step_s.is_finite());
        let measured = heard.at.filter(|_| !fresh).and_then(|(at, step)| {
            let seconds = now.since(at).secs_f64();
            let steps = report.step.checked_sub(step)? as f64;
            (seconds > 0.0 && steps > 0.0).then(|| steps / seconds)
        });
        // A step can be said to take so little that its rate is past all numbers.
        let rate = told.map(|step_s| 1.0 / step_s).or(measured).filter(|rate| rate.is_finite());
        heard.rate = rate.or(heard.rate.filter(|_| !fresh));
        heard.step = report.step;
        heard.at = Some((now, report.step));
        if fresh {
            heard.part = None;
        }
        if let Some(rate) = rate {
            self.measure(id, generation, rate);
        }
        self.pass_on(id, generation, &report);
    }

    /// How a job's pace compares with the best seen alone, for the engine.
    fn measure(&mut self, id: u32, generation: Generation, rate: f64) {
        let alone = self.is_alone(id);
        let model = self.engine.state().jobs().get(JobId(id)).map_or(0, |job| job.spec.model.0);
        let Some(job) = self.jobs.live_mut(id) else { return };
        let Some(attempt) = job.attempt.as_ref().filter(|attempt| attempt.told == Told::Start)
        else {
            return;
        };
        let gpus = attempt.assignment.gpus();
        let of_model = self.paces.get(&(model, gpus)).copied().filter(|_| model != 0);
        let own = job.heard.best.get(&gpus).copied();
        let mut best = own.or(of_model);
        if alone && best.is_none_or(|best| rate > best) {
            best = Some(rate);
        }
        let Some(best) = best else { return };
        if alone {
            job.heard.best.insert(gpus, best);
            if model != 0 {
                self.paces.insert((model, gpus), best);
            }
        }
        let part = (rate / best).clamp(0.01, 1.0);
        let before = job.heard.part.unwrap_or(1.0);
        if (part - before).abs() >= TELL_FROM {
            job.heard.part = Some(part);
            self.tell_progress(id, generation, None, part);
        }
    }

    /// Whether nobody else uses a job's GPUs.
    fn is_alone(&self, id: u32) -> bool {
        let state = self.engine.state();
        let Some(mine) = state.jobs().get(JobId(id)).and_then(|job| job.assignment.as_ref()) else {
            return false;
        };
        let nodes = mine.placement.slices().iter().map(|slice| slice.node);
        let mut others = nodes.flat_map(|node| state.on_node(node)).filter(|job| job.0 != id);
        !others.any(|other| {
            let theirs = state.job(*other).assignment.as_ref();
            theirs.is_some_and(|theirs| theirs.placement.meets(&mine.placement))
        })
    }

    /// Tell the engine how much work is done, and at which part of its usual pace it goes on.
    pub(super) fn tell_progress(
        &mut self,
        id: u32,
        generation: Generation,
        done: Option<f64>,
        part: f64,
    ) {
        let job = JobId(id);
        let done = done.unwrap_or_else(|| self.work_done(id));
        let Some(known) = self.engine.state().jobs().get(job) else { return };
        let size = f64::from(known.gpus().max(1)) / f64::from(known.spec.demand.asked().max(1));
        let pace = known.spec.nominal_pace * size * part;
        self.tell(Event::Progress { job, generation, done, from: self.now, pace });
    }

    /// Pass on what recipes learn from.
    fn pass_on(&mut self, id: u32, generation: Generation, report: &RunReport) {
        let Some(attempt) = self.jobs.live(id).and_then(|job| job.attempt.as_ref()) else { return };
        let (nodes, replicas) =
            (attempt.assignment.placement.nodes() as u32, attempt.assignment.gpus());
        let mut reports = Vec::new();
        let step_s = report.step_s.filter(|step_s| *step_s > 0.0 && step_s.is_finite());
        let batch = report.batch.filter(|(batch, _)| *batch > 0 && replicas > 0);
        if let (Some((batch, passes)), Some(step_s)) = (batch, step_s) {
            let passes = passes.max(1);
            reports.push(Report::Step {
                nodes,
                replicas,
                batch,
                accumulation: passes - 1,
                step_s: step_s / f64::from(passes),
                exchange_s: 0.0,
            });
        }
        if let Some((square, variance)) = report.gradient {
            let sound = |value: f64| value.is_finite() && value >= 0.0;
            if sound(square) && sound(variance) {
                reports.push(Report::Noise { square, variance });
            }
        }
        if let Some(value) = report.loss.filter(|loss| loss.is_finite()) {
            reports.push(Report::Loss { value });
        }
        if let Some(value) = report.score.filter(|score| score.is_finite()) {
            let iteration = u32::try_from(report.step).unwrap_or(u32::MAX);
            reports.push(Report::Score { iteration, value });
        }
        if let Some(regime) = report.regime.filter(|regime| (*regime as usize) < REGIMES_MAX) {
            let epochs = report.epoch.unwrap_or(0.0) as u32;
            reports.push(Report::Regime { regime, epochs, pace: 1.0, work: 1.0 });
        }
        for report in reports {
            self.tell(Event::Reported { job: JobId(id), generation, report });
        }
    }
}
