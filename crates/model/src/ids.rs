//! Every noun has an identifier of its own type, so that a node cannot be passed for a job.

use serde::{Deserialize, Serialize};
use std::fmt;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident($inner:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[derive(Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub $inner);

        impl $name {
            /// Its place in a table.
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

id!(
    /// A job, numbered in order of submission.
    JobId(u32)
);
id!(
    /// A node, numbered in the order of the cluster file.
    NodeId(u32)
);
id!(
    /// A rack or other group of nodes with a fast network of its own.
    RackId(u32)
);
id!(
    /// A kind of GPU, such as V100 or H200.
    KindId(u8)
);
id!(
    /// A tenant: who quotas, weights and shares belong to.
    TenantId(u16)
);
id!(
    /// Who handed a job in, within a tenant or not; zero is nobody that is known.
    UserId(u32)
);
id!(
    /// A served model: a group of jobs, its replicas, that answer requests together.
    ServiceId(u16)
);
id!(
    /// A trained model or job type, the key of the measured pace tables.
    ModelId(u16)
);
id!(
    /// A study: jobs that are trials of one question, of which only the best are worth finishing.
    StudyId(u16)
);
id!(
    /// Counts the assignments of one job. An action or event of an older one is stale.
    Generation(u32)
);

impl UserId {
    /// Whether nobody is known.
    pub const fn is_unknown(&self) -> bool {
        self.0 == 0
    }
}

impl Generation {
    /// The one after this.
    pub const fn next(self) -> Generation {
        Generation(self.0 + 1)
    }
}
