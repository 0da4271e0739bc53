//! The queue, kept sorted without being looked at. Waiting jobs are grouped into classes that a
//! placement cannot tell apart; running jobs are grouped by how fast their key changes, so that
//! the order inside a group never does. Events move single jobs; time moves nobody.

use crate::state::{DemandId, Job, JobTable};
use crate::traits::{Key, Line};
use heeler_model::{JobId, ModelId, Span, TenantId, Time};
use std::collections::{BTreeMap, BTreeSet, btree_set};

/// A place in an order: the key as it was, or would have been, at time zero. Wider than a key: a
/// large job's key may change a million times as fast as the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Seat {
    major_at_zero: i128,
    minor: i64,
    submitted: Time,
    /// Who sits there.
    pub job: JobId,
}

impl Seat {
    pub(super) fn new(job: &Job, line: Line, now: Time) -> Seat {
        Seat {
            major_at_zero: i128::from(line.key.major) - change(line.slope, now),
            minor: line.key.minor,
            submitted: job.submitted,
            job: job.id,
        }
    }

    /// What to compare seats of different slopes by, at one moment.
    pub(super) fn rank(&self, slope: i64, now: Time) -> Rank {
        let major = (self.major_at_zero + change(slope, now)) as i64;
        let key = Key { major, minor: self.minor };
        Rank { key, submitted: self.submitted, job: self.job }
    }
}

/// A job, its key at time zero, and how fast that changes.
pub(super) type SavedSeat = (JobId, String, i64, i64);

/// The line that a saved seat stands for now.
pub(super) fn line_of(saved: &SavedSeat, now: Time) -> Option<Line> {
    let (_, zero, minor, slope) = saved;
    let major = zero.parse::<i128>().ok()? + change(*slope, now);
    Some(Line { key: Key { major: major as i64, minor: *minor }, slope: *slope })
}

/// How far a key has gone since time zero.
fn change(slope: i64, now: Time) -> i128 {
    i128::from(slope) * i128::from(now.micros())
}

/// A job's rank at one moment; smaller is first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Rank {
    /// Where it stands.
    pub key: Key,
    submitted: Time,
    /// Whose rank it is.
    pub job: JobId,
}

impl Rank {
    /// The rank behind all whom the order itself puts level with this one.
    pub(super) fn last_of_its_key(self) -> Rank {
        Rank { submitted: Time::MAX, job: JobId(u32::MAX), ..self }
    }
}

/// What makes waiting jobs interchangeable to gate, allocation and placement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ClassKey {
    /// Their demand.
    pub demand: DemandId,
    /// Their tenant, where it matters.
    pub tenant: TenantId,
    /// Their model, where it matters.
    pub model: ModelId,
    /// Whether spreading hurts them.
    pub skewed: bool,
    /// What else the gate tells apart.
    pub gate: u64,
    /// What else the allocation tells apart.
    pub allocate: u64,
}

/// Running jobs whose order among themselves never changes by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Group {
    /// Their tenant, where it matters.
    pub tenant: TenantId,
    /// How fast their keys change.
    pub slope: i64,
    /// Whether they run on as many GPUs as they asked for or not at all.
    pub fixed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Spot {
    Waiting { class: usize, seat: Seat, length: Option<Span> },
    Running { group: Group, seat: Seat },
}

/// Waiting jobs that are interchangeable but for how long they run.
#[derive(Clone, Debug, Default)]
struct Class {
    seats: BTreeSet<Seat>,
    /// Shortest first, where backfill wants to know.
    by_length: BTreeSet<(Span, Seat)>,
}

/// Jobs that wait and jobs that run, each in order.
#[derive(Clone, Debug, Default)]
pub(super) struct Queue {
    classes: Vec<Class>,
    class_of: BTreeMap<ClassKey, usize>,
    live: BTreeSet<usize>,
    running: BTreeMap<Group, BTreeSet<Seat>>,
    /// Where each job sits, by its place in the job table.
    spots: Vec<Option<Spot>>,
    waiting: usize,
}

impl Queue {
    /// How many jobs wait.
    pub(super) fn waiting(&self) -> usize {
        self.waiting
    }

    /// Enter a waiting job, with how long it is taken to run where that matters.
    pub(super) fn wait(
        &mut self,
        jobs: &JobTable,
        job: &Job,
        key: ClassKey,
        length: Option<Span>,
        seat: Seat,
    ) {
        self.remove(jobs, job.id);
        let class = *self.class_of.entry(key).or_insert_with(|| {
            self.classes.push(Class::default());
            self.classes.len() - 1
        });
        let Class { seats, by_length } = &mut self.classes[class];
        if seats.is_empty() {
            self.live.insert(class);
        }
        seats.insert(seat);
        by_length.extend(length.map(|length| (length, seat)));
        self.waiting += 1;
        self.sit(jobs, job.id, Spot::Waiting { class, seat, length });
    }

    /// Enter a running job. Says whether it was running before, in another place.
    pub(super) fn run(
        &mut self,
        jobs: &JobTable,
        job: &Job,
        tenant: TenantId,
        line: Line,
        now: Time,
    ) -> bool {
        let seat = Seat::new(job, line, now);
        let sizes = &job.spec.demand.sizes;
        let fixed = sizes.min == sizes.asked && sizes.max == sizes.asked;
        let group = Group { tenant, slope: line.slope, fixed };
        let spot = Spot::Running { group, seat };
        if self.spot_of(jobs, job.id) == Some(spot) {
            return false;
        }
        let was_running = self.remove(jobs, job.id);
        self.running.entry(group).or_default().insert(seat);
        self.sit(jobs, job.id, spot);
        was_running
    }

