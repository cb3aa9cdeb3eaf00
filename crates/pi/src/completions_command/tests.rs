use std::ffi::OsString;
use std::process::Command;

use pretty_assertions::assert_eq;

use super::*;
use crate::args::Args;
use crate::commands::COMMANDS;

#[test]
fn scripts_contain_every_flag_and_subcommand() {
    for script in [bash::script(), zsh::script(), fish::script()] {
        for flag in all_flags() {
            let name = flag.long().trim_start_matches('-');
            assert!(script.contains(name), "{name}");
        }
        for name in COMMANDS.iter().flat_map(|row| row.names) {
            assert!(script.contains(name), "{name}");
        }
    }
}

#[test]
fn offered_values_are_accepted() {
    for flag in all_flags() {
        let FlagValue::Words(words) = value_of(flag) else {
            continue;
        };
        for word in words {
            let args = Args::parse([OsString::from(flag.long()), OsString::from(word)]);
            assert_eq!(args.problems, [], "{} {word}", flag.long());
            assert_eq!(args.prompt.messages, Vec::<String>::new(), "{word}");
        }
    }
}

/// Returns the standard output of a program, or `None` if it is not installed.
fn output(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    let problems = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program}: {problems}");
    assert_eq!(problems, "", "{program}");
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn bash_completes() {
    for (line, expected) in [
        (&["pi", "--mod"][..], "--model --mode --models"),
        (&["pi", "--mode", "r"], "rpc"),
        (&["pi", "do"], "docs doctor"),
        (&["pi", "docs", "pack"], "packages"),
        (&["pi", "completions", ""], "bash zsh fish"),
        (&["pi", "--sandbox", "t"], "try"),
        (&["pi", "--session", "x"], ""),
    ] {
        let call = format!(
            "{}\nCOMP_WORDS=(\"$@\") COMP_CWORD=$(($# - 1))\n_pi\necho \"${{COMPREPLY[*]}}\"",
            bash::script()
        );
        let arguments = [&["-c", &call, "bash"], line].concat();
        let Some(completed) = output("bash", &arguments) else {
            return;
        };
        assert_eq!(completed.trim_end(), expected, "{line:?}");
    }
}

#[test]
fn fish_completes() {
    for (line, expected) in [
        ("pi --mode r", "rpc"),
        ("pi docto", "doctor"),
        ("pi docs keyb", "keybindings"),
        ("pi -x", "-xt"),
        ("pi --tui-mode f", "fullscreen"),
    ] {
        let call = format!("{}\ncomplete -C '{line}'", fish::script());
        let Some(completed) = output("fish", &["--no-config", "-c", &call]) else {
            return;
        };
        let words: Vec<&str> = completed
            .lines()
            .filter_map(|line| line.split('\t').next())
            .collect();
        assert_eq!(words, [expected], "{line}");
    }
}

#[test]
fn zsh_accepts_the_script() {
    // Completion itself needs a terminal; `compdef` is what loading the script calls.
    let call = format!("compdef() {{ print -r -- $@ }}\n{}", zsh::script());
    if let Some(printed) = output("zsh", &["-f", "-c", &call]) {
        assert_eq!(printed, "_pi pi\n");
    }
}
