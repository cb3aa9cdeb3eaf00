//! Replacing the current session.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;
use pi_host::{
    LifecycleHook, ModelFlags, Observed, Participants, Prompt, ReplaceError, SessionChoice,
    SessionRuntime, SessionShutdown, SessionStart, SessionSwitch, TrustFlag,
};
use pi_protocol::EntryId;
use pi_providers::{Models, ProviderLayer, Registration};
use pi_session::ForkPosition;
use pretty_assertions::assert_eq;
use serde_json::json;

use crate::test_env::{RuntimeTestEnv, commands_of_files, prompt};

async fn started(env: &RuntimeTestEnv) -> SessionRuntime {
    env.options().start().await.unwrap()
}

/// Returns the entries before which the session can be forked.
fn user_entries(runtime: &SessionRuntime) -> Vec<EntryId> {
    runtime
        .session()
        .history()
        .with_session(|session| session.current_branch().entries())
        .unwrap()
        .iter()
        .filter(|entry| {
            let entry = serde_json::to_value(entry).unwrap();
            entry["message"]["role"] == "user"
        })
        .map(|entry| entry.id.clone())
        .collect()
}

#[tokio::test]
async fn a_new_session_closes_the_old_one_and_notifies_front_ends() {
    let env = RuntimeTestEnv::new();
    let runtime = started(&env).await;
    let mut sessions = runtime.sessions();
    let old = runtime.session();
    prompt(&old, "one").await;
    let mut observer = old.observe(None);
    let old_file = old.session_file().unwrap();
    let parent = Some(old_file.clone());
    assert!(!runtime.new_session(parent).await.unwrap().cancelled);
    assert!(sessions.has_changed().unwrap());
    let new = sessions.borrow_and_update().clone();
    assert_ne!(new.session_id(), old.session_id());
    let Some(Observed::Event(last)) = observer.next().await else {
        panic!("an observer of the old session learns that it was replaced");
    };
    assert_eq!(
        serde_json::to_value(&last.event).unwrap(),
        json!({"type": "session_replaced", "session": new.session_id(), "reason": "new"})
    );
    assert!(observer.next().await.is_none());
    assert!(new.history().messages().unwrap().is_empty());
    let header = new
        .history()
        .with_session(|session| session.header().clone());
    assert_eq!(header.parent_session.as_deref(), old_file.to_str());
    assert!(old.prompt(Prompt::text("again")).await.is_err());
    prompt(&new, "two").await;
    assert_eq!(
        new.session_file().unwrap().parent(),
        old_file.parent(),
        "new sessions use the directory of the old one"
    );
}

#[tokio::test]
async fn switching_continues_in_the_other_file_even_if_it_is_the_same() {
    let env = RuntimeTestEnv::new();
    let runtime = started(&env).await;
    prompt(&runtime.session(), "one").await;
    let first = runtime.session().session_file().unwrap();
    runtime.new_session(None).await.unwrap();
    prompt(&runtime.session(), "two").await;

    runtime.switch_session(&first).await.unwrap();
    assert_eq!(runtime.session().session_file(), Some(first.clone()));
    prompt(&runtime.session(), "three").await;
    assert_eq!(user_entries(&runtime).len(), 2);

    // Its own file: the old session's lock must be released.
    runtime.switch_session(&first).await.unwrap();
    assert!(
        runtime.diagnostics().is_empty(),
        "{:?}",
        runtime.diagnostics()
    );
    prompt(&runtime.session(), "four").await;
    assert_eq!(user_entries(&runtime).len(), 3);
}

#[tokio::test]
async fn a_session_that_cannot_be_opened_leaves_the_current_one_unchanged() {
    let env = RuntimeTestEnv::new();
    let runtime = started(&env).await;
    prompt(&runtime.session(), "one").await;
    let id = runtime.session().session_id();
    let notes = env.home.write("project/notes.jsonl", "not json\n");
    let header = json!({"type": "session", "version": 3, "id": "gone",
        "timestamp": "2025-01-01T00:00:00.000Z", "cwd": "/nowhere/at/all"});
    let gone = env.home.write("project/gone.jsonl", format!("{header}\n"));
    assert!(runtime.switch_session(&notes).await.is_err());
    let missing = runtime.switch_session(&gone).await;
    assert!(matches!(missing, Err(ReplaceError::MissingCwd { .. })));
    let nothing = runtime.import(&env.path("project/no.jsonl"), None).await;
    assert!(matches!(nothing, Err(ReplaceError::MissingFile(_))));
    assert!(
        runtime
            .fork(&EntryId::from("nope"), ForkPosition::At)
            .await
            .is_err()
    );
    assert_eq!(runtime.session().session_id(), id);
    prompt(&runtime.session(), "still here").await;
}

