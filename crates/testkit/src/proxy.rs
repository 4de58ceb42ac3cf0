//! A line between client and server that can be slow, frozen or cut, each way for itself.
//!
//! ```
//! # use std::{net::TcpListener, time::Duration};
//! # use conclave_testkit::proxy::{Direction, Proxy};
//! # let server = TcpListener::bind("127.0.0.1:0")?;
//! let proxy = Proxy::to(server.local_addr()?);
//! proxy.delay(Direction::Both, Duration::from_millis(20));
//! proxy.freeze(Direction::ToClient);
//! # Ok::<(), std::io::Error>(())
//! ```

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::patience::Instant;
use crate::ports::Port;

/// For so long a single write waits for a slow reader, and `freeze` for the write.
const WRITE_MAX: Duration = Duration::from_millis(5);
const CONNECT_MAX: Duration = Duration::from_secs(10);

/// Which bytes are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// What clients say.
    ToServer,
    /// What the server says.
    ToClient,
    /// What either of them says.
    Both,
}

/// A TCP proxy on loopback. Bytes come out in the order in which they went in, and none is lost
/// unless the line is cut. Dropping it cuts the line.
#[derive(Debug)]
pub struct Proxy {
    port: Port,
    line: Arc<Line>,
    listening: Mutex<Option<Listening>>,
}

#[derive(Debug)]
struct Line {
    server: SocketAddr,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    to_server: Way,
    to_client: Way,
    /// How often the line was cut. A connection that was begun before a cut is not finished after.
    cuts: u64,
    open: Vec<Arc<Connection>>,
}

/// How one direction behaves.
#[derive(Clone, Copy, Debug, Default)]
struct Way {
    delay: Duration,
    frozen: bool,
}

#[derive(Debug)]
struct Connection {
    client: TcpStream,
    server: TcpStream,
    closed: AtomicBool,
    /// Who writes to the server, and who to the client, holds it meanwhile.
    pens: [Mutex<()>; 2],
}

#[derive(Debug)]
struct Listening {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

/// What was read, and when it may be written.
struct Parcel {
    due: Instant,
    content: Content,
}

enum Content {
    Bytes(Vec<u8>),
    End,
}

impl Proxy {
    /// A line to this server, which need not be up yet.
    ///
    /// # Panics
    ///
    /// If the address is none.
    pub fn to(server: impl ToSocketAddrs) -> Self {
        let server = server.to_socket_addrs().ok().and_then(|mut addresses| addresses.next());
        let server = server.expect("the server has an address");
        let line = Line { server, state: Mutex::default(), changed: Condvar::new() };
        let proxy = Self { port: Port::claim(), line: Arc::new(line), listening: Mutex::new(None) };
        proxy.mend();
        proxy
    }

    /// Where clients connect.
    pub fn address(&self) -> SocketAddr {
        SocketAddr::from((Ipv4Addr::LOCALHOST, self.port.number))
    }

    /// From now on, bytes take so long. Those on their way keep their time, and none overtakes
    /// another.
    pub fn delay(&self, direction: Direction, delay: Duration) {
        self.line.change(direction, |way| way.delay = delay);
    }

    /// From now on nothing comes out. Connections are still made, and what goes in is held.
    pub fn freeze(&self, direction: Direction) {
        self.line.change(direction, |way| way.frozen = true);
    }

    /// What was held comes out, and what comes after.
    pub fn thaw(&self, direction: Direction) {
        self.line.change(direction, |way| way.frozen = false);
    }

    /// Closes all connections, with what was on its way, and refuses new ones.
    ///
    /// # Panics
    ///
    /// If a thread of the proxy did.
    pub fn cut(&self) {
        let listening = self.listening().take();
        if let Some(Listening { stop, thread }) = listening {
            stop.store(true, Ordering::SeqCst);
            // It waits for a client, and now gets one.
            let _ = TcpStream::connect(self.address());
            thread.join().expect("the listener does not panic");
        }
        let mut state = self.line.state();
        state.cuts += 1;
        for connection in state.open.drain(..) {
            connection.close();
        }
        drop(state);
        self.line.changed.notify_all();
    }

    /// Takes connections again, at the same address. Frozen directions stay frozen.
    ///
    /// # Panics
    ///
    /// If somebody else took the port.
    pub fn mend(&self) {
        let mut listening = self.listening();
        if listening.is_some() {
            return;
        }
        let listener = TcpListener::bind(self.address()).expect("the port is claimed");
        let stop = Arc::new(AtomicBool::new(false));
        let (line, stopped) = (Arc::clone(&self.line), Arc::clone(&stop));
        let thread = std::thread::spawn(move || line.listen(&listener, &stopped));
        *listening = Some(Listening { stop, thread });
    }

    fn listening(&self) -> MutexGuard<'_, Option<Listening>> {
        self.listening.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.cut();
    }
}

