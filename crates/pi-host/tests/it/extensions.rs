//! Extensions in a session: the API works, and their results take effect.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD as BASE64;
use futures_util::future::BoxFuture;
use pi_auth::{LoginInteraction, OAuthContext, OAuthError};
use pi_config::ResourceFlags;
use pi_host::{
    BashRequest, ExtensionFailure, ExtensionMode, ExtensionOptions, ExtensionUi, InputHook,
    InputVerdict, LifecycleHook, Participants, Persist, SessionRuntime, SessionShutdown,
    StartNotification, UserInput,
};
use pi_http::HttpClient;
use pi_protocol::{LoginEvent, LoginPrompt, Modality};
use pi_providers::{FauxModel, FauxProvider, FauxResponse};
use pretty_assertions::assert_eq;
use secrecy::ExposeSecret as _;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::test_env::{RuntimeTestEnv, TestOptions, prompt};

/// A front end that records failures.
#[derive(Default)]
struct RecordedFailures(Mutex<Vec<ExtensionFailure>>);

impl ExtensionUi for RecordedFailures {
    fn mode(&self) -> ExtensionMode {
        ExtensionMode::Print
    }

    fn report_failure(&self, failure: ExtensionFailure) -> BoxFuture<'static, ()> {
        self.0.lock().unwrap().push(failure);
        Box::pin(std::future::ready(()))
    }
}

/// A session with extensions, and the file they write results to.
struct ExtensionHarness {
    env: RuntimeTestEnv,
    runtime: SessionRuntime,
    failures: Arc<RecordedFailures>,
}

impl ExtensionHarness {
    async fn new(files: &[(&str, &str)]) -> Self {
        Self::with(RuntimeTestEnv::new(), files, |options| options).await
    }

    async fn with(
        env: RuntimeTestEnv,
        files: &[(&str, &str)],
        change: impl FnOnce(TestOptions) -> TestOptions,
    ) -> Self {
        let paths = files.iter().map(|(name, source)| {
            let file = env.home.write(&format!("extensions/{name}"), source);
            file.to_string_lossy().into_owned()
        });
        let failures = Arc::new(RecordedFailures::default());
        let options = env.options().with(|_, session| {
            session.resources = ResourceFlags {
                extensions: paths.collect(),
                ..ResourceFlags::default()
            };
            session.extensions = ExtensionOptions {
                ui: Arc::clone(&failures) as _,
                ..ExtensionOptions::default()
            };
        });
        let runtime = change(options).start().await.unwrap();
        assert_eq!(runtime.diagnostics(), []);
        Self {
            env,
            runtime,
            failures,
        }
    }

    /// Runs a command of an extension and returns the results it wrote.
    async fn run(&self, command: &str) -> Value {
        prompt(&self.runtime.session(), command).await;
        assert_eq!(*self.failures.0.lock().unwrap(), []);
        self.written()
    }

    fn written(&self) -> Value {
        let file = self.result_file();
        let written = std::fs::read(&file).unwrap_or_else(|_| b"null".to_vec());
        serde_json::from_slice(&written).unwrap()
    }

    fn result_file(&self) -> PathBuf {
        self.env.path("project/results.json")
    }
}

#[tokio::test]
async fn built_in_tools_run_with_an_extensions_operations() {
    let harness = ExtensionHarness::new(&[("tools.ts", include_str!("extensions/tools.ts"))]).await;
    let results = harness.run("/go").await;
    let expected: Value = serde_json::from_str(include_str!("extensions/tools.json")).unwrap();
    for (case, expected) in expected.as_object().unwrap() {
        assert_eq!(results[case], *expected, "{case}");
    }
    let request = BashRequest {
        command: "remote".to_owned(),
        ..BashRequest::default()
    };
    let ran = harness
        .runtime
        .session()
        .user_commands()
        .run(request)
        .await
        .unwrap();
    assert_eq!(
        (ran.output.as_str(), ran.exit_code),
        ("far away remote", Some(7))
    );
}

#[tokio::test]
async fn a_tool_prepares_its_arguments_before_validation() {
    let harness = ExtensionHarness::new(&[(
        "prepare_arguments.ts",
        include_str!("extensions/prepare_arguments.ts"),
    )])
    .await;
    harness.env.faux.extend([
        FauxResponse::tool_call("count", json!({"to": "three"})),
        FauxResponse::text("done"),
    ]);
    prompt(&harness.runtime.session(), "count").await;
    assert_eq!(harness.written(), json!({"to": 3}));
}

