//! Progressive filling: whoever has least now is next. With GPUs alone that is max-min fairness;
//! with every resource, counting that of which one has the largest part, it is dominant resource
//! fairness (Ghodsi et al., NSDI 2011).

use super::ranked::{Given, Ranked, as_submitted, per};
use super::{Among, Floor, Rule, Turns};
use heeler_engine::View;
use serde::{Deserialize, Serialize};

/// What is counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Resources {
    /// GPUs.
    #[default]
    Gpus,
    /// That of GPUs, CPUs and memory of which one has the largest part.
    Dominant,
}

/// Whoever has least is next.
#[derive(Clone, Copy, Debug)]
pub struct Filling {
    /// Among whom.
    pub among: Among,
    /// What is counted.
    pub resources: Resources,
}

/// What the nodes have that are up, of each resource.
fn capacity(view: &View) -> Given {
    let fleet = view.fleet();
    let mut all = Given::default();
    for (index, node) in fleet.cluster().nodes.iter().enumerate() {
        if fleet.is_up(heeler_model::NodeId(index as u32)) {
            all.milli += i64::from(node.gpus) * 1000;
            all.cpu_milli += node.cpu_milli as i64;
            all.memory_mb += node.memory_mb as i64;
        }
    }
    all
}

impl Filling {
    /// The part of what there is that somebody has, in millionths of millionths.
    fn part(self, has: Given, all: Given) -> i64 {
        // Where nobody said how much there is, it is not counted.
        let of = |has: i64, all: i64| match all {
            0 => 0,
            all => per(i128::from(has) * 1_000_000, i128::from(all)),
        };
        let gpus = of(has.milli, all.milli);
        match self.resources {
            Resources::Gpus => gpus,
            Resources::Dominant => {
                let beside = of(has.cpu_milli, all.cpu_milli).max(of(has.memory_mb, all.memory_mb));
                gpus.max(beside)
            }
        }
    }
}

impl Rule for Filling {
    fn open<'a>(&'a self, floor: &Floor<'a>, view: &View<'a>) -> Box<dyn Turns + 'a> {
        let (all, view) = (capacity(view), *view);
        Box::new(Ranked::new(
            floor,
            self.among,
            as_submitted,
            Box::new(move |party, given, next| {
                let mut has = given;
                if self.among == Among::Jobs {
                    // A job that waits has nothing, so what it would have decides.
                    has.add(Given::to(next));
                }
                self.part(has, all) / party.weight(&view)
            }),
        ))
    }

    fn fork(&self) -> Box<dyn Rule> {
        Box::new(*self)
    }
}
