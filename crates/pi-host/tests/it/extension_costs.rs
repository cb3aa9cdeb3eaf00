//! What extensions cost a session, and their budget.

use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;
use pi_config::ResourceFlags;
use pi_host::{ExtensionFailure, ExtensionMode, ExtensionOptions, ExtensionUi, SessionRuntime};
use pi_protocol::{Ack, Command, ExtensionCost};
use pi_providers::FauxResponse;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::test_env::{RuntimeTestEnv, prompt};

/// Adds a tool and a section, about 5,000 tokens in total.
const VERBOSE: &str = r#"
export default (pi: any) => {
    pi.registerTool({ name: "talk", description: "d".repeat(4000), parameters: { type: "object", properties: {} }, async execute() {} });
    pi.on("before_agent_start", (event: any) => { event.systemPromptOptions.sections.todo = "x".repeat(16000); });
};
"#;

/// Fails in every event.
const FAILING: &str = r#"
export default (pi: any) => {
    pi.on("turn_start", () => { throw new Error("no"); });
};
"#;

/// Delays and decides about calls of tools.
const SLOW: &str = r#"
export default (pi: any) => {
    pi.on("turn_start", () => new Promise((done) => setTimeout(done, 40)));
    pi.on("tool_call", () => undefined);
};
"#;

#[derive(Default)]
struct RecordedFailures(Mutex<Vec<ExtensionFailure>>);

impl RecordedFailures {
    fn of_budget(&self) -> Vec<String> {
        let failures = self.0.lock().unwrap();
        let budget = failures.iter().filter(|it| it.event == "budget");
        budget.map(|it| it.error.clone()).collect()
    }
}

impl ExtensionUi for RecordedFailures {
    fn mode(&self) -> ExtensionMode {
        ExtensionMode::Print
    }

    fn report_failure(&self, failure: ExtensionFailure) -> BoxFuture<'static, ()> {
        self.0.lock().unwrap().push(failure);
        Box::pin(std::future::ready(()))
    }
}

struct CostHarness {
    env: RuntimeTestEnv,
    runtime: SessionRuntime,
    failures: Arc<RecordedFailures>,
}

impl CostHarness {
    async fn new(settings: Value, files: &[(&str, &str)]) -> Self {
        let env = RuntimeTestEnv::new();
        env.home.write("agent/settings.json", settings.to_string());
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
        let runtime = options.start().await.unwrap();
        assert_eq!(runtime.diagnostics(), []);
        Self {
            env,
            runtime,
            failures,
        }
    }

    async fn costs(&self) -> Vec<ExtensionCost> {
        let Ok(Ack::Done { data: Some(data) }) =
            self.runtime.submit(Command::GetExtensionCosts).await
        else {
            panic!("a reply with data expected");
        };
        let data: Value = data.parse().unwrap();
        serde_json::from_value(data["extensions"].clone()).unwrap()
    }

    async fn cost_of(&self, name: &str) -> ExtensionCost {
        let costs = self.costs().await.into_iter();
        let mut found = costs.filter(|cost| cost.path.ends_with(name));
        found.next().unwrap()
    }
}

#[tokio::test]
async fn prompt_tokens_cache_misses_and_errors_belong_to_their_extension() {
    let files = [("verbose.ts", VERBOSE), ("failing.ts", FAILING)];
    let harness = CostHarness::new(json!({}), &files).await;
    harness.env.faux.push(FauxResponse::text("hello"));
    prompt(&harness.runtime.session(), "hi").await;
    let verbose = harness.cost_of("verbose.ts").await;
    assert!(
        (5_000..5_200).contains(&verbose.prompt_tokens),
        "{verbose:?}"
    );
    assert!(verbose.start_ms > 0.0 && verbose.events > 0, "{verbose:?}");
    let failing = harness.cost_of("failing.ts").await;
    assert_eq!((failing.prompt_tokens, failing.errors), (0, 1));
    assert_eq!((verbose.errors, verbose.cache_misses), (0, 0));
}

#[tokio::test]
async fn an_extension_over_budget_is_reported_once() {
    let settings = json!({"extensionBudget": {"handlerMs": 5, "promptTokens": 1000}});
    let files = [("verbose.ts", VERBOSE), ("slow.ts", SLOW)];
    let harness = CostHarness::new(settings, &files).await;
    harness
        .env
        .faux
        .extend([FauxResponse::text("one"), FauxResponse::text("two")]);
    for text in ["first", "second"] {
        prompt(&harness.runtime.session(), text).await;
    }
    let reports = harness.failures.of_budget();
    let about = |key: &str| {
        let matching = reports.iter().filter(|report| report.contains(key));
        matching.count()
    };
    assert_eq!(
        about("extensionBudget.promptTokens is 1000"),
        1,
        "{reports:?}"
    );
    assert!(about("extensionBudget.handlerMs is 5") >= 1, "{reports:?}");
    assert!(!harness.cost_of("slow.ts").await.paused);
}

#[tokio::test]
async fn a_paused_extension_receives_no_events_and_its_decisions_fail() {
    let settings = json!({"extensionBudget": {"handlerMs": 5, "onExceeded": "pause"}});
    let harness = CostHarness::new(settings, &[("slow.ts", SLOW)]).await;
    harness.env.faux.extend([
        FauxResponse::text("one"),
        FauxResponse::tool_call("read", json!({"path": "a"})),
        FauxResponse::text("two"),
    ]);
    prompt(&harness.runtime.session(), "first").await;
    let paused = harness.cost_of("slow.ts").await;
    assert!(paused.paused, "{paused:?}");
    let reports = harness.failures.of_budget();
    assert!(
        reports[0].ends_with("; paused until /reload"),
        "{reports:?}"
    );

    prompt(&harness.runtime.session(), "second").await;
    assert_eq!(harness.cost_of("slow.ts").await.events, paused.events);
    let requests = harness.env.faux.requests();
    let last = serde_json::to_string(&requests.last().unwrap().messages).unwrap();
    assert!(
        last.contains("is paused because it exceeds its budget"),
        "{last}"
    );
}