#[tokio::test]
async fn extensions_call_models_with_and_without_streaming() {
    let harness =
        ExtensionHarness::new(&[("models.ts", include_str!("extensions/models.ts"))]).await;
    harness.env.faux.extend([
        FauxResponse::text("first answer"),
        FauxResponse::text("second answer"),
        FauxResponse::text("## Goal\nA summary"),
    ]);
    let results = harness.run("/go").await;
    assert_eq!(results["complete"], json!(["first answer", "stop"]));
    assert_eq!(results["streamed"], "second answer");
    assert_eq!(
        results["types"],
        json!(["start", "text_start", "text_end", "done"])
    );
    assert_eq!(results["partial"], "second answer");
    assert_eq!(results["found"], "faux/thinks");
    assert_eq!(results["auth"], json!({"ok": true, "headers": {}}));
    let summary = results["compacted"].as_str().unwrap();
    assert!(summary.starts_with("## Goal\nA summary"), "{summary}");
}

#[tokio::test]
async fn an_extension_runs_its_own_agent() {
    let harness = ExtensionHarness::new(&[("agent.ts", include_str!("extensions/agent.ts"))]).await;
    harness.env.faux.extend([
        FauxResponse::tool_call("lookup", json!({"what": "x"})),
        FauxResponse::text("the answer"),
        FauxResponse::text("from the loop"),
    ]);
    let results = harness.run("/go").await;
    assert_eq!(results["text"], "the answer");
    assert_eq!(results["called"], json!([{"what": "x"}]));
    assert_eq!(results["tools"], json!(["lookup"]));
    assert_eq!(
        results["roles"],
        json!(["user", "assistant", "toolResult", "assistant"])
    );
    let events = results["events"].as_array().unwrap();
    for event in [
        "agent_start",
        "tool_execution_end",
        "agent_end",
        "agent_settled",
    ] {
        assert!(
            events.contains(&event.into()),
            "{event} is not in {events:?}"
        );
    }
    assert_eq!(results["file"], Value::Null);
    assert_eq!(results["loop"], "from the loop");
    // The main session is not affected.
    let session = harness.runtime.session();
    assert_eq!(session.history().messages().unwrap().len(), 0);
}

#[tokio::test]
async fn extensions_open_read_and_write_other_sessions() {
    let harness =
        ExtensionHarness::new(&[("sessions.ts", include_str!("extensions/sessions.ts"))]).await;
    let results = harness.run("/go").await;
    assert_eq!(results["context"], json!(["hello", "hi"]));
    assert_eq!(results["name"], "named");
    assert_eq!(results["label"], "mark");
    assert_eq!(results["afterBranch"], json!(["hello"]));
    assert_eq!(results["listed"], json!([["named", 2, "hello"]]));
    assert_eq!(results["reopened"], json!(["hello", "hi"]));
    assert_eq!(results["memoryFile"], Value::Null);
    assert_eq!(results["custom"], json!({"n": 1}));
}

/// Responds to every prompt with the same word, and records notices.
#[derive(Default)]
struct FixedLogin(Mutex<Vec<LoginEvent>>);

impl LoginInteraction for FixedLogin {
    fn prompt(&self, prompt: LoginPrompt) -> BoxFuture<'_, Result<String, OAuthError>> {
        let answer = match prompt {
            LoginPrompt::Select { choices, .. } => choices[1].id.clone(),
            _ => "typed".to_owned(),
        };
        Box::pin(std::future::ready(Ok(answer)))
    }

    fn notify(&self, event: LoginEvent) {
        self.0.lock().unwrap().push(event);
    }
}

