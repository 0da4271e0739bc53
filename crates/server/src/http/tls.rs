//! Certificates and keys.

use crate::settings::ServeError;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::path::Path;
use std::sync::Arc;
use tokio_rustls::TlsAcceptor;

/// Whoever shakes hands with these files.
pub(crate) fn acceptor(chain: &Path, key: &Path) -> Result<TlsAcceptor, ServeError> {
    let wrong = |path: &Path, message: String| ServeError::Tls { path: path.into(), message };
    let certificates = CertificateDer::pem_file_iter(chain)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| wrong(chain, format!("no certificates can be read: {error}")))?;
    if certificates.is_empty() {
        return Err(wrong(chain, "there is no certificate in it (PEM is expected)".into()));
    }
    let private = PrivateKeyDer::from_pem_file(key)
        .map_err(|error| wrong(key, format!("no private key can be read: {error}")))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(|config| config.with_no_client_auth().with_single_cert(certificates, private))
        .map_err(|error| wrong(key, format!("certificate and key do not go together: {error}")))?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}
