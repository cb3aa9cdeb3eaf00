//! `pi completions SHELL`: prints a completion script, generated from the tables of flags, subcommands and pages.

mod bash;
mod fish;
#[cfg(test)]
mod tests;
mod zsh;

use crate::args::{Flag, FlagGroup, Takes};
use crate::output::{Exit, Failure, print};

const HELP: &str = "\
Usage:
  pi completions bash|zsh|fish

Print a completion script. To load it:

  bash  Add to ~/.bashrc:                 eval \"$(pi completions bash)\"
  zsh   Add to ~/.zshrc, after compinit:  eval \"$(pi completions zsh)\"
  fish  Run once:                         pi completions fish > ~/.config/fish/completions/pi.fish
";

pub(crate) const SHELLS: [&str; 3] = ["bash", "zsh", "fish"];

/// Runs the command; `words` follow its name.
pub(crate) fn run(words: &[String]) -> Exit {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["-h" | "--help"] => print(HELP),
        ["bash"] => print(&bash::script()),
        ["zsh"] => print(&zsh::script()),
        ["fish"] => print(&fish::script()),
        [] => Failure::new("pi completions needs the name of a shell")
            .hint("run pi completions bash, zsh or fish")
            .report(),
        [shell] => Failure::new(format!("no completions for \"{shell}\""))
            .hint("run pi completions bash, zsh or fish")
            .report(),
        [_, extra, ..] => Failure::new(format!("unexpected argument \"{extra}\""))
            .hint("run pi completions --help for usage")
            .report(),
    }
}

/// What completes the value of a flag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FlagValue {
    /// The flag takes no value.
    None,
    Words(&'static [&'static str]),
    Files,
    /// Anything; nothing is offered.
    Text,
}

fn value_of(flag: Flag) -> FlagValue {
    let words: &[&str] = match flag {
        Flag::Mode => &["text", "json", "rpc", "acp"],
        Flag::Thinking => &["off", "minimal", "low", "medium", "high", "xhigh", "max"],
        Flag::ExtensionHost => &["quickjs", "node"],
        Flag::TuiMode => &["regular", "fullscreen"],
        _ => match flag.takes() {
            Takes::Nothing => return FlagValue::None,
            Takes::OptionalWord(_, words) => words,
            Takes::Value(name)
            | Takes::Required(name)
            | Takes::RequiredWord(name)
            | Takes::Optional(name)
            | Takes::Message(name) => {
                let is_file = ["FILE", "PATH", "DIR", "SOURCE"]
                    .iter()
                    .any(|kind| name.contains(kind));
                return if is_file {
                    FlagValue::Files
                } else {
                    FlagValue::Text
                };
            }
        },
    };
    FlagValue::Words(words)
}

/// Whether the value may be left out.
fn is_optional(flag: Flag) -> bool {
    matches!(
        flag.takes(),
        Takes::Optional(_) | Takes::OptionalWord(..) | Takes::Message(_)
    )
}

fn all_flags() -> impl Iterator<Item = Flag> {
    FlagGroup::ALL.into_iter().flat_map(Flag::of_group)
}
