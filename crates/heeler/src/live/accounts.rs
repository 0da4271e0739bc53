//! `heeler tenant`, `quota` and `token`: whose jobs these are, and who may do what.

use super::asking::Asking;
use super::words;
use crate::client::encode;
use crate::mistake::Mistake;
use crate::show::Table;
use anyhow::Result;
use clap::{Args, Subcommand};
use heeler_api::{Role, ServerView, TenantChange, TenantView, TokenMade, TokenRequest, TokenView};
use heeler_sim::suggest;
use serde_json::Value;

const TENANT_EXAMPLES: &str = "\
Examples:
  heeler tenant list
  heeler tenant set vision --quota 8 --weight 2 --add-user ada
  heeler tenant set robots --parent vision --limit 4
  heeler quota vision 12";

#[derive(Args)]
#[command(after_help = TENANT_EXAMPLES)]
pub(crate) struct Tenant {
    #[command(subcommand)]
    command: TenantCommand,
}

#[derive(Subcommand)]
enum TenantCommand {
    /// List tenants: quotas, what they use, who belongs to them
    List {
        #[command(flatten)]
        asking: Asking,
    },
    /// Make a tenant, or change one
    Set(SetTenant),
}

#[derive(Args)]
struct SetTenant {
    /// Its name
    name: String,
    /// The tenant it is part of; only for a new one
    #[arg(long, value_name = "TENANT")]
    parent: Option<String>,
    /// Its part of what is shared out by weight
    #[arg(long, value_name = "N")]
    weight: Option<u32>,
    /// GPUs it can always get back; `none` takes the quota away
    #[arg(long, value_name = "GPUS", value_parser = amount)]
    quota: Option<Amount>,
    /// GPUs it can never go beyond; `none` takes the limit away
    #[arg(long, value_name = "GPUS", value_parser = amount)]
    limit: Option<Amount>,
    /// Users to add
    #[arg(long = "add-user", value_name = "USER")]
    add_users: Vec<String>,
    /// Users to take away
    #[arg(long = "remove-user", value_name = "USER")]
    remove_users: Vec<String>,
    #[command(flatten)]
    asking: Asking,
}

/// GPUs, or none of that.
#[derive(Clone, Copy, Debug)]
struct Amount(Option<u32>);

fn amount(text: &str) -> Result<Amount, String> {
    match text.trim().to_ascii_lowercase().as_str() {
        "none" => Ok(Amount(None)),
        text => match text.parse() {
            Ok(gpus) => Ok(Amount(Some(gpus))),
            Err(_) => Err(format!("expected a number of GPUs or `none`, found `{text}`")),
        },
    }
}

impl Tenant {
    pub(crate) fn run(&self) -> Result<()> {
        match &self.command {
            TenantCommand::List { asking } => {
                let tenants: Vec<TenantView> = asking.client()?.get("/v1/tenants")?;
                asking.print("tenants", &tenants, |tenants| table(tenants))
            }
            TenantCommand::Set(set) => {
                let change = TenantChange {
                    parent: set.parent.clone(),
                    weight: set.weight,
                    quota: set.quota.map(|amount| amount.0),
                    limit: set.limit.map(|amount| amount.0),
                    add_users: set.add_users.clone(),
                    remove_users: set.remove_users.clone(),
                };
                put(&set.asking, &set.name, &change)
            }
        }
    }
}

fn put(asking: &Asking, name: &str, change: &TenantChange) -> Result<()> {
    let client = asking.client()?;
    let before: Vec<TenantView> = client.get("/v1/tenants")?;
    let _: Value = client.put(&format!("/v1/tenants/{}", encode(name)), change)?;
    let made = before.iter().all(|tenant| tenant.name != name);
    let close = suggest::closest(name, before.iter().map(|tenant| tenant.name.as_str()));
    if let (true, Some(close)) = (made, close) {
        eprintln!("note: there was no tenant {name}; did you mean {close}?");
    }
    let after: Vec<TenantView> = client.get("/v1/tenants")?;
    if let Some(tenant) = after.iter().find(|tenant| tenant.name == name) {
        let server: ServerView = client.get("/v1/server")?;
        for note in odd(tenant, server.gpus) {
            eprintln!("note: {note}");
        }
    }
    let done = if made { "made" } else { "changed" };
    asking.print("tenant", &name, |name| format!("{done} tenant {name}\n"))
}

/// What may not be meant of a tenant's amounts.
fn odd(tenant: &TenantView, gpus: u32) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(quota) = tenant.quota.filter(|quota| *quota > gpus) {
        notes.push(format!("a quota of {quota} cannot be kept by the {gpus} GPUs there are"));
    }
    if let (Some(quota), Some(limit)) = (tenant.quota, tenant.limit)
        && limit < quota
    {
        notes.push(format!("of its quota of {quota} GPUs its limit lets it use {limit} only"));
    }
    notes
}

