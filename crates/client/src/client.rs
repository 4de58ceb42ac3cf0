//! Locks and elections, on whatever engine.

use std::sync::Arc;
use std::time::Duration;

use crate::{
    BootTime, Engine, Error, Guard, Guards, Kind, Leadership, Mode, Name, Observer, Patience,
    Request, Resource, Status,
};

/// The way to locks and leaders. Cheap to clone; all clones share one engine.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), conclave_client::Error> {
/// use conclave_client::{Client, Memory};
///
/// let client = Client::new(Memory::new()); // in production: Client::local()?
/// let guard = client.lock("nightly").await?;
/// println!("mine, and fence {} proves it", guard.fence());
/// guard.release().await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Client {
    engine: Arc<dyn Engine>,
}

impl Client {
    /// A client of that engine.
    pub fn new(engine: impl Engine) -> Self {
        Self { engine: Arc::new(engine) }
    }

    /// A client of an engine that it shares with others.
    pub fn shared(engine: Arc<dyn Engine>) -> Self {
        Self { engine }
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
    pub fn at(url: &str) -> Result<Self, Error> {
        Ok(Self::shared(crate::engine_of(&url.parse()?)?))
    }

    /// The engine in use.
    pub fn engine(&self) -> &Arc<dyn Engine> {
        &self.engine
    }

    /// Waits for a lock, as long as it takes. Dropping the future leaves the queue.
    ///
    /// # Errors
    /// If the engine cannot be used, or others use the name with another number of slots.
    pub async fn lock<R>(&self, request: R) -> Result<Guard, Error>
    where
        R: TryInto<Request, Error: Into<Error>>,
    {
        self.acquire(request, Patience::Forever).await
    }

    /// Takes a lock if it is free.
    ///
    /// # Errors
    /// [`Error::Busy`] if it is not; otherwise as [`lock`](Self::lock).
    pub async fn try_lock<R>(&self, request: R) -> Result<Guard, Error>
    where
        R: TryInto<Request, Error: Into<Error>>,
    {
        self.acquire(request, Patience::AtMost(Duration::ZERO)).await
    }

    /// Waits for a lock, but not longer than `limit`.
    ///
    /// # Errors
    /// [`Error::TimedOut`] if it did not become free, with the certainty that nothing is held;
    /// [`Error::Unknown`] if the engine cannot tell. Otherwise as [`lock`](Self::lock).
    pub async fn lock_timeout<R>(&self, request: R, limit: Duration) -> Result<Guard, Error>
    where
        R: TryInto<Request, Error: Into<Error>>,
    {
        self.acquire(request, Patience::AtMost(limit)).await
    }

    /// Waits for several locks. They are taken in one fixed order, whatever the order of the
    /// requests, so that two who want the same locks cannot wait for each other.
    ///
    /// # Errors
    /// As [`lock`](Self::lock), and if one lock is asked for twice. What was taken is let go.
    pub async fn lock_all<R>(&self, requests: impl IntoIterator<Item = R>) -> Result<Guards, Error>
    where
        R: TryInto<Request, Error: Into<Error>>,
    {
        self.acquire_all(requests, Patience::Forever).await
    }

    /// Takes several locks if all of them are free.
    ///
    /// # Errors
    /// [`Error::Busy`] if one is not; otherwise as [`lock_all`](Self::lock_all). What was taken is
    /// let go, the last one first.
    pub async fn try_lock_all<R>(
        &self,
        requests: impl IntoIterator<Item = R>,
    ) -> Result<Guards, Error>
    where
        R: TryInto<Request, Error: Into<Error>>,
    {
        self.acquire_all(requests, Patience::AtMost(Duration::ZERO)).await
    }

    /// Waits for several locks, but not longer than `limit` for all of them together.
    ///
    /// # Errors
    /// [`Error::TimedOut`] with the name of the one that did not become free; otherwise as
    /// [`lock_all`](Self::lock_all). What was taken is let go, the last one first.
    pub async fn lock_all_timeout<R>(
        &self,
        requests: impl IntoIterator<Item = R>,
        limit: Duration,
    ) -> Result<Guards, Error>
    where
        R: TryInto<Request, Error: Into<Error>>,
    {
        self.acquire_all(requests, Patience::AtMost(limit)).await
    }

    async fn acquire_all<R>(
        &self,
        requests: impl IntoIterator<Item = R>,
        patience: Patience,
    ) -> Result<Guards, Error>
    where
        R: TryInto<Request, Error: Into<Error>>,
    {
        let requests = requests.into_iter().map(|it| it.try_into().map_err(Into::into));
        let mut requests: Vec<Request> = requests.collect::<Result<_, _>>()?;
        requests.sort_by(|a, b| a.resource.cmp(&b.resource));
        if let Some(pair) = requests.windows(2).find(|pair| pair[0].resource == pair[1].resource) {
            return Err(Error::Twice(pair[0].resource.clone()));
        }
        let start = BootTime::now();
        let mut guards = Guards::default();
        for request in &requests {
            let left = match patience {
                Patience::Forever => Patience::Forever,
                Patience::AtMost(limit) => {
                    Patience::AtMost(limit.saturating_sub(BootTime::now().since(start)))
                }
            };
            let acquired = self.acquire_request(request, left).await;
            guards.push(acquired.map_err(|error| of_all(error, patience))?);
        }
        Ok(guards)
    }

    /// Waits until this caller is the leader of that name, and publishes `value` as such.
    /// Dropping the future withdraws.
    ///
    /// # Errors
    /// If the engine cannot be used, or the value is too long.
    pub async fn campaign(
        &self,
        name: &str,
        value: impl Into<Vec<u8>>,
    ) -> Result<Leadership, Error> {
        let request = Request::election(name, value)?;
        self.campaign_request(&request, Patience::Forever).await
    }

    /// Waits as [`campaign`](Self::campaign) does, for a request with a label, and no longer than
    /// `patience` says.
    ///
    /// # Errors
    /// As [`campaign`](Self::campaign), [`Error::Busy`] or [`Error::TimedOut`], and
    /// [`Error::NoElection`] for a request that could have more than one winner.
    pub async fn campaign_request(
        &self,
        request: &Request,
        patience: Patience,
    ) -> Result<Leadership, Error> {
        if request.kind() != Kind::Election || request.mode != Mode::Exclusive {
            return Err(Error::NoElection(request.resource.clone()));
        }
        Ok(Leadership::new(self.acquire_request(request, patience).await?))
    }

    /// Follows who leads.
    ///
    /// # Errors
    /// If that is no name.
    pub fn observe(&self, name: &str) -> Result<Observer, Error> {
        Ok(Observer::new(Arc::clone(&self.engine), Resource::election(Name::new(name)?)))
    }

    /// Who holds a lock and who waits for it.
    ///
    /// # Errors
    /// If the engine cannot be used.
    pub async fn inspect(&self, resource: &Resource) -> Result<Status, Error> {
        self.engine.inspect(resource).await
    }

    async fn acquire<R>(&self, request: R, patience: Patience) -> Result<Guard, Error>
    where
        R: TryInto<Request, Error: Into<Error>>,
    {
        let request = request.try_into().map_err(Into::into)?;
        self.acquire_request(&request, patience).await
    }

    /// Waits for what `request` describes.
    ///
    /// # Errors
    /// As [`lock`](Self::lock), and [`Error::Busy`] or [`Error::TimedOut`].
    pub async fn acquire_request(
        &self,
        request: &Request,
        patience: Patience,
    ) -> Result<Guard, Error> {
        let hold = self.engine.acquire(request, patience).await?;
        Ok(Guard::new(request.resource.clone(), hold))
    }
}

/// The error of one request, as that of all of them: what counts is the time that all had. With
/// none left, a request is merely tried, and is refused as one that never wanted to wait.
fn of_all(error: Error, patience: Patience) -> Error {
    match (error, patience) {
        (
            Error::TimedOut { resource, .. } | Error::Busy { resource, .. },
            Patience::AtMost(limit),
        ) if !limit.is_zero() => Error::TimedOut { resource, waited: limit },
        (error, _) => error,
    }
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Client on {}", self.engine.name())
    }
}
