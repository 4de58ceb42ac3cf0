//! Where locks live, as one says it: `local:`, `etcd://a:2379,b:2379/locks`.

use std::fmt;
use std::net::Ipv6Addr;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use thiserror::Error;

use crate::{Engine, Error};

/// The port of an etcd host that has none.
const ETCD_PORT: u16 = 2379;

/// Engines that are planned: whoever names one is not told that there is no such thing.
const PLANNED: [&str; 4] = ["zookeeper", "postgres", "group", "cell"];

/// Where locks live. Made by [`parse`](Self::parse) or [`local`](Self::local) and only so: a value
/// is always a right one, and what it is displayed as is parsed to the same again.
///
/// ```
/// use conclave_client::At;
///
/// let at = At::parse("etcd://a,[::1]:4001/locks/").unwrap();
/// assert_eq!(at.to_string(), "etcd://a:2379,[::1]:4001/locks/");
/// assert!(matches!(At::parse("local:/var/lib/conclave"), Ok(At::Local { .. })));
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum At {
    /// `local:` or `local:DIR`: this machine only.
    #[non_exhaustive]
    Local {
        /// Never empty. `None` is the default of [`Local`](crate::Local).
        directory: Option<PathBuf>,
    },
    /// `etcd://HOST:PORT,.../PREFIX`: a cluster of etcd.
    #[non_exhaustive]
    Etcd {
        /// `host:port` of each, at least one; an IPv6 address is in brackets.
        endpoints: Vec<String>,
        /// What every key begins with, byte for byte; may be empty.
        prefix: String,
    },
}

/// Why a text does not say where locks live. None of them repeats what may be a password.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum AtError {
    /// It does not begin with the name of an engine.
    #[error("it names no engine; say {ENGINES}")]
    NoEngine,
    /// It begins with a name that no engine has.
    #[error("there is no engine {0}; say {ENGINES}")]
    UnknownEngine(String),
    /// A later version will have it.
    #[error("the engine {0} is not there yet; say {ENGINES}")]
    NotYet(&'static str),
    /// There is an `@`, before which a URL has a user and a password.
    #[error(
        "a URL with @ in it is refused, for that is where passwords would be: user and password \
         go into files or the environment (ETCDCTL_USER, ETCDCTL_PASSWORD)"
    )]
    Credentials,
    /// There is no host, or none between two commas.
    #[error("a host is missing; say etcd://HOST:PORT,HOST:PORT/PREFIX")]
    NoHost,
    /// That is no host.
    #[error("{0:?} is no host; say a name, an IPv4 address, or an IPv6 address like [::1]")]
    BadHost(String),
    /// That is no port.
    #[error("{0:?} is no port; say a number from 1 to 65535")]
    BadPort(String),
    /// There is a `?` or a `#`.
    #[error("? and # have no meaning in such a URL; settings are options of their own")]
    Query,
    /// A prefix with control characters would make keys that nobody can read or type.
    #[error("a prefix has no control characters")]
    BadPrefix,
    /// A directory that is said, but empty.
    #[error("the directory is empty; say local: for the default, or local:/some/directory")]
    EmptyDirectory,
    /// Bytes that are no text cannot be passed on as a part of a URL.
    #[error("the name of the directory {0:?} is not UTF-8")]
    NotText(String),
    /// The shell has not replaced it, and nobody else will.
    #[error(
        "~ is not expanded here; say local:$HOME/..., or local:./~ for a directory of that name"
    )]
    Tilde,
    /// A machine is named, but `local:` is always this one.
    #[error("local: is this machine and takes no host; say local:/some/directory")]
    HostOfLocal,
}

/// What there is, for those who asked for something else.
const ENGINES: &str = "local:, local:DIR or etcd://HOST:PORT,.../PREFIX";

