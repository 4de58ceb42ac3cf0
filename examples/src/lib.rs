//! What the examples have in common: the words of a command line, a directory to work in, and
//! processes that start together and tell their parent what they do.
//!
//! Nothing here has to do with locks, but for [`client`]. Those are in the examples themselves.

mod actors;
mod words;

use std::collections::hash_map::RandomState;
use std::error::Error;
use std::ffi::OsString;
use std::hash::{BuildHasher, Hasher};
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use conclave_client::{Local, blocking};
use tempfile::TempDir;

pub use actors::{Actor, StartingGun, say, wait_for_the_start};
pub use words::Words;

/// Bad input, as in sysexits(3).
const USAGE: u8 = 64;

/// Something that the example needs does not work, as in sysexits(3).
const UNAVAILABLE: u8 = 69;

/// Why an example could not even be tried.
#[derive(Debug)]
pub enum Failure {
    /// The input was wrong: what was, and what would be right.
    Usage(String),
    /// Something else went wrong.
    Broken(Box<dyn Error>),
}

impl Failure {
    /// With those words.
    pub fn broken(what: impl Into<String>) -> Self {
        Self::Broken(what.into().into())
    }
}

impl<E: Error + 'static> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::Broken(error.into())
    }
}

/// Runs an example and reports its failure in one line. `--help` prints `help`.
pub fn run(help: &str, example: impl FnOnce(Words) -> Result<ExitCode, Failure>) -> ExitCode {
    let mut words = Words::of_this_process();
    if words.take_flag("--help") || words.take_flag("-h") {
        println!("{help}");
        return ExitCode::SUCCESS;
    }
    let (line, code) = match example(words) {
        Ok(code) => return code,
        Err(Failure::Usage(line)) => (format!("{line}; --help says more"), USAGE),
        Err(Failure::Broken(error)) => (error.to_string(), UNAVAILABLE),
    };
    eprintln!("{}: {line}", name());
    ExitCode::from(code)
}

/// Success if all went as it should.
pub fn verdict(is_right: bool) -> ExitCode {
    if is_right { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// What this program is called.
fn name() -> String {
    let program = std::env::args_os().next().map(PathBuf::from);
    let name = program.as_deref().and_then(Path::file_name);
    name.map_or_else(|| "example".into(), |it| it.to_string_lossy().into_owned())
}

/// The directory that holds all that an example writes, its locks included.
pub struct Stage {
    path: PathBuf,
    /// Removed when this is dropped.
    _temporary: Option<TempDir>,
}

impl Stage {
    /// Takes the option `--dir`; without it the directory is a temporary one.
    ///
    /// # Errors
    /// If there is something in that directory: what an earlier run left would be taken for the
    /// work of this one.
    pub fn from_words(words: &mut Words) -> Result<Self, Failure> {
        let Some(path) = words.take_value("--dir")?.map(PathBuf::from) else {
            let temporary = TempDir::with_prefix("conclave-example-")?;
            return Ok(Self { path: temporary.path().to_owned(), _temporary: Some(temporary) });
        };
        let refused = |why: &dyn std::fmt::Display| {
            Failure::Usage(format!("--dir {}: {why}", path.display()))
        };
        std::fs::create_dir_all(&path).map_err(|error| refused(&error))?;
        let mut entries = std::fs::read_dir(&path).map_err(|error| refused(&error))?;
        if entries.next().is_some() {
            return Err(refused(&"it is not empty; an example begins with an empty directory"));
        }
        Ok(Self { path, _temporary: None })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// The locks of that stage. A program of yours would say `blocking::Client::local()`.
///
/// # Errors
/// If the directory cannot be used.
pub fn client(stage: &Path) -> Result<blocking::Client, conclave_client::Error> {
    Ok(blocking::Client::new(Local::open(stage.join("locks"))?))
}

/// A random number below `limit`.
///
/// The standard library has no generator, but every hasher of a map gets a random key.
pub fn random_below(limit: u64) -> u64 {
    RandomState::new().build_hasher().finish() % limit
}

/// A file of ours says something that we never wrote.
pub fn garbled(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.to_owned())
}

/// The words of a line that an actor said, for example `["in", "7"]`.
pub fn words_of(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

/// A number that a child process was given by its parent.
///
/// # Errors
/// If it is none: somebody has called the child by hand.
pub fn number<T: std::str::FromStr>(word: &OsString) -> Result<T, Failure> {
    let number = word.to_str().and_then(|it| it.parse().ok());
    number.ok_or_else(|| Failure::Usage(format!("{} is not a number", word.display())))
}