#[tokio::test]
async fn a_provider_of_an_extension_supports_sign_in() {
    let harness =
        ExtensionHarness::new(&[("sign_in.ts", include_str!("extensions/sign_in.ts"))]).await;
    let models = harness.runtime.workspace().models.clone();
    let auth = models.provider("corp").unwrap().auth().unwrap();
    let flow = auth.oauth.unwrap();
    assert_eq!(flow.name(), "Corporate");
    let context = OAuthContext {
        http: HttpClient::new(),
        env: harness.env.env(),
        device_id: None,
    };
    let person = FixedLogin::default();
    let cancel = CancellationToken::new();
    let credential = flow.login(&context, &person, &cancel).await.unwrap();
    let shown = person.0.into_inner().unwrap();
    assert!(
        matches!(&shown[0], LoginEvent::AuthUrl { url, .. } if url == "https://corp.example/login")
    );
    assert!(matches!(&shown[1], LoginEvent::Progress { message } if message == "typed, second"));
    let LoginEvent::DeviceCode { on_confirm, .. } = &shown[2] else {
        panic!("{shown:?}");
    };
    assert_eq!(
        (on_confirm.open_browser, on_confirm.copy_code),
        (true, false)
    );
    assert_eq!(credential.access.expose_secret(), "a1");
    let key = |credential: &_| {
        let auth = flow.request_auth(credential);
        auth.api_key.unwrap().expose_secret().to_owned()
    };
    assert_eq!(key(&credential), r#"{"token":"a1","region":"eu"}"#);
    let renewed = flow.refresh(&credential, &context).await.unwrap();
    assert_eq!(key(&renewed), r#"{"token":"a2","region":"eu"}"#);
}

#[tokio::test]
async fn user_extensions_decide_about_project_trust() {
    for (vote, remembered) in [("yes", false), ("no", true)] {
        let env = RuntimeTestEnv::new();
        env.home
            .write("project/.pi/settings.json", r#"{"defaultModel": "plain"}"#);
        env.home.write(
            "project/.pi/extensions/evil.ts",
            "export default () => { throw new Error('obeyed'); }",
        );
        let trusts = format!(
            "export default (pi) => pi.on('project_trust', (event, ctx) => ({{
                trusted: event.cwd.endsWith('project') && !ctx.sessionManager ? '{vote}' : 'undecided', remember: {remembered} }}));"
        );
        let extension = env.home.write("extensions/trusts.js", &trusts);
        let options = env.options().with(|_, session| {
            session.resources = ResourceFlags {
                extensions: vec![extension.to_string_lossy().into_owned()],
                ..ResourceFlags::default()
            };
        });
        let runtime = options.start().await.unwrap();
        assert_eq!(runtime.workspace().project.is_trusted(), vote == "yes");
        let obeyed = runtime
            .diagnostics()
            .iter()
            .any(|it| it.message.contains("obeyed"));
        assert_eq!(obeyed, vote == "yes", "only trusted extensions run");
        assert_eq!(env.path("agent/trust.json").exists(), remembered);
    }
}

#[tokio::test]
async fn resources_found_by_extensions_are_added_to_the_session() {
    let env = RuntimeTestEnv::new();
    let skill = "---\nname: digging\ndescription: How to dig\n---\nDig.";
    env.home.write("found/skills/digging/SKILL.md", skill);
    env.home.write("found/prompts/greet.md", "Say hello to $1");
    let found = env.path("found").to_string_lossy().into_owned();
    let source = format!(
        "export default (pi) => pi.on('resources_discover', () => ({{
            skillPaths: ['{found}/skills'], promptPaths: ['{found}/prompts'] }}));"
    );
    let harness = ExtensionHarness::with(env, &[("finds.js", &source)], |options| options).await;
    let session = harness.runtime.session();
    assert!(session.tools().system_prompt().contains("How to dig"));
    let commands = harness.runtime.commands();
    let names: Vec<&str> = commands
        .iter()
        .map(|command| command.name.as_str())
        .collect();
    assert!(
        names.contains(&"skill:digging") && names.contains(&"greet"),
        "{names:?}"
    );
    prompt(&session, "/greet Ann").await;
    let request = harness.env.faux.last_request().unwrap();
    let sent = serde_json::to_string(&*request.messages).unwrap();
    assert!(sent.contains("Say hello to Ann"), "{sent}");
}

/// Appends a word to the input.
struct AppendWord;

impl InputHook for AppendWord {
    fn input(&self, input: UserInput) -> BoxFuture<'_, InputVerdict> {
        Box::pin(std::future::ready(InputVerdict::Replace {
            text: format!("{} program", input.text),
            images: None,
        }))
    }
}

#[tokio::test]
async fn hooks_of_the_program_run_after_extensions() {
    let source = "export default (pi) => pi.on('input', (event) => ({ action: 'transform', text: event.text + ' extension' }));";
    let harness =
        ExtensionHarness::with(RuntimeTestEnv::new(), &[("adds.js", source)], |options| {
            options.with(|_, session| {
                let participants = Participants::builder().input(Arc::new(AppendWord));
                session.participants = Arc::new(participants.build());
            })
        })
        .await;
    prompt(&harness.runtime.session(), "typed").await;
    let request = harness.env.faux.last_request().unwrap();
    let sent = serde_json::to_string(&*request.messages).unwrap();
    assert!(sent.contains("typed extension program"), "{sent}");
}

