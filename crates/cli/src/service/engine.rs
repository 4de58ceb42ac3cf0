//! Where the locks of a command live: what was said, else the environment, else the configuration,
//! else this machine.

mod etcd;
mod said;

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

#[cfg(feature = "etcd")]
use conclave_client::Etcd;
use conclave_client::{At, Engine, Error, Local, LocalOptions};

pub use self::etcd::{EtcdSettings, Pem, Secret};
use self::said::{Said, Source};
use crate::exit;
use crate::service::words::EngineArgs;

/// Why no engine can be used: the line to print, and the exit code.
#[derive(Debug)]
pub struct Refused {
    /// What was wrong, and what would be right.
    pub line: String,
    /// The code to exit with, as in [`exit`].
    pub code: u8,
}

impl Refused {
    fn usage(line: impl Into<String>) -> Self {
        Self { line: line.into(), code: exit::USAGE }
    }
}

/// The engine to use.
///
/// # Errors
/// If it is not clear where the locks live, or the engine cannot be used.
pub fn open(args: &EngineArgs) -> Result<Arc<dyn Engine>, Refused> {
    open_for(args, None)
}

/// The engine to use, for a command that wants to hold something. `ttl` is how long a lock outlives
/// the last sign of life of its holder, if that was said.
///
/// # Errors
/// As [`open`].
pub fn open_for(args: &EngineArgs, ttl: Option<Duration>) -> Result<Arc<dyn Engine>, Refused> {
    let engine = match decide(&Said::all(args)?, args.allow_network_fs)? {
        Plan::Local(options) => open_local(&options, args.allow_volatile)?,
        Plan::Etcd(settings) => open_etcd(*settings, ttl)?,
    };
    if args.verbose {
        anstream::eprintln!("conclave: {}", whereabouts(&*engine));
    }
    Ok(engine)
}

fn open_local(options: &LocalOptions, allow_volatile: bool) -> Result<Arc<dyn Engine>, Refused> {
    let engine = Local::with(options).map_err(|error| {
        let hint = match error {
            Error::NetworkFileSystem { .. } => " (--allow-network-fs)",
            _ => "",
        };
        Refused { line: format!("{error}{hint}"), code: exit::UNAVAILABLE }
    })?;
    // Commands are told by a URL where their locks are: it must not be that of others.
    At::local(engine.directory()).map_err(|error| Refused::usage(error.to_string()))?;
    if engine.is_volatile() && !allow_volatile {
        anstream::eprintln!(
            "conclave: {} is in memory: a restart of the machine loses its fences and what --once \
             remembers (--allow-volatile)",
            engine.directory().display()
        );
    }
    Ok(Arc::new(engine))
}

#[cfg(feature = "etcd")]
fn open_etcd(settings: EtcdSettings, ttl: Option<Duration>) -> Result<Arc<dyn Engine>, Refused> {
    let engine = Etcd::new(settings.options(ttl));
    let engine =
        engine.map_err(|error| Refused { line: error.to_string(), code: exit::UNAVAILABLE })?;
    Ok(Arc::new(engine))
}

#[cfg(not(feature = "etcd"))]
fn open_etcd(_: EtcdSettings, _: Option<Duration>) -> Result<Arc<dyn Engine>, Refused> {
    Err(Refused::usage("this build of conclave has no engine etcd"))
}

/// Which locks are meant, in words. Two who do not exclude each other find out why.
pub fn whereabouts(engine: &dyn Engine) -> String {
    let reach = if engine.name() == "local" { " (this machine only)" } else { "" };
    format!("locks at {}{reach}", engine.at())
}

/// What a command is given so that a `conclave` within it means the same locks. Not the password:
/// not everything that runs under a lock may know it.
pub fn variables(engine: &dyn Engine, args: &EngineArgs) -> Vec<(&'static str, OsString)> {
    let at = engine.at();
    let mut variables = Vec::new();
    match At::parse(&at) {
        Ok(At::Local { directory: Some(directory), .. }) => {
            variables.push(("CONCLAVE_DIR", directory.into()));
        }
        Ok(At::Etcd { .. }) => {
            let files = [
                ("ETCDCTL_CACERT", &args.cacert),
                ("ETCDCTL_CERT", &args.cert),
                ("ETCDCTL_KEY", &args.key),
            ];
            for (name, path) in files {
                // The command may stand elsewhere.
                let path = path.as_ref().map(|it| std::path::absolute(it).unwrap_or(it.clone()));
                variables.extend(path.map(|it| (name, it.into())));
            }
            variables.extend(args.user.as_ref().map(|it| ("ETCDCTL_USER", it.into())));
        }
        _ => {}
    }
    variables.push(("CONCLAVE_AT", at.into()));
    variables
}

/// Which engine is meant, and how it is set.
#[derive(Debug)]
enum Plan {
    Local(LocalOptions),
    Etcd(Box<EtcdSettings>),
}

/// `said` is in order: who speaks first decides, of each thing on its own.
fn decide(said: &[Said], allow_network_fs: bool) -> Result<Plan, Refused> {
    match where_to(said)? {
        At::Local { directory, .. } => {
            let useless = said.iter().find_map(Said::etcd_option);
            refuse_useless("local", useless)?;
            let directory = match directory {
                Some(directory) => Some(directory),
                None => default_directory(said)?,
            };
            let mut options = LocalOptions::default();
            options.directory = directory;
            options.allow_network_fs = allow_network_fs;
            Ok(Plan::Local(options))
        }
        At::Etcd { endpoints, prefix, .. } => {
            refuse_useless("etcd", allow_network_fs.then_some("--allow-network-fs"))?;
            let settings = EtcdSettings::new(endpoints, prefix, said)?;
            Ok(Plan::Etcd(Box::new(settings)))
        }
        other => Err(Refused::usage(format!("this version has no engine for {other}"))),
    }
}

