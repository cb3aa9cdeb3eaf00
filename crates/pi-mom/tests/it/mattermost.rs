//! The same bot in Mattermost.

use pi_test_support::ScriptedReply;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::harness::{BotTest, kill, text_reply, tool_reply};
use crate::loopback_mattermost::LoopbackMattermost;

async fn start(replies: Vec<ScriptedReply>) -> (BotTest, LoopbackMattermost) {
    let server = LoopbackMattermost::start().await;
    let config = json!({
        "service": "mattermost", "mattermost": {"url": server.url()}, "approvers": ["user1"],
    });
    (BotTest::with_config(replies, &config).await, server)
}

fn run(test: &BotTest) -> tokio::process::Child {
    let workspace = test.workspace();
    let mut command = test.command(&[]);
    command
        .env("MOM_MATTERMOST_TOKEN", "t")
        .arg(workspace)
        .spawn()
        .unwrap()
}

fn has_answer(posts: &[Value], text: &str) -> bool {
    posts
        .iter()
        .any(|post| post["message"] == text && post["root_id"].is_null())
}

#[tokio::test]
async fn a_mention_is_answered_with_a_permission_and_a_file() {
    let replies = vec![
        tool_reply("bash", &json!({"command": "echo hi > scratch/f"})),
        tool_reply("attach", &json!({"path": "scratch/f"})),
        text_reply("**done**"),
    ];
    let (test, server) = start(replies).await;
    let settings = json!({"permissions": {"ask": ["bash"]}});
    test.home.write("agent/settings.json", settings.to_string());
    let _bot = run(&test);
    server.say("chan1", "user2", "context");
    server.say("chan1", "user2", "@mom make a file");
    let question = |server: &LoopbackMattermost| {
        let posts = server.posts_of_bot();
        let question = posts
            .into_iter()
            .find(|post| post["message"].as_str().unwrap().contains(":one: Allow"));
        question.map(|post| post["id"].as_str().unwrap().to_owned())
    };
    server
        .wait_until("a question", |server| question(server).is_some())
        .await;
    server.react("chan1", &question(&server).unwrap(), "user1", "one");
    server
        .wait_until("the answer", |server| {
            has_answer(&server.posts_of_bot(), "**done**")
        })
        .await;
    test.wait_for_outcomes("chan1", 1).await;
    assert_eq!(server.files(), [b"hi\n"]);
    let request = test.model.wait_for_request(0).await.json().to_string();
    assert!(request.contains("[name-user2]: make a file"), "{request}");
}

#[tokio::test]
async fn a_killed_bot_answers_what_it_missed_once() {
    let stalled = ScriptedReply::event_stream().gate("asked").stall();
    let (test, server) = start(vec![stalled, text_reply("one"), text_reply("two")]).await;
    let bot = run(&test);
    server.say("chan1", "user1", "@mom first");
    test.model.wait_for_gate("asked").await;
    kill(bot).await;
    server.say("chan1", "user1", "@mom second");
    server.say("chan1", "user1", "@mommy not you");
    let _bot = run(&test);
    server
        .wait_until("two answers", |server| {
            has_answer(&server.posts_of_bot(), "two")
        })
        .await;
    test.wait_for_outcomes("chan1", 2).await;
    let posts = server.posts_of_bot();
    assert!(has_answer(&posts, "one"), "{posts:#?}");
    assert_eq!(posts.len(), 2, "{posts:#?}");
    test.assert_log_is_unique("chan1");
}
