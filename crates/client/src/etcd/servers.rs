//! Which server is talked to, and what is done when it does not answer.
//!
//! One at a time: with several behind one channel, each that hangs would swallow its share of the
//! requests. Whoever gets no answer in time says so, and all go on to the next server, watches
//! too. Every request here can be sent twice without harm, so it is sent again there.

use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use conclave_etcd_api::AuthenticateRequest;
use conclave_etcd_api::auth_client::AuthClient;
use tokio::sync::{OnceCell, watch};
use tokio::task::JoinSet;
use tonic::metadata::{Ascii, MetadataValue};
use tonic::{Code, Request, Status};

use super::connection::{Connection, Endpoint};
use super::options::{EtcdOptions, deepest, server};
use crate::{BootTime, Error};

/// A server that has not taken the connection after so long gets company: the next is tried too.
const STAGGER: Duration = Duration::from_millis(200);

/// How long one server may at least take to let us in.
const ONE_CONNECTION: Duration = Duration::from_secs(1);

/// The servers, and the one in use.
pub struct Servers {
    endpoints: Vec<Endpoint>,
    addresses: Vec<String>,
    connect_timeout: Duration,
    /// How long one answer may take.
    patience: Duration,
    login: Option<AuthenticateRequest>,
    is_encrypted: bool,
    shows_certificate: bool,
    /// Only one connects at a time; the others wait for what it gets.
    connecting: tokio::sync::Mutex<()>,
    current: Mutex<Current>,
    /// The number of the current connection, for those who must notice that it is another one.
    changes: watch::Sender<u64>,
}

#[derive(Default)]
struct Current {
    /// Which server to try first.
    index: usize,
    link: Option<Link>,
    last_number: u64,
}

/// A connection to one server.
#[derive(Clone)]
pub struct Link {
    /// Each has another one.
    pub number: u64,
    pub channel: Connection,
    /// Which of the servers it is.
    index: usize,
    address: String,
    token: Option<MetadataValue<Ascii>>,
    /// Another connection to the same server, for renewals alone.
    for_renewals: Arc<OnceCell<Connection>>,
}

impl Link {
    /// A request with what every request carries.
    pub fn request<T>(&self, message: T) -> Request<T> {
        let mut request = Request::new(message);
        let metadata = request.metadata_mut();
        // A server that has lost its leader shall say so at once, and end its watches.
        metadata.insert("hasleader", MetadataValue::from_static("true"));
        if let Some(token) = &self.token {
            metadata.insert("token", token.clone());
        }
        request
    }
}

/// What a server answered.
pub struct Answered<T> {
    pub value: T,
    /// Whether the same was sent before, and that went unanswered: it may have been done twice, or
    /// be done a second time later.
    pub is_repeated: bool,
}

/// A call that had no answer, or an error for one.
pub struct Failed {
    pub error: Error,
    /// Whether it was sent: then it may have been done, or may yet be.
    pub was_sent: bool,
}

impl From<Failed> for Error {
    fn from(failed: Failed) -> Self {
        failed.error
    }
}

/// No server lets us in.
pub struct NoLink {
    error: Error,
    is_final: bool,
}

/// Why a call has no answer.
pub enum Trouble {
    /// It is worth trying again, elsewhere or later.
    Passing(String),
    /// The server has answered, and will not change its mind.
    Final(String),
}

impl Servers {
    pub fn new(options: &EtcdOptions) -> Result<Self, Error> {
        let endpoints = options.servers()?;
        let login = options.user.clone().map(|name| {
            let password = options.password.clone().unwrap_or_default();
            AuthenticateRequest { name, password }
        });
        let patience = (options.ttl / 6).clamp(Duration::from_millis(500), Duration::from_secs(5));
        Ok(Self {
            endpoints,
            addresses: options.endpoints.clone(),
            connect_timeout: options.connect_timeout,
            patience,
            login,
            is_encrypted: options.cacert.is_some(),
            shows_certificate: options.cert.is_some(),
            connecting: tokio::sync::Mutex::new(()),
            current: Mutex::default(),
            changes: watch::Sender::new(0),
        })
    }

