//! A small HTTP client for the server's API. Every command talks through it, and nothing else does.

pub(crate) mod address;
mod connect;
mod lines;
mod talk;

pub(crate) use address::{Address, socket_in, state_folder};
pub(crate) use connect::NoServer;
pub(crate) use lines::Lines;
pub(crate) use talk::NoTalk;

use address::variable;
use anyhow::{Context, Result};
use heeler_api::{Code, Problem};
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::{Method, Request, Response, StatusCode, header};
use hyper_util::rt::TokioIo;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::future::Future;
use std::time::Duration;
use tokio::runtime::Runtime;

/// How long an answer that is no stream may take.
const ANSWER: Duration = Duration::from_secs(120);

/// A client of one server.
pub(crate) struct Client {
    address: Address,
    token: Option<String>,
    runtime: Runtime,
}

impl Client {
    /// A client of the server that is named, or that is usually there.
    pub(crate) fn open(server: Option<&str>) -> Result<Client> {
        Client::at(address::find(server)?)
    }

    /// A client of the server at an address.
    pub(crate) fn at(address: Address) -> Result<Client> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        Ok(Client { address, token: variable("HEELER_TOKEN"), runtime })
    }

    /// Where the server is.
    pub(crate) fn address(&self) -> &Address {
        &self.address
    }

    /// Wait for something.
    pub(crate) fn wait_for<T>(&self, work: impl Future<Output = T>) -> T {
        self.runtime.block_on(work)
    }

    /// Read something.
    pub(crate) fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T> {
        self.wait_for(self.ask(Method::GET, path, None))
    }

    /// Ask for something with a body.
    pub(crate) fn post<T: DeserializeOwned>(&self, path: &str, body: &impl Serialize) -> Result<T> {
        let body = serde_json::to_vec(body)?;
        self.wait_for(self.ask(Method::POST, path, Some(body)))
    }

    /// Ask for something without a body.
    pub(crate) fn act<T: DeserializeOwned>(&self, path: &str) -> Result<T> {
        self.wait_for(self.ask(Method::POST, path, None))
    }

    /// Put something in its place.
    pub(crate) fn put<T: DeserializeOwned>(&self, path: &str, body: &impl Serialize) -> Result<T> {
        let body = serde_json::to_vec(body)?;
        self.wait_for(self.ask(Method::PUT, path, Some(body)))
    }

    /// Take something away.
    pub(crate) fn delete<T: DeserializeOwned>(&self, path: &str) -> Result<T> {
        self.wait_for(self.ask(Method::DELETE, path, None))
    }

    /// Ask, and read the whole answer.
    pub(crate) async fn ask<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: Option<Vec<u8>>,
    ) -> Result<T> {
        let work = async {
            let response = self.send(method, path, body).await?;
            Ok::<_, anyhow::Error>(response.into_body().collect().await?.to_bytes())
        };
        let answer = tokio::time::timeout(ANSWER, work).await;
        let bytes = answer.context("the server takes too long to answer")??;
        // Nothing and null are the same to those who expect nothing.
        let bytes = if bytes.is_empty() { Bytes::from_static(b"null") } else { bytes };
        serde_json::from_slice(&bytes).with_context(|| {
            format!("the server's answer to {path} cannot be understood; is it of this version?")
        })
    }

    /// Ask, and see that the answer is no refusal.
    pub(crate) async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<Vec<u8>>,
    ) -> Result<Response<Incoming>> {
        let response = self.request(method, path, body, &[]).await?;
        match response.status() {
            status if status.is_success() => Ok(response),
            status => Err(refusal(status, response).await),
        }
    }

    /// Ask to speak otherwise from here on, over the same connection.
    pub(crate) async fn upgrade(&self, path: &str) -> Result<TokioIo<hyper::upgrade::Upgraded>> {
        let headers = [(header::CONNECTION, "upgrade"), (header::UPGRADE, "heeler-terminal")];
        let response = self.request(Method::GET, path, None, &headers).await?;
        match response.status() {
            StatusCode::SWITCHING_PROTOCOLS => {
                Ok(TokioIo::new(hyper::upgrade::on(response).await?))
            }
            status => Err(refusal(status, response).await),
        }
    }

    async fn request(
        &self,
        method: Method,
        path: &str,
        body: Option<Vec<u8>>,
        headers: &[(header::HeaderName, &str)],
    ) -> Result<Response<Incoming>> {
        let stream = connect::connect(&self.address).await?;
        let (mut sender, connection) =
            hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
        // A connection that breaks is told to whoever waits for the answer.
        tokio::spawn(connection.with_upgrades());
        let host = match &self.address {
            Address::Socket(_) => "heeler".to_string(),
            Address::Network { host, port, .. } if host.contains(':') => format!("[{host}]:{port}"),
            Address::Network { host, port, .. } => format!("{host}:{port}"),
        };
        let mut request = Request::builder().method(method).uri(path).header(header::HOST, host);
        if let Some(token) = &self.token {
            request = request.header(header::AUTHORIZATION, format!("Bearer {token}"));
        }
        if body.is_some() {
            request = request.header(header::CONTENT_TYPE, "application/json");
        }
        for (name, value) in headers {
            request = request.header(name, *value);
        }
        let body = Full::new(Bytes::from(body.unwrap_or_default()));
        let plain = matches!(self.address, Address::Network { tls: false, .. });
        match sender.send_request(request.body(body)?).await {
            Err(error) if plain && error.is_parse() => Err(NoTalk::plainly(&self.address).into()),
            answer => Ok(answer?),
        }
    }
}

/// What the server refused, in its own words if it has any.
async fn refusal(status: StatusCode, response: Response<Incoming>) -> anyhow::Error {
    let bytes = match response.into_body().collect().await {
        Ok(body) => body.to_bytes(),
        Err(error) => return error.into(),
    };
    if let Ok(problem) = serde_json::from_slice::<Problem>(&bytes) {
        return problem.into();
    }
    let text = String::from_utf8_lossy(&bytes);
    let text = text.trim();
    let message = match text.is_empty() || text.len() > 500 {
        true => format!("the server refuses: {status}"),
        false => format!("the server refuses: {status}: {text}"),
    };
    let code = if status == StatusCode::NOT_FOUND { Code::NotFound } else { Code::Internal };
    Problem::new(code, message).into()
}

/// Text as it may stand in a path or behind a `?`.
pub(crate) fn encode(text: &str) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' | b',' => {
                encoded.push(byte as char);
            }
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_letters_are_encoded() {
        assert_eq!(encode("17_[1-4],7"), "17_%5B1-4%5D,7");
        assert_eq!(encode("a/../b ?é"), "a%2F..%2Fb%20%3F%C3%A9");
    }
}
