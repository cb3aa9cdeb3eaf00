//! What users see in Slack.

use pi_test_support::ScriptedReply;
use pretty_assertions::assert_eq;
use serde_json::json;

use crate::harness::{APP_TOKEN, BOT_TOKEN, BotTest, text_reply, tool_reply};

#[tokio::test]
async fn a_mention_is_answered_in_an_edited_post_with_details_and_a_file() {
    let test = BotTest::new([
        tool_reply(
            "bash",
            &json!({"command": "env > scratch/env.txt; echo made"}),
        ),
        tool_reply(
            "attach",
            &json!({"path": "scratch/env.txt", "title": "Variables"}),
        ),
        text_reply("**Done** & dusted"),
    ])
    .await;
    test.slack.repeat_envelopes();
    test.slack.limit("chat.postMessage", 1);
    test.slack.limit("chat.update", 2);
    let _bot = test.start();
    test.slack.say("C1", "U2", "unrelated chatter");
    test.slack.say("C1", "U1", "<@UBOT> make a file");
    test.slack
        .wait_for_answer("C1", "*Done* &amp; dusted")
        .await;
    test.wait_for_outcomes("C1", 1).await;
    test.slack.wait_for_acknowledgments().await;

    let answers = test.slack.answers("C1");
    assert_eq!(answers.len(), 1, "{answers:#?}");
    assert_eq!(answers[0].edits[0], "_Thinking_");
    let upload = &test.slack.uploads()[0];
    assert_eq!(
        (upload.name.as_str(), upload.channel.as_str()),
        ("env.txt", "C1")
    );
    let variables = String::from_utf8(upload.bytes.clone()).unwrap();
    assert!(variables.contains("HOME="), "{variables}");
    assert!(
        !variables.contains("secret") && !variables.contains("MOM_"),
        "{variables}"
    );
    let post = answers[0].ts.clone();
    test.slack
        .wait_until("details in the thread", |slack| {
            let messages = slack.messages();
            let mut details = messages
                .iter()
                .filter(|it| it.thread.as_ref() == Some(&post));
            details.any(|it| it.text.contains("made"))
        })
        .await;

    let request = test.model.wait_for_request(0).await.json().to_string();
    assert!(request.contains("[u2]: unrelated chatter"), "{request}");
    assert!(request.contains("[u1]: make a file"), "{request}");
    let log = test.log("C1");
    assert_eq!(log.len(), 3, "{log:#?}");
    assert_eq!(log[2]["user"], "bot");
    assert_eq!(log[2]["text"], "**Done** & dusted");
    let tokens = test.slack.tokens();
    assert!(tokens.contains(&format!("Bearer {APP_TOKEN}")));
    assert!(tokens.contains(&format!("Bearer {BOT_TOKEN}")));
}

#[tokio::test]
async fn one_request_runs_five_wait_and_the_sixth_is_rejected() {
    let mut gated = vec![ScriptedReply::event_stream().gate("go").disconnect()];
    gated.extend((1..=5).map(|n| text_reply(&format!("answer {n}"))));
    let test = BotTest::new(gated).await;
    let _bot = test.start();
    test.slack.say("C1", "U1", "<@UBOT> request 0");
    test.model.wait_for_gate("go").await;
    for n in 1..=6 {
        test.slack.say("C1", "U1", &format!("<@UBOT> request {n}"));
    }
    test.slack
        .wait_until("the queue is full", |slack| {
            slack
                .answers("C1")
                .iter()
                .any(|it| it.text.contains("queue is full"))
        })
        .await;
    test.model.open_gate("go");
    for n in 1..=5 {
        test.slack
            .wait_for_answer("C1", &format!("answer {n}"))
            .await;
    }
    test.wait_for_outcomes("C1", 7).await;
    assert_eq!(test.slack.answers("C1").len(), 7);
    assert_eq!(test.model.requests().len(), 6);
}

