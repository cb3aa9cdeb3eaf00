//! Commands that run other commands, and arguments that contain commands.

mod inline_code;
mod interpreters;
mod table;

use crate::shell_split::{Unclear, Word, split};
use inline_code::has_inline_code;
use table::{
    GIT_OPTIONS, LAUNCHERS, LAUNCHING_ARGUMENTS, Launcher, RUNNERS, TRANSPARENT, WILDCARD_OPTIONS,
};

/// Commands in arguments are followed up to this number for a command.
const MAX_REACHABLE: usize = 200;

/// Returns the command that a command runs, or `None` if it runs no other.
pub(crate) fn launched(words: &[Word]) -> Result<Option<Vec<Word>>, Unclear> {
    let Some((program, arguments)) = words.split_first() else {
        return Ok(None);
    };
    let name = base_name(&program.text);
    let inner = match name.as_str() {
        "nohup" | "setsid" | "command" | "builtin" | "exec" => skip_options(arguments, &[], &[])?,
        "time" => skip_options(arguments, &["-p"], &[])?,
        "nice" => skip_options(arguments, &[], &["-n"])?,
        "timeout" => {
            let rest = skip_options(arguments, &[], &["-k", "-s"])?;
            rest.get(1..).unwrap_or_default()
        }
        "env" => {
            let rest = skip_options(arguments, &[], &[])?;
            if rest.first().is_some_and(|word| word.text.contains('=')) {
                return Err(Unclear("variables for a command"));
            }
            rest
        }
        "git" => return Ok(without_git_options(program, arguments)),
        name if launcher(name).is_some() => {
            return Err(Unclear("a command that runs other commands"));
        }
        _ => return Ok(None),
    };
    Ok((!inner.is_empty()).then(|| inner.to_vec()))
}

/// Returns all commands that a command may run, as far as they can be found, and the command itself.
pub(crate) fn reachable(words: &[Word]) -> Vec<Vec<Word>> {
    let mut found = vec![words.to_vec()];
    let mut index = 0;
    while let Some(words) = found.get(index)
        && found.len() < MAX_REACHABLE
    {
        let inner = inner_commands(words);
        found.extend(inner.into_iter().filter(|words| !words.is_empty()));
        index += 1;
    }
    found.truncate(MAX_REACHABLE);
    found
}

fn inner_commands(words: &[Word]) -> Vec<Vec<Word>> {
    let Some((program, arguments)) = words.split_first() else {
        return Vec::new();
    };
    let name = base_name(&program.text);
    let mut found = launching_values(&name, arguments);
    if name == "git" {
        found.extend(without_git_options(program, arguments));
    }
    if name == "env" {
        found.extend(split_strings(arguments));
    }
    let runs = RUNNERS.iter().find(|(runner, _)| *runner == name);
    if let Some((_, commands)) = runs
        && let Some(position) = arguments
            .iter()
            .position(|word| commands.contains(&word.text.as_str()))
    {
        let rest = arguments.get(position + 1..).unwrap_or_default();
        found.extend(after_options(rest, 0, ""));
        if name == "git" {
            found.extend(rest.iter().flat_map(script));
        }
    }
    if let Some(launcher) = launcher(&name) {
        let inner = after_options(arguments, launcher.operands, launcher.value_options);
        if let Some(first) = inner.iter().flatten().next() {
            found.extend(script(first));
        }
        found.extend(inner);
        if launcher.takes_script {
            found.extend(arguments.iter().flat_map(script));
            let joined: Vec<&str> = arguments.iter().map(|word| word.text.as_str()).collect();
            if name == "eval" {
                found.extend(commands_in(&joined.join(" ")));
            }
        }
    }
    found
}

/// Whether a command reads a script from its input, or has one in an argument.
pub(crate) fn runs_scripts(words: &[Word]) -> bool {
    reachable(words).iter().any(|words| {
        let name = words.first().map(|program| base_name(&program.text));
        name.is_some_and(|name| launcher(&name).is_some_and(|launcher| launcher.takes_script))
    })
}

/// Returns the commands in an argument that consists of several words.
fn script(word: &Word) -> Vec<Vec<Word>> {
    if word
        .text
        .contains(|character: char| character.is_whitespace() || ";|&".contains(character))
    {
        commands_in(&word.text)
    } else {
        Vec::new()
    }
}

fn commands_in(text: &str) -> Vec<Vec<Word>> {
    let commands = split(text).commands.into_iter();
    commands.map(|command| command.words).collect()
}

/// Returns the commands in the values of `env -S`, with the arguments after it.
fn split_strings(arguments: &[Word]) -> Vec<Vec<Word>> {
    let mut found = Vec::new();
    for (index, argument) in arguments.iter().enumerate() {
        let text = argument.text.as_str();
        let value = match text.strip_prefix("--") {
            Some(long) if long.starts_with('s') => long.split_once('=').map_or("", |(_, it)| it),
            Some(_) => continue,
            None => match text.strip_prefix('-').and_then(|it| it.split_once('S')) {
                Some((_, value)) => value,
                None => continue,
            },
        };
        let rest = arguments.get(index + 1..).unwrap_or_default();
        let words = rest.iter().map(|word| word.text.as_str());
        let texts: Vec<&str> = std::iter::once(value).chain(words).collect();
        found.extend(commands_in(&texts.join(" ")));
    }
    found
}

