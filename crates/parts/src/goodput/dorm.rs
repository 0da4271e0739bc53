//! Dorm (Sun et al., SMARTCOMP 2017): every application has a partition of its own, whose size may
//! change while it runs. Sizes are such that as much as possible is used, that shares are not far
//! from those of dominant resource fairness, and that few running applications are disturbed.

use super::rounds::{Allot, Candidate};
use super::shapes::{Shape, Shapes};
use heeler_engine::View;
use heeler_model::{KindId, NodeId};
use heeler_solve::partition::{Application, partition};

/// Tables of the programme have so many cells at most.
const CELLS: u64 = 4_000_000;

/// Dorm's programme.
#[derive(Clone, Copy, Debug)]
pub struct Dorm {
    /// The most that dominant shares may be away from fair ones, as a part of the most they could.
    pub unfairness: f64,
    /// The part of running applications that may be disturbed.
    pub disturbed: f64,
}

/// GPUs, CPUs (thousandths) and memory (MB) on nodes of a kind that are up.
fn there(kind: KindId, view: &View) -> [f64; 3] {
    let fleet = view.fleet();
    let mut sums = [0.0; 3];
    for (index, node) in fleet.cluster().nodes.iter().enumerate() {
        if node.kind == kind && fleet.is_up(NodeId(index as u32)) {
            sums[0] += f64::from(node.gpus);
            sums[1] += node.cpu_milli as f64;
            sums[2] += node.memory_mb as f64;
        }
    }
    sums
}

/// The part of each resource that goes with one GPU of a job. What nobody counted is not counted.
fn parts(candidate: &Candidate, there: [f64; 3]) -> [f64; 3] {
    let demand = &candidate.job.spec.demand;
    let share = f64::from(demand.share.0) / 1000.0;
    let each = [share, f64::from(demand.cpu_milli), f64::from(demand.memory_mb)];
    std::array::from_fn(|r| if there[r] > 0.0 { each[r] / there[r] } else { 0.0 })
}

/// GPUs of each by dominant resource fairness: dominant shares are equal, as large as some resource
/// lets them be, and nobody has more than it can use.
fn fair(parts: &[[f64; 3]], most: &[f64]) -> Vec<f64> {
    let dominant = |part: &[f64; 3]| part.iter().copied().fold(0.0, f64::max).max(1e-12);
    let at = |level: f64| -> Vec<f64> {
        parts.iter().zip(most).map(|(part, most)| (level / dominant(part)).min(*most)).collect()
    };
    let fits = |gpus: &[f64]| {
        let sum = |r: usize| gpus.iter().zip(parts).map(|(n, part)| n * part[r]).sum::<f64>();
        (0..3).all(|r| sum(r) <= 1.0 + 1e-12)
    };
    // Nobody has a larger part of anything than all of it.
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..50 {
        let middle = f64::midpoint(low, high);
        if fits(&at(middle)) { low = middle } else { high = middle }
    }
    at(low)
}

impl Dorm {
    /// Sizes for jobs on one kind of GPU, by their places among the candidates.
    fn on_kind(
        &self,
        kind: KindId,
        rows: &[(usize, Vec<u32>)],
        jobs: &[Candidate],
        view: &View,
    ) -> Vec<u32> {
        let all = there(kind, view);
        let shares: Vec<[f64; 3]> = rows.iter().map(|(at, _)| parts(&jobs[*at], all)).collect();
        let most = |(_, sizes): &(usize, Vec<u32>)| f64::from(sizes.last().copied().unwrap_or(0));
        let fair = fair(&shares, &rows.iter().map(most).collect::<Vec<_>>());
        let mut applications = Vec::new();
        for (((at, sizes), part), fair) in rows.iter().zip(&shares).zip(fair) {
            let has = jobs[*at].current.map(|shape| shape.gpus);
            let mut sizes = sizes.clone();
            match has {
                Some(has) if jobs[*at].pinned => sizes = vec![has],
                Some(has) if !sizes.contains(&has) => sizes.push(has),
                _ => {}
            }
            let weight = part.iter().copied().fold(0.0, f64::max);
            applications.push(Application { sizes, has, fair, weight });
        }
        let running = applications.iter().filter(|app| app.has.is_some()).count();
        let disturbed = (self.disturbed * running as f64).ceil() as usize;
        // All shares and all fair shares are one at most, so this is the most they can be apart.
        let loss = self.unfairness * 2.0;
        let there = all[0] as u32;
        // Newcomers run, as far as there is room for the least of everybody; if that would disturb
        // too many, some may wait.
        let admitted = admitted(&applications, there);
        let with = |applications: &[Application]| {
            partition(applications, there, loss, disturbed, CELLS).map(|found| found.sizes)
        };
        let patient = || {
            let mut patient = applications.clone();
            for app in patient.iter_mut().filter(|app| app.has.is_none()) {
                app.sizes.insert(0, 0);
            }
            with(&patient)
        };
        let found = with(&admitted).or_else(patient);
        found.unwrap_or_else(|| first_come(&applications, there))
    }
}

