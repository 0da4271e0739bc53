//! One life: a machine, a server that is killed again and again, people, and in the end peace.

use crate::chance::Chance;
use crate::clients::Clients;
use crate::oracle::{Oracle, admin, differs};
use crate::server::{self, Died, EPOCH, Point, Server};
use crate::world::World;
use heeler_api::{Code, Problem, Selection, Selector, Who};
use heeler_backend::Inventory;
use heeler_journal::{Loss, SimDisk, SimFaults};
use heeler_live::{Act, Ask, Done, Live};
use heeler_model::{Cluster, NodeId};

const SECOND: u64 = 1_000_000;
/// Turns that may pass until everything is over, once people have gone home.
const PEACE_TURNS: u64 = 20_000;

/// See above.
pub(crate) struct Life {
    chance: Chance,
    now: u64,
    /// How far the wall clock is ahead; it is set now and then.
    skew: i64,
    disk: SimDisk,
    inventory: Inventory,
    recipe: String,
    world: World,
    clients: Clients,
    oracle: Oracle,
    server: Option<Server>,
    deaths: u64,
}

impl Life {
    pub(crate) fn new(seed: u64) -> Life {
        let mut chance = Chance::new(seed);
        let cluster = Cluster::uniform(chance.between(1, 3) as u32, *chance.pick(&[1, 2, 4, 8]));
        let inventory =
            Inventory { cluster: cluster.clone(), emulated: true, ..Inventory::default() };
        let usable: Vec<&str> = heeler_recipes::all()
            .iter()
            .map(|card| card.name)
            .filter(|name| Live::open(EPOCH, inventory.clone(), name, 7).is_ok())
            .collect();
        let recipe = (*chance.pick(&usable)).to_owned();
        Life {
            now: 0,
            skew: 0,
            disk: SimDisk::new(seed),
            inventory,
            recipe,
            world: World::new(seed),
            clients: Clients::new(seed, cluster),
            oracle: Oracle::default(),
            server: None,
            deaths: 0,
            chance,
        }
    }

    /// Jobs promised, deaths of servers, starts of processes.
    pub(crate) fn sums(&self) -> (usize, u64, u64) {
        (self.oracle.promised(), self.deaths, self.world.started)
    }

    pub(crate) fn live(&mut self) {
        self.recover();
        let turns = self.chance.between(40, 200);
        for _ in 0..turns {
            self.pass_time();
            self.misfortune();
            let asks: Vec<_> = match self.chance.below(100) {
                0..45 => Vec::new(),
                45..90 => vec![self.clients.ask()],
                _ => (0..3).map(|_| self.clients.ask()).collect(),
            };
            self.turn(&asks);
        }
        self.peace();
    }

    /// Go to when something happens next, or a little further.
    fn pass_time(&mut self) {
        let late = self.chance.below(5_000);
        let server = self.server.as_ref().and_then(Server::next).map(|next| next + late);
        let next = [server, self.world.next()].into_iter().flatten().min();
        let pause = self.chance.between(0, 20 * SECOND);
        let then = next.map_or(self.now + pause, |next| next.min(self.now + pause));
        self.now = self.now.max(then);
        self.world.advance(self.now);
    }

    /// What may go wrong in the next turn.
    fn misfortune(&mut self) {
        if self.chance.percent(2) {
            let nodes = self.inventory.cluster.nodes.len() as u64;
            self.world.node_down(NodeId(self.chance.below(nodes) as u32));
        }
        if self.chance.percent(8) {
            let faults = match self.chance.below(4) {
                0 => SimFaults { sync_permille: 300, ..SimFaults::default() },
                1 => SimFaults { write_permille: 300, short_permille: 300, ..SimFaults::default() },
                2 => {
                    let used: usize = self.disk.files().iter().map(|(_, bytes)| bytes.len()).sum();
                    let room = self.chance.below(6_000);
                    SimFaults { capacity_bytes: Some(used as u64 + room), ..SimFaults::default() }
                }
                _ => SimFaults::default(),
            };
            self.disk.set_faults(faults);
        } else if self.chance.percent(25) {
            self.disk.set_faults(SimFaults::default());
        }
        let snapshot = self.chance.percent(6);
        let point = self.chance.percent(8).then(|| match self.chance.below(9) {
            0 => Point::BeforeAppend,
            1 => Point::InSync(self.chance.below(8)),
            2 => Point::AfterSync,
            3 => Point::AfterApply,
            4 => Point::AfterAnswers,
            5 => Point::AfterDecide,
            6 => Point::BetweenOrders(self.chance.below(3) as usize),
            7 => Point::InSnapshot(self.chance.below(8)),
            _ => Point::Idle,
        });
        let Some(server) = &mut self.server else { return };
        server.dies_at = point;
        if snapshot || matches!(point, Some(Point::InSnapshot(_))) {
            server.begin_snapshot();
        }
    }

