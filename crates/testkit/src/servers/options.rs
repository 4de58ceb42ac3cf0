//! How a cluster is started.

use std::path::PathBuf;
use std::time::Duration;

use super::{Binaries, EtcdCluster};
use crate::hosts::Host;

/// How a cluster of etcd is started. The default is plain HTTP without users.
#[derive(Clone, Debug)]
pub struct EtcdOptions {
    pub(super) heartbeat: Duration,
    pub(super) election: Duration,
    pub(super) tls: Option<Tls>,
    pub(super) root_password: Option<String>,
    pub(super) arguments: Vec<String>,
}

/// The files by which members prove to clients who they are. Members among themselves speak plain
/// HTTP.
#[derive(Clone, Debug)]
pub struct Tls {
    /// The servers' certificate, which must name 127.0.0.1, or the hosts' addresses.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
    /// Who signed the servers' certificate, and signs those of clients.
    pub authority: PathBuf,
    /// Whether clients must prove who they are.
    pub clients: ClientCertificates,
}

/// Whether clients must prove who they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientCertificates {
    /// Anybody may come.
    Ignored,
    /// Only who has a certificate of the authority. The servers' own must then be good for clients
    /// too: `etcdctl` uses it, and so does etcd when it talks to itself.
    Required,
}

impl Default for EtcdOptions {
    /// Half of etcd's own timeouts. Not less: a slow disk may take 200 ms to write, and must not
    /// cost the leader its place.
    fn default() -> Self {
        Self {
            heartbeat: Duration::from_millis(50),
            election: Duration::from_millis(500),
            tls: None,
            root_password: None,
            arguments: Vec::new(),
        }
    }
}

impl EtcdOptions {
    /// How often the leader says that it is there.
    #[must_use]
    pub fn heartbeat(mut self, interval: Duration) -> Self {
        self.heartbeat = interval;
        self
    }

    /// After how much silence a member wants to lead; at least five heartbeats.
    #[must_use]
    pub fn election(mut self, timeout: Duration) -> Self {
        self.election = timeout;
        self
    }

    /// Clients speak TLS.
    #[must_use]
    pub fn tls(mut self, tls: Tls) -> Self {
        self.tls = Some(tls);
        self
    }

    /// Only users with a password are let in; the first is `root`, with this one.
    #[must_use]
    pub fn root_password(mut self, password: &str) -> Self {
        self.root_password = Some(password.to_owned());
        self
    }

    /// One more argument for every member, such as `--pre-vote`.
    #[must_use]
    pub fn argument(mut self, argument: &str) -> Self {
        self.arguments.push(argument.to_owned());
        self
    }

    /// Starts so many members on loopback, and waits until all are healthy.
    ///
    /// # Panics
    ///
    /// If they are not after 30 seconds; the end of their logs is shown.
    pub fn start(&self, binaries: &Binaries, members: usize) -> EtcdCluster {
        EtcdCluster::start_with(binaries, self, vec![None; members])
    }

    /// Starts a member on each of these hosts, and waits until all are healthy.
    ///
    /// # Panics
    ///
    /// If they are not after 30 seconds; the end of their logs is shown.
    pub fn start_on(&self, binaries: &Binaries, hosts: &[Host]) -> EtcdCluster {
        EtcdCluster::start_with(binaries, self, hosts.iter().cloned().map(Some).collect())
    }

    pub(super) fn scheme(&self) -> &'static str {
        if self.tls.is_some() { "https" } else { "http" }
    }
}
