//! Helios' cluster energy saving on the nodes that Philly used: how many of those that are on are
//! in use, against its authors' program.

use heeler_parts::power::{Ces, Habits};
use heeler_reference::{Within, file, shows};
use heeler_sim::workload::Table;

/// The fortnight of the comparison, as dates in the table.
const FROM: &str = "2017-12-01";
const UNTIL: &str = "2017-12-15";

/// Time, nodes used and nodes there. The program takes the most of each ten minutes; of the samples
/// that are kept, those are the ones at its beginning and at its end.
fn sequence() -> Option<Vec<(String, u32, u32)>> {
    let path = file("philly/philly_node_sequence_10min.csv.gz")?;
    let mut rows: Vec<(String, u32, u32)> = Vec::new();
    let mut before = 0;
    let table = Table::open(&path, ',').expect("a table");
    table
        .each(|row| {
            let (used, all) = (row.number("active")? as u32, row.number("total")? as u32);
            rows.push((row.text("time")?.to_string(), used.max(before), all));
            before = used;
            Ok(())
        })
        .expect("a table of numbers");
    Some(rows)
}

#[test]
fn node_utilisation_is_within_a_point() {
    let Some(rows) = sequence() else { return };
    let earlier = rows.iter().filter(|row| row.0.as_str() < FROM).map(|row| row.1);
    let mut ces = Ces::after(earlier);
    let (mut of_all, mut of_on, mut off, mut changes) = (0.0, 0.0, 0.0, 0);
    let fortnight: Vec<_> =
        rows.iter().filter(|row| (FROM..UNTIL).contains(&row.0.as_str())).collect();
    let mut before = None;
    for (_, used, all) in &fortnight {
        let on = ces.look(*used, *all, &Habits::PHILLY);
        of_all += f64::from(*used) / f64::from(*all);
        of_on += f64::from(*used) / f64::from(on);
        off += f64::from(all - on);
        changes += usize::from(before.is_some_and(|before| before != on));
        before = Some(on);
    }
    let slots = fortnight.len() as f64;
    assert!((2010.0..2020.0).contains(&slots), "a fortnight of ten minutes: {slots}");
    let percent = |sum: f64| 100.0 * sum / slots;
    let (against, close) = ("philly_node_sequence", Within::By(1.0));
    shows("helios-ces", against, "nodes in use, of all, %", (percent(of_all), 68.98), close);
    shows("helios-ces", against, "nodes in use, of those on, %", (percent(of_on), 90.41), close);
    println!("{:.1} nodes off, {:.2} changes a day", off / slots, changes as f64 / 14.0);
}
