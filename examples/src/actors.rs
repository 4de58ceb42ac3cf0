//! Processes that play a role: this same program, started again with other words.

use std::ffi::OsStr;
use std::io::{self, BufRead, BufReader, Lines, PipeReader, PipeWriter, Read, Write};
use std::process::{Child, ChildStdout, Command, Stdio};

/// A child process. What it says on its standard output, its parent hears.
pub struct Actor {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Actor {
    /// Starts this program again, with those words. It waits for `gun` if it wants to.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn start<W: AsRef<OsStr>>(
        gun: &StartingGun,
        words: impl IntoIterator<Item = W>,
    ) -> io::Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(words).stdin(gun.barrel.try_clone()?).stdout(Stdio::piped());
        let mut child = command.spawn()?;
        let output = child.stdout.take().expect("it was just asked for");
        Ok(Self { child, lines: BufReader::new(output).lines() })
    }

    /// The next line that it says; `None` when it has ended.
    ///
    /// # Errors
    /// If it is not text.
    pub fn hear(&mut self) -> io::Result<Option<String>> {
        self.lines.next().transpose()
    }

    /// Waits until it stands at the start.
    ///
    /// # Errors
    /// If it ended before that.
    pub fn is_ready(&mut self) -> io::Result<()> {
        match self.hear()?.as_deref() {
            Some(READY) => Ok(()),
            _ => Err(io::Error::other("a process ended before the start")),
        }
    }

    /// Kills it with SIGKILL, and gives back what it had said and nobody had heard yet.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn kill(mut self) -> io::Result<Vec<String>> {
        self.child.kill()?;
        self.child.wait()?;
        self.lines.collect()
    }

    /// Waits until it ends, which it has to do well.
    ///
    /// # Errors
    /// If it ends otherwise.
    pub fn end_well(mut self) -> io::Result<()> {
        let status = self.child.wait()?;
        if status.success() {
            return Ok(());
        }
        Err(io::Error::other(format!("a process failed: {status}")))
    }
}

/// Starts many processes at one moment: all of them read from one pipe, and it is closed.
pub struct StartingGun {
    barrel: PipeReader,
    trigger: PipeWriter,
}

impl StartingGun {
    /// One that was not fired yet.
    ///
    /// # Errors
    /// If the system has no more pipes.
    pub fn load() -> io::Result<Self> {
        let (barrel, trigger) = io::pipe()?;
        Ok(Self { barrel, trigger })
    }

    /// Bang. The children have copies of the reading end only, so this is the end of the pipe.
    pub fn fire(self) {
        drop(self.trigger);
    }
}

const READY: &str = "ready";

/// What an actor does to wait for the others.
///
/// # Errors
/// If nobody listens to it.
pub fn wait_for_the_start() -> io::Result<()> {
    say(READY)?;
    io::stdin().read_to_end(&mut Vec::new())?;
    Ok(())
}

/// Tells the parent. The line is in the pipe when this returns, even if we die in the next moment.
///
/// # Errors
/// If nobody listens.
pub fn say(line: &str) -> io::Result<()> {
    let mut output = io::stdout().lock();
    writeln!(output, "{line}")?;
    output.flush()
}
