//! Which servers, and what they want to see.

use std::path::PathBuf;
use std::time::Duration;

use tonic::transport::{Certificate, ClientTlsConfig, Endpoint, Identity};

use crate::Error;

/// The shortest and the longest time to live.
pub const TTL_RANGE: (Duration, Duration) = (Duration::from_secs(2), Duration::from_secs(300));

/// Which servers, and how to talk to them.
#[derive(Clone)]
#[non_exhaustive]
pub struct EtcdOptions {
    /// Their addresses, `host:port`. One is used at a time; another one when it does not answer.
    pub endpoints: Vec<String>,
    /// What all keys begin with, without the slash behind it; may be empty.
    pub prefix: String,
    /// How long a lock outlives the last sign of life of its holder: 2 s to 5 min.
    pub ttl: Duration,
    /// How long to look for a server that answers.
    pub connect_timeout: Duration,
    /// Who signed the servers' certificates (PEM). With it the connection is encrypted.
    pub cacert: Option<PathBuf>,
    /// Our own certificate (PEM), for servers that want to see one.
    pub cert: Option<PathBuf>,
    /// The key to that (PEM).
    pub key: Option<PathBuf>,
    /// Whom to log in as, for servers that want that.
    pub user: Option<String>,
    /// The password to that.
    pub password: Option<String>,
}

impl EtcdOptions {
    /// Those servers, and everything else as usual.
    pub fn new<S: Into<String>>(endpoints: impl IntoIterator<Item = S>) -> Self {
        Self {
            endpoints: endpoints.into_iter().map(Into::into).collect(),
            prefix: String::new(),
            ttl: Duration::from_secs(10),
            connect_timeout: Duration::from_secs(5),
            cacert: None,
            cert: None,
            key: None,
            user: None,
            password: None,
        }
    }

    /// What is not said yet, as `etcdctl` takes it from its variables: `ETCDCTL_CACERT`,
    /// `ETCDCTL_CERT`, `ETCDCTL_KEY`, `ETCDCTL_USER` (which may be `name:password`) and
    /// `ETCDCTL_PASSWORD`.
    #[must_use]
    pub fn or_environment(mut self) -> Self {
        let said = |name: &str| std::env::var_os(name).filter(|it| !it.is_empty());
        let text = |name: &str| said(name).and_then(|it| it.into_string().ok());
        self.cacert = self.cacert.or_else(|| said("ETCDCTL_CACERT").map(Into::into));
        self.cert = self.cert.or_else(|| said("ETCDCTL_CERT").map(Into::into));
        self.key = self.key.or_else(|| said("ETCDCTL_KEY").map(Into::into));
        self.password = self.password.or_else(|| text("ETCDCTL_PASSWORD"));
        if self.user.is_none()
            && let Some(user) = text("ETCDCTL_USER")
        {
            match user.split_once(':') {
                Some((name, password)) => {
                    self.user = Some(name.to_owned());
                    self.password = Some(password.to_owned());
                }
                None => self.user = Some(user),
            }
        }
        self
    }

    /// One for each server.
    pub(super) fn servers(&self) -> Result<Vec<Endpoint>, Error> {
        if self.endpoints.is_empty() {
            return Err(server("etcd", "no server is named"));
        }
        let (shortest, longest) = TTL_RANGE;
        if !(shortest..=longest).contains(&self.ttl) {
            let what = format!("a time to live is 2 s to 5 min, not {:?}", self.ttl);
            return Err(server("etcd", what));
        }
        if self.user.is_some() && self.password.is_none() {
            return Err(server("etcd", "a user is named, but no password (ETCDCTL_PASSWORD)"));
        }
        let tls = self.tls()?;
        let scheme = if tls.is_some() { "https" } else { "http" };
        let one = |address: &String| {
            let endpoint = Endpoint::from_shared(format!("{scheme}://{address}"));
            let endpoint = endpoint.map_err(|_| server(address, "this is no address"))?;
            let endpoint = endpoint
                .connect_timeout(self.connect_timeout)
                .tcp_nodelay(true)
                // More often is punished by the server. It finds dead servers while nothing is
                // asked of them: whoever holds or waits asks more often anyway.
                .http2_keep_alive_interval(Duration::from_secs(6))
                .keep_alive_timeout(Duration::from_secs(4))
                .keep_alive_while_idle(true);
            match &tls {
                None => Ok(endpoint),
                Some(tls) => {
                    let secured = endpoint.tls_config(tls.clone());
                    secured.map_err(|error| server(address, deepest(&error)))
                }
            }
        };
        self.endpoints.iter().map(one).collect()
    }

    fn tls(&self) -> Result<Option<ClientTlsConfig>, Error> {
        let read = |path: &PathBuf| {
            let doing = || format!("cannot read {}", path.display());
            std::fs::read(path).map_err(|error| Error::io(doing(), error))
        };
        let Some(cacert) = &self.cacert else {
            if self.cert.is_some() || self.key.is_some() {
                let what =
                    "a certificate of ours is of use only with that of an authority (cacert)";
                return Err(server("etcd", what));
            }
            return Ok(None);
        };
        let tls = ClientTlsConfig::new().ca_certificate(Certificate::from_pem(read(cacert)?));
        match (&self.cert, &self.key) {
            (None, None) => Ok(Some(tls)),
            (Some(cert), Some(key)) => {
                Ok(Some(tls.identity(Identity::from_pem(read(cert)?, read(key)?))))
            }
            _ => Err(server("etcd", "a certificate needs its key, and a key its certificate")),
        }
    }
}

/// Without the password.
impl std::fmt::Debug for EtcdOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut it = f.debug_struct("EtcdOptions");
        it.field("endpoints", &self.endpoints).field("prefix", &self.prefix);
        it.field("ttl", &self.ttl).field("user", &self.user).finish_non_exhaustive()
    }
}

/// An error of that server, or of all.
pub fn server(at: &str, what: impl Into<String>) -> Error {
    let at = if at.contains("etcd") { at.to_owned() } else { format!("etcd at {at}") };
    Error::Server { at, what: what.into() }
}

/// What lies behind an error that says next to nothing itself.
pub fn deepest(error: &dyn std::error::Error) -> String {
    let mut error = error;
    while let Some(source) = error.source() {
        error = source;
    }
    error.to_string()
}
