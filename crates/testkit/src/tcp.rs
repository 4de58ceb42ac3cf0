//! Real processes of the operating system, over TCP on loopback: the smallest driver that keeps the
//! runner's contract, for tests.
//!
//! The parent starts one child per member, by running the test executable again. The children form
//! a full mesh, each enters the critical section a number of times, and proves on a shared
//! directory that it was alone in there.

use std::collections::{BTreeMap, VecDeque};
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command as Program, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use conclave_core::mutex::{Command, Mutex, Notice};
use conclave_core::{Due, Environment, Fence, Host, Input, ProcessId, Seat, Start, View};
use serde::Serialize;
use serde::de::DeserializeOwned;

#[expect(clippy::disallowed_types, reason = "real processes run in real time")]
type Instant = std::time::Instant;

const PEER: &str = "CONCLAVE_TEST_PEER";
const DIRECTORY: &str = "CONCLAVE_TEST_DIRECTORY";
const SILENCE_MAX: Duration = Duration::from_secs(60);

/// Whether this process is a child of [`run_all`], and which member it is.
pub fn peer() -> Option<Peer> {
    let id = std::env::var(PEER).ok()?.parse().ok()?;
    Some(Peer { me: ProcessId(id), directory: std::env::var_os(DIRECTORY)?.into() })
}

/// One member, in a process of its own.
#[derive(Debug)]
pub struct Peer {
    me: ProcessId,
    directory: PathBuf,
}

/// What the children did together.
#[derive(Debug)]
pub struct Deeds {
    /// Entries in the order in which they were made, by what the holders wrote down inside.
    pub entries: Vec<(ProcessId, Fence)>,
    /// What the counter shows that each holder read, and wrote again with one more.
    pub counter: u64,
}

/// Starts a child for each member: the test `name` of this executable, which is to call
/// [`Peer::run`]. Waits until all are done.
///
/// # Panics
///
/// If a child fails, finds that it was not alone, or nothing happens for a minute.
pub fn run_all(view: &View, test: &str, variables: &[(&str, &str)]) -> Deeds {
    let directory = Directory::new();
    std::fs::write(directory.0.join("counter"), "0").expect("the directory is ours");
    let mut children: Vec<Running> = view
        .members()
        .iter()
        .map(|id| Running::start(*id, test, variables, &directory.0))
        .collect();
    let ports: Vec<String> = children.iter_mut().map(|child| child.expect_line("port ")).collect();
    for child in &mut children {
        child.tell(&ports.join(" "));
    }
    for child in &mut children {
        child.expect_line("done");
    }
    // Only now may anybody go: until then others may need its answers.
    for child in &mut children {
        child.tell("stop");
    }
    for child in &mut children {
        assert!(child.process.wait().expect("it is our child").success(), "a child failed");
    }
    directory.deeds()
}

struct Running {
    process: Child,
    input: ChildStdin,
    output: Receiver<String>,
}

impl Running {
    fn start(id: ProcessId, test: &str, variables: &[(&str, &str)], directory: &Path) -> Self {
        let executable = std::env::current_exe().expect("a test knows itself");
        let mut process = Program::new(executable)
            .args(["--exact", test, "--nocapture"])
            .envs(variables.iter().copied())
            .env(PEER, id.to_string())
            .env(DIRECTORY, directory)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a test can start itself");
        let input = process.stdin.take().expect("it is piped");
        let output = lines(process.stdout.take().expect("it is piped"));
        Self { process, input, output }
    }

    fn tell(&mut self, line: &str) {
        writeln!(self.input, "{line}").expect("the child listens");
    }

    /// The rest of the next line that begins so; the test harness prints lines of its own.
    fn expect_line(&mut self, prefix: &str) -> String {
        loop {
            let line = self.output.recv_timeout(SILENCE_MAX).expect("the child is alive and well");
            // The harness prints "test name ... " without an end of line before our first one.
            if let Some(at) = line.find(prefix) {
                return line[at + prefix.len()..].to_owned();
            }
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn lines(stdout: ChildStdout) -> Receiver<String> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        BufReader::new(stdout).lines().map_while(Result::ok).all(|line| sender.send(line).is_ok())
    });
    receiver
}

/// A directory of this test alone, gone with it.
struct Directory(PathBuf);

impl Directory {
    fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback is there");
        let port = listener.local_addr().expect("it is bound").port();
        let name = format!("conclave-test-{}-{port}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir(&path).expect("nobody else has this name");
        Self(path)
    }

