//! What a waiting request says of itself, and Escape in each phase of a run.

use std::net::TcpListener;

use pi_test_support::ScriptedReply;
use serde_json::json;

use crate::process::{World, answer, begin_with, finish};
use crate::terminal::Terminal;

/// Sends a prompt, waits for a phase, stops it, and checks that the conversation goes on.
async fn stopped_while(first: ScriptedReply, shown: &str) {
    let world = World::new([first, answer("Still here.")]).await;
    let terminal = Terminal::start(&world, &[]);
    terminal.wait("alpha");
    terminal.submit("begin");
    // The screen may know of the request before the server does, which answers in the order of arrival.
    world.server.wait_for_request(0).await;
    terminal.wait(shown);
    terminal.send("\x1b");
    terminal.wait_gone("to stop");
    terminal.submit("are you there");
    terminal.wait("Still here.");
    terminal.quit();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_without_an_answer_waits_for_the_model() {
    stopped_while(ScriptedReply::new(), "Waiting for the model").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn thinking_is_named_and_stops() {
    let thought = json!({"role": "assistant", "reasoning_content": "Let me see"});
    stopped_while(begin_with(&thought).gate("never"), "Thinking…").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_whose_arguments_arrive_is_named_and_stops() {
    let call = json!({"role": "assistant", "tool_calls": [{
        "index": 0, "id": "call_1", "type": "function",
        "function": {"name": "bash", "arguments": "{\"command\": \"echo half"},
    }]});
    stopped_while(begin_with(&call).gate("never"), "Preparing bash").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pause_before_another_attempt_stops() {
    let busy = ScriptedReply::full(503, &[], "{\"error\": {\"message\": \"overloaded\"}}");
    stopped_while(busy, "Trying again in").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_is_not_made_says_so_and_stops() {
    // Accepts connections and never greets: the handshake does not end.
    let deaf = TcpListener::bind("127.0.0.1:0").unwrap();
    let world = World::new([]).await;
    let models = world.home.read("agent/models.json");
    let address = format!("https://{}/v1", deaf.local_addr().unwrap());
    let models = models.replace(&format!("{}/v1", world.server.url()), &address);
    world.home.write("agent/models.json", models);
    let terminal = Terminal::start(&world, &[]);
    terminal.wait("alpha");
    terminal.submit("begin");
    terminal.wait("Connecting…");
    terminal.send("\x1b");
    terminal.wait_gone("to stop");
    terminal.quit();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_compaction_stops_and_nothing_is_lost() {
    let long = format!("{}\n\nThe end of it.", "word ".repeat(30_000));
    let world = World::new([
        answer(&long),
        answer("A second answer."),
        ScriptedReply::new(),
        answer("Still here."),
    ])
    .await;
    world.home.write(
        "agent/settings.json",
        "{\"compaction\": {\"keepRecentTokens\": 10}}",
    );
    let terminal = Terminal::start(&world, &[]);
    terminal.wait("alpha");
    terminal.submit("say a lot");
    terminal.wait("The end of it.");
    terminal.wait_gone("to stop");
    terminal.submit("and more");
    terminal.wait("A second answer.");
    terminal.wait_gone("to stop");
    terminal.submit("/compact");
    terminal.wait("Compacting…");
    terminal.send("typed meanwhile");
    terminal.wait("typed meanwhile");
    terminal.send("\x1b");
    terminal.wait("not compacted");
    terminal.wait("typed meanwhile");
    terminal.send("\r");
    terminal.wait("Still here.");
    terminal.quit();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_prompt_nobody_can_answer_is_kept_and_leaves_the_prompt_free() {
    let world = World::new([answer("Asked after all.")]).await;
    let models = world.home.read("agent/models.json");
    let keyless = models.replace("\"apiKey\":\"k\"", "\"apiKey\":\"$NO_SUCH_KEY\"");
    assert_ne!(models, keyless);
    world.home.write("agent/models.json", keyless);
    let terminal = Terminal::start(&world, &[]);
    terminal.wait("No model can be asked yet");
    terminal.submit("the first question");
    terminal.wait("Your message is kept");
    // What is typed next stands alone.
    terminal.send("/hotkeys");
    terminal.wait("Show the keys");
    terminal.send("\x03");
    terminal.wait_gone("/hotkeys");
    world.home.write("agent/models.json", &models);
    terminal.submit("/reload");
    terminal.wait("read again");
    terminal.submit("/model alpha");
    terminal.wait("/model mock/alpha");
    terminal.send("\r");
    terminal.wait("Model: alpha");
    terminal.wait("the first question");
    terminal.send("\r");
    terminal.wait("Asked after all.");
    terminal.quit();
}

#[tokio::test(flavor = "multi_thread")]
async fn usage_of_the_cache_shows_below_the_prompt() {
    let usage = json!({
        "id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [],
        "usage": {"prompt_tokens": 1000, "completion_tokens": 5, "total_tokens": 1005,
            "prompt_tokens_details": {"cached_tokens": 750}},
    });
    let reply = begin_with(&json!({"role": "assistant", "content": "Cached."}));
    let reply = reply.chunk(format!("data: {usage}\n\n"));
    let world = World::new([finish(reply, "stop")]).await;
    let terminal = Terminal::start(&world, &[]);
    terminal.wait("alpha");
    terminal.submit("hello");
    terminal.wait("CH75.0%");
    terminal.quit();
}
