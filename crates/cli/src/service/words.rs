//! The words of the commands that hold real locks.

use std::ffi::OsString;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::{Args, Subcommand};
use conclave_client::{Name, Request, Target};

use crate::wrapper::OnLost;

const LOCK_EXAMPLES: &str = "Examples:
  conclave lock nightly -- ./backup.sh --full
  conclave lock -w 10 -E 3 nightly -- ./backup.sh   give up after 10 s, with 3
  conclave lock -s accounts -- ./report.sh          readers together, writers alone
  conclave lock --slots 4 farm -- ./render.sh       four at a time
  conclave lock --once 1h hourly -- ./mail.sh       at most one completed run an hour
  conclave lock nightly -c 'dump | gzip > out'      by the shell
  exec 9< <(conclave lock nightly --hold)           in bash: until `exec 9<&-`; read -u 9 waits

Times are seconds, or 300ms, 5m, 1h, 1d. With --once a little less than a PERIOD counts as one, as
clocks differ and cron is late: a tenth of it, at most 30 s. `conclave once NAME` tells the last
run.

The command sees
  CONCLAVE_LOCK    the name
  CONCLAVE_FENCE   a number larger than that of every earlier holder
  CONCLAVE_OWNER   who holds it, as `conclave locks` has it
  CONCLAVE_KIND    lock, or election
  CONCLAVE_AT      where the locks live, so that a conclave within means the same
  CONCLAVE_DIR     the directory, if that is on this machine
  CONCLAVE_GUARD   the process that ends the command if we die
and a command of --on-lost sees
  CONCLAVE_LOST    why
  CONCLAVE_GROUP   the command's process group

Exit codes:
  the command's own; 128+N if signal N killed it; 0 if --hold was told to let go
  1 (or -E)        not acquired
  64               bad usage
  69               the engine cannot be used
  75               the lock was lost
  126, 127         the command is not executable, was not found";

const ELECT_EXAMPLES: &str = "Examples:
  conclave elect primary --value db1:5432 -- ./serve --as-primary
  conclave observe primary                          who leads, as it changes

The leader leads until its command ends. Variables, times and exit codes are those of `conclave lock`.";

/// What the help of every command that holds or shows locks ends with.
const VARIABLES: &str = "Variables:
  CONCLAVE_AT       where the locks live, as --at has it
  CONCLAVE_DIR      the directory of local: if that names none
  ETCDCTL_CACERT, ETCDCTL_CERT, ETCDCTL_KEY, ETCDCTL_USER, ETCDCTL_PASSWORD
                    as etcdctl has them, for etcd://
  HOME, XDG_STATE_HOME, XDG_CONFIG_HOME
                    where local: is by default, and conclave.toml; cron may have others than your
                    shell has, and so other locks: -v says which are used
An option goes before a variable, and that before conclave.toml, the user's before /etc.";

/// Exit codes of `conclave observe`.
const OBSERVE_CODES: &str = "Exit codes: 0 somebody leads (with --now), or nobody reads any \
more; 1 nobody leads (with
--now); 64 bad usage; 69 the engine cannot be used.";

/// Exit codes of `conclave locks`.
const LOCKS_CODES: &str =
    "Exit codes: 0 listed; 64 bad usage; 69 the engine cannot be used, or not all can be read.";

/// Exit codes of `conclave unlock`.
const UNLOCK_CODES: &str = "Exit codes: 0 taken away; 1 nobody was there to take it from; 64 \
bad usage; 69 the engine cannot
be used.";

/// Exit codes of `conclave fence check`.
const FENCE_CODES: &str = "Exit codes: 0 held with this fence now; 1 late, or never given out; 64 \
bad usage; 69 unknown, for
the engine cannot be asked.";

/// That text, and the variables that all service commands heed.
fn help(text: &str) -> String {
    format!("{text}\n\n{VARIABLES}")
}

/// The commands of the service.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a command while holding a lock; on THIS MACHINE ONLY unless --at says otherwise
    #[command(version, after_help = help(LOCK_EXAMPLES))]
    Lock(Box<LockArgs>),
    /// Wait to be the leader, then run a command as such; on THIS MACHINE ONLY unless --at says
    /// otherwise
    #[command(version, after_help = help(ELECT_EXAMPLES))]
    Elect(Box<ElectArgs>),
    /// Tell when `lock --once` last ran, and by whom; exit with 1 if it never did
    Once(OnceArgs),
    /// Follow who leads: vacant, elected, resigned
    #[command(after_help = help(OBSERVE_CODES))]
    Observe(ObserveArgs),
    /// List who holds what since when, with which fence, and who waits
    #[command(after_help = help(LOCKS_CODES))]
    Locks(LocksArgs),
    /// Take a lock away from its holder, with a line in the audit log
    #[command(after_help = help(UNLOCK_CODES))]
    Unlock(UnlockArgs),
    /// Ask about fences, the numbers that only grow
    #[command(subcommand)]
    Fence(FenceCommand),
}