    fn spot_of(&self, jobs: &JobTable, job: JobId) -> Option<Spot> {
        *self.spots.get(jobs.place(job)?)?
    }

    fn sit(&mut self, jobs: &JobTable, job: JobId, spot: Spot) {
        let place = jobs.place(job).expect("the job is not done");
        if self.spots.len() <= place {
            self.spots.resize(place + 1, None);
        }
        self.spots[place] = Some(spot);
    }

    /// Take a job out, wherever it is. Says whether it was running.
    pub(super) fn remove(&mut self, jobs: &JobTable, job: JobId) -> bool {
        let Some(place) = jobs.place(job) else { return false };
        let Some(spot) = self.spots.get_mut(place).and_then(Option::take) else { return false };
        match spot {
            Spot::Waiting { class, seat, length } => {
                let Class { seats, by_length } = &mut self.classes[class];
                seats.remove(&seat);
                if let Some(length) = length {
                    by_length.remove(&(length, seat));
                }
                self.waiting -= 1;
                if seats.is_empty() {
                    self.live.remove(&class);
                }
            }
            Spot::Running { group, seat } => {
                let seats = self.running.get_mut(&group).expect("the group of a running job");
                seats.remove(&seat);
                if seats.is_empty() {
                    self.running.remove(&group);
                }
            }
        }
        matches!(spot, Spot::Running { .. })
    }

    /// Where everybody sits, to be saved: what one would say later of a job whose line has bent by
    /// itself may differ.
    pub(super) fn saved(&self) -> Vec<SavedSeat> {
        let seats = self.spots.iter().flatten().map(|spot| {
            let (seat, slope) = match spot {
                Spot::Waiting { seat, .. } => (seat, 0),
                Spot::Running { group, seat } => (seat, group.slope),
            };
            // A number this wide is not known to all who read JSON.
            (seat.job, seat.major_at_zero.to_string(), seat.minor, slope)
        });
        // By job: where each sits in memory depends on who was here before.
        let mut seats: Vec<SavedSeat> = seats.collect();
        seats.sort_unstable_by_key(|seat| seat.0);
        seats
    }

    /// Whether a job waits here.
    pub(super) fn is_waiting(&self, jobs: &JobTable, job: JobId) -> bool {
        matches!(self.spot_of(jobs, job), Some(Spot::Waiting { .. }))
    }

    /// The classes that have jobs waiting: their numbers, and their jobs in order.
    pub(super) fn waiting_classes(
        &self,
    ) -> impl Iterator<Item = (usize, btree_set::Iter<'_, Seat>)> {
        self.live.iter().map(|class| (*class, self.classes[*class].seats.iter()))
    }

    /// The jobs of a class that come after one of them and are taken to run no longer than so
    /// long, in order.
    pub(super) fn short_after(&self, class: usize, after: Seat, longest: Span) -> Vec<Seat> {
        let by_length = self.classes[class].by_length.iter();
        let short = by_length.take_while(|(length, _)| *length <= longest).map(|(_, seat)| *seat);
        let mut short: Vec<Seat> = short.filter(|seat| *seat > after).collect();
        short.sort_unstable();
        short
    }

    /// Whether the keys of some running jobs grow by themselves.
    pub(super) fn any_rises(&self) -> bool {
        self.running.keys().any(|group| group.slope > 0)
    }

    /// The rank of a running job at a moment.
    pub(super) fn rank_of(&self, jobs: &JobTable, job: JobId, now: Time) -> Option<Rank> {
        match self.spot_of(jobs, job)? {
            Spot::Running { group, seat } => Some(seat.rank(group.slope, now)),
            Spot::Waiting { .. } => None,
        }
    }

    /// Running jobs of some groups at a moment, those who would lose their GPUs first in front.
    pub(super) fn running_last_first(
        &self,
        now: Time,
        of: impl Fn(Group) -> bool,
    ) -> LastFirst<'_> {
        let groups = self.running.iter().filter(|(group, _)| of(**group));
        let mut merge = LastFirst { now, groups: Vec::new() };
        for (group, seats) in groups {
            let mut seats = seats.iter();
            let last = seats.next_back().map(|seat| seat.rank(group.slope, now));
            merge.groups.push(LastOf { slope: group.slope, seats, last });
        }
        merge
    }
}

#[derive(Clone, Debug)]
struct LastOf<'a> {
    slope: i64,
    seats: btree_set::Iter<'a, Seat>,
    last: Option<Rank>,
}

/// Running jobs, the last in order first: a merge of the groups from their ends.
#[derive(Clone, Debug)]
pub(super) struct LastFirst<'a> {
    now: Time,
    groups: Vec<LastOf<'a>>,
}

impl LastFirst<'_> {
    /// Who comes next.
    pub(super) fn peek(&self) -> Option<Rank> {
        self.groups.iter().filter_map(|group| group.last).max()
    }
}

impl Iterator for LastFirst<'_> {
    type Item = Rank;

    fn next(&mut self) -> Option<Rank> {
        let group = self.groups.iter_mut().max_by_key(|group| group.last)?;
        let rank = group.last?;
        group.last = group.seats.next_back().map(|seat| seat.rank(group.slope, self.now));
        Some(rank)
    }
}
