//! A cluster of etcd.

use std::ffi::OsStr;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

use super::member::Member;
use super::{Binaries, ClientCertificates, EtcdOptions};
use crate::hosts::{Host, Hosts};
use crate::patience::wait_for;

const PATIENCE: Duration = Duration::from_secs(30);
/// For a single question to a member; one without a majority would let us wait.
const QUESTION_MAX: &str = "2s";

/// A running cluster of etcd, each member with its own ports and its own directory. Members go when
/// this is dropped, and also when the test process is killed.
///
/// Members are numbered from 0. What is done to them can be done from several threads.
#[derive(Debug)]
pub struct EtcdCluster {
    binaries: Binaries,
    options: EtcdOptions,
    members: Vec<Member>,
    // After the members: they write into it until they are gone.
    directory: TempDir,
}

/// What a member says of the cluster.
struct Status {
    member: u64,
    leader: u64,
    term: u64,
}

impl EtcdCluster {
    /// Starts so many members on loopback, and waits until all are healthy.
    ///
    /// # Panics
    ///
    /// If they are not after 30 seconds; the end of their logs is shown.
    pub fn start(binaries: &Binaries, members: usize) -> Self {
        EtcdOptions::default().start(binaries, members)
    }

    /// Starts a member on each host, and waits until all are healthy. Clients reach it at port 2379
    /// of its host.
    ///
    /// # Panics
    ///
    /// If they are not after 30 seconds; the end of their logs is shown.
    pub fn on_hosts(binaries: &Binaries, hosts: &Hosts) -> Self {
        EtcdOptions::default().start_on(binaries, hosts.all())
    }

    /// For other timeouts, TLS, users and more.
    pub fn options() -> EtcdOptions {
        EtcdOptions::default()
    }

    pub(super) fn start_with(
        binaries: &Binaries,
        options: &EtcdOptions,
        places: Vec<Option<Host>>,
    ) -> Self {
        assert!(!places.is_empty(), "a cluster has at least one member");
        let directory = TempDir::with_prefix("conclave-etcd-").expect("a directory can be made");
        let member = |(number, host): (usize, Option<Host>)| {
            let folder = directory.path().join(number.to_string());
            std::fs::create_dir(&folder).expect("the directory is ours");
            Member::new(number, host, &folder)
        };
        let members = places.into_iter().enumerate().map(member).collect();
        let cluster =
            Self { binaries: binaries.clone(), options: options.clone(), members, directory };
        cluster.restart_all();
        cluster.wait_healthy();
        if let Some(password) = &options.root_password {
            cluster.demand_users(password);
        }
        cluster
    }

    /// How many members there are, running or not.
    pub fn size(&self) -> usize {
        self.members.len()
    }

    /// Where clients reach the members, as `127.0.0.1:20000`.
    pub fn endpoints(&self) -> Vec<String> {
        self.members.iter().map(|member| member.client.to_string()).collect()
    }

    /// All members in one address: `etcd://127.0.0.1:20000,127.0.0.1:20003/prefix`.
    pub fn url(&self, prefix: &str) -> String {
        format!("etcd://{}/{prefix}", self.endpoints().join(","))
    }

    /// The member whom a majority follows. Waits until there is one.
    ///
    /// # Panics
    ///
    /// If there is none for 30 seconds.
    pub fn leader(&self) -> usize {
        let found = wait_for(PATIENCE, || self.leader_now());
        found.unwrap_or_else(|| panic!("nobody leads{}", self.log_tails()))
    }

    /// Waits until a majority follows another member than this one: after a cut, it follows the old
    /// leader for a while.
    ///
    /// # Panics
    ///
    /// If it does not for 30 seconds.
    pub fn leader_other_than(&self, old: usize) -> usize {
        let found = wait_for(PATIENCE, || self.leader_now().filter(|leader| *leader != old));
        found.unwrap_or_else(|| panic!("nobody else leads{}", self.log_tails()))
    }

    /// The member whom a majority follows at this moment, if there is one.
    pub fn leader_now(&self) -> Option<usize> {
        let said = self.statuses();
        // One that was cut off may still believe in an old leader, so a single word is not enough.
        let is_followed = |candidate: &Status| {
            let follows = |it: &&Status| it.leader == candidate.member && it.term == candidate.term;
            said.iter().flatten().filter(follows).count() > self.size() / 2
        };
        said.iter().position(|status| status.as_ref().is_some_and(is_followed))
    }

