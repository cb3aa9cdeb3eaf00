//! Startup: from options to a session that accepts prompts.

use pi_config::SettingsStore;
use pi_host::{ModelFlags, SessionChoice, SessionChoiceError, SessionOptions, StartError};
use pi_protocol::DiagnosticLevel;
use pi_protocol::settings::Settings;
use pretty_assertions::assert_eq;
use serde_json::json;

use crate::test_env::{RuntimeTestEnv, commands_of_files, prompt};

#[tokio::test]
async fn a_new_session_is_stored_with_the_first_response() {
    let env = RuntimeTestEnv::new();
    let runtime = env
        .options()
        .with(|_, session| {
            session.name = Some(" my\nname ".to_owned());
        })
        .start()
        .await
        .unwrap();
    let session = runtime.session();
    let file = session.session_file().unwrap();
    assert!(!file.exists());
    prompt(&session, "hello").await;
    let stored = std::fs::read_to_string(&file).unwrap();
    let kinds: Vec<String> = stored
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap())
        .map(|entry| match entry["message"]["role"].as_str() {
            Some(role) => role.to_owned(),
            None => entry["type"].as_str().unwrap().to_owned(),
        })
        .collect();
    assert_eq!(
        kinds,
        [
            "session",
            "session_info",
            "model_change",
            "thinking_level_change",
            "system",
            "user",
            "assistant"
        ]
    );
    assert_eq!(session.session_name().as_deref(), Some("my name"));
    assert_eq!(session.selection().model().unwrap().id, "thinks");
    runtime.shutdown().await;
    runtime.shutdown().await;
    assert!(session.prompt(pi_host::Prompt::text("late")).await.is_err());
}

#[tokio::test]
async fn the_next_start_restores_the_last_choices() {
    let env = RuntimeTestEnv::new();
    let flags = ModelFlags {
        model: Some("plain".to_owned()),
        ..ModelFlags::default()
    };
    let first = env
        .options()
        .with(|_, session| {
            session.models = flags;
        })
        .start()
        .await
        .unwrap();
    prompt(&first.session(), "hello").await;
    let id = first.session().session_id();
    first.shutdown().await;
    drop(first);

    let again = env
        .options()
        .with(|_, session| {
            session.session = SessionChoice::ContinueRecent;
        })
        .start()
        .await
        .unwrap();
    let session = again.session();
    assert_eq!(session.session_id(), id);
    assert_eq!(session.selection().model().unwrap().id, "plain");
    assert_eq!(session.history().messages().unwrap().len(), 3);
    assert_eq!(again.model_fallback(), None);
}

#[tokio::test]
async fn startup_errors_are_specific() {
    let env = RuntimeTestEnv::new();
    let start = |change: fn(&mut SessionOptions)| env.options().with(|_, it| change(it)).start();
    let blank = start(|it| it.name = Some(" \n".to_owned())).await;
    assert!(matches!(blank, Err(StartError::BlankName)));

    let unknown = start(|it| it.models.model = Some("nothing-like-it".to_owned())).await;
    let unknown = unknown.unwrap_err();
    assert!(unknown.to_string().contains("nothing-like-it"), "{unknown}");
    assert!(!unknown.hints().is_empty());

    let missing = start(|it| it.session = SessionChoice::Named("missing".to_owned())).await;
    assert!(matches!(
        missing,
        Err(StartError::Choice(SessionChoiceError::NotFound(_)))
    ));

    env.home.write("project/notes.jsonl", "no session\n");
    let notes = start(|it| it.session = SessionChoice::Named("notes.jsonl".to_owned())).await;
    assert!(notes.unwrap_err().to_string().contains("notes.jsonl"));
    assert_eq!(env.home.read("project/notes.jsonl"), "no session\n");
}

#[tokio::test]
async fn a_session_with_a_missing_directory_needs_another() {
    let env = RuntimeTestEnv::new();
    let header = json!({"type": "session", "version": 3, "id": "gone",
        "timestamp": "2025-01-01T00:00:00.000Z", "cwd": "/nowhere/at/all"});
    env.home.write("project/t.jsonl", format!("{header}\n"));
    let named = || {
        env.options().with(|_, session| {
            session.session = SessionChoice::Named("t.jsonl".to_owned());
        })
    };
    let error = named().start().await.unwrap_err();
    assert!(matches!(&error, StartError::MissingCwd { .. }), "{error}");
    assert!(error.to_string().contains("/nowhere/at/all"));
    let moved = named()
        .with(|_, session| {
            session.cwd_override = Some(env.path("project"));
        })
        .start()
        .await
        .unwrap();
    assert_eq!(moved.session().cwd(), env.path("project"));
}