/// Where the locks live.
fn where_to(said: &[Said]) -> Result<At, Refused> {
    for it in said {
        if let Some(url) = &it.at {
            let at = At::parse(url).map_err(|error| it.refuse("at", error))?;
            if let At::Local { directory: Some(directory), .. } = &at {
                it.lasting("at", directory)?;
            }
            return Ok(at);
        }
        // Only the option means an engine; elsewhere it is the default directory of `local:`.
        if it.source == Source::Options
            && let Some(directory) = &it.dir
        {
            return At::local(directory).map_err(|error| it.refuse("dir", error));
        }
    }
    Ok(At::default())
}

/// The directory of `local:` if that names none; `None` is that of the user.
fn default_directory(said: &[Said]) -> Result<Option<PathBuf>, Refused> {
    let first = said.iter().find_map(|it| Some((it, it.dir.as_ref()?)));
    first.map(|(it, directory)| it.lasting("dir", directory)).transpose()
}

fn refuse_useless(engine: &str, option: Option<&str>) -> Result<(), Refused> {
    match option {
        None => Ok(()),
        Some(option) => Err(Refused::usage(format!(
            "the engine {engine} has no use for {option}; say by --at which engine is meant"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> Said {
        Said { source: Source::File("/a/file".into()), ..toml::from_str(text).unwrap() }
    }

    fn environment(text: &str) -> Said {
        Said { source: Source::Environment, ..toml::from_str(text).unwrap() }
    }

    fn options(text: &str) -> Said {
        toml::from_str(text).unwrap()
    }

    /// Where the locks are said to be, in short.
    fn place(said: &[Said]) -> String {
        match decide(said, false) {
            Ok(Plan::Local(options)) => {
                let directory = options.directory.unwrap_or_default();
                format!("local:{}", directory.display())
            }
            Ok(Plan::Etcd(settings)) => format!("etcd {:?}", settings.endpoints),
            Err(refused) => format!("{}: {}", refused.code, refused.line),
        }
    }

    #[test]
    fn without_a_word_it_is_this_machine() {
        assert_eq!(place(&[options(""), environment(""), file("")]), "local:");
    }

    #[test]
    fn who_speaks_first_decides() {
        let words = [
            options("at = 'local:/option'"),
            environment("at = 'local:/environment'"),
            file("at = 'local:/user'"),
            file("at = 'local:/machine'"),
        ];
        for (first, expected) in ["option", "environment", "user", "machine"].iter().enumerate() {
            assert_eq!(place(&words[first..]), format!("local:/{expected}"));
        }
        let etcd = "at = 'etcd://h'";
        assert_eq!(place(&[options("dir = 'x'"), environment(etcd)]), "local:x");
        assert_eq!(place(&[options("at = 'local:'"), environment(etcd)]), "local:");
    }

    #[test]
    fn a_directory_alone_is_only_that_of_local() {
        let etcd = file("at = 'etcd://h'");
        assert_eq!(place(&[environment("dir = '/d'"), etcd]), "etcd [\"h:2379\"]");
        let local = file("at = 'local:'\ndir = '/e'");
        assert_eq!(place(&[environment("dir = '/d'"), local]), "local:/d");
        assert_eq!(place(&[file("dir = '/user'"), file("dir = '/machine'")]), "local:/user");
        let own = environment("at = 'local:/own'\ndir = '/d'");
        assert_eq!(place(&[own]), "local:/own");
    }

    #[test]
    fn a_file_that_says_something_else_does_not_hide_where_the_machine_has_its_locks() {
        let words = [file("connect-timeout = 2"), file("at = 'etcd://h'")];
        let Ok(Plan::Etcd(settings)) = decide(&words, false) else { panic!("{}", place(&words)) };
        assert_eq!(settings.connect_timeout.as_secs(), 2);
    }

    #[test]
    fn what_depends_on_where_one_stands_is_accepted_only_on_the_command_line() {
        assert_eq!(place(&[options("at = 'local:x'")]), "local:x");
        for text in ["at = 'local:x'", "dir = 'x'"] {
            let line = place(&[environment(text)]);
            assert!(line.starts_with("64: $CONCLAVE_") && line.contains("absolute"), "{line}");
            let line = place(&[file(text)]);
            assert!(line.starts_with("64: /a/file: ") && line.contains("absolute"), "{line}");
        }
    }

    #[test]
    fn options_that_the_engine_has_no_use_for_are_refused_but_not_settings() {
        for text in ["connect-timeout = 1", "cacert = 'f'", "cert = 'f'", "key = 'f'", "user = 'u'"]
        {
            let line = place(&[options(text)]);
            let option = text.split(' ').next().unwrap();
            assert!(line.starts_with(&format!("64: the engine local has no use for --{option}")));
            assert_eq!(place(&[environment(text)]), "local:");
            assert_eq!(place(&[file(text)]), "local:");
        }
        let refused = decide(&[options("at = 'etcd://h'")], true).unwrap_err();
        assert!(refused.line.contains("--allow-network-fs"), "{}", refused.line);
    }

    #[test]
    fn a_command_is_told_where_its_locks_are() {
        let directory = tempfile::tempdir().unwrap();
        let engine = Local::open(directory.path()).unwrap();
        let variables = variables(&engine, &EngineArgs::default());
        let path = directory.path().canonicalize().unwrap();
        assert!(variables.contains(&("CONCLAVE_DIR", path.into())));
        assert!(variables.contains(&("CONCLAVE_AT", engine.at().into())));
    }
}
