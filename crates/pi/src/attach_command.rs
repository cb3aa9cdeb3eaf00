//! `pi attach`: opens a session that another pi of this user runs.

use std::ffi::OsString;
use std::fmt::Write as _;

use pi_config::AgentDir;
use pi_env::Env;
use pi_host::{
    DialogPrompt, DialogResponse, ExtensionDialog, ExtensionUi as _, LiveDirectory, LiveSession,
    SettingsOverrides,
};
use pi_interactive::ExtensionUiBridge;

use crate::interactive_mode;
use crate::mode::Terminals;
use crate::output::{Exit, Failure, print};

const HELP: &str = "\
Open a session that runs in another terminal, in an editor or in the background. Both show the same conversation, and
both can send messages and answer questions.

Usage: pi attach [--read-only] [ID]

  ID                                ID, start of an ID, or name of a session; without it, pick one
  --read-only                       Only watch
";

#[derive(Debug, Default, PartialEq, Eq)]
struct AttachRequest {
    wanted: Option<String>,
    is_read_only: bool,
}

/// Parses the arguments after `attach`; `None` means help.
fn parse(words: Vec<OsString>) -> Result<Option<AttachRequest>, Failure> {
    let usage = |cause: String| Failure::new(cause).hint("run pi attach --help for usage");
    let mut request = AttachRequest::default();
    for word in words {
        let word = word.to_string_lossy().into_owned();
        match word.as_str() {
            "--help" | "-h" => return Ok(None),
            "--read-only" => request.is_read_only = true,
            option if option.starts_with('-') => {
                return Err(usage(format!("pi attach has no option {option}")));
            }
            _ if request.wanted.is_some() => {
                return Err(usage("pi attach takes one session".to_owned()));
            }
            _ => request.wanted = Some(word),
        }
    }
    Ok(Some(request))
}

pub(crate) async fn run(words: Vec<OsString>, env: Env) -> Exit {
    let request = match parse(words) {
        Ok(Some(request)) => request,
        Ok(None) => return print(HELP),
        Err(failure) => return failure.report(),
    };
    match choose(&request, &env).await {
        Ok(Some(id)) => Box::pin(interactive_mode::attach(id, request.is_read_only, env)).await,
        Ok(None) => Exit::Success,
        Err(failure) => failure.report(),
    }
}

/// Returns the ID of the session to attach to; `None` if the user picks none.
async fn choose(request: &AttachRequest, env: &Env) -> Result<Option<String>, Failure> {
    let agent_dir = AgentDir::from_env(env);
    let live = LiveDirectory::new(agent_dir.path(), env);
    let sessions = match &request.wanted {
        Some(wanted) => {
            live.list_with(wanted, |found| is_match(found, wanted))
                .await
        }
        None => live.list().await,
    };
    let is_interactive = Terminals::of_process().are_interactive();
    match &request.wanted {
        Some(wanted) => {
            let found = find(&sessions, wanted)?;
            if is_interactive {
                return Ok(Some(found.id.clone()));
            }
            Err(Failure::new("pi attach needs a terminal"))
        }
        None if sessions.is_empty() => Err(Failure::new("no session is running").hint(
            "start pi in another terminal; a session can be attached to after its first message",
        )),
        None if is_interactive => Ok(pick(&sessions, agent_dir, env).await),
        None => {
            print(&listing(&sessions));
            Ok(None)
        }
    }
}

/// Whether a session has this name, this ID, or an ID that starts with it.
fn is_match(session: &LiveSession, wanted: &str) -> bool {
    session.id.starts_with(wanted) || session.name.as_deref() == Some(wanted)
}

