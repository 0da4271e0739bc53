//! How jobs that share a GPU slow each other down: as measured of two models on a kind of GPU, by a
//! mechanism and with a share of it each, or by a rule where nothing was measured. What one loses
//! says nothing of what the other does.

use super::lucid_pairs;
use crate::workload::{Names, Row, Table, TraceError};
use heeler_model::{Cluster, KindId, Milli, ModelId, Pairs, Stages};
use heeler_solve::interleave::Interleaving;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How a GPU runs several jobs at the same time.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Mechanism {
    /// In slices of milliseconds, as GPUs do by themselves.
    #[default]
    TimeSlice,
    /// At once, by NVIDIA's multi-process service.
    Mps,
}

/// What happens to jobs that share a GPU.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Sharing {
    /// How GPUs run several jobs.
    pub mechanism: Mechanism,
    /// The part of its pace that each neighbour leaves a job where the two were not measured.
    pub unmeasured: f64,
    /// Whether, in addition, a job that has less of a GPU than it asked for is then slower in that
    /// proportion.
    pub proportional: bool,
    /// How jobs interleave whose stages are known, if they do: then nothing else slows them down.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interleave: Option<Interleaving>,
    /// Whether jobs of a priority below zero give way on GPUs they share: the others run as if they
    /// were alone, and they themselves do what fits between the stages of those, where stages are
    /// known. Two of them are half as fast.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub guarantee: bool,
    /// A table of measured pairs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pairs: Option<PathBuf>,
    /// The same, read.
    #[serde(skip)]
    pub table: Option<Arc<PairTable>>,
}

impl Default for Sharing {
    fn default() -> Sharing {
        Sharing {
            mechanism: Mechanism::TimeSlice,
            unmeasured: 1.0,
            proportional: true,
            interleave: None,
            guarantee: false,
            pairs: None,
            table: None,
        }
    }
}

/// A job on a GPU that it shares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Sharer {
    /// What it trains.
    pub model: ModelId,
    /// How much of the GPU it has.
    pub share: Milli,
    /// How much it asked for.
    pub asked: Milli,
    /// On how many GPUs.
    pub gpus: u32,
}

impl Sharing {
    /// Whether jobs on one GPU are as slow together as one after the other, whatever they do.
    pub fn gains_nothing(&self) -> bool {
        self.proportional && !self.guarantee && self.interleave.is_none() && self.pairs.is_none()
    }

    /// The part of its pace alone that a job has beside others on a GPU of a kind.
    pub fn pace(&self, job: Sharer, kind: KindId, others: impl Iterator<Item = Sharer>) -> f64 {
        let (mut pace, mut guessed) = (1.0, false);
        for other in others {
            let table = self.table.as_ref();
            match table.and_then(|table| table.pace(kind, self.mechanism, job, other)) {
                Some(measured) => pace *= measured,
                None => {
                    pace *= self.unmeasured;
                    guessed = true;
                }
            }
        }
        if guessed && self.proportional && job.share < job.asked {
            pace *= f64::from(job.share.0) / f64::from(job.asked.0);
        }
        pace
    }
}

impl Sharing {
    /// The part of its pace alone that a job has whose stages interleave with those of others, if
    /// they do.
    pub fn interleaved(&self, job: &Stages, others: &[&Stages]) -> Option<f64> {
        let stages: Vec<&[f64]> = std::iter::once(job)
            .chain(others.iter().copied())
            .map(|job| &job.stage_s[..])
            .collect();
        let round_s = self.interleave.as_ref()?.round_s(&stages)?;
        Some(job.iteration_s / round_s)
    }
}

/// Where two models were measured side by side; shares are zero where the row holds for all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Beside {
    kind: KindId,
    mechanism: Mechanism,
    model: ModelId,
    neighbour: ModelId,
    /// On how many GPUs each of them was; zero where the row holds for any number.
    gpus: u32,
    share: u32,
    neighbour_share: u32,
}

/// What a model does alone on so many GPUs of a kind, in steps a second.
pub type Alone<'a> = &'a dyn Fn(ModelId, KindId, u32) -> Option<f64>;

