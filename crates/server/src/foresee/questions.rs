//! Questions about the live state: made in a moment while it stands still, answered without it.

use super::lengths::{Hint, Past, Ran};
use super::names::Names;
use super::when::Newcomer;
use super::{Elsewise, Scene};
use heeler_api::{Forecast, Problem, RecipeChange, Submission, WhatIf, WhatIfAnswer, Who, Why};
use heeler_engine::Engine;
use heeler_live::{Live, Measured, Outlook, Run};
use heeler_model::{JobId, Time};
use heeler_sim::Before;
use heeler_sim::world::{Cost, Costs};

/// Jobs that are over and looked at, to tell how long others will run.
const RUNS_MAX: usize = 2_000;

/// Why does a job wait?
pub struct WhyQuestion {
    engine: Engine,
    epoch: u64,
    job: JobId,
}

impl WhyQuestion {
    /// Ask it of the state as it is now. Whether the asker may know of the job is not looked at.
    pub fn new(live: &Live, job: u32) -> WhyQuestion {
        WhyQuestion { engine: live.engine().fork(), epoch: live.epoch(), job: JobId(job) }
    }

    /// The answer. It costs a plan or a few.
    pub fn answer(self) -> Why {
        let names = Names::of(&self.engine, self.epoch);
        super::why(&self.engine, &names, self.epoch, self.job)
    }
}

/// When will a job start?
pub struct WhenQuestion {
    scene: Scene,
    job: JobId,
}

impl WhenQuestion {
    /// Ask it of the state as it is now. Whether the asker may know of the job is not looked at.
    pub fn new(live: &Live, job: u32) -> WhenQuestion {
        WhenQuestion { scene: Scene::of_live(live), job: JobId(job) }
    }

    /// The answer, without how good such answers were.
    pub fn answer(self) -> Forecast {
        super::when(&self.scene, self.job)
    }
}

/// When would a job start that has not been handed in?
pub struct TestQuestion {
    scene: Scene,
    newcomer: Newcomer,
}

impl TestQuestion {
    /// Ask it of the state as it is now, if the asker may hand in such a job.
    pub fn new(
        live: &Live,
        who: &Who,
        submission: Submission,
        at: Time,
    ) -> Result<TestQuestion, Problem> {
        let (spec, outlook) = live.imagine(who, submission, at)?;
        let newcomer = Newcomer { spec, hint: hint(outlook) };
        Ok(TestQuestion { scene: Scene::of_live(live), newcomer })
    }

    /// The answer: the job has the number zero, since it has none.
    pub fn answer(self) -> Forecast {
        super::test_only(&self.scene, &self.newcomer)
    }
}

/// What would come if things were otherwise?
pub struct WhatIfQuestion {
    scene: Scene,
    elsewise: Elsewise,
}

impl WhatIfQuestion {
    /// Ask it of the state as it is now.
    pub fn new(
        live: &Live,
        who: &Who,
        mut asked: WhatIf,
        at: Time,
    ) -> Result<WhatIfQuestion, Problem> {
        let newcomer = match asked.job.take() {
            Some(submission) => {
                let (spec, outlook) = live.imagine(who, submission, at)?;
                Some(Newcomer { spec, hint: hint(outlook) })
            }
            None => None,
        };
        let other = asked.recipe.clone().map(|name| RecipeChange {
            name: Some(name),
            card: None,
            knobs: asked.knobs.clone(),
        });
        // Knobs alone are those of the recipe in charge.
        let knobs = (!asked.knobs.is_empty()).then(|| RecipeChange {
            name: Some(live.recipe().name),
            card: None,
            knobs: asked.knobs.clone(),
        });
        let policy = other.or(knobs).map(|change| live.policy_of(&change)).transpose()?;
        let elsewise = Elsewise { asked, policy, in_charge: live.policy(), newcomer };
        Ok(WhatIfQuestion { scene: Scene::of_live(live), elsewise })
    }

    /// The answer. It names jobs that the asker may not know of; leave those out.
    pub fn answer(self) -> Result<WhatIfAnswer, Problem> {
        super::whatif(&self.scene, self.elsewise)
    }
}

impl Scene {
    /// A copy of what forecasts need of the live state.
    pub fn of_live(live: &Live) -> Scene {
        Scene {
            seed: live.digest(),
            hints: live.outlooks().into_iter().map(|it| (it.job, hint(it))).collect(),
            past: Past::of(live.runs(RUNS_MAX).into_iter().map(ran)),
            costs: costs(live.measured()),
            ..Scene::of(live.engine(), live.epoch())
        }
    }
}

fn hint(outlook: Outlook) -> Hint {
    let before = outlook.waits.map(|waits| Before {
        begins: waits.begins,
        ends: waits.ends,
        until: waits.until,
        line: outlook.array.filter(|_| waits.in_line),
    });
    Hint {
        alike: outlook.alike,
        owner: outlook.owner,
        expected: outlook.expected,
        limit: outlook.limit,
        ran: outlook.ran,
        left: outlook.left,
        before,
        line: outlook.array,
    }
}

fn ran(run: Run) -> Ran {
    let Run { alike, owner, ran, expected, limit } = run;
    Ran { alike, owner, ran, expected, limit }
}

/// What was measured, as the modelled world has it; what was never seen takes no time.
fn costs(measured: Measured) -> Costs {
    let cost = |seconds: Option<f64>| Cost::fixed(seconds.unwrap_or(0.0));
    let restore = cost(measured.resume_s.or(measured.start_s));
    Costs {
        start: cost(measured.start_s),
        save: cost(measured.stop_s),
        restore,
        relocate: restore,
        resize: restore,
        ..Costs::default()
    }
}