    fn turn(&mut self, asks: &[(Who, Ask)]) {
        let mut answers = Vec::new();
        let server = self.server.as_mut().expect("a server runs");
        let lived = server.turn(self.now, asks, &mut self.world, &mut self.oracle, &mut answers);
        let mut open: Vec<bool> = vec![true; asks.len()];
        for (place, answer) in answers {
            open[place] = false;
            self.heard(&asks[place], answer);
        }
        // Whoever was not answered tries again.
        let unanswered = asks.iter().zip(&open).filter(|(_, open)| **open).map(|(ask, _)| ask);
        self.clients.again.extend(unanswered.filter(|(_, it)| is_submit(it)).cloned());
        match lived {
            Ok(()) => self.oracle.check(&self.server.as_ref().expect("it lives").live),
            Err(Died) => self.die(),
        }
    }

    fn heard(&mut self, (who, ask): &(Who, Ask), answer: Result<Done, Problem>) {
        match (ask, answer) {
            (Ask::Submit(jobs), Ok(Done::Submitted(done))) => {
                for (job, done) in jobs.iter().zip(&done) {
                    let key = job.once.as_ref().expect("all have keys");
                    self.oracle.promise(key, done);
                    self.clients.latest = self.clients.latest.max(done.job + done.tasks - 1);
                }
            }
            (Ask::Submit(_), Err(problem)) if problem.code == Code::NotStored => {
                self.clients.again.push((who.clone(), ask.clone()));
            }
            _ => {}
        }
    }

    /// The server is gone; some time later there is another.
    fn die(&mut self) {
        self.deaths += 1;
        let before = self.server.take().expect("it lived");
        let loss = if self.chance.percent(65) { Loss::Process } else { Loss::Power };
        self.world.abandoned();
        if loss == Loss::Power {
            self.world.power_loss();
        }
        self.disk = self.disk.restart(loss);
        if self.chance.percent(50) {
            self.now += self.chance.below(90 * SECOND);
            self.world.advance(self.now);
        }
        if self.chance.percent(30) {
            let steps = [0, 30, 3_600, -30, -7_200];
            self.skew = *self.chance.pick(&steps) * SECOND as i64;
        }
        self.recover();
        let after = self.server.as_ref().expect("it recovered");
        if before.is_current(&self.oracle) {
            assert_eq!(before.live.digest(), after.live.digest(), "it came back as another");
            let differs = differs(&before.live, &after.live);
            assert_eq!(differs, None, "it came back as another");
        }
    }

    /// Start a server, however often it is killed meanwhile.
    fn recover(&mut self) {
        loop {
            self.disk.set_faults(SimFaults::default());
            if self.chance.percent(15) {
                self.disk.stop_after(self.chance.below(15));
            }
            let wall = EPOCH * SECOND + self.now;
            let clocks = (self.now, wall.saturating_add_signed(self.skew));
            let opened =
                Server::open(&self.disk, &self.inventory, &self.recipe, clocks, &mut self.oracle);
            match opened {
                Ok((server, again)) if !self.disk.stopped() => {
                    if again {
                        self.world.adopt(server.live.expected());
                    }
                    self.oracle.check(&server.live);
                    self.server = Some(server);
                    return;
                }
                _ => {
                    let loss = if self.chance.percent(50) { Loss::Process } else { Loss::Power };
                    if loss == Loss::Power {
                        self.world.power_loss();
                    }
                    self.disk = self.disk.restart(loss);
                }
            }
        }
    }

    /// Nothing fails any more; what can end does, and the rest is taken back.
    fn peace(&mut self) {
        self.disk.set_faults(SimFaults::default());
        self.world.calm = true;
        self.server.as_mut().expect("a server runs").dies_at = None;
        while !self.clients.again.is_empty() {
            let ask = self.clients.ask();
            self.turn(&[ask]);
        }
        let nodes: Vec<_> = self.inventory.cluster.nodes.iter().map(|it| it.name.clone()).collect();
        let (begun, mut cancelled) = (self.now, false);
        for turn in 0..PEACE_TURNS {
            let mut asks = Vec::new();
            if turn == 0 {
                asks.extend(nodes.iter().map(|it| (admin(), Ask::Undrain { node: it.clone() })));
                for act in [Act::Release, Act::Resume] {
                    asks.push((admin(), Ask::Act { jobs: everything(), act }));
                }
            }
            if self.now > begun + 3_000 * SECOND && !cancelled {
                cancelled = true;
                asks.push((admin(), Ask::Act { jobs: everything(), act: Act::Cancel }));
            }
            self.pass_time();
            self.turn(&asks);
            let live = &self.server.as_ref().expect("a server runs").live;
            if live.count().is_empty() && self.world.signs.is_empty() {
                break;
            }
        }
        self.check_end();
    }

    fn check_end(&mut self) {
        let live = &self.server.as_ref().expect("a server runs").live;
        self.oracle.check(live);
        self.oracle.check_end(live);
        assert_eq!(self.world.alive(), [], "something still runs");
        let again = server::replay_all(&self.disk, &mut self.oracle);
        assert_eq!(again.digest(), live.digest(), "the journal leads elsewhere");
        let differs = differs(&again, live);
        assert_eq!(differs, None, "the journal leads to another state");
    }
}

fn everything() -> Selection {
    Selection(vec![Selector::Range(1, u32::MAX - 2)])
}

fn is_submit(ask: &Ask) -> bool {
    matches!(ask, Ask::Submit(_))
}
