//! A key of every provider, stored and mentioned in a conversation, and everything that leaves the
//! program.

use std::io::Read as _;

use pi_export::{
    BugReport, HtmlOptions, JsonlOptions, SharePage, export_html, export_jsonl, secrets_in_use,
    stored_secrets,
};
use pi_providers::{FauxResponse, builtin_providers};
use serde_json::{Value, json};

use crate::test_env::{RuntimeTestEnv, prompt};

/// A key that matches no pattern.
fn key(number: usize) -> String {
    format!("kept-for-number-{number:02}-Zq3vT8mW1kR5")
}

#[tokio::test]
async fn no_stored_key_leaves_the_program() {
    let env = RuntimeTestEnv::new();
    let providers = builtin_providers();
    let mut stored = serde_json::Map::new();
    for (number, provider) in providers.iter().enumerate() {
        let (one, other) = (key(number), key(number + 100));
        let credential = if provider.has_oauth {
            json!({"type": "oauth", "access": one, "refresh": other, "expires": 1})
        } else {
            json!({"type": "api_key", "key": one})
        };
        stored.insert(provider.id.to_owned(), credential);
    }
    let file = Value::Object(stored).to_string();
    env.home.write("agent/auth.json", &file);
    let secrets: Vec<String> = (0..providers.len())
        .flat_map(|number| [key(number), key(number + 100)])
        .filter(|key| file.contains(key))
        .collect();

    let runtime = env.plain_options().start().await.unwrap();
    let workspace = runtime.workspace();
    let options = env.options().with(|host, _| {
        host.credentials = Some(workspace.models.authenticator().store().clone());
    });
    let talking = options.start().await.unwrap();
    let session = talking.session();
    env.faux.push(FauxResponse::text(format!("It says {file}")));
    prompt(
        &session,
        &format!("My credentials are {}", secrets.join(" ")),
    )
    .await;

    let assert_clean = |what: &str, text: &str| {
        assert!(text.contains("[redacted]"), "{what}");
        for secret in &secrets {
            assert!(!text.contains(secret), "{what} contains {secret}");
        }
    };
    let store = workspace.models.authenticator().store();
    let kept = stored_secrets(store.as_ref()).await;
    let page = HtmlOptions {
        output: Some(env.path("page.html")),
        redaction: kept.clone(),
        ..HtmlOptions::default()
    };
    let lines = JsonlOptions {
        output: Some(env.path("branch.jsonl")),
        redaction: kept,
        ..JsonlOptions::default()
    };
    let in_use = secrets_in_use(&workspace.models, &env.env()).await;
    let shared = session.history().with_session(|session| {
        export_html(session, &page).unwrap();
        export_jsonl(session, &lines).unwrap();
        let options = HtmlOptions {
            redaction: in_use.clone(),
            ..HtmlOptions::default()
        };
        SharePage::write(session, options).unwrap()
    });
    let read = |path: &std::path::Path| std::fs::read_to_string(path).unwrap();
    assert_clean("a page", &read(&env.path("page.html")));
    assert_clean("a branch", &read(&env.path("branch.jsonl")));
    assert_clean("a shared page", &read(shared.path()));

    let log = env.home.write("pi.log", format!("refused: {file}\n"));
    let report = BugReport {
        description: Some(format!("it printed {}", key(0))),
        with_conversation: true,
        log: Some(log.clone()),
        crash: Some(log),
        ..BugReport::default()
    };
    let reported = workspace.report(&session);
    let written = session.history().with_session(|session| {
        report
            .write(session, &reported, &in_use, &env.path("project"))
            .unwrap()
    });
    assert_eq!(
        written.files,
        [
            "README.txt",
            "report.json",
            "log.txt",
            "crash.txt",
            "session.html",
            "replay.jsonl"
        ]
    );
    let packed = std::fs::File::open(&written.path).unwrap();
    let mut text = String::new();
    flate2::read::GzDecoder::new(packed)
        .read_to_string(&mut text)
        .unwrap();
    assert_clean("a report", &text);
    let again = pi_host::replay(&written.path, &env.env()).await.unwrap();
    assert_eq!(again.difference, None);
    talking.shutdown().await;
    runtime.shutdown().await;
}
