//! Workloads of Pollux (Qiao et al., OSDI 2021) and Sia (Subramanya et al., SOSP 2023): `name, time
//! [s], application, num_replicas, batch_size`. They have no run times: a job does as many
//! iterations as its model was trained for at that batch size, each as long as was measured for
//! that many GPUs on as few nodes as possible. Both stand in a folder of profiles. A column
//! `category` may say that a job can change its size (`scale-gpus`) or size and batch
//! (`adaptive`), or neither (`rigid`).

use super::super::error::TraceError;
use super::super::row::Row;
use super::super::table::Table;
use super::reading::{Reading, stepped_job};
use heeler_model::{Batch, Demand, KindSet, Sizes};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What Pollux was measured on, and what Sia calls that kind of GPU.
const PLAIN: &str = "aws";

pub(super) fn read(reading: &mut Reading<'_>, table: Table) -> Result<(), TraceError> {
    let Some(folder) = reading.companion(reading.options.profiles.as_ref(), "profiles") else {
        let message = "has no run times, and there is no folder of profiles to tell them";
        return Err(TraceError::file(reading.path, message)
            .hint("give option `profiles`, or put a folder `profiles` above the trace"));
    };
    let kinds: Vec<String> = reading.cluster.kinds.iter().map(|kind| kind.name.clone()).collect();
    let mut known = BTreeMap::new();
    table.each(|row| {
        let application = row.text("application")?;
        let (gpus, batch) = (row.count("num_replicas")?, row.count("batch_size")?);
        if gpus == 0 || batch == 0 {
            return Err(row.broken("a job has at least one replica and one example in a batch"));
        }
        let (resizes, adapts) = category(row, reading.options.adaptive)?;
        let elastic = reading.options.elastic && !resizes && row.get("category").is_none();
        let key = (application.to_string(), gpus, batch);
        let profile = match known.get(&key) {
            Some(profile) => profile,
            None => {
                let profile = profile(&folder.join(application), gpus, batch, &kinds, row)?;
                known.entry(key).or_insert(profile)
            }
        };
        let (rates, rate) = match &profile.rates[..] {
            [(name, rate)] if name == PLAIN && !kinds.contains(name) => (Vec::new(), *rate),
            rates => {
                let rates: Vec<_> =
                    rates.iter().map(|(kind, rate)| (kind.as_str(), *rate)).collect();
                reading.rates(&rates, KindSet::ANY, &|message| row.wrong("application", message))?
            }
        };
        let submit = row.time("time", 1.0)?;
        let mut job = stepped_job(submit, profile.iterations, rate, Demand::gpus(gpus));
        job.name = row.get("name").map(Into::into);
        job.spec.model = reading.model(application)?;
        if resizes {
            job.spec.demand.sizes = Sizes::range(1, gpus, gpus);
        } else if elastic {
            // As many GPUs as leave each the smallest pass that was measured.
            let most = (batch / profile.least.max(1)).max(1);
            job.spec.demand.sizes = Sizes::range(1, gpus.min(most), most);
        }
        // All else of it the world knows that has measured it.
        let batch = Batch { asked: batch, adapts, ..Batch::default() };
        job.spec.extras_mut().batch = Some(batch);
        if !rates.is_empty() {
            job.spec.extras_mut().rates = rates;
        }
        reading.push(job);
        Ok(())
    })
}

/// Whether a job may be resized, and whether its batch adapts.
fn category(row: &Row<'_>, adaptive: bool) -> Result<(bool, bool), TraceError> {
    match row.get("category") {
        None => Ok((adaptive, adaptive)),
        Some("rigid") => Ok((false, false)),
        Some("scale-gpus") => Ok((true, false)),
        Some("adaptive") => Ok((true, true)),
        Some(other) => {
            let message = format!("expected rigid, scale-gpus or adaptive, found `{other}`");
            Err(row.wrong("category", message))
        }
    }
}