/// A runtime with `--model`, and the models, of which the chosen one can be removed.
async fn started_with_model(env: &RuntimeTestEnv) -> (SessionRuntime, Models) {
    let options = env.options().with(|_, session| {
        session.models = ModelFlags {
            model: Some("faux/plain".to_owned()),
            ..ModelFlags::default()
        };
    });
    let models = options.host.model_collection.clone().unwrap();
    (options.start().await.unwrap(), models)
}

/// Tries to start a session while its model is not available.
async fn fail_to_replace(runtime: &SessionRuntime, models: &Models, env: &RuntimeTestEnv) {
    models.unregister("faux", ProviderLayer::Provider);
    let failed = runtime.new_session(None).await;
    assert!(
        matches!(failed, Err(ReplaceError::NotStarted(_))),
        "{failed:?}"
    );
    let faux = Arc::clone(&env.faux);
    let faux = Registration::Provider(faux);
    models.register("faux", faux).unwrap();
}

#[tokio::test]
async fn a_session_that_cannot_be_started_leaves_the_current_one_usable() {
    let env = RuntimeTestEnv::new();
    let (runtime, models) = started_with_model(&env).await;
    prompt(&runtime.session(), "one").await;
    let id = runtime.session().session_id();
    let file = runtime.session().session_file().unwrap();

    fail_to_replace(&runtime, &models, &env).await;

    assert_eq!(runtime.session().session_id(), id);
    prompt(&runtime.session(), "two").await;
    assert_eq!(user_entries(&runtime).len(), 2);
    let stored = std::fs::read_to_string(&file).unwrap();
    assert!(stored.contains("\"two\""), "{stored}");
}

#[tokio::test]
async fn a_new_session_after_a_failed_replacement_is_stored() {
    let env = RuntimeTestEnv::new();
    let (runtime, models) = started_with_model(&env).await;
    prompt(&runtime.session(), "one").await;
    let file = runtime.session().session_file().unwrap();

    fail_to_replace(&runtime, &models, &env).await;
    runtime.new_session(None).await.unwrap();

    prompt(&runtime.session(), "two").await;
    let next = runtime.session().session_file().unwrap();
    assert_ne!(next, file);
    assert_eq!(next.parent(), file.parent());
    let stored = std::fs::read_to_string(&next).unwrap();
    assert!(stored.contains("\"two\""), "{stored}");
}

#[tokio::test]
async fn a_fork_returns_the_message_for_the_editor_and_a_clone_copies_everything() {
    let env = RuntimeTestEnv::new();
    let runtime = started(&env).await;
    prompt(&runtime.session(), "one").await;
    prompt(&runtime.session(), "two").await;
    let source = runtime.session().session_file().unwrap();
    let second = user_entries(&runtime)[1].clone();

    let forked = runtime.fork(&second, ForkPosition::Before).await.unwrap();
    assert_eq!(forked.selected_text.as_deref(), Some("two"));
    assert_eq!(user_entries(&runtime).len(), 1);
    let header = runtime
        .session()
        .history()
        .with_session(|it| it.header().clone());
    assert_eq!(header.parent_session.as_deref(), source.to_str());

    runtime.switch_session(&source).await.unwrap();
    runtime.clone_session().await.unwrap();
    assert_eq!(user_entries(&runtime).len(), 2);
    assert_ne!(runtime.session().session_file(), Some(source));

    let first = user_entries(&runtime)[0].clone();
    let forked = runtime.fork(&first, ForkPosition::Before).await.unwrap();
    assert_eq!(forked.selected_text.as_deref(), Some("one"));
    assert!(user_entries(&runtime).is_empty());
}

