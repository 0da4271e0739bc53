//! Who stays where it is while the rest of its group is exchanged: most changes are of that kind,
//! and whoever stays need not be taken from its GPUs and put back on them in thought.

use super::form::Group;
use super::settle::{places, share};
use super::standing::{Line, Standing};
use heeler_engine::View;
use heeler_model::Assignment;
use smallvec::SmallVec;

/// Members of a group who sit where most of it is.
pub(super) struct Sitting<'a> {
    pub(super) group: &'a Group,
    /// Who, by where they stand in the order.
    pub(super) members: SmallVec<[u32; 4]>,
    /// What each of them has, and each of the group is to have.
    pub(super) on: &'a Assignment,
}

impl<'a> Sitting<'a> {
    /// What a group would keep where most of it is, if all that it needs is GPUs.
    fn of(group: &'a Group, line: &'a [Standing<'a>], view: &View) -> Option<(u32, Sitting<'a>)> {
        let (seat, place) = places(group, line).into_iter().next()?;
        let (seat, share) = (seat?, share(group, line));
        let sits = |standing: &Standing| {
            let on = standing.job.assignment.as_ref();
            on.is_some_and(|on| on.placement == *place && on.share == share && on.portion.is_none())
        };
        let all = group.members.iter().copied();
        let members: SmallVec<[u32; 4]> = all.filter(|at| sits(&line[*at as usize])).collect();
        let on = line[*members.first()? as usize].job.assignment.as_ref()?;
        let whole = group.members.len() > 1
            && place.gpus() == group.gpus(line)
            && group.each(line).all(|standing| standing.own.plain)
            && view.fleet().are_up(place);
        whole.then_some((seat, Sitting { group, members, on }))
    }

    /// Those who sit.
    pub(super) fn each(&self, line: &'a [Standing<'a>]) -> impl Iterator<Item = &'a Standing<'a>> {
        self.members.iter().map(|at| &line[*at as usize])
    }

    /// The others of the group.
    pub(super) fn others(
        &self,
        line: &'a [Standing<'a>],
    ) -> impl Iterator<Item = &'a Standing<'a>> {
        let all = self.group.members.iter().filter(|at| !self.members.contains(at));
        all.map(|at| &line[*at as usize])
    }
}

/// Who sits where, by the number of the GPUs.
#[derive(Default)]
pub(super) struct Sitters<'a>(Vec<Option<Sitting<'a>>>);

impl<'a> Sitters<'a> {
    /// Of two groups that are mostly on the same GPUs the first sits.
    pub(super) fn of(groups: &[&'a Group], line: &'a Line<'a>, view: &View) -> Sitters<'a> {
        let mut seats: Vec<Option<Sitting>> =
            std::iter::repeat_with(|| None).take(line.seats).collect();
        for group in groups {
            if let Some((seat, sitting)) = Sitting::of(group, &line.jobs, view) {
                seats[seat as usize].get_or_insert(sitting);
            }
        }
        Sitters(seats)
    }

    /// All who sit.
    pub(super) fn jobs(&self, line: &'a [Standing<'a>]) -> impl Iterator<Item = &'a Standing<'a>> {
        self.0.iter().flatten().flat_map(move |sitting| sitting.each(line))
    }

    /// Who sits on these GPUs, and does not any more.
    pub(super) fn take(&mut self, seat: Option<u32>) -> Option<Sitting<'a>> {
        self.0.get_mut(seat? as usize)?.take()
    }
}
