//! A line that is slow, frozen or cut.

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use conclave_testkit::proxy::{Direction, Proxy};

#[expect(clippy::disallowed_types, reason = "how long a line takes is measured in real time")]
type Instant = std::time::Instant;

const SHORT: Duration = Duration::from_millis(200);
const LONG: Duration = Duration::from_secs(10);

/// A server, the line to it, and both ends of a connection through it.
struct Setting {
    server: TcpListener,
    proxy: Proxy,
    near: TcpStream,
    far: TcpStream,
}

impl Setting {
    fn new() -> Self {
        let server = TcpListener::bind("127.0.0.1:0").expect("loopback is there");
        let proxy = Proxy::to(server.local_addr().expect("it is bound"));
        let (near, far) = connect(&server, &proxy);
        Self { server, proxy, near, far }
    }
}

fn connect(server: &TcpListener, proxy: &Proxy) -> (TcpStream, TcpStream) {
    let near = TcpStream::connect(proxy.address()).expect("the proxy listens");
    let (far, _) = server.accept().expect("the proxy connects");
    (near, far)
}

fn say(stream: &mut TcpStream, words: &str) {
    stream.write_all(words.as_bytes()).expect("the connection is open");
}

fn hear(stream: &mut TcpStream, words: &str) {
    stream.set_read_timeout(Some(LONG)).expect("it is a socket");
    let mut heard = vec![0; words.len()];
    stream.read_exact(&mut heard).expect("the words come");
    assert_eq!(String::from_utf8_lossy(&heard), words);
}

fn hear_nothing(stream: &mut TcpStream) {
    stream.set_read_timeout(Some(SHORT)).expect("it is a socket");
    let error = stream.read(&mut [0]).expect_err("nothing comes");
    assert_eq!(error.kind(), ErrorKind::WouldBlock);
}

fn hear_the_end(stream: &mut TcpStream) {
    stream.set_read_timeout(Some(LONG)).expect("it is a socket");
    // With bytes that were never read, the end comes as a reset.
    let end = stream.read(&mut [0]);
    assert!(matches!(&end, Ok(0)) || end.is_err_and(|it| it.kind() == ErrorKind::ConnectionReset));
}

#[test]
fn bytes_and_the_end_pass_both_ways() {
    let Setting { mut near, mut far, proxy: _proxy, server: _server } = Setting::new();
    say(&mut near, "ping");
    hear(&mut far, "ping");
    near.shutdown(std::net::Shutdown::Write).expect("it is open");
    hear_the_end(&mut far);
    say(&mut far, "pong");
    hear(&mut near, "pong");
    drop(far);
    hear_the_end(&mut near);
}

#[test]
fn a_delay_holds_up_one_direction_and_not_the_throughput() {
    let Setting { proxy, mut near, mut far, server: _server } = Setting::new();
    proxy.delay(Direction::ToServer, SHORT);
    let begin = Instant::now();
    for _ in 0..50 {
        say(&mut near, "word ");
        std::thread::sleep(Duration::from_millis(1));
    }
    hear(&mut far, &"word ".repeat(50));
    let taken = begin.elapsed();
    assert!(taken >= SHORT, "{taken:?}");
    assert!(taken < 5 * SHORT, "fifty words are not delayed one after the other: {taken:?}");
    let begin = Instant::now();
    say(&mut far, "back");
    hear(&mut near, "back");
    assert!(begin.elapsed() < SHORT, "the other way is not delayed");
}

#[test]
fn a_frozen_direction_takes_all_and_gives_it_in_order_when_it_thaws() {
    let Setting { proxy, mut near, mut far, server: _server } = Setting::new();
    proxy.freeze(Direction::ToServer);
    // More than the kernel would hold.
    let words: String = (0..2_000_000).map(|number| format!("{number} ")).collect();
    say(&mut near, &words);
    near.shutdown(std::net::Shutdown::Write).expect("it is open");
    hear_nothing(&mut far);
    say(&mut far, "the other way flows");
    hear(&mut near, "the other way flows");
    proxy.thaw(Direction::ToServer);
    hear(&mut far, &words);
    hear_the_end(&mut far);
}

#[test]
fn a_frozen_line_still_takes_connections() {
    let Setting { proxy, server, .. } = Setting::new();
    proxy.freeze(Direction::Both);
    let (mut near, mut far) = connect(&server, &proxy);
    say(&mut near, "ping");
    say(&mut far, "pong");
    hear_nothing(&mut near);
    hear_nothing(&mut far);
    proxy.thaw(Direction::Both);
    hear(&mut near, "pong");
    hear(&mut far, "ping");
}

#[test]
fn freezing_does_not_wait_for_a_reader_that_never_reads() {
    let Setting { proxy, mut near, far: _far, server: _server } = Setting::new();
    say(&mut near, &"x".repeat(20_000_000));
    let begin = Instant::now();
    proxy.freeze(Direction::ToServer);
    assert!(begin.elapsed() < LONG / 2);
}

#[test]
fn a_cut_line_ends_connections_and_refuses_new_ones_until_it_is_mended() {
    let Setting { proxy, server, mut near, mut far } = Setting::new();
    proxy.freeze(Direction::ToServer);
    say(&mut near, "lost");
    proxy.cut();
    hear_the_end(&mut near);
    hear_the_end(&mut far);
    let refused = TcpStream::connect(proxy.address()).expect_err("the line is cut");
    assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
    let address = proxy.address();
    proxy.mend();
    proxy.thaw(Direction::ToServer);
    assert_eq!(proxy.address(), address);
    let (mut near, mut far) = connect(&server, &proxy);
    say(&mut near, "ping");
    hear(&mut far, "ping");
}

#[test]
fn a_server_that_is_down_is_seen_as_one_that_closes() {
    let server = TcpListener::bind("127.0.0.1:0").expect("loopback is there");
    let proxy = Proxy::to(server.local_addr().expect("it is bound"));
    drop(server);
    hear_the_end(&mut TcpStream::connect(proxy.address()).expect("the proxy listens"));
}
