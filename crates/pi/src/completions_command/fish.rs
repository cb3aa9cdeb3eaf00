//! The script for fish.

use std::fmt::Write as _;

use super::{FlagValue, SHELLS, all_flags, is_optional, value_of};
use crate::args::Flag;
use crate::commands::COMMANDS;
use crate::docs_command::TOPICS;

pub(super) fn script() -> String {
    let mut text = "# Completions of pi for fish, printed by `pi completions fish`.\n".to_owned();
    for row in COMMANDS {
        for name in row.names {
            // Writing to a string cannot fail.
            writeln!(
                text,
                "complete -c pi -n __fish_is_first_token -a {name} -d {}",
                quoted(row.about)
            )
            .ok();
        }
    }
    for topic in TOPICS {
        writeln!(
            text,
            "complete -c pi -n '__fish_seen_subcommand_from docs' -f -a {} -d {}",
            topic.name,
            quoted(topic.about)
        )
        .ok();
    }
    writeln!(
        text,
        "complete -c pi -n '__fish_seen_subcommand_from completions' -f -a {}",
        quoted(&SHELLS.join(" "))
    )
    .ok();
    for flag in all_flags() {
        writeln!(text, "complete -c pi{}", options(flag)).ok();
    }
    text
}

/// Returns the options of `complete` for a flag.
fn options(flag: Flag) -> String {
    let mut options = format!(" -l {}", flag.long().trim_start_matches('-'));
    if let Some(short) = flag.short() {
        let name = short.trim_start_matches('-');
        // Options of one dash and several letters are "old style".
        let kind = if name.len() == 1 { "-s" } else { "-o" };
        write!(options, " {kind} {name}").ok();
    }
    match value_of(flag) {
        FlagValue::None => {}
        FlagValue::Words(words) if is_optional(flag) => {
            write!(options, " -a {}", quoted(&words.join(" "))).ok();
        }
        FlagValue::Words(words) => {
            write!(options, " -x -a {}", quoted(&words.join(" "))).ok();
        }
        FlagValue::Files => options.push_str(" -r -F"),
        FlagValue::Text if is_optional(flag) => {}
        FlagValue::Text => options.push_str(" -x"),
    }
    write!(options, " -d {}", quoted(flag.about())).ok();
    options
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
}
