//! Which colour stands for whom: runs by their order, tenants by the GPU time they had. The colours
//! themselves, chosen so that the colour-blind can tell them apart, stand in the style sheet.

use super::run::Run;
use std::collections::BTreeMap;

/// So many colours can be told apart.
pub(super) const COLOURS: usize = 7;

/// The class of a run's lines: a colour, and a dash once the colours are used up.
pub(super) fn of_run(index: usize) -> String {
    match index / COLOURS {
        0 => format!("c{index}"),
        round => format!("c{} d{}", index % COLOURS, (round - 1) % 3 + 1),
    }
}

/// Colours of tenants; those with least GPU time share one.
#[derive(Clone, Debug, Default)]
pub(super) struct Tenants {
    ranked: Vec<String>,
}

impl Tenants {
    /// The tenants of all runs.
    pub(super) fn of(runs: &[Run]) -> Tenants {
        let mut hours: BTreeMap<&str, f64> = BTreeMap::new();
        for group in runs.iter().flat_map(|run| &run.summary.tenants) {
            *hours.entry(&group.name).or_default() += group.gpu_hours;
        }
        let mut ranked: Vec<(&str, f64)> = hours.into_iter().collect();
        ranked.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(b.0)));
        Tenants { ranked: ranked.into_iter().map(|(name, _)| name.to_string()).collect() }
    }

    /// Everybody, most GPU time first.
    pub(super) fn ranked(&self) -> &[String] {
        &self.ranked
    }

    /// The class of a tenant.
    pub(super) fn class(&self, name: &str) -> String {
        let coloured = &self.ranked[..self.ranked.len().min(COLOURS)];
        let rank = coloured.iter().position(|known| known == name);
        rank.map_or_else(|| "co".to_string(), |rank| format!("c{rank}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_run_looks_different() {
        let classes: std::collections::BTreeSet<String> = (0..4 * COLOURS).map(of_run).collect();
        assert_eq!(classes.len(), 4 * COLOURS);
        assert_eq!((of_run(2), of_run(9)), ("c2".to_string(), "c2 d1".to_string()));
    }
}