impl At {
    /// What `--at`, `CONCLAVE_AT` and `conclave.toml` may say:
    ///
    /// - `local:` or `local:DIR`, on this machine;
    /// - `etcd://HOST[:PORT],.../PREFIX`: ports are 2379 if they are not said, and the prefix is
    ///   all behind the first slash, taken as it is.
    ///
    /// # Errors
    /// If it is neither. The error's text says what would be right.
    pub fn parse(url: &str) -> Result<Self, AtError> {
        let (engine, rest) = url.split_once(':').ok_or(AtError::NoEngine)?;
        let is_word = engine.starts_with(|it: char| it.is_ascii_alphabetic())
            && engine.chars().all(|it| it.is_ascii_alphanumeric() || "+-.".contains(it));
        if !is_word {
            return Err(AtError::NoEngine);
        }
        match engine.to_ascii_lowercase().as_str() {
            "local" if rest.is_empty() => Ok(Self::Local { directory: None }),
            "local" => match rest.strip_prefix("//") {
                Some(host) if !host.starts_with('/') => Err(AtError::HostOfLocal),
                _ => Self::local(rest),
            },
            "etcd" => Self::parse_etcd(rest),
            other => Err(match PLANNED.into_iter().find(|it| *it == other) {
                Some(planned) => AtError::NotYet(planned),
                None => AtError::UnknownEngine(other.to_owned()),
            }),
        }
    }

    /// `local:DIR`. A relative directory is another one from elsewhere.
    ///
    /// # Errors
    /// If it is empty, is not UTF-8, or begins with a `~` that no shell has replaced.
    pub fn local(directory: impl AsRef<Path>) -> Result<Self, AtError> {
        let directory = directory.as_ref();
        let Some(text) = directory.to_str() else {
            return Err(AtError::NotText(directory.display().to_string()));
        };
        match text {
            "" => Err(AtError::EmptyDirectory),
            _ if text.starts_with('~') => Err(AtError::Tilde),
            // Without doubled slashes: two of them would begin a host.
            _ => Ok(Self::Local { directory: Some(directory.components().collect()) }),
        }
    }

    /// What follows `etcd:`.
    fn parse_etcd(rest: &str) -> Result<Self, AtError> {
        // First of all, and wherever it stands: a password may have slashes and the like in it, and
        // no later error may repeat it.
        if rest.contains('@') {
            return Err(AtError::Credentials);
        }
        if rest.contains(['?', '#']) {
            return Err(AtError::Query);
        }
        let rest = rest.strip_prefix("//").ok_or(AtError::NoHost)?;
        let (hosts, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        if prefix.chars().any(char::is_control) {
            return Err(AtError::BadPrefix);
        }
        let endpoints = hosts.split(',').map(endpoint).collect::<Result<_, _>>()?;
        Ok(Self::Etcd { endpoints, prefix: prefix.to_owned() })
    }
}

/// `host:port`, of a host whose port may be missing.
fn endpoint(text: &str) -> Result<String, AtError> {
    let bad_host = || AtError::BadHost(text.to_owned());
    let (host, port) = match text.strip_prefix('[') {
        Some(inner) => {
            let (address, port) = inner.split_once(']').ok_or_else(bad_host)?;
            let address: Ipv6Addr = address.parse().map_err(|_| bad_host())?;
            let port = match port {
                "" => None,
                _ => Some(port.strip_prefix(':').ok_or_else(bad_host)?),
            };
            (format!("[{address}]"), port)
        }
        None => match text.split_once(':') {
            Some((_, port)) if port.contains(':') => return Err(bad_host()),
            Some((host, port)) => (host.to_owned(), Some(port)),
            None => (text.to_owned(), None),
        },
    };
    if host.is_empty() {
        return Err(AtError::NoHost);
    }
    let is_name = |it: char| it.is_ascii_alphanumeric() || "-._".contains(it);
    if !host.starts_with('[') && !host.chars().all(is_name) {
        return Err(bad_host());
    }
    let port = match port {
        None => ETCD_PORT,
        Some(port) => {
            let digits = Some(port).filter(|it| it.bytes().all(|byte| byte.is_ascii_digit()));
            let number = digits.and_then(|it| it.parse().ok()).filter(|number| *number > 0);
            number.ok_or_else(|| AtError::BadPort(port.to_owned()))?
        }
    };
    Ok(format!("{host}:{port}"))
}

impl Default for At {
    /// `local:`, this machine's default directory.
    fn default() -> Self {
        Self::Local { directory: None }
    }
}

impl FromStr for At {
    type Err = AtError;

    fn from_str(url: &str) -> Result<Self, AtError> {
        Self::parse(url)
    }
}

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Local { directory: None } => write!(f, "local:"),
            Self::Local { directory: Some(directory) } => {
                write!(f, "local:{}", directory.display())
            }
            Self::Etcd { endpoints, prefix } => {
                write!(f, "etcd://{}/{prefix}", endpoints.join(","))
            }
        }
    }
}