fn find<'a>(sessions: &'a [LiveSession], wanted: &str) -> Result<&'a LiveSession, Failure> {
    let exact = sessions
        .iter()
        .find(|session| session.id == wanted || session.name.as_deref() == Some(wanted));
    if let Some(session) = exact {
        return Ok(session);
    }
    let mut matching = sessions
        .iter()
        .filter(|session| session.id.starts_with(wanted));
    match (matching.next(), matching.next()) {
        (Some(session), None) => Ok(session),
        (Some(_), Some(_)) => Err(Failure::new(format!(
            "several running sessions start with \"{wanted}\""
        ))
        .hint("run pi attach to pick one")),
        (None, _) => Err(
            Failure::new(format!("no running session matches \"{wanted}\""))
                .hint(format!("open it here with pi --session {wanted}")),
        ),
    }
}

async fn pick(sessions: &[LiveSession], agent_dir: AgentDir, env: &Env) -> Option<String> {
    let ui = ExtensionUiBridge::new(agent_dir, env.clone(), SettingsOverrides::default());
    let options: Vec<String> = sessions.iter().map(|session| row(session, env)).collect();
    let dialog = ExtensionDialog {
        id: "attach".to_owned(),
        prompt: DialogPrompt::Select {
            title: "Attach to a session".to_owned(),
            options: options.clone(),
        },
        timeout: None,
    };
    let DialogResponse::Text(chosen) = ui.show_dialog(dialog).await else {
        return None;
    };
    let index = options.iter().position(|option| *option == chosen)?;
    sessions.get(index).map(|session| session.id.clone())
}

/// Describes a session on one line.
fn row(session: &LiveSession, env: &Env) -> String {
    let home = env.home_dir();
    let home = home.as_ref().and_then(|home| home.to_str());
    let cwd = home.and_then(|home| session.cwd.strip_prefix(home));
    let cwd = cwd.map_or_else(|| session.cwd.clone(), |rest| format!("~{rest}"));
    let mut row = cwd;
    if let Some(name) = &session.name {
        write!(row, "  {name}").unwrap_or_default();
    }
    let status = match (session.pending_requests, session.is_busy()) {
        (0, false) => "idle",
        (0, true) => "working",
        _ => "waiting for an answer",
    };
    write!(row, "  {status}").unwrap_or_default();
    if let Some(pid) = session.pid {
        write!(row, "  PID {pid}").unwrap_or_default();
    }
    write!(row, "  {}", session.id).unwrap_or_default();
    row
}

fn listing(sessions: &[LiveSession]) -> String {
    let env = Env::process();
    let rows = sessions.iter().map(|session| row(session, &env) + "\n");
    rows.collect()
}

#[cfg(test)]
mod tests {
    use pi_protocol::{ActivityKind, SessionActivity};
    use pretty_assertions::assert_eq;

    use super::*;

    fn session(id: &str, name: Option<&str>) -> LiveSession {
        LiveSession {
            id: id.to_owned(),
            name: name.map(str::to_owned),
            cwd: "/w".to_owned(),
            pid: Some(7),
            activity: SessionActivity {
                kind: ActivityKind::Running,
                ..SessionActivity::default()
            },
            pending_requests: 0,
            observers: 0,
        }
    }

    #[test]
    fn a_session_is_found_by_id_prefix_or_name() {
        let sessions = [session("abc", Some("build")), session("abd", None)];
        for (wanted, found) in [("abc", Some(0)), ("build", Some(0)), ("abd", Some(1))] {
            let found = found.map(|index: usize| &sessions[index]);
            assert_eq!(find(&sessions, wanted).ok(), found);
        }
        for (wanted, cause) in [
            ("ab", "several running sessions start with \"ab\""),
            ("x", "no running session matches \"x\""),
        ] {
            assert_eq!(find(&sessions, wanted).unwrap_err().cause, cause);
        }
    }

    #[test]
    fn arguments() {
        let words = |words: &[&str]| words.iter().map(OsString::from).collect::<Vec<_>>();
        let request = parse(words(&["abc", "--read-only"])).unwrap().unwrap();
        assert_eq!(request.wanted.as_deref(), Some("abc"));
        assert!(request.is_read_only);
        assert_eq!(parse(words(&["--help"])).unwrap(), None);
        for wrong in [&["--rw"][..], &["a", "b"]] {
            assert!(parse(words(wrong)).is_err(), "{wrong:?}");
        }
    }
}