/// Where the locks live.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Where the locks live")]
pub struct EngineArgs {
    /// local: or local:DIR (this machine only), or etcd://HOST:PORT,.../PREFIX [default:
    /// $CONCLAVE_AT, else what conclave.toml says, else local:]
    // Not parsed here: what is wrong with it would be printed with all of it, a password too.
    #[arg(long, value_name = "URL", conflicts_with = "dir")]
    pub at: Option<String>,
    /// A directory on this machine, as by --at local:DIR [default: $CONCLAVE_DIR, or conclave below
    /// $XDG_STATE_HOME or ~/.local/state]
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
    /// Accept a directory on a network file system, whose locks may not hold
    #[arg(long)]
    pub allow_network_fs: bool,
    /// Say nothing of a directory in memory (tmpfs), where a restart of the machine loses fences
    /// and what --once remembers
    #[arg(long)]
    pub allow_volatile: bool,
    /// How long a server may take to answer for the first time [default: 5]
    #[arg(long, value_name = "SECONDS", value_parser = connect_timeout, allow_negative_numbers = true)]
    pub connect_timeout: Option<Duration>,
    /// Trust servers whose certificates are signed by those in this file [default:
    /// $ETCDCTL_CACERT]
    #[arg(long, value_name = "FILE")]
    pub cacert: Option<PathBuf>,
    /// The certificate to show to the servers, with --key [default: $ETCDCTL_CERT]
    #[arg(long, value_name = "FILE")]
    pub cert: Option<PathBuf>,
    /// The key of that certificate [default: $ETCDCTL_KEY]
    #[arg(long, value_name = "FILE")]
    pub key: Option<PathBuf>,
    /// Who asks, with a password by --password-file or $ETCDCTL_PASSWORD [default: $ETCDCTL_USER,
    /// which may be NAME:PASSWORD]
    #[arg(long, value_name = "NAME")]
    pub user: Option<String>,
    /// The file whose only line is the password
    #[arg(long, value_name = "FILE")]
    pub password_file: Option<PathBuf>,
    /// Say on standard error which locks are used, and what happens when
    #[arg(short, long)]
    pub verbose: bool,
}

/// What `lock` and `elect` have in common.
#[derive(Debug, Args)]
pub struct HoldArgs {
    /// Any text of up to 255 bytes
    #[arg(value_parser = name)]
    pub name: Name,
    /// What to run, with its arguments; all that follows belongs to it
    #[arg(
        value_name = "COMMAND",
        trailing_var_arg = true,
        allow_hyphen_values = true,
        conflicts_with = "shell"
    )]
    pub command: Vec<OsString>,
    /// Run this text with $SHELL -c (or sh) instead of a command; it may also follow NAME, as all
    /// that does
    #[arg(short = 'c', long = "command", value_name = "TEXT")]
    pub shell: Option<OsString>,
    /// Hold it without a command: say `held FENCE`, and let go on INT, TERM or HUP, or when nobody
    /// reads our output any more; may also follow NAME
    #[arg(long = "hold", conflicts_with_all = ["shell", "min_hold"])]
    pub only_hold: bool,
    /// Do not wait: exit with 1 if it is taken
    #[arg(short, long, visible_aliases = ["nonblocking", "nb"], overrides_with = "nonblock")]
    pub nonblock: bool,
    /// Wait no longer than that, then exit with 1; with -n too, do not wait at all
    #[arg(short, long, visible_alias = "timeout", value_name = "SECONDS", value_parser = duration, allow_negative_numbers = true)]
    pub wait: Option<Duration>,
    /// Exit with this code instead of 1 if it was not acquired
    #[arg(short = 'E', long, value_name = "CODE", default_value_t = crate::exit::NOT_ACQUIRED, value_parser = exit_code, allow_negative_numbers = true)]
    pub conflict_exit_code: u8,
    /// What `conclave locks` shows of the holder [default: the command]
    #[arg(long, value_name = "TEXT")]
    pub label: Option<String>,
    /// What to do with the command when the lock is lost: term (then KILL), kill, ignore, or a
    /// command of yours
    #[arg(long, value_name = "ACTION", default_value = "term")]
    pub on_lost: OnLost,
    /// How long the command may take to end after TERM before it gets KILL [default: 10; with a
    /// TTL 2, and at most half of that]
    #[arg(long, value_name = "SECONDS", value_parser = duration, allow_negative_numbers = true)]
    pub kill_after: Option<Duration>,
    /// How long the lock stays ours when the servers hear nothing from us, 2 s to 5 min; for
    /// engines with servers [default: 10]
    #[arg(long, value_name = "SECONDS", value_parser = ttl, allow_negative_numbers = true)]
    pub ttl: Option<Duration>,
    /// Hold it for at least that time, even if the command ends earlier
    #[arg(long, value_name = "SECONDS", default_value = "0", value_parser = duration, hide_default_value = true, allow_negative_numbers = true)]
    pub min_hold: Duration,
    /// Let go when the command itself has ended, whatever it left running: it does not inherit the
    /// lock
    #[arg(short = 'o', long)]
    pub close: bool,
    /// An option of flock(1) that is answered with what to do instead.
    #[arg(short, long, hide = true)]
    pub unlock: bool,
    /// An option of flock(1) that is answered with why it cannot be.
    #[arg(short = 'F', long, hide = true)]
    pub no_fork: bool,
    /// Where the locks live.
    #[command(flatten)]
    pub engine: EngineArgs,
}

