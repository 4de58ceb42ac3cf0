//! Which servers, and what they want to see.

use std::path::PathBuf;
use std::time::Duration;

use super::connection::Endpoint;
use super::tls::Tls;
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
    /// Who signed the servers' certificates, as PEM. With it the connection is encrypted.
    pub cacert: Option<Vec<u8>>,
    /// Our own certificate, as PEM, for servers that want to see one.
    pub cert: Option<Vec<u8>>,
    /// The key to that, as PEM.
    pub key: Option<Vec<u8>>,
    /// Whom to log in as, for servers that want that.
    pub user: Option<String>,
    /// The password to that.
    pub password: Option<String>,
    /// For tests of the tests: what to do wrong.
    #[cfg(feature = "planted-bugs")]
    #[doc(hidden)]
    pub planted: Option<PlantedBug>,
}

/// What can be done wrong on purpose, so that it is seen that a test notices.
#[doc(hidden)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PlantedBug {
    /// The deadline counts from the answer instead of the sending.
    DeadlineFromAnswer,
    /// A keep-alive counts though nothing confirms it.
    Unconfirmed,
    /// Who waits looks at the one right in front alone, as it was when it came.
    WrongNeighbour,
    /// The fence is the number of the lease.
    FenceOfLease,
    /// Two requests of one session have one key.
    SameKey,
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
            #[cfg(feature = "planted-bugs")]
            planted: None,
        }
    }

    /// Whether that is done wrong on purpose: in tests of the tests alone.
    #[cfg(feature = "planted-bugs")]
    pub(super) fn has(&self, bug: PlantedBug) -> bool {
        self.planted == Some(bug)
    }

    /// Never, but in tests of the tests.
    #[cfg(not(feature = "planted-bugs"))]
    #[expect(clippy::unused_self, reason = "with the feature it is used")]
    pub(super) const fn has(&self, _bug: PlantedBug) -> bool {
        false
    }

    /// What is not said yet, as `etcdctl` takes it from its variables: `ETCDCTL_CACERT`,
    /// `ETCDCTL_CERT`, `ETCDCTL_KEY` (names of files), `ETCDCTL_USER` (which may be
    /// `name:password`) and `ETCDCTL_PASSWORD`.
    ///
    /// # Errors
    /// If one of the files cannot be read.
    pub fn or_environment(mut self) -> Result<Self, Error> {
        let said = |name: &str| std::env::var_os(name).filter(|it| !it.is_empty());
        let text = |name: &str| said(name).and_then(|it| it.into_string().ok());
        let read = |name: &str| {
            let path = said(name).map(PathBuf::from);
            let read = path.map(|path| {
                let doing = || format!("cannot read {} of ${name}", path.display());
                std::fs::read(&path).map_err(|error| Error::io(doing(), error))
            });
            read.transpose()
        };
        if self.cacert.is_none() {
            self.cacert = read("ETCDCTL_CACERT")?;
        }
        if self.cert.is_none() && self.key.is_none() {
            (self.cert, self.key) = (read("ETCDCTL_CERT")?, read("ETCDCTL_KEY")?);
        }
        if self.user.is_none()
            && let Some(user) = text("ETCDCTL_USER")
        {
            let (name, password) = match user.split_once(':') {
                Some((name, password)) => (name.to_owned(), Some(password.to_owned())),
                None => (user, None),
            };
            self.user = Some(name);
            self.password = password.or_else(|| text("ETCDCTL_PASSWORD"));
        }
        Ok(self)
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
        let one = |address: &String| {
            let endpoint = Endpoint::new(address, tls.clone());
            endpoint.ok_or_else(|| server(address, "this is no address"))
        };
        self.endpoints.iter().map(one).collect()
    }

    fn tls(&self) -> Result<Option<Tls>, Error> {
        let identity = match (&self.cert, &self.key) {
            (None, None) => None,
            (Some(cert), Some(key)) => Some((&cert[..], &key[..])),
            _ => {
                let what = "a certificate needs its key, and a key its certificate";
                return Err(server("etcd", what));
            }
        };
        match &self.cacert {
            None if identity.is_some() => {
                let what =
                    "a certificate of ours is of use only with that of an authority (cacert)";
                Err(server("etcd", what))
            }
            None => Ok(None),
            Some(cacert) => {
                Tls::new(cacert, identity).map(Some).map_err(|what| server("etcd", what))
            }
        }
    }
}

/// Without passwords and keys.
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