/// The engine that has its locks there, with its default settings.
///
/// # Errors
/// If it cannot be used, or this build does not have it.
pub fn engine_of(at: &At) -> Result<Arc<dyn Engine>, Error> {
    match at {
        #[cfg(feature = "local")]
        At::Local { directory } => {
            let options =
                crate::LocalOptions { directory: directory.clone(), ..Default::default() };
            Ok(Arc::new(crate::Local::with(&options)?))
        }
        #[cfg(not(feature = "local"))]
        At::Local { .. } => Err(Error::Unsupported { engine: "local", what: "part in this build" }),
        #[cfg(feature = "etcd")]
        At::Etcd { endpoints, prefix } => {
            let mut options = crate::EtcdOptions::new(endpoints.clone()).or_environment()?;
            options.prefix.clone_from(prefix);
            Ok(Arc::new(crate::Etcd::new(options)?))
        }
        #[cfg(not(feature = "etcd"))]
        At::Etcd { .. } => Err(Error::Unsupported { engine: "etcd", what: "part in this build" }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn etcd(endpoints: &[&str], prefix: &str) -> At {
        let endpoints = endpoints.iter().map(|&it| it.to_owned()).collect();
        At::Etcd { endpoints, prefix: prefix.to_owned() }
    }

    #[test]
    fn local_is_with_or_without_a_directory() {
        assert_eq!(At::parse("local:"), Ok(At::Local { directory: None }));
        for (url, directory) in [
            ("local:/var/lib/x", "/var/lib/x"),
            ("local:///var/lib/x", "/var/lib/x"),
            ("LOCAL:/x/", "/x"),
            ("local:here", "here"),
            ("local:./~", "./~"),
            ("local:/a b?c#d@e:f,g", "/a b?c#d@e:f,g"),
        ] {
            assert_eq!(
                At::parse(url),
                Ok(At::Local { directory: Some(directory.into()) }),
                "{url}"
            );
        }
    }

    #[test]
    fn etcd_has_hosts_and_a_prefix() {
        for (url, expected) in [
            ("etcd://h", etcd(&["h:2379"], "")),
            ("etcd://h/", etcd(&["h:2379"], "")),
            ("etcd://h//", etcd(&["h:2379"], "/")),
            ("Etcd://h1:1,h2:65535/p", etcd(&["h1:1", "h2:65535"], "p")),
            ("etcd://10.0.0.1,a_b.c-d/p/q/", etcd(&["10.0.0.1:2379", "a_b.c-d:2379"], "p/q/")),
            ("etcd://h//locks", etcd(&["h:2379"], "/locks")),
            ("etcd://[::1],[fe80:0::1]:7/p", etcd(&["[::1]:2379", "[fe80::1]:7"], "p")),
            ("etcd://h/a,b:c%20ü", etcd(&["h:2379"], "a,b:c%20ü")),
        ] {
            assert_eq!(At::parse(url), Ok(expected), "{url}");
        }
    }

    #[test]
    fn what_is_wrong_is_refused_for_what_it_is() {
        let port = |it: &str| AtError::BadPort(it.into());
        let host = |it: &str| AtError::BadHost(it.into());
        for (url, expected) in [
            ("", AtError::NoEngine),
            ("local", AtError::NoEngine),
            ("/var/lib/x", AtError::NoEngine),
            (":x", AtError::NoEngine),
            ("a/b:x", AtError::NoEngine),
            ("10.0.0.1:2379", AtError::NoEngine),
            ("consul://h", AtError::UnknownEngine("consul".into())),
            ("zookeeper://h/p", AtError::NotYet("zookeeper")),
            ("postgres://u:p@h/db", AtError::NotYet("postgres")),
            ("group:h", AtError::NotYet("group")),
            ("cell:h", AtError::NotYet("cell")),
            ("local:~", AtError::Tilde),
            ("local:~/locks", AtError::Tilde),
            ("local://host/locks", AtError::HostOfLocal),
            ("local://", AtError::HostOfLocal),
            ("etcd:", AtError::NoHost),
            ("etcd:h", AtError::NoHost),
            ("etcd://", AtError::NoHost),
            ("etcd:///p", AtError::NoHost),
            ("etcd://a,,b", AtError::NoHost),
            ("etcd://a,", AtError::NoHost),
            ("etcd://:2379", AtError::NoHost),
            ("etcd://h:0", port("0")),
            ("etcd://h:70000", port("70000")),
            ("etcd://h:abc", port("abc")),
            ("etcd://h:+1", port("+1")),
            ("etcd://h:", port("")),
            ("etcd://[::1]:", port("")),
            ("etcd://::1", host("::1")),
            ("etcd://[::1", host("[::1")),
            ("etcd://[::1]2379", host("[::1]2379")),
            ("etcd://[h]:1", host("[h]:1")),
            ("etcd://h h", host("h h")),
            ("etcd://http:1,h\n", host("h\n")),
            ("etcd://h/p?x=1", AtError::Query),
            ("etcd://h#p", AtError::Query),
            ("etcd://h/p\n", AtError::BadPrefix),
        ] {
            assert_eq!(At::parse(url), Err(expected), "{url}");
        }
    }

    #[test]
    fn a_password_is_refused_and_not_repeated() {
        for url in [
            "etcd://root:secret@h/p",
            "etcd://root@h/secret",
            "etcd://root:se/cret@h",
            "etcd://root:secret?@h",
            "etcd://root:secret#@h",
            "etcd://root:123/secret@h",
            "etcd:root:secret@h",
            "etcd://a,root:secret@b",
        ] {
            assert_eq!(At::parse(url), Err(AtError::Credentials), "{url}");
        }
        for url in ["etcds://root:secret@h", "root:secret@h", "r@t:secret@h", "cell://a:secret@h"] {
            let line = At::parse(url).unwrap_err().to_string();
            assert!(!line.contains("secret"), "{line}");
        }
        assert!(AtError::Credentials.to_string().contains("ETCDCTL_PASSWORD"));
    }

    #[test]
    fn every_refusal_is_one_line() {
        for url in ["x\ny:z", "etcd://a\nb", "etcd://h:\n1", "etcd://h/\n", "a\u{1b}:"] {
            let line = At::parse(url).unwrap_err().to_string();
            assert!(!line.contains(char::is_control), "{line:?}");
        }
    }

    #[test]
    fn a_directory_that_cannot_be_said_is_refused() {
        use std::os::unix::ffi::OsStrExt as _;
        let bytes = std::ffi::OsStr::from_bytes(b"/x\xff");
        assert!(matches!(At::local(bytes), Err(AtError::NotText(_))));
        assert_eq!(At::local(""), Err(AtError::EmptyDirectory));
        assert_eq!(At::local("//x//y/").unwrap().to_string(), "local:/x/y");
    }

    /// Texts of pieces that matter to the parser, in a fixed but arbitrary order.
    fn texts() -> impl Iterator<Item = String> {
        const PIECES: [&str; 30] = [
            "local:", "etcd://", "etcd:", "LOCAL:", "Etcd://", "/", "//", ":", ",", "h", "a.b-c_d",
            "10.0.0.1", "[::1]", "[1:2::3]", "2379", "0", "1", "70000", "x", "@", "?", "#", "~",
            ".", "..", " ", "%2f", "ü", "\n", "[",
        ];
        let mut state = 1_u64;
        let mut below = move |bound: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            usize::try_from(state >> 33).unwrap() % bound
        };
        (0..200_000).map(move |_| {
            let count = 1 + below(8);
            let first = PIECES[below(5)];
            let more = (1..count).map(|_| PIECES[below(PIECES.len())]);
            std::iter::once(first).chain(more).collect()
        })
    }

    #[test]
    fn what_is_displayed_is_parsed_to_the_same() {
        let mut accepted = (0, 0);
        for text in texts() {
            let Ok(at) = At::parse(&text) else { continue };
            let shown = at.to_string();
            assert_eq!(At::parse(&shown), Ok(at.clone()), "{text:?} is shown as {shown:?}");
            match at {
                At::Local { .. } => accepted.0 += 1,
                At::Etcd { .. } => accepted.1 += 1,
            }
        }
        assert!(accepted.0 > 1000 && accepted.1 > 1000, "{accepted:?}");
    }

    #[cfg(feature = "local")]
    #[test]
    fn the_engine_is_the_one_that_was_said() {
        let directory = tempfile::tempdir().unwrap();
        let at = At::local(directory.path().join("locks")).unwrap();
        let engine = engine_of(&at).unwrap();
        assert_eq!(engine.name(), "local");
        assert!(engine.at().ends_with("/locks"), "{}", engine.at());
        assert!(matches!(At::parse(&engine.at()), Ok(At::Local { directory: Some(_) })));
    }
}
