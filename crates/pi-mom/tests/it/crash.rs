//! The process is killed at every step of a run; the next one answers exactly once.

use pi_test_support::ScriptedReply;
use pretty_assertions::assert_eq;
use serde_json::json;

use crate::harness::{BotTest, kill, text_reply, tool_reply};
use crate::loopback_slack::Hold;

/// Starts the bot again and checks that there is one answer.
async fn restart_and_check(test: &BotTest, answer: &str) {
    let _bot = test.start();
    test.slack.wait_for_answer("C1", answer).await;
    test.wait_for_outcomes("C1", 1).await;
    test.slack.wait_for_acknowledgments().await;
    let answers = test.slack.answers("C1");
    assert_eq!(answers.len(), 1, "{answers:#?}");
    assert_eq!(answers[0].text, answer);
    test.assert_log_is_unique("C1");
    let log = test.log("C1");
    let own = log.iter().filter(|line| line["isBot"] == true);
    assert_eq!(own.count(), 1, "{log:#?}");
}

#[tokio::test]
async fn killed_while_the_status_is_posted() {
    for when in [Hold::BeforeEffect, Hold::AfterEffect] {
        let test = BotTest::new([text_reply("answer")]).await;
        test.slack.hold("chat.postMessage", "Thinking", when);
        let bot = test.start();
        test.slack.say("C1", "U1", "<@UBOT> hi");
        test.slack.wait_for_hold().await;
        kill(bot).await;
        restart_and_check(&test, "answer").await;
        assert_eq!(test.model.requests().len(), 1);
    }
}

#[tokio::test]
async fn killed_while_the_model_responds() {
    let asked = ScriptedReply::event_stream().gate("asked").stall();
    let test = BotTest::new([asked, text_reply("answer")]).await;
    let bot = test.start();
    test.slack.say("C1", "U1", "<@UBOT> hi");
    test.model.wait_for_gate("asked").await;
    kill(bot).await;
    restart_and_check(&test, "answer").await;
    let again = test.model.wait_for_request(1).await.json().to_string();
    assert_eq!(again.matches("[u1]: hi").count(), 1, "{again}");
}

#[tokio::test]
async fn killed_while_a_tool_runs() {
    let command = "echo ran >> scratch/ran; while true; do sleep 1; done";
    let test = BotTest::new([
        tool_reply("bash", &json!({"command": command})),
        text_reply("recovered"),
    ])
    .await;
    let bot = test.start();
    test.slack.say("C1", "U1", "<@UBOT> hi");
    let ran = test.workspace().join("C1/scratch/ran");
    while !ran.exists() {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    kill(bot).await;
    restart_and_check(&test, "recovered").await;
    assert_eq!(std::fs::read_to_string(&ran).unwrap(), "ran\n");
    let again = test.model.wait_for_request(1).await.json().to_string();
    assert!(
        again.contains("restarted while these tools ran: bash"),
        "{again}"
    );
}

#[tokio::test]
async fn killed_while_the_answer_is_posted() {
    for when in [Hold::BeforeEffect, Hold::AfterEffect] {
        let test = BotTest::new([text_reply("answer")]).await;
        test.slack.hold("chat.update", "answer", when);
        let bot = test.start();
        test.slack.say("C1", "U1", "<@UBOT> hi");
        test.slack.wait_for_hold().await;
        kill(bot).await;
        restart_and_check(&test, "answer").await;
        assert_eq!(test.model.requests().len(), 1);
    }
}

#[tokio::test]
async fn killed_in_a_long_answer() {
    let long = format!("{}\n{}", "a".repeat(30_000), "b".repeat(30_000));
    for when in [Hold::BeforeEffect, Hold::AfterEffect] {
        let test = BotTest::new([text_reply(&long)]).await;
        test.slack.hold("chat.postMessage", "bbbb", when);
        let bot = test.start();
        test.slack.say("C1", "U1", "<@UBOT> hi");
        test.slack.wait_for_hold().await;
        kill(bot).await;
        restart_and_check(&test, &format!("{}\n", "a".repeat(30_000))).await;
        let messages = test.slack.messages();
        let rest = messages.iter().filter(|it| it.thread.is_some());
        assert_eq!(rest.filter(|it| it.text.contains("bbbb")).count(), 1);
    }
}

#[tokio::test]
async fn a_backlog_is_logged_and_its_requests_are_answered_once() {
    let test = BotTest::new([
        text_reply("first"),
        text_reply("second"),
        text_reply("third"),
    ])
    .await;
    let bot = test.start();
    test.slack.say("C1", "U1", "<@UBOT> before");
    test.slack.wait_for_answer("C1", "first").await;
    test.wait_for_outcomes("C1", 1).await;
    kill(bot).await;
    for n in 0..10_000 {
        let is_request = n == 4000 || n == 8000;
        let message = if is_request {
            "<@UBOT> missed"
        } else {
            "chatter"
        };
        test.slack.add_message("C1", "U2", message);
    }
    let bot = test.start();
    test.slack.wait_for_answer("C1", "third").await;
    test.wait_for_outcomes("C1", 3).await;
    test.slack.disconnect();
    test.slack
        .wait_until("a new connection", |slack| {
            slack.calls("apps.connections.open") >= 3
        })
        .await;
    kill(bot).await;
    test.assert_log_is_unique("C1");
    assert_eq!(test.log("C1").len(), 10_004);
    assert_eq!(test.slack.answers("C1").len(), 3);
}
