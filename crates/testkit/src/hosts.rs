//! Several hosts on one machine: network namespaces, joined by a switch of their own, between
//! which packets can be lost.
//!
//! ```no_run
//! # use conclave_testkit::hosts::{self, Hosts};
//! if !hosts::required() {
//!     return;
//! }
//! let hosts = Hosts::new(3);
//! hosts.isolate(0);
//! ```
//!
//! Nothing of it is seen outside. A packet that is lost is lost silently: who sends it gets no
//! error, and who waits for it waits.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs::File;
use std::io::Write as _;
use std::net::Ipv4Addr;
use std::ops::Index;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{LazyLock, Once};
use std::time::Duration;

use nix::sched::{CloneFlags, setns};
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, Uid};

use crate::left_out::leave_out;
use crate::patience::wait_for;
use crate::servers::{find, program};

/// All names of namespaces begin so; the id of the process that made them follows.
const PREFIX: &str = "conclave-";
/// Nobody has this address, so what is sent to it is lost in the switch.
const NOWHERE: &str = "02:4d:00:00:ff:ff";
const DEATH_MAX: Duration = Duration::from_secs(5);
const HOSTS_MAX: usize = 200;

/// Whether hosts can be made here: it takes root, `ip` and a kernel that lets us.
pub fn available() -> bool {
    static AVAILABLE: LazyLock<bool> = LazyLock::new(|| {
        let has_programs = find("ip").is_some() && find("nsenter").is_some();
        if !has_programs || !Uid::effective().is_root() {
            return false;
        }
        let probe = format!("{PREFIX}{}-probe", std::process::id());
        let can = try_ip(&["netns", "add", &probe]).is_ok();
        can && try_ip(&["netns", "del", &probe]).is_ok()
    });
    *AVAILABLE
}

/// Whether hosts can be made here; if not, says that this test is left out.
///
/// # Panics
///
/// If they cannot and the variable `CI` is `true`.
pub fn required() -> bool {
    if !available() {
        leave_out("network namespaces", "as root, with ip of `cargo xtask servers`");
    }
    available()
}

/// A set of hosts that reach each other and nobody else. All is gone when this is dropped, with
/// the processes that still run there.
#[derive(Debug)]
pub struct Hosts {
    switch: String,
    hosts: Vec<Host>,
}

/// One host: a name for a network namespace, which is there for as long as its [`Hosts`].
#[derive(Clone, Debug)]
pub struct Host {
    name: String,
    number: usize,
}

impl Hosts {
    /// Makes so many hosts that all reach each other.
    ///
    /// # Panics
    ///
    /// If they cannot be made; ask [`required`] before.
    pub fn new(count: usize) -> Self {
        static SWEPT: Once = Once::new();
        static NEXT: AtomicU32 = AtomicU32::new(0);
        SWEPT.call_once(sweep);
        assert!(count <= HOSTS_MAX, "at most {HOSTS_MAX} hosts");
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let set = format!("{PREFIX}{}-{number}", std::process::id());
        let host = |number| Host { name: format!("{set}-{number}"), number };
        let hosts = Self { switch: format!("{set}-switch"), hosts: (0..count).map(host).collect() };
        hosts.wire();
        hosts
    }

    /// All of them, in order.
    pub fn all(&self) -> &[Host] {
        &self.hosts
    }

    fn wire(&self) {
        let mut outside = format!("netns add {}\n", self.switch);
        let mut switch = String::from("link add bridge type bridge\nlink set bridge up\n");
        for host in &self.hosts {
            let Host { name, number } = host;
            let mac = host.mac();
            // Both ends are born where they belong, so that nothing is ever seen outside.
            let ends = format!("link add port{number} netns {} type veth peer", self.switch);
            let _ = writeln!(outside, "netns add {name}");
            let _ = writeln!(outside, "{ends} name eth0 address {mac} netns {name}");
            let _ = writeln!(switch, "link set port{number} master bridge up");
        }
        ip_batch(None, &outside);
        ip_batch(Some(&self.switch), &switch);
        for host in &self.hosts {
            let address = host.address();
            let up = "link set lo up\nlink set eth0 up\n";
            let to_all = self.routes(host, Host::mac);
            ip_batch(Some(&host.name), &format!("{up}address add {address}/24 dev eth0\n{to_all}"));
        }
    }

    /// Where a host sends what is meant for the others. Nobody has to ask for addresses, and so
    /// the answer can be wrong.
    fn routes(&self, from: &Host, mac: impl Fn(&Host) -> String) -> String {
        let others = self.hosts.iter().filter(|to| to.number != from.number);
        let route = |to: &Host| {
            let (address, mac) = (to.address(), mac(to));
            format!("neigh replace {address} lladdr {mac} dev eth0 nud permanent\n")
        };
        others.map(route).collect()
    }