/// `conclave lock`
#[derive(Debug, Args)]
pub struct LockArgs {
    /// Hold it together with all others who use -s, as readers do
    #[arg(short, long, conflicts_with = "slots", overrides_with_all = ["exclusive", "shared"])]
    pub shared: bool,
    /// Hold it alone, as writers do: the default. Of this and -s the last one counts
    #[arg(
        short = 'x',
        short_alias = 'e',
        long,
        conflicts_with = "slots",
        overrides_with_all = ["exclusive", "shared"]
    )]
    pub exclusive: bool,
    /// Let so many hold it at once; all who use the name must give the same COUNT
    #[arg(long, value_name = "COUNT", value_parser = slots, allow_negative_numbers = true)]
    pub slots: Option<u32>,
    /// Run at most once per PERIOD, by whoever comes first; the others exit with 0 and say who ran
    /// it. A run counts when the command exits with 0
    #[arg(long, value_name = "PERIOD", value_parser = period, conflicts_with_all = ["shared", "slots", "only_hold"])]
    pub once: Option<Duration>,
    /// What `elect` has too.
    #[command(flatten)]
    pub hold: HoldArgs,
}

/// `conclave elect`
#[derive(Debug, Args)]
pub struct ElectArgs {
    /// What the leader publishes to those who observe, e.g. where it can be reached
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    pub value: String,
    /// What `lock` has too.
    #[command(flatten)]
    pub hold: HoldArgs,
}

/// `conclave once`
#[derive(Debug, Args)]
pub struct OnceArgs {
    /// The lock of `conclave lock --once`
    #[arg(value_parser = name)]
    pub name: Name,
    /// Forget the last run: whoever comes next runs again. Waits until nobody holds the lock
    #[arg(long)]
    pub reset: bool,
    /// Which engine, and where.
    #[command(flatten)]
    pub engine: EngineArgs,
}

/// `conclave observe`
#[derive(Debug, Args)]
pub struct ObserveArgs {
    /// The name of the election
    #[arg(value_parser = name)]
    pub name: Name,
    /// Print one line, who leads now, and exit: with 0 if somebody does, with 1 if nobody does
    #[arg(long)]
    pub now: bool,
    /// Print JSON, for programs: one object a line
    #[arg(long)]
    pub json: bool,
    /// Where the locks live.
    #[command(flatten)]
    pub engine: EngineArgs,
}

/// `conclave locks`
#[derive(Debug, Args)]
pub struct LocksArgs {
    /// Show the lock and the election of this name only
    #[arg(value_parser = name)]
    pub name: Option<Name>,
    /// Also list names that nobody holds or waits for
    #[arg(long)]
    pub all: bool,
    /// Print JSON, for programs
    #[arg(long)]
    pub json: bool,
    /// Where the locks live.
    #[command(flatten)]
    pub engine: EngineArgs,
}

/// `conclave unlock`
#[derive(Debug, Args)]
pub struct UnlockArgs {
    /// The name of the lock
    #[arg(value_parser = name)]
    pub name: Name,
    /// Really take it away; without this nothing is done
    #[arg(long)]
    pub force: bool,
    /// Only from the holder with this fence [default: from all who hold it]
    #[arg(long, value_name = "FENCE", value_parser = fence, allow_negative_numbers = true)]
    pub fence: Option<u64>,
    /// Only from this process, on that machine if it is said: what it holds, or its place in the
    /// queue
    #[arg(long, value_name = "PID[@HOST]", value_parser = process, allow_negative_numbers = true, conflicts_with = "fence")]
    pub pid: Option<Target>,
    /// The election of that name instead
    #[arg(long)]
    pub election: bool,
    /// Where the locks live.
    #[command(flatten)]
    pub engine: EngineArgs,
}

/// `conclave fence`
#[derive(Debug, Subcommand)]
pub enum FenceCommand {
    /// Exit with 0 if somebody holds the lock with this fence now, with 1 if it is late
    #[command(after_help = help(FENCE_CODES))]
    Check(FenceCheckArgs),
}

