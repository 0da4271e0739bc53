//! One connection to a server's socket, kept open: just enough HTTP to measure with, so that what
//! the client costs hardly counts.

use anyhow::{Context, Result, bail};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;

/// A connection.
pub(super) struct Wire {
    stream: BufReader<UnixStream>,
    body: Vec<u8>,
}

impl Wire {
    /// Connect to a socket.
    pub(super) fn to(socket: &Path) -> Result<Wire> {
        let stream = UnixStream::connect(socket)
            .with_context(|| format!("connecting to {}", socket.display()))?;
        Ok(Wire { stream: BufReader::new(stream), body: Vec::new() })
    }

    /// Hand something in.
    pub(super) fn post(&mut self, path: &str, body: &[u8]) -> Result<&[u8]> {
        let mut request = format!(
            "POST {path} HTTP/1.1\r\nHost: heeler\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\n\r\n",
            body.len()
        )
        .into_bytes();
        request.extend_from_slice(body);
        self.exchange(&request)
    }

    /// Ask for something.
    pub(super) fn get(&mut self, path: &str) -> Result<&[u8]> {
        self.exchange(format!("GET {path} HTTP/1.1\r\nHost: heeler\r\n\r\n").as_bytes())
    }

    fn exchange(&mut self, request: &[u8]) -> Result<&[u8]> {
        self.stream.get_mut().write_all(request)?;
        let mut line = String::new();
        self.stream.read_line(&mut line)?;
        let fine = line.split(' ').nth(1).is_some_and(|status| status.starts_with('2'));
        let mut length = 0;
        loop {
            let mut header = String::new();
            self.stream.read_line(&mut header)?;
            if header.trim().is_empty() {
                break;
            }
            let (name, value) = header.split_once(':').unwrap_or_default();
            if name.eq_ignore_ascii_case("content-length") {
                length = value.trim().parse()?;
            }
        }
        self.body.resize(length, 0);
        self.stream.read_exact(&mut self.body)?;
        if !fine {
            bail!("{}: {}", line.trim(), String::from_utf8_lossy(&self.body));
        }
        Ok(&self.body)
    }
}
