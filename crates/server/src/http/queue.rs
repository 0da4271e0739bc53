//! Lists of jobs, page by page.

use super::Web;
use super::guard::Caller;
use super::param::{Asked, selection};
use super::problem::{Answered, Refusal};
use axum::extract::State;
use axum::response::Response;
use heeler_api::{Code, JobState, JobView, Problem};
use heeler_live::{Filter, Which};
use serde::Deserialize;
use utoipa::IntoParams;

/// Which jobs to list.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(super) struct Wanted {
    /// Names of jobs: `17`, `17_3`, `1-10`, `last`, and several with commas.
    #[param(max_length = 1000)]
    ids: Option<String>,
    /// What they do: one or several states with commas, `active` for all that are not over.
    #[param(max_length = 200, pattern = r"^[a-z]+(,[a-z]+)*$")]
    state: Option<String>,
    /// Whose they are.
    #[param(max_length = 128)]
    user: Option<String>,
    /// Whose quota they use.
    #[param(max_length = 128)]
    tenant: Option<String>,
    /// Only jobs that come after this one in the list: the last of the page before.
    after: Option<u32>,
    /// At most so many.
    #[param(minimum = 1, maximum = 10000)]
    limit: Option<u32>,
}

impl Wanted {
    fn limit(&self, web: &Web) -> Result<usize, Problem> {
        let most = web.limits.page;
        let limit = self.limit.map_or(web.limits.usual_page, |limit| limit as usize);
        if limit == 0 || limit > most {
            let message = format!("a page has from 1 to {most} entries, not {limit}");
            return Err(Problem::new(Code::Invalid, message).at("limit"));
        }
        Ok(limit)
    }

    /// Whether no word is longer than the document says.
    fn is_short(&self) -> Result<(), Problem> {
        for (field, word, most) in [
            ("ids", &self.ids, 1_000),
            ("state", &self.state, 200),
            ("user", &self.user, 128),
            ("tenant", &self.tenant, 128),
        ] {
            if word.as_ref().is_some_and(|word| word.chars().count() > most) {
                let message = format!("it has more than {most} letters");
                return Err(Problem::new(Code::Invalid, message).at(field));
            }
        }
        Ok(())
    }

    fn states(&self) -> Result<Vec<JobState>, Problem> {
        let mut states = Vec::new();
        for word in self.state.iter().flat_map(|text| text.split(',')) {
            let word = word.trim();
            if word == "active" {
                states.extend(ACTIVE);
                continue;
            }
            let state = serde_json::from_value(word.into()).map_err(|_| {
                let message = format!("`{word}` is no state");
                let known = "pending, held, starting, running, stopping, suspended, completed, \
                             failed, cancelled, timeout, stopped or active";
                Problem::new(Code::Invalid, message).at("state").hint(format!("try {known}"))
            })?;
            states.push(state);
        }
        Ok(states)
    }
}

/// States of jobs that are not over.
const ACTIVE: [JobState; 6] = [
    JobState::Pending,
    JobState::Held,
    JobState::Starting,
    JobState::Running,
    JobState::Stopping,
    JobState::Suspended,
];

/// List jobs that the asker may know of, by number; those that are not over, unless states or
/// numbers are named.
#[utoipa::path(
    get, path = "/v1/jobs", tag = "jobs", params(Wanted),
    responses((status = 200, body = Vec<JobView>, description = "The jobs")),
)]
pub(super) async fn list_jobs(
    State(web): State<Web>,
    caller: Caller,
    Asked(wanted): Asked<Wanted>,
) -> Answered<Response> {
    listed(web, caller, wanted, Which::Unfinished).await
}

/// List jobs that are over, latest number first.
#[utoipa::path(
    get, path = "/v1/history", tag = "jobs", params(Wanted),
    responses((status = 200, body = Vec<JobView>, description = "The jobs")),
)]
pub(super) async fn history(
    State(web): State<Web>,
    caller: Caller,
    Asked(wanted): Asked<Wanted>,
) -> Answered<Response> {
    listed(web, caller, wanted, Which::Over).await
}

async fn listed(web: Web, caller: Caller, wanted: Wanted, usual: Which) -> Answered<Response> {
    wanted.is_short()?;
    let limit = wanted.limit(&web)?;
    let states = wanted.states().map_err(Refusal::of_sense)?;
    let over = states.iter().filter(|state| state.is_over()).count();
    let which = match states.len() {
        0 => usual,
        all if over == all => Which::Over,
        _ if over == 0 => Which::Unfinished,
        _ => Which::All,
    };
    let jobs = wanted.ids.as_deref().map(selection).transpose()?;
    web.read(caller, move |live, who| {
        if let Some(jobs) = &jobs {
            live.select(who, jobs)?;
        }
        let (user, tenant, after) = (wanted.user, wanted.tenant, wanted.after);
        let filter = Filter { which, jobs, states, user, tenant, after, limit: Some(limit) };
        Ok(live.jobs(who, &filter))
    })
    .await
}
