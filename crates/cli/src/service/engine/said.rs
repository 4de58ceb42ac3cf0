//! What the command line, the environment and the files say about where locks live.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Deserializer, de};

use super::{Refused, Secret};
use crate::service::words::{EngineArgs, connect_timeout};

/// Who says something.
#[derive(Clone, Default, PartialEq, Eq)]
pub enum Source {
    /// The command line.
    #[default]
    Options,
    /// The environment's variables.
    Environment,
    /// The `conclave.toml` at that path.
    File(PathBuf),
}

/// What one of them says. As a file has it; the others are turned into the same.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Said {
    #[serde(skip)]
    pub source: Source,
    /// Not yet read: only what is used must be right.
    pub at: Option<String>,
    pub dir: Option<PathBuf>,
    #[serde(default, deserialize_with = "seconds")]
    pub connect_timeout: Option<Duration>,
    pub cacert: Option<PathBuf>,
    pub cert: Option<PathBuf>,
    pub key: Option<PathBuf>,
    pub user: Option<String>,
    pub password_file: Option<PathBuf>,
    /// Of the environment only: a file of settings may be read by many.
    #[serde(skip)]
    pub password: Option<Secret>,
}

impl Said {
    /// What is said by whom, the first to decide first.
    pub fn all(args: &EngineArgs) -> Result<Vec<Self>, Refused> {
        let mut all = vec![Self::by_options(args), Self::by_environment()?];
        for path in user_file().into_iter().chain([PathBuf::from("/etc/conclave.toml")]) {
            all.extend(Self::by_file(path)?);
        }
        Ok(all)
    }

    fn by_options(args: &EngineArgs) -> Self {
        let args = args.clone();
        Self {
            source: Source::Options,
            at: args.at,
            dir: args.dir,
            connect_timeout: args.connect_timeout,
            cacert: args.cacert,
            cert: args.cert,
            key: args.key,
            user: args.user,
            password_file: args.password_file,
            password: None,
        }
    }

    /// An empty variable counts as none. Except where locks live: in a script that forgot to set
    /// it, every machine would have locks of its own, and nobody would notice.
    fn by_environment() -> Result<Self, Refused> {
        if std::env::var_os("CONCLAVE_AT").is_some_and(|it| it.is_empty()) {
            let line =
                "$CONCLAVE_AT is empty; give it a URL (local: for this machine), or unset it";
            return Err(Refused::usage(line.to_owned()));
        }
        let path = |name| std::env::var_os(name).filter(|it| !it.is_empty()).map(PathBuf::from);
        let text = |name| match path(name).map(|it| it.into_os_string().into_string()) {
            None => Ok(None),
            Some(Ok(text)) => Ok(Some(text)),
            Some(Err(_)) => Err(Refused::usage(format!("${name} is not UTF-8"))),
        };
        Ok(Self {
            source: Source::Environment,
            at: text("CONCLAVE_AT")?,
            dir: path("CONCLAVE_DIR"),
            cacert: path("ETCDCTL_CACERT"),
            cert: path("ETCDCTL_CERT"),
            key: path("ETCDCTL_KEY"),
            user: text("ETCDCTL_USER")?,
            password: text("ETCDCTL_PASSWORD")?.map(Secret),
            ..Self::default()
        })
    }

