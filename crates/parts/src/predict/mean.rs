//! The mean of earlier jobs that were alike, as far as there were any: of the same owner, of the
//! same name, with as many GPUs. Repeated jobs are most of what a cluster runs (Weng et al., NSDI
//! 2022), so this comes close to knowing.

use super::past::{Past, Sum};
use super::{Facts, Learner};
use serde::{Deserialize, Serialize};

/// Which jobs are alike.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum By {
    /// Those of one owner.
    User,
    /// Those of one owner and name.
    UserName,
    /// Those of one owner and name that have as many GPUs.
    #[default]
    UserNameGpus,
}

/// The mean of earlier jobs that were alike.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Mean {
    by: By,
    past: Past,
}

impl Mean {
    /// Nothing seen yet.
    pub fn new(by: By) -> Mean {
        Mean { by, past: Past::default() }
    }
}

impl Learner for Mean {
    type Noted = ();

    fn guess(&self, facts: &Facts) -> (Option<f64>, ()) {
        let named = self.past.named(facts).filter(|_| self.by != By::User);
        let owner = self.past.owner(facts.owner).map(|owner| &owner.jobs);
        let all = Some(&self.past.all);
        // From those that are most alike to all there were.
        let groups = [named, owner, all].into_iter().flatten();
        let sums = groups.flat_map(|group| {
            let same = (self.by == By::UserNameGpus).then(|| group.with(facts.gpus));
            same.into_iter().chain([group.all])
        });
        let mut means = sums.filter_map(Sum::mean_s);
        (means.next(), ())
    }

    fn learn(&mut self, facts: &Facts, _noted: &(), seconds: f64) {
        self.past.learn(facts, seconds);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use heeler_model::TenantId;

    fn facts(tenant: u16, name: &str, gpus: u32) -> Facts {
        Facts { owner: TenantId(tenant).into(), name: name.into(), gpus, ..Facts::default() }
    }

    #[test]
    fn those_most_alike_are_asked_first() {
        let mut mean = Mean::new(By::UserNameGpus);
        assert_eq!(mean.guess(&facts(0, "a", 1)).0, None);
        for (job, seconds) in [
            (facts(0, "a", 1), 10.0),
            (facts(0, "a", 1), 20.0),
            (facts(0, "a", 8), 90.0),
            (facts(0, "b", 1), 40.0),
            (facts(1, "a", 2), 200.0),
        ] {
            mean.learn(&job, &(), seconds);
        }
        let guess = |tenant, name, gpus| mean.guess(&facts(tenant, name, gpus)).0;
        assert_eq!(guess(0, "a", 1), Some(15.0), "the same job");
        assert_eq!(guess(0, "a", 4), Some(40.0), "another size");
        assert_eq!(guess(0, "c", 8), Some(90.0), "another name of that size");
        assert_eq!(guess(0, "c", 4), Some(40.0), "the same owner");
        assert_eq!(guess(2, "a", 2), Some(200.0), "somebody else's of that size");
        assert_eq!(guess(2, "a", 3), Some(72.0), "all there were");
        let by_user = Mean { by: By::User, ..mean.clone() };
        assert_eq!(by_user.guess(&facts(0, "a", 1)).0, Some(40.0));
        let by_name = Mean { by: By::UserName, ..mean };
        assert_eq!(by_name.guess(&facts(0, "a", 1)).0, Some(40.0));
    }
}
