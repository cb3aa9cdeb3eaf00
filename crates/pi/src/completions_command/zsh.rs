//! The script for zsh: to be evaluated, or a file `_pi` in a directory of `fpath`.

use std::fmt::Write as _;

use super::{FlagValue, SHELLS, all_flags, is_optional, value_of};
use crate::args::Flag;
use crate::commands::COMMANDS;
use crate::docs_command::TOPICS;

pub(super) fn script() -> String {
    let mut commands = String::new();
    for row in COMMANDS {
        for name in row.names {
            // Writing to a string cannot fail.
            writeln!(
                commands,
                "        {}",
                quoted(&format!("{name}:{}", row.about))
            )
            .ok();
        }
    }
    let mut topics = String::new();
    for topic in TOPICS {
        let row = format!("{}:{}", topic.name, topic.about);
        writeln!(topics, "            {}", quoted(&row)).ok();
    }
    let mut flags = String::new();
    for flag in all_flags() {
        writeln!(flags, "        {} \\", specification(flag)).ok();
    }
    format!(
        "#compdef pi\n\
         # Completions of pi for zsh, printed by `pi completions zsh`.\n\
         _pi() {{\n\
         \x20   local -a commands topics\n\
         \x20   commands=(\n{commands}    )\n\
         \x20   if (( CURRENT == 2 )) && [[ $words[2] != -* ]]; then\n\
         \x20       _describe -t commands command commands\n\
         \x20   fi\n\
         \x20   if (( CURRENT == 3 )) && [[ $words[2] == docs ]]; then\n\
         \x20       topics=(\n{topics}        )\n\
         \x20       _describe -t topics topic topics\n\
         \x20       return\n\
         \x20   fi\n\
         \x20   if (( CURRENT == 3 )) && [[ $words[2] == completions ]]; then\n\
         \x20       _values shell {shells}\n\
         \x20       return\n\
         \x20   fi\n\
         \x20   if compset -P @; then\n\
         \x20       _files\n\
         \x20       return\n\
         \x20   fi\n\
         \x20   _arguments -S \\\n{flags}        '*:message or file:_files'\n\
         }}\n\
         if [[ $funcstack[1] == _pi ]]; then\n\
         \x20   _pi \"$@\"\n\
         else\n\
         \x20   compdef _pi pi\n\
         fi\n",
        shells = SHELLS.join(" "),
    )
}

/// Returns the arguments of `_arguments` for a flag.
fn specification(flag: Flag) -> String {
    let mut about = String::new();
    for letter in flag.about().chars() {
        if "[]:\\".contains(letter) {
            about.push('\\');
        }
        about.push(letter);
    }
    let colons = if is_optional(flag) { "::" } else { ":" };
    let value = match value_of(flag) {
        FlagValue::None => String::new(),
        FlagValue::Words(words) => format!("{colons}value:({})", words.join(" ")),
        FlagValue::Files => format!("{colons}file:_files"),
        FlagValue::Text => format!("{colons}value: "),
    };
    let rest = quoted(&format!("[{about}]{value}"));
    match flag.short() {
        Some(short) => format!("'*'{{{short},{}}}{rest}", flag.long()),
        None => format!("'*{}'{rest}", flag.long()),
    }
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}