#[tokio::test]
async fn a_hanging_extension_does_not_affect_others() {
    let hangs = "export default (pi) => pi.on('input', () => { for (;;); });";
    let appends = "export default (pi) => pi.on('input', (event) => ({ action: 'transform', text: event.text + '!' }));";
    let harness =
        ExtensionHarness::new(&[("a.js", appends), ("b.js", hangs), ("c.js", appends)]).await;
    prompt(&harness.runtime.session(), "typed").await;
    let request = harness.env.faux.last_request().unwrap();
    let sent = serde_json::to_string(&*request.messages).unwrap();
    assert!(sent.contains("typed!!"), "{sent}");
    let failures = harness.failures.0.lock().unwrap();
    let errors = failures.iter().filter(|failure| failure.event == "input");
    let errors: Vec<&str> = errors.map(|failure| failure.error.as_str()).collect();
    assert_eq!(errors.len(), 1, "{failures:?}");
    assert!(errors[0].contains("without yielding"), "{errors:?}");
}

#[tokio::test]
async fn a_tool_call_is_blocked_if_its_handler_hangs() {
    let hangs = "export default (pi) => pi.on('tool_call', () => { for (;;); });";
    let harness = ExtensionHarness::new(&[("gate.js", hangs)]).await;
    harness.env.faux.extend([
        FauxResponse::tool_call("write", json!({"path": "made.txt", "content": "x"})),
        FauxResponse::text("done"),
    ]);
    prompt(&harness.runtime.session(), "go").await;
    let request = harness.env.faux.last_request().unwrap();
    let sent = serde_json::to_string(&*request.messages).unwrap();
    assert!(sent.contains("without yielding"), "{sent}");
    assert!(!harness.env.path("project/made.txt").exists());
}