#[tokio::test]
async fn in_memory_sessions_can_be_replaced() {
    let env = RuntimeTestEnv::new();
    let runtime = env
        .options()
        .with(|_, session| {
            session.session = SessionChoice::InMemory { id: None };
        })
        .start()
        .await
        .unwrap();
    prompt(&runtime.session(), "one").await;
    runtime.clone_session().await.unwrap();
    assert_eq!(user_entries(&runtime).len(), 1);
    runtime.reload().await.unwrap();
    assert_eq!(user_entries(&runtime).len(), 1);
    runtime.new_session(None).await.unwrap();
    assert!(user_entries(&runtime).is_empty());
    assert!(!env.path("agent/sessions").exists());
}

#[tokio::test]
async fn an_import_copies_the_file_into_the_session_directory() {
    let env = RuntimeTestEnv::new();
    let runtime = started(&env).await;
    prompt(&runtime.session(), "one").await;
    let stored = runtime.session().session_file().unwrap();
    let content = std::fs::read(&stored).unwrap();
    let external = env.home.write("elsewhere/copy.jsonl", &content);
    runtime.import(&external, None).await.unwrap();
    let imported = runtime.session().session_file().unwrap();
    assert_eq!(imported, stored.with_file_name("copy.jsonl"));
    prompt(&runtime.session(), "two").await;
    assert_eq!(std::fs::read(&external).unwrap(), content);
}

#[tokio::test]
async fn everything_bound_to_a_directory_follows_the_session() {
    let env = RuntimeTestEnv::new();
    env.home
        .write("other/.pi/settings.json", r#"{"defaultTools": ["read"]}"#);
    env.home.write("other/AGENTS.md", "be kind");
    let trusted = json!({ env.path("other").to_str().unwrap(): true });
    env.home.write("agent/trust.json", trusted.to_string());
    let there = env
        .options()
        .with(|_, session| {
            session.cwd = env.path("other");
        })
        .start()
        .await
        .unwrap();
    prompt(&there.session(), "one").await;
    let file = there.session().session_file().unwrap();
    there.shutdown().await;
    drop(there);

    let runtime = env.options().start().await.unwrap();
    assert_eq!(runtime.session().tools().active_names().len(), 4);
    runtime.switch_session(&file).await.unwrap();
    assert_eq!(runtime.session().cwd(), env.path("other"));
    assert_eq!(runtime.session().tools().active_names(), ["read"]);
    assert_eq!(runtime.workspace().resources.context_files.len(), 1);
}

#[tokio::test]
async fn approval_for_a_run_does_not_follow_the_session_elsewhere() {
    let env = RuntimeTestEnv::new();
    env.home
        .write("other/.pi/settings.json", r#"{"defaultTools": ["read"]}"#);
    let elsewhere = env.options().with(|_, session| {
        session.cwd = env.path("other");
    });
    let there = elsewhere.start().await.unwrap();
    prompt(&there.session(), "one").await;
    let file = there.session().session_file().unwrap();
    there.shutdown().await;
    drop(there);

    let approved = env.options().with(|host, session| {
        host.trust = Some(TrustFlag::new(true, &session.cwd));
    });
    let runtime = approved.clone().start().await.unwrap();
    assert!(runtime.workspace().project.is_trusted());
    runtime.switch_session(&file).await.unwrap();
    assert!(!runtime.workspace().project.is_trusted());
    assert_eq!(runtime.session().tools().active_names().len(), 4);
    runtime.shutdown().await;
    drop(runtime);

    let opened = approved.with(|_, session| session.session = SessionChoice::Open(file));
    let runtime = opened.start().await.unwrap();
    assert_eq!(runtime.session().cwd(), env.path("other"));
    assert!(!runtime.workspace().project.is_trusted());
}

#[tokio::test]
async fn a_reload_rereads_everything_and_keeps_the_conversation() {
    let env = RuntimeTestEnv::new();
    let runtime = started(&env).await;
    let session = runtime.session();
    prompt(&session, "one").await;
    session.tools().set_active(&["ls".to_owned()]);
    let id = session.session_id();
    env.home.write("agent/prompts/new.md", "New one.\n");
    env.home
        .write("agent/settings.json", r#"{"steeringMode": "all"}"#);
    runtime.reload().await.unwrap();
    let after = runtime.session();
    assert_eq!(after.session_id(), id);
    assert_eq!(after.tools().active_names(), ["ls"]);
    assert_eq!(commands_of_files(&runtime).len(), 1);
    prompt(&after, "two").await;
    assert_eq!(user_entries(&runtime).len(), 2);
    assert!(session.prompt(Prompt::text("late")).await.is_err());
}

#[tokio::test]
async fn a_reload_of_an_empty_session_appends_nothing() {
    let env = RuntimeTestEnv::new();
    let runtime = started(&env).await;
    let entries = |runtime: &SessionRuntime| {
        runtime
            .session()
            .history()
            .entries_since(None)
            .unwrap()
            .entries
            .len()
    };
    let before = entries(&runtime);
    assert!(before > 0);
    runtime.reload().await.unwrap();
    runtime.reload().await.unwrap();
    assert_eq!(entries(&runtime), before);
}

/// Logs its calls and vetoes on request.
#[derive(Default)]
struct RecordingHooks {
    calls: Mutex<Vec<String>>,
    vetoes: Mutex<bool>,
}

impl RecordingHooks {
    fn note(&self, what: String) {
        self.calls.lock().unwrap().push(what);
    }

    fn name(path: Option<&PathBuf>) -> &'static str {
        if path.is_some() { "file" } else { "none" }
    }
}

impl LifecycleHook for RecordingHooks {
    fn session_start(&self, start: SessionStart) -> BoxFuture<'_, ()> {
        let previous = Self::name(start.previous_session_file.as_ref());
        self.note(format!("start {:?} after {previous}", start.reason));
        Box::pin(std::future::ready(()))
    }

    fn before_switch(&self, switch: SessionSwitch) -> BoxFuture<'_, bool> {
        let target = Self::name(switch.target_session_file.as_ref());
        self.note(format!("before {:?} to {target}", switch.reason));
        Box::pin(std::future::ready(!*self.vetoes.lock().unwrap()))
    }

    fn before_fork<'a>(
        &'a self,
        _entry: &'a EntryId,
        position: ForkPosition,
    ) -> BoxFuture<'a, bool> {
        self.note(format!("before fork {position:?}"));
        Box::pin(std::future::ready(!*self.vetoes.lock().unwrap()))
    }

    fn session_shutdown(&self, shutdown: SessionShutdown) -> BoxFuture<'_, ()> {
        let target = Self::name(shutdown.target_session_file.as_ref());
        self.note(format!("end for {:?} to {target}", shutdown.next));
        Box::pin(std::future::ready(()))
    }
}

