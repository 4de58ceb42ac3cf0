//! A connection to one server: gRPC's calls as streams of HTTP/2.
//!
//! `tonic` has the calls and their messages; this carries them. Its own carrier is made for many
//! servers and long bodies: it passes each request through three tasks, and writes it in two
//! pieces. For a lock, where one small request waits for one small answer, that is felt. Here a
//! request is one piece, written by whoever asks; the only task is the one that reads.

use std::future::{Future, poll_fn};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use bytes::Bytes;
use h2::client::{Builder, SendRequest};
use h2::{Ping, PingPong, RecvStream, SendStream};
use http::uri::{Authority, PathAndQuery, Scheme};
use http::{Request, Response, Uri};
use http_body::{Body as _, Frame};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, lookup_host};
use tonic::Status;
use tonic::body::Body;
use tonic::client::GrpcService;

use super::tls::Tls;
use super::wire::Wire;

/// How much the server may send before it hears that some of it was taken.
const WINDOW: u32 = 1 << 20;

/// A server that is silent for so long while something is asked or watched is asked whether it is
/// there. More often, or with nothing going on at all, is punished by etcd.
const SILENCE: Duration = Duration::from_secs(6);

/// It has so long to say that it is.
const PING_PATIENCE: Duration = Duration::from_secs(4);

/// One of several addresses of a name may take so long before the next is tried.
const ONE_ADDRESS: Duration = Duration::from_millis(300);

/// Where a server is, and how to talk to it.
#[derive(Clone)]
pub struct Endpoint {
    authority: Authority,
    tls: Option<Tls>,
}

impl Endpoint {
    /// `None` if that is no address.
    pub fn new(address: &str, tls: Option<Tls>) -> Option<Self> {
        let authority: Authority = address.parse().ok()?;
        authority.port_u16()?;
        Some(Self { authority, tls })
    }

    /// Connects. Waits for as long as the caller does.
    pub async fn connect(&self) -> io::Result<Connection> {
        let tcp = connect_to_any(self.authority.as_str()).await?;
        tcp.set_nodelay(true)?;
        match &self.tls {
            None => self.greet(tcp, Scheme::HTTP).await,
            Some(tls) => {
                let secured = tls.secure(self.authority.host(), tcp).await;
                let secured = secured.map_err(hung_up_on_tls)?;
                self.greet(secured, Scheme::HTTPS).await
            }
        }
    }

    async fn greet<T>(&self, stream: T, scheme: Scheme) -> io::Result<Connection>
    where
        T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let mut builder = Builder::new();
        builder.initial_window_size(WINDOW).initial_connection_window_size(WINDOW);
        let (requests, mut connection) =
            builder.enable_push(false).handshake(stream).await.map_err(io::Error::other)?;
        let streams = Arc::new(AtomicUsize::new(0));
        let silence = find_silent(connection.ping_pong(), Arc::clone(&streams));
        let wire = Arc::new(Wire::new(async move { drop(connection.await) }));
        let task = Arc::clone(&wire);
        // It ends when nobody uses it any more. If it breaks, those who wait for an answer hear it.
        tokio::spawn(async move {
            tokio::select! {
                () = poll_fn(|context| task.poll(context)) => return,
                () = silence => task.give_up(),
            }
            poll_fn(|context| task.poll(context)).await;
        });
        Ok(Connection { requests, wire, scheme, authority: self.authority.clone(), streams })
    }
}

/// Whether a server that hangs up on what it does not understand ends the connection in order
/// depends on how much of it has arrived by then.
fn hung_up_on_tls(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::ConnectionReset => {
            io::Error::new(io::ErrorKind::UnexpectedEof, "tls handshake eof")
        }
        _ => error,
    }
}

