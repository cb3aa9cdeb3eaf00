//! Prompts, responses, tools, and interrupting them.

use pi_test_support::ScriptedReply;

use crate::harness::{
    TestContext, bash_reply, finish_reply, partial_reply, text_delta, text_reply,
};
use crate::terminal::Terminal;

#[tokio::test(flavor = "multi_thread")]
async fn a_prompt_is_answered_and_quitting_restores_the_terminal() {
    let context = TestContext::new([text_reply("The answer is dahlia.")]).await;
    let terminal = Terminal::start(&context, &[]);
    terminal.wait("alpha");
    terminal.submit("name a flower");
    terminal.wait("The answer is dahlia.");
    terminal.wait("name a flower");
    terminal.quit();
    assert_eq!(context.server.requests().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_on_the_command_line_is_sent_at_startup() {
    let context = TestContext::new([text_reply("Sent at startup.")]).await;
    let terminal = Terminal::start(&context, &["hello"]);
    terminal.wait("Sent at startup.");
    terminal.quit();
}

#[tokio::test(flavor = "multi_thread")]
async fn tool_output_is_shown() {
    let context =
        TestContext::new([bash_reply("echo tool-$((40+2))"), text_reply("Counted.")]).await;
    let terminal = Terminal::start(&context, &[]);
    terminal.wait("alpha");
    terminal.submit("count");
    terminal.wait("tool-42");
    terminal.wait("Counted.");
    terminal.quit();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_response_is_shown_while_it_streams_and_can_be_interrupted() {
    let context = TestContext::new([
        partial_reply("The beginning")
            .gate("never")
            .chunk("never sent"),
        text_reply("Still here."),
    ])
    .await;
    let terminal = Terminal::start(&context, &[]);
    terminal.wait("alpha");
    terminal.submit("start");
    context.server.wait_for_gate("never").await;
    terminal.wait("The beginning");
    terminal.send("\x1b");
    terminal.wait_gone("to stop");
    terminal.submit("are you there");
    terminal.wait("Still here.");
    assert!(!terminal.screen().contains("never sent"));
    terminal.quit();
}

#[tokio::test(flavor = "multi_thread")]
async fn escape_interrupts_a_pending_request() {
    let context = TestContext::new([ScriptedReply::new(), text_reply("Back again.")]).await;
    let terminal = Terminal::start(&context, &[]);
    terminal.wait("alpha");
    terminal.submit("hello");
    terminal.wait("hello");
    context.server.wait_for_request(0).await;
    terminal.wait("to stop");
    terminal.send("\x1b");
    terminal.wait_gone("to stop");
    terminal.submit("hello again");
    terminal.wait("Back again.");
    terminal.quit();
}

#[tokio::test(flavor = "multi_thread")]
async fn escape_interrupts_a_tool() {
    let context = TestContext::new([
        bash_reply("echo started; sleep 600"),
        text_reply("Never mind."),
    ])
    .await;
    let terminal = Terminal::start(&context, &[]);
    terminal.wait("alpha");
    terminal.submit("run");
    terminal.wait("started");
    terminal.send("\x1b");
    terminal.wait_gone("to stop");
    terminal.submit("next");
    terminal.wait("Never mind.");
    terminal.quit();
}

#[tokio::test(flavor = "multi_thread")]
async fn queued_messages_can_be_edited_and_are_sent() {
    let context = TestContext::new([
        finish_reply(
            partial_reply("Busy")
                .gate("go")
                .chunk(text_delta(" no more.")),
            "stop",
        ),
        text_reply("Received the steering."),
        text_reply("Received the follow-up."),
    ])
    .await;
    let terminal = Terminal::start(&context, &[]);
    terminal.wait("alpha");
    terminal.submit("work");
    context.server.wait_for_gate("go").await;
    terminal.submit("turn left");
    terminal.wait("Steering: turn left");
    terminal.send("turn right");
    terminal.send("\x1b\r");
    terminal.wait("Follow-up: turn right");
    terminal.send("\x1b[1;3A");
    terminal.wait_gone("Steering: turn left");
    terminal.wait("turn right");
    terminal.send("\x03");
    terminal.wait_gone("turn right");
    terminal.submit("steer again");
    terminal.wait("Steering: steer again");
    terminal.send("follow later");
    terminal.send("\x1b\r");
    terminal.wait("Follow-up: follow later");
    context.server.open_gate("go");
    terminal.wait("Received the follow-up.");
    terminal.wait("Received the steering.");
    terminal.quit();
}

#[tokio::test(flavor = "multi_thread")]
async fn rapid_resizes_during_a_response_leave_a_clean_screen() {
    let mut reply = partial_reply("line 0\n\n");
    for number in 1..200 {
        reply = reply.chunk(text_delta(&format!("line {number}\n\n")));
        if number == 100 {
            reply = reply.gate("middle");
        }
    }
    let context = TestContext::new([finish_reply(reply, "stop")]).await;
    let terminal = Terminal::start(&context, &[]);
    terminal.wait("alpha");
    terminal.submit("many lines");
    context.server.wait_for_gate("middle").await;
    for step in 0..40_u16 {
        terminal.resize(40 + (step * 7) % 80, 8 + (step * 5) % 30);
    }
    terminal.resize(90, 24);
    context.server.open_gate("middle");
    terminal.wait("line 199");
    terminal.wait_gone("to stop");
    let screen = terminal.screen();
    assert_eq!(screen.matches("line 199").count(), 1, "{screen}");
    terminal.quit();
}
