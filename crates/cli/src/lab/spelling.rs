//! How settings are spelt on the command line. The workbench names them in backticks, and knows no
//! dashes.

use std::fmt::Display;

use conclave_workbench::plan::Plan;
use conclave_workbench::setting::NamesSettings;

/// The option of that setting: `-n`, `--network`.
pub fn option(name: &str) -> String {
    if name.len() == 1 { format!("-{name}") } else { format!("--{name}") }
}

/// A text of the workbench, with the options in place of those settings that it names.
pub fn spelt<'a>(text: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    let spell = |text: String, name: &str| text.replace(&format!("`{name}`"), &option(name));
    names.into_iter().fold(text.to_owned(), spell)
}

/// What the workbench refuses, as it is said to whoever gave options.
#[allow(clippy::needless_pass_by_value, reason = "it is what an error is mapped by")]
pub fn refused<E: NamesSettings + Display>(error: E) -> anyhow::Error {
    anyhow::Error::msg(spelt(&error.to_string(), error.settings()))
}

/// The command that does the same again.
pub fn command(plan: &Plan) -> String {
    let mut words = format!("conclave run {}", plan.entry.name);
    for (name, value) in plan.said() {
        words = format!("{words} {}", option(name));
        if let Some(value) = value {
            words = format!("{words} {}", quoted(&value));
        }
    }
    words
}

/// The word as a shell has to be given it: in quotes, if it would take it for something else.
pub fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./,:@=+".contains(c);
    if word.chars().all(is_plain) { word.to_owned() } else { format!("'{word}'") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_text_names_becomes_an_option() {
        let text = "leave `n` or `seed` out of `loss`";
        assert_eq!(spelt(text, ["n", "seed"]), "leave -n or --seed out of `loss`");
    }
}