#[tokio::test]
async fn hooks_see_every_step_and_may_veto() {
    let env = RuntimeTestEnv::new();
    let recording = Arc::new(RecordingHooks::default());
    let participants = Participants::builder().lifecycle(Arc::clone(&recording));
    let runtime = env
        .options()
        .with(|_, session| session.participants = Arc::new(participants.build()))
        .start()
        .await
        .unwrap();
    prompt(&runtime.session(), "one").await;
    runtime.new_session(None).await.unwrap();
    prompt(&runtime.session(), "two").await;
    *recording.vetoes.lock().unwrap() = true;
    let id = runtime.session().session_id();
    assert!(runtime.new_session(None).await.unwrap().cancelled);
    assert!(runtime.clone_session().await.unwrap().cancelled);
    assert_eq!(runtime.session().session_id(), id);
    runtime.shutdown().await;
    assert!(matches!(
        runtime.new_session(None).await,
        Err(ReplaceError::Ended)
    ));
    assert_eq!(
        *recording.calls.lock().unwrap(),
        [
            "start Startup after none",
            "before New to none",
            "end for Some(New) to file",
            "start New after file",
            "before New to none",
            "before fork At",
            "end for None to none",
        ]
    );
}

#[tokio::test]
async fn a_run_in_progress_is_ended_and_stored_before_the_next_session() {
    let env = RuntimeTestEnv::new();
    let runtime = started(&env).await;
    let old = runtime.session();
    prompt(&old, "one").await;
    let file = old.session_file().unwrap();
    env.faux.push(pi_providers::FauxResponse::stall());
    old.prompt(Prompt::text("two")).await.unwrap();
    runtime.new_session(None).await.unwrap();
    assert!(old.is_idle());
    let stored = std::fs::read_to_string(file).unwrap();
    assert!(stored.contains("\"aborted\""), "{stored}");
}
