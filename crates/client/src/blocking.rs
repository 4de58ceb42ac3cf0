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

/// [`Guard`](crate::Guard), blocking. Everything that does not wait is the same.
#[derive(Debug)]
#[must_use = "a lock is held only as long as its guard lives"]
pub struct Guard {
    inner: crate::Guard,
    runtime: Arc<Driver>,
}

/// [`Guards`](crate::Guards), blocking. Everything that does not wait is the same.
#[derive(Debug)]
#[must_use = "locks are held only as long as their guards live"]
pub struct Guards {
    inner: crate::Guards,
    runtime: Arc<Driver>,
}

/// [`Leadership`](crate::Leadership), blocking. Everything that does not wait is the same.
#[derive(Debug)]
#[must_use = "a leader leads only as long as its leadership lives"]
pub struct Leadership {
    inner: crate::Leadership,
    runtime: Arc<Driver>,
}

/// [`Observer`], as an iterator that never ends unless the engine fails.
pub struct Offices {
    inner: Observer,
    runtime: Arc<Driver>,
}

impl Client {
    /// On that engine.
    ///
    /// # Panics
    /// If the system has no more descriptors or threads to give.
    pub fn new(engine: impl Engine) -> Self {
        Self::shared(Arc::new(engine))
    }

    /// On an engine that others use too.
    ///
    /// # Panics
    /// As [`new`](Self::new).
    pub fn shared(engine: Arc<dyn Engine>) -> Self {
        let runtime = Builder::new_current_thread().enable_time().build();
        let runtime = runtime.expect("a runtime without threads needs next to nothing");
        let runtime = Arc::new(Driver(Some(runtime)));
        Self { runtime, inner: crate::Client::shared(engine) }
    }

    /// On the engine `local`: **this machine only**, no server, state below the user's state
    /// directory.
    ///
    /// # Errors
    /// If that directory cannot be used.
    #[cfg(feature = "local")]
    pub fn local() -> Result<Self, Error> {
        Ok(Self::new(crate::Local::open_default()?))
    }

    /// Where `url` says: `local:`, `local:DIR`, ...; see [`At`](crate::At).
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

    /// Does what [`lock`](crate::Client::lock) does, and blocks the thread until then.
    ///
    /// # Errors
    /// Those of [`Client::lock`](crate::Client::lock).
    pub fn lock<R>(&self, request: R) -> Result<Guard, Error>
    where
        R: TryInto<Request, Error: Into<Error>>,
    {
        self.guard(self.inner.lock(request))
    }

    /// Does what [`try_lock`](crate::Client::try_lock) does, and blocks the thread until then.
    ///
    /// # Errors
    /// Those of [`Client::try_lock`](crate::Client::try_lock).
    pub fn try_lock<R>(&self, request: R) -> Result<Guard, Error>
    where
        R: TryInto<Request, Error: Into<Error>>,
    {
        self.guard(self.inner.try_lock(request))
    }

    /// Does what [`lock_timeout`](crate::Client::lock_timeout) does, and blocks the thread
    /// until then.
    ///
    /// # Errors
    /// Those of [`Client::lock_timeout`](crate::Client::lock_timeout).
    pub fn lock_timeout<R>(&self, request: R, limit: Duration) -> Result<Guard, Error>
    where
        R: TryInto<Request, Error: Into<Error>>,
    {
        self.guard(self.inner.lock_timeout(request, limit))
    }

    /// Does what [`acquire_request`](crate::Client::acquire_request) does, and blocks the thread
    /// until then.
    ///
    /// # Errors
    /// Those of [`Client::acquire_request`](crate::Client::acquire_request).
    pub fn acquire_request(&self, request: &Request, patience: Patience) -> Result<Guard, Error> {
        self.guard(self.inner.acquire_request(request, patience))
    }

    /// Does what [`lock_all`](crate::Client::lock_all) does, and blocks the thread until then.
    ///
    /// # Errors
    /// Those of [`Client::lock_all`](crate::Client::lock_all).
    pub fn lock_all<R>(&self, requests: impl IntoIterator<Item = R>) -> Result<Guards, Error>
    where
        R: TryInto<Request, Error: Into<Error>>,
    {
        self.guards(self.inner.lock_all(requests))
    }

    /// Does what [`try_lock_all`](crate::Client::try_lock_all) does, and blocks the thread
    /// until then.
    ///
    /// # Errors
    /// Those of [`Client::try_lock_all`](crate::Client::try_lock_all).
    pub fn try_lock_all<R>(&self, requests: impl IntoIterator<Item = R>) -> Result<Guards, Error>
    where
        R: TryInto<Request, Error: Into<Error>>,
    {
        self.guards(self.inner.try_lock_all(requests))
    }

    /// Does what [`lock_all_timeout`](crate::Client::lock_all_timeout) does, and blocks the thread
    /// until then.
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

    /// Does what [`campaign`](crate::Client::campaign) does, and blocks the thread until then.
    ///
    /// # Errors
    /// Those of [`Client::campaign`](crate::Client::campaign).
    pub fn campaign(&self, name: &str, value: impl Into<Vec<u8>>) -> Result<Leadership, Error> {
        let inner = self.runtime.block_on(self.inner.campaign(name, value))?;
        Ok(Leadership { runtime: Arc::clone(&self.runtime), inner })
    }

    /// Does what [`campaign_request`](crate::Client::campaign_request) does, and blocks the thread
    /// until then.
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

    /// Does what [`observe`](crate::Client::observe) does, and blocks the thread until then.
    ///
    /// # Errors
    /// Those of [`Client::observe`](crate::Client::observe).
    pub fn observe(&self, name: &str) -> Result<Offices, Error> {
        let inner = self.inner.observe(name)?;
        Ok(Offices { runtime: Arc::clone(&self.runtime), inner })
    }

    /// Does what [`inspect`](crate::Client::inspect) does, and blocks the thread until then.
    ///
    /// # Errors
    /// Those of [`Client::inspect`](crate::Client::inspect).
    pub fn inspect(&self, resource: &Resource) -> Result<Status, Error> {
        self.runtime.block_on(self.inner.inspect(resource))
    }

    /// See [`Engine::list`].
    ///
    /// # Errors
    /// As there.
    pub fn list(&self) -> Result<Vec<Result<Status, Error>>, Error> {
        self.runtime.block_on(self.engine().list())
    }

    /// See [`Engine::revoke`].
    ///
    /// # Errors
    /// As there.
    pub fn revoke(&self, resource: &Resource, target: &Target, by: &str) -> Result<Evicted, Error> {
        self.runtime.block_on(self.engine().revoke(resource, target, by))
    }

    /// See [`Engine::close`].
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
    /// Does what [`record`](crate::Guard::record) does, and blocks the thread until then.
    ///
    /// # Errors
    /// Those of [`Guard::record`](crate::Guard::record).
    pub fn record(&self, value: &[u8]) -> Result<(), Error> {
        self.runtime.block_on(self.inner.record(value))
    }

    /// Does what [`release`](crate::Guard::release) does, and blocks the thread until then.
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

    /// Does what [`release`](crate::Guards::release) does, and blocks the thread until then.
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
    /// Does what [`proclaim`](crate::Leadership::proclaim) does, and blocks the thread until then.
    ///
    /// # Errors
    /// Those of [`Leadership::proclaim`](crate::Leadership::proclaim).
    pub fn proclaim(&self, value: &[u8]) -> Result<(), Error> {
        self.runtime.block_on(self.inner.proclaim(value))
    }

    /// Does what [`resign`](crate::Leadership::resign) does, and blocks the thread until then.
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
