//! One member of a cluster: a process, its ports and its directory.

use std::ffi::OsStr;
use std::fs::OpenOptions;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::{Binaries, ClientCertificates, EtcdOptions};
use crate::hosts::Host;
use crate::nursery;
use crate::patience::wait_for;
use crate::ports::Port;

const PATIENCE: Duration = Duration::from_secs(1);
const STOP_MAX: Duration = Duration::from_secs(10);
/// As much of a log as says why a server did not start.
const TAIL_LINES: usize = 40;

/// Where members on hosts of their own listen: for clients, for peers, for questions of health.
const HOST_PORTS: [u16; 3] = [2379, 2380, 2381];

/// A member, running or not.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) name: String,
    /// `None` on loopback.
    pub(super) host: Option<Host>,
    pub(super) client: SocketAddr,
    pub(super) peer: SocketAddr,
    /// Health without TLS or users, whatever clients have to use.
    health: SocketAddr,
    directory: PathBuf,
    process: Mutex<Process>,
    _ports: Vec<Port>,
}

#[derive(Debug)]
enum Process {
    Down,
    Running(Child),
    Paused(Child),
}

impl Member {
    pub(super) fn new(number: usize, host: Option<Host>, directory: &Path) -> Self {
        let (address, ports, claimed) = match &host {
            Some(host) => (host.address(), HOST_PORTS, Vec::new()),
            None => {
                let claimed = [Port::claim(), Port::claim(), Port::claim()];
                (Ipv4Addr::LOCALHOST, claimed.each_ref().map(|port| port.number), claimed.into())
            }
        };
        let [client, peer, health] = ports.map(|port| SocketAddr::from((address, port)));
        Self {
            name: format!("member-{number}"),
            host,
            client,
            peer,
            health,
            directory: directory.to_owned(),
            process: Mutex::new(Process::Down),
            _ports: claimed,
        }
    }

    fn process(&self) -> MutexGuard<'_, Process> {
        // A test that failed elsewhere must still be able to stop its servers.
        self.process.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts the process, if it is down. `peers` is the cluster as etcd wants it said.
    pub(super) fn start(&self, binaries: &Binaries, options: &EtcdOptions, peers: &str) {
        let mut process = self.process();
        if !matches!(*process, Process::Down) {
            return;
        }
        let mut command = self.mortal_command(&binaries.etcd);
        self.add_arguments(&mut command, options, peers);
        let log = OpenOptions::new().create(true).append(true).open(self.log_path());
        let log = log.expect("the directory is ours");
        command.stdin(Stdio::null());
        command.stdout(log.try_clone().expect("a file can be shared")).stderr(log);
        *process = Process::Running(nursery::spawn(command).expect("etcd can be started"));
    }

    /// A program where this member runs.
    pub(super) fn command(&self, program: impl AsRef<OsStr>) -> Command {
        match &self.host {
            Some(host) => host.command(program),
            None => Command::new(program),
        }
    }

    /// A program where this member runs, which dies with the test.
    fn mortal_command(&self, program: &Path) -> Command {
        let Some([setpriv, arguments @ ..]) = nursery::dying_with_parent() else {
            return self.command(program);
        };
        let mut command = self.command(setpriv);
        command.args(arguments).arg(program);
        command
    }

