//! Children that die with this process, even if it is killed.

use std::io;
use std::process::{Child, Command};
use std::sync::mpsc::{Sender, channel};
use std::sync::{LazyLock, Mutex, PoisonError};

type Request = (Command, Sender<io::Result<Child>>);

/// The thread that starts all children. The kernel sends the signal of a parent's death when the
/// thread ends that started the child, and a test's thread may end before its servers should.
static NURSERY: LazyLock<Mutex<Sender<Request>>> = LazyLock::new(|| {
    let (sender, requests) = channel::<Request>();
    let run = move || {
        for (mut command, answer) in requests {
            let _ = answer.send(command.spawn());
        }
    };
    std::thread::Builder::new().name("nursery".into()).spawn(run).expect("a thread can be started");
    Mutex::new(sender)
});

/// The words before a program that make the kernel kill it when its parent is gone. Without
/// `setpriv`, of util-linux, children of a killed test stay behind.
pub(crate) fn dying_with_parent() -> Option<[&'static str; 4]> {
    static FOUND: LazyLock<bool> = LazyLock::new(|| {
        let asked = Command::new("setpriv").args(["--pdeathsig", "KILL", "--", "true"]).output();
        asked.is_ok_and(|output| output.status.success())
    });
    FOUND.then_some(["setpriv", "--pdeathsig", "KILL", "--"])
}

/// Starts a child from a thread that lives as long as the process.
pub(crate) fn spawn(command: Command) -> io::Result<Child> {
    let (sender, answer) = channel();
    let nursery = NURSERY.lock().unwrap_or_else(PoisonError::into_inner);
    nursery.send((command, sender)).expect("the thread never ends");
    drop(nursery);
    answer.recv().expect("the thread answers every request")
}
