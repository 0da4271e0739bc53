//! Jobs: handing in, showing, acting on.

use super::Web;
use super::body::{Given, told};
use super::guard::Caller;
use super::param::{At, one, selection};
use super::problem::{Answered, Refusal, internal};
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use heeler_api::{Code, JobView, Problem, Submission, Submitted};
use heeler_live::{Act, Ask, Done};
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use utoipa::openapi::schema::{ArrayBuilder, ObjectBuilder, OneOfBuilder, SchemaType, Type};
use utoipa::openapi::{Ref, RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

/// One job, or several that are taken up together or not at all.
pub(super) enum Handed {
    /// One.
    One(Box<Submission>),
    /// Several.
    Many(Vec<Submission>),
}

impl PartialSchema for Handed {
    fn schema() -> RefOr<Schema> {
        let one = Ref::from_schema_name(Submission::name());
        let many = ArrayBuilder::new().items(one.clone()).min_items(Some(1)).max_items(Some(1000));
        OneOfBuilder::new().item(one).item(many).into()
    }
}

impl ToSchema for Handed {
    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        schemas.push((Submission::name().into_owned(), Submission::schema()));
        Submission::schemas(schemas);
    }
}

impl<'de> Deserialize<'de> for Handed {
    // By hand, so that mistakes name the field and not only the whole.
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Handed, D::Error> {
        struct Reads;
        impl<'de> Visitor<'de> for Reads {
            type Value = Handed;

            fn expecting(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                to.write_str("a job or a list of jobs")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Handed, A::Error> {
                let one = Submission::deserialize(MapAccessDeserializer::new(map))?;
                Ok(Handed::One(Box::new(one)))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Handed, A::Error> {
                Vec::deserialize(SeqAccessDeserializer::new(seq)).map(Handed::Many)
            }
        }
        from.deserialize_any(Reads)
    }
}

/// Hand in jobs.
///
/// The answer comes when they are safe on disk. Several are taken up together or not at all.
#[utoipa::path(
    post, path = "/v1/jobs", tag = "jobs", request_body = Handed,
    responses((status = 201, body = Vec<Submitted>, description = "They are safe on disk")),
)]
pub(super) async fn submit(
    State(web): State<Web>,
    caller: Caller,
    Given(jobs): Given<Handed>,
) -> Answered<Response> {
    let jobs = match jobs {
        Handed::One(job) => vec![*job],
        Handed::Many(jobs) => jobs,
    };
    let most = web.limits.batch_jobs;
    if jobs.is_empty() {
        return Err(Problem::new(Code::Invalid, "there is no job in it").into());
    }
    if jobs.len() > most {
        let message = format!("{} jobs are more than {most} at once", jobs.len());
        return Err(Problem::new(Code::TooLarge, message).hint("hand them in in parts").into());
    }
    match web.ask(&caller, Ask::Submit(jobs)).await? {
        Done::Submitted(jobs) => Ok(told(StatusCode::CREATED, &jobs)),
        other => Err(unexpected(&other)),
    }
}

/// Show one job.
#[utoipa::path(
    get, path = "/v1/jobs/{job}", tag = "jobs",
    params(("job" = String, Path, description = "`17`, `17_3` or `last`", max_length = 1000)),
    responses((status = 200, body = JobView, description = "The job")),
)]
pub(super) async fn show(
    State(web): State<Web>,
    caller: Caller,
    At(job): At<String>,
) -> Answered<Response> {
    web.read(caller, move |live, who| live.job(who, one(live, who, &job)?)).await
}

/// Something that is done to jobs.
#[derive(Clone, Copy, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Deed {
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
}

/// Jobs that something was done to.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Acted {
    /// Their numbers.
    jobs: Vec<u32>,
    /// Why it was not done to others that were named.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
}

