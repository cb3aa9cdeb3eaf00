//! Live attach: the socket of a session, and a session of another process. Both ends are in this process here.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::Duration;

use pi_config::AgentDir;
use pi_env::Env;
use pi_host::{
    AgentSession, Handover, Host, LinkStatus, LiveClients, LiveDirectory, LiveSocketError,
    RemoteError, RemoteSession, SessionRuntime,
};
use pi_protocol::{AgentMessage, AssistantBlock, Command};
use pi_providers::{FauxGate, FauxResponse};
use pretty_assertions::assert_eq;

use crate::test_env::{RuntimeTestEnv, prompt};

const LIMIT: Duration = Duration::from_secs(30);

async fn start_live(env: &RuntimeTestEnv) -> (Host, SessionRuntime) {
    let options = env.options().with(|host, _| host.live = true);
    let host = Host::new(options.host);
    let runtime = host.start(options.session).await.unwrap();
    (host, runtime)
}

fn directory(env: &RuntimeTestEnv) -> LiveDirectory {
    LiveDirectory::new(&env.path("agent"), &env.env())
}

async fn wait_until(what: &str, mut is_met: impl FnMut() -> bool) {
    let waiting = async {
        while !is_met() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let met = tokio::time::timeout(LIMIT, waiting).await;
    assert!(met.is_ok(), "{what}");
}

/// Runs a prompt, so that the session has a file, and waits until it listens.
async fn first_message(runtime: &SessionRuntime, directory: &LiveDirectory) -> String {
    let session = runtime.session();
    prompt(&session, "first").await;
    let id = session.session_id();
    wait_until("the session listens", || directory.ids().contains(&id)).await;
    id
}

async fn attach(host: &Host, env: &RuntimeTestEnv, id: &str, is_read_only: bool) -> RemoteSession {
    let options = env.options().session;
    let attached = RemoteSession::attach(host, options, id, is_read_only).await;
    attached.unwrap()
}

fn texts(session: &AgentSession) -> Vec<String> {
    let messages = session.history().messages().unwrap();
    messages
        .iter()
        .map(|message| format!("{message:?}"))
        .collect()
}

fn prompt_command(text: &str) -> Command {
    Command::Prompt {
        message: text.to_owned(),
        images: Vec::new(),
        streaming_behavior: None,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_remote_session_follows_the_file_and_the_growing_message() {
    let env = RuntimeTestEnv::new();
    let (host, runtime) = start_live(&env).await;
    let id = first_message(&runtime, &directory(&env)).await;
    let gate = FauxGate::new();
    let streamed = FauxResponse::text("a growing").wait_for(&gate);
    env.faux.push(streamed.then_text("reply of several words"));

    let remote = attach(&host, &env, &id, false).await;
    let (owner, copy) = (runtime.session(), remote.runtime().session());
    assert_eq!(texts(&copy), texts(&owner));
    wait_until("the owner sees the client", || {
        LiveClients::of(&owner).count() == 1
    })
    .await;
    remote.submit(&prompt_command("second")).await.unwrap();
    wait_until("the reply begins", || remote.state().live.is_some()).await;

    // A client that attaches in the middle has the same text in the end.
    let late = attach(&host, &env, &id, true).await;
    assert!(late.state().live.is_some());
    gate.open();
    for remote in [&remote, &late] {
        wait_until("the run ends", || {
            remote.state().live.is_none() && texts(&remote.runtime().session()) == texts(&owner)
        })
        .await;
    }
    let last = owner.history().messages().unwrap().pop().unwrap();
    let AgentMessage::Assistant(reply) = &*last else {
        panic!("{last:?}");
    };
    assert!(
        matches!(&reply.content[0], AssistantBlock::Text(text) if text.text.starts_with("a growing"))
    );
    assert_eq!(
        copy.history().outline().leaf,
        owner.history().outline().leaf
    );

    // Closing the copy leaves the session as it is.
    late.runtime().shutdown().await;
    drop(late);
    wait_until("one client is left", || {
        LiveClients::of(&owner).count() == 1
    })
    .await;
    runtime.shutdown().await;
    let mut status = remote.status();
    let ended = status.wait_for(|status| *status == LinkStatus::Ended);
    tokio::time::timeout(LIMIT, ended).await.unwrap().unwrap();
    assert!(directory(&env).ids().is_empty());
}

/// Replaces the content of a file that another process has open.
fn overwrite(file: &Path, text: &str) {
    let opened = fs::File::options().write(true).truncate(true).open(file);
    opened.unwrap().write_all(text.as_bytes()).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn attaching_uses_the_index_of_the_owner() {
    let env = RuntimeTestEnv::new();
    let (host, runtime) = start_live(&env).await;
    let id = first_message(&runtime, &directory(&env)).await;
    let owner = runtime.session();
    prompt(&owner, "second").await;
    let totals = owner.history().totals().unwrap();

    // A scan would skip this line.
    let file = owner.session_file().unwrap();
    let stored = fs::read_to_string(&file).unwrap();
    let asked = stored.lines().find(|line| line.contains("\"first\""));
    let damaged = asked.unwrap().replacen('{', "?", 1);
    overwrite(&file, &stored.replacen(asked.unwrap(), &damaged, 1));
    let remote = attach(&host, &env, &id, true).await;
    let copy = remote.runtime().session();
    let (read, written) = (copy.history().tree(), owner.history().tree());
    assert_eq!(format!("{read:?}"), format!("{written:?}"));
    assert_eq!(copy.history().totals().unwrap(), totals);

    // What is appended later is read from the file.
    overwrite(&file, &stored);
    prompt(&owner, "third").await;
    wait_until("the copy has the third message", || {
        texts(&copy) == texts(&owner)
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_was_just_opened_is_waited_for() {
    let env = RuntimeTestEnv::new();
    let (_host, runtime) = start_live(&env).await;
    let session = runtime.session();
    prompt(&session, "first").await;
    let id = session.session_id();
    let live = directory(&env);
    let start = id.get(..20).unwrap();
    let listed = live.list_with(start, |found| found.id == id).await;
    let ids: Vec<&str> = listed.iter().map(|found| found.id.as_str()).collect();
    assert_eq!(ids, [&id]);

    // There is nothing to wait for.
    let listed = live.list_with("absent", |found| found.id == "absent").await;
    assert_eq!(listed.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_socket_of_a_session_that_was_just_opened_is_waited_for() {
    let env = RuntimeTestEnv::new();
    let (_host, runtime) = start_live(&env).await;
    let session = runtime.session();
    prompt(&session, "first").await;
    let live = directory(&env);
    assert!(live.has_socket(&session.session_id()).await);
    assert!(!live.has_socket("absent").await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_may_only_view_changes_nothing() {
    let env = RuntimeTestEnv::new();
    let (host, runtime) = start_live(&env).await;
    let id = first_message(&runtime, &directory(&env)).await;
    let before = texts(&runtime.session());
    let remote = attach(&host, &env, &id, true).await;
    for command in [
        prompt_command("let me in"),
        Command::Abort,
        Command::SetSessionName {
            name: "mine".to_owned(),
        },
    ] {
        let refused = remote.submit(&command).await;
        assert!(
            matches!(refused, Err(RemoteError::Rejected(_))),
            "{refused:?}"
        );
    }
    assert!(remote.submit(&Command::GetState).await.is_ok());
    assert_eq!(texts(&runtime.session()), before);
    runtime.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_live_session_is_listed_and_a_stale_socket_is_removed() {
    let env = RuntimeTestEnv::new();
    let (_host, runtime) = start_live(&env).await;
    let directory = directory(&env);
    let id = first_message(&runtime, &directory).await;
    let stale = env.path("agent/live/killed.sock");
    drop(std::os::unix::net::UnixListener::bind(&stale).unwrap());
    let listed = directory.list().await;
    let [session] = &listed[..] else {
        panic!("{listed:?}");
    };
    assert_eq!(
        (session.id.as_str(), session.is_busy()),
        (id.as_str(), false)
    );
    assert_eq!(session.pid, Some(std::process::id()));
    assert_eq!(Path::new(&session.cwd), env.path("project"));
    assert!(!stale.exists());
    // A client that lists the sessions observes none of them.
    assert_eq!(session.observers, 0);
    let owner = runtime.session();
    let mut observer = owner.observe(None);
    directory.list().await;
    prompt(&owner, "second").await;
    while let Some(pi_host::Observed::Event(envelope)) = observer.next().await {
        let event = format!("{:?}", envelope.event);
        assert!(!event.starts_with("ObserversChanged"), "{event}");
        if event.starts_with("AgentSettled") {
            break;
        }
    }
    runtime.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_remote_session_follows_the_one_that_replaces_it() {
    let env = RuntimeTestEnv::new();
    let (host, runtime) = start_live(&env).await;
    let directory = directory(&env);
    let id = first_message(&runtime, &directory).await;
    let mut remote = attach(&host, &env, &id, false).await;
    for next in ["new", "fork", "resume"] {
        let first = runtime.session().session_file().unwrap();
        let mut status = remote.status();
        match next {
            "new" => {
                runtime.new_session(None).await.unwrap();
                let replaced = status.wait_for(|status| *status == LinkStatus::Replaced);
                tokio::time::timeout(LIMIT, replaced)
                    .await
                    .unwrap()
                    .unwrap();
                prompt(&runtime.session(), "in the new one").await;
            }
            "fork" => drop(runtime.clone_session().await.unwrap()),
            _ => drop(runtime.switch_session(&first).await.unwrap()),
        }
        if next == "resume" {
            // The same session again, in a new log.
            prompt(&runtime.session(), "resumed").await;
        } else {
            let succeeded = status.wait_for(|status| *status == LinkStatus::Succeeded);
            tokio::time::timeout(LIMIT, succeeded)
                .await
                .unwrap()
                .unwrap();
            remote = remote.take_successor().unwrap();
        }
        let (owner, copy) = (runtime.session(), remote.runtime().session());
        assert_eq!(copy.session_id(), owner.session_id(), "{next}");
        wait_until(next, || texts(&copy) == texts(&owner)).await;
        remote
            .submit(&prompt_command("from the guest"))
            .await
            .unwrap();
        wait_until(next, || {
            texts(&copy)
                .iter()
                .any(|text| text.contains("from the guest"))
        })
        .await;
        owner.wait_for_idle().await;
    }
    runtime.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_socket_with_a_long_path_is_in_the_runtime_directory() {
    let env = RuntimeTestEnv::new();
    let agent = env.path(&"long-name/".repeat(12));
    fs::create_dir_all(&agent).unwrap();
    let runtime_dir = env.path("run");
    fs::create_dir_all(&runtime_dir).unwrap();
    let variables = Env::fixed([
        ("HOME", env.home.path().to_str().unwrap()),
        ("XDG_RUNTIME_DIR", runtime_dir.to_str().unwrap()),
    ]);
    let options = env.options().with(|host, _| {
        host.live = true;
        host.agent_dir = AgentDir::at(&agent);
        host.env = variables.clone();
    });
    let host = Host::new(options.host);
    let runtime = host.start(options.session.clone()).await.unwrap();
    let directory = LiveDirectory::new(&agent, &variables);
    let id = first_message(&runtime, &directory).await;
    let socket = directory.find(&id).unwrap();
    assert!(socket.starts_with(runtime_dir.join("pi")), "{socket:?}");
    let remote = RemoteSession::attach(&host, options.session, &id, true).await;
    assert!(remote.is_ok(), "{:?}", remote.err());
    runtime.shutdown().await;
    assert!(!socket.exists());
    assert!(directory.ids().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_linked_socket_directory_is_not_used() {
    let env = RuntimeTestEnv::new();
    let elsewhere = env.path("elsewhere");
    fs::create_dir_all(&elsewhere).unwrap();
    fs::create_dir_all(env.path("agent")).unwrap();
    symlink(&elsewhere, env.path("agent/live")).unwrap();
    let (_host, runtime) = start_live(&env).await;
    prompt(&runtime.session(), "first").await;
    tokio::time::sleep(Duration::from_millis(200)).await;
    let found = directory(&env).find(&runtime.session().session_id());
    assert!(
        matches!(found, Err(LiveSocketError::Directory { .. })),
        "{found:?}"
    );
    let message = found.unwrap_err().to_string();
    assert!(message.contains("it is a link or a file"), "{message}");
    assert_eq!(fs::read_dir(elsewhere).unwrap().count(), 0);
    prompt(&runtime.session(), "second").await;
    runtime.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_paused_run_is_resumed_by_another_runtime_with_its_queue() {
    let env = RuntimeTestEnv::new();
    let (host, runtime) = start_live(&env).await;
    let gate = FauxGate::new();
    let call = FauxResponse::after(&gate).then_tool_call("ls", serde_json::json!({}));
    env.faux.push(call);
    let session = runtime.session();
    session.prompt(pi_host::Prompt::text("work")).await.unwrap();
    let queued = session
        .queue()
        .follow_up("queued", Vec::new(), pi_host::InputSource::Rpc);
    queued.await.unwrap();
    // The pause is requested before the model responds: a task of its own could be late.
    let mut pausing = std::pin::pin!(Handover::of(&session).pause());
    assert!(futures_util::poll!(pausing.as_mut()).is_pending());
    gate.open();
    assert!(pausing.await);
    let file = session.session_file().unwrap();
    let count = session.history().messages().unwrap().len();
    runtime.shutdown().await;
    Handover::of(&session).release();

    let mut options = env.options().session;
    options.session = pi_host::SessionChoice::Open(file);
    let next = host.start(options).await.unwrap();
    let session = next.session();
    assert_eq!(session.queue().texts().follow_up, ["queued"]);
    Handover::of(&session).resume().await.unwrap();
    session.wait_for_idle().await;
    let messages = session.history().messages().unwrap();
    let roles = messages[count..].iter().map(|message| match &**message {
        AgentMessage::Assistant(_) => "assistant",
        AgentMessage::User(_) => "user",
        _ => "other",
    });
    assert_eq!(
        roles.collect::<Vec<_>>(),
        ["assistant", "user", "assistant"]
    );
    next.shutdown().await;
}
