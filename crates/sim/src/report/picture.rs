//! Who ran where, reduced to what can be seen: for each row and column of time, who held most and
//! how much was held.

use super::occupancy::Occupancy;
use crate::simulation::Simulation;
use heeler_model::{JobId, TenantId};
use std::collections::{BTreeMap, BTreeSet};

/// With more jobs than this to be seen, only tenants are told apart.
const JOBS_MAX: usize = 1_500;

/// Who held a row during a column.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Mark {
    pub(super) job: JobId,
    pub(super) tenant: TenantId,
    /// How much of it was held: 0 nothing, 255 all.
    pub(super) held: u8,
}

/// A job that can be seen.
#[derive(Clone, Debug)]
pub(super) struct Shown {
    pub(super) name: String,
    pub(super) tenant: TenantId,
}

/// A picture of who ran where.
#[derive(Clone, Debug)]
pub(super) struct Picture {
    /// What each row is called, and whether it begins a node.
    pub(super) rows: Vec<(String, bool)>,
    pub(super) columns: usize,
    /// How long a column lasts.
    pub(super) width_s: f64,
    /// Row after row.
    marks: Vec<Mark>,
    /// Names of the tenants that can be seen.
    pub(super) tenants: BTreeMap<TenantId, String>,
    /// The jobs that can be seen; none if there are too many.
    pub(super) jobs: BTreeMap<JobId, Shown>,
}

impl Picture {
    pub(super) fn of(simulation: &Simulation) -> Option<Picture> {
        let occupancy = simulation.occupancy()?;
        let rows = occupancy.rows();
        let rows: Vec<(String, bool)> =
            (0..rows.count()).map(|row| (rows.name(row).to_string(), rows.is_first(row))).collect();
        let columns = occupancy.columns();
        let mut marks = Vec::with_capacity(rows.len() * columns);
        for row in 0..rows.len() {
            marks.extend((0..columns).map(|column| mark(&occupancy, row, column)));
        }
        let held = || marks.iter().filter(|mark| mark.held > 0);
        let cluster = simulation.cluster();
        let name = |id: TenantId| cluster.tenants[id.index()].name.clone();
        let mut seen: BTreeSet<JobId> = held().map(|mark| mark.job).collect();
        if seen.len() > JOBS_MAX {
            seen.clear();
        }
        let jobs: BTreeMap<JobId, Shown> = seen
            .into_iter()
            .map(|job| {
                let tenant = simulation.records()[job].tenant;
                (job, Shown { name: simulation.name(job), tenant })
            })
            .collect();
        let of_jobs = jobs.values().map(|job| job.tenant);
        let tenants =
            held().map(|mark| mark.tenant).chain(of_jobs).map(|id| (id, name(id))).collect();
        let width_s = occupancy.width_us() as f64 / 1e6;
        Some(Picture { rows, columns, width_s, marks, tenants, jobs })
    }

    /// The marks of a row.
    pub(super) fn row(&self, row: usize) -> &[Mark] {
        &self.marks[row * self.columns..(row + 1) * self.columns]
    }

    /// The same without the names of jobs.
    pub(super) fn without_jobs(&self) -> Picture {
        Picture { jobs: BTreeMap::new(), ..self.clone() }
    }

    /// The same with half the columns and without the names of jobs.
    pub(super) fn coarser(&self) -> Picture {
        let rows = 0..self.rows.len();
        let marks = rows.flat_map(|row| self.row(row).chunks(2).map(join)).collect();
        Picture {
            rows: self.rows.clone(),
            columns: self.columns.div_ceil(2),
            width_s: self.width_s * 2.0,
            marks,
            tenants: self.tenants.clone(),
            jobs: BTreeMap::new(),
        }
    }
}

fn mark(occupancy: &Occupancy, row: usize, column: usize) -> Mark {
    occupancy.look(row, column).map_or_else(Mark::default, |look| Mark {
        job: look.job,
        tenant: look.tenant,
        held: (look.held * 255.0).ceil() as u8,
    })
}

fn join(pair: &[Mark]) -> Mark {
    let most = pair.iter().copied().reduce(|a, b| if b.held > a.held { b } else { a });
    let held: u32 = pair.iter().map(|mark| u32::from(mark.held)).sum();
    Mark { held: held.div_ceil(2) as u8, ..most.unwrap_or_default() }
}
