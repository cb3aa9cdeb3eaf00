//! `pi doctor`: checks configuration and the terminal, and names what to do about findings.

mod checks;
mod finding;
#[cfg(unix)]
mod probe;
#[cfg(unix)]
mod terminal;
mod tmux;

use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::PathBuf;

use pi_env::Env;

use crate::output::{Exit, Failure, print};
use finding::{Finding, Severity};

const HELP: &str = "\
Usage:
  pi doctor [--json]
  pi doctor --terminal [--json] [--log FILE]

Check settings, credentials, project trust, extensions, MCP servers, session files, disk and locks. With
--terminal, ask the terminal what it supports: keys, colors, images, character widths, tmux settings.

  --json      Print JSON
  --log FILE  With --terminal, write all bytes sent and received to FILE, for bug reports

Nothing is changed, no model is called, and credentials are not shown. The exit code is 0 if there is nothing to
report, 1 if there is, 2 for invalid arguments.
";

#[derive(Debug, Default, PartialEq, Eq)]
struct DoctorArguments {
    terminal: bool,
    json: bool,
    log: Option<PathBuf>,
}

/// Runs the command; `words` follow its name.
pub(crate) async fn run(words: Vec<OsString>, env: Env) -> Exit {
    let arguments = match parse(words) {
        Ok(None) => return print(HELP),
        Ok(Some(arguments)) => arguments,
        Err(failure) => {
            failure.report();
            return Exit::Code(2);
        }
    };
    let found = if arguments.terminal {
        check_terminal(&arguments, &env)
    } else {
        Ok(checks::run(&env).await)
    };
    match found {
        Ok(findings) => show(&arguments, &findings),
        Err(failure) => {
            failure.report();
            Exit::Code(2)
        }
    }
}

#[cfg(unix)]
fn check_terminal(arguments: &DoctorArguments, env: &Env) -> Result<Vec<Finding>, Failure> {
    let mut findings = terminal::run(arguments.log.as_deref(), env)?;
    findings.extend(tmux::run(env));
    Ok(findings)
}

#[cfg(not(unix))]
fn check_terminal(_arguments: &DoctorArguments, _env: &Env) -> Result<Vec<Finding>, Failure> {
    Err(Failure::new(
        "pi doctor --terminal is not available on this system",
    ))
}

/// Parses the arguments; `None` means help.
fn parse(words: Vec<OsString>) -> Result<Option<DoctorArguments>, Failure> {
    let usage = |cause: String| Failure::new(cause).hint("run pi doctor --help for usage");
    let mut arguments = DoctorArguments::default();
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        match &*word.to_string_lossy() {
            "--help" | "-h" => return Ok(None),
            "--terminal" => arguments.terminal = true,
            "--json" => arguments.json = true,
            "--log" => {
                let file = words.next().map(PathBuf::from);
                arguments.log = Some(file.ok_or_else(|| usage("--log needs a file".to_owned()))?);
            }
            other => return Err(usage(format!("pi doctor has no option {other}"))),
        }
    }
    if arguments.log.is_some() && !arguments.terminal {
        return Err(usage("--log needs --terminal".to_owned()));
    }
    Ok(Some(arguments))
}

fn show(arguments: &DoctorArguments, findings: &[Finding]) -> Exit {
    let is_healthy = findings.iter().all(|it| it.severity == Severity::Ok);
    let mut text = String::new();
    if arguments.json {
        let report = serde_json::json!({ "ok": is_healthy, "findings": findings });
        text = format!("{report}\n");
    } else {
        for finding in findings {
            let label = match finding.severity {
                Severity::Ok => "ok",
                Severity::Warning => "warning",
                Severity::Error => "error",
            };
            // Writing to a string cannot fail.
            writeln!(text, "{label:8} {}: {}", finding.area, finding.message).ok();
            for fix in &finding.fixes {
                writeln!(text, "{:8}   {fix}", "").ok();
            }
        }
    }
    match print(&text) {
        Exit::Success if !is_healthy => Exit::Failure,
        exit => exit,
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn arguments_are_parsed() {
        let parsed = |line: &str| {
            let words = line.split_whitespace().map(OsString::from).collect();
            parse(words).map_err(|failure| failure.cause)
        };
        assert_eq!(parsed(""), Ok(Some(DoctorArguments::default())));
        assert_eq!(parsed("--help"), Ok(None));
        assert_eq!(
            parsed("--terminal --log f --json").unwrap().unwrap(),
            DoctorArguments {
                terminal: true,
                json: true,
                log: Some(PathBuf::from("f")),
            }
        );
        for (line, expected) in [
            ("--log f", "--log needs --terminal"),
            ("--log", "--log needs a file"),
            ("x", "pi doctor has no option x"),
        ] {
            assert_eq!(parsed(line), Err(expected.to_owned()), "{line}");
        }
    }
}
