//! Leaving the best GPUs to those who need them, as in Alibaba's PAI (Weng et al., NSDI 2022): a
//! job that can do with others is packed onto those, and gets the fastest kind only as far as
//! enough of it stays free for jobs that run on nothing else.

use super::{Fit, Racks, Remainder};
use heeler_engine::{Draft, Fleet, Needs, Pick, Place, View, Want};
use heeler_model::{KindSet, Placement, Reason, Slice};

/// Leave the best GPUs to those who need them.
#[derive(Clone, Copy, Debug)]
pub struct SpareBest {
    /// The part of the fastest GPUs that stays free of jobs that can run elsewhere.
    pub keep: f64,
}

/// The fullest node that fits.
const PACKED: Fit = Fit {
    pick: Pick::Tightest,
    remainder: Remainder::AsPicked,
    relax: false,
    racks: Racks::Fullest,
};

/// The kinds that are fastest, and the others; nobody, where all are alike.
fn best(fleet: &Fleet) -> Option<(KindSet, KindSet)> {
    let kinds = &fleet.cluster().kinds;
    let most = kinds.iter().map(|kind| kind.speed).max()?;
    let (mut best, mut rest) = (KindSet::NONE, KindSet::NONE);
    for kind in KindSet::ANY.iter(kinds.len()) {
        let set = if kinds[kind.index()].speed == most { &mut best } else { &mut rest };
        *set = set.with(kind);
    }
    (!rest.is_empty()).then_some((best, rest))
}

/// Whether a placement takes a GPU that nobody uses; whoever joins others takes nothing that could
/// be kept.
fn takes_unused(placement: &Placement, free: &Draft) -> bool {
    let unused = |slice: &Slice| {
        let unused = free.unused(slice.node);
        slice.slots.iter().any(|slot| unused.contains(slot))
    };
    placement.slices().iter().any(unused)
}

impl SpareBest {
    /// Whether a want could be met without the best kinds, were all those GPUs free.
    fn can_do_without(want: &Want, rest: KindSet, fleet: &Fleet) -> bool {
        let kinds = want.demand.kinds.and(rest).iter(fleet.cluster().kinds.len());
        let enough = |kind| {
            let there = fleet.together_ever(kind, &want.demand);
            there >= want.gpus && fleet.up_of(KindSet::only(kind)) >= want.gpus
        };
        want.gpus > 0 && kinds.into_iter().any(enough)
    }
}

impl Place for SpareBest {
    fn place(&self, want: &Want, free: &Draft, view: &View) -> Result<Placement, Reason> {
        let split = best(free).filter(|(_, rest)| SpareBest::can_do_without(want, *rest, free));
        let Some((best, rest)) = split else { return PACKED.place(want, free, view) };
        let on = |kinds: KindSet| {
            let mut want = *want;
            want.demand.kinds = want.demand.kinds.and(kinds);
            PACKED.place(&want, free, view)
        };
        let elsewhere = on(rest);
        let kept = (self.keep * f64::from(free.up_of(best))).ceil() as u32;
        let has_spare = free.free_of(best) >= kept + want.gpus;
        // Only parts of GPUs can be had of GPUs that somebody uses.
        let joins = !want.demand.share.is_whole();
        if elsewhere.is_ok() || !(has_spare || joins) {
            return elsewhere;
        }
        let found = on(best).ok().filter(|found| has_spare || !takes_unused(found, free));
        found.map_or(elsewhere, Ok)
    }

    fn needs(&self, want: &Want, fleet: &Fleet) -> Needs {
        PACKED.needs(want, fleet)
    }

    fn fork(&self) -> Box<dyn Place> {
        Box::new(*self)
    }
}
