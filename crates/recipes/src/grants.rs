//! Cards of recipes that grant GPUs for a lease to whoever a rule puts next.

use crate::card::Made;
use crate::predictors::{PredictCard, Told};
use crate::quantity::{Lease, up_to_one};
use heeler_engine::Policy;
use heeler_parts::grants::{
    Among, Auctioneer, Behind, Draw, Filling, Grants, LongTerm, Lottery, Resources, Rotation, Rule,
    Tickets,
};
use serde::{Deserialize, Serialize};
use toml::Value;

/// What a recipe is made of that grants GPUs for a lease.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct GrantsCard {
    /// Who is next.
    pub rule: RuleCard,
    /// For how long.
    pub lease: Lease,
    /// What happens behind a job for which there is no room.
    #[serde(default)]
    pub behind: Behind,
}

/// Rules.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum RuleCard {
    /// Whoever has least now.
    Least {
        /// Among whom.
        #[serde(default)]
        among: Among,
        /// Of what.
        #[serde(default)]
        of: Resources,
    },
    /// Whose turn was longest ago.
    Rotation {
        /// Among whom.
        #[serde(default)]
        among: Among,
    },
    /// Whose ticket is drawn.
    Lottery {
        /// Among whom.
        #[serde(default)]
        among: Among,
    },
    /// Whose GPU time so far is the smallest part of what it was entitled to.
    LongTerm,
    /// Those who will end latest, compared with a part of the cluster for themselves, bid.
    Auction {
        /// Who bids: an app is a tenant, a study or a job.
        #[serde(default)]
        apps: Among,
        /// All but this part of the apps, the worst off, take part.
        #[serde(deserialize_with = "up_to_one")]
        fairness: f64,
        /// Who says how long jobs run.
        predict: PredictCard,
    },
    /// Who has had least of its share of a kind of GPU.
    Tickets {
        /// How the next is found.
        #[serde(default)]
        draw: Draw,
        /// Whether tenants trade fast GPUs for slow ones.
        #[serde(default)]
        trading: bool,
    },
}

impl Made for GrantsCard {
    fn told(&self) -> Told {
        match &self.rule {
            RuleCard::Auction { predict, .. } => predict.told(),
            RuleCard::Least { .. }
            | RuleCard::Rotation { .. }
            | RuleCard::Lottery { .. }
            | RuleCard::LongTerm
            | RuleCard::Tickets { .. } => Told::NOTHING,
        }
    }

    fn build(&self) -> Box<dyn Policy> {
        let rule: Box<dyn Rule> = match self.rule {
            RuleCard::Least { among, of } => Box::new(Filling { among, resources: of }),
            RuleCard::Auction { apps, fairness, ref predict } => {
                Box::new(Auctioneer::new(apps, fairness, predict.build()))
            }
            RuleCard::Rotation { among } => Box::new(Rotation::new(among)),
            RuleCard::Lottery { among } => Box::new(Lottery { among }),
            RuleCard::LongTerm => Box::new(LongTerm::default()),
            RuleCard::Tickets { draw, trading } => Box::new(Tickets::new(draw, trading)),
        };
        Box::new(Grants::new(rule, self.lease.0, self.behind))
    }

    fn words(&self) -> Option<Value> {
        Value::try_from(self).ok()
    }
}