    fn deeds(&self) -> Deeds {
        let read = |name| std::fs::read_to_string(self.0.join(name)).expect("holders wrote it");
        let entry = |line: &str| {
            let (id, fence) = line.split_once(' ').expect("holders write both");
            let number = |text: &str| text.parse().expect("holders write numbers");
            (ProcessId(u32::try_from(number(id)).expect("ids are small")), Fence(number(fence)))
        };
        let counter = read("counter").parse().expect("holders write a number");
        Deeds { entries: read("entries").lines().map(entry).collect(), counter }
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

enum Event<M> {
    Message { from: ProcessId, message: M },
    Stop,
}

impl Peer {
    /// Who this is.
    pub fn id(&self) -> ProcessId {
        self.me
    }

    /// Takes part until the parent says stop; enters `entries` times.
    ///
    /// # Panics
    ///
    /// If it was not alone inside, or a peer went away early.
    pub fn run<P>(&self, view: &View, config: &P::Config, entries: u32)
    where
        P: Mutex<Message: Serialize + DeserializeOwned + Send + 'static>,
    {
        let (sender, events) = channel();
        let peers = self.mesh::<P::Message>(view, &sender);
        let wish = Wish { entries_left: entries, inside: None };
        let seat = view.seat(self.me).expect("a peer is a member");
        let (timers, inputs) = (BTreeMap::new(), VecDeque::new());
        let directory = &self.directory;
        let mut around = Surroundings::<P> { view, seat, peers, wish, directory, timers, inputs };
        let mut host = Host::new();
        let mut process = host.start(Start::founding(self.me, view, config), &mut around);
        if entries > 0 {
            around.inputs.push_back(Input::Command(Command::Enter));
        } else {
            println!("done");
        }
        while let Some(input) = around.next_input(&events) {
            host.take(&mut process, input, &mut around);
        }
    }

    /// Connects everybody with everybody: one connection per direction, so each is FIFO.
    fn mesh<M: DeserializeOwned + Send + 'static>(
        &self,
        view: &View,
        sender: &Sender<Event<M>>,
    ) -> Vec<Option<TcpStream>> {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback is there");
        println!("port {}", listener.local_addr().expect("it is bound").port());
        let mut ports = String::new();
        std::io::stdin().read_line(&mut ports).expect("the parent tells the ports");
        let ports: Vec<u16> =
            ports.split_whitespace().map(|port| port.parse().expect("a port")).collect();
        let connect = |(seat, port): (usize, &u16)| {
            (view.at(Seat::at(seat)) != self.me).then(|| {
                let mut stream =
                    TcpStream::connect(("127.0.0.1", *port)).expect("the peer listens");
                stream.set_nodelay(true).expect("it is a socket");
                writeln!(stream, "{}", self.me).expect("the peer reads");
                stream
            })
        };
        let peers = ports.iter().enumerate().map(connect).collect();
        for _ in 1..view.len() {
            let (stream, _) = listener.accept().expect("everybody connects");
            let sender = sender.clone();
            std::thread::spawn(move || read_messages(stream, &sender));
        }
        let sender = sender.clone();
        std::thread::spawn(move || {
            let mut line = String::new();
            let _ = std::io::stdin().read_line(&mut line);
            let _ = sender.send(Event::Stop);
        });
        peers
    }
}

fn read_messages<M: DeserializeOwned>(stream: TcpStream, sender: &Sender<Event<M>>) {
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
    let Some(from) = lines.next().and_then(|line| line.parse().ok()).map(ProcessId) else { return };
    for line in lines {
        let message = serde_json::from_str(&line).expect("peers speak the same language");
        if sender.send(Event::Message { from, message }).is_err() {
            return;
        }
    }
}

/// The world of one member.
struct Surroundings<'a, P: Mutex> {
    view: &'a View,
    seat: Seat,
    /// By seat; none to itself.
    peers: Vec<Option<TcpStream>>,
    wish: Wish,
    directory: &'a Path,
    timers: BTreeMap<P::Timer, SetTimer>,
    /// What the application asks for next.
    inputs: VecDeque<Input<P>>,
}

struct SetTimer {
    at: Instant,
    is_deadline: bool,
}

