//! Five clerks and one printer.
//!
//! Each clerk is a process that prints one page of three lines. The printer prints lines in the
//! order in which they come, whoever sends them. Without a lock the lines of different pages are
//! mixed. With it a page comes whole, and the pages come in the order in which they were asked for.
//!
//! With `--slots 2` there are two printers and a lock with two slots. A slot says *that* a printer
//! is free and not which one; so each printer has a lock of its own besides, which whoever has a
//! slot takes without waiting. The slots are given in the order in which they were asked for; of
//! two clerks who have one at once, either may be the first to print.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use conclave_client::{Fence, Request, Resource, blocking};
use conclave_examples::{
    Actor, Failure, Stage, StartingGun, Words, client, garbled, number, random_below, run, verdict,
    wait_for_the_start, words_of,
};

const HELP: &str = "Five clerks print a page of three lines each on one printer

usage: printer [--without-lock] [--slots COUNT] [--dir DIR]

  --without-lock  nobody locks anything, and pages are torn
  --slots COUNT   so many printers, 1 to 5 [default: 1]
  --dir DIR       work in this new or empty directory [default: a temporary one]

exit codes: 0 all pages are whole and in order; 1 not so; 64 bad usage; 69 something does
not work";

const CLERKS: u32 = 5;
const LINES: u32 = 3;

/// How long a printer takes for a line.
const LINE_TIME: Duration = Duration::from_millis(1);

/// The lock of the printers; `--slots` says how many hold it at once.
const PRINTERS: &str = "printers";

fn main() -> ExitCode {
    run(HELP, |mut words| match words.take_role("clerk") {
        Some(words) => clerk(&words),
        None => office(words),
    })
}

/// One printer is a plain lock. More are a semaphore.
fn request(label: &str, printers: u32) -> Result<Request, conclave_client::Error> {
    let request = Request::lock(PRINTERS)?.labelled(label)?;
    if printers == 1 { Ok(request) } else { request.slots(printers) }
}

// ---------------------------------------------------------------------------------------------
// A clerk.

