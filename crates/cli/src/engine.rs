//! Which engine a command uses: what was said, else the environment, else the configuration, else
//! `local`.

use std::path::{Path, PathBuf};

use conclave_client::{Local, LocalOptions};
use serde::Deserialize;

use crate::cli::EngineArgs;

/// Why no engine can be used: the line to print, and the exit code.
#[derive(Debug)]
pub struct Refused {
    /// What was wrong, and what would be right.
    pub line: String,
    /// As in [`exit`](crate::exit).
    pub code: u8,
}

/// What `conclave.toml` may say.
#[derive(Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
struct Config {
    /// `local`, or `cell`.
    engine: Option<String>,
    /// The directory of the engine local.
    dir: Option<PathBuf>,
    /// The servers of a cell.
    cell: Option<String>,
}

/// What was decided, and by whom.
#[derive(Debug, PartialEq, Eq)]
enum Choice {
    Local { dir: Option<PathBuf> },
    Cell { said_by: String },
}

/// The engine to use.
///
/// # Errors
/// If the configuration cannot be read, it names an engine that this version does not have, or the
/// engine cannot be used.
pub fn open(args: &EngineArgs) -> Result<Local, Refused> {
    let cell = std::env::var("CONCLAVE_CELL").ok().filter(|it| !it.is_empty());
    let configs = [user_config(), Some(PathBuf::from("/etc/conclave.toml"))];
    let mut found = None;
    for path in configs.into_iter().flatten() {
        if let Some(config) = read(&path)? {
            found = Some((path.display().to_string(), config));
            break;
        }
    }
    let engine = match choose(args, cell.as_deref(), found)? {
        Choice::Cell { said_by } => {
            return Err(Refused {
                line: format!(
                    "{said_by} names a cell, which this version cannot use yet; \
                     --engine local uses locks of this machine only"
                ),
                code: crate::exit::UNAVAILABLE,
            });
        }
        Choice::Local { dir } => {
            let mut options = LocalOptions::default();
            let by_environment = std::env::var_os("CONCLAVE_DIR").filter(|it| !it.is_empty());
            let by_environment = by_environment.map(PathBuf::from);
            // From another directory it would be another one, and its locks others.
            let lasting = by_environment.or(dir);
            if args.dir.is_none()
                && let Some(relative) = lasting.as_ref().filter(|it| !it.is_absolute())
            {
                return Err(Refused {
                    line: format!(
                        "the directory {} of $CONCLAVE_DIR or conclave.toml must be absolute, \
                         e.g. /var/lib/conclave",
                        relative.display()
                    ),
                    code: crate::exit::USAGE,
                });
            }
            options.directory = args.dir.clone().or(lasting);
            options.allow_network_fs = args.allow_network_fs;
            Local::with(&options)
        }
    };
    let engine = engine.map_err(|error| {
        let hint = match error {
            conclave_client::Error::NetworkFileSystem { .. } => " (--allow-network-fs)",
            _ => "",
        };
        Refused { line: format!("{error}{hint}"), code: crate::exit::UNAVAILABLE }
    })?;
    if args.verbose {
        let dir = engine.directory().display();
        anstream::eprintln!("conclave: engine local (this machine only), in {dir}");
    }
    Ok(engine)
}

/// Who speaks first decides: the option, the environment, the user's file, the machine's file.
fn choose(
    args: &EngineArgs,
    cell: Option<&str>,
    config: Option<(String, Config)>,
) -> Result<Choice, Refused> {
    let (path, config) = config.unwrap_or_default();
    let local = |dir| Ok(Choice::Local { dir });
    match args.engine.as_deref() {
        Some("local") => return local(config.dir),
        Some("cell") => return Ok(Choice::Cell { said_by: "--engine".into() }),
        Some(other) => return Err(unknown("--engine", other)),
        None => {}
    }
    if cell.is_some() {
        return Ok(Choice::Cell { said_by: "$CONCLAVE_CELL".into() });
    }
    match config.engine.as_deref() {
        Some("local") => local(config.dir),
        Some("cell") => Ok(Choice::Cell { said_by: path }),
        Some(other) => Err(unknown(&path, other)),
        None if config.cell.is_some() => Ok(Choice::Cell { said_by: path }),
        None => local(config.dir),
    }
}

fn unknown(said_by: &str, engine: &str) -> Refused {
    let line = format!("{said_by}: there is no engine {engine}; this version has local");
    Refused { line, code: crate::exit::USAGE }
}

fn user_config() -> Option<PathBuf> {
    let absolute = |name| std::env::var_os(name).map(PathBuf::from).filter(|it| it.is_absolute());
    let config = absolute("XDG_CONFIG_HOME");
    let config = config.or_else(|| absolute("HOME").map(|home| home.join(".config")));
    config.map(|it| it.join("conclave.toml"))
}

/// What a file says, if there is one.
fn read(path: &Path) -> Result<Option<Config>, Refused> {
    let refused = |line: String| Refused { line, code: crate::exit::USAGE };
    match std::fs::read_to_string(path) {
        Ok(text) => {
            let config = toml::from_str(&text).map_err(|error| {
                let line = error.span().map_or(1, |at| 1 + text[..at.start].matches('\n').count());
                refused(format!("{}:{line}: {}", path.display(), error.message()))
            })?;
            Ok(Some(config))
        }
        Err(error) if is_absent(&error) => Ok(None),
        Err(error) => Err(refused(format!("cannot read {}: {error}", path.display()))),
    }
}

fn is_absent(error: &std::io::Error) -> bool {
    use std::io::ErrorKind;
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(engine: Option<&str>) -> EngineArgs {
        EngineArgs { engine: engine.map(str::to_owned), ..EngineArgs::default() }
    }

    fn config(text: &str) -> Option<(String, Config)> {
        Some(("a file".into(), toml::from_str(text).unwrap()))
    }

    #[test]
    fn without_a_word_it_is_local() {
        assert_eq!(choose(&args(None), None, None).unwrap(), Choice::Local { dir: None });
    }

    #[test]
    fn a_configured_cell_replaces_the_default_and_is_never_ignored() {
        for (cell, text, said_by) in [
            (Some("a:1"), "", "$CONCLAVE_CELL"),
            (None, "cell = 'a:1,b:1,c:1'", "a file"),
            (Some("a:1"), "engine = 'local'", "$CONCLAVE_CELL"),
            (None, "engine = 'cell'", "a file"),
        ] {
            let choice = choose(&args(None), cell, config(text)).unwrap();
            assert_eq!(choice, Choice::Cell { said_by: said_by.into() }, "{text}");
        }
    }

    #[test]
    fn the_option_wins_over_everything() {
        let choice = choose(&args(Some("local")), Some("a:1"), config("cell = 'a:1'\ndir = '/d'"));
        assert_eq!(choice.unwrap(), Choice::Local { dir: Some("/d".into()) });
        assert_eq!(choose(&args(Some("etcd")), None, None).unwrap_err().code, crate::exit::USAGE);
    }

    #[test]
    fn unknown_words_of_the_configuration_are_refused_with_their_line() {
        let directory =
            std::env::temp_dir().join(format!("conclave-config-{}", std::process::id()));
        std::fs::write(&directory, "engine = 'local'\nservers = 3\n").unwrap();
        let refused = read(&directory).unwrap_err();
        std::fs::remove_file(&directory).unwrap();
        assert!(refused.line.contains(":2: unknown field `servers`"), "{}", refused.line);
    }
}
