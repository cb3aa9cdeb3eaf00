//! `pi ext`: what the extensions of running sessions cost.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use futures_util::future::join_all;
use pi_config::AgentDir;
use pi_env::Env;
use pi_host::{LiveDirectory, LiveSession, RemoteError, describe_error, extension_costs_text};
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

The exit code is 0, 1 if no session is running or none answers, or 2 for invalid arguments.
";

/// How long a session may take to report its figures, which it has in memory.
const ANSWER_TIME: Duration = Duration::from_secs(5);

/// What a session reported, or why it did not.
struct SessionReport {
    session: LiveSession,
    costs: Result<Vec<ExtensionCost>, RemoteError>,
}

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
    let reports = reports(sessions, ANSWER_TIME, async |id| {
        live.extension_costs(id).await
    })
    .await;
    if reports.iter().all(|report| report.costs.is_err()) {
        return Err(Failure::new(table_text(&reports).trim_end()));
    }
    Ok(if arguments.json {
        json_text(&reports)
    } else {
        table_text(&reports)
    })
}

/// Asks all sessions at the same time; one that does not answer in time costs only its own figures.
async fn reports(
    sessions: Vec<LiveSession>,
    time: Duration,
    ask: impl AsyncFn(&str) -> Result<Vec<ExtensionCost>, RemoteError>,
) -> Vec<SessionReport> {
    let asking = sessions.into_iter().map(async |session| {
        let answer = tokio::time::timeout(time, ask(&session.id)).await;
        let costs = answer.unwrap_or(Err(RemoteError::NoResponse));
        SessionReport { session, costs }
    });
    join_all(asking).await
}

fn json_text(reports: &[SessionReport]) -> String {
    let sessions = reports.iter().map(|SessionReport { session, costs }| {
        json!({
            "id": session.id,
            "name": session.name,
            "cwd": session.cwd,
            "extensions": costs.as_deref().unwrap_or_default(),
            "error": costs.as_ref().err().map(|error| describe_error(error)),
        })
    });
    let report = json!({ "sessions": sessions.collect::<Vec<_>>() });
    format!("{report}\n")
}

fn table_text(reports: &[SessionReport]) -> String {
    let parts = reports.iter().map(|SessionReport { session, costs }| {
        let text = match costs {
            Ok(costs) => extension_costs_text(costs),
            Err(error) => describe_error(error),
        };
        if reports.len() == 1 && costs.is_ok() {
            return format!("{text}\n");
        }
        let name = session.name.as_deref().unwrap_or_default();
        let title = format!("Session {}  {name}", session.id);
        format!("{}\n{text}\n", title.trim_end())
    });
    parts.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use pi_protocol::SessionActivity;
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

    #[tokio::test]
    async fn a_session_that_does_not_answer_hides_no_other() {
        let sessions = ["works", "hangs", "fails"].map(|id| LiveSession {
            id: id.to_owned(),
            name: None,
            cwd: "/project".to_owned(),
            pid: None,
            activity: SessionActivity::default(),
            pending_requests: 0,
            observers: 0,
        });
        let reports = reports(sessions.into(), Duration::ZERO, async |id| match id {
            "works" => Ok(Vec::new()),
            "hangs" => std::future::pending().await,
            _ => Err(RemoteError::Ended),
        });
        let reports = reports.await;
        let table = table_text(&reports);
        let none = extension_costs_text(&[]);
        assert_eq!(
            table,
            format!(
                "Session works\n{none}\n\nSession hangs\nthe process that runs the session does not respond\n\nSession fails\nthe process that ran the session has ended\n"
            )
        );
        let json: serde_json::Value = serde_json::from_str(&json_text(&reports)).unwrap();
        assert_eq!(json["sessions"][0]["error"], json!(null));
        assert_eq!(
            json["sessions"][2]["error"],
            "the process that ran the session has ended"
        );
    }
}
