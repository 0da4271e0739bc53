//! Cards of recipes in which tenants have virtual clusters of cells, around any order.

use crate::card::Made;
use crate::policy::OrderCard;
use crate::predictors::Told;
use heeler_engine::Policy;
use heeler_parts::virtual_clusters::VirtualClusters;
use serde::{Deserialize, Serialize};
use toml::Value;

/// What a recipe is made of in which tenants have virtual clusters of cells.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct CellsCard {
    /// Who is asked first, in each virtual cluster and among jobs without a guarantee.
    pub order: OrderCard,
    /// What happens behind a job that does not fit.
    #[serde(default)]
    pub fit: CellsFit,
    /// Whether a job that gives way inside its virtual cluster goes on, without a guarantee, until
    /// somebody needs its very GPUs.
    #[serde(default)]
    pub lazy: bool,
}

/// What happens behind a job that does not fit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum CellsFit {
    /// It blocks those behind it in its virtual cluster, or among jobs without a guarantee.
    Strict,
    /// Others that fit may pass.
    #[default]
    Skip,
}

impl Made for CellsCard {
    fn build(&self) -> Box<dyn Policy> {
        let strict = self.fit == CellsFit::Strict;
        Box::new(VirtualClusters::new(self.order.build(), strict, self.lazy))
    }

    fn told(&self) -> Told {
        self.order.told()
    }

    fn words(&self) -> Option<Value> {
        Value::try_from(self).ok()
    }
}
