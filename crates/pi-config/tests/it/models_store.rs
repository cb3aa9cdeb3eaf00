//! `models-store.json`: round trips, and tolerance of malformed files.

use pi_config::ModelsStoreFile;
use pi_test_support::TempHome;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

#[tokio::test]
async fn catalogs_survive_a_round_trip() {
    let home = TempHome::new();
    let store = ModelsStoreFile::new(home.path().join("models-store.json"));
    assert_eq!(store.read::<Value>("a").await, None);
    let catalog = json!({
        "models": [{"id": "m"}],
        "checkedAt": 7,
        "lastModified": 0,
        "etag": "\"x\"",
    });
    store.write("a", &catalog).await.unwrap();
    store.write("b", &json!({"models": []})).await.unwrap();
    assert_eq!(store.read("a").await, Some(catalog));
    insta::assert_snapshot!(home.read("models-store.json"), @r#"
    {
      "a": {
        "models": [
          {
            "id": "m"
          }
        ],
        "checkedAt": 7,
        "lastModified": 0,
        "etag": "\"x\""
      },
      "b": {
        "models": []
      }
    }
    "#);
    store.delete("a").await.unwrap();
    assert_eq!(store.read::<Value>("a").await, None);
    assert!(store.read::<Value>("b").await.is_some());
}

#[tokio::test]
async fn malformed_cache_is_empty_and_not_overwritten() {
    let home = TempHome::new();
    let path = home.write("models-store.json", "{oops");
    let store = ModelsStoreFile::new(&path);
    assert_eq!(store.read::<Value>("a").await, None);
    assert!(store.write("a", &json!({})).await.is_err());
    assert_eq!(home.read("models-store.json"), "{oops");
    let path = home.write("other.json", r#"{"a": {"models": 5}}"#);
    assert_eq!(
        ModelsStoreFile::new(path).read::<Vec<Value>>("a").await,
        None
    );
}
