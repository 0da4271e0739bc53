//! Who may do what: roles, tenants and tokens.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What somebody may do. Each role may do what those before it may.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Look at what is their tenants'.
    #[default]
    Viewer,
    /// Hand in jobs and act on their own.
    User,
    /// Act on all jobs and on nodes, change the recipe.
    Operator,
    /// Change tenants, quotas and tokens.
    Admin,
}

impl Role {
    /// It as one word.
    pub const fn word(self) -> &'static str {
        match self {
            Role::Viewer => "viewer",
            Role::User => "user",
            Role::Operator => "operator",
            Role::Admin => "admin",
        }
    }
}

/// Who asks: found by the server from a socket's credentials or a token, never said by the client.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Who {
    /// The user's name.
    pub user: String,
    /// The user's number on this machine, if they are known here.
    pub uid: Option<u32>,
    /// The user's group on this machine.
    pub gid: Option<u32>,
    /// What they may do.
    pub role: Role,
    /// Tenants they belong to; all, if none is named and they are an operator or more. The first
    /// is whom their jobs belong to unless they say otherwise.
    pub tenants: Vec<String>,
}

/// A tenant.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub struct TenantView {
    /// Its name.
    pub name: String,
    /// The tenant it is part of.
    pub parent: Option<String>,
    /// Its part of what is shared out by weight.
    pub weight: u32,
    /// GPUs it can always get back.
    pub quota: Option<u32>,
    /// GPUs it can never go beyond.
    pub limit: Option<u32>,
    /// GPUs it uses now, thousandths.
    pub used_milli: u64,
    /// Its jobs that are not done.
    pub jobs: u32,
    /// Users who belong to it.
    pub users: Vec<String>,
}

/// How a tenant should be. It is made if there is none of the name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct TenantChange {
    /// The tenant it is part of; cannot be changed later.
    pub parent: Option<String>,
    /// Its part of what is shared out by weight.
    pub weight: Option<u32>,
    /// GPUs it can always get back; `null` takes the quota away, leaving it out keeps it.
    #[serde(deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub quota: Option<Option<u32>>,
    /// GPUs it can never go beyond; likewise.
    #[serde(deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub limit: Option<Option<u32>>,
    /// Users to add.
    pub add_users: Vec<String>,
    /// Users to take away.
    pub remove_users: Vec<String>,
}

/// A value that is there, even if it is null.
fn given<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<Option<u32>>, D::Error> {
    Option::<u32>::deserialize(from).map(Some)
}

/// A token to be made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct TokenRequest {
    /// Whose it is.
    pub user: String,
    /// What it lets them do.
    pub role: Role,
    /// Tenants it is good for.
    #[serde(default)]
    pub tenants: Vec<String>,
    /// Seconds until it ends; never, if not said.
    #[serde(default)]
    pub expires_s: Option<u64>,
}

/// A token that was made. Its secret is told this once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub struct TokenMade {
    /// Its number, to take it back by.
    pub id: u32,
    /// What to send as `Authorization: Bearer`.
    pub secret: String,
}

/// A token as it is listed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub struct TokenView {
    /// Its number.
    pub id: u32,
    /// Whose it is.
    pub user: String,
    /// What it lets them do.
    pub role: Role,
    /// Tenants it is good for.
    pub tenants: Vec<String>,
    /// When it ends, seconds since 1970.
    pub expires: Option<u64>,
}