/// Measured paces of models beside others.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PairTable {
    rows: BTreeMap<Beside, f64>,
}

impl PairTable {
    /// Read a table with the columns `kind`, `model`, `neighbour` and `pace`, and perhaps
    /// `mechanism` (`time-slice` or `mps`; both, if it does not say), `share` and `neighbour_share`
    /// (parts of the GPU; any, if it does not say). `pace` is what the model does beside the
    /// neighbour, relative to what it does alone. It is a mistake if no row is of models and a kind
    /// that occur. Or read Gavel's table, `gpu_type, consolidated, num_gpus, job_a, job_b,
    /// steps_per_s_a, steps_per_s_b`, if it is known what jobs do alone; or Lucid's.
    pub fn read(
        path: &Path,
        models: &Names,
        cluster: &Cluster,
        alone: Alone,
    ) -> Result<PairTable, TraceError> {
        let file = Table::open(path, ',')?;
        if file.header().has(&["gpu_type", "job_a", "job_b", "steps_per_s_a"]) {
            return PairTable::in_steps(path, file, models, cluster, alone);
        }
        if lucid_pairs::is(file.header()) {
            return lucid_pairs::read(path, file, models, cluster);
        }
        file.header().must_have(&["kind", "model", "neighbour", "pace"])?;
        let mut table = PairTable::default();
        file.each(|row| {
            let pace = row.number("pace")?;
            if pace <= 0.0 {
                let message = format!("expected a number above zero, found `{pace}`");
                return Err(row.wrong("pace", message).hint("leave out pairs that cannot run"));
            }
            let mechanisms = mechanisms(row)?;
            let (share, neighbour_share) = (share(row, "share")?, share(row, "neighbour_share")?);
            let number = |field| -> Result<Option<ModelId>, TraceError> {
                Ok(models.find(row.text(field)?).map(|index| ModelId(index as u16)))
            };
            let (model, neighbour) = (number("model")?, number("neighbour")?);
            let name = row.text("kind")?;
            let kind = cluster.kinds.iter().position(|kind| kind.name == name);
            let (Some(model), Some(neighbour), Some(kind)) = (model, neighbour, kind) else {
                return Ok(());
            };
            for mechanism in mechanisms {
                let (kind, mechanism) = (KindId(kind as u8), *mechanism);
                let at =
                    Beside { kind, mechanism, model, neighbour, gpus: 0, share, neighbour_share };
                table.rows.insert(at, pace);
            }
            Ok(())
        })?;
        table.of_use(path)
    }

    pub(super) fn of_use(self, path: &Path) -> Result<PairTable, TraceError> {
        match self.rows.is_empty() {
            true => Err(TraceError::file(path, "has no row for models and a kind that occur here")
                .hint("models are those of the trace, kinds those of the cluster")),
            false => Ok(self),
        }
    }

    /// Gavel's table: steps a second of two jobs on the same GPUs; zero where they do not fit.
    fn in_steps(
        path: &Path,
        file: Table,
        models: &Names,
        cluster: &Cluster,
        alone: Alone,
    ) -> Result<PairTable, TraceError> {
        let columns = ["gpu_type", "num_gpus", "job_a", "job_b", "steps_per_s_a", "steps_per_s_b"];
        file.header().must_have(&columns)?;
        let mut table = PairTable::default();
        file.each(|row| {
            let (gpus, kind) = (row.count("num_gpus")?, row.text("gpu_type")?);
            let steps = (row.positive("steps_per_s_a")?, row.positive("steps_per_s_b")?);
            let together = row.get("consolidated").is_none_or(|text| text == "1");
            let kind = cluster.kinds.iter().position(|known| known.name == kind);
            let number = |field| -> Result<Option<ModelId>, TraceError> {
                Ok(models.find(row.text(field)?).map(|index| ModelId(index as u16)))
            };
            let (one, other) = (number("job_a")?, number("job_b")?);
            let (Some(one), Some(other), Some(kind)) = (one, other, kind) else { return Ok(()) };
            let kind = KindId(kind as u8);
            if !together || steps.0 <= 0.0 || steps.1 <= 0.0 {
                return Ok(());
            }
            for (model, neighbour, steps) in [(one, other, steps.0), (other, one, steps.1)] {
                let by_itself = alone(model, kind, gpus).filter(|rate| *rate > 0.0);
                let Some(by_itself) = by_itself else { continue };
                for mechanism in [Mechanism::TimeSlice, Mechanism::Mps] {
                    let (share, neighbour_share) = (0, 0);
                    let at =
                        Beside { kind, mechanism, model, neighbour, gpus, share, neighbour_share };
                    table.rows.insert(at, steps / by_itself);
                }
            }
            Ok(())
        })?;
        table.of_use(path)
    }

