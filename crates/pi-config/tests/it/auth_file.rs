//! `auth.json`: format, permissions and preserved entries.

use std::fs;
use std::time::Duration;

use pi_auth::{AuthError, Credential, CredentialStore};
use pi_config::AuthFile;
use pi_fs::LockTiming;
use pi_protocol::AuthKind;
use pi_test_support::TempHome;
use pretty_assertions::assert_eq;
use serde_json::json;

fn credential(value: serde_json::Value) -> Credential {
    Credential::from_value(value).unwrap()
}

#[tokio::test]
async fn entries_match_the_typescript_format() {
    let home = TempHome::new();
    let auth = AuthFile::new(home.path().join("agent/auth.json"));
    auth.create_if_missing().await.unwrap();
    assert_eq!(home.read("agent/auth.json"), "{}");
    auth.put("openai", Credential::api_key("sk-1"))
        .await
        .unwrap();
    let sign_in =
        json!({"type": "oauth", "access": "a", "refresh": "r", "expires": 5, "accountId": "x"});
    auth.put("openai-codex", credential(sign_in)).await.unwrap();
    insta::assert_snapshot!(home.read("agent/auth.json"), @r#"
    {
      "openai": {
        "type": "api_key",
        "key": "sk-1"
      },
      "openai-codex": {
        "type": "oauth",
        "access": "a",
        "refresh": "r",
        "expires": 5,
        "accountId": "x"
      }
    }
    "#);
    auth.delete("openai").await.unwrap();
    auth.delete("openai-codex").await.unwrap();
    assert_eq!(home.read("agent/auth.json"), "{}");
    let files: Vec<_> = fs::read_dir(home.path().join("agent")).unwrap().collect();
    assert_eq!(files.len(), 1, "no lock and no temporary file stays");
}

#[tokio::test]
async fn unknown_entries_are_preserved() {
    let home = TempHome::new();
    let before = r#"{
  "zeta": {"type": "workload_identity", "later": [1, {"deep": null}]},
  "openai": {"type": "api_key", "note": "kept", "key": "old"},
  "alpha": {"type": "oauth", "expires": 1, "refresh": "r", "access": "a", "gatewayConfig": {}}
}"#;
    let path = home.write("auth.json", before);
    let auth = AuthFile::new(&path);
    let mut list = auth.list().await.unwrap();
    list.sort_by(|left, right| left.provider.cmp(&right.provider));
    let kinds: Vec<_> = list
        .iter()
        .map(|entry| (entry.provider.as_str(), entry.kind))
        .collect();
    assert_eq!(
        kinds,
        [("alpha", AuthKind::OAuth), ("openai", AuthKind::ApiKey)]
    );
    let mut entry = auth.lock("openai").await.unwrap();
    let Some(Credential::ApiKey(mut changed)) = entry.current().cloned() else {
        panic!("no key is stored");
    };
    changed.key = Some("new".into());
    entry.save(Some(Credential::ApiKey(changed))).await.unwrap();
    drop(entry);
    insta::assert_snapshot!(home.read("auth.json"), @r#"
    {
      "zeta": {
        "type": "workload_identity",
        "later": [
          1,
          {
            "deep": null
          }
        ]
      },
      "openai": {
        "type": "api_key",
        "key": "new",
        "note": "kept"
      },
      "alpha": {
        "type": "oauth",
        "expires": 1,
        "refresh": "r",
        "access": "a",
        "gatewayConfig": {}
      }
    }
    "#);
}

#[tokio::test]
async fn malformed_file_is_not_overwritten() {
    for (content, expected) in [
        (
            "{\n  \"openai\": {\"type\": \"api_key\",\n",
            ":3:0: EOF while parsing a value",
        ),
        (
            "{\"openai\": {\"type\": \"api_key\", \"key\": \"s3cret\" \"x\"}}",
            ":1:48: expected `,` or `}`",
        ),
        ("[]", ":1:1: expected an object"),
        ("\"s3cret\"", ":1:1: expected an object"),
        ("not json s3cret", ":1:2: expected ident"),
    ] {
        let home = TempHome::new();
        let path = home.write("auth.json", content);
        let auth = AuthFile::new(&path);
        let failures = [
            auth.read("openai").await.err().unwrap(),
            auth.list().await.err().unwrap(),
            auth.put("openai", Credential::api_key("k"))
                .await
                .err()
                .unwrap(),
            auth.delete("openai").await.err().unwrap(),
        ];
        for failure in failures {
            let text = failure.to_string();
            assert!(matches!(failure, AuthError::Malformed { .. }), "{text}");
            assert!(text.contains(expected), "{text}");
            assert!(text.starts_with(&path.display().to_string()), "{text}");
            assert!(
                text.ends_with("the file was left unchanged, fix it by hand"),
                "{text}"
            );
            assert!(!text.contains("s3cret"), "{text}");
        }
        assert_eq!(home.read("auth.json"), content);
        assert!(!home.path().join("auth.json.lock").exists());
    }
}

#[tokio::test]
async fn invalid_entry_does_not_affect_others() {
    let home = TempHome::new();
    let path = home.write(
        "auth.json",
        r#"{"a": {"type": "oauth", "access": "x", "refresh": "y", "expires": "soon"}, "b": {"type": "api_key", "key": "k"}}"#,
    );
    let auth = AuthFile::new(&path);
    assert!(auth.read("b").await.unwrap().is_some());
    assert_eq!(
        auth.read("a").await.unwrap_err().to_string(),
        format!(
            "{}: a.expires: must be a number of milliseconds; the file was left unchanged, fix it by hand",
            path.display()
        )
    );
    // Signing in again replaces the invalid entry.
    auth.put("a", Credential::api_key("new")).await.unwrap();
    assert_eq!(
        auth.read("a").await.unwrap(),
        Some(Credential::api_key("new"))
    );
    assert!(auth.read("b").await.unwrap().is_some());
}

#[tokio::test]
async fn missing_or_empty_file_has_no_entries() {
    let home = TempHome::new();
    let auth = AuthFile::new(home.path().join("none/auth.json"));
    assert_eq!(auth.read("x").await.unwrap(), None);
    assert!(
        !home.path().join("none").exists(),
        "reading creates nothing"
    );
    let path = home.write("auth.json", "");
    assert_eq!(AuthFile::new(path).list().await.unwrap(), vec![]);
}

#[tokio::test]
async fn partial_file_is_read_again_under_the_lock() {
    let home = TempHome::new();
    // The TypeScript pi writes in place, under its lock.
    let path = home.write("auth.json", "{\"openai\": {\"ty");
    fs::create_dir(home.path().join("auth.json.lock")).unwrap();
    let auth = AuthFile::new(&path);
    let reading = tokio::spawn(async move { auth.read("openai").await });
    tokio::task::yield_now().await;
    home.write(
        "auth.json",
        r#"{"openai": {"type": "api_key", "key": "k"}}"#,
    );
    fs::remove_dir(home.path().join("auth.json.lock")).unwrap();
    assert_eq!(
        reading.await.unwrap().unwrap(),
        Some(Credential::api_key("k"))
    );
}

#[tokio::test]
async fn lock_timeout_is_reported() {
    let home = TempHome::new();
    let path = home.write("auth.json", "{}");
    fs::create_dir(home.path().join("auth.json.lock")).unwrap();
    let timing = LockTiming {
        patience: Duration::from_millis(50),
        ..LockTiming::CREDENTIALS
    };
    let auth = AuthFile::with_timing(&path, timing);
    assert_eq!(
        auth.put("x", Credential::api_key("k"))
            .await
            .unwrap_err()
            .to_string(),
        format!(
            "{path} is locked by another process; if none is running, remove the directory {path}.lock",
            path = path.display()
        )
    );
    assert_eq!(home.read("auth.json"), "{}");
}

#[tokio::test]
async fn lost_lock_is_reacquired_and_conflict_detected() {
    let home = TempHome::new();
    let path = home.write("auth.json", r#"{"x": {"type": "api_key", "key": "1"}}"#);
    let lock = home.path().join("auth.json.lock");
    let auth = AuthFile::new(&path);

    let mut entry = auth.lock("x").await.unwrap();
    fs::remove_dir(&lock).unwrap();
    home.write(
        "auth.json",
        r#"{"y": {"type": "api_key"}, "x": {"type": "api_key", "key": "1"}}"#,
    );
    entry.save(Some(Credential::api_key("2"))).await.unwrap();
    drop(entry);
    assert_eq!(
        auth.read("x").await.unwrap(),
        Some(Credential::api_key("2"))
    );
    assert!(auth.read("y").await.unwrap().is_some());

    let mut entry = auth.lock("x").await.unwrap();
    fs::remove_dir(&lock).unwrap();
    home.write(
        "auth.json",
        r#"{"x": {"type": "api_key", "key": "theirs"}}"#,
    );
    let refused = entry
        .save(Some(Credential::api_key("3")))
        .await
        .unwrap_err();
    assert!(matches!(refused, AuthError::Conflict { .. }), "{refused}");
    drop(entry);
    assert_eq!(
        auth.read("x").await.unwrap(),
        Some(Credential::api_key("theirs"))
    );
    assert!(!lock.exists());
}

#[tokio::test]
async fn concurrent_changes_are_all_saved() {
    let home = TempHome::new();
    let path = home.path().join("auth.json");
    // Two independent handles in the same process.
    let handles = [AuthFile::new(&path), AuthFile::new(&path)];
    let changes = (0..20).map(|number| {
        let auth = handles[number % 2].clone();
        tokio::spawn(async move {
            auth.put(&format!("p{number}"), Credential::api_key("k"))
                .await
        })
    });
    for change in changes.collect::<Vec<_>>() {
        change.await.unwrap().unwrap();
    }
    assert_eq!(handles[0].list().await.unwrap().len(), 20);
}
