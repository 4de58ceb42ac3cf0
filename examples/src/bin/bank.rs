//! Two cash machines and one account.
//!
//! Each machine is a process. A deposit is to read the balance, to think, and to write the new
//! one. Without a lock both read the same balance, and one deposit is lost. With it none is, not
//! even if machines are killed while they hold the lock.
//!
//! The lock alone is not enough for that. Three things are needed, each for a reason of its own:
//!
//! - **The lock** keeps the other machine out between reading and writing.
//! - **One write that is whole or not at all.** A lock does not make a write atomic: a machine
//!   that is killed in the middle would leave half an account, and the kernel would hand the lock
//!   to the next one all the same. So the new account goes to a temporary file that is renamed.
//!   Balance and number of the last deposit are in the *same* file. Were they in two, a kill
//!   between them would leave a deposit that is booked but not counted, and the machine, when it is
//!   started again, would book it twice.
//! - **The fence.** A machine that is only slow (suspended, and its lock taken away by force) wakes
//!   up later and writes. The gate at the account refuses it.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::time::Duration;

use conclave_client::gate::{FileGate, GateError};
use conclave_client::{Guard, Request, blocking};
use conclave_examples::{
    Actor, Failure, Stage, StartingGun, Words, client, garbled, number, random_below, run, say,
    verdict, wait_for_the_start,
};

const HELP: &str = "Two cash machines make 200 deposits of 1 each into one account

usage: bank [--without-lock | --kill] [--dir DIR]

  --without-lock  nobody locks anything, and money is lost
  --kill          every few deposits a machine that just holds the lock is killed and started again
  --dir DIR       work in this new or empty directory [default: a temporary one]

exit codes: 0 the balance is exact; 1 money was lost; 64 bad usage; 69 something does not work";

const MACHINES: usize = 2;
const DEPOSITS: u64 = 200;

/// How long a machine looks at the balance before it writes the new one.
const THINKING: Duration = Duration::from_micros(200);

fn main() -> ExitCode {
    run(HELP, |mut words| match words.take_role("machine") {
        Some(words) => machine(&words),
        None => bank(words),
    })
}

/// What the account says.
#[derive(Default)]
struct Account {
    balance: u64,
    /// How many deposits of each machine are in the balance.
    deposits: [u64; MACHINES],
}

impl Account {
    fn path(stage: &Path) -> PathBuf {
        stage.join("account")
    }

    /// One line: the balance, and the deposits of each machine.
    fn to_text(&self) -> String {
        let [first, second] = self.deposits;
        format!("{} {first} {second}\n", self.balance)
    }

    fn parse(bytes: &[u8]) -> io::Result<Self> {
        let text = String::from_utf8_lossy(bytes);
        let numbers: Result<Vec<u64>, _> = text.split_whitespace().map(str::parse).collect();
        match numbers.as_deref() {
            Ok(&[balance, first, second]) => Ok(Self { balance, deposits: [first, second] }),
            _ => Err(garbled(&format!("{text:?} is not an account"))),
        }
    }

    fn deposit(&mut self, machine: usize) {
        self.balance += 1;
        self.deposits[machine] += 1;
    }
}

// ---------------------------------------------------------------------------------------------
// A machine.

