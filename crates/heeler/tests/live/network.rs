//! Over the network: TLS, tokens and roles.

use crate::{Ended, Place};
use std::net::TcpListener;

/// A port that nobody listens on.
fn port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("its address").port()
}

struct Away<'a> {
    place: &'a Place,
    server: String,
    token: String,
}

impl Away<'_> {
    fn run(&self, line: &str) -> Ended {
        let mut command = self.place.command();
        command.env("HEELER_SERVER", &self.server).env("HEELER_TOKEN", &self.token);
        command.env("HEELER_CA", self.place.path().join("cert.pem"));
        command.args(shell_words::split(line).expect("a line"));
        Ended::of(&command.output().expect("the program runs"))
    }
}

#[test]
fn who_comes_with_a_token_may_do_what_it_says() {
    let place = Place::empty();
    let made = rcgen::generate_simple_self_signed(vec!["localhost".into()]).expect("a key");
    place.write("cert.pem", &made.cert.pem());
    place.write("key.pem", &made.signing_key.serialize_pem());
    let port = port();
    let listen = format!("--listen 127.0.0.1:{port} --cert cert.pem --key key.pem");
    place.run(&format!("up --emulate 4xA100 --background {listen}")).good();
    let own = nix::unistd::User::from_uid(nix::unistd::geteuid());
    let own = own.ok().flatten().expect("whoever runs this has an account").name;
    place.run(&format!("tenant set lab --add-user {own}")).good();
    let token_of = |user: &str, role: &str| {
        let made = place.run(&format!("token make {user} --role {role} --tenant lab"));
        made.good().trim().to_string()
    };
    let token = |role: &str| token_of(&own, role);
    let server = format!("https://localhost:{port}");
    let viewer = Away { place: &place, server: server.clone(), token: token("viewer") };
    assert!(viewer.run("nodes").good().contains("A100"));
    assert!(viewer.run("submit --gpus 1 -- true").mistake().contains("takes the role user"));
    let user = Away { place: &place, server: server.clone(), token: token("user") };
    assert_eq!(user.run("submit --gpus 1 -- sleep 1000").good(), "Submitted job 1\n");
    assert!(user.run("quota lab 2").mistake().contains("error: "));
    assert!(user.run("cancel 1").good().contains("cancelled"));
    let mut command = place.command();
    command.env("HEELER_SERVER", &user.server).env("HEELER_TOKEN", &user.token);
    command.env("HEELER_CA", place.path().join("cert.pem")).env("HOME", "/elsewhere");
    command.args(["run", "--", "sh", "-c", "echo $HOME"]);
    let ran = Ended::of(&command.output().expect("the program runs")).good();
    assert!(!ran.contains("/elsewhere"), "{ran}");
    if nix::unistd::geteuid().is_root() {
        let unknown = token_of("nobody-by-this-name", "user");
        let unknown = Away { place: &place, server: server.clone(), token: unknown };
        let said = unknown.run("submit --gpus 1 -- true").mistake();
        assert!(said.contains("no user `nobody-by-this-name`"), "{said}");
    }
    let viewer = Away { token: token_of("nobody-by-this-name", "viewer"), ..viewer };
    let said = viewer.run("submit --gpus 1 -- true").mistake();
    assert!(said.contains("takes the role user") && !said.contains("no user"), "{said}");
    let stranger = Away { place: &place, server, token: "nonsense".into() };
    let said = stranger.run("queue").mistake();
    assert!(said.contains("HEELER_TOKEN") && said.contains("heeler token make"), "{said}");
    let plain = Away { server: format!("http://localhost:{port}"), ..user };
    let said = plain.run("queue");
    assert_eq!(said.code, Some(1));
    assert!(said.err.contains("https://") && !said.err.contains("heeler up"), "{}", said.err);
}

#[test]
fn a_certificate_of_an_authority_is_told_apart_from_nobody() {
    let place = Place::empty();
    let mut asked = rcgen::CertificateParams::new(vec!["localhost".into()]).expect("a name");
    asked.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let key = rcgen::KeyPair::generate().expect("a key");
    place.write("cert.pem", &asked.self_signed(&key).expect("a certificate").pem());
    place.write("key.pem", &key.serialize_pem());
    let port = port();
    let listen = format!("--listen 127.0.0.1:{port} --cert cert.pem --key key.pem");
    place.run(&format!("up --emulate 4xA100 --background {listen}")).good();
    let away = Away {
        place: &place,
        server: format!("https://localhost:{port}"),
        token: "nonsense".into(),
    };
    let said = away.run("queue").err;
    assert!(said.contains("CA:FALSE") && !said.contains("heeler up"), "{said}");
}
