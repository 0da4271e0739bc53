//! Lucid's table of measured pairs (Hu et al., ASPLOS 2023): `model1, dataset1, batchsize1, amp1,
//! speed1`, the same with 2, and others. It does not say on which kind of GPU, so it holds for all.

use super::{Mechanism, PairTable};
use crate::workload::{Header, Names, Row, Table, TraceError};
use heeler_model::{Cluster, KindId, ModelId};
use std::path::Path;

const COLUMNS: [&str; 6] = ["model1", "dataset1", "batchsize1", "amp1", "speed1", "model2"];

/// Whether a table is one of these.
pub(super) fn is(header: &Header) -> bool {
    header.has(&COLUMNS)
}

/// What its models are called in traces.
fn model(row: &Row, side: u8) -> Result<String, TraceError> {
    let part = |name: &str| row.text(&format!("{name}{side}"));
    let name = format!("{}/{}/{}", part("model")?, part("dataset")?, part("batchsize")?);
    Ok(if part("amp")? == "1" { format!("{name}/amp") } else { name })
}

pub(super) fn read(
    path: &Path,
    file: Table,
    models: &Names,
    cluster: &Cluster,
) -> Result<PairTable, TraceError> {
    let mut table = PairTable::default();
    file.each(|row| {
        let number = |side| -> Result<Option<ModelId>, TraceError> {
            Ok(models.find(&model(row, side)?).map(|index| ModelId(index as u16)))
        };
        let (Some(one), Some(other)) = (number(1)?, number(2)?) else { return Ok(()) };
        for kind in 0..cluster.kinds.len() as u8 {
            for mechanism in [Mechanism::TimeSlice, Mechanism::Mps] {
                let kind = KindId(kind);
                table.insert(kind, mechanism, other, one, row.positive("speed2")?);
                table.insert(kind, mechanism, one, other, row.positive("speed1")?);
            }
        }
        Ok(())
    })?;
    table.of_use(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::{Sharer, Sharing};
    use heeler_model::Milli;
    use std::sync::Arc;

    #[test]
    fn both_sides_are_entered_for_every_kind() {
        let text = "model1,dataset1,gpu_num1,batchsize1,amp1,speed1,model2,dataset2,gpu_num2,\
                    batchsize2,amp2,speed2\nVGG,CIFAR,1,64,0,0.9,LSTM,Wiki,1,32,1,0.7\n";
        let name = format!("heeler-lucid-pairs-{}.csv", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, text).expect("a file");
        let mut models = Names::default();
        for name in ["VGG/CIFAR/64", "LSTM/Wiki/32/amp"] {
            models.number(name);
        }
        let cluster = crate::cluster::parse("v100=1,k80=1").expect("a cluster");
        let table = PairTable::read(&path, &models, &cluster, &|_, _, _| None).expect("a table");
        std::fs::remove_file(path).expect("a file");
        let sharing = Sharing { table: Some(Arc::new(table)), ..Sharing::default() };
        let sharer = |model| Sharer {
            model: ModelId(model),
            share: Milli(500),
            asked: Milli(1000),
            gpus: 1,
        };
        let beside = |other| std::iter::once(sharer(other));
        let pace = |job, other| sharing.pace(sharer(job), KindId(1), beside(other));
        assert_eq!((pace(0, 1), pace(1, 0)), (0.9, 0.7));
    }
}
