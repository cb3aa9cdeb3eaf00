//! What Node does and what we do with the same code: `tests/fixtures/node/*.ts` export a function `run`, the file of
//! the same name ending in `.json` is what it returned in Node.

use std::path::{Path, PathBuf};

use pretty_assertions::assert_eq;
use serde_json::Value;

use crate::support::World;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/node")
}

async fn same_as_node(name: &str) {
    let read = |extension: &str| {
        std::fs::read_to_string(folder().join(name).with_extension(extension)).unwrap()
    };
    let world = World::new(&[("fixture.ts", &read("ts"))]);
    let ours = match world.call("fixture.ts", "run").await {
        Ok(value) => value,
        Err(error) => panic!("{error:?}"),
    };
    let theirs: Value = serde_json::from_str(&read("json")).unwrap();
    assert_eq!(ours, theirs);
}

#[tokio::test]
async fn ciphers_signatures_and_derived_keys() {
    same_as_node("crypto").await;
}

#[tokio::test]
async fn key_pairs_as_jwk_and_vectors_of_every_length() {
    same_as_node("jwk").await;
}

#[tokio::test]
async fn servers_over_tls_and_tls_over_sockets() {
    same_as_node("tls").await;
}

#[tokio::test]
async fn web_cryptography() {
    same_as_node("subtle").await;
}

#[tokio::test]
async fn web_sockets() {
    same_as_node("websocket").await;
}

#[cfg(unix)]
#[tokio::test]
async fn children_streams_and_watches() {
    same_as_node("processes").await;
}

#[tokio::test]
async fn numbers_dates_lists_and_segments() {
    same_as_node("intl").await;
}
