//! Commands that run other commands.

use crate::shell_split::{Unclear, Word, is_assignment};

/// Commands whose arguments are, or contain, commands in a form that is not looked into.
const OPAQUE: [&str; 44] = [
    ".",
    "bash",
    "busybox",
    "chroot",
    "chrt",
    "csh",
    "dash",
    "doas",
    "entr",
    "eval",
    "expect",
    "fish",
    "flock",
    "gdb",
    "ionice",
    "ksh",
    "ltrace",
    "nsenter",
    "parallel",
    "pkexec",
    "prlimit",
    "proot",
    "runuser",
    "screen",
    "script",
    "setarch",
    "sh",
    "source",
    "ssh",
    "strace",
    "su",
    "sudo",
    "systemd-run",
    "taskset",
    "tcsh",
    "tmux",
    "toybox",
    "trap",
    "unshare",
    "valgrind",
    "watch",
    "xargs",
    "xvfb-run",
    "zsh",
];

/// Arguments with which a command runs another one, or writes where it usually only reads. Matched as a whole word, or
/// in front of `=`.
const LAUNCHING_ARGUMENTS: [(&str, &[&str]); 13] = [
    (
        "find",
        &[
            "-exec", "-execdir", "-ok", "-okdir", "-delete", "-fprint", "-fprint0", "-fprintf",
            "-fls",
        ],
    ),
    ("fd", &["-x", "-X", "--exec", "--exec-batch"]),
    (
        "git",
        &[
            "-c",
            "--config-env",
            "--exec-path",
            "--upload-pack",
            "--receive-pack",
            "--exec",
            "--open-files-in-pager",
            "--output",
            "--extcmd",
        ],
    ),
    ("go", &["-exec", "-toolexec", "-vettool"]),
    ("rg", &["--pre", "--hostname-bin"]),
    (
        "tar",
        &[
            "-I",
            "-F",
            "--to-command",
            "--checkpoint-action",
            "--use-compress-program",
            "--info-script",
            "--new-volume-script",
            "--rsh-command",
        ],
    ),
    ("rsync", &["-e", "--rsh", "--rsync-path"]),
    ("sort", &["-o", "--output", "--compress-program"]),
    ("zip", &["-TT", "--unzip-command"]),
    ("cargo", &["--config"]),
    ("npm", &["--script-shell", "--node-options"]),
    ("sed", &["-i", "--in-place"]),
    ("man", &["-P", "--pager", "-H", "--html"]),
];

/// Options of `git` in front of its command that do not change what the command does, and whether a value follows.
const GIT_OPTIONS: [(&str, bool); 3] = [("-C", true), ("--no-pager", false), ("-P", false)];

/// Returns the command that a command runs, or `None` if it runs no other.
pub(crate) fn launched(words: &[Word]) -> Result<Option<Vec<Word>>, Unclear> {
    let Some((program, arguments)) = words.split_first() else {
        return Ok(None);
    };
    let name = base_name(&program.text);
    if OPAQUE.contains(&name) {
        return Err(Unclear("a command that runs other commands"));
    }
    let inner = match name {
        "nohup" | "setsid" | "time" | "command" | "builtin" | "exec" => {
            skip_options(arguments, &[])?
        }
        "nice" => skip_options(arguments, &["-n"])?,
        "timeout" => {
            let rest = skip_options(arguments, &["-k", "-s"])?;
            rest.get(1..).unwrap_or_default()
        }
        "env" => {
            let rest = skip_options(arguments, &[])?;
            if rest.iter().any(|word| is_assignment(&word.text)) {
                return Err(Unclear("variables for a command"));
            }
            rest
        }
        "git" => return Ok(without_git_options(program, arguments)),
        _ => return Ok(None),
    };
    Ok((!inner.is_empty()).then(|| inner.to_vec()))
}

/// Whether an argument lets the command run another one, or write.
pub(crate) fn has_launching_argument(words: &[Word]) -> bool {
    let Some((program, arguments)) = words.split_first() else {
        return false;
    };
    let name = base_name(&program.text);
    let Some((_, launching)) = LAUNCHING_ARGUMENTS.iter().find(|(of, _)| *of == name) else {
        return false;
    };
    arguments.iter().any(|argument| {
        let flag = argument.text.split('=').next().unwrap_or_default();
        launching.contains(&flag)
    })
}

/// The name of a program without its directory.
pub(crate) fn base_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

/// Returns the arguments after the options. Other options than those that take a value, as listed, are unclear.
fn skip_options<'words>(
    arguments: &'words [Word],
    with_value: &[&str],
) -> Result<&'words [Word], Unclear> {
    let mut rest = arguments;
    while let [option, after @ ..] = rest {
        match option.text.as_str() {
            "--" => return Ok(after),
            text if with_value.contains(&text) => rest = after.get(1..).unwrap_or_default(),
            text if text.starts_with('-') => {
                return Err(Unclear("options of a command that runs another one"));
            }
            _ => break,
        }
    }
    Ok(rest)
}

fn without_git_options(program: &Word, arguments: &[Word]) -> Option<Vec<Word>> {
    let mut rest = arguments;
    while let [option, after @ ..] = rest
        && let Some((_, has_value)) = GIT_OPTIONS.iter().find(|(name, _)| *name == option.text)
    {
        rest = after.get(usize::from(*has_value)..).unwrap_or_default();
    }
    if rest.len() == arguments.len() {
        return None;
    }
    let words = std::iter::once(program).chain(rest);
    Some(words.cloned().collect())
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::shell_split::split;

    fn words(command: &str) -> Vec<Word> {
        split(command).unwrap().remove(0).words
    }

    #[test]
    fn the_launched_command_is_found() {
        for (command, inner) in [
            ("nohup rm x", Some("rm x")),
            ("timeout -k 5 -s KILL 10 rm x", Some("rm x")),
            ("nice -n 5 rm x", Some("rm x")),
            ("env rm x", Some("rm x")),
            ("/usr/bin/env -- rm x", Some("rm x")),
            ("command rm x", Some("rm x")),
            ("git -C dir --no-pager push -f", Some("git push -f")),
            ("git push", None),
            ("rm x", None),
            ("timeout 5", None),
        ] {
            assert_eq!(launched(&words(command)), Ok(inner.map(words)), "{command}");
        }
    }

    #[test]
    fn other_launchers_are_unclear() {
        for command in [
            "xargs rm",
            "sudo rm x",
            "bash -c 'rm x'",
            "/bin/sh x",
            "ssh host rm x",
            "env A=1 rm x",
            "env -S 'rm x'",
            "command -v rm",
            "eval rm x",
            ". ./x",
        ] {
            assert!(launched(&words(command)).is_err(), "{command}");
        }
    }

    #[test]
    fn arguments_that_run_commands_are_found() {
        for command in [
            "find . -exec rm {} \\;",
            "find . -delete",
            "go test -exec=rm ./...",
            "go test -exec rm ./...",
            "git -c core.pager=x log",
            "tar --to-command=rm xf a",
            "rg --pre rm x",
            "/usr/bin/find . -okdir rm",
        ] {
            assert!(has_launching_argument(&words(command)), "{command}");
        }
        for command in ["find . -name x", "git log", "go test ./...", "tar xf a"] {
            assert!(!has_launching_argument(&words(command)), "{command}");
        }
    }
}