#[tokio::test]
async fn an_extension_reads_and_changes_the_prompt_options() {
    let env = RuntimeTestEnv::new();
    env.home.write("project/AGENTS.md", "Use tabs.");
    let source = include_str!("extensions/prompt.ts");
    let harness = ExtensionHarness::with(env, &[("prompt.ts", source)], |options| options).await;
    prompt(&harness.runtime.session(), "go").await;
    let seen = harness.written();
    assert_eq!(seen["tools"], json!(["read", "bash", "edit", "write"]));
    assert_eq!(seen["files"], json!(["Use tabs."]));
    assert!(seen["snippet"].is_string());
    let request = harness.env.faux.last_request().unwrap();
    let sent = serde_json::to_string(&*request.messages).unwrap();
    assert!(
        sent.contains("Use spaces.") && !sent.contains("Use tabs."),
        "{sent}"
    );
    assert!(sent.contains("own words"), "{sent}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_of_an_extension_is_visible_when_its_call_returns() {
    let source = r#"
        import { writeFileSync } from "node:fs";
        export default (pi) => pi.registerCommand("change", {
            handler: async (_, ctx) => {
                pi.setSessionName("named");
                pi.appendEntry("kept", { n: 1 });
                pi.setThinkingLevel("high");
                pi.sendMessage({ customType: "note", content: "text", display: true });
                const entries = ctx.sessionManager.getEntries().map((entry) => entry.type);
                const seen = [pi.getSessionName(), pi.getThinkingLevel(), ...entries.slice(-4)];
                writeFileSync(`${ctx.cwd}/results.json`, JSON.stringify(seen));
            },
        });
    "#;
    let harness = ExtensionHarness::new(&[("change.ts", source)]).await;
    let expected = json!([
        "named",
        "high",
        "session_info",
        "custom",
        "thinking_level_change",
        "custom_message"
    ]);
    assert_eq!(harness.run("/change").await, expected);
    harness.runtime.shutdown().await;
}

#[tokio::test]
async fn a_provider_of_an_extension_reports_its_stream_events() {
    let source = include_str!("extensions/providers.ts");
    let harness = ExtensionHarness::new(&[("providers.ts", source)]).await;
    let session = harness.runtime.session();
    let model = session.models().model("own", "first").unwrap();
    session
        .selection()
        .set_model(model, Persist::Session)
        .await
        .unwrap();
    prompt(&session, "go").await;
    let messages = session.history().messages().unwrap();
    let answer = json!(messages.last().unwrap());
    assert_eq!(answer["content"][0]["text"], "own answer");
    assert_eq!(
        harness.written(),
        json!([["own", "own-api", "first", {"step": 1}], ["own", "own-api", "first", {"step": 2}]])
    );
}

#[tokio::test]
async fn a_provider_of_an_extension_refreshes_models_of_all_types() {
    let source = include_str!("extensions/providers.ts");
    let harness = ExtensionHarness::new(&[("providers.ts", source)]).await;
    let url = "https://own.example";
    let listed =
        |ids: &[&str]| -> Vec<String> { ids.iter().map(|id| format!("{id} {url}")).collect() };
    assert_eq!(
        harness.run("/types").await,
        json!({"chat": listed(&["first", "second"]), "image": listed(&["new"])})
    );
}

#[tokio::test]
async fn the_image_limits_of_the_routed_model_apply() {
    let mut env = RuntimeTestEnv::new();
    let blind = FauxModel {
        reasoning: true,
        input: vec![Modality::Text],
        ..FauxModel::new("thinks")
    };
    env.faux = Arc::new(FauxProvider::echo().with_models([blind]));
    let pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGD4DwABBAEAX+XDSwAAAABJRU5ErkJggg==";
    env.home
        .write("project/a.png", BASE64.decode(pixel).unwrap());
    let source = include_str!("extensions/virtual_models.ts");
    let harness = ExtensionHarness::with(env, &[("router.ts", source)], |options| options).await;
    let session = harness.runtime.session();
    let auto = session.models().model("router", "auto").unwrap();
    assert!(auto.input.contains(&Modality::Image));
    session
        .selection()
        .set_model(auto, Persist::Session)
        .await
        .unwrap();
    harness.env.faux.extend([
        FauxResponse::tool_call("read", json!({"path": "a.png"})),
        FauxResponse::text("seen"),
    ]);
    prompt(&session, "look").await;
    let messages = json!(session.history().messages().unwrap());
    let mut messages = messages.as_array().unwrap().iter();
    let result = messages.find(|message| message["role"] == "toolResult");
    let result = result.unwrap().to_string();
    assert!(result.contains("does not support images"), "{result}");
}

#[tokio::test]
async fn a_virtual_model_is_routed_for_every_request() {
    let source = include_str!("extensions/virtual_models.ts");
    let harness = ExtensionHarness::new(&[("router.ts", source)]).await;
    let session = harness.runtime.session();
    let auto = session.models().model("router", "auto").unwrap();
    session
        .selection()
        .set_model(auto, Persist::Session)
        .await
        .unwrap();
    harness.env.faux.push("one");
    harness.env.faux.push("two");
    prompt(&session, "first").await;
    let routed = session.selection().routed_model().unwrap();
    assert_eq!(routed.model.id, "thinks");
    assert_eq!(session.selection().model().unwrap().id, "auto");
    harness.run("/ask").await;
    harness.env.faux.push("three");
    let nested = harness.run("/nested").await;
    assert_eq!(nested, json!(["auto", "thinks", "high"]));
    prompt(&session, "fail now").await;
    let results = harness.written();
    assert_eq!(results[0]["reason"], "user");
    assert_eq!(results[0]["state"], Value::Null);
    assert_eq!(results[1]["reason"], "direct");
    assert_eq!(results[1]["roles"], json!(["user"]));
    assert_eq!(results[2], json!({"answered": "thinks", "text": "two"}));
    assert_eq!(results[3]["reason"], "user");
    assert_eq!(results[4]["state"], json!({"count": 1}));
    assert_eq!(results[4]["previous"], "thinks");
    let messages = session.history().messages().unwrap();
    let failed = json!(messages.last().unwrap());
    assert_eq!(failed["errorMessage"], "no budget left");
    assert_eq!(failed["provider"], "router");
    prompt(&session, "/gone").await;
    assert_eq!(session.models().model("router", "auto"), None);
}

/// Counts the ends of sessions.
#[derive(Default)]
struct CountEnds(AtomicUsize);

impl LifecycleHook for CountEnds {
    fn session_shutdown(&self, _shutdown: SessionShutdown) -> BoxFuture<'_, ()> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Box::pin(std::future::ready(()))
    }
}

#[tokio::test]
async fn a_session_that_ends_before_its_start_is_released_without_an_event() {
    let source = "import { writeFileSync } from 'node:fs';
        export default (pi) => pi.on('session_shutdown', () => writeFileSync('results.json', '1'));";
    for (start, expected) in [
        (StartNotification::Immediate, json!(1)),
        (StartNotification::Deferred, Value::Null),
    ] {
        let hook = Arc::new(CountEnds::default());
        let participants = Participants::builder().lifecycle(Arc::clone(&hook)).build();
        let env = RuntimeTestEnv::new();
        let harness = ExtensionHarness::with(env, &[("ends.js", source)], |options| {
            options.with(|_, session| {
                session.session_start = start;
                session.participants = Arc::new(participants);
            })
        })
        .await;
        harness.runtime.shutdown().await;
        assert_eq!(harness.written(), expected, "{start:?}");
        assert_eq!(hook.0.load(Ordering::Relaxed), 1, "{start:?}");
        // The built-in MCP extension, for example, has the session until it ends.
        drop(harness);
        assert_eq!(Arc::strong_count(&hook), 1, "{start:?}");
    }
}
