//! Clients that send too much, read too little or leave.

use std::time::Duration;

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::client::AcpClient;
use crate::harness::{TestContext, bash_reply, partial_reply, text_reply};

#[tokio::test]
async fn a_line_of_100_megabytes_is_rejected_and_skipped() {
    let context = TestContext::new([text_reply("ok")]).await;
    let mut client = AcpClient::start(&context, json!({})).await;
    let chunk = vec![b'x'; 1 << 20];
    for _ in 0..100 {
        client.write(&chunk).await;
    }
    client.write(b"\n{\n[]\n").await;
    let session = client.open(&context).await;
    assert_eq!(client.ask(&session, "Still there?").await, "end_turn");
    #[cfg(target_os = "linux")]
    assert!(
        resident_megabytes(&client) < 300,
        "the line is kept in memory"
    );
}

#[cfg(target_os = "linux")]
fn resident_megabytes(client: &AcpClient) -> u64 {
    let id = client.child.id().unwrap();
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with("VmRSS:"))
        .unwrap();
    let kilobytes: u64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    kilobytes / 1024
}

#[tokio::test]
async fn ten_thousand_open_requests_do_not_block_a_cancellation() {
    let context = TestContext::new([partial_reply("…").stall()]).await;
    let mut client = AcpClient::start(&context, json!({})).await;
    let session = client.open(&context).await;
    let first = client.prompt(&session, "Wait").await;
    client.wait_for_update("agent_message_chunk").await;
    let mut others = Vec::new();
    for number in 0..10_000 {
        others.push(client.prompt(&session, &format!("More {number}")).await);
        // Read what has arrived, as any client does.
        if number % 100 == 99 {
            let rejected = others.last().copied().unwrap();
            if number > 2000 {
                client.response(rejected).await.unwrap_err();
                others.pop();
            }
        }
    }
    client
        .notify("session/cancel", json!({"sessionId": session}))
        .await;
    let stopped = client.response(first).await.unwrap();
    assert_eq!(stopped["stopReason"], json!("cancelled"));
    let mut rejected = 0;
    for id in others {
        match client.response(id).await {
            Ok(stopped) => assert_eq!(stopped["stopReason"], json!("cancelled")),
            Err(error) => {
                assert_eq!(error["code"], json!(-32600), "{error}");
                rejected += 1;
            }
        }
    }
    assert!(rejected > 5000, "{rejected}");
}

#[tokio::test]
async fn children_end_with_the_client() {
    let context = TestContext::new([bash_reply("echo $$ > pid; exec sleep 600")]).await;
    let mut client = AcpClient::start(&context, json!({})).await;
    let session = client.open(&context).await;
    client.prompt(&session, "Sleep").await;
    let file = context.project_dir().join("pid");
    let pid = loop {
        match std::fs::read_to_string(&file) {
            Ok(text) if text.ends_with('\n') => break text.trim().to_owned(),
            _ => tokio::time::sleep(Duration::from_millis(5)).await,
        }
    };
    assert_eq!(client.close().await, Some(0));
    assert!(!is_running(&pid), "process {pid} is still running");
}

fn is_running(pid: &str) -> bool {
    let checked = std::process::Command::new("kill")
        .args(["-0", pid])
        .stderr(std::process::Stdio::null())
        .status();
    checked.unwrap().success()
}

#[tokio::test]
async fn a_client_that_does_not_read_stops_nothing_but_itself() {
    let context = TestContext::new([text_reply(&"long ".repeat(200_000))]).await;
    let mut client = AcpClient::start(&context, json!({})).await;
    let session = client.open(&context).await;
    client.prompt(&session, "Write").await;
    while context.server.requests().is_empty() {
        tokio::task::yield_now().await;
    }
    drop(client.stdin.take());
    let ended = tokio::time::timeout(Duration::from_secs(30), client.child.wait()).await;
    assert!(ended.is_ok(), "the agent waits for a client that is gone");
}

#[tokio::test]
async fn titles_have_no_escape_sequences() {
    let context =
        TestContext::new([bash_reply("true \u{1b}]0;x\u{7}\n# end"), text_reply("ok")]).await;
    let mut client = AcpClient::start(&context, json!({})).await;
    let session = client.open(&context).await;
    client.ask(&session, "\u{1b}[31mRed").await;
    let titles = client
        .notifications
        .iter()
        .filter_map(|message| message["params"]["update"]["title"].as_str());
    for title in titles {
        assert!(!title.chars().any(char::is_control), "{title:?}");
    }
}

#[tokio::test]
async fn a_repeated_request_id_is_rejected() {
    let context = TestContext::new([partial_reply("…").stall()]).await;
    let mut client = AcpClient::start(&context, json!({})).await;
    let session = client.open(&context).await;
    let prompt = client.prompt(&session, "Wait").await;
    client.wait_for_update("agent_message_chunk").await;
    let again = json!({"jsonrpc": "2.0", "id": prompt, "method": "session/list", "params": {}});
    client.send(&again).await;
    let error = client.response(prompt).await.unwrap_err();
    assert_eq!(error["code"], json!(-32600));
    client
        .notify("$/cancel_request", json!({ "requestId": prompt }))
        .await;
    let error: Value = client.response(prompt).await.unwrap_err();
    assert_eq!(error["code"], json!(-32800));
}
