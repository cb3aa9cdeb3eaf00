//! Prompts, answers, tools, and stopping them.

use pi_test_support::ScriptedReply;

use crate::process::{World, answer, begin, delta_text, finish, shell_call};
use crate::terminal::Terminal;

#[tokio::test(flavor = "multi_thread")]
async fn a_first_prompt_is_answered_and_the_terminal_comes_back() {
    let world = World::new([answer("The answer is dahlia.")]).await;
    let terminal = Terminal::start(&world, &[]);
    terminal.wait("alpha");
    terminal.submit("name a flower");
    terminal.wait("The answer is dahlia.");
    terminal.wait("name a flower");
    terminal.quit();
    assert_eq!(world.server.requests().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_of_the_command_line_is_said_at_once() {
    let world = World::new([answer("Said at once.")]).await;
    let terminal = Terminal::start(&world, &["say it"]);
    terminal.wait("Said at once.");
    terminal.quit();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_runs_and_its_output_shows() {
    let world = World::new([shell_call("echo tool-$((40+2))"), answer("Counted.")]).await;
    let terminal = Terminal::start(&world, &[]);
    terminal.wait("alpha");
    terminal.submit("count");
    terminal.wait("tool-42");
    terminal.wait("Counted.");
    terminal.quit();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_shows_while_it_arrives_and_escape_stops_it() {
    let world = World::new([
        begin("The beginning").gate("never").chunk("unheard"),
        answer("Still here."),
    ])
    .await;
    let terminal = Terminal::start(&world, &[]);
    terminal.wait("alpha");
    terminal.submit("tell me");
    world.server.wait_for_gate("never").await;
    terminal.wait("The beginning");
    terminal.send("\x1b");
    terminal.wait_gone("to stop");
    terminal.submit("are you there");
    terminal.wait("Still here.");
    assert!(!terminal.screen().contains("unheard"));
    terminal.quit();
}

#[tokio::test(flavor = "multi_thread")]
async fn escape_stops_a_request_nobody_answered_yet() {
    let world = World::new([ScriptedReply::new(), answer("Back again.")]).await;
    let terminal = Terminal::start(&world, &[]);
    terminal.wait("alpha");
    terminal.submit("hello");
    terminal.wait("hello");
    world.server.wait_for_request(0).await;
    terminal.wait("to stop");
    terminal.send("\x1b");
    terminal.wait_gone("to stop");
    terminal.submit("hello again");
    terminal.wait("Back again.");
    terminal.quit();
}

#[tokio::test(flavor = "multi_thread")]
async fn escape_stops_a_tool() {
    let world = World::new([shell_call("echo begun; sleep 600"), answer("Never mind.")]).await;
    let terminal = Terminal::start(&world, &[]);
    terminal.wait("alpha");
    terminal.submit("run");
    terminal.wait("begun");
    terminal.send("\x1b");
    terminal.wait_gone("to stop");
    terminal.submit("well");
    terminal.wait("Never mind.");
    terminal.quit();
}

#[tokio::test(flavor = "multi_thread")]
async fn steering_and_follow_ups_wait_and_come_back_for_editing() {
    let world = World::new([
        finish(
            begin("Busy").gate("go").chunk(delta_text(" no more.")),
            "stop",
        ),
        answer("Heard the steering."),
        answer("Heard the follow-up."),
    ])
    .await;
    let terminal = Terminal::start(&world, &[]);
    terminal.wait("alpha");
    terminal.submit("work");
    world.server.wait_for_gate("go").await;
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
    world.server.open_gate("go");
    terminal.wait("Heard the follow-up.");
    terminal.wait("Heard the steering.");
    terminal.quit();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_storm_of_resizes_during_an_answer_leaves_a_clean_screen() {
    let mut reply = begin("line 0\n\n");
    for number in 1..200 {
        reply = reply.chunk(delta_text(&format!("line {number}\n\n")));
        if number == 100 {
            reply = reply.gate("middle");
        }
    }
    let world = World::new([finish(reply, "stop")]).await;
    let terminal = Terminal::start(&world, &[]);
    terminal.wait("alpha");
    terminal.submit("many lines");
    world.server.wait_for_gate("middle").await;
    for step in 0..40_u16 {
        terminal.resize(40 + (step * 7) % 80, 8 + (step * 5) % 30);
    }
    terminal.resize(90, 24);
    world.server.open_gate("middle");
    terminal.wait("line 199");
    terminal.wait_gone("to stop");
    let screen = terminal.screen();
    assert_eq!(screen.matches("line 199").count(), 1, "{screen}");
    terminal.quit();
}
