//! All that is needed to use etcd.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

#[cfg(feature = "etcd")]
use conclave_client::EtcdOptions;

use super::Refused;
use super::said::{Said, Source};

/// How long servers may take to answer for the first time, unless somebody says otherwise.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// All that is needed to use etcd; its files are read.
#[derive(Debug)]
pub struct EtcdSettings {
    /// `host:port` of each server, at least one.
    pub endpoints: Vec<String>,
    /// What every key begins with.
    pub prefix: String,
    /// How long a server may take to answer for the first time.
    pub connect_timeout: Duration,
    /// Whose certificates are trusted.
    pub cacert: Option<Pem>,
    /// The certificate of this client; always together with `key`.
    pub cert: Option<Pem>,
    /// The key of that certificate.
    pub key: Option<Pem>,
    /// Who asks; always together with `password`.
    pub user: Option<String>,
    /// The password of that user.
    pub password: Option<Secret>,
}

/// A file of certificates or keys.
#[derive(PartialEq, Eq)]
pub struct Pem {
    /// Where it is, for messages.
    pub path: PathBuf,
    /// What was in it.
    pub bytes: Vec<u8>,
}

impl fmt::Debug for Pem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path.display())
    }
}

/// A text that no message shows.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(pub String);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "***")
    }
}

impl EtcdSettings {
    /// What is said, in order, about those servers.
    pub(super) fn new(
        endpoints: Vec<String>,
        prefix: String,
        said: &[Said],
    ) -> Result<Self, Refused> {
        let connect_timeout = said.iter().find_map(|it| it.connect_timeout);
        let pem = |key, path: fn(&Said) -> Option<&PathBuf>| {
            let first = said.iter().find_map(|it| Some((it, path(it)?)));
            first.map(|(it, path)| read_pem(it, key, path)).transpose()
        };
        let cacert = pem("cacert", |it| it.cacert.as_ref())?;
        let cert = pem("cert", |it| it.cert.as_ref())?;
        let key = pem("key", |it| it.key.as_ref())?;
        if cert.is_some() != key.is_some() {
            return Err(Refused::usage(
                "a certificate and its key go together: --cert FILE --key FILE",
            ));
        }
        let (user, password) = user(said)?.unzip();
        let connect_timeout = connect_timeout.unwrap_or(CONNECT_TIMEOUT);
        Ok(Self { endpoints, prefix, connect_timeout, cacert, cert, key, user, password })
    }
}

#[cfg(feature = "etcd")]
impl EtcdSettings {
    /// What the engine is opened with.
    pub(super) fn options(self, ttl: Option<Duration>) -> EtcdOptions {
        let mut options = EtcdOptions::new(self.endpoints);
        options.prefix = self.prefix;
        options.ttl = ttl.unwrap_or(options.ttl);
        options.connect_timeout = self.connect_timeout;
        options.cacert = self.cacert.map(|it| it.bytes);
        options.cert = self.cert.map(|it| it.bytes);
        options.key = self.key.map(|it| it.bytes);
        options.user = self.user;
        options.password = self.password.map(|it| it.0);
        options
    }
}

/// Who asks, with which password.
fn user(said: &[Said]) -> Result<Option<(String, Secret)>, Refused> {
    let Some((speaker, text)) = said.iter().find_map(|it| Some((it, it.user.as_ref()?))) else {
        let needless = said.iter().find(|it| it.source == Source::Options);
        return match needless.and_then(|it| it.password_file.as_ref()) {
            Some(_) => Err(Refused::usage("--password-file is of no use without --user")),
            None => Ok(None),
        };
    };
    let (name, inline) = match text.split_once(':') {
        None => (text.as_str(), None),
        Some((name, inline)) if speaker.source == Source::Environment => (name, Some(inline)),
        Some(_) => {
            return Err(speaker.refuse(
                "user",
                "a name without a password, which goes into a file (--password-file) or into \
                 ETCDCTL_PASSWORD",
            ));
        }
    };
    if name.is_empty() {
        return Err(speaker.refuse("user", "the name is empty"));
    }
    for it in said {
        // The password of somebody else is not sent as that of this user.
        if it.user.is_some() && it.source != speaker.source {
            continue;
        }
        if let Some(path) = &it.password_file {
            return Ok(Some((name.to_owned(), read_password(it, path)?)));
        }
        let by_name = inline.filter(|_| it.source == speaker.source);
        let by_name = by_name.map(|it| Secret(it.to_owned()));
        if let Some(password) = it.password.clone().or(by_name) {
            return Ok(Some((name.to_owned(), password)));
        }
    }
    Err(speaker.refuse("user", "needs a password: --password-file FILE, or ETCDCTL_PASSWORD"))
}

/// The password is the file's only line.
fn read_password(said: &Said, path: &Path) -> Result<Secret, Refused> {
    let bytes = read_file(said, "password-file", path)?;
    let wrong = |what| said.refuse("password-file", format_args!("{} {what}", path.display()));
    let text = String::from_utf8(bytes).map_err(|_| wrong("is not UTF-8"))?;
    let text = text.strip_suffix('\n').unwrap_or(&text);
    let text = text.strip_suffix('\r').unwrap_or(text);
    match text {
        "" => Err(wrong("is empty")),
        _ if text.contains('\n') => Err(wrong("has more than one line")),
        _ => Ok(Secret(text.to_owned())),
    }
}

