//! A stream of bytes from the server, as pieces or as lines.

use anyhow::Result;
use http_body_util::BodyExt;
use hyper::body::{Bytes, Incoming};

/// A stream from the server.
pub(crate) struct Lines {
    body: Incoming,
    kept: Vec<u8>,
}

impl Lines {
    /// The stream of an answer.
    pub(crate) fn of(body: Incoming) -> Lines {
        Lines { body, kept: Vec::new() }
    }

    /// The next piece; nothing at the end.
    pub(crate) async fn piece(&mut self) -> Result<Option<Bytes>> {
        while let Some(frame) = self.body.frame().await {
            if let Ok(bytes) = frame?.into_data() {
                return Ok(Some(bytes));
            }
        }
        Ok(None)
    }

    /// The next line without its end; nothing at the end.
    pub(crate) async fn line(&mut self) -> Result<Option<String>> {
        loop {
            if let Some(at) = self.kept.iter().position(|byte| *byte == b'\n') {
                let rest = self.kept.split_off(at + 1);
                let line = std::mem::replace(&mut self.kept, rest);
                let line = String::from_utf8_lossy(&line);
                return Ok(Some(line.trim_end_matches(['\r', '\n']).to_string()));
            }
            match self.piece().await? {
                Some(bytes) => self.kept.extend_from_slice(&bytes),
                None => return Ok(None),
            }
        }
    }

    /// The data of the next event of an event stream; nothing at the end.
    pub(crate) async fn event(&mut self) -> Result<Option<String>> {
        let mut data: Option<String> = None;
        while let Some(line) = self.line().await? {
            match (line.strip_prefix("data:"), line.is_empty()) {
                (Some(more), _) => {
                    let all = data.get_or_insert_default();
                    if !all.is_empty() {
                        all.push('\n');
                    }
                    all.push_str(more.strip_prefix(' ').unwrap_or(more));
                }
                (None, true) if data.is_some() => return Ok(data),
                _ => {}
            }
        }
        Ok(data)
    }
}
