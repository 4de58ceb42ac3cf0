//! The options that say what is run or searched, made from the one table of settings.

use std::error::Error;
use std::marker::PhantomData;
use std::path::PathBuf;

use clap::builder::ValueParser;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use conclave_workbench::search::draft::SearchDraft;
use conclave_workbench::setting::{Group, SETTINGS, Settable, Setting, SettingError, Shape};

/// What was said: the name of a setting and a value, which is empty for a switch.
pub type Said = Vec<(&'static str, String)>;

/// What `conclave run` is told of the run itself.
#[derive(Clone, Debug, Default)]
pub struct RunSettings {
    /// Settings, by name.
    pub said: Said,
    /// The file or the bundled scenario that says more.
    pub scenario: Option<PathBuf>,
}

/// What `conclave check` is told of the processes that it searches.
#[derive(Clone, Debug, Default)]
pub struct CheckSettings {
    /// Settings, by name.
    pub said: Said,
}

/// What is said of a plan whose table of settings has no groups: that of a sweep, or of a table of
/// costs.
#[derive(Clone, Debug)]
pub struct SettingsOf<P> {
    said: Said,
    plan: PhantomData<P>,
}

/// The order in which settings are explained.
const GROUPS: [Group; 5] =
    [Group::Run, Group::Elections, Group::Timers, Group::Faults, Group::Judging];

impl RunSettings {
    /// Whether that was said.
    pub fn says(&self, name: &str) -> bool {
        self.said.iter().any(|(said, _)| *said == name)
    }
}

impl Args for RunSettings {
    fn augment_args(mut command: Command) -> Command {
        for setting in in_groups() {
            let mut option = option(setting);
            // How it is judged, a recorded run does not say.
            if setting.name != "ordering" {
                option = option.conflicts_with("replay");
            }
            option = match setting.name {
                "ids" => option.conflicts_with("n"),
                "workload" | "entries" | "initiators" => option.conflicts_with("scenario"),
                _ => option,
            };
            command = command.arg(option);
            if setting.name == "workload" {
                command = command.arg(scenario());
            }
        }
        command
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for RunSettings {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let scenario = matches.get_one("scenario").cloned();
        Ok(Self { said: said(matches, in_groups()), scenario })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for CheckSettings {
    fn augment_args(command: Command) -> Command {
        let settings = in_groups().filter(|setting| SearchDraft::takes(setting));
        command.args(settings.map(|setting| match setting.name {
            // There is no network that they could follow from.
            "bound" => option(setting).help(
                "D: how long a message takes at most, as the members believe [default: D of \
                 --time sync:D, or 1ms]",
            ),
            "session" => option(setting).help(
                "After how long without a word the store closes a session [default: 30 D, in \
                 sync 12 D]",
            ),
            _ => option(setting),
        }))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for CheckSettings {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let settings = in_groups().filter(|setting| SearchDraft::takes(setting));
        Ok(Self { said: said(matches, settings) })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl<P: Settable> SettingsOf<P> {
    /// The plan that follows from what was said.
    pub fn plan(&self) -> Result<P, SettingError> {
        let mut plan = P::default();
        for setting in P::SETTINGS {
            let values = self.said.iter().filter(|(name, _)| *name == setting.name);
            let values: Vec<String> = values.map(|(_, value)| value.clone()).collect();
            if !values.is_empty() {
                setting.set(&mut plan, &values)?;
            }
        }
        Ok(plan)
    }
}

impl<P: Settable> Args for SettingsOf<P> {
    fn augment_args(command: Command) -> Command {
        command.args(P::SETTINGS.iter().map(option))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<P: Settable> FromArgMatches for SettingsOf<P> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        Ok(Self { said: said(matches, P::SETTINGS.iter()), plan: PhantomData })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// All settings that can be said in a word, in the order in which they are explained.
fn in_groups() -> impl Iterator<Item = &'static Setting> {
    GROUPS.into_iter().flat_map(|group| SETTINGS.iter().filter(move |it| it.group == Some(group)))
}

/// The option of a setting. Its value is checked as the table checks it.
fn option<P: 'static>(setting: &'static Setting<P>) -> Arg {
    let parse = move |text: &str| -> Result<String, Box<dyn Error + Send + Sync>> {
        let text = match setting.name {
            "voting-sets" => super::read_sets(text)?,
            _ => text.to_owned(),
        };
        setting.check(&text)?;
        Ok(text)
    };
    let arg = Arg::new(setting.name).help(setting.meaning);
    let arg = match setting.name {
        "n" => arg.short('n'),
        name => arg.long(name),
    };
    let arg = match setting.group.and_then(heading) {
        Some(heading) => arg.help_heading(heading),
        None => arg,
    };
    let with_value = |arg: Arg, value| arg.value_name(value).value_parser(ValueParser::new(parse));
    match setting.shape {
        Shape::Switch => arg.action(ArgAction::SetTrue),
        Shape::One(value) => with_value(arg, value).action(ArgAction::Set),
        Shape::Again(value) => with_value(arg, value).action(ArgAction::Append),
        Shape::List(value) | Shape::AgainList(value) => {
            with_value(arg, value).action(ArgAction::Append).value_delimiter(',')
        }
    }
}

fn scenario() -> Arg {
    Arg::new("scenario")
        .long("scenario")
        .value_name("FILE|NAME")
        .value_parser(clap::value_parser!(PathBuf))
        .help(
            "Read who takes part, who asks when and what goes wrong from a file, or take one of \
             `conclave scenarios`",
        )
        .conflicts_with("replay")
}

fn heading(group: Group) -> Option<&'static str> {
    match group {
        Group::Run => None,
        Group::Elections => Some("Elections and detectors"),
        Group::Timers => Some("Timers, where the algorithm has them"),
        Group::Faults => Some("Faults"),
        Group::Judging => Some("Judging"),
    }
}

fn said<P: 'static>(
    matches: &ArgMatches,
    settings: impl Iterator<Item = &'static Setting<P>>,
) -> Said {
    let mut said = Said::new();
    for Setting { name, shape, .. } in settings {
        match shape {
            Shape::Switch if matches.get_flag(name) => said.push((name, String::new())),
            Shape::Switch => {}
            _ => {
                let values = matches.get_many::<String>(name).into_iter().flatten();
                said.extend(values.map(|value| (*name, value.clone())));
            }
        }
    }
    said
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};

    use super::*;
    use crate::cli::{Cli, Command as Asked};
    use crate::lab;
    use crate::lab::spelling;

    /// What `conclave run` takes that decides nothing about the run.
    const NO_SETTINGS: [&str; 16] = [
        "replay",
        "scenario",
        "explain",
        "stats",
        "trace",
        "states",
        "svg",
        "svg-from",
        "svg-to",
        "svg-scroll",
        "svg-slide",
        "svg-delays",
        "json",
        "max-memory",
        "help",
        "algorithm",
    ];

    fn run_command() -> Command {
        let mut all = Cli::command();
        all.build();
        all.find_subcommand("run").expect("there is such a command").clone()
    }

    fn spelling(arg: &Arg) -> String {
        let short = || arg.get_short().map(String::from);
        arg.get_long().map(Into::into).or_else(short).unwrap_or_else(|| arg.get_id().to_string())
    }

    #[test]
    fn every_setting_is_one_option_and_every_option_that_decides_a_run_is_a_setting() {
        let run = run_command();
        let mut options: Vec<String> = run.get_arguments().map(spelling).collect();
        options.retain(|name| !NO_SETTINGS.contains(&&**name));
        options.sort();
        let mut settings: Vec<_> =
            SETTINGS.iter().filter(|it| it.group.is_some()).map(|it| it.name.to_owned()).collect();
        settings.sort();
        assert_eq!(options, settings);
    }

    #[test]
    fn an_option_is_read_as_the_table_reads_it() {
        for setting in SETTINGS.iter().filter(|it| it.group.is_some()) {
            let option = spelling::option(setting.name);
            let parse = |value: &str| {
                let words = ["conclave", "run", "lamport", &*option, value];
                Cli::try_parse_from(words).map_err(|error| error.to_string())
            };
            if setting.shape == Shape::Switch {
                continue;
            }
            let error = setting.check("?").expect_err(setting.name).to_string();
            assert!(parse("?").expect_err(setting.name).contains(&error), "{option}");
            for value in ["3", "unit", "one", "grid", "3@4ms", "3@4ms..5ms", "3/4@1ms..2ms", "3=2"]
            {
                let is_value = setting.check(value).is_ok();
                assert_eq!(parse(value).is_ok(), is_value, "{option} {value}");
                if let (true, Ok(Cli { command: Asked::Lab(lab::Command::Run(args)) })) =
                    (is_value, parse(value))
                {
                    assert_eq!(args.settings.said, [(setting.name, value.to_owned())]);
                }
            }
        }
    }

    #[test]
    fn a_command_that_repeats_a_run_is_understood_and_means_the_same() {
        for line in [
            "lamport -n 3 --network unit --workload contend --entries 12 --seed 1",
            "maekawa --ids 3,1,4 --voting-sets majority --network exponential:2ms --no-fifo \
             --workload one --entries 9 --hold 2.5ms --seed 7",
            "bully -n 5 --network sync:2ms --initiators 3@2ms,4 --bound 3ms --answer-timeout 7ms \
             --skip-dead --for 90ms --dead 5 --dead 2 --crash 1@3ms --return 1@9ms \
             --loss 0.25 --drift 3=1.5 --patience 9ms --max-events 99 --max-time 80ms --seed 1",
            "lamport -n 40 --network unit --workload think:3ms --entries 160 --pause 2@1ms..2ms \
             --partition 1,2>3@1ms..2ms --duplicate 0.5 --ordering --seed 1",
        ] {
            let words = ["conclave", "run"].into_iter().chain(line.split(' '));
            let Asked::Lab(lab::Command::Run(args)) =
                Cli::try_parse_from(words).expect(line).command
            else {
                panic!("that is a run: {line}");
            };
            let said = spelling::command(&lab::plan_of(&args).expect(line)).replace('\'', "");
            assert_eq!(said, format!("conclave run {line}"));
        }
    }
}
