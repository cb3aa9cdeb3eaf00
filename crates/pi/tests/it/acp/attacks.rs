//! Clients that send too much, read too little or leave.

use std::time::Duration;

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::client::AcpClient;
use crate::harness::{TestContext, bash_reply, partial_reply, text_reply, tool_call_reply};

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

#[tokio::test]
async fn line_feeds_in_paths_are_kept_but_not_shown() {
    let replies = [
        tool_call_reply("write", &json!({"path": "a\nb.txt", "content": "x\n"})),
        text_reply("ok"),
    ];
    let context = TestContext::new(replies).await;
    let directory = context.project_dir().join("two\nlines");
    std::fs::create_dir(&directory).unwrap();
    let mut client = AcpClient::start(&context, json!({})).await;
    let params = json!({"cwd": directory, "mcpServers": []});
    let opened = client.call("session/new", params).await.unwrap();
    let session = opened["sessionId"].as_str().unwrap().to_owned();
    assert_eq!(client.ask(&session, "Write").await, "end_turn");
    assert!(directory.join("a\nb.txt").exists());
    let updates = client.updates("tool_call_update");
    let last = updates.last().unwrap();
    assert_eq!(
        last["content"][0]["path"],
        json!(directory.join("a\nb.txt"))
    );
    for update in client.updates("tool_call").iter().chain(&updates) {
        let title = update["title"].as_str().unwrap_or_default();
        assert!(!title.contains('\n'), "{title:?}");
    }
    let listed = client.call("session/list", json!({"cwd": directory})).await;
    assert_eq!(listed.unwrap()["sessions"][0]["cwd"], json!(directory));
}

/// The editor opens another project while the first one works.
#[tokio::test]
async fn a_run_continues_when_the_project_is_switched() {
    let first = partial_reply("slow").gate("end");
    let replies = [
        crate::harness::finish_reply(first, "stop"),
        text_reply("other project"),
    ];
    let context = TestContext::new(replies).await;
    let other = context.home.path().join("other");
    std::fs::create_dir(&other).unwrap();
    let mut client = AcpClient::start(&context, json!({})).await;
    let session = client.open(&context).await;
    let prompt = client.prompt(&session, "Work").await;
    client.wait_for_update("agent_message_chunk").await;
    let params = json!({"cwd": other, "mcpServers": []});
    let opened = client.call("session/new", params).await.unwrap();
    let second = opened["sessionId"].as_str().unwrap().to_owned();
    assert_eq!(client.ask(&second, "Work here").await, "end_turn");
    let request = context.server.requests()[1].json().to_string();
    assert!(request.contains(other.to_str().unwrap()), "{request}");
    client
        .call("session/close", json!({"sessionId": second}))
        .await
        .unwrap();
    context.server.open_gate("end");
    let stopped = client.response(prompt).await.unwrap();
    assert_eq!(stopped["stopReason"], json!("end_turn"));
    // Every update names the session that it belongs to.
    let texts = client.notifications.iter().filter_map(|message| {
        let text = message["params"]["update"]["content"]["text"].as_str()?;
        Some((message["params"]["sessionId"].as_str()?, text))
    });
    for (id, text) in texts {
        assert_eq!(id == second, text.contains("other"), "{text}");
    }
}
