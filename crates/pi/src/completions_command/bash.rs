//! The script for bash, which also runs on the bash 3.2 of macOS.

use std::fmt::Write as _;

use super::{FlagValue, SHELLS, all_flags, is_optional, value_of};
use crate::commands::COMMANDS;
use crate::docs_command::TOPICS;

pub(super) fn script() -> String {
    let mut cases = String::new();
    let mut others = Vec::new();
    for flag in all_flags() {
        let names: Vec<&str> = flag.short().into_iter().chain([flag.long()]).collect();
        match value_of(flag) {
            FlagValue::None => {}
            FlagValue::Words(words) => {
                let words = words.join(" ");
                // Writing to a string cannot fail.
                writeln!(
                    cases,
                    "        {}) COMPREPLY=($(compgen -W \"{words}\" -- \"$cur\")); {} ;;",
                    names.join("|"),
                    if is_optional(flag) {
                        "[ -z \"$COMPREPLY\" ] || return"
                    } else {
                        "return"
                    }
                )
                .ok();
            }
            FlagValue::Text if is_optional(flag) => {}
            FlagValue::Text | FlagValue::Files => others.extend(names),
        }
    }
    let flags: Vec<&str> = all_flags()
        .flat_map(|flag| flag.short().into_iter().chain([flag.long()]))
        .collect();
    let commands: Vec<&str> = COMMANDS.iter().flat_map(|row| row.names).copied().collect();
    let topics: Vec<&str> = TOPICS.iter().map(|topic| topic.name).collect();
    format!(
        "# Completions of pi for bash, printed by `pi completions bash`.\n\
         _pi() {{\n\
         \x20   local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD-1]}}\n\
         \x20   COMPREPLY=()\n\
         \x20   case $prev in\n\
         {cases}\
         \x20       # Bash completes file names.\n\
         \x20       {others}) return ;;\n\
         \x20   esac\n\
         \x20   if [ \"$COMP_CWORD\" -eq 2 ]; then\n\
         \x20       case $prev in\n\
         \x20           docs) COMPREPLY=($(compgen -W \"{topics} --all\" -- \"$cur\")); return ;;\n\
         \x20           completions) COMPREPLY=($(compgen -W \"{shells}\" -- \"$cur\")); return ;;\n\
         \x20       esac\n\
         \x20   fi\n\
         \x20   case $cur in\n\
         \x20       -*) COMPREPLY=($(compgen -W \"{flags}\" -- \"$cur\")) ;;\n\
         \x20       @*) local IFS=$'\\n'; COMPREPLY=($(compgen -P @ -f -- \"${{cur#@}}\")) ;;\n\
         \x20       *) [ \"$COMP_CWORD\" -ne 1 ] || COMPREPLY=($(compgen -W \"{commands}\" -- \"$cur\")) ;;\n\
         \x20   esac\n\
         }}\n\
         complete -o bashdefault -o default -F _pi pi\n",
        others = others.join("|"),
        topics = topics.join(" "),
        shells = SHELLS.join(" "),
        flags = flags.join(" "),
        commands = commands.join(" "),
    )
}
