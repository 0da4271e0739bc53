//! Who may be considered. A tenant's hard limit needs no gate: it holds under every recipe.

mod quota;

pub use quota::WithinQuota;