/// The words are: its number, the stage, how many printers there are, and how it works.
fn clerk(words: &[OsString]) -> Result<ExitCode, Failure> {
    let [clerk, stage, printers, way] = words else {
        return Err(Failure::Usage("a clerk is started by the office".into()));
    };
    let (clerk, stage, printers) = (number(clerk)?, Path::new(stage), number(printers)?);
    if way == "without-lock" {
        wait_for_the_start()?;
        print_page(stage, 1 + clerk % printers, clerk, Fence(0))?;
    } else {
        print_page_with_lock(stage, printers, clerk)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn print_page_with_lock(stage: &Path, printers: u32, clerk: u32) -> Result<(), Failure> {
    let client = client(stage)?;
    let slot = client.lock(request(&format!("clerk {clerk}"), printers)?)?;
    if printers == 1 {
        print_page(stage, 1, clerk, slot.fence())?;
        return Ok(());
    }
    let (printer, this_one) = free_printer(&client, printers)?;
    print_page(stage, printer, clerk, slot.fence())?;
    // The printer first: who gets the slot after us must find a printer that is free.
    drop(this_one);
    drop(slot);
    Ok(())
}

/// Which printer is ours. As many have a slot as there are printers, and we are one of them: so
/// one is free, and hardly ever has anybody to wait here.
fn free_printer(
    client: &blocking::Client,
    printers: u32,
) -> Result<(u32, blocking::Guard), Failure> {
    for printer in 1..=printers {
        match client.try_lock(format!("printer {printer}")) {
            Ok(guard) => return Ok((printer, guard)),
            Err(error) if error.is_not_acquired() => {}
            Err(error) => return Err(error.into()),
        }
    }
    // We looked at one after the other, and others came and went meanwhile. The last one is free
    // soon.
    Ok((printers, client.lock(format!("printer {printers}"))?))
}

fn print_page(stage: &Path, printer: u32, clerk: u32, fence: Fence) -> io::Result<()> {
    let printer = printer_path(stage, printer);
    let mut paper = OpenOptions::new().append(true).create(true).open(printer)?;
    for line in 1..=LINES {
        // One call for each line: lines are never torn, only pages.
        paper.write_all(format!("{fence} {clerk} {line}\n").as_bytes())?;
        std::thread::sleep(LINE_TIME);
    }
    Ok(())
}

fn printer_path(stage: &Path, printer: u32) -> PathBuf {
    stage.join(format!("printer-{printer}"))
}

// ---------------------------------------------------------------------------------------------
// The office.

fn office(mut words: Words) -> Result<ExitCode, Failure> {
    let without_lock = words.take_flag("--without-lock");
    let printers = match words.take_value("--slots")? {
        Some(count) => number(&count).ok().filter(|count| (1..=CLERKS).contains(count)),
        None => Some(1),
    };
    let Some(printers) = printers else {
        return Err(Failure::Usage(format!("--slots is a number from 1 to {CLERKS}")));
    };
    let stage = Stage::from_words(&mut words)?;
    words.finish()?;

    let asked = if without_lock {
        print_all_at_once(stage.path(), printers)?;
        None
    } else {
        Some(print_in_order(stage.path(), printers)?)
    };
    let paper = Paper::read(stage.path(), printers)?;
    print!("{paper}");
    let torn = paper.torn();
    let is_in_order = asked.as_ref().is_some_and(|asked| paper.is_in_order(asked));
    let order = match asked {
        Some(_) => {
            let whose = if printers == 1 { "" } else { "the slots " };
            let not = if is_in_order { "" } else { "not " };
            format!(", {whose}{not}in the order in which they were asked for")
        }
        None => String::new(),
    };
    println!("{CLERKS} pages, {torn} of them torn{order}");
    Ok(verdict(torn == 0 && is_in_order))
}

fn start(
    clerk: u32,
    stage: &Path,
    printers: u32,
    way: &str,
    gun: &StartingGun,
) -> io::Result<Actor> {
    let (clerk, printers) = (clerk.to_string(), printers.to_string());
    let words =
        [OsStr::new("clerk"), clerk.as_ref(), stage.as_ref(), printers.as_ref(), way.as_ref()];
    Actor::start(gun, words)
}

fn print_all_at_once(stage: &Path, printers: u32) -> io::Result<()> {
    let gun = StartingGun::load()?;
    let mut clerks = Vec::new();
    for clerk in 1..=CLERKS {
        let mut actor = start(clerk, stage, printers, "without-lock", &gun)?;
        actor.is_ready()?;
        clerks.push(actor);
    }
    gun.fire();
    clerks.into_iter().try_for_each(Actor::end_well)
}

/// The clerks ask in a random order, which is told. While they come, the office keeps all printers
/// busy: else the first would be done before the last has come, and there would be no queue.
fn print_in_order(stage: &Path, printers: u32) -> Result<Vec<u32>, Failure> {
    let client = client(stage)?;
    let office = request("office", printers)?;
    let mut busy = Vec::new();
    for _ in 0..printers {
        busy.push(client.lock(&office)?);
    }
    let gun = StartingGun::load()?;
    let mut clerks = Vec::new();
    for (place, clerk) in (1..).zip(shuffled()) {
        clerks.push(start(clerk, stage, printers, "with-lock", &gun)?);
        wait_for_waiters(&client, office.resource(), place)?;
    }
    let asked = queue(&client, office.resource())?;
    let list: Vec<String> = asked.iter().map(u32::to_string).collect();
    println!("the clerks ask in the order {}", list.join(", "));
    drop(busy);
    clerks.into_iter().try_for_each(Actor::end_well)?;
    Ok(asked)
}

fn shuffled() -> Vec<u32> {
    let mut left: Vec<u32> = (1..=CLERKS).collect();
    let mut order = Vec::new();
    while !left.is_empty() {
        let at = usize::try_from(random_below(left.len() as u64)).unwrap_or(0);
        order.push(left.remove(at));
    }
    order
}

/// There is nothing to wait on but time. Should a clerk have failed, it has said why by then.
fn wait_for_waiters(
    client: &blocking::Client,
    resource: &Resource,
    count: usize,
) -> Result<(), Failure> {
    for _ in 0..10_000 {
        if client.inspect(resource)?.waiters.len() == count {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    Err(Failure::broken("a clerk does not ask for the printer"))
}

/// Who waits, first come first, in the words of the engine.
fn queue(client: &blocking::Client, resource: &Resource) -> Result<Vec<u32>, Failure> {
    let waiters = client.inspect(resource)?.waiters;
    let clerk = |label: &str| label.strip_prefix("clerk ").and_then(|it| it.parse().ok());
    let clerks: Option<Vec<u32>> = waiters.iter().map(|it| clerk(&it.owner.label)).collect();
    clerks.ok_or_else(|| Failure::broken("somebody waits who is no clerk"))
}

// ---------------------------------------------------------------------------------------------
// What lies in the printers.

#[derive(Clone, Copy, PartialEq, Eq)]
struct Line {
    /// 0 without a lock.
    fence: Fence,
    clerk: u32,
    number: u32,
}

/// What each printer has printed.
struct Paper(BTreeMap<u32, Vec<Line>>);

impl Paper {
    fn read(stage: &Path, printers: u32) -> io::Result<Self> {
        let mut paper = BTreeMap::new();
        for printer in 1..=printers {
            let text = match fs::read_to_string(printer_path(stage, printer)) {
                // A printer that was never needed.
                Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
                text => text?,
            };
            let lines: Option<Vec<Line>> = text.lines().map(Line::parse).collect();
            paper.insert(printer, lines.ok_or_else(|| garbled("a line is torn"))?);
        }
        Ok(Self(paper))
    }

    /// The pages that are whole: their lines follow each other.
    fn whole(&self) -> Vec<Line> {
        let pages = self.0.values().flat_map(|lines| lines.windows(LINES as usize));
        let whole = pages.filter(|page| {
            page.iter().zip(1..).all(|(line, number)| *line == Line { number, ..page[0] })
        });
        whole.map(|page| page[0]).collect()
    }

    fn torn(&self) -> usize {
        CLERKS as usize - self.whole().len()
    }

    /// Later fences belong to whoever asked later. A printer that is the only one prints them so
    /// too; of two who have a slot at once, the later may come to a printer first.
    fn is_in_order(&self, asked: &[u32]) -> bool {
        let mut pages = self.whole();
        let printed_so = self.0.len() > 1 || pages.is_sorted_by_key(|page| page.fence);
        pages.sort_by_key(|page| page.fence);
        let by_fence = pages.iter().map(|page| page.clerk);
        printed_so && by_fence.eq(asked.iter().copied())
    }
}

impl Line {
    fn parse(line: &str) -> Option<Self> {
        let [fence, clerk, number] = words_of(line)[..] else { return None };
        let fence = Fence(fence.parse().ok()?);
        Some(Self { fence, clerk: clerk.parse().ok()?, number: number.parse().ok()? })
    }
}

impl fmt::Display for Paper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (printer, lines) in &self.0 {
            for &Line { fence, clerk, number } in lines {
                write!(f, "printer {printer} | clerk {clerk}, line {number} of {LINES}")?;
                match fence {
                    Fence(0) => writeln!(f)?,
                    fence => writeln!(f, " | fence {fence}")?,
                }
            }
        }
        Ok(())
    }
}