fn table(tenants: &[TenantView]) -> String {
    let columns = ["tenant", "part of", "weight>", "quota>", "limit>", "in use>", "jobs>", "users"];
    let mut table = Table::prose(&columns);
    for tenant in tenants {
        let some = |gpus: Option<u32>| gpus.map_or("–".into(), |gpus| gpus.to_string());
        table.row([
            tenant.name.clone(),
            tenant.parent.clone().unwrap_or_default(),
            tenant.weight.to_string(),
            some(tenant.quota),
            some(tenant.limit),
            words::gpus(tenant.used_milli),
            tenant.jobs.to_string(),
            tenant.users.join(", "),
        ]);
    }
    table.text()
}

#[derive(Args)]
pub(crate) struct Quota {
    /// The tenant
    tenant: String,
    /// GPUs it can always get back; `none` takes the quota away
    #[arg(value_name = "GPUS", value_parser = amount)]
    gpus: Amount,
    #[command(flatten)]
    asking: Asking,
}

impl Quota {
    pub(crate) fn run(&self) -> Result<()> {
        let change = TenantChange { quota: Some(self.gpus.0), ..TenantChange::default() };
        put(&self.asking, &self.tenant, &change)
    }
}

const TOKEN_EXAMPLES: &str = "\
Examples:
  heeler token make ada --role user --tenant vision --expires 30days
  HEELER_SERVER=https://gpu1:7070 HEELER_TOKEN=… heeler queue
  heeler token revoke 3";

#[derive(Args)]
#[command(after_help = TOKEN_EXAMPLES)]
pub(crate) struct Token {
    #[command(subcommand)]
    command: TokenCommand,
}

#[derive(Subcommand)]
enum TokenCommand {
    /// Make a token; its secret is shown this once
    #[command(alias = "create")]
    Make(MakeToken),
    /// List tokens
    List {
        #[command(flatten)]
        asking: Asking,
    },
    /// Take a token back
    Revoke {
        /// Its number
        id: u32,
        #[command(flatten)]
        asking: Asking,
    },
}

#[derive(Args)]
struct MakeToken {
    /// Whose it is
    user: String,
    /// What it lets them do: viewer, user, operator or admin
    #[arg(long, value_name = "ROLE", default_value = "user", value_parser = role)]
    role: Role,
    /// Tenants it is good for; the first is whom their jobs belong to
    #[arg(long = "tenant", value_name = "TENANT")]
    tenants: Vec<String>,
    /// How long it is good for, such as 30days [default: without end]
    #[arg(long, value_name = "TIME", value_parser = heeler_api::read::time::ending)]
    expires: Option<u64>,
    #[command(flatten)]
    asking: Asking,
}

fn role(text: &str) -> Result<Role, String> {
    let value = Value::from(text.trim().to_ascii_lowercase());
    let wrong = |_| format!("expected viewer, user, operator or admin, found `{text}`");
    serde_json::from_value(value).map_err(wrong)
}

impl Token {
    pub(crate) fn run(&self) -> Result<()> {
        match &self.command {
            TokenCommand::Make(make) => make.run(),
            TokenCommand::List { asking } => {
                let tokens: Vec<TokenView> = asking.client()?.get("/v1/tokens")?;
                asking.print("tokens", &tokens, |tokens| listed(tokens))
            }
            TokenCommand::Revoke { id, asking } => {
                let _: Value = asking.client()?.delete(&format!("/v1/tokens/{id}"))?;
                asking.print("token", id, |id| format!("token {id} is good for nothing now\n"))
            }
        }
    }
}

impl MakeToken {
    fn run(&self) -> Result<()> {
        if self.user.is_empty() {
            return Err(Mistake::new("a token is somebody's").hint("name the user").into());
        }
        let request = TokenRequest {
            user: self.user.clone(),
            role: self.role,
            tenants: self.tenants.clone(),
            expires_s: self.expires,
        };
        let made: TokenMade = self.asking.client()?.post("/v1/tokens", &request)?;
        if !self.asking.json {
            eprintln!("token {} for {}; this is the only time it is shown:", made.id, self.user);
        }
        self.asking.print("token", &made, |made| format!("{}\n", made.secret))
    }
}

fn listed(tokens: &[TokenView]) -> String {
    let mut table = Table::prose(&["token>", "user", "role", "tenants", "good until"]);
    for token in tokens {
        let role = serde_json::to_value(token.role).ok();
        let role = role.and_then(|value| value.as_str().map(str::to_string));
        table.row([
            token.id.to_string(),
            token.user.clone(),
            role.unwrap_or_default(),
            token.tenants.join(", "),
            token.expires.map_or("–".into(), |at| words::moment(at as f64)),
        ]);
    }
    table.text()
}