async fn connect_to_any(address: &str) -> io::Result<TcpStream> {
    let mut addresses = lookup_host(address).await?.peekable();
    let mut last = io::Error::new(io::ErrorKind::NotFound, "its name has no address");
    while let Some(address) = addresses.next() {
        let attempt = TcpStream::connect(address);
        let done = match addresses.peek() {
            None => attempt.await,
            Some(_) => tokio::time::timeout(ONE_ADDRESS, attempt)
                .await
                .unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())),
        };
        match done {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Returns when the server does not answer though somebody waits for it.
async fn find_silent(pings: Option<PingPong>, streams: Arc<AtomicUsize>) {
    let Some(mut pings) = pings else { return std::future::pending().await };
    loop {
        tokio::time::sleep(SILENCE).await;
        if streams.load(Ordering::Relaxed) > 0 {
            let answer = tokio::time::timeout(PING_PATIENCE, pings.ping(Ping::opaque()));
            if !matches!(answer.await, Ok(Ok(_))) {
                return;
            }
        }
    }
}

/// A connection, to be used by any number of tasks at once.
#[derive(Clone)]
pub struct Connection {
    requests: SendRequest<Bytes>,
    wire: Arc<Wire>,
    scheme: Scheme,
    authority: Authority,
    /// How many calls are going on.
    streams: Arc<AtomicUsize>,
}

impl GrpcService<Body> for Connection {
    type ResponseBody = Incoming;
    type Error = Status;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Incoming>, Status>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Status>> {
        self.requests.poll_ready(context).map_err(broken)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let wire = Arc::clone(&self.wire);
        let sent = wire.send(|| self.send(request));
        Box::pin(async move {
            let (mut response, mut outgoing, stream) = sent?;
            let answer = poll_fn(|context| {
                outgoing.poll(context)?;
                Pin::new(&mut response).poll(context).map_err(broken)
            });
            let answer = answer.await?;
            Ok(answer.map(|body| Incoming { body, outgoing, is_data_over: false, _stream: stream }))
        })
    }
}

type Sent = (h2::client::ResponseFuture, Outgoing, Stream);

impl Connection {
    fn send(&mut self, request: Request<Body>) -> Result<Sent, Status> {
        let (mut head, body) = request.into_parts();
        let path = head.uri.path_and_query().cloned();
        let path = path.unwrap_or_else(|| PathAndQuery::from_static("/"));
        let uri = Uri::builder().scheme(self.scheme.clone()).authority(self.authority.clone());
        let uri = uri.path_and_query(path).build();
        head.uri = uri.map_err(|error| Status::internal(error.to_string()))?;
        let stream = Stream::new(&self.streams);
        let (response, to) =
            self.requests.send_request(Request::from_parts(head, ()), false).map_err(broken)?;
        let mut outgoing = Outgoing { body, to: Some(to), next: None };
        // What is there already goes out with the head; whoever waits for more asks again.
        outgoing.poll(&mut Context::from_waker(Waker::noop()))?;
        Ok((response, outgoing, stream))
    }
}

/// Counts as a call that is going on.
struct Stream(Arc<AtomicUsize>);

impl Stream {
    fn new(streams: &Arc<AtomicUsize>) -> Self {
        streams.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(streams))
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// What we say in a call.
struct Outgoing {
    body: Body,
    /// None when all is said.
    to: Option<SendStream<Bytes>>,
    /// Held back until it is known whether it is the last.
    next: Option<Bytes>,
}

impl Outgoing {
    /// Sends what there is to send. It never waits for the server: what we say is short.
    fn poll(&mut self, context: &mut Context<'_>) -> Result<(), Status> {
        while let Some(to) = &mut self.to {
            match Pin::new(&mut self.body).poll_frame(context) {
                Poll::Ready(Some(frame)) => {
                    let data = frame?.into_data().ok();
                    if let Some(before) = std::mem::replace(&mut self.next, data) {
                        to.send_data(before, false).map_err(broken)?;
                    }
                }
                Poll::Ready(None) => {
                    let last = self.next.take().unwrap_or_default();
                    to.send_data(last, true).map_err(broken)?;
                    self.to = None;
                }
                Poll::Pending => {
                    if let Some(data) = self.next.take() {
                        to.send_data(data, false).map_err(broken)?;
                    }
                    break;
                }
            }
        }
        Ok(())
    }
}

/// What the server says in a call.
pub struct Incoming {
    body: RecvStream,
    outgoing: Outgoing,
    is_data_over: bool,
    _stream: Stream,
}

impl http_body::Body for Incoming {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        self.outgoing.poll(context)?;
        if !self.is_data_over {
            if let Some(data) = ready!(self.body.poll_data(context)) {
                let data = data.map_err(broken)?;
                // Only a stream that is over takes no more.
                let _ = self.body.flow_control().release_capacity(data.len());
                return Poll::Ready(Some(Ok(Frame::data(data))));
            }
            self.is_data_over = true;
        }
        let trailers = ready!(self.body.poll_trailers(context)).map_err(broken)?;
        Poll::Ready(trailers.map(|it| Ok(Frame::trailers(it))))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }
}

/// The connection is of no use any more, or the server has ended this call without a word.
fn broken(error: h2::Error) -> Status {
    let mut status = Status::unavailable(error.to_string());
    status.set_source(Arc::new(error));
    status
}