    /// From now on nothing gets from either to the other; open connections fall silent.
    pub fn cut(&self, one: usize, other: usize) {
        self.cut_one_way(one, other);
        self.cut_one_way(other, one);
    }

    /// From now on nothing gets from `from` to `to`. The other way is as it was.
    pub fn cut_one_way(&self, from: usize, to: usize) {
        let address = self[to].address();
        let lost = format!("neigh replace {address} lladdr {NOWHERE} dev eth0 nud permanent\n");
        ip_batch(Some(&self[from].name), &lost);
    }

    /// From now on nothing gets from this host to any other, nor to it. What runs on it still
    /// reaches what else runs there, by loopback and by the host's address.
    pub fn isolate(&self, host: usize) {
        let lost = self.routes(&self[host], |_| NOWHERE.to_owned());
        ip_batch(Some(&self[host].name), &lost);
        for other in (0..self.hosts.len()).filter(|other| *other != host) {
            self.cut_one_way(other, host);
        }
    }

    /// All reach each other again.
    pub fn heal(&self) {
        for host in &self.hosts {
            ip_batch(Some(&host.name), &self.routes(host, Host::mac));
        }
    }
}

impl Index<usize> for Hosts {
    type Output = Host;

    fn index(&self, number: usize) -> &Host {
        &self.hosts[number]
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        let names = self.hosts.iter().map(|host| &host.name).chain([&self.switch]);
        for name in names {
            remove(name);
        }
    }
}

impl Host {
    /// Where the others reach it. Sets of hosts do not see each other, and have the same ones.
    pub fn address(&self) -> Ipv4Addr {
        Ipv4Addr::new(10, 77, 0, self.octet())
    }

    /// The name of its namespace, as `ip netns` shows it.
    pub fn name(&self) -> &str {
        &self.name
    }

    fn mac(&self) -> String {
        format!("02:4d:00:00:00:{:02x}", self.octet())
    }

    fn octet(&self) -> u8 {
        u8::try_from(self.number + 1).expect("there are few hosts")
    }

    /// A program on this host. The process that is started becomes the program: its id and its
    /// signals are the program's.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(find("nsenter").unwrap_or_else(|| "nsenter".into()));
        command.arg(format!("--net={}", self.namespace().display())).arg("--").arg(program);
        command
    }

    /// Does something on this host, in a thread of its own. Sockets that it makes stay there,
    /// whoever uses them later.
    pub fn inside<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        let enter = || {
            let namespace = File::open(self.namespace()).expect("the host is there");
            setns(namespace, CloneFlags::CLONE_NEWNET).expect("root may enter it");
            work()
        };
        let done = std::thread::scope(|scope| scope.spawn(enter).join());
        done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }

    fn namespace(&self) -> PathBuf {
        PathBuf::from("/run/netns").join(&self.name)
    }
}

/// Removes what test processes left behind that were killed.
fn sweep() {
    for name in namespaces() {
        let owner = name.strip_prefix(PREFIX).and_then(|rest| rest.split('-').next());
        let Some(owner) = owner.and_then(|pid| pid.parse::<u32>().ok()) else { continue };
        if !std::fs::exists(format!("/proc/{owner}")).unwrap_or(true) {
            remove(&name);
        }
    }
}

fn namespaces() -> Vec<String> {
    let Ok(entries) = std::fs::read_dir("/run/netns") else { return Vec::new() };
    entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect()
}

/// Kills who is inside, then removes the namespace. Another process may be doing the same, so
/// nothing here must succeed.
fn remove(name: &str) {
    let emptied = wait_for(DEATH_MAX, || {
        let inside = try_ip(&["netns", "pids", name]).unwrap_or_default();
        let pids: Vec<i32> = inside.lines().filter_map(|pid| pid.trim().parse().ok()).collect();
        for pid in &pids {
            let _ = kill(Pid::from_raw(*pid), Signal::SIGKILL);
        }
        pids.is_empty().then_some(())
    });
    if emptied.is_none() {
        let _ = writeln!(std::io::stderr(), "processes in {name} do not die");
    }
    let _ = try_ip(&["netns", "del", name]);
}

/// Does all lines, in a namespace if one is named.
///
/// # Panics
///
/// If one of them fails.
fn ip_batch(namespace: Option<&str>, lines: &str) {
    let mut command = program("ip");
    command.args(namespace.iter().flat_map(|name| ["-n", name])).args(["-batch", "-"]);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("ip can be started");
    let mut input = child.stdin.take().expect("it is piped");
    input.write_all(lines.as_bytes()).expect("ip reads what it is told");
    drop(input);
    let output = child.wait_with_output().expect("it is our child");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "ip {namespace:?}: {said}\n{lines}");
}

fn try_ip(args: &[&str]) -> Result<String, String> {
    let output = program("ip").args(args).output().map_err(|error| error.to_string())?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
