//! What people ask of the control plane, and what they are answered. Reading is not asking: that
//! changes nothing and is not journaled.

use heeler_api::{RecipeChange, Selection, Submission, Submitted, TenantChange, TokenRequest};
use serde::{Deserialize, Serialize};

/// Something done to jobs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Act {
    /// Take them back.
    Cancel,
    /// Take them back, and give them no time to end.
    Kill,
    /// Keep waiting ones from starting.
    Hold,
    /// Let held ones start.
    Release,
    /// Take running ones off their GPUs until they are resumed.
    Suspend,
    /// Let suspended ones go on.
    Resume,
    /// Stop running ones and start them from the beginning when it is their turn.
    Requeue,
    /// Send them a signal.
    Signal(i32),
    /// Give them another priority.
    Priority(i32),
    /// Give them another time limit, seconds.
    TimeLimit(Option<u64>),
}

/// Something asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ask {
    /// Hand in jobs: all or none.
    Submit(Vec<Submission>),
    /// Do something to jobs.
    Act {
        /// Which.
        jobs: Selection,
        /// What.
        act: Act,
    },
    /// Make or change a tenant.
    Tenant {
        /// Its name.
        name: String,
        /// How it should be.
        change: TenantChange,
    },
    /// Make a token, of whose secret only a hash is told.
    Token {
        /// For whom.
        request: TokenRequest,
        /// SHA-256 of the secret, in hexadecimal.
        hash: String,
    },
    /// Take a token back.
    Revoke {
        /// Its number.
        token: u32,
    },
    /// Put a recipe in charge.
    Recipe(RecipeChange),
    /// Let nothing new start on a node.
    Drain {
        /// Its name.
        node: String,
        /// Why.
        note: Option<String>,
    },
    /// Let jobs start there again.
    Undrain {
        /// Its name.
        node: String,
    },
    /// Declare a node lost, with all that runs there.
    Lose {
        /// Its name.
        node: String,
    },
}

/// What came of an ask.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Done {
    /// Jobs were handed in.
    Submitted(Vec<Submitted>),
    /// Something was done to jobs.
    Acted {
        /// Those it was done to.
        jobs: Vec<u32>,
        /// Why it was not done to others that were named, in sentences.
        notes: Vec<String>,
    },
    /// A token has this number.
    Token(u32),
    /// It was done.
    Changed,
}