    /// What a recipe may know of two jobs with half of the same GPUs each.
    pub fn known(&self, mechanism: Mechanism) -> Pairs {
        let mut pairs = Pairs::default();
        for at in self.rows.keys().filter(|at| at.mechanism == mechanism) {
            let half = |model| {
                let (share, asked) = (Milli(500), Milli(1000));
                Sharer { model, share, asked, gpus: at.gpus }
            };
            let pace = self.pace(at.kind, mechanism, half(at.model), half(at.neighbour));
            if let Some(pace) = pace {
                pairs.insert(at.kind, at.gpus, (at.model, at.neighbour), pace);
            }
        }
        pairs
    }

    /// Enter what a model does beside another on a kind of GPU, whatever the shares.
    pub fn insert(
        &mut self,
        kind: KindId,
        mechanism: Mechanism,
        model: ModelId,
        neighbour: ModelId,
        pace: f64,
    ) {
        let (gpus, share, neighbour_share) = (0, 0, 0);
        let at = Beside { kind, mechanism, model, neighbour, gpus, share, neighbour_share };
        self.rows.insert(at, pace);
    }

    /// What a job does beside another, if that was measured: with these shares, or with any.
    pub fn pace(
        &self,
        kind: KindId,
        mechanism: Mechanism,
        job: Sharer,
        other: Sharer,
    ) -> Option<f64> {
        let (model, neighbour) = (job.model, other.model);
        let with = |share: u32, neighbour_share: u32| {
            let on = |gpus: u32| {
                let at = Beside { kind, mechanism, model, neighbour, gpus, share, neighbour_share };
                self.rows.get(&at).copied()
            };
            on(job.gpus).filter(|_| job.gpus == other.gpus).or_else(|| on(0))
        };
        let (share, beside) = (job.share.0, other.share.0);
        with(share, beside)
            .or_else(|| with(share, 0))
            .or_else(|| with(0, beside))
            .or_else(|| with(0, 0))
    }
}

/// The mechanisms that a row speaks of.
fn mechanisms(row: &Row) -> Result<&'static [Mechanism], TraceError> {
    match row.get("mechanism") {
        None => Ok(&[Mechanism::TimeSlice, Mechanism::Mps]),
        Some("time-slice") => Ok(&[Mechanism::TimeSlice]),
        Some("mps") => Ok(&[Mechanism::Mps]),
        Some(other) => {
            let message = format!("expected `time-slice` or `mps`, found `{other}`");
            Err(row.wrong("mechanism", message))
        }
    }
}

