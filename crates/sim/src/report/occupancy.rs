//! Who held the GPUs over time, in a grid of bounded size: when time runs out of columns,
//! neighbours are put together and every column lasts twice as long. So a million jobs take no
//! more memory than a hundred.

use super::rows::Rows;
use heeler_model::{Assignment, Cluster, JobId, TenantId, Time};
use smallvec::SmallVec;

/// More than this cannot be told apart on a screen.
const COLUMNS_MAX: usize = 800;

/// How long a column lasts at first, microseconds.
const FIRST_WIDTH_US: u64 = 1_000;

/// So many tenants are told apart in one cell; beyond, the smallest gives way to the next.
const TENANTS_MAX: usize = 8;

/// One row for one column of time.
#[derive(Clone, Debug, Default)]
struct Cell {
    /// Held, thousandths of a GPU × microseconds.
    held: f64,
    /// The job that held most, and how much.
    job: JobId,
    job_held: f64,
    tenants: SmallVec<[(TenantId, f64); 2]>,
}

impl Cell {
    fn add(&mut self, job: JobId, tenant: TenantId, held: f64) {
        self.held += held;
        self.add_job(job, held);
        self.add_tenant(tenant, held);
    }

    fn add_job(&mut self, job: JobId, held: f64) {
        if self.job == job {
            self.job_held += held;
        } else if held > self.job_held {
            (self.job, self.job_held) = (job, held);
        }
    }

    fn add_tenant(&mut self, tenant: TenantId, held: f64) {
        if let Some(known) = self.tenants.iter_mut().find(|(known, _)| *known == tenant) {
            known.1 += held;
            return;
        }
        if self.tenants.len() < TENANTS_MAX {
            self.tenants.push((tenant, held));
            return;
        }
        let least = self.tenants.iter_mut().min_by(|a, b| a.1.total_cmp(&b.1));
        let least = least.expect("there are as many as can be told apart");
        // It inherits what the other held, so that one who comes often enough stays.
        *least = (tenant, least.1 + held);
    }

    fn join(&mut self, other: &Cell) {
        if other.held > 0.0 {
            self.held += other.held;
            self.add_job(other.job, other.job_held);
            for (tenant, held) in &other.tenants {
                self.add_tenant(*tenant, *held);
            }
        }
    }
}

/// What a row looked like during a column of time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Look {
    /// The job that held most of it.
    pub job: JobId,
    /// The tenant that held most of it.
    pub tenant: TenantId,
    /// Part of it that anybody held, from 0 to 1.
    pub held: f64,
}

/// Who held the GPUs over time.
#[derive(Clone, Debug)]
pub struct Occupancy {
    rows: Rows,
    width_us: u64,
    /// Row by row within a column, column after column.
    cells: Vec<Cell>,
}

impl Occupancy {
    /// Of a cluster, at time zero.
    pub fn new(cluster: &Cluster) -> Occupancy {
        Occupancy { rows: Rows::of(cluster), width_us: FIRST_WIDTH_US, cells: Vec::new() }
    }

    /// A job held some GPUs for some time.
    pub fn add(&mut self, job: JobId, tenant: TenantId, on: &Assignment, from: Time, until: Time) {
        while until.micros() > self.width_us * COLUMNS_MAX as u64 {
            self.halve();
        }
        let share = f64::from(on.share.0);
        let count = self.rows.count();
        let (from, until) = (from.micros(), until.micros());
        let columns = (from / self.width_us) as usize..until.div_ceil(self.width_us) as usize;
        if self.cells.len() < columns.end * count {
            self.cells.resize(columns.end * count, Cell::default());
        }
        for slice in on.placement.slices() {
            for (row, gpus) in self.rows.of_slots(slice.node, slice.slots) {
                for column in columns.clone() {
                    let start = column as u64 * self.width_us;
                    let span = until.min(start + self.width_us) - from.max(start);
                    let held = f64::from(gpus) * share * span as f64;
                    self.cells[column * count + row].add(job, tenant, held);
                }
            }
        }
    }

    fn halve(&mut self) {
        self.width_us *= 2;
        let count = self.rows.count().max(1);
        let mut cells = Vec::with_capacity(self.cells.len());
        for pair in self.cells.chunks(2 * count) {
            let (first, second) = pair.split_at(count.min(pair.len()));
            cells.extend_from_slice(first);
            let start = cells.len() - first.len();
            for (cell, other) in cells[start..].iter_mut().zip(second) {
                cell.join(other);
            }
        }
        self.cells = cells;
    }

    /// What the rows stand for.
    pub fn rows(&self) -> &Rows {
        &self.rows
    }

    /// How long a column lasts, microseconds.
    pub fn width_us(&self) -> u64 {
        self.width_us
    }

    /// How many columns there are.
    pub fn columns(&self) -> usize {
        self.cells.len() / self.rows.count().max(1)
    }

    /// What a row looked like during a column of time; nothing if nobody held any of it.
    pub fn look(&self, row: usize, column: usize) -> Option<Look> {
        let cell = self.cells.get(column * self.rows.count() + row)?;
        let most = cell.tenants.iter().max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)))?;
        let there = f64::from(self.rows.gpus(row)) * 1000.0 * self.width_us as f64;
        Some(Look { job: cell.job, tenant: most.0, held: (cell.held / there).min(1.0) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use heeler_model::{Milli, NodeId, Placement, Slots};

    fn on(node: u32, slots: u64, share: u32) -> Assignment {
        Assignment::new(Placement::on(NodeId(node), Slots(slots)), Milli(share))
    }

    #[test]
    fn columns_double_and_nothing_held_is_forgotten() {
        let cluster = Cluster::uniform(2, 4);
        let mut grid = Occupancy::new(&cluster);
        let mut expected = 0.0;
        for job in 0..3_000u32 {
            let from = Time::from_micros(u64::from(job) * 1_700_000);
            let until = Time::from_micros(u64::from(job) * 1_700_000 + 2_300_000);
            let tenant = TenantId((job % 12) as u16);
            grid.add(JobId(job), tenant, &on(job % 2, 0b11, 500), from, until);
            expected += 2.0 * 500.0 * 2_300_000.0;
        }
        let sum: f64 = grid.cells.iter().map(|cell| cell.held).sum();
        assert!((sum / expected - 1.0).abs() < 1e-9, "{sum} for {expected}");
        assert!(grid.columns() <= COLUMNS_MAX && grid.columns() > COLUMNS_MAX / 3);
    }

    #[test]
    fn whoever_held_most_is_shown() {
        let cluster = Cluster::uniform(1, 1);
        let mut grid = Occupancy::new(&cluster);
        let at = Time::from_secs;
        grid.add(JobId(0), TenantId(1), &on(0, 1, 1000), at(0), at(1));
        grid.add(JobId(1), TenantId(2), &on(0, 1, 1000), at(1), at(4));
        grid.add(JobId(2), TenantId(1), &on(0, 1, 1000), at(4), at(5));
        // Far away, so that the first seconds fall into one column.
        grid.add(JobId(3), TenantId(0), &on(0, 1, 1000), at(6_000), at(6_001));
        let first = grid.look(0, 0).expect("somebody held it");
        assert_eq!((first.job, first.tenant), (JobId(1), TenantId(2)));
        assert!((first.held - 5e6 / grid.width_us() as f64).abs() < 1e-9, "{}", first.held);
        assert_eq!(grid.look(0, 10), None);
    }
}