    /// Calls until there is an answer, or until `limit`; without one, for as long as servers may
    /// take to be found.
    pub async fn call<T, F>(
        &self,
        limit: Option<BootTime>,
        call: impl Fn(Link) -> F,
    ) -> Result<Answered<T>, Failed>
    where
        F: Future<Output = Result<T, Trouble>>,
    {
        let limit = limit.unwrap_or_else(|| BootTime::now().plus(self.connect_timeout));
        let mut pause = Duration::from_millis(10);
        let mut was_sent = false;
        loop {
            let error = match self.link(limit).await {
                Err(NoLink { error, is_final: true }) => return Err(Failed { error, was_sent }),
                Err(NoLink { error, .. }) => error,
                Ok(link) => {
                    let patience = self.patience.min(limit.left());
                    let trouble = match tokio::time::timeout(patience, call(link.clone())).await {
                        Ok(Ok(value)) => return Ok(Answered { value, is_repeated: was_sent }),
                        Ok(Err(Trouble::Final(what))) => {
                            let error = server(&link.address, what);
                            return Err(Failed { error, was_sent });
                        }
                        Ok(Err(Trouble::Passing(what))) => what,
                        Err(_) => format!("no answer within {patience:?}"),
                    };
                    was_sent = true;
                    // Who was given hardly any time is not to blame.
                    if patience == self.patience {
                        self.leave(link.number);
                    }
                    server(&link.address, trouble)
                }
            };
            if limit.left() <= pause {
                return Err(Failed { error, was_sent });
            }
            tokio::time::sleep(pause).await;
            pause = (2 * pause).min(Duration::from_millis(500));
        }
    }

    /// The connection in use, or a new one.
    pub async fn link(&self, limit: BootTime) -> Result<Link, NoLink> {
        if let Some(link) = self.current() {
            return Ok(link);
        }
        let Ok(_only_one) = tokio::time::timeout(limit.left(), self.connecting.lock()).await else {
            return Err(self.nobody());
        };
        if let Some(link) = self.current() {
            return Ok(link);
        }
        self.connect(limit).await
    }

    /// A connection to the same server that no thread of the application ever drives: none can hold
    /// up what goes out there.
    pub async fn for_renewals(&self, link: &Link) -> Result<Link, Trouble> {
        let endpoint = &self.endpoints[link.index];
        let connection = link.for_renewals.get_or_try_init(|| endpoint.connect()).await;
        let connection = connection.map_err(|error| Trouble::Passing(error.to_string()))?;
        Ok(Link { channel: connection.clone(), ..link.clone() })
    }

    /// That connection is of no use any more.
    pub fn leave(&self, number: u64) {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if current.link.as_ref().is_some_and(|link| link.number == number) {
            current.link = None;
            current.index = (current.index + 1) % self.endpoints.len();
            self.changes.send_replace(0);
        }
    }

    /// Returns when `number` is no longer the connection in use.
    pub async fn left(&self, number: u64) {
        let mut changes = self.changes.subscribe();
        // The sender lives as long as we do.
        let _ = changes.wait_for(|current| *current != number).await;
    }