/// Do something to jobs.
#[utoipa::path(
    post, path = "/v1/jobs/{job}/{deed}", tag = "jobs",
    params(
        ("job" = String, Path, description = "`17`, `17_[1-4]`, `1-10`, `last`", max_length = 1000),
        ("deed" = inline(Deed), Path, description = "What"),
    ),
    responses((status = 200, body = Acted, description = "It is done")),
)]
pub(super) async fn act(
    State(web): State<Web>,
    caller: Caller,
    At((job, deed)): At<(String, Deed)>,
) -> Answered<Response> {
    let act = match deed {
        Deed::Cancel => Act::Cancel,
        Deed::Kill => Act::Kill,
        Deed::Hold => Act::Hold,
        Deed::Release => Act::Release,
        Deed::Suspend => Act::Suspend,
        Deed::Resume => Act::Resume,
        Deed::Requeue => Act::Requeue,
    };
    acted(web, caller, &job, act).await
}

async fn acted(web: Web, caller: Caller, job: &str, act: Act) -> Answered<Response> {
    let jobs = selection(job)?;
    match web.ask(&caller, Ask::Act { jobs, act }).await? {
        Done::Acted { jobs, notes } => Ok(told(StatusCode::OK, &Acted { jobs, notes })),
        other => Err(unexpected(&other)),
    }
}

/// A signal by number or by name.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum SignalName {
    Number(i32),
    Name(String),
}

fn signal_schema() -> Schema {
    let whole = SchemaType::Type(Type::Integer);
    let number = ObjectBuilder::new().schema_type(whole).minimum(Some(1)).maximum(Some(64));
    let text = SchemaType::Type(Type::String);
    let name = ObjectBuilder::new().schema_type(text).pattern(Some("^(SIG)?[A-Z]{2,8}[12]?$"));
    OneOfBuilder::new().item(number).item(name).build().into()
}

/// Something with a value.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct OfSignal {
    /// Its number, or its name with or without `SIG`.
    #[schema(schema_with = signal_schema)]
    value: SignalName,
}

/// Send running jobs a signal.
#[utoipa::path(
    post, path = "/v1/jobs/{job}/signal", tag = "jobs", request_body = OfSignal,
    params(("job" = String, Path, description = "Which", max_length = 1000)),
    responses((status = 200, body = Acted, description = "It is on its way")),
)]
pub(super) async fn signal(
    State(web): State<Web>,
    caller: Caller,
    At(job): At<String>,
    Given(body): Given<OfSignal>,
) -> Answered<Response> {
    let signal = number_of(&body.value).map_err(Refusal::of_sense)?;
    acted(web, caller, &job, Act::Signal(signal)).await
}

fn number_of(signal: &SignalName) -> Result<i32, Problem> {
    let known = match signal {
        SignalName::Number(number) => (1..=64).contains(number).then_some(*number),
        SignalName::Name(name) => heeler_live::signal_number(name),
    };
    known.ok_or_else(|| {
        Problem::new(Code::Invalid, format!("{signal:?} is no signal")).at("value").hint("try TERM")
    })
}

/// A priority.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct OfPriority {
    /// Larger runs first where a recipe looks at it.
    value: i32,
}

/// Give jobs another priority.
#[utoipa::path(
    post, path = "/v1/jobs/{job}/priority", tag = "jobs", request_body = OfPriority,
    params(("job" = String, Path, description = "Which", max_length = 1000)),
    responses((status = 200, body = Acted, description = "It is done")),
)]
pub(super) async fn priority(
    State(web): State<Web>,
    caller: Caller,
    At(job): At<String>,
    Given(body): Given<OfPriority>,
) -> Answered<Response> {
    acted(web, caller, &job, Act::Priority(body.value)).await
}

/// A time limit.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct OfTimeLimit {
    /// Seconds; `null` for none.
    value: Option<u64>,
}

/// Give jobs another time limit.
#[utoipa::path(
    post, path = "/v1/jobs/{job}/time-limit", tag = "jobs", request_body = OfTimeLimit,
    params(("job" = String, Path, description = "Which", max_length = 1000)),
    responses((status = 200, body = Acted, description = "It is done")),
)]
pub(super) async fn time_limit(
    State(web): State<Web>,
    caller: Caller,
    At(job): At<String>,
    Given(body): Given<OfTimeLimit>,
) -> Answered<Response> {
    acted(web, caller, &job, Act::TimeLimit(body.value)).await
}

/// The state machine answered something that was not asked.
pub(super) fn unexpected(done: &Done) -> Refusal {
    tracing::error!(?done, "an answer to another question");
    internal("the server gave an answer to another question; its log says more").into()
}
