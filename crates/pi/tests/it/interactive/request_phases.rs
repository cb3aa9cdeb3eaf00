//! The status of a pending request, and interrupting it in each phase.

use std::net::TcpListener;

use pi_test_support::ScriptedReply;
use serde_json::json;

use crate::harness::{TestContext, finish_reply, partial_reply_with, text_reply};
use crate::terminal::Terminal;

/// Sends a prompt, waits until `shown` appears, interrupts the run, and checks that the next prompt works.
async fn assert_interruptible(first: ScriptedReply, shown: &str) {
    let context = TestContext::new([first, text_reply("Still here.")]).await;
    let terminal = Terminal::start(&context, &[]);
    terminal.wait("alpha");
    terminal.submit("start");
    // The screen may show the request before it reaches the server, which replies in the order of arrival.
    context.server.wait_for_request(0).await;
    terminal.wait(shown);
    terminal.send("\x1b");
    terminal.wait_gone("to stop");
    terminal.submit("are you there");
    terminal.wait("Still here.");
    terminal.quit();
}

#[tokio::test(flavor = "multi_thread")]
async fn waiting_for_the_response_can_be_interrupted() {
    assert_interruptible(ScriptedReply::new(), "Waiting for response").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn thinking_can_be_interrupted() {
    let thinking = json!({"role": "assistant", "reasoning_content": "Let me see"});
    assert_interruptible(partial_reply_with(&thinking).gate("never"), "Thinking…").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn streaming_tool_arguments_can_be_interrupted() {
    let call = json!({"role": "assistant", "tool_calls": [{
        "index": 0, "id": "call_1", "type": "function",
        "function": {"name": "bash", "arguments": "{\"command\": \"echo half"},
    }]});
    assert_interruptible(partial_reply_with(&call).gate("never"), "Preparing bash").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_retry_delay_can_be_interrupted() {
    let busy = ScriptedReply::full(503, &[], "{\"error\": {\"message\": \"overloaded\"}}");
    assert_interruptible(busy, "Retrying in").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn connecting_can_be_interrupted() {
    // Accepts connections but never completes the TLS handshake.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let context = TestContext::new([]).await;
    let models = context.home.read("agent/models.json");
    let address = format!("https://{}/v1", listener.local_addr().unwrap());
    let models = models.replace(&format!("{}/v1", context.server.url()), &address);
    context.home.write("agent/models.json", models);
    let terminal = Terminal::start(&context, &[]);
    terminal.wait("alpha");
    terminal.submit("start");
    terminal.wait("Connecting…");
    terminal.send("\x1b");
    terminal.wait_gone("to stop");
    terminal.quit();
}

#[tokio::test(flavor = "multi_thread")]
async fn compaction_can_be_interrupted_without_data_loss() {
    let long = format!("{}\n\nThe end of it.", "word ".repeat(30_000));
    let context = TestContext::new([
        text_reply(&long),
        text_reply("A second answer."),
        ScriptedReply::new(),
        text_reply("Still here."),
    ])
    .await;
    context.home.write(
        "agent/settings.json",
        "{\"compaction\": {\"keepRecentTokens\": 10}}",
    );
    let terminal = Terminal::start(&context, &[]);
    terminal.wait("alpha");
    terminal.submit("write a lot");
    terminal.wait("The end of it.");
    terminal.wait_gone("to stop");
    terminal.submit("and more");
    terminal.wait("A second answer.");
    terminal.wait_gone("to stop");
    terminal.submit("/compact");
    terminal.wait("Compacting…");
    terminal.send("typed during compaction");
    terminal.wait("typed during compaction");
    terminal.send("\x1b");
    terminal.wait("Compaction canceled");
    terminal.wait("typed during compaction");
    terminal.send("\r");
    terminal.wait("Still here.");
    terminal.quit();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_sent_without_a_model_is_kept_for_later() {
    let context = TestContext::new([text_reply("Sent later.")]).await;
    let models = context.home.read("agent/models.json");
    let keyless = models.replace("\"apiKey\":\"k\"", "\"apiKey\":\"$NO_SUCH_KEY\"");
    assert_ne!(models, keyless);
    context.home.write("agent/models.json", keyless);
    let terminal = Terminal::start(&context, &[]);
    terminal.wait("No model configured");
    terminal.submit("the first question");
    terminal.wait("Your message is saved");
    // The kept message is not in the prompt.
    terminal.send("/hotkeys");
    terminal.wait("Show keyboard shortcuts");
    terminal.send("\x03");
    terminal.wait_gone("/hotkeys");
    context.home.write("agent/models.json", &models);
    terminal.submit("/reload");
    terminal.wait("Reloaded keys");
    terminal.submit("/model alpha");
    terminal.wait("/model mock/alpha");
    terminal.send("\r");
    terminal.wait("Model: alpha");
    terminal.wait("the first question");
    terminal.send("\r");
    terminal.wait("Sent later.");
    terminal.quit();
}

#[tokio::test(flavor = "multi_thread")]
async fn cache_usage_is_shown_in_the_footer() {
    let usage = json!({
        "id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [],
        "usage": {"prompt_tokens": 1000, "completion_tokens": 5, "total_tokens": 1005,
            "prompt_tokens_details": {"cached_tokens": 750}},
    });
    let reply = partial_reply_with(&json!({"role": "assistant", "content": "Cached."}));
    let reply = reply.chunk(format!("data: {usage}\n\n"));
    let context = TestContext::new([finish_reply(reply, "stop")]).await;
    let terminal = Terminal::start(&context, &[]);
    terminal.wait("alpha");
    terminal.submit("hello");
    terminal.wait("CH75.0%");
    terminal.quit();
}