#[tokio::test]
async fn stop_ends_the_run_and_the_queue() {
    let stalled = ScriptedReply::event_stream().gate("asked").stall();
    let test = BotTest::new([stalled, text_reply("later")]).await;
    let _bot = test.start();
    test.slack.say("C1", "U1", "<@UBOT> work");
    test.model.wait_for_gate("asked").await;
    test.slack.say("C1", "U1", "<@UBOT> more work");
    test.slack.say("C1", "U1", "<@UBOT> stop");
    test.slack.wait_for_answer("C1", "_Stopped_").await;
    test.slack.wait_for_answer("C1", "_Stopping_").await;
    test.wait_for_outcomes("C1", 3).await;
    test.slack.say("C1", "U1", "<@UBOT> again");
    test.slack.wait_for_answer("C1", "later").await;
}

#[tokio::test]
async fn cost_is_counted_and_limited_by_day() {
    let test = BotTest::with_config(
        [text_reply("one"), text_reply("two")],
        &json!({"maxCostPerDay": 0.15}),
    )
    .await;
    let _bot = test.start_at_noon();
    test.slack.say("C1", "U1", "<@UBOT> a");
    test.slack.wait_for_answer("C1", "one").await;
    test.wait_for_outcomes("C1", 1).await;
    test.slack.say("C1", "U1", "<@UBOT> cost");
    test.slack
        .wait_for_answer("C1", "Cost of this channel: $0.10 today, $0.10 in total\nLimit of all channels: $0.15 per day")
        .await;
    test.slack.say("C2", "U1", "<@UBOT> b");
    test.slack.wait_for_answer("C2", "two").await;
    test.wait_for_outcomes("C2", 1).await;
    test.slack.say("C1", "U1", "<@UBOT> c");
    test.slack
        .wait_for_answer("C1", "_The limit of $0.15 per day is reached._")
        .await;
    assert_eq!(test.model.requests().len(), 2);
}

#[tokio::test]
async fn the_model_can_be_changed_and_users_can_be_excluded() {
    let test = BotTest::with_config(
        [text_reply("hello")],
        &json!({"users": ["U1"], "channels": ["C1"]}),
    )
    .await;
    let _bot = test.start();
    test.slack.say("C1", "U9", "<@UBOT> not for you");
    test.slack.say("C2", "U1", "<@UBOT> not here");
    test.slack.say("C1", "U1", "<@UBOT> model mock/beta-2");
    test.slack
        .wait_for_answer("C1", "Model: `mock/beta-2`, thinking: off")
        .await;
    test.slack.say("C1", "U1", "<@UBOT> hi");
    test.slack.wait_for_answer("C1", "hello").await;
    let request = test.model.wait_for_request(0).await.json();
    assert_eq!(request["model"], "beta-2");
    assert!(request.to_string().contains("[u9]: not for you"));
    assert_eq!(test.slack.answers("C1").len(), 2);
    assert_eq!(test.slack.answers("C2").len(), 0);
    assert!(!test.workspace().join("C2").exists());
}

#[tokio::test]
async fn attachments_are_stored_under_generated_names_up_to_a_size() {
    let test = BotTest::with_config([text_reply("seen")], &json!({"maxAttachmentSize": 10})).await;
    let files = json!([
        {"name": "../../evil.txt", "url_private": test.slack.file_url("a", b"small"), "size": 5},
        {"name": "big.bin", "url_private": test.slack.file_url("b", &[0; 11]), "size": 11},
    ]);
    let _bot = test.start();
    let ts = test
        .slack
        .say_with_files("C1", "U1", "<@UBOT> look", &files);
    test.slack.wait_for_answer("C1", "seen").await;
    let ms = ts.replace(".000100", "000");
    let attachments = test.workspace().join("C1/attachments");
    let stored = std::fs::read(attachments.join(format!("{ms}_0.txt"))).unwrap();
    assert_eq!(stored, b"small");
    assert!(!attachments.join(format!("{ms}_1.bin")).exists());
    let request = test.model.wait_for_request(0).await.json().to_string();
    assert!(request.contains("larger than 10 bytes"), "{request}");
}