    /// What a file says, if there is one.
    fn by_file(path: PathBuf) -> Result<Option<Self>, Refused> {
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if is_absent(&error) => return Ok(None),
            Err(error) => {
                return Err(Refused::usage(format!("cannot read {}: {error}", path.display())));
            }
        };
        let said: Self = toml::from_str(&text).map_err(|error| {
            let line = error.span().map_or(1, |at| 1 + text[..at.start].matches('\n').count());
            Refused::usage(format!("{}:{line}: {}", path.display(), error.message()))
        })?;
        Ok(Some(Self { source: Source::File(path), ..said }))
    }

    /// How what is called `key` in a file is called there.
    pub fn name_of(&self, key: &str) -> String {
        match (&self.source, key) {
            (Source::Options, _) => format!("--{key}"),
            (Source::Environment, "at") => "$CONCLAVE_AT".to_owned(),
            (Source::Environment, "dir") => "$CONCLAVE_DIR".to_owned(),
            (Source::Environment, _) => format!("$ETCDCTL_{}", key.to_ascii_uppercase()),
            (Source::File(path), _) => format!("{}: {key}", path.display()),
        }
    }

    /// What is called `key` is wrong.
    pub fn refuse(&self, key: &str, why: impl std::fmt::Display) -> Refused {
        Refused::usage(format!("{}: {why}", self.name_of(key)))
    }

    /// A path that means the same wherever one stands: from another directory a relative one would
    /// be another, and its locks others. What is said here and now may be relative.
    pub fn lasting(&self, key: &str, path: &Path) -> Result<PathBuf, Refused> {
        if self.source == Source::Options || path.is_absolute() {
            return Ok(path.to_owned());
        }
        let example = "e.g. /var/lib/conclave";
        Err(self.refuse(key, format_args!("the path {path:?} must be absolute, {example}")))
    }

    /// An option that only servers have a use for, if one is given.
    pub fn etcd_option(&self) -> Option<&'static str> {
        if self.source != Source::Options {
            return None;
        }
        let options = [
            ("--connect-timeout", self.connect_timeout.is_some()),
            ("--cacert", self.cacert.is_some()),
            ("--cert", self.cert.is_some()),
            ("--key", self.key.is_some()),
            ("--user", self.user.is_some()),
            ("--password-file", self.password_file.is_some()),
        ];
        options.into_iter().find_map(|(option, is_given)| is_given.then_some(option))
    }
}

/// A number of seconds, or a text like `300ms`.
fn seconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    let text = match toml::Value::deserialize(deserializer)? {
        toml::Value::Integer(seconds) => seconds.to_string(),
        toml::Value::Float(seconds) => seconds.to_string(),
        toml::Value::String(text) => text,
        // No time either, and refused as such.
        _ => String::new(),
    };
    connect_timeout(&text).map(Some).map_err(de::Error::custom)
}

fn user_file() -> Option<PathBuf> {
    let absolute = |name| std::env::var_os(name).map(PathBuf::from).filter(|it| it.is_absolute());
    let config = absolute("XDG_CONFIG_HOME");
    let config = config.or_else(|| absolute("HOME").map(|home| home.join(".config")));
    config.map(|it| it.join("conclave.toml"))
}

fn is_absent(error: &std::io::Error) -> bool {
    use std::io::ErrorKind;
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Option<Said>, Refused> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("conclave.toml");
        std::fs::write(&path, text).unwrap();
        Said::by_file(path)
    }

    #[test]
    fn a_file_may_say_all_that_the_options_can() {
        let text = "at = 'etcd://h'\ndir = '/d'\nconnect-timeout = 0.5\ncacert = '/ca'\n\
                    cert = '/cert'\nkey = '/key'\nuser = 'u'\npassword-file = '/p'";
        let said = read(text).unwrap_or_else(|refused| panic!("{}", refused.line)).unwrap();
        assert_eq!(said.connect_timeout, Some(Duration::from_millis(500)));
        assert_eq!(said.password_file, Some("/p".into()));
        for (text, milliseconds) in [("2", 2000), ("'300ms'", 300), ("'4'", 4000)] {
            let said = read(&format!("connect-timeout = {text}")).unwrap_or_default().unwrap();
            assert_eq!(said.connect_timeout, Some(Duration::from_millis(milliseconds)));
        }
    }

    #[test]
    fn what_a_file_may_not_say_is_refused_with_its_line() {
        for (text, expected) in [
            ("dir = '/d'\nservers = 3\n", ":2: unknown field `servers`"),
            ("engine = 'local'\n", ":1: unknown field `engine`"),
            ("\npassword = 'secret'\n", ":2: unknown field `password`"),
            ("connect-timeout = 'soon'\n", ":1: a time is "),
            ("connect-timeout = 0\n", ":1: "),
            ("at = 3\n", ":1: invalid type"),
        ] {
            let Err(refused) = read(text) else { panic!("{text}") };
            assert!(refused.line.contains(expected), "{}", refused.line);
            assert_eq!(refused.code, crate::exit::USAGE);
            assert!(!refused.line.contains("secret"), "{}", refused.line);
        }
    }
}