/// Returns the commands in the values of arguments that run one.
fn launching_values(name: &str, arguments: &[Word]) -> Vec<Vec<Word>> {
    let mut found = Vec::new();
    for (index, argument) in arguments.iter().enumerate() {
        let rest = arguments.get(index + 1..).unwrap_or_default();
        if name == "git" && matches!(argument.text.as_str(), "-c" | "-x" | "-O") {
            // An alias such as `alias.x=!command`, a pager, or the command itself.
            let value = rest.first().map_or("", |word| word.text.as_str());
            match value.split_once('=') {
                Some((_, value)) => found.extend(commands_in(value.trim_start_matches('!'))),
                None => found.extend(rest.first().into_iter().flat_map(script)),
            }
        }
        if !is_launching(name, &argument.text) {
            continue;
        }
        match argument.text.split_once('=') {
            Some((_, value)) => found.extend(commands_in(value)),
            None => {
                let end = rest
                    .iter()
                    .position(|word| matches!(word.text.as_str(), ";" | "+"));
                let command = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
                found.push(command.to_vec());
                found.extend(rest.first().into_iter().flat_map(script));
            }
        }
    }
    found
}

/// Whether an argument lets the command run another one, or write.
pub(crate) fn has_launching_argument(words: &[Word]) -> bool {
    let Some((program, arguments)) = words.split_first() else {
        return false;
    };
    let name = base_name(&program.text);
    let may_be_option = |word: &&Word| word.is_expanded && word.text.starts_with(['*', '?', '[']);
    let mut before_operands = arguments.iter().take_while(|word| word.text != "--");
    (WILDCARD_OPTIONS.contains(&name.as_str()) && before_operands.any(|word| may_be_option(&word)))
        || arguments
            .iter()
            .any(|argument| is_launching(&name, &argument.text))
        || has_inline_code(&name, arguments)
}

fn is_launching(name: &str, argument: &str) -> bool {
    let Some((_, launching)) = LAUNCHING_ARGUMENTS.iter().find(|(of, _)| *of == name) else {
        return false;
    };
    let flag = argument.split('=').next().unwrap_or_default();
    launching.iter().any(|known| {
        match (known.strip_prefix("--"), flag.strip_prefix("--")) {
            // Long options can be shortened.
            (Some(known), Some(long)) => !long.is_empty() && known.starts_with(long),
            // Go takes two dashes as one.
            (None, Some(long)) => known.strip_prefix('-') == Some(long),
            (Some(_), None) => false,
            // A single letter may stand among others, or in front of its value.
            (None, None) if known.len() == 2 => argument
                .strip_prefix('-')
                .is_some_and(|letters| known.ends_with(|letter| letters.contains(letter))),
            (None, None) => *known == flag,
        }
    })
}

/// The name of a program without its directory, as it is on systems that ignore case.
pub(crate) fn base_name(program: &str) -> String {
    let name = program.rsplit(['/', '\\']).next().unwrap_or(program);
    let mut name = name.to_ascii_lowercase();
    for suffix in [".exe", ".cmd", ".bat"] {
        if let Some(stem) = name.strip_suffix(suffix) {
            name = stem.to_owned();
        }
    }
    name
}

fn launcher(name: &str) -> Option<&'static Launcher> {
    LAUNCHERS
        .iter()
        .chain(TRANSPARENT)
        .find(|launcher| launcher.name == name)
}

/// Returns the command after the options and operands of a launcher.
fn after_options(arguments: &[Word], operands: usize, value_options: &str) -> Option<Vec<Word>> {
    let mut operands = operands;
    let mut rest = arguments.iter();
    let mut has_ended = false;
    while let Some(word) = rest.as_slice().first() {
        let text = word.text.as_str();
        if !has_ended && text == "--" {
            has_ended = true;
        } else if !has_ended && text.len() > 1 && text.starts_with('-') {
            let takes_value =
                !text.starts_with("--") && text.ends_with(|last| value_options.contains(last));
            if takes_value {
                rest.next();
            }
        } else if is_env_assignment(text) {
            // Assignments are no words of the command.
        } else if operands > 0 {
            operands -= 1;
        } else {
            return Some(rest.as_slice().to_vec());
        }
        rest.next();
    }
    None
}

/// Whether `env` and the like take a word as a variable.
fn is_env_assignment(text: &str) -> bool {
    text.contains('=') && !text.starts_with('=')
}

/// Returns the arguments after the options. Other options than those listed are unclear.
fn skip_options<'words>(
    arguments: &'words [Word],
    flags: &[&str],
    with_value: &[&str],
) -> Result<&'words [Word], Unclear> {
    let mut rest = arguments;
    while let [option, after @ ..] = rest {
        match option.text.as_str() {
            "--" => return Ok(after),
            text if flags.contains(&text) => rest = after,
            text if with_value.contains(&text) => rest = after.get(1..).unwrap_or_default(),
            text if text.starts_with('-') => {
                return Err(Unclear("options of a command that runs another one"));
            }
            _ => break,
        }
    }
    Ok(rest)
}

/// Returns the command of `git` without the options in front of it.
fn without_git_options(program: &Word, arguments: &[Word]) -> Option<Vec<Word>> {
    let mut rest = arguments;
    while let [option, after @ ..] = rest
        && option.text.starts_with('-')
    {
        let has_value = GIT_OPTIONS.contains(&option.text.as_str());
        rest = after.get(usize::from(has_value)..).unwrap_or_default();
    }
    if rest.len() == arguments.len() {
        return None;
    }
    let words = std::iter::once(program).chain(rest);
    Some(words.cloned().collect())
}

#[cfg(test)]
mod tests;
