//! The OpenAPI document: made from the handlers, with what is true of all of them added here.

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use heeler_api::Problem;
use serde_json::{Value, json};
use utoipa::openapi::path::{Operation, PathItem};
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityRequirement, SecurityScheme};
use utoipa::openapi::{ContentBuilder, OpenApi, Ref, RefOr, ResponseBuilder};
use utoipa::{OpenApi as _, PartialSchema, ToSchema};

/// What can be refused anywhere, and why.
const ANYWHERE: [(&str, &str); 14] = [
    ("400", "The request is not of the form that is described here"),
    ("401", "Nobody is known by this token"),
    ("403", "They may not"),
    ("404", "There is no such thing, or none that they may know of"),
    ("405", "That cannot be done to this path"),
    ("408", "It took too long"),
    ("409", "It is not in a state for that"),
    ("413", "It is too large"),
    ("415", "The body is not JSON"),
    ("422", "The form is right, but it makes no sense here"),
    ("429", "Too many requests"),
    ("500", "The server is at fault"),
    ("503", "The server is starting or stopping"),
    ("507", "The journal cannot be written; nothing was changed"),
];

#[derive(utoipa::OpenApi)]
#[openapi(
    info(
        title = "Heeler",
        description = "A scheduler for deep-learning jobs. Over the Unix socket, who asks is known \
                       by the socket's credentials; over TCP, by a token.",
    ),
    components(schemas(heeler_api::JobEvent)),
    tags(
        (name = "jobs", description = "Handing in jobs, looking at them, acting on them"),
        (name = "knowing", description = "Why, when, what if, and what it cost"),
        (name = "cluster", description = "Nodes, the recipe in charge, the server"),
        (name = "accounts", description = "Tenants and tokens"),
        (name = "health", description = "For those who watch the server"),
    )
)]
struct Document;

/// What the document begins with.
pub(super) fn start() -> OpenApi {
    Document::openapi()
}

/// Add what is true everywhere.
pub(super) fn finish(document: &mut OpenApi) {
    let components = document.components.get_or_insert_default();
    let mut schemas = vec![(Problem::name().into_owned(), Problem::schema())];
    Problem::schemas(&mut schemas);
    components.schemas.extend(schemas);
    let token = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).bearer_format("opaque");
    let token = token.description(Some("A token, as made by an admin"));
    components.add_security_scheme("token", SecurityScheme::Http(token.build()));
    for (path, item) in &mut document.paths.paths {
        let open = matches!(path.as_str(), "/healthz" | "/readyz");
        for operation in operations(item) {
            refusals(operation);
            let needed = SecurityRequirement::new::<_, [String; 0], String>("token", []);
            operation.security = (!open).then(|| vec![needed]);
        }
    }
}

fn operations(item: &mut PathItem) -> impl Iterator<Item = &mut Operation> {
    let PathItem { get, put, post, delete, .. } = item;
    [get, put, post, delete].into_iter().filter_map(Option::as_mut)
}

fn refusals(operation: &mut Operation) {
    let problem = RefOr::Ref(Ref::from_schema_name(Problem::name()));
    for (status, why) in ANYWHERE {
        let content = ContentBuilder::new().schema(Some(problem.clone())).build();
        let response = ResponseBuilder::new().description(why).content("application/json", content);
        let responses = &mut operation.responses.responses;
        responses.entry(status.into()).or_insert_with(|| RefOr::T(response.build()));
    }
}

/// The document as JSON. Unsigned numbers are said to go as far as they do, which the formats that
/// OpenAPI knows cannot say; lists of fixed length are written so that tools for older versions of
/// JSON Schema understand them, too.
pub(super) fn as_json(document: &OpenApi) -> Value {
    let mut value = serde_json::to_value(document).unwrap_or_default();
    mend(&mut value);
    value
}

fn mend(value: &mut Value) {
    match value {
        Value::Object(map) => {
            let most = match map.get("format").and_then(Value::as_str) {
                Some("int32") => Some(u64::from(u32::MAX)),
                Some("int64") => Some(u64::MAX),
                _ => None,
            };
            let unsigned = map.get("minimum").and_then(Value::as_f64).is_some_and(|it| it >= 0.0);
            if let Some(most) = most.filter(|_| unsigned) {
                map.remove("format");
                map.entry("maximum").or_insert(most.into());
            }
            if let Some(Value::Array(parts)) = map.remove("prefixItems") {
                let length = parts.len();
                map.insert("minItems".into(), length.into());
                map.insert("maxItems".into(), length.into());
                map.insert("items".into(), json!({ "anyOf": parts }));
            }
            map.values_mut().for_each(mend);
        }
        Value::Array(list) => list.iter_mut().for_each(mend),
        _ => {}
    }
}

/// The document as it is served.
pub(super) fn served(text: &str) -> Response {
    let json = [(header::CONTENT_TYPE, "application/json")];
    (StatusCode::OK, json, text.to_owned()).into_response()
}
