//! `pi ext`: what the extensions of running sessions cost.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::Path;

use pi_config::AgentDir;
use pi_env::Env;
use pi_host::{LiveDirectory, LiveSession, extension_costs_text};
use pi_protocol::ExtensionCost;
use serde_json::json;

use crate::output::{Exit, Failure, print};

const HELP: &str = "\
Usage:
  pi ext top [SESSION] [--json]

Show what each extension costs: start-up, event handlers, rendering, memory, prompt tokens and cache misses. The figures
are those of running sessions and start with the session or its last /reload; they are not stored. SESSION is an ID, the
start of an ID, or a name; the default is all running sessions of this directory. In a session, use /extensions.

  --json                            Print JSON: an object with a list of sessions

The exit code is 0, 1 if no session is running, or 2 for invalid arguments.
";

#[derive(Debug, Default, PartialEq, Eq)]
struct TopArguments {
    session: Option<String>,
    json: bool,
}

/// Runs the command; `words` follow its name.
pub(crate) async fn run(words: Vec<OsString>, env: Env) -> Exit {
    let arguments = match parse(words) {
        Ok(Some(arguments)) => arguments,
        Ok(None) => return print(HELP),
        Err(failure) => {
            failure.report();
            return Exit::Code(2);
        }
    };
    match top(&arguments, &env).await {
        Ok(text) => print(&text),
        Err(failure) => failure.report(),
    }
}

/// Parses the arguments; `None` means help.
fn parse(words: Vec<OsString>) -> Result<Option<TopArguments>, Failure> {
    let usage = |cause: String| Failure::new(cause).hint("run pi ext --help for usage");
    let mut arguments = TopArguments::default();
    let mut names = Vec::new();
    for word in words {
        let word = word.to_string_lossy().into_owned();
        match word.as_str() {
            "--help" | "-h" => return Ok(None),
            "--json" => arguments.json = true,
            option if option.starts_with('-') => {
                return Err(usage(format!("pi ext has no option {option}")));
            }
            _ => names.push(word),
        }
    }
    let mut names = names.into_iter();
    match names.next().as_deref() {
        None => return Ok(None),
        Some("top") => {}
        Some(other) => return Err(usage(format!("pi ext has no command {other}"))),
    }
    arguments.session = names.next();
    match names.next() {
        None => Ok(Some(arguments)),
        Some(_) => Err(usage("too many arguments".to_owned())),
    }
}

async fn top(arguments: &TopArguments, env: &Env) -> Result<String, Failure> {
    let live = LiveDirectory::new(AgentDir::from_env(env).path(), env);
    let directory = std::env::current_dir().unwrap_or_default();
    let is_wanted = |session: &LiveSession| match &arguments.session {
        Some(wanted) => {
            session.id.starts_with(wanted) || session.name.as_deref() == Some(wanted.as_str())
        }
        None => Path::new(&session.cwd) == directory,
    };
    let mut sessions = live.list().await;
    sessions.retain(is_wanted);
    if sessions.is_empty() {
        let cause = match &arguments.session {
            Some(wanted) => format!("no running session matches \"{wanted}\""),
            None => "no pi is running a session in this directory".to_owned(),
        };
        return Err(Failure::new(cause).hint(
            "start pi and send a message, then run pi ext top in another terminal, or use /extensions",
        ));
    }
    let mut reports = Vec::new();
    for session in sessions {
        let costs = live.extension_costs(&session.id).await;
        let costs = costs.map_err(|error| Failure::from_chain(&error))?;
        reports.push((session, costs));
    }
    Ok(if arguments.json {
        json_text(&reports)
    } else {
        table_text(&reports)
    })
}

fn json_text(reports: &[(LiveSession, Vec<ExtensionCost>)]) -> String {
    let sessions = reports.iter().map(|(session, costs)| {
        json!({ "id": session.id, "name": session.name, "cwd": session.cwd, "extensions": costs })
    });
    let report = json!({ "sessions": sessions.collect::<Vec<_>>() });
    format!("{report}\n")
}

fn table_text(reports: &[(LiveSession, Vec<ExtensionCost>)]) -> String {
    let mut text = String::new();
    for (position, (session, costs)) in reports.iter().enumerate() {
        if position > 0 {
            text.push('\n');
        }
        if reports.len() > 1 {
            let name = session.name.as_deref().unwrap_or_default();
            // Writing to a string cannot fail.
            writeln!(
                text,
                "{}",
                format!("Session {}  {name}", session.id).trim_end()
            )
            .ok();
        }
        writeln!(text, "{}", extension_costs_text(costs)).ok();
    }
    text
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
        assert_eq!(parsed(""), Ok(None));
        assert_eq!(
            parsed("top 0199 --json"),
            Ok(Some(TopArguments {
                session: Some("0199".to_owned()),
                json: true,
            }))
        );
        for (line, expected) in [
            ("bottom", "pi ext has no command bottom"),
            ("top a b", "too many arguments"),
            ("top --x", "pi ext has no option --x"),
        ] {
            assert_eq!(parsed(line), Err(expected.to_owned()), "{line}");
        }
    }
}
