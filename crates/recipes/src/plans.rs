//! Cards of recipes that reckon ahead what jobs are worth and when they would end.

use crate::predictors::PredictCard;
use crate::quantity::{Length, amount, one_or_more, part, period, positive};
use heeler_model::Span;
use heeler_parts::plans::{
    Ahead, Andreas, CloudPrice, Gadget, Genie, Reckoning, Smd, Spin, Urgent, Utility,
};
use serde::{Deserialize, Serialize};

/// What a job is worth, by how long it takes.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum UtilityCard {
    /// Falls around a target.
    Sigmoid {
        /// How steeply.
        #[serde(deserialize_with = "amount")]
        steepness: f64,
        /// The target, in lengths of the job.
        #[serde(deserialize_with = "positive")]
        target: f64,
    },
    /// All of it until a time limit.
    Weight {
        /// The limit, in lengths of the job.
        #[serde(deserialize_with = "positive")]
        target: f64,
    },
}

impl UtilityCard {
    fn build(self) -> Utility {
        match self {
            UtilityCard::Sigmoid { steepness, target } => Utility::Sigmoid { steepness, target },
            UtilityCard::Weight { target } => Utility::Weight { target },
        }
    }
}

/// Planned and reserved when a job comes, at prices.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct AheadCard {
    /// What jobs are worth.
    pub utility: UtilityCard,
    /// The price of what nobody has reserved, as a part of the least that a job was worth.
    #[serde(deserialize_with = "part")]
    pub floor: f64,
    /// By how much estimates are raised.
    #[serde(deserialize_with = "amount")]
    pub margin: f64,
    /// How far ahead plans are made.
    #[serde(deserialize_with = "period")]
    pub horizon: Length,
    /// Who says how long jobs are.
    pub predict: PredictCard,
}

impl AheadCard {
    pub(crate) fn build(&self) -> Ahead {
        let (rates, predict) = ((self.floor, self.margin), self.predict.build());
        Ahead::new(self.utility.build(), rates, self.horizon.0, predict)
    }
}

/// Makes a card of a margin, what starting costs, a predictor and perhaps more.
macro_rules! reckoning_card {
    ($(#[$doc:meta])* $name:ident { $($(#[$more:meta])* $field:ident: $type:ty),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Deserialize, Serialize)]
        #[serde(rename_all = "kebab-case", deny_unknown_fields)]
        pub struct $name {
            $($(#[$more])* pub $field: $type,)*
            /// By how much estimates are raised.
            #[serde(deserialize_with = "amount")]
            pub margin: f64,
            /// What starting again costs a job that does not say.
            pub restart: Length,
            /// Who says how long jobs are.
            pub predict: PredictCard,
        }

        impl $name {
            fn reckoning(&self) -> Reckoning {
                let (margin, restart) = (self.margin, self.restart.0);
                Reckoning { margin, restart, predict: self.predict.build() }
            }
        }
    };
}

reckoning_card! {
    /// The cheapest shape that keeps each deadline, the most urgent first.
    GenieCard {
        /// Who is first.
        first: UrgentCard,
    }
}

/// Who is first among those who may still end in time.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum UrgentCard {
    /// Who may wait the shortest.
    ShortestAllowance,
    /// Who has the earliest deadline.
    EarliestDeadline,
}

reckoning_card! {
    /// The best sum of utilities.
    SmdCard {
        /// What jobs are worth.
        utility: UtilityCard,
    }
}

reckoning_card! {
    /// Drawn by a linear programme over intervals.
    SpinCard {
        /// How many waiting jobs are thought of at once.
        #[serde(deserialize_with = "one_or_more")]
        window: u32,
    }
}

reckoning_card! {
    /// One step at a time to whom it is worth most.
    GadgetCard {
        /// How bent utility is.
        #[serde(deserialize_with = "amount")]
        bend: f64,
    }
}

reckoning_card! {
    /// The cheapest kinds at present prices.
    CloudPriceCard {
        /// What a waiting job takes rather than wait, in times of the cheapest it could have.
        #[serde(deserialize_with = "positive")]
        patience: f64,
        /// By what part moving must make a job cheaper.
        #[serde(deserialize_with = "amount")]
        saving: f64,
    }
}

reckoning_card! {
    /// Energy and being late, together as cheap as can be.
    AndreasCard {
        /// What a kilowatt hour costs.
        #[serde(deserialize_with = "positive")]
        energy: f64,
        /// What an hour that a job is late costs, for each GPU it asked for.
        #[serde(deserialize_with = "positive")]
        late: f64,
        /// How often it is tried with a disturbed order.
        tries: u32,
    }
}

impl AndreasCard {
    pub(crate) fn build(&self, round: Span) -> Andreas {
        let (energy, late, tries) = (self.energy, self.late, self.tries.min(10_000));
        Andreas { energy, late, tries, round, reckoning: self.reckoning() }
    }
}

impl CloudPriceCard {
    pub(crate) fn build(&self) -> CloudPrice {
        let (patience, saving) = (self.patience.max(1.0), self.saving);
        CloudPrice { patience, saving, reckoning: self.reckoning() }
    }
}

impl GenieCard {
    pub(crate) fn build(&self) -> Genie {
        let first = match self.first {
            UrgentCard::ShortestAllowance => Urgent::ShortestAllowance,
            UrgentCard::EarliestDeadline => Urgent::EarliestDeadline,
        };
        Genie { first, reckoning: self.reckoning() }
    }
}

impl SmdCard {
    pub(crate) fn build(&self) -> Smd {
        Smd { utility: self.utility.build(), reckoning: self.reckoning() }
    }
}

impl SpinCard {
    pub(crate) fn build(&self) -> Spin {
        Spin { reckoning: self.reckoning(), window: self.window }
    }
}

impl GadgetCard {
    pub(crate) fn build(&self, slot: Span) -> Gadget {
        Gadget { bend: self.bend, reckoning: self.reckoning(), slot }
    }
}
