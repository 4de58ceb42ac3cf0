//! What is asked for.

use std::num::NonZeroU32;

use crate::{Error, Kind, Name, NameError, Resource};

/// The longest label, in bytes of UTF-8.
pub const LABEL_MAX: usize = 128;

/// The longest value that a holder can keep with its lock or a leader can publish, in bytes.
pub const VALUE_MAX: usize = 1024;

/// Who may hold a lock together.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Mode {
    /// One holder alone: nobody else holds it meanwhile.
    Exclusive,
    /// Any number of shared holders, and no exclusive one.
    Shared,
    /// One of so many places: a semaphore. All who use the name must agree on the number.
    Slot {
        /// How many places there are.
        of: NonZeroU32,
    },
}

/// A request for a lock: its name, and how it is wanted.
///
/// A plain `"name"` is a request for that lock alone.
///
/// ```
/// use conclave_client::Request;
///
/// let reader = Request::lock("accounts")?.shared().labelled("monthly report")?;
/// let worker = Request::lock("render farm")?.slots(4)?;
/// # Ok::<(), conclave_client::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Request {
    /// What is asked for.
    pub(crate) resource: Resource,
    /// How it is wanted.
    pub(crate) mode: Mode,
    /// Who asks, in words for people.
    pub(crate) label: String,
    /// What a leader publishes from its first moment on.
    pub(crate) value: Vec<u8>,
}

impl Request {
    /// The lock of that name, exclusive.
    ///
    /// # Errors
    /// If that is no name.
    pub fn lock(name: &str) -> Result<Self, Error> {
        Ok(Self::of(Resource::lock(name.parse()?)))
    }

    /// The leadership of that name, with the value that the leader publishes.
    ///
    /// # Errors
    /// If that is no name, or the value is longer than [`VALUE_MAX`].
    pub fn election(name: &str, value: impl Into<Vec<u8>>) -> Result<Self, Error> {
        let value = value.into();
        check_value(&value)?;
        Ok(Self { value, ..Self::of(Resource::election(name.parse()?)) })
    }

    /// A request for that resource, to hold it alone.
    pub fn of(resource: Resource) -> Self {
        Self { resource, mode: Mode::Exclusive, label: String::new(), value: Vec::new() }
    }

    /// Together with other shared holders.
    #[must_use]
    pub fn shared(mut self) -> Self {
        self.mode = Mode::Shared;
        self
    }

    /// One of `count` places.
    ///
    /// # Errors
    /// If `count` is 0.
    pub fn slots(mut self, count: u32) -> Result<Self, Error> {
        let of = NonZeroU32::new(count).ok_or(Error::NoSlots)?;
        self.mode = Mode::Slot { of };
        Ok(self)
    }

    /// Says who asks, for those who look at the list of locks.
    ///
    /// # Errors
    /// If the label is longer than [`LABEL_MAX`].
    pub fn labelled(mut self, label: impl Into<String>) -> Result<Self, Error> {
        self.label = label.into();
        if self.label.len() > LABEL_MAX {
            return Err(Error::LabelTooLong(self.label.len()));
        }
        Ok(self)
    }

    /// What is asked for.
    pub fn resource(&self) -> &Resource {
        &self.resource
    }

    /// The name of the lock or election that is asked for.
    pub fn name(&self) -> &Name {
        &self.resource.name
    }

    /// Whether it is a lock or an election.
    pub fn kind(&self) -> Kind {
        self.resource.kind
    }

    /// How it is wanted.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// Who asks, in words for people; may be empty.
    pub fn label(&self) -> &str {
        &self.label
    }

    /// What a leader publishes from its first moment on.
    pub fn value(&self) -> &[u8] {
        &self.value
    }
}

pub(crate) fn check_value(value: &[u8]) -> Result<(), Error> {
    if value.len() > VALUE_MAX {
        return Err(Error::ValueTooLong(value.len()));
    }
    Ok(())
}

impl TryFrom<&str> for Request {
    type Error = Error;

    fn try_from(name: &str) -> Result<Self, Error> {
        Self::lock(name)
    }
}

impl TryFrom<&String> for Request {
    type Error = Error;

    fn try_from(name: &String) -> Result<Self, Error> {
        Self::lock(name)
    }
}

impl TryFrom<String> for Request {
    type Error = Error;

    fn try_from(name: String) -> Result<Self, Error> {
        Self::lock(&name)
    }
}

impl From<&Self> for Request {
    fn from(request: &Self) -> Self {
        request.clone()
    }
}

impl From<Name> for Request {
    fn from(name: Name) -> Self {
        Self::of(Resource::lock(name))
    }
}

impl From<NameError> for Error {
    fn from(error: NameError) -> Self {
        Self::Name(error)
    }
}

/// `Request` from `Request` cannot fail, from a text it can; callers see one error.
impl From<std::convert::Infallible> for Error {
    fn from(never: std::convert::Infallible) -> Self {
        match never {}
    }
}
