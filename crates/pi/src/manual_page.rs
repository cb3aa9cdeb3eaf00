//! The page for `man`, generated from the same tables as the help.

use std::fmt::Write as _;

use pi_env::{VERSION, release};

use crate::args::{Flag, FlagGroup};
use crate::commands::COMMANDS;
use crate::environment::{VARIABLES, VariableTopic};
use crate::help::{EXAMPLES, SUMMARY, title, usage};

/// Returns `pi(1)` in the format of `man`.
pub(crate) fn text() -> String {
    let mut text = format!(
        ".TH PI 1 \"\" \"pi {release}\" \"User Commands\"\n\
         .SH NAME\npi \\- a coding agent for your terminal\n\
         .SH SYNOPSIS\n.B pi\n[\\fIOPTIONS\\fR] [\\fB\\-\\-\\fR] [\\fI@FILE\\fR...] [\\fIMESSAGE\\fR...]\n.br\n.B pi\n\\fICOMMAND\\fR ...\n\
         .SH DESCRIPTION\n{summary}\n.PP\n\
         Each MESSAGE is a separate prompt. Files and piped input are added to the first one. This page describes\n\
         version {VERSION}; the manual is in the program: run \\fBpi docs\\fR.\n\
         .SH COMMANDS\nRun \\fBpi\\fR \\fICOMMAND\\fR \\fB\\-\\-help\\fR for details.\n",
        release = escape(&release()),
        summary = escape(SUMMARY),
    );
    for command in COMMANDS {
        push_item(&mut text, &command.usage(), command.about);
    }
    text.push_str(".SH OPTIONS\n");
    for group in FlagGroup::ALL {
        // Writing to a string cannot fail.
        writeln!(text, ".SS {}", escape(title(group))).ok();
        for flag in Flag::of_group(group) {
            push_item(&mut text, &usage(flag), flag.about());
        }
    }
    text.push_str(".SH ENVIRONMENT\n");
    for topic in VariableTopic::ALL {
        for variable in VARIABLES
            .iter()
            .filter(|it| it.topic == topic && it.in_help)
        {
            push_item(&mut text, variable.name, variable.about);
        }
    }
    text.push_str(
        ".SH FILES\n.TP\n.I ~/.pi/agent\nSettings, credentials, sessions and extensions.\n\
         .TP\n.I .pi\nSettings and extensions of a project.\n\
         .SH EXAMPLES\n.nf\n",
    );
    for line in EXAMPLES.lines() {
        writeln!(text, "{}", escape(line.trim_start())).ok();
    }
    text.push_str(".fi\n");
    text
}

fn push_item(text: &mut String, name: &str, about: &str) {
    // Writing to a string cannot fail.
    writeln!(text, ".TP\n\\fB{}\\fR\n{}", escape(name), escape(about)).ok();
}

/// Escapes a line: backslashes, dashes (which would become hyphens), and a leading dot or quote (a request).
fn escape(line: &str) -> String {
    let mut escaped = String::with_capacity(line.len());
    if line.starts_with(['.', '\'']) {
        escaped.push_str("\\&");
    }
    for letter in line.chars() {
        match letter {
            '\\' => escaped.push_str("\\e"),
            '-' => escaped.push_str("\\-"),
            '…' => escaped.push_str("..."),
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::process::{Command, Stdio};

    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn special_characters_are_escaped() {
        for (line, escaped) in [
            (".pi", "\\&.pi"),
            ("--mode", "\\-\\-mode"),
            ("a\\b", "a\\eb"),
            ("'q'", "\\&'q'"),
        ] {
            assert_eq!(escape(line), escaped);
        }
    }

    #[test]
    fn groff_formats_the_page_without_warnings() {
        let groff = Command::new("groff")
            // The last option turns bold and underlined letters off.
            .args(["-man", "-ww", "-Tutf8", "-P-cbou"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        let Ok(mut groff) = groff else { return };
        let mut input = groff.stdin.take().unwrap();
        input.write_all(text().as_bytes()).unwrap();
        drop(input);
        let output = groff.wait_with_output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
        let page = String::from_utf8_lossy(&output.stdout);
        for word in ["SYNOPSIS", "completions SHELL", "PI_OFFLINE", "EXAMPLES"] {
            assert!(page.contains(word), "{word}");
        }
    }
}
