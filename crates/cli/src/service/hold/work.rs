//! What to do while the lock is held.

use std::ffi::OsString;
use std::path::Path;

use conclave_client::LABEL_MAX;

use super::Stop;
use crate::service::words::HoldArgs;

/// What to do while the lock is held.
pub enum Work {
    /// Run this: program and arguments.
    Run(Vec<OsString>),
    /// Nothing: somebody else does it, and says when it is done.
    Hold,
}

impl Work {
    /// What was asked for. flock(1) has `-c TEXT` after the name; so may we, and `--hold`.
    pub fn asked_by(args: &HoldArgs) -> Result<Self, Stop> {
        if args.unlock {
            return Err(Stop::usage(
                "there is no -u: a lock is let go when its command ends; `conclave unlock --force \
                 NAME` takes it away from its holder",
            ));
        }
        if args.no_fork {
            return Err(Stop::usage(
                "there is no -F: conclave has to stay and watch over the command and its lock",
            ));
        }
        let shell = |text: &OsString| Ok(Self::Run(vec![user_shell(), "-c".into(), text.clone()]));
        if let Some(text) = &args.shell {
            return shell(text);
        }
        match &args.command[..] {
            [] if args.only_hold => Ok(Self::Hold),
            _ if args.only_hold => Err(Stop::usage("with --hold there is no command to run")),
            [first] if first == "--hold" => Ok(Self::Hold),
            [first, ..] if first == "--hold" => Err(Stop::usage(
                "with --hold there is no command to run, and other options go before the name",
            )),
            [] => Err(Stop::usage(
                "there is nothing to run; say NAME -- COMMAND, or NAME --hold to hold it without one",
            )),
            [first, text] if first == "-c" => shell(text),
            [first, ..] if first == "-c" => {
                Err(Stop::usage("-c takes one text: conclave lock NAME -c 'one && two'"))
            }
            [first, ..] if first.is_empty() => Err(Stop::usage("the command is empty")),
            [first, ..] if first.as_encoded_bytes().starts_with(b"-") => {
                let first = first.to_string_lossy();
                Err(Stop::usage(&format!(
                    "{first} comes after the name, where the command begins; options go before it"
                )))
            }
            words => Ok(Self::Run(words.to_vec())),
        }
    }

    /// For those who list the locks: the command line, as far as it fits.
    pub fn label(&self) -> String {
        let Self::Run(words) = self else { return "--hold".into() };
        let mut words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
        // Where the shell of `-c` lies is of no interest.
        if let [program, option, _] = &mut words[..]
            && option == "-c"
            && let Some(name) = Path::new(&**program).file_name()
        {
            *program = name.to_string_lossy().into_owned().into();
        }
        let mut label = String::new();
        for letter in words.join(" ").chars().map(|it| if it.is_control() { ' ' } else { it }) {
            if label.len() + letter.len_utf8() > LABEL_MAX {
                break;
            }
            label.push(letter);
        }
        label
    }
}

/// The shell that the user likes, as flock(1) has it.
fn user_shell() -> OsString {
    std::env::var_os("SHELL").filter(|it| !it.is_empty()).unwrap_or_else(|| "/bin/sh".into())
}
