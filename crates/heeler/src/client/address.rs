//! Where the server is: a socket on this machine, or an address with a token.

use crate::mistake::Mistake;
use std::fmt;
use std::path::{Path, PathBuf};

/// The state folder of a server that root started.
const SHARED_STATE: &str = "/var/lib/heeler";

/// The server's socket in its state folder.
const SOCKET: &str = "heeler.sock";

/// Where the server is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Address {
    /// A socket on this machine.
    Socket(PathBuf),
    /// A host and a port.
    Network {
        /// Its name or number.
        host: String,
        /// The port.
        port: u16,
        /// Whether over TLS.
        tls: bool,
    },
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Socket(path) => write!(f, "{}", path.display()),
            Address::Network { host, port, tls } => {
                let scheme = if *tls { "https" } else { "http" };
                write!(f, "{scheme}://{host}:{port}")
            }
        }
    }
}

/// A variable that is set to something.
pub(crate) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// The state folder of a server that is started here and says nothing else.
pub(crate) fn state_folder() -> PathBuf {
    if let Some(state) = variable("HEELER_STATE") {
        return state.into();
    }
    if nix::unistd::geteuid().is_root() {
        return SHARED_STATE.into();
    }
    let states = variable("XDG_STATE_HOME").map(PathBuf::from);
    let home = || PathBuf::from(variable("HOME").unwrap_or_else(|| ".".into()));
    states.unwrap_or_else(|| home().join(".local/state")).join("heeler")
}

/// The socket in a state folder.
pub(crate) fn socket_in(state: &Path) -> PathBuf {
    state.join(SOCKET)
}

/// The server to talk to: as said, as the environment says, or where one usually is.
pub(crate) fn find(said: Option<&str>) -> Result<Address, Mistake> {
    if let Some(text) = said.map(str::to_string).or_else(|| variable("HEELER_SERVER")) {
        return read(&text);
    }
    let own = socket_in(&state_folder());
    let shared = socket_in(Path::new(SHARED_STATE));
    // Somebody else's server on this machine will do if there is none of one's own.
    let may_share = variable("HEELER_STATE").is_none() && !own.exists() && shared.exists();
    Ok(Address::Socket(if may_share { shared } else { own }))
}

/// An address: a path, `unix:PATH`, or `http(s)://host:port`.
pub(crate) fn read(text: &str) -> Result<Address, Mistake> {
    let (rest, tls) = match (text.strip_prefix("http://"), text.strip_prefix("https://")) {
        (Some(rest), _) => (rest, false),
        (_, Some(rest)) => (rest, true),
        _ => {
            let path = text.strip_prefix("unix://").or_else(|| text.strip_prefix("unix:"));
            return Ok(Address::Socket(path.unwrap_or(text).into()));
        }
    };
    let wrong = || {
        Mistake::new(format!("`{text}` is no address of a server"))
            .hint("expected the path of a socket, http://host:port or https://host:port")
    };
    let rest = rest.trim_end_matches('/');
    let (host, port) = match rest.rsplit_once(':') {
        // Colons in brackets are part of a number.
        Some((host, port)) if !port.contains(']') => {
            (host, port.parse::<u16>().map_err(|_| wrong())?)
        }
        _ => (rest, if tls { 443 } else { 80 }),
    };
    let host = host.trim_start_matches('[').trim_end_matches(']');
    if host.is_empty() || host.contains(['/', '@']) {
        return Err(wrong());
    }
    Ok(Address::Network { host: host.into(), port, tls })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_paths_or_hosts() {
        let network = |host: &str, port, tls| Address::Network { host: host.into(), port, tls };
        for (text, address) in [
            ("/run/h.sock", Address::Socket("/run/h.sock".into())),
            ("unix:/run/h.sock", Address::Socket("/run/h.sock".into())),
            ("http://localhost:7070", network("localhost", 7070, false)),
            ("https://gpu.example/", network("gpu.example", 443, true)),
            ("http://[::1]:80", network("::1", 80, false)),
        ] {
            assert_eq!(read(text).expect(text), address);
        }
        for text in ["http://", "http://a:b", "https://user@host:1", "http://a/b"] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