#[tokio::test]
async fn silent_events_and_memory() {
    let test = BotTest::new([text_reply("[SILENT]"), text_reply("spoken")]).await;
    test.home.write("work/MEMORY.md", "The sky is green.");
    test.home.write("work/events/.keep", "");
    let _bot = test.start();
    test.slack.say("C1", "U2", "chatter");
    test.slack.wait_for_acknowledgments().await;
    let event =
        |text: &str| json!({"type": "immediate", "channelId": "C1", "text": text}).to_string();
    test.home
        .write("work/events/a.json", event("check quietly"));
    test.wait_for_outcomes("C1", 1).await;
    test.home.write("work/events/b.json", event("check loudly"));
    test.slack.wait_for_answer("C1", "spoken").await;
    assert_eq!(test.slack.answers("C1").len(), 1);
    let request = test.model.wait_for_request(0).await.json().to_string();
    assert!(request.contains("The sky is green."), "{request}");
    assert!(
        request.contains("[EVENT:a.json:immediate:immediate] check quietly"),
        "{request}"
    );
    test.wait_for_outcomes("C1", 2).await;
    assert!(!test.workspace().join("events/a.json").exists());
}

#[tokio::test]
async fn permissions_are_buttons_for_listed_users() {
    let test = BotTest::with_config(
        [
            tool_reply("bash", &json!({"command": "echo allowed > scratch/x"})),
            text_reply("done"),
        ],
        &json!({"approvers": ["U1"]}),
    )
    .await;
    let settings = json!({"retry": {"enabled": false}, "permissions": {"ask": ["bash"]}});
    test.home.write("agent/settings.json", settings.to_string());
    let _bot = test.start();
    test.slack.say("C1", "U2", "<@UBOT> try");
    let question = |slack: &crate::loopback_slack::LoopbackSlack| {
        let messages = slack.messages();
        messages
            .into_iter()
            .find(|it| it.blocks.is_array() && it.text.contains("Allow bash?"))
    };
    test.slack
        .wait_until("a question", |slack| question(slack).is_some())
        .await;
    let post = question(&test.slack).unwrap();
    assert!(post.thread.is_some());
    test.slack.press("C1", &post.ts, "U2", "0");
    test.slack.wait_for_acknowledgments().await;
    assert!(!test.workspace().join("C1/scratch/x").exists());
    test.slack.press("C1", &post.ts, "U1", "0");
    test.slack.wait_for_answer("C1", "done").await;
    assert!(test.workspace().join("C1/scratch/x").exists());
    let messages = test.slack.messages();
    let closed = messages.iter().find(|it| it.ts == post.ts).unwrap();
    assert!(closed.text.contains("<@U1>"), "{}", closed.text);
}

#[tokio::test]
async fn a_question_without_an_answer_is_denied() {
    let test = BotTest::with_config(
        [
            tool_reply("bash", &json!({"command": "echo allowed > scratch/x"})),
            text_reply("not done"),
        ],
        &json!({"approvers": ["U1"], "questionTimeout": 1}),
    )
    .await;
    let settings = json!({"retry": {"enabled": false}, "permissions": {"ask": ["bash"]}});
    test.home.write("agent/settings.json", settings.to_string());
    let _bot = test.start();
    test.slack.say("C1", "U2", "<@UBOT> try");
    test.slack.wait_for_answer("C1", "not done").await;
    assert!(!test.workspace().join("C1/scratch/x").exists());
    let request = test.model.wait_for_request(1).await.json().to_string();
    assert!(
        request.contains("It was not allowed in the chat."),
        "{request}"
    );
    test.slack
        .wait_until("the end of the question", |slack| {
            let messages = slack.messages();
            messages
                .iter()
                .any(|it| it.text.contains("Denied: no answer in time"))
        })
        .await;
}
