//! Compares the engine with Node: each `tests/fixtures/node/*.ts` exports a function `run`, and the
//! `.json` file of the same name contains the value it returned in Node.

use std::path::{Path, PathBuf};

use pretty_assertions::assert_eq;
use serde_json::Value;

use crate::support::EngineEnv;

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/node")
}

async fn assert_same_as_node(name: &str) {
    let read = |extension: &str| {
        std::fs::read_to_string(directory().join(name).with_extension(extension)).unwrap()
    };
    let env = EngineEnv::new(&[("fixture.ts", &read("ts"))]);
    let actual = match env.call("fixture.ts", "run").await {
        Ok(value) => value,
        Err(error) => panic!("{error:?}"),
    };
    let expected: Value = serde_json::from_str(&read("json")).unwrap();
    assert_eq!(actual, expected);
}

#[tokio::test]
async fn ciphers_signatures_and_derived_keys() {
    assert_same_as_node("crypto").await;
}

#[tokio::test]
async fn jwk_keys_and_gcm_ivs_of_any_length() {
    assert_same_as_node("jwk").await;
}

#[tokio::test]
async fn tls_servers_and_tls_over_sockets() {
    assert_same_as_node("tls").await;
}

#[tokio::test]
async fn web_cryptography() {
    assert_same_as_node("subtle").await;
}

#[tokio::test]
async fn web_sockets() {
    assert_same_as_node("websocket").await;
}

#[cfg(unix)]
#[tokio::test]
async fn child_processes_streams_and_watchers() {
    assert_same_as_node("processes").await;
}

#[tokio::test]
async fn numbers_dates_lists_and_segments() {
    assert_same_as_node("intl").await;
}