/// How much a job does, and how fast.
struct Profile {
    iterations: f64,
    /// Iterations per second by kind.
    rates: Vec<(String, f64)>,
    /// The fewest examples of a pass that were measured on one GPU.
    least: u32,
}

/// What was measured of an application, on those kinds of the cluster it was measured on; on none
/// of them, then on the plain kind.
fn profile(
    folder: &Path,
    gpus: u32,
    batch: u32,
    kinds: &[String],
    row: &Row<'_>,
) -> Result<Profile, TraceError> {
    let mut iterations = None;
    let trained = folder.join(format!("validation-{batch}.csv"));
    if !trained.exists() {
        let message = format!("has no profile of batch size {batch}: {}", trained.display());
        return Err(row.wrong("application", message));
    }
    Table::open(&trained, ',')?.each(|row| {
        iterations = Some(row.positive("iteration")?);
        Ok(())
    })?;
    let (mut rates, mut least) = (Vec::new(), u32::MAX);
    for kind in kinds {
        let files =
            ["placements", "scalability"].map(|name| folder.join(format!("{name}-{kind}.csv")));
        if files[0].exists() {
            let seconds = iteration_seconds(&files, gpus, batch)?;
            least = least.min(least_in_a_pass(&files[0])?);
            rates.push((kind.clone(), seconds.map_or(0.0, |seconds| 1.0 / seconds)));
        }
    }
    if rates.is_empty() {
        let suffix = if folder.join("placements.csv").exists() { "" } else { "-aws" };
        let files =
            ["placements", "scalability"].map(|name| folder.join(format!("{name}{suffix}.csv")));
        let seconds = iteration_seconds(&files, gpus, batch)?.ok_or_else(|| {
            row.wrong("num_replicas", format!("was not measured at {gpus} GPUs, batch {batch}"))
        })?;
        least = least.min(least_in_a_pass(&files[0])?);
        rates.push((PLAIN.to_string(), 1.0 / seconds));
    }
    Ok(Profile { iterations: iterations.unwrap_or(0.0), rates, least })
}

/// The fewest examples of a pass that were measured on one GPU.
fn least_in_a_pass(placements: &Path) -> Result<u32, TraceError> {
    let mut least = u32::MAX;
    Table::open(placements, ',')?.each(|row| {
        least = least.min(row.count("local_bsz")?);
        Ok(())
    })?;
    Ok(least)
}

/// A measurement: batch of one GPU, and seconds of a step and of its synchronisation.
type Measured = (f64, f64, f64);

/// Seconds of an iteration on so many GPUs, on as few nodes as possible; none if that placement
/// was not measured.
fn iteration_seconds(
    files: &[PathBuf; 2],
    gpus: u32,
    batch: u32,
) -> Result<Option<f64>, TraceError> {
    let mut placements: BTreeMap<String, Vec<Measured>> = BTreeMap::new();
    Table::open(&files[0], ',')?.each(|row| {
        let key = row.text("placement")?.to_string();
        placements.entry(key).or_default().push(measured(row)?);
        Ok(())
    })?;
    let digits = placements.keys().flat_map(|placement| placement.chars());
    let on_node = digits.filter_map(|digit| digit.to_digit(10)).max().unwrap_or(1).max(1);
    // The tables write GPUs per node as digits, the partly filled node first.
    let rest = gpus % on_node;
    let full = on_node.to_string().repeat((gpus / on_node) as usize);
    let placement = if rest == 0 { full } else { format!("{rest}{full}") };
    let mut rows = placements.remove(&placement).unwrap_or_default();
    if rows.is_empty() {
        Table::open(&files[1], ',')?.each(|row| {
            let (nodes, replicas) = (row.count("num_nodes")?, row.count("num_replicas")?);
            if replicas == gpus && nodes == gpus.div_ceil(on_node) {
                rows.push(measured(row)?);
            }
            Ok(())
        })?;
    }
    rows.sort_by(|a, b| a.0.total_cmp(&b.0));
    Ok(seconds_at(&rows, f64::from(batch) / f64::from(gpus)))
}

