//! The client for programs without `async`: every call blocks its thread until it is done.
//!
//! ```
//! use conclave_client::{Memory, blocking};
//!
//! let client = blocking::Client::new(Memory::new()); // in production: blocking::Client::local()?
//! let guard = client.lock("nightly")?;
//! println!("mine, and fence {} proves it", guard.fence());
//! guard.release()?;
//! # Ok::<(), conclave_client::Error>(())
//! ```
//!
//! Not to be used from within `async` code: it would block the runtime, and panics rather than do
//! so.

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};

use crate::{
    Engine, Error, Evicted, Loss, Observer, Office, Patience, Request, Resource, Status, Target,
};

/// Runs futures on the calling thread. A bare runtime panics when its last owner, maybe a guard, is
/// dropped inside of `async` code; this one does not.
#[derive(Debug)]
struct Driver(Option<Runtime>);

impl Driver {
    fn block_on<F: Future>(&self, future: F) -> F::Output {
        self.0.as_ref().expect("it is taken only by drop").block_on(future)
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

/// A [`Client`](crate::Client) for programs without `async`: its calls block the thread.
#[derive(Clone)]
pub struct Client {
    inner: crate::Client,
    runtime: Arc<Driver>,
}

/// A lock that is held, as [`Guard`](crate::Guard); calls that wait block the thread. Dropping it
/// lets go.
#[derive(Debug)]
#[must_use = "a lock is held only as long as its guard lives"]
pub struct Guard {
    inner: crate::Guard,
    runtime: Arc<Driver>,
}

/// Several locks that are held, as [`Guards`](crate::Guards); calls that wait block the thread.
#[derive(Debug)]
#[must_use = "locks are held only as long as their guards live"]
pub struct Guards {
    inner: crate::Guards,
    runtime: Arc<Driver>,
}

/// An office that is held, as [`Leadership`](crate::Leadership); calls that wait block the thread.
#[derive(Debug)]
#[must_use = "a leader leads only as long as its leadership lives"]
pub struct Leadership {
    inner: crate::Leadership,
    runtime: Arc<Driver>,
}

/// Who leads, as it changes: an [`Observer`] as an iterator that ends only if the engine fails.
pub struct Offices {
    inner: Observer,
    runtime: Arc<Driver>,
}

impl Client {
    /// A client of that engine.
    ///
    /// # Panics
    /// If the system has no more descriptors or threads to give.
    pub fn new(engine: impl Engine) -> Self {
        Self::shared(Arc::new(engine))
    }

    /// A client of an engine that it shares with others.
    ///
    /// # Panics
    /// As [`new`](Self::new).
    pub fn shared(engine: Arc<dyn Engine>) -> Self {
        let runtime = Builder::new_current_thread().enable_time().build();
        let runtime = runtime.expect("a runtime without threads needs next to nothing");
        let runtime = Arc::new(Driver(Some(runtime)));
        Self { runtime, inner: crate::Client::shared(engine) }
    }

    /// A client of the engine `local`: **this machine only**, no server, state below the user's
    /// state directory.
    ///
    /// # Errors
    /// If that directory cannot be used.
    #[cfg(feature = "local")]
    pub fn local() -> Result<Self, Error> {
        Ok(Self::new(crate::Local::open_default()?))
    }

    /// A client of the locks at `url`: `local:`, `local:DIR`, ...; see [`At`](crate::At).
    ///
    /// # Errors
    /// If it does not say that, or the engine cannot be used.
    ///
    /// # Panics
    /// As [`new`](Self::new).
    pub fn at(url: &str) -> Result<Self, Error> {
        Ok(Self::shared(crate::engine_of(&url.parse()?)?))
    }

    /// The engine in use.
    pub fn engine(&self) -> &Arc<dyn Engine> {
        self.inner.engine()
    }

    /// Waits for a lock, as long as it takes. Blocks the thread; otherwise as
    /// [`Client::lock`](crate::Client::lock).
    ///
    /// # Errors
    /// Those of [`Client::lock`](crate::Client::lock).
    pub fn lock<R>(&self, request: R) -> Result<Guard, Error>
    where
        R: TryInto<Request, Error: Into<Error>>,
    {
        self.guard(self.inner.lock(request))
    }

    /// Takes a lock if it is free. Blocks the thread; otherwise as
    /// [`Client::try_lock`](crate::Client::try_lock).
    ///
    /// # Errors
    /// Those of [`Client::try_lock`](crate::Client::try_lock).
    pub fn try_lock<R>(&self, request: R) -> Result<Guard, Error>
    where
        R: TryInto<Request, Error: Into<Error>>,
    {
        self.guard(self.inner.try_lock(request))
    }

    /// Waits for a lock, but not longer than `limit`. Blocks the thread; otherwise as
    /// [`Client::lock_timeout`](crate::Client::lock_timeout).
    ///
    /// # Errors
    /// Those of [`Client::lock_timeout`](crate::Client::lock_timeout).
    pub fn lock_timeout<R>(&self, request: R, limit: Duration) -> Result<Guard, Error>
    where
        R: TryInto<Request, Error: Into<Error>>,
    {
        self.guard(self.inner.lock_timeout(request, limit))
    }

    /// Waits for what `request` describes. Blocks the thread; otherwise as
    /// [`Client::acquire_request`](crate::Client::acquire_request).
    ///
    /// # Errors
    /// Those of [`Client::acquire_request`](crate::Client::acquire_request).
    pub fn acquire_request(&self, request: &Request, patience: Patience) -> Result<Guard, Error> {
        self.guard(self.inner.acquire_request(request, patience))
    }

    /// Waits for several locks, in an order that cannot deadlock. Blocks the thread; otherwise as
    /// [`Client::lock_all`](crate::Client::lock_all).
    ///
    /// # Errors
    /// Those of [`Client::lock_all`](crate::Client::lock_all).
    pub fn lock_all<R>(&self, requests: impl IntoIterator<Item = R>) -> Result<Guards, Error>
    where
        R: TryInto<Request, Error: Into<Error>>,
    {
        self.guards(self.inner.lock_all(requests))
    }

    /// Takes several locks if all of them are free. Blocks the thread; otherwise as
    /// [`Client::try_lock_all`](crate::Client::try_lock_all).
    ///
    /// # Errors
    /// Those of [`Client::try_lock_all`](crate::Client::try_lock_all).
    pub fn try_lock_all<R>(&self, requests: impl IntoIterator<Item = R>) -> Result<Guards, Error>
    where
        R: TryInto<Request, Error: Into<Error>>,
    {
        self.guards(self.inner.try_lock_all(requests))
    }

    /// Waits for several locks, but not longer than `limit`. Blocks the thread; otherwise as
    /// [`Client::lock_all_timeout`](crate::Client::lock_all_timeout).
    ///
    /// # Errors
    /// Those of [`Client::lock_all_timeout`](crate::Client::lock_all_timeout).
    pub fn lock_all_timeout<R>(
        &self,
        requests: impl IntoIterator<Item = R>,
        limit: Duration,
    ) -> Result<Guards, Error>
    where
        R: TryInto<Request, Error: Into<Error>>,
    {
        self.guards(self.inner.lock_all_timeout(requests, limit))
    }

    /// Waits until this caller leads, and publishes `value`. Blocks the thread; otherwise as
    /// [`Client::campaign`](crate::Client::campaign).
    ///
    /// # Errors
    /// Those of [`Client::campaign`](crate::Client::campaign).
    pub fn campaign(&self, name: &str, value: impl Into<Vec<u8>>) -> Result<Leadership, Error> {
        let inner = self.runtime.block_on(self.inner.campaign(name, value))?;
        Ok(Leadership { runtime: Arc::clone(&self.runtime), inner })
    }

    /// Waits to lead, as `request` and `patience` say. Blocks the thread; otherwise as
    /// [`Client::campaign_request`](crate::Client::campaign_request).
    ///
    /// # Errors
    /// Those of [`Client::campaign_request`](crate::Client::campaign_request).
    pub fn campaign_request(
        &self,
        request: &Request,
        patience: Patience,
    ) -> Result<Leadership, Error> {
        let inner = self.runtime.block_on(self.inner.campaign_request(request, patience))?;
        Ok(Leadership { runtime: Arc::clone(&self.runtime), inner })
    }

    /// Follows who leads: the iterator blocks the thread until that changes. Otherwise as
    /// [`Client::observe`](crate::Client::observe).
    ///
    /// # Errors
    /// Those of [`Client::observe`](crate::Client::observe).
    pub fn observe(&self, name: &str) -> Result<Offices, Error> {
        let inner = self.inner.observe(name)?;
        Ok(Offices { runtime: Arc::clone(&self.runtime), inner })
    }

    /// Tells who holds a lock and who waits for it. Blocks the thread; otherwise as
    /// [`Client::inspect`](crate::Client::inspect).
    ///
    /// # Errors
    /// Those of [`Client::inspect`](crate::Client::inspect).
    pub fn inspect(&self, resource: &Resource) -> Result<Status, Error> {
        self.runtime.block_on(self.inner.inspect(resource))
    }

    /// Every lock and election that the engine knows; see [`Engine::list`].
    ///
    /// # Errors
    /// As there.
    pub fn list(&self) -> Result<Vec<Result<Status, Error>>, Error> {
        self.runtime.block_on(self.engine().list())
    }

    /// Takes a lock away from `target`, and tells who that was; see [`Engine::revoke`].
    ///
    /// # Errors
    /// As there.
    pub fn revoke(&self, resource: &Resource, target: &Target, by: &str) -> Result<Evicted, Error> {
        self.runtime.block_on(self.engine().revoke(resource, target, by))
    }

    /// Ends the session with the servers, if there is one; see [`Engine::close`].
    ///
    /// # Errors
    /// As there.
    pub fn close(&self) -> Result<(), Error> {
        self.runtime.block_on(self.engine().close())
    }

    fn guard(
        &self,
        future: impl Future<Output = Result<crate::Guard, Error>>,
    ) -> Result<Guard, Error> {
        let inner = self.runtime.block_on(future)?;
        Ok(Guard { runtime: Arc::clone(&self.runtime), inner })
    }

    fn guards(
        &self,
        future: impl Future<Output = Result<crate::Guards, Error>>,
    ) -> Result<Guards, Error> {
        let inner = self.runtime.block_on(future)?;
        Ok(Guards { runtime: Arc::clone(&self.runtime), inner })
    }
}

impl Guard {
    /// Keeps a value with the lock. Blocks the thread; otherwise as
    /// [`Guard::record`](crate::Guard::record).
    ///
    /// # Errors
    /// Those of [`Guard::record`](crate::Guard::record).
    pub fn record(&self, value: &[u8]) -> Result<(), Error> {
        self.runtime.block_on(self.inner.record(value))
    }

    /// Lets go, and says whether it was still held. Blocks the thread; otherwise as
    /// [`Guard::release`](crate::Guard::release).
    ///
    /// # Errors
    /// Those of [`Guard::release`](crate::Guard::release).
    pub fn release(self) -> Result<(), Error> {
        self.runtime.block_on(self.inner.release())
    }

    /// Blocks the thread until the lock is lost, and says why; as
    /// [`Guard::lost`](crate::Guard::lost).
    pub fn wait_lost(&self) -> Loss {
        self.runtime.block_on(self.inner.lost())
    }
}

impl Deref for Guard {
    type Target = crate::Guard;

    fn deref(&self) -> &crate::Guard {
        &self.inner
    }
}

impl Guards {
    /// Blocks the thread until one of the locks is lost, and says why; as
    /// [`Guards::lost`](crate::Guards::lost).
    pub fn wait_lost(&self) -> Loss {
        self.runtime.block_on(self.inner.lost())
    }

    /// Lets go, and says whether it was still held. Blocks the thread; otherwise as
    /// [`Guards::release`](crate::Guards::release).
    ///
    /// # Errors
    /// Those of [`Guards::release`](crate::Guards::release).
    pub fn release(self) -> Result<(), Error> {
        self.runtime.block_on(self.inner.release())
    }
}

impl Deref for Guards {
    type Target = crate::Guards;

    fn deref(&self) -> &crate::Guards {
        &self.inner
    }
}

impl Leadership {
    /// Publishes another value as the leader. Blocks the thread; otherwise as
    /// [`Leadership::proclaim`](crate::Leadership::proclaim).
    ///
    /// # Errors
    /// Those of [`Leadership::proclaim`](crate::Leadership::proclaim).
    pub fn proclaim(&self, value: &[u8]) -> Result<(), Error> {
        self.runtime.block_on(self.inner.proclaim(value))
    }

    /// Gives the office up, so that observers see it. Blocks the thread; otherwise as
    /// [`Leadership::resign`](crate::Leadership::resign).
    ///
    /// # Errors
    /// Those of [`Leadership::resign`](crate::Leadership::resign).
    pub fn resign(self) -> Result<(), Error> {
        self.runtime.block_on(self.inner.resign())
    }

    /// Blocks the thread until the leadership is lost, and says why; as
    /// [`Leadership::lost`](crate::Leadership::lost).
    pub fn wait_lost(&self) -> Loss {
        self.runtime.block_on(self.inner.lost())
    }
}

impl Deref for Leadership {
    type Target = crate::Leadership;

    fn deref(&self) -> &crate::Leadership {
        &self.inner
    }
}

impl Iterator for Offices {
    type Item = Result<Office, Error>;

    fn next(&mut self) -> Option<Result<Office, Error>> {
        Some(self.runtime.block_on(self.inner.next()))
    }
}