    fn current(&self) -> Option<Link> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner).link.clone()
    }

    /// Tries the servers one after the other, each with a head start before the next, and takes
    /// the first that lets us in. Each has some time only: another may be back before it is.
    async fn connect(&self, limit: BootTime) -> Result<Link, NoLink> {
        let first = self.current.lock().unwrap_or_else(PoisonError::into_inner).index;
        let mut order = (0..self.endpoints.len()).map(|it| (first + it) % self.endpoints.len());
        let patience = limit.left().min(self.patience.max(ONE_CONNECTION));
        let mut attempts = JoinSet::new();
        loop {
            if let Some(index) = order.next() {
                let (endpoint, login) = (self.endpoints[index].clone(), self.login.clone());
                attempts.spawn(async move {
                    let entered = tokio::time::timeout(patience, enter(&endpoint, login)).await;
                    let silent = || Trouble::Passing(format!("no answer within {patience:?}"));
                    (index, entered.unwrap_or_else(|_| Err(silent())))
                });
            }
            let (index, entered) = tokio::select! {
                biased;
                Some(Ok(done)) = attempts.join_next() => done,
                () = tokio::time::sleep(STAGGER), if order.len() > 0 => continue,
            };
            let no_link = |what: String, is_final| NoLink {
                error: server(&self.addresses[index], what),
                is_final,
            };
            match entered {
                Ok((channel, token)) => return Ok(self.take(index, channel, token)),
                Err(Trouble::Final(what)) => return Err(no_link(what, true)),
                Err(Trouble::Passing(what)) if attempts.is_empty() && order.len() == 0 => {
                    return Err(no_link(self.with_hint(what), false));
                }
                Err(Trouble::Passing(_)) => {}
            }
        }
    }

    fn nobody(&self) -> NoLink {
        let what = format!("no answer within {:?}", self.connect_timeout);
        NoLink { error: server(&self.addresses.join(", "), what), is_final: false }
    }

    fn take(&self, index: usize, channel: Connection, token: Option<MetadataValue<Ascii>>) -> Link {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        current.last_number += 1;
        let (number, address) = (current.last_number, self.addresses[index].clone());
        let for_renewals = Arc::default();
        let link = Link { number, channel, index, address, token, for_renewals };
        current.index = index;
        current.link = Some(link.clone());
        self.changes.send_replace(number);
        link
    }

    /// What a failed call means. An answer that says no is final; silence, and servers that look
    /// for a leader, are not.
    pub fn judge(&self, status: &Status) -> Trouble {
        let said = status.message();
        match status.code() {
            // The token is too old, or of a server that was started anew: log in again.
            Code::Unauthenticated if self.login.is_some() => Trouble::Passing(said.to_owned()),
            // Users or roles were changed since: log in again.
            Code::InvalidArgument if self.login.is_some() && said.contains("auth store is old") => {
                Trouble::Passing(said.to_owned())
            }
            // Nobody knows of it elsewhere either.
            Code::NotFound if said.contains("lease") => Trouble::Final(said.to_owned()),
            Code::Unauthenticated | Code::PermissionDenied => Trouble::Final(self.hinted(said)),
            Code::InvalidArgument | Code::FailedPrecondition if said.contains("user name") => {
                Trouble::Final(self.hinted(said))
            }
            Code::InvalidArgument | Code::FailedPrecondition | Code::OutOfRange => {
                Trouble::Final(said.to_owned())
            }
            Code::ResourceExhausted if said.contains("space") => Trouble::Final(said.to_owned()),
            Code::Unimplemented => {
                Trouble::Final("it does not know the calls of etcd 3: is it one?".to_owned())
            }
            _ => Trouble::Passing(self.explain(status)),
        }
    }

    fn hinted(&self, said: &str) -> String {
        format!("{said}; say who you are by ETCDCTL_USER and ETCDCTL_PASSWORD")
    }

    fn explain(&self, status: &Status) -> String {
        let text = match std::error::Error::source(status) {
            Some(source) => deepest(source),
            None => status.message().to_owned(),
        };
        self.with_hint(text)
    }

    /// With what may help, where a server has hung up on us without a word.
    fn with_hint(&self, text: String) -> String {
        let words =
            ["http2", "h2", "frame", "preface", "broken pipe", "reset", "closed", "fatal alert"];
        let lower = text.to_lowercase();
        let hint = match (self.is_encrypted, self.shows_certificate) {
            _ if !words.iter().any(|word| lower.contains(word)) => "",
            (false, _) => " (does it want TLS? that is said by --cacert; or is it no etcd?)",
            // A server that wants one hangs up after the handshake.
            (true, false) => {
                " (does it want to see a certificate? that is said by --cert and --key)"
            }
            (true, true) => "",
        };
        text + hint
    }
}

/// Connects, and logs in.
async fn enter(
    endpoint: &Endpoint,
    login: Option<AuthenticateRequest>,
) -> Result<(Connection, Option<MetadataValue<Ascii>>), Trouble> {
    let channel = endpoint.connect().await.map_err(|error| {
        let cause = deepest(&error);
        Trouble::Passing(match &*cause {
            it if it.contains("InvalidContentType") => {
                "it does not speak TLS; leave out --cacert to talk to it".to_owned()
            }
            // What etcd does that expects none.
            "tls handshake eof" => {
                "it hung up on TLS; if it does not speak that, leave out --cacert".to_owned()
            }
            _ => cause,
        })
    })?;
    let Some(login) = login else { return Ok((channel, None)) };
    let answer = AuthClient::new(channel.clone()).authenticate(login).await;
    match answer {
        Ok(answer) => {
            let token = answer.into_inner().token.parse();
            let token = token.map_err(|_| Trouble::Final("its token is none".to_owned()))?;
            Ok((channel, Some(token)))
        }
        // It wants no names: then ours does no harm.
        Err(status) if status.message().contains("authentication is not enabled") => {
            Ok((channel, None))
        }
        Err(status) if matches!(status.code(), Code::InvalidArgument | Code::Unauthenticated) => {
            Err(Trouble::Final(status.message().to_owned()))
        }
        Err(status) => Err(Trouble::Passing(deepest(&status))),
    }
}