/// `conclave fence check`
#[derive(Debug, Args)]
pub struct FenceCheckArgs {
    /// The name of the lock
    #[arg(value_parser = name)]
    pub name: Name,
    /// The number, as in $CONCLAVE_FENCE
    #[arg(value_name = "FENCE", value_parser = fence, allow_negative_numbers = true)]
    pub fence: u64,
    /// The election of that name instead
    #[arg(long)]
    pub election: bool,
    /// Where the locks live.
    #[command(flatten)]
    pub engine: EngineArgs,
}

impl FromStr for OnLost {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "term" => Ok(Self::Term),
            "kill" => Ok(Self::Kill),
            "ignore" => Ok(Self::Ignore),
            "" => Err("say term, kill, ignore or a command".into()),
            command => Ok(Self::Run(command.into())),
        }
    }
}

fn name(text: &str) -> Result<Name, String> {
    text.parse().map_err(|error: conclave_client::NameError| error.to_string())
}

fn exit_code(text: &str) -> Result<u8, String> {
    text.parse().map_err(|_| "an exit code is a number from 0 to 255".to_owned())
}

fn slots(text: &str) -> Result<u32, String> {
    let count = text.parse().ok().filter(|count| *count > 0);
    count.ok_or_else(|| "slots are a whole number, at least 1".to_owned())
}

fn fence(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| "a fence is a whole number, as in $CONCLAVE_FENCE".to_owned())
}

fn process(text: &str) -> Result<Target, String> {
    let (pid, host) = match text.split_once('@') {
        Some((pid, host)) => (pid, Some(host.to_owned())),
        None => (text, None),
    };
    let pid = pid.parse().ok().filter(|pid| *pid > 0 && host.as_deref() != Some(""));
    let pid = pid.ok_or("a process is its number, or NUMBER@HOST, as in `conclave locks`")?;
    Ok(Target::Process { pid, host })
}

/// As [`duration`], but not zero: nobody answers as soon as that.
pub fn connect_timeout(text: &str) -> Result<Duration, String> {
    let timeout = duration(text)?;
    if timeout.is_zero() {
        return Err("it takes some time to connect; say more than 0 seconds".into());
    }
    Ok(timeout)
}

/// A time that may be zero; bare numbers are seconds, as flock(1) has it.
pub fn duration(text: &str) -> Result<Duration, String> {
    let wrong =
        || "a time is a number of seconds like 2 or 0.5, or 300ms, 10s, 5m, 1h, 1d".to_owned();
    let end = text.find(|it: char| it.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let is_number = number.chars().all(|it| it.is_ascii_digit() || it == '.');
    let number: f64 = number.parse().ok().filter(|_| is_number).ok_or_else(wrong)?;
    let seconds = match unit {
        "ms" => 0.001,
        "" | "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        "d" => 86_400.0,
        _ => return Err(wrong()),
    };
    Duration::try_from_secs_f64(number * seconds).map_err(|_| wrong())
}

fn ttl(text: &str) -> Result<Duration, String> {
    let ttl = duration(text)?;
    if ttl < Duration::from_secs(2) || ttl > Duration::from_secs(300) {
        return Err("the time to live is at least 2 s and at most 5m".into());
    }
    Ok(ttl)
}

fn period(text: &str) -> Result<Duration, String> {
    let period = duration(text)?;
    if period < Duration::from_secs(1) {
        return Err("a period is at least one second, e.g. 1h or 1d".into());
    }
    Ok(period)
}

/// How long a session lasts without news, unless `--ttl` says otherwise.
const DEFAULT_TTL: Duration = Duration::from_secs(10);

impl HoldArgs {
    /// How long a session of an engine with servers lasts without news.
    pub fn ttl_or_default(&self) -> Duration {
        self.ttl.unwrap_or(DEFAULT_TTL)
    }
}

impl LockArgs {
    /// What is asked of the engine.
    ///
    /// # Errors
    /// If a label is too long, or there are no slots.
    pub fn request(&self, label: &str) -> Result<Request, conclave_client::Error> {
        let request = Request::from(self.hold.name.clone()).labelled(label)?;
        match self.slots {
            Some(count) => request.slots(count),
            None if self.shared => Ok(request.shared()),
            None => Ok(request),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bare_numbers_are_seconds() {
        for (text, milliseconds) in [
            ("2", 2000),
            ("0.5", 500),
            ("0", 0),
            ("300ms", 300),
            ("1.5m", 90_000),
            ("1d", 86_400_000),
        ] {
            assert_eq!(duration(text), Ok(Duration::from_millis(milliseconds)), "{text}");
        }
        for text in ["", "s", "-1", "1x", "1e3", "inf", "nan", "1 s", "99999999999999999999d"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }
}
