//! Questions: why, when, what if, what it cost, who did it.

use super::Web;
use super::account::at_least;
use super::body::{Given, told};
use super::guard::Caller;
use super::param::{At, one};
use super::problem::Answered;
use crate::ask_about::{self, Question};
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use heeler_api::{
    AuditView, Code, Eviction, Forecast, Problem, Role, Submission, Usage, WhatIf, WhatIfAnswer,
    Who, Why,
};
use heeler_live::Live;
use serde::Serialize;

/// What a question that takes long costs, beside a request that does not.
const DEAR: f64 = 20.0;

/// Look at the state briefly, then think about it for long, beside the loop.
async fn think<T: Serialize + Send + 'static>(
    web: Web,
    caller: Caller,
    prepare: impl FnOnce(&Live, &Who) -> Result<Question<T>, Problem> + Send + 'static,
) -> Answered<Response> {
    web.spend(&caller, DEAR)?;
    let waiting = tokio::time::timeout(web.limits.answer, web.heavy.acquire());
    let _turn = waiting.await.map_err(|_| {
        Problem::new(Code::Busy, "too many such questions are being answered").hint("ask again")
    })?;
    let board = web.handle.board().clone();
    let then = move |question: Question<T>| question(&board).map(|it| told(StatusCode::OK, &it));
    web.look(caller, prepare, then).await?.map_err(super::problem::Refusal::of_sense)
}

/// Why a job waits, and what would let it start now.
#[utoipa::path(
    get, path = "/v1/jobs/{job}/why", tag = "knowing",
    params(("job" = String, Path, description = "`17`, `17_3` or `last`", max_length = 1000)),
    responses((status = 200, body = Why, description = "Why")),
)]
pub(super) async fn why(
    State(web): State<Web>,
    caller: Caller,
    At(job): At<String>,
) -> Answered<Response> {
    think(web, caller, move |live, who| ask_about::why(live, who, one(live, who, &job)?)).await
}

/// When a job will most likely start.
#[utoipa::path(
    get, path = "/v1/jobs/{job}/when", tag = "knowing",
    params(("job" = String, Path, description = "`17`, `17_3` or `last`", max_length = 1000)),
    responses((status = 200, body = Forecast, description = "When")),
)]
pub(super) async fn when(
    State(web): State<Web>,
    caller: Caller,
    At(job): At<String>,
) -> Answered<Response> {
    think(web, caller, move |live, who| Ok(ask_about::when(live, one(live, who, &job)?))).await
}

/// When a job would start if it were handed in. Nothing is.
#[utoipa::path(
    post, path = "/v1/test-only", tag = "knowing", request_body = Submission,
    responses((status = 200, body = Forecast, description = "When")),
)]
pub(super) async fn test_only(
    State(web): State<Web>,
    caller: Caller,
    Given(job): Given<Submission>,
) -> Answered<Response> {
    let at = web.handle.now();
    think(web, caller, move |live, who| ask_about::test_only(live, who, job, at)).await
}

/// What would come if things were otherwise.
#[utoipa::path(
    post, path = "/v1/whatif", tag = "knowing", request_body = WhatIf,
    responses((status = 200, body = WhatIfAnswer, description = "What would come")),
)]
pub(super) async fn what_if(
    State(web): State<Web>,
    caller: Caller,
    Given(asked): Given<WhatIf>,
) -> Answered<Response> {
    let at = web.handle.now();
    think(web, caller, move |live, who| {
        // The answer names jobs of everybody.
        at_least(who, Role::Operator, "ask what if for the whole cluster")?;
        ask_about::what_if(live, who, asked, at)
    })
    .await
}

/// GPU time by tenant and user, of use and lost.
#[utoipa::path(
    get, path = "/v1/usage", tag = "knowing",
    responses((status = 200, body = Usage, description = "GPU time")),
)]
pub(super) async fn usage(State(web): State<Web>, caller: Caller) -> Answered<Response> {
    web.read(caller, |live, who| Ok(live.usage(who))).await
}

/// Which jobs were stopped for others, and what that cost.
#[utoipa::path(
    get, path = "/v1/evictions", tag = "knowing",
    responses((status = 200, body = Vec<Eviction>, description = "Evictions, latest last")),
)]
pub(super) async fn evictions(State(web): State<Web>, caller: Caller) -> Answered<Response> {
    web.read(caller, |live, who| Ok(live.evictions(who))).await
}

/// Who changed what.
#[utoipa::path(
    get, path = "/v1/audit", tag = "knowing",
    responses((status = 200, body = Vec<AuditView>, description = "Changes, latest last")),
)]
pub(super) async fn audit(State(web): State<Web>, caller: Caller) -> Answered<Response> {
    web.read(caller, |live, who| {
        at_least(who, Role::Operator, "read the audit trail")?;
        Ok(live.audit())
    })
    .await
}