    /// What each member says, `None` where it does not answer.
    fn statuses(&self) -> Vec<Option<Status>> {
        let ask = |member: &Member| {
            if !member.should_answer() {
                return None;
            }
            // As nobody: for this no user is needed, and to log in would need a majority.
            let mut command = self.etcdctl_at(member, &[member.client.to_string()]);
            command.args(["endpoint", "status", "-w", "json", "--command-timeout", QUESTION_MAX]);
            command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().ok()
        };
        // All are asked before any is waited for.
        let asked: Vec<_> = self.members.iter().map(ask).collect();
        let answer = |child: Option<std::process::Child>| {
            let output = child?.wait_with_output().ok()?;
            let said: Value = serde_json::from_slice(&output.stdout).ok()?;
            let status = &said[0]["Status"];
            Some(Status {
                member: status["header"]["member_id"].as_u64()?,
                leader: status["leader"].as_u64()?,
                term: status["raftTerm"].as_u64()?,
            })
        };
        asked.into_iter().map(answer).collect()
    }

    /// Kills a member, as a crash does, and waits until it is gone.
    pub fn kill(&self, member: usize) {
        self.members[member].kill();
    }

    /// Kills all members.
    pub fn kill_all(&self) {
        for member in &self.members {
            member.kill();
        }
    }

    /// Starts a killed member again, at the same address and with what it had written. Does not
    /// wait until it is healthy: there may be no majority yet.
    pub fn restart(&self, member: usize) {
        let entry = |member: &Member| format!("{}=http://{}", member.name, member.peer);
        let peers: Vec<String> = self.members.iter().map(entry).collect();
        self.members[member].start(&self.binaries, &self.options, &peers.join(","));
    }

    /// Starts all killed members again. Does not wait until they are healthy.
    pub fn restart_all(&self) {
        for member in 0..self.size() {
            self.restart(member);
        }
    }

    /// Stops a member where it stands; its connections stay open and silent.
    pub fn pause(&self, member: usize) {
        self.members[member].pause();
    }

    /// Lets a paused member go on.
    pub fn resume(&self, member: usize) {
        self.members[member].resume();
    }

    /// The process of a member, if it was not killed.
    pub fn pid(&self, member: usize) -> Option<u32> {
        self.members[member].pid()
    }

    /// Waits until every member answers that was neither killed nor paused, and sees a leader.
    ///
    /// # Panics
    ///
    /// If one does not for 30 seconds, or ended by itself; the end of all logs is shown.
    pub fn wait_healthy(&self) {
        let mut waiting: Vec<&Member> =
            self.members.iter().filter(|member| member.should_answer()).collect();
        let healthy = wait_for(PATIENCE, || {
            if let Some(dead) = waiting.iter().find(|member| member.has_died()) {
                panic!("{} ended by itself{}", dead.name, self.log_tails());
            }
            waiting.retain(|member| !member.is_healthy());
            waiting.is_empty().then_some(())
        });
        if healthy.is_none() {
            panic!("{} is not healthy{}", waiting[0].name, self.log_tails());
        }
    }

    fn log_tails(&self) -> String {
        self.members.iter().map(|member| format!("\n{}", member.log_tail())).collect()
    }

    /// The directory of the whole cluster: of member 0, `0/log` is the log and `0/data` what it
    /// wrote.
    pub fn directory(&self) -> &std::path::Path {
        self.directory.path()
    }

    /// `etcdctl` for this cluster, as `root` if there are users. On hosts it runs on the first
    /// whose member is up.
    pub fn etcdctl<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Command {
        let place = self.members.iter().find(|member| member.should_answer());
        let place = place.unwrap_or(&self.members[0]);
        let mut command = self.etcdctl_at(place, &self.endpoints());
        if let Some(password) = &self.options.root_password {
            command.args(["--user", &format!("root:{password}")]);
        }
        command.args(args);
        command
    }

    /// `etcdctl` where a member runs, as nobody.
    fn etcdctl_at(&self, place: &Member, endpoints: &[String]) -> Command {
        let mut command = place.command(&self.binaries.etcdctl);
        // Options of somebody's own etcd are not meant for this one.
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("ETCDCTL_") {
                command.env_remove(name);
            }
        }
        command.env("ETCDCTL_API", "3");
        let with_scheme = |it: &String| format!("{}://{it}", self.options.scheme());
        let endpoints: Vec<String> = endpoints.iter().map(with_scheme).collect();
        command.args(["--endpoints", &endpoints.join(",")]);
        if let Some(tls) = &self.options.tls {
            command.arg("--cacert").arg(&tls.authority);
            if tls.clients == ClientCertificates::Required {
                command.arg("--cert").arg(&tls.certificate).arg("--key").arg(&tls.key);
            }
        }
        command
    }

    /// From now on, nobody is let in without a password.
    fn demand_users(&self, password: &str) {
        let steps: [&[&str]; 4] = [
            &["user", "add", &format!("root:{password}")],
            &["role", "add", "root"],
            &["user", "grant-role", "root", "root"],
            &["auth", "enable"],
        ];
        for step in steps {
            // As nobody: before it has users, a server refuses even the right password.
            let mut command = self.etcdctl_at(&self.members[0], &self.endpoints());
            let output = command.args(step).output().expect("etcdctl can be run");
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "etcdctl {}: {said}", step.join(" "));
        }
    }
}