impl<P: Mutex<Message: Serialize>> Surroundings<'_, P> {
    /// The next input: a deadline that is due, before what the application asks for, and that
    /// before messages and timers. `None` when the parent says stop.
    fn next_input(&mut self, events: &Receiver<Event<P::Message>>) -> Option<Input<P>> {
        let now = Instant::now();
        let deadlines = self.timers.iter().filter(|(_, set)| set.is_deadline && set.at <= now);
        if let Some((&timer, _)) = deadlines.min_by_key(|(_, set)| set.at) {
            self.timers.remove(&timer);
            return Some(Input::Timer(timer));
        }
        if let Some(input) = self.inputs.pop_front() {
            return Some(input);
        }
        let due = self.timers.iter().min_by_key(|(_, set)| set.at);
        let due = due.map(|(&timer, set)| (timer, set.at));
        let patience = due.map_or(SILENCE_MAX, |(_, at)| at.saturating_duration_since(now));
        match (events.recv_timeout(patience), due) {
            (Ok(Event::Message { from, message }), _) => Some(Input::Message { from, message }),
            (Ok(Event::Stop), _) => None,
            (Err(RecvTimeoutError::Timeout), Some((timer, _))) => {
                self.timers.remove(&timer);
                Some(Input::Timer(timer))
            }
            (Err(_), _) => panic!("nothing happened for a minute"),
        }
    }
}

impl<P: Mutex<Message: Serialize>> Environment<P> for Surroundings<'_, P> {
    fn view(&self) -> &View {
        self.view
    }

    fn seat(&self) -> Seat {
        self.seat
    }

    fn stepped(&mut self, process: &P, _: Vec<&'static str>) {
        assert_eq!(process.invariants(), Ok(()));
    }

    fn send(&mut self, to: Seat, message: P::Message, _: bool) {
        let line = serde_json::to_string(&message).expect("messages are plain");
        let peer = self.peers[to.index()].as_mut().expect("it is not myself");
        // A peer goes only when it is told to stop, after all are done; what was still on its way
        // to it, such as a token that never rests, is lost.
        let _ = writeln!(peer, "{line}");
    }

    fn send_own(&mut self, _: &P::Message, _: bool) {}

    fn take_own(&mut self, _: &P::Message) {}

    fn notify(&mut self, notice: Notice) {
        let me = self.view.at(self.seat);
        self.inputs.extend(self.wish.on_notice::<P>(notice, me, self.directory));
    }

    fn set_timer(&mut self, timer: P::Timer, due: Due) {
        let (after, is_deadline) = match due {
            Due::Within { after, .. } => (after, false),
            Due::Deadline(after) => (after, true),
        };
        self.timers.insert(timer, SetTimer { at: Instant::now() + after, is_deadline });
    }

    fn cancel_timer(&mut self, timer: P::Timer) {
        self.timers.remove(&timer);
    }

    // Nobody comes back here, so nothing is ever asked for again.
    fn persist(&mut self, _: P::Stored) {}
}

/// What the application still wants.
struct Wish {
    entries_left: u32,
    inside: Option<File>,
}

impl Wish {
    fn on_notice<P: Mutex>(
        &mut self,
        notice: Notice,
        me: ProcessId,
        directory: &Path,
    ) -> Option<Input<P>> {
        match notice {
            Notice::Entered { fence } => {
                self.critical_section(me, fence, directory);
                Some(Input::Command(Command::Leave))
            }
            Notice::Left => {
                self.entries_left -= 1;
                if self.entries_left == 0 {
                    println!("done");
                }
                (self.entries_left > 0).then_some(Input::Command(Command::Enter))
            }
        }
    }

    /// Three ways to notice that somebody else is in: a file that may not exist, a counter that
    /// would lose an increment, a log whose fences would not grow.
    fn critical_section(&mut self, me: ProcessId, fence: Fence, directory: &Path) {
        let inside = directory.join("inside");
        let file = OpenOptions::new().write(true).create_new(true).open(&inside);
        self.inside = Some(file.expect("nobody else is inside"));
        let counter = directory.join("counter");
        let count: u64 = std::fs::read_to_string(&counter)
            .expect("the parent made it")
            .parse()
            .expect("it holds a number");
        let mut log = OpenOptions::new().append(true).create(true).open(directory.join("entries"));
        let log = log.as_mut().expect("the directory is ours");
        writeln!(log, "{me} {}", fence.0).expect("the disk has room");
        std::fs::write(&counter, (count + 1).to_string()).expect("the disk has room");
        self.inside = None;
        std::fs::remove_file(&inside).expect("it was ours alone");
    }
}