fn read_pem(said: &Said, key: &str, path: &Path) -> Result<Pem, Refused> {
    Ok(Pem { path: path.to_owned(), bytes: read_file(said, key, path)? })
}

fn read_file(said: &Said, key: &str, path: &Path) -> Result<Vec<u8>, Refused> {
    // etcdctl takes its variables as they are, and so do we.
    let path = match said.source {
        Source::Environment => path.to_owned(),
        _ => said.lasting(key, path)?,
    };
    std::fs::read(&path)
        .map_err(|error| said.refuse(key, format_args!("cannot read {}: {error}", path.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options() -> Said {
        Said::default()
    }

    fn environment(user: Option<&str>, password: Option<&str>) -> Said {
        Said {
            source: Source::Environment,
            user: user.map(str::to_owned),
            password: password.map(|it| Secret(it.to_owned())),
            ..Said::default()
        }
    }

    fn file() -> Said {
        Said { source: Source::File("/a/file".into()), ..Said::default() }
    }

    fn settings(said: &[Said]) -> Result<EtcdSettings, Refused> {
        EtcdSettings::new(vec!["h:2379".into()], "p".into(), said)
    }

    /// User and password, or the line of the refusal.
    fn login(said: &[Said]) -> Result<Option<(String, String)>, String> {
        let settings = settings(said).map_err(|refused| refused.line)?;
        Ok(settings.user.zip(settings.password.map(|it| it.0)))
    }

    fn pair(name: &str, password: &str) -> Result<Option<(String, String)>, String> {
        Ok(Some((name.into(), password.into())))
    }

    #[test]
    fn user_and_password_come_from_where_etcdctl_has_them() {
        assert_eq!(login(&[options(), environment(None, None)]), Ok(None));
        assert_eq!(login(&[environment(Some("root:a:b"), None)]), pair("root", "a:b"));
        assert_eq!(login(&[environment(Some("root"), Some("x"))]), pair("root", "x"));
        let alice = || Said { user: Some("alice".into()), ..options() };
        assert_eq!(login(&[alice(), environment(None, Some("x"))]), pair("alice", "x"));
        assert_eq!(login(&[options(), environment(None, Some("x"))]), Ok(None));
    }

    #[test]
    fn nobody_is_given_the_password_of_somebody_else() {
        let alice = || Said { user: Some("alice".into()), ..options() };
        for other in [environment(Some("root:x"), None), environment(Some("root"), Some("x"))] {
            let line = login(&[alice(), other]).unwrap_err();
            assert!(line.contains("--user: needs a password"), "{line}");
        }
    }

    #[test]
    fn a_password_file_is_one_line() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("password");
        let alice =
            || Said { user: Some("alice".into()), password_file: Some(path.clone()), ..file() };
        for text in ["secret", "secret\n", "secret\r\n"] {
            std::fs::write(&path, text).unwrap();
            assert_eq!(login(&[alice()]), pair("alice", "secret"));
        }
        for (bytes, why) in [
            (&b""[..], "is empty"),
            (b"\n", "is empty"),
            (b"secret\nsecret\n", "more than one line"),
            (b"secret\xff", "is not UTF-8"),
        ] {
            std::fs::write(&path, bytes).unwrap();
            let line = login(&[alice()]).unwrap_err();
            assert!(line.contains(why) && !line.contains("secret"), "{line}");
        }
        let needless = Said { password_file: Some(path), ..options() };
        assert!(login(&[needless]).unwrap_err().contains("without --user"));
    }

    #[test]
    fn a_password_beside_the_name_is_refused_where_others_could_see_it() {
        for it in [options(), file()] {
            let line = login(&[Said { user: Some("root:secret".into()), ..it }]).unwrap_err();
            assert!(line.contains("ETCDCTL_PASSWORD") && !line.contains("secret"), "{line}");
        }
    }

    #[test]
    fn files_that_cannot_be_read_are_named_with_who_named_them() {
        let missing = || Some(PathBuf::from("/no/such/file"));
        let line = |said| settings(&[said]).unwrap_err().line;
        let by_option = line(Said { cacert: missing(), ..options() });
        assert!(by_option.starts_with("--cacert: cannot read /no/such/file: "), "{by_option}");
        let by_variable = line(Said { key: missing(), ..environment(None, None) });
        assert!(by_variable.starts_with("$ETCDCTL_KEY: cannot read "), "{by_variable}");
        let by_file = line(Said { cert: missing(), ..file() });
        assert!(by_file.starts_with("/a/file: cert: cannot read "), "{by_file}");
        let relative = line(Said { cert: Some("cert".into()), ..file() });
        assert!(relative.contains("must be absolute"), "{relative}");
    }

    #[test]
    fn a_certificate_needs_its_key() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("cert");
        std::fs::write(&path, "pem").unwrap();
        let alone = settings(&[Said { cert: Some(path.clone()), ..options() }]);
        assert!(alone.unwrap_err().line.contains("--cert FILE --key FILE"));
        let both = Said { cert: Some(path.clone()), key: Some(path.clone()), ..options() };
        let both = settings(&[both]).unwrap();
        assert_eq!(both.cert, Some(Pem { path, bytes: b"pem".to_vec() }));
        assert_eq!(both.connect_timeout, Duration::from_secs(5));
    }

    #[test]
    fn what_is_printed_shows_no_password() {
        let said = environment(Some("root:secret"), None);
        assert!(!format!("{:?}", settings(&[said]).unwrap()).contains("secret"));
    }
}