/// A share in thousandths; zero where the row does not say.
fn share(row: &Row, field: &str) -> Result<u32, TraceError> {
    if row.get(field).is_none() {
        return Ok(0);
    }
    let milli = (row.number(field)? * 1000.0).round();
    match (1.0..=1000.0).contains(&milli) {
        true => Ok(milli as u32),
        false => Err(row.wrong(field, "expected a part of a GPU above 0 and up to 1")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sharer(model: u16, share: u32) -> Sharer {
        Sharer { model: ModelId(model), share: Milli(share), asked: Milli(1000), gpus: 1 }
    }

    fn read(text: &str) -> Result<PairTable, TraceError> {
        let path = std::env::temp_dir().join(format!(
            "heeler-pairs-{}-{}.csv",
            std::process::id(),
            text.len()
        ));
        std::fs::write(&path, text).expect("a file");
        let mut models = Names::default();
        for name in ["a", "b"] {
            models.number(name);
        }
        let cluster = crate::cluster::parse("v100=1,k80=1").expect("a cluster");
        let table =
            PairTable::read(&path, &models, &cluster, &|_, _, gpus| (gpus == 1).then_some(4.0));
        std::fs::remove_file(path).expect("a file");
        table
    }

    #[test]
    fn pairs_go_by_kind_mechanism_share_and_side() {
        let text = "kind,mechanism,model,neighbour,share,neighbour_share,pace\n\
                    v100,,a,b,,,0.9\nv100,mps,a,b,0.5,0.5,0.7\nv100,mps,b,a,,,0.4\nx,,a,b,,,1\n";
        let table = Some(Arc::new(read(text).expect("a table")));
        let sliced = Sharing { table, unmeasured: 0.8, ..Sharing::default() };
        let mps = Sharing { mechanism: Mechanism::Mps, ..sliced.clone() };
        let kind = |name: &str| {
            let cluster = crate::cluster::parse("v100=1,k80=1").expect("a cluster");
            let index = cluster.kinds.iter().position(|kind| kind.name == name).expect("a kind");
            KindId(index as u8)
        };
        let pace = |sharing: &Sharing, on: &str, job, other| {
            sharing.pace(job, kind(on), std::iter::once(other))
        };
        let (a, b) = (sharer(0, 500), sharer(1, 500));
        assert_eq!(pace(&sliced, "v100", a, b), 0.9, "measured with any share");
        assert_eq!(pace(&mps, "v100", a, b), 0.7, "measured with just these shares");
        assert_eq!(pace(&mps, "v100", b, a), 0.4, "the other side");
        assert_eq!(pace(&mps, "v100", sharer(0, 300), b), 0.9, "another share");
        assert_eq!(pace(&sliced, "v100", b, a), 0.4, "half a GPU, and 0.8 of that");
        assert_eq!(pace(&sliced, "k80", a, b), 0.4, "another kind");
        assert_eq!(sliced.pace(a, kind("v100"), std::iter::empty()), 1.0, "nobody beside it");
    }

    /// In steps a second, and only on as many GPUs as were measured.
    #[test]
    fn gavels_table_is_read_against_what_jobs_do_alone() {
        let text = "gpu_type,consolidated,num_gpus,job_a,job_b,steps_per_s_a,steps_per_s_b\n\
                    v100,1,1,a,b,3,2\nv100,1,2,a,b,4,4\nv100,0,1,b,a,1,1\nk80,1,1,a,b,0,2\n";
        let table = read(text).expect("a table");
        let pace = |gpus, job: u16, other: u16| {
            let on = |model| Sharer { gpus, ..sharer(model, 500) };
            table.pace(KindId(0), Mechanism::Mps, on(job), on(other))
        };
        assert_eq!((pace(1, 0, 1), pace(1, 1, 0)), (Some(0.75), Some(0.5)));
        assert_eq!(pace(2, 0, 1), None, "nobody knows what it does alone on two");
        let known = table.known(Mechanism::TimeSlice);
        assert_eq!(known.pace(KindId(0), 1, (ModelId(0), ModelId(1))), Some(0.75));
        assert_eq!(known.pace(KindId(1), 1, (ModelId(0), ModelId(1))), None, "they do not fit");
    }

    #[test]
    fn mistakes_in_pairs_are_named() {
        let head = "kind,mechanism,model,neighbour,share,pace\n";
        for (row, message) in [
            ("v100,magic,a,b,,1", "expected `time-slice` or `mps`, found `magic`"),
            ("v100,,a,b,2,1", "expected a part of a GPU above 0 and up to 1"),
            ("v100,,a,b,,0", "expected a number above zero, found `0`"),
            ("v100,,a,c,,1", "has no row for models and a kind that occur here"),
        ] {
            let error = read(&format!("{head}{row}\n")).expect_err(row);
            assert_eq!(error.message, message);
        }
    }
}