    fn add_arguments(&self, command: &mut Command, options: &EtcdOptions, peers: &str) {
        // Options of somebody's own etcd are not meant for this one.
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("ETCD_") {
                command.env_remove(name);
            }
        }
        let client = format!("{}://{}", options.scheme(), self.client);
        let peer = format!("http://{}", self.peer);
        let health = format!("http://{}", self.health);
        command.args(["--name", &self.name]).arg("--data-dir").arg(self.directory.join("data"));
        command.args(["--listen-client-urls", &client, "--advertise-client-urls", &client]);
        command.args(["--listen-peer-urls", &peer, "--initial-advertise-peer-urls", &peer]);
        command.args(["--listen-metrics-urls", &health]);
        command.args(["--initial-cluster", peers, "--initial-cluster-state", "new"]);
        command.args(["--heartbeat-interval", &options.heartbeat.as_millis().to_string()]);
        command.args(["--election-timeout", &options.election.as_millis().to_string()]);
        if let Some(tls) = &options.tls {
            command.arg("--cert-file").arg(&tls.certificate).arg("--key-file").arg(&tls.key);
            // Even alone, to trust somebody means to etcd that clients must have a certificate.
            if tls.clients == ClientCertificates::Required {
                command.arg("--client-cert-auth").arg("--trusted-ca-file").arg(&tls.authority);
            }
        }
        command.args(&options.arguments);
    }

    /// Kills it, paused or not, and waits until it is gone.
    pub(super) fn kill(&self) {
        let mut process = self.process();
        if let Process::Running(child) | Process::Paused(child) = &mut *process {
            let _ = child.kill();
            let _ = child.wait();
        }
        *process = Process::Down;
    }

    /// Stops it where it stands; returns when none of its threads runs any more.
    pub(super) fn pause(&self) {
        let mut process = self.process();
        match std::mem::replace(&mut *process, Process::Down) {
            Process::Running(child) => {
                signal(&child, Signal::SIGSTOP);
                let stopped = wait_for(STOP_MAX, || is_stopped(child.id()).then_some(()));
                *process = Process::Paused(child);
                stopped.expect("a process stops when it is told to");
            }
            other => *process = other,
        }
    }

    pub(super) fn resume(&self) {
        let mut process = self.process();
        match std::mem::replace(&mut *process, Process::Down) {
            Process::Paused(child) => {
                signal(&child, Signal::SIGCONT);
                *process = Process::Running(child);
            }
            other => *process = other,
        }
    }

    /// Of the process, if there is one.
    pub(super) fn pid(&self) -> Option<u32> {
        match &*self.process() {
            Process::Down => None,
            Process::Running(child) | Process::Paused(child) => Some(child.id()),
        }
    }

    /// Whether it was neither killed nor paused by the test.
    pub(super) fn should_answer(&self) -> bool {
        matches!(*self.process(), Process::Running(_))
    }

    /// Whether it ended though nobody killed it.
    pub(super) fn has_died(&self) -> bool {
        match &mut *self.process() {
            Process::Running(child) => !matches!(child.try_wait(), Ok(None)),
            Process::Down | Process::Paused(_) => false,
        }
    }

    /// Whether it answers, and sees a leader that a majority follows.
    pub(super) fn is_healthy(&self) -> bool {
        self.ask_health().is_ok_and(|answer| answer.contains(r#""health":"true""#))
    }

    fn ask_health(&self) -> io::Result<String> {
        let connect = || TcpStream::connect_timeout(&self.health, PATIENCE);
        let mut stream = match &self.host {
            Some(host) => host.inside(connect)?,
            None => connect()?,
        };
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.write_all(b"GET /health HTTP/1.0\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    }

    fn log_path(&self) -> PathBuf {
        self.directory.join("log")
    }

    /// The end of its log.
    pub(super) fn log_tail(&self) -> String {
        let log = std::fs::read(self.log_path()).unwrap_or_default();
        let log = String::from_utf8_lossy(&log);
        let lines: Vec<&str> = log.lines().collect();
        let tail = &lines[lines.len().saturating_sub(TAIL_LINES)..];
        format!("--- {} ---\n{}", self.name, tail.join("\n"))
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        self.kill();
    }
}

fn signal(child: &Child, signal: Signal) {
    let pid = i32::try_from(child.id()).expect("ids of processes are positive");
    kill(Pid::from_raw(pid), signal).expect("it is our child, and not yet waited for");
}

fn is_stopped(pid: u32) -> bool {
    let Ok(tasks) = std::fs::read_dir(format!("/proc/{pid}/task")) else { return false };
    tasks.flatten().all(|task| {
        // The name stands in brackets before the state, and may have brackets of its own.
        let stat = std::fs::read_to_string(task.path().join("stat")).unwrap_or_default();
        stat.rsplit_once(") ").is_none_or(|(_, rest)| rest.starts_with('T'))
    })
}
