//! A connection to the server: over a socket, a network, or TLS.

use super::address::{Address, variable};
use super::talk::NoTalk;
use crate::mistake::Mistake;
use anyhow::{Context, Result};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};
use tokio_rustls::TlsConnector;

/// How long a connection may take.
const CONNECT: Duration = Duration::from_secs(10);

/// Where systems keep the certificates they trust.
const TRUSTED: [&str; 3] =
    ["/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem"];

/// Nobody answers where the server should be.
#[derive(Debug, thiserror::Error)]
#[error("no server answers at {address}")]
pub(crate) struct NoServer {
    /// Where.
    pub(crate) address: String,
    /// Why not.
    pub(crate) source: std::io::Error,
}

impl NoServer {
    /// What to do.
    pub(crate) fn hint(&self) -> &'static str {
        match self.source.kind() {
            std::io::ErrorKind::PermissionDenied => {
                "you may not use this socket; ask who started the server, or use a token with \
                 HEELER_SERVER and HEELER_TOKEN"
            }
            _ => "start one with `heeler up`, or say where it is with HEELER_SERVER",
        }
    }
}

/// Bytes both ways.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Send {}

impl<T: AsyncRead + AsyncWrite + Send> Stream for T {}

/// Connect.
pub(crate) async fn connect(address: &Address) -> Result<Pin<Box<dyn Stream>>> {
    let none = |source| NoServer { address: address.to_string(), source };
    let late = || none(std::io::Error::from(std::io::ErrorKind::TimedOut));
    match address {
        Address::Socket(path) => {
            let stream = tokio::time::timeout(CONNECT, UnixStream::connect(path)).await;
            Ok(Box::pin(stream.map_err(|_| late())?.map_err(none)?))
        }
        Address::Network { host, port, tls } => {
            let stream = TcpStream::connect((host.as_str(), *port));
            let stream = tokio::time::timeout(CONNECT, stream).await;
            let stream = stream.map_err(|_| late())?.map_err(none)?;
            stream.set_nodelay(true)?;
            if !tls {
                return Ok(Box::pin(stream));
            }
            let name = ServerName::try_from(host.clone())
                .map_err(|_| Mistake::new(format!("`{host}` cannot be the name of a server")))?;
            let connector = TlsConnector::from(trust()?);
            let stream = tokio::time::timeout(CONNECT, connector.connect(name, stream)).await;
            let stream = stream.map_err(|_| late())?;
            match stream.map_err(|error| (NoTalk::of_tls(address, &error), error)) {
                Ok(stream) => Ok(Box::pin(stream)),
                Err((Some(odd), _)) => Err(odd.into()),
                Err((None, error)) => Err(none(error).into()),
            }
        }
    }
}

/// Whom to trust: who HEELER_CA names, or whom this system trusts.
fn trust() -> Result<Arc<ClientConfig>> {
    let mut roots = RootCertStore::empty();
    let said = variable("HEELER_CA");
    let system = TRUSTED.iter().find(|path| Path::new(path).exists()).map(ToString::to_string);
    let Some(path) = said.clone().or(system) else {
        let mistake = Mistake::new("nothing says which certificates to trust");
        return Err(mistake.hint("name a PEM file in HEELER_CA").into());
    };
    let certificates = CertificateDer::pem_file_iter(&path)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| {
            Mistake::new(format!("{path}: no certificates can be read: {error}"))
                .hint("HEELER_CA names a PEM file")
        })?;
    match said {
        // Who names a file wants all of it; a system's list may hold odd ones.
        Some(_) => {
            for certificate in certificates {
                let added = roots.add(certificate);
                added.with_context(|| format!("{path}: a certificate cannot be used"))?;
            }
        }
        None => {
            roots.add_parsable_certificates(certificates);
        }
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .context("TLS cannot be set up")?;
    Ok(Arc::new(config.with_root_certificates(roots).with_no_client_auth()))
}