impl Line {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, direction: Direction, change: impl Fn(&mut Way)) {
        let mut state = self.state();
        if direction != Direction::ToClient {
            change(&mut state.to_server);
        }
        if direction != Direction::ToServer {
            change(&mut state.to_client);
        }
        let open = state.open.clone();
        drop(state);
        self.changed.notify_all();
        // Who began to write before the change has ended when this returns.
        for pen in open.iter().flat_map(|connection| &connection.pens) {
            drop(pen.lock());
        }
    }

    fn listen(self: &Arc<Self>, listener: &TcpListener, stop: &AtomicBool) {
        for client in listener.incoming() {
            if stop.load(Ordering::SeqCst) {
                return;
            }
            let Ok(client) = client else { continue };
            let (line, cuts) = (Arc::clone(self), self.state().cuts);
            std::thread::spawn(move || line.serve(client, cuts));
        }
    }

    /// One connection, from its begin to its end. A server that refuses is seen by the client as
    /// one that closes at once.
    fn serve(self: &Arc<Self>, client: TcpStream, cuts: u64) {
        let Ok(server) = TcpStream::connect_timeout(&self.server, CONNECT_MAX) else { return };
        // What goes in by small pieces comes out by them, without the kernel's delay.
        for stream in [&client, &server] {
            stream.set_nodelay(true).expect("it is a socket");
            stream.set_write_timeout(Some(WRITE_MAX)).expect("it is a socket");
        }
        let (closed, pens) = (AtomicBool::new(false), Default::default());
        let connection = Arc::new(Connection { client, server, closed, pens });
        let mut state = self.state();
        if state.cuts != cuts {
            return;
        }
        state.open.push(Arc::clone(&connection));
        drop(state);
        let pumps = [Direction::ToServer, Direction::ToClient].map(|direction| {
            let (line, connection) = (Arc::clone(self), Arc::clone(&connection));
            std::thread::spawn(move || line.pump(&connection, direction))
        });
        for pump in pumps {
            let _ = pump.join();
        }
        self.state().open.retain(|other| !Arc::ptr_eq(other, &connection));
    }

    /// Two threads, so that a frozen direction still takes what goes in.
    fn pump(self: &Arc<Self>, connection: &Arc<Connection>, direction: Direction) {
        let (sender, parcels) = channel();
        let (line, source) = (Arc::clone(self), Arc::clone(connection));
        let reader = std::thread::spawn(move || line.read(&source, direction, &sender));
        if self.write(connection, direction, &parcels).is_err() {
            connection.close();
        }
        let _ = reader.join();
    }

    fn read(&self, connection: &Connection, direction: Direction, parcels: &Sender<Parcel>) {
        let mut source = connection.source(direction);
        let mut buffer = vec![0; 64 * 1024];
        loop {
            let content = match source.read(&mut buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Ok(0) | Err(_) => Content::End,
                Ok(length) => Content::Bytes(buffer[..length].to_vec()),
            };
            let is_end = matches!(content, Content::End);
            let due = Instant::now() + self.state().way(direction).delay;
            if parcels.send(Parcel { due, content }).is_err() || is_end {
                return;
            }
        }
    }

    fn write(
        &self,
        connection: &Connection,
        direction: Direction,
        parcels: &Receiver<Parcel>,
    ) -> io::Result<()> {
        let mut target = connection.target(direction);
        for Parcel { due, content } in parcels {
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            let Content::Bytes(bytes) = content else {
                let _pen = self.wait_for_pen(connection, direction)?;
                return target.shutdown(Shutdown::Write);
            };
            let mut rest = &bytes[..];
            while !rest.is_empty() {
                let _pen = self.wait_for_pen(connection, direction)?;
                match target.write(rest) {
                    Ok(length) => rest = &rest[length..],
                    Err(error) if is_passing(&error) => {}
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(())
    }

    /// The right to write, while the direction is not frozen. An error if the line was cut.
    fn wait_for_pen<'a>(
        &self,
        connection: &'a Connection,
        direction: Direction,
    ) -> io::Result<MutexGuard<'a, ()>> {
        loop {
            let pen = connection.pen(direction);
            let state = self.state();
            if connection.closed.load(Ordering::SeqCst) {
                return Err(io::ErrorKind::ConnectionAborted.into());
            }
            if !state.way(direction).frozen {
                return Ok(pen);
            }
            drop(pen);
            drop(self.changed.wait(state));
        }
    }
}

fn is_passing(error: &io::Error) -> bool {
    use io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
    [Interrupted, TimedOut, WouldBlock].contains(&error.kind())
}

impl State {
    fn way(&self, direction: Direction) -> Way {
        if direction == Direction::ToServer { self.to_server } else { self.to_client }
    }
}

impl Connection {
    fn source(&self, direction: Direction) -> &TcpStream {
        if direction == Direction::ToServer { &self.client } else { &self.server }
    }

    fn target(&self, direction: Direction) -> &TcpStream {
        if direction == Direction::ToServer { &self.server } else { &self.client }
    }

    fn pen(&self, direction: Direction) -> MutexGuard<'_, ()> {
        let [to_server, to_client] = &self.pens;
        let pen = if direction == Direction::ToServer { to_server } else { to_client };
        pen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
        let _ = self.client.shutdown(Shutdown::Both);
        let _ = self.server.shutdown(Shutdown::Both);
    }
}
