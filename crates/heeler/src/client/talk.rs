//! Somebody answers where the server should be, and cannot be talked to: what TLS has against it.

use super::address::Address;
use rustls::{CertificateError, Error};

/// Somebody is there, and cannot be talked to.
#[derive(Debug, thiserror::Error)]
#[error("{address}: {what}")]
pub(crate) struct NoTalk {
    address: String,
    what: String,
    hint: &'static str,
}

impl NoTalk {
    /// What to do.
    pub(crate) fn hint(&self) -> &'static str {
        self.hint
    }

    /// What was said without TLS was not understood.
    pub(crate) fn plainly(address: &Address) -> NoTalk {
        let what = "whoever answers there does not speak plain HTTP".into();
        let hint = "a server with a certificate is reached by https://";
        NoTalk { address: address.to_string(), what, hint }
    }

    /// What stood in the way of TLS, if it was more than the connection.
    pub(crate) fn of_tls(address: &Address, error: &std::io::Error) -> Option<NoTalk> {
        let inner = error.get_ref()?.downcast_ref::<Error>()?;
        let (what, hint) = match inner {
            Error::InvalidCertificate(wrong) => of_certificate(wrong),
            Error::InvalidMessage(_) => (
                "whoever answers there does not speak TLS".into(),
                "a server without a certificate is reached by http://",
            ),
            other => (format!("TLS fails: {other}"), SEE),
        };
        Some(NoTalk { address: address.to_string(), what, hint })
    }
}

const SEE: &str = "docs/guides/running-a-server.md shows how to make a certificate";

fn of_certificate(wrong: &CertificateError) -> (String, &'static str) {
    let said = format!("{wrong:?}");
    match wrong {
        CertificateError::UnknownIssuer => (
            "nobody who is trusted here vouches for its certificate".into(),
            "name the PEM file of whoever signed it (or itself) in HEELER_CA",
        ),
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => (
            "its certificate is for another name".into(),
            "use the name that the certificate was made for, or make one for this name",
        ),
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            ("its certificate has expired".into(), SEE)
        }
        _ if said.contains("CaUsedAsEndEntity") => (
            "its certificate is that of an authority (CA:TRUE), and not of a server".into(),
            "make it with -addext basicConstraints=critical,CA:FALSE, as \
             docs/guides/running-a-server.md shows",
        ),
        _ => (format!("its certificate cannot be used: {said}"), SEE),
    }
}