fn measured(row: &Row<'_>) -> Result<Measured, TraceError> {
    Ok((row.positive("local_bsz")?, row.positive("step_time")?, row.positive("sync_time")?))
}

/// Seconds of an iteration at a batch per GPU. A larger batch than was measured is done in equal
/// passes, of which only the last one synchronises; between measurements lie straight lines.
fn seconds_at(rows: &[Measured], batch: f64) -> Option<f64> {
    let (first, last) = (rows.first()?, rows.last()?);
    let passes = (batch / last.0).ceil().max(1.0);
    let batch = (batch / passes).max(first.0);
    let upper = rows.iter().position(|row| row.0 >= batch)?;
    let (low, high) = (rows[upper.saturating_sub(1)], rows[upper]);
    let part = if high.0 > low.0 { (batch - low.0) / (high.0 - low.0) } else { 1.0 };
    let step = low.1 + (high.1 - low.1) * part;
    let sync = low.2 + (high.2 - low.2) * part;
    Some((passes - 1.0) * (step - sync) + step)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{folder, wrong};
    use super::*;
    use crate::workload::{Options, read};
    use heeler_model::Cluster;

    const TRACE: &str = "name,time,application,num_replicas,batch_size\nnet-0,7,net,3,96\n";

    fn profiles(suffix: &str) -> PathBuf {
        let folder = folder();
        let net = folder.join("profiles/net");
        std::fs::create_dir_all(&net).expect("a folder");
        let write =
            |name: String, text: &str| std::fs::write(net.join(name), text).expect("a file");
        write("validation-96.csv".into(), "progress,iteration\n10,100\n20,200\n");
        write(
            format!("placements{suffix}.csv"),
            "placement,local_bsz,step_time,sync_time\n12,16,0.5,0.1\n12,24,1.0,0.2\n2,16,9,0\n",
        );
        write(
            format!("scalability{suffix}.csv"),
            "num_nodes,num_replicas,local_bsz,step_time,sync_time\n",
        );
        std::fs::write(folder.join("t.csv"), TRACE).expect("a trace");
        folder
    }

    #[test]
    fn run_times_come_from_profiles() {
        let folder = profiles("");
        let trace = read(&folder.join("t.csv"), &Options::default(), &mut Cluster::uniform(2, 2));
        let job = trace.expect("a trace").jobs()[0].clone();
        assert_eq!(job.work(), 200.0);
        // 32 examples on each GPU are two passes of 16: 0.4 s, and 0.5 s with synchronisation.
        assert_eq!(job.duration().secs_f64(), 180.0);
        assert_eq!(job.spec.rates(), [0.0; 0]);
        std::fs::remove_dir_all(folder).expect("a folder");
    }

    #[test]
    fn kinds_of_the_cluster_have_their_own_profiles() {
        let folder = profiles("-rtx");
        let mut cluster = crate::cluster::parse("1x2:t4+2x2:rtx").expect("a cluster");
        let trace = read(&folder.join("t.csv"), &Options::default(), &mut cluster);
        let job = trace.expect("a trace").jobs()[0].clone();
        assert_eq!(job.spec.rates(), [0.0, 1.0 / 0.9]);
        std::fs::remove_dir_all(folder).expect("a folder");
    }

    #[test]
    fn batches_between_measurements_lie_on_a_line() {
        let rows = [(10.0, 1.0, 0.2), (20.0, 2.0, 0.4)];
        assert_eq!(seconds_at(&rows, 15.0), Some(1.5));
        assert_eq!(seconds_at(&rows, 20.0), Some(2.0));
        assert_eq!(seconds_at(&rows, 4.0), Some(1.0), "no smaller batch was measured");
        assert_eq!(seconds_at(&rows, 40.0), Some(1.6 + 2.0));
        assert_eq!(seconds_at(&[], 4.0), None);
    }

    #[test]
    fn a_missing_folder_is_asked_for() {
        let (_, hint) = wrong(TRACE);
        assert_eq!(hint, "give option `profiles`, or put a folder `profiles` above the trace");
    }
}
