//! The same without `async`, for programs that have none.
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

/// [`Client`](crate::Client), blocking.
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

    /// See [`Client::lock`](crate::Client::lock).
    ///
    /// # Errors
    /// As there.
    pub fn lock<R>(&self, request: R) -> Result<Guard, Error>
    where
        R: TryInto<Request, Error: Into<Error>>,
    {
        self.guard(self.inner.lock(request))
    }

    /// See [`Client::try_lock`](crate::Client::try_lock).
    ///
    /// # Errors
    /// As there.
    pub fn try_lock<R>(&self, request: R) -> Result<Guard, Error>
    where
        R: TryInto<Request, Error: Into<Error>>,
    {
        self.guard(self.inner.try_lock(request))
    }

    /// See [`Client::lock_timeout`](crate::Client::lock_timeout).
    ///
    /// # Errors
    /// As there.
    pub fn lock_timeout<R>(&self, request: R, limit: Duration) -> Result<Guard, Error>
    where
        R: TryInto<Request, Error: Into<Error>>,
    {
        self.guard(self.inner.lock_timeout(request, limit))
    }

    /// See [`Client::acquire_request`](crate::Client::acquire_request).
    ///
    /// # Errors
    /// As there.
    pub fn acquire_request(&self, request: &Request, patience: Patience) -> Result<Guard, Error> {
        self.guard(self.inner.acquire_request(request, patience))
    }

    /// See [`Client::lock_all`](crate::Client::lock_all).
    ///
    /// # Errors
    /// As there.
    pub fn lock_all<R>(&self, requests: impl IntoIterator<Item = R>) -> Result<Guards, Error>
    where
        R: TryInto<Request, Error: Into<Error>>,
    {
        self.guards(self.inner.lock_all(requests))
    }

    /// See [`Client::try_lock_all`](crate::Client::try_lock_all).
    ///
    /// # Errors
    /// As there.
    pub fn try_lock_all<R>(&self, requests: impl IntoIterator<Item = R>) -> Result<Guards, Error>
    where
        R: TryInto<Request, Error: Into<Error>>,
    {
        self.guards(self.inner.try_lock_all(requests))
    }

    /// See [`Client::lock_all_timeout`](crate::Client::lock_all_timeout).
    ///
    /// # Errors
    /// As there.
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

    /// See [`Client::campaign`](crate::Client::campaign).
    ///
    /// # Errors
    /// As there.
    pub fn campaign(&self, name: &str, value: impl Into<Vec<u8>>) -> Result<Leadership, Error> {
        let inner = self.runtime.block_on(self.inner.campaign(name, value))?;
        Ok(Leadership { runtime: Arc::clone(&self.runtime), inner })
    }

    /// See [`Client::campaign_request`](crate::Client::campaign_request).
    ///
    /// # Errors
    /// As there.
    pub fn campaign_request(
        &self,
        request: &Request,
        patience: Patience,
    ) -> Result<Leadership, Error> {
        let inner = self.runtime.block_on(self.inner.campaign_request(request, patience))?;
        Ok(Leadership { runtime: Arc::clone(&self.runtime), inner })
    }

    /// See [`Client::observe`](crate::Client::observe).
    ///
    /// # Errors
    /// As there.
    pub fn observe(&self, name: &str) -> Result<Offices, Error> {
        let inner = self.inner.observe(name)?;
        Ok(Offices { runtime: Arc::clone(&self.runtime), inner })
    }

    /// See [`Client::inspect`](crate::Client::inspect).
    ///
    /// # Errors
    /// As there.
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
    /// See [`Guard::record`](crate::Guard::record).
    ///
    /// # Errors
    /// As there.
    pub fn record(&self, value: &[u8]) -> Result<(), Error> {
        self.runtime.block_on(self.inner.record(value))
    }

    /// See [`Guard::release`](crate::Guard::release).
    ///
    /// # Errors
    /// As there.
    pub fn release(self) -> Result<(), Error> {
        self.runtime.block_on(self.inner.release())
    }

    /// See [`Guard::lost`](crate::Guard::lost).
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
    /// See [`Guards::lost`](crate::Guards::lost).
    pub fn wait_lost(&self) -> Loss {
        self.runtime.block_on(self.inner.lost())
    }

    /// See [`Guards::release`](crate::Guards::release).
    ///
    /// # Errors
    /// As there.
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
    /// See [`Leadership::proclaim`](crate::Leadership::proclaim).
    ///
    /// # Errors
    /// As there.
    pub fn proclaim(&self, value: &[u8]) -> Result<(), Error> {
        self.runtime.block_on(self.inner.proclaim(value))
    }

    /// See [`Leadership::resign`](crate::Leadership::resign).
    ///
    /// # Errors
    /// As there.
    pub fn resign(self) -> Result<(), Error> {
        self.runtime.block_on(self.inner.resign())
    }

    /// See [`Leadership::lost`](crate::Leadership::lost).
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
