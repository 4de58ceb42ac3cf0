//! Certificates for servers and clients of a test, by an authority of its own.

use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::left_out::leave_out;
use crate::servers::{ClientCertificates, Tls, find, program};

/// Nothing is taken from the system's own file, which differs from system to system. The addresses
/// are loopback's and those of the first [hosts](crate::hosts).
const CONFIGURATION: &str = "\
[req]
distinguished_name = name
prompt = no
[name]
CN = conclave
[authority]
basicConstraints = critical, CA:TRUE
keyUsage = critical, keyCertSign
subjectKeyIdentifier = hash
[server]
basicConstraints = critical, CA:FALSE
extendedKeyUsage = serverAuth, clientAuth
subjectAltName = DNS:localhost, IP:127.0.0.1, IP:10.77.0.1, IP:10.77.0.2, IP:10.77.0.3, \
IP:10.77.0.4, IP:10.77.0.5
[client]
basicConstraints = critical, CA:FALSE
extendedKeyUsage = clientAuth
subjectAltName = DNS:client
";

/// An authority, a certificate for servers and one for clients, as files that are gone when this is
/// dropped. Two of these do not trust each other.
#[derive(Debug)]
pub struct Certificates {
    directory: TempDir,
}

impl Certificates {
    /// Makes new ones, or says that this test is left out.
    ///
    /// # Panics
    ///
    /// If there is no `openssl` and the variable `CI` is `true`.
    pub fn required() -> Option<Self> {
        if find("openssl").is_none() {
            leave_out("openssl", "cargo xtask servers");
            return None;
        }
        let directory = TempDir::with_prefix("conclave-certificates-");
        let certificates = Self { directory: directory.expect("a directory can be made") };
        std::fs::write(certificates.file("configuration"), CONFIGURATION).expect("it is ours");
        certificates.make("authority", "conclave test authority");
        certificates.make("server", "server");
        certificates.make("client", "client");
        Some(certificates)
    }

    /// How a cluster is started with them.
    pub fn tls(&self, clients: ClientCertificates) -> Tls {
        Tls {
            certificate: self.file("server.pem"),
            key: self.file("server.key"),
            authority: self.authority(),
            clients,
        }
    }

    /// Whom clients are to trust.
    pub fn authority(&self) -> PathBuf {
        self.file("authority.pem")
    }

    /// With what a client says that it is `client`.
    pub fn client_certificate(&self) -> PathBuf {
        self.file("client.pem")
    }

    /// The key to it.
    pub fn client_key(&self) -> PathBuf {
        self.file("client.key")
    }

    fn file(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn make(&self, section: &str, name: &str) {
        let here: &Path = self.directory.path();
        let mut command = program("openssl");
        command.current_dir(here).args(["req", "-x509", "-config", "configuration", "-nodes"]);
        command.args(["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-days", "30"]);
        command.args(["-subj", &format!("/CN={name}"), "-extensions", section]);
        command.args(["-keyout", &format!("{section}.key"), "-out", &format!("{section}.pem")]);
        if section != "authority" {
            command.args(["-CA", "authority.pem", "-CAkey", "authority.key"]);
        }
        let output = command.output().expect("openssl can be run");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}
