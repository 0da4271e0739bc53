//! One step after the other: everybody begins with the least it can use, and what is left goes step
//! by step to whom the next one is worth most. Optimus and SLAQ differ in what it is worth.

use super::room::Room;
use super::rounds::Candidate;
use super::shapes::{Shape, Shapes};
use heeler_engine::View;
use heeler_model::KindId;

/// Jobs that grow.
pub(super) struct Growth<'a, 'j> {
    jobs: &'a [Candidate<'j>],
    pub(super) shapes: Shapes,
    room: Room,
    rows: Vec<Row>,
}

/// What a job may have on the kind of GPU it is to have, smallest first, and what it has by now.
#[derive(Clone, Default)]
struct Row {
    sizes: Vec<Shape>,
    at: usize,
}

impl Row {
    fn step(&self) -> Option<(Shape, Shape)> {
        Some((*self.sizes.get(self.at)?, *self.sizes.get(self.at + 1)?))
    }
}

/// The sizes of a job on a kind of GPU, smallest first, as shapes on the fewest nodes.
pub(super) fn sizes(
    candidate: &Candidate,
    kind: KindId,
    shapes: &Shapes,
    view: &View,
) -> Vec<Shape> {
    let demand = &candidate.job.spec.demand;
    if !demand.kinds.contains(kind) {
        return Vec::new();
    }
    let most = shapes.most_for(candidate.job, kind, view).min(demand.sizes.max);
    let all = demand.sizes.min.max(1)..=most;
    let admitted = all.filter(|gpus| demand.sizes.admits(*gpus));
    admitted.map(|gpus| shapes.fewest_nodes(kind, gpus)).collect()
}

impl<'a, 'j> Growth<'a, 'j> {
    pub(super) fn new(jobs: &'a [Candidate<'j>], view: &View) -> Growth<'a, 'j> {
        let shapes = Shapes::of(view);
        let room = Room::of(&shapes, jobs);
        Growth { jobs, shapes, room, rows: vec![Row::default(); jobs.len()] }
    }

    /// Give jobs the least they can use in an order, as far as there is room: where they are, or on
    /// the kind of which most is left.
    pub(super) fn start(&mut self, order: &[usize], view: &View) {
        for index in order.iter().copied().filter(|index| !self.jobs[*index].pinned) {
            let candidate = &self.jobs[index];
            let fits = |kind: KindId| {
                let own = sizes(candidate, kind, &self.shapes, view);
                own.first().is_some_and(|least| self.room.has(candidate, *least)).then_some(own)
            };
            let kinds = (0..self.shapes.up().len() as u8).rev().map(KindId);
            let stays = candidate.current.and_then(|shape| fits(shape.kind));
            let most = || kinds.filter_map(fits).max_by_key(|own| self.room.left(own[0]));
            if let Some(sizes) = stays.or_else(most) {
                self.room.take(candidate, sizes[0]);
                self.rows[index] = Row { sizes, at: 0 };
            }
        }
    }

    /// The kind on which a job begins, if it does.
    pub(super) fn kind(&self, index: usize) -> Option<KindId> {
        self.rows[index].sizes.first().map(|shape| shape.kind)
    }

    /// Give out the rest, step by step to whom a GPU more is worth most; ties go to who is first.
    pub(super) fn grow(
        mut self,
        worth: impl Fn(usize, Shape, Shape, &Shapes) -> f64,
    ) -> Vec<Option<Shape>> {
        let rate = |index: usize, row: &Row, shapes: &Shapes| {
            row.step().map_or(0.0, |(from, to)| {
                worth(index, from, to, shapes) / f64::from(to.gpus - from.gpus)
            })
        };
        let rows = self.rows.iter().enumerate();
        let mut rates: Vec<f64> = rows.map(|(index, row)| rate(index, row, &self.shapes)).collect();
        while !self.room.is_empty() {
            let mut best: Option<usize> = None;
            for (index, rate) in rates.iter().enumerate().filter(|(_, rate)| **rate > 0.0) {
                if best.is_none_or(|best| *rate > rates[best]) {
                    best = Some(index);
                }
            }
            let Some(index) = best else { break };
            let candidate = &self.jobs[index];
            let Some((from, to)) = self.rows[index].step() else { break };
            self.room.give(candidate, from);
            if self.room.has(candidate, to) {
                self.room.take(candidate, to);
                self.rows[index].at += 1;
                rates[index] = rate(index, &self.rows[index], &self.shapes);
            } else {
                self.room.take(candidate, from);
                rates[index] = 0.0;
            }
        }
        let given = |(candidate, row): (&Candidate, &Row)| match candidate.pinned {
            true => candidate.current,
            false => row.sizes.get(row.at).copied(),
        };
        self.jobs.iter().zip(&self.rows).map(given).collect()
    }
}