/// The words are: its number, the stage, and how it works.
fn machine(words: &[OsString]) -> Result<ExitCode, Failure> {
    let [machine, stage, way] = words else {
        return Err(Failure::Usage("a machine is started by the bank".into()));
    };
    let (machine, stage): (usize, _) = (number(machine)?, Path::new(stage));
    if machine >= MACHINES {
        return Err(Failure::Usage(format!("there are {MACHINES} machines")));
    }
    if way == "without-lock" {
        wait_for_the_start()?;
        deposit_without_lock(machine, stage)?;
    } else {
        let cash = CashMachine {
            number: machine,
            client: client(stage)?,
            gate: FileGate::open(Account::path(stage))?,
            tells: way == "telling",
        };
        wait_for_the_start()?;
        cash.deposit_all()?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Read, think, write. Each write is whole; that does not help.
fn deposit_without_lock(machine: usize, stage: &Path) -> io::Result<()> {
    let new = stage.join(format!("account.new-{machine}"));
    for _ in 0..DEPOSITS {
        let mut account = Account::parse(&fs::read(Account::path(stage))?)?;
        std::thread::sleep(THINKING);
        account.deposit(machine);
        fs::write(&new, account.to_text())?;
        fs::rename(&new, Account::path(stage))?;
    }
    Ok(())
}

struct CashMachine {
    number: usize,
    client: blocking::Client,
    gate: FileGate,
    /// Whether the bank wants to know when the lock is held.
    tells: bool,
}

impl CashMachine {
    /// A machine that was killed does not remember how far it came. The account does.
    fn deposit_all(&self) -> Result<(), Failure> {
        let label = format!("machine {}", self.number + 1);
        let request = Request::lock("account")?.labelled(label)?;
        loop {
            let guard = self.client.lock(&request)?;
            self.tell("in")?;
            let deposited = self.deposit(&guard);
            self.tell("out")?;
            drop(guard);
            match deposited {
                Ok(DEPOSITS..) => return Ok(()),
                Ok(_) => {}
                // Our lock was taken away, and somebody else was at the account since. Nothing of
                // ours was written, so we queue up again.
                Err(GateError::Stale(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Read, think, write; tells how many deposits this machine has made by now.
    fn deposit(&self, guard: &Guard) -> Result<u64, GateError> {
        // Read *through the gate*, so that it knows our fence before we know the balance. Else an
        // earlier holder, who is late, could still write while we think.
        let text = self.gate.read(guard.fence())?.unwrap_or_default();
        let mut account = Account::parse(&text)
            .map_err(|cause| GateError::Io { doing: "reading the account".into(), cause })?;
        if account.deposits[self.number] < DEPOSITS {
            std::thread::sleep(THINKING);
            account.deposit(self.number);
            // By a temporary file that is renamed: whole, or not at all.
            self.gate.replace(guard.fence(), account.to_text().as_bytes())?;
        }
        Ok(account.deposits[self.number])
    }

    fn tell(&self, what: &str) -> io::Result<()> {
        if self.tells { say(what) } else { Ok(()) }
    }
}

// ---------------------------------------------------------------------------------------------
// The bank.

fn bank(mut words: Words) -> Result<ExitCode, Failure> {
    let (without_lock, kill) = (words.take_flag("--without-lock"), words.take_flag("--kill"));
    if without_lock && kill {
        let why = "--without-lock and --kill do not go together: money is lost without a kill";
        return Err(Failure::Usage(why.into()));
    }
    let stage = Stage::from_words(&mut words)?;
    words.finish()?;
    let path = Account::path(stage.path());
    fs::write(&path, Account::default().to_text())?;

    let mut kills = Kills::default();
    if kill {
        kills = run_and_kill(stage.path())?;
    } else {
        run_to_the_end(stage.path(), if without_lock { "without-lock" } else { "with-lock" })?;
    }

    let made = MACHINES as u64 * DEPOSITS;
    let balance = Account::parse(&fs::read(path)?)?.balance;
    let Kills { all, of_holders } = kills;
    // Too much money would be wrong, too.
    let lost = i128::from(made) - i128::from(balance);
    println!(
        "{made} deposits made, balance {balance}, money lost {lost}, \
         kills {all} ({of_holders} of a holder)"
    );
    Ok(verdict(lost == 0))
}

fn start(machine: usize, stage: &Path, way: &str, gun: &StartingGun) -> io::Result<Actor> {
    let machine = machine.to_string();
    let words = [OsStr::new("machine"), machine.as_ref(), stage.as_ref(), way.as_ref()];
    let mut actor = Actor::start(gun, words)?;
    actor.is_ready()?;
    Ok(actor)
}

fn run_to_the_end(stage: &Path, way: &str) -> Result<(), Failure> {
    let gun = StartingGun::load()?;
    let machines: io::Result<Vec<Actor>> =
        (0..MACHINES).map(|machine| start(machine, stage, way, &gun)).collect();
    gun.fire();
    for machine in machines? {
        machine.end_well()?;
    }
    Ok(())
}

#[derive(Clone, Copy, Default)]
struct Kills {
    all: u64,
    /// Those who had said that they are in, and never said that they are out.
    of_holders: u64,
}

/// When to kill: after so many more entries, whoever's the last of them is.
struct Fate(Mutex<u64>);

impl Fate {
    fn new() -> Self {
        Self(Mutex::new(Self::draw()))
    }

    /// Never the very next one, so that the money moves on.
    fn draw() -> u64 {
        2 + random_below(8)
    }

    fn strikes(&self) -> bool {
        let mut left = self.0.lock().expect("nobody panics with it");
        *left -= 1;
        let strikes = *left == 0;
        if strikes {
            *left = Self::draw();
        }
        strikes
    }
}

/// One thread for each machine: it starts it, kills it, and starts it again.
fn run_and_kill(stage: &Path) -> Result<Kills, Failure> {
    let fate = &Fate::new();
    let watched = std::thread::scope(|scope| {
        let watchers: Vec<_> =
            (0..MACHINES).map(|it| scope.spawn(move || watch_over(it, stage, fate))).collect();
        let join = |watcher: std::thread::ScopedJoinHandle<'_, io::Result<Kills>>| {
            watcher.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        watchers.into_iter().map(join).collect::<io::Result<Vec<Kills>>>()
    })?;
    Ok(Kills {
        all: watched.iter().map(|kills| kills.all).sum(),
        of_holders: watched.iter().map(|kills| kills.of_holders).sum(),
    })
}

fn watch_over(machine: usize, stage: &Path, fate: &Fate) -> io::Result<Kills> {
    let mut kills = Kills::default();
    loop {
        let gun = StartingGun::load()?;
        let mut actor = start(machine, stage, "telling", &gun)?;
        gun.fire();
        loop {
            match actor.hear()?.as_deref() {
                None => {
                    actor.end_well()?;
                    return Ok(kills);
                }
                Some("in") if fate.strikes() => break,
                Some(_) => {}
            }
        }
        // Anywhere between reading and the end of writing.
        std::thread::sleep(Duration::from_micros(random_below(800)));
        let last_words = actor.kill()?;
        kills.all += 1;
        // It says "out" before it lets go. Who never said it, held the lock when it died.
        kills.of_holders += u64::from(!last_words.iter().any(|line| line == "out"));
    }
}
