//! Tenants and tokens.

use super::Web;
use super::body::{Given, told};
use super::guard::{Caller, hash};
use super::job::unexpected;
use super::node::{DoneSo, done};
use super::param::At;
use super::problem::{Answered, Refusal, internal};
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use heeler_api::{
    Code, Problem, Role, TenantChange, TenantView, TokenMade, TokenRequest, TokenView, Who,
};
use heeler_live::{Ask, Done};

/// List tenants that the asker may know of.
#[utoipa::path(
    get, path = "/v1/tenants", tag = "accounts",
    responses((status = 200, body = Vec<TenantView>, description = "The tenants")),
)]
pub(super) async fn tenants(State(web): State<Web>, caller: Caller) -> Answered<Response> {
    web.read(caller, |live, who| Ok(live.tenants(who))).await
}

/// Make or change a tenant.
#[utoipa::path(
    put, path = "/v1/tenants/{tenant}", tag = "accounts", request_body = TenantChange,
    params(("tenant" = String, Path, description = "Its name", max_length = 128)),
    responses((status = 200, body = DoneSo, description = "It is so")),
)]
pub(super) async fn change_tenant(
    State(web): State<Web>,
    caller: Caller,
    At(name): At<String>,
    Given(change): Given<TenantChange>,
) -> Answered<Response> {
    web.ask(&caller, Ask::Tenant { name, change }).await?;
    Ok(done())
}

/// List tokens, without their secrets.
#[utoipa::path(
    get, path = "/v1/tokens", tag = "accounts",
    responses((status = 200, body = Vec<TokenView>, description = "The tokens")),
)]
pub(super) async fn tokens(State(web): State<Web>, caller: Caller) -> Answered<Response> {
    web.read(caller, |live, who| {
        at_least(who, Role::Admin, "see tokens")?;
        Ok(live.tokens())
    })
    .await
}

/// Make a token. Its secret is told this once; only a hash of it is kept.
#[utoipa::path(
    post, path = "/v1/tokens", tag = "accounts", request_body = TokenRequest,
    responses((status = 201, body = TokenMade, description = "It is made")),
)]
pub(super) async fn make_token(
    State(web): State<Web>,
    caller: Caller,
    Given(request): Given<TokenRequest>,
) -> Answered<Response> {
    let secret = secret()?;
    let ask = Ask::Token { request, hash: hash(&secret) };
    match web.ask(&caller, ask).await? {
        Done::Token(id) => Ok(told(StatusCode::CREATED, &TokenMade { id, secret })),
        other => Err(unexpected(&other)),
    }
}

/// A secret of 256 random bits.
fn secret() -> Result<String, Refusal> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|error| internal(format!("no randomness: {error}")))?;
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(format!("heeler-{hex}"))
}

/// Take a token back.
#[utoipa::path(
    delete, path = "/v1/tokens/{id}", tag = "accounts",
    params(("id" = u32, Path, description = "Its number")),
    responses((status = 200, body = DoneSo, description = "It is worth nothing any more")),
)]
pub(super) async fn revoke(
    State(web): State<Web>,
    caller: Caller,
    At(token): At<u32>,
) -> Answered<Response> {
    web.ask(&caller, Ask::Revoke { token }).await?;
    Ok(done())
}

/// Refuse those who may not.
pub(super) fn at_least(who: &Who, role: Role, what: &str) -> Result<(), Problem> {
    if who.role >= role {
        return Ok(());
    }
    let role = serde_json::to_value(role).ok();
    let role = role.as_ref().and_then(serde_json::Value::as_str).unwrap_or("admin").to_owned();
    let message = format!("{} may not {what}: that takes the role {role}", who.user);
    Err(Problem::new(Code::Forbidden, message))
}
