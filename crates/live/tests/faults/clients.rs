//! People who hand in jobs of all sorts, act on them, change tenants, recipes and nodes, and make
//! mistakes. A submission that was not answered, or not stored, is handed in again under its key.

use crate::chance::Chance;
use heeler_api::{
    Array, Class, Condition, Dependency, Early, Gpus, Pause, RecipeChange, Role, Selection,
    Selector, Submission, TenantChange, Who,
};
use heeler_live::{Act, Ask};
use heeler_model::Cluster;

/// See above.
pub(crate) struct Clients {
    chance: Chance,
    cluster: Cluster,
    keys: u64,
    /// The highest job number that anybody was told.
    pub(crate) latest: u32,
    /// What has to be handed in again.
    pub(crate) again: Vec<(Who, Ask)>,
}

const USERS: [(&str, u32); 3] = [("ada", 1001), ("ben", 1002), ("cai", 1003)];
const TENANTS: [&str; 3] = ["red", "green", "blue"];

fn operator() -> Who {
    Who { user: "ops".into(), role: Role::Operator, ..Who::default() }
}

impl Clients {
    pub(crate) fn new(seed: u64, cluster: Cluster) -> Clients {
        let chance = Chance::new(seed ^ 0x00c1_1e47);
        Clients { chance, cluster, keys: 0, latest: 0, again: Vec::new() }
    }

    /// What somebody asks next.
    pub(crate) fn ask(&mut self) -> (Who, Ask) {
        if let Some(again) = self.again.pop() {
            return again;
        }
        let roll = self.chance.below(100);
        match roll {
            0..50 => {
                let jobs = if self.chance.percent(15) { self.chance.between(2, 4) } else { 1 };
                let jobs = (0..jobs).map(|_| self.submission()).collect();
                (self.user(), Ask::Submit(jobs))
            }
            50..85 => {
                let who = if self.chance.percent(50) { operator() } else { self.user() };
                (who, Ask::Act { jobs: self.selection(), act: self.act() })
            }
            85..90 => (crate::oracle::admin(), self.tenant()),
            90..95 => (operator(), self.recipe()),
            _ => (operator(), self.node()),
        }
    }

    fn user(&mut self) -> Who {
        let (user, number) = *self.chance.pick(&USERS);
        let tenants = vec!["default".into()];
        let (uid, gid) = (Some(number), Some(number));
        Who { user: user.into(), uid, gid, role: Role::User, tenants }
    }

    fn submission(&mut self) -> Submission {
        let chance = &mut self.chance;
        self.keys += 1;
        let all = self.cluster.gpus();
        let count = match chance.below(20) {
            0 => 0,
            1 => all + 1,
            2..5 => chance.between(1, u64::from(all)) as u32,
            _ => chance.between(1, u64::from(all.min(4))) as u32,
        };
        let elastic = chance.percent(15) && count > 0;
        let share = (count == 1 && chance.percent(15)).then(|| *chance.pick(&[250, 500, 750]));
        let gpus = Gpus {
            count,
            min: elastic.then_some(1),
            max: elastic.then_some(count + 2),
            share,
            ..Gpus::default()
        };
        let array = chance.percent(12).then(|| Array {
            indices: (0..chance.between(2, 6) as u32).collect(),
            most: chance.percent(50).then(|| chance.between(1, 3) as u32),
        });
        let pauses =
            [Pause::Auto, Pause::Auto, Pause::Save, Pause::Freeze, Pause::Requeue, Pause::Never];
        let mut after = Vec::new();
        if self.latest > 0 && chance.percent(20) {
            let conditions = [Condition::After, Condition::Ok, Condition::NotOk, Condition::Any];
            let job = chance.between(1, u64::from(self.latest)) as u32;
            after.push(Dependency { when: *chance.pick(&conditions), job });
        }
        let limit = chance.percent(60).then(|| chance.between(10, 600));
        let early = Early { signal: "TERM".into(), before_s: 5 };
        Submission {
            name: format!("job-{}", self.keys),
            command: vec!["work".into()],
            gpus,
            time_limit_s: limit,
            early: limit.filter(|_| chance.percent(30)).map(|_| early),
            expected_s: chance.percent(30).then(|| chance.between(10, 600)),
            priority: chance.between(0, 10) as i32,
            class: if chance.percent(25) { Class::BestEffort } else { Class::Guaranteed },
            array,
            after,
            begin: chance.percent(5).then(|| crate::server::EPOCH + chance.between(0, 4000)),
            requeue: chance.percent(50),
            retries: if chance.percent(40) { chance.between(1, 3) as u32 } else { 0 },
            backoff_s: chance.between(0, 20),
            grace_s: chance.between(1, 30),
            pause: *chance.pick(&pauses),
            hold: chance.percent(5),
            model: chance.percent(30).then(|| "bert".into()),
            once: Some(format!("key-{}", self.keys)),
            ..Submission::default()
        }
    }

    fn selection(&mut self) -> Selection {
        let latest = u64::from(self.latest) + 1;
        let one = self.chance.between(1, latest) as u32;
        Selection(vec![match self.chance.below(10) {
            0 => Selector::Range(one, one + 3),
            1 => Selector::Last,
            2 => Selector::All,
            _ => Selector::Job(one),
        }])
    }

    fn act(&mut self) -> Act {
        let chance = &mut self.chance;
        match chance.below(12) {
            0 | 1 => Act::Cancel,
            2 => Act::Hold,
            3 => Act::Release,
            4 | 5 => Act::Suspend,
            6 | 7 => Act::Resume,
            8 => Act::Requeue,
            9 => Act::Signal(*chance.pick(&[9, 10, 15, 15])),
            10 => Act::Priority(chance.between(0, 20) as i32),
            _ => Act::TimeLimit(chance.percent(70).then(|| chance.between(5, 300))),
        }
    }

    fn tenant(&mut self) -> Ask {
        let chance = &mut self.chance;
        let name = (*chance.pick(&TENANTS)).to_owned();
        let gpus = |chance: &mut Chance| {
            let some = chance.percent(70).then(|| chance.between(0, 8) as u32);
            chance.percent(60).then_some(some)
        };
        let change = TenantChange {
            weight: chance.percent(30).then(|| chance.between(1, 4) as u32),
            quota: gpus(chance),
            limit: gpus(chance),
            ..TenantChange::default()
        };
        let own = chance.percent(30);
        Ask::Tenant { name: if own { "default".into() } else { name }, change }
    }

    fn recipe(&mut self) -> Ask {
        let all = heeler_recipes::all();
        let name = self.chance.pick(all).name.to_owned();
        Ask::Recipe(RecipeChange { name: Some(name), ..RecipeChange::default() })
    }

    fn node(&mut self) -> Ask {
        let node = self.chance.pick(&self.cluster.nodes).name.clone();
        match self.chance.below(6) {
            0 => Ask::Drain { node, note: Some("fans".into()) },
            1 => Ask::Lose { node },
            _ => Ask::Undrain { node },
        }
    }
}