#[tokio::test]
async fn invalid_user_files_are_reported() {
    let env = RuntimeTestEnv::new();
    env.home.write("agent/models.json", "{ nope");
    env.home.write("agent/settings.json", "{ nope");
    let runtime = env.plain_options().start().await.unwrap();
    let diagnostics = runtime.diagnostics();
    for file in ["models.json", "settings.json"] {
        let diagnostics = diagnostics
            .iter()
            .find(|it| format!("{it:?}").contains(file));
        assert!(
            diagnostics.is_some_and(|it| it.level >= DiagnosticLevel::Warning),
            "{file}"
        );
    }
    assert_eq!(runtime.session().selection().model(), None);
    let refused = runtime.session().prompt(pi_host::Prompt::text("hi")).await;
    assert!(refused.is_err());
    assert_eq!(env.home.read("agent/settings.json"), "{ nope");
}

#[cfg(unix)]
#[tokio::test]
async fn the_credentials_file_is_private() {
    use std::os::unix::fs::PermissionsExt as _;
    let env = RuntimeTestEnv::new();
    env.plain_options().start().await.unwrap();
    assert_eq!(env.home.read("agent/auth.json"), "{}");
    let mode = std::fs::metadata(env.path("agent/auth.json")).unwrap();
    assert_eq!(mode.permissions().mode() & 0o777, 0o600);
}

#[tokio::test]
async fn an_api_key_flag_is_used_and_never_stored() {
    let env = RuntimeTestEnv::new();
    let flags = ModelFlags {
        model: Some("groq/openai/gpt-oss-120b".to_owned()),
        api_key: Some("sk-only-now".into()),
        ..ModelFlags::default()
    };
    let runtime = env
        .plain_options()
        .with(|_, session| {
            session.models = flags;
        })
        .start()
        .await
        .unwrap();
    assert!(runtime.workspace().models.is_authenticated("groq"));
    assert_eq!(env.home.read("agent/auth.json"), "{}");
    let replaced = runtime.new_session(None).await.unwrap();
    assert!(!replaced.cancelled);
    assert!(runtime.workspace().models.is_authenticated("groq"));
    assert_eq!(
        runtime.session().selection().model().unwrap().provider,
        "groq"
    );
}

#[tokio::test]
async fn everything_can_be_in_memory() {
    let env = RuntimeTestEnv::new();
    let settings: Settings =
        serde_json::from_value(json!({"defaultProvider": "faux", "defaultModel": "plain"}))
            .unwrap();
    let runtime = env
        .options()
        .with(|host, session| {
            host.settings = Some(SettingsStore::in_memory(settings));
            session.session = SessionChoice::InMemory { id: None };
        })
        .start()
        .await
        .unwrap();
    let session = runtime.session();
    prompt(&session, "hello").await;
    assert_eq!(session.selection().model().unwrap().id, "plain");
    assert_eq!(session.session_file(), None);
    assert!(!env.path("agent/sessions").exists());
}

#[tokio::test]
async fn commands_list_templates_and_skills() {
    let env = RuntimeTestEnv::new();
    env.home
        .write("agent/prompts/plain.md", "First line.\nMore.\n");
    let skill = "---\nname: pdf\ndescription: Work with PDF files.\n---\nBody.\n";
    env.home.write("agent/skills/pdf/SKILL.md", skill);
    let runtime = env.options().start().await.unwrap();
    let agent = env.path("agent");
    let commands = serde_json::to_value(commands_of_files(&runtime)).unwrap();
    assert_eq!(
        commands,
        json!([
            {"name": "plain", "description": "First line.", "source": "prompt", "sourceInfo": {
                "path": agent.join("prompts/plain.md"), "source": "auto", "scope": "user",
                "origin": "top-level", "baseDir": agent}},
            {"name": "skill:pdf", "description": "Work with PDF files.", "source": "skill",
                "sourceInfo": {"path": agent.join("skills/pdf/SKILL.md"), "source": "auto",
                    "scope": "user", "origin": "top-level", "baseDir": agent}},
        ])
    );
    prompt(&runtime.session(), "/plain").await;
    let request = env.faux.last_request().unwrap();
    let sent = format!("{:?}", request.messages);
    assert!(sent.contains("First line."), "{sent}");
}

#[tokio::test]
async fn shell_commands_get_the_process_marks_and_session_variables() {
    let env = RuntimeTestEnv::new();
    let runtime = env
        .options()
        .with(|host, _| {
            host.offline = true;
        })
        .start()
        .await
        .unwrap();
    let session = runtime.session();
    let shown = "echo $AI_AGENT $PI_CODING_AGENT $PI_OFFLINE $PI_SESSION_ID $PI_PROVIDER/$PI_MODEL";
    let call = pi_providers::FauxResponse::tool_call("bash", json!({"command": shown}));
    env.faux.push(call);
    prompt(&session, "go").await;
    let messages = format!("{:?}", session.history().messages().unwrap());
    let id = session.session_id();
    assert!(
        messages.contains(&format!("pi true 1 {id} faux/thinks")),
        "{messages}"
    );
    assert!(std::env::var_os("AI_AGENT").is_none_or(|value| value != "pi"));
}