/// Newcomers for whom there is no room beside the least of those before them wait.
fn admitted(applications: &[Application], there: u32) -> Vec<Application> {
    let least = |app: &Application| app.sizes.iter().copied().min().unwrap_or(0);
    let running = applications.iter().filter(|app| app.has.is_some());
    let mut left = there.saturating_sub(running.map(least).sum());
    let mut admitted = applications.to_vec();
    for app in admitted.iter_mut().filter(|app| app.has.is_none()) {
        let least = least(app);
        match least <= left {
            true => left -= least,
            false => app.sizes = vec![0],
        }
    }
    admitted
}

/// Where there is too much to look at: who runs goes on as it is, and newcomers get the least they
/// can use while there is room.
fn first_come(applications: &[Application], there: u32) -> Vec<u32> {
    let mut left = there.saturating_sub(applications.iter().filter_map(|app| app.has).sum());
    let mut sizes = Vec::new();
    for app in applications {
        let least = app.sizes.iter().copied().find(|size| *size > 0).unwrap_or(0);
        let size = app.has.unwrap_or(if least <= left { least } else { 0 });
        left -= if app.has.is_none() { size } else { 0 };
        sizes.push(size);
    }
    sizes
}

impl Allot for Dorm {
    fn allot(&self, jobs: &[Candidate], view: &View) -> Vec<Option<Shape>> {
        let shapes = Shapes::of(view);
        let kinds = shapes.up().len();
        let mut rows: Vec<Vec<(usize, Vec<u32>)>> = vec![Vec::new(); kinds];
        let mut taken = vec![0u32; kinds];
        for (at, candidate) in jobs.iter().enumerate() {
            let offered = shapes.for_job(candidate.job, u32::MAX, view);
            let on = |kind: usize| {
                let of = offered.iter().filter(|shape| shape.kind.index() == kind);
                of.map(|shape| shape.gpus).collect::<Vec<u32>>()
            };
            // Where it is, or where most is left for the least of everybody.
            let left = |kind: &usize| shapes.up()[*kind].saturating_sub(taken[*kind]);
            let best = (0..kinds).rev().filter(|kind| !on(*kind).is_empty()).max_by_key(left);
            let Some(kind) = candidate.current.map(|shape| shape.kind.index()).or(best) else {
                continue;
            };
            taken[kind] += on(kind).first().copied().unwrap_or(0);
            rows[kind].push((at, on(kind)));
        }
        let mut given = vec![None; jobs.len()];
        for (kind, rows) in rows.iter().enumerate().filter(|(_, rows)| !rows.is_empty()) {
            let kind = KindId(kind as u8);
            for ((at, _), size) in rows.iter().zip(self.on_kind(kind, rows, jobs, view)) {
                given[*at] = (size > 0).then(|| shapes.fewest_nodes(kind, size));
            }
        }
        given
    }

    fn fork(&self) -> Box<dyn Allot> {
        Box::new(*self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ghodsi et al.'s example: of 9 CPUs and 18 GB, three tasks of 1 CPU and 4 GB and two of 3 CPUs
    /// and 1 GB.
    #[test]
    fn fair_parts_are_those_of_dominant_resources() {
        let parts = [[0.0, 1.0 / 9.0, 4.0 / 18.0], [0.0, 3.0 / 9.0, 1.0 / 18.0]];
        let found = fair(&parts, &[100.0, 100.0]);
        assert!((found[0] - 3.0).abs() < 1e-6 && (found[1] - 2.0).abs() < 1e-6, "{found:?}");
        let found = fair(&parts, &[1.0, 100.0]);
        assert!((found[0] - 1.0).abs() < 1e-6 && found[1] > 2.6, "{found:?}");
    }
}
