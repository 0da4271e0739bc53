//! Who may be considered. A tenant's hard limit needs no gate: it holds under every recipe.

mod all_of;
mod asha;
mod quota;
mod replicas;

pub use all_of::AllOf;
pub use asha::{Asha, Variant};
pub use quota::WithinQuota;
pub use replicas::Replicas;
