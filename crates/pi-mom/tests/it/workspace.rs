//! Workspaces of the predecessor, confined channels, terminals that attach, and memory.

use pretty_assertions::assert_eq;
use serde_json::json;

use crate::harness::{APP_TOKEN, BOT_TOKEN, BotTest, kill, text_reply, tool_reply};

#[tokio::test]
async fn a_channel_of_the_predecessor_continues() {
    let test = BotTest::new([text_reply("again")]).await;
    let log = r#"{"date":"2025-11-26T10:44:00.000Z","ts":"1764153840.000100","user":"U1","userName":"ann","displayName":"Ann","text":"hi","attachments":[{"original":"a.png","local":"C1/attachments/1_a.png"}],"isBot":false}
{"date":"2025-11-26T10:44:05.000Z","ts":"1764153845.000100","user":"bot","text":"hello","attachments":[],"isBot":true}
"#;
    let context = r#"{"type":"session","id":"11111111-2222-3333-4444-555555555555","timestamp":"2025-11-26T10:44:00.000Z","cwd":"/old"}
{"type":"message","timestamp":"2025-11-26T10:44:01.000Z","message":{"role":"user","content":[{"type":"text","text":"the old question"}],"timestamp":1}}
{"type":"message","timestamp":"2025-11-26T10:44:05.000Z","message":{"role":"assistant","content":[{"type":"text","text":"the old answer"}],"api":"anthropic-messages","provider":"anthropic","model":"claude","usage":{"input":1,"output":1,"cacheRead":0,"cacheWrite":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":2}}
"#;
    test.home.write("work/C1/log.jsonl", log);
    test.home.write("work/C1/context.jsonl", context);
    let _bot = test.start();
    test.slack.say("C1", "U1", "<@UBOT> go on");
    test.slack.wait_for_answer("C1", "again").await;
    test.wait_for_outcomes("C1", 1).await;
    let request = test.model.wait_for_request(0).await.json().to_string();
    assert!(
        request.contains("the old question") && request.contains("the old answer"),
        "{request}"
    );
    let now = std::fs::read_to_string(test.workspace().join("C1/log.jsonl")).unwrap();
    assert!(now.starts_with(log), "{now}");
    assert_eq!(test.log("C1").len(), 4);
    let unchanged = std::fs::read_to_string(test.workspace().join("C1/context.jsonl")).unwrap();
    assert_eq!(unchanged, context);
}

#[tokio::test]
async fn a_confined_channel_sees_no_other() {
    let command = "cat ../C2/log.jsonl; echo x > ../C2/x; echo x > ../mom.json; echo x >> log.jsonl; echo m >> ../MEMORY.md; \
                   echo own > scratch/own; \
                   cat ../../agent/auth.json; echo x > ../../agent/settings.json; echo x > ../../home/.bashrc; \
                   cat /proc/[0-9]*/environ | tr '\\0' '\\n' | grep -a TOKEN; \
                   for socket in ../../agent/live/*.sock; do \
                   python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1])' $socket && echo con''nected; done; \
                   ln -s ../C2 scratch/c2; cat scratch/c2/log.jsonl; mkdir .pi; echo end";
    let test = BotTest::with_config(
        [
            tool_reply("bash", &json!({"command": command})),
            tool_reply("read", &json!({"path": "../C2/log.jsonl"})),
            text_reply("done"),
        ],
        &json!({"sandbox": "confined"}),
    )
    .await;
    test.home.write(
        "agent/auth.json",
        r#"{"other":{"type":"api_key","key":"a secret"}}"#,
    );
    let settings = test.home.read("agent/settings.json");
    test.home.write(
        "work/C2/log.jsonl",
        "{\"date\":\"2025-11-26T10:44:00.000Z\",\"ts\":\"1\",\"user\":\"U1\",\"text\":\"a secret\",\"attachments\":[],\"isBot\":false}\n",
    );
    let _bot = test.start();
    test.slack.say("C1", "U1", "<@UBOT> go");
    let is_over = |slack: &crate::loopback_slack::LoopbackSlack| {
        slack
            .answers("C1")
            .iter()
            .any(|it| it.text == "done" || it.text.starts_with("_Cannot answer"))
    };
    test.slack.wait_until("an answer", is_over).await;
    let answers = test.slack.answers("C1");
    if answers[0].text.starts_with("_Cannot answer") {
        writeln_skip(&answers[0].text);
        return;
    }
    let request = test.model.wait_for_request(2).await.json().to_string();
    for leaked in ["a secret", APP_TOKEN, BOT_TOKEN, "connected"] {
        assert!(!request.contains(leaked), "{leaked}: {request}");
    }
    assert!(request.contains("end"), "{request}");
    assert_eq!(test.home.read("agent/settings.json"), settings);
    assert!(!test.home.path().join("home/.bashrc").exists());
    let workspace = test.workspace();
    assert!(!workspace.join("C2/x").exists());
    assert!(
        std::fs::read_to_string(workspace.join("mom.json"))
            .unwrap()
            .contains("confined")
    );
    assert_eq!(
        std::fs::read_to_string(workspace.join("MEMORY.md")).unwrap(),
        "m\n"
    );
    assert_eq!(
        std::fs::read_to_string(workspace.join("C1/scratch/own")).unwrap(),
        "own\n"
    );
    test.wait_for_outcomes("C1", 1).await;
    // Every line is one of the bot.
    assert_eq!(test.log("C1").len(), 2);
}

#[expect(clippy::print_stderr, reason = "a skipped test says why")]
fn writeln_skip(reason: &str) {
    eprintln!("skipped: {reason}");
}

#[tokio::test]
async fn a_session_can_be_attached_to() {
    let test = BotTest::new([text_reply("hello")]).await;
    let bot = test.start();
    test.slack.say("C1", "U1", "<@UBOT> hi");
    test.slack.wait_for_answer("C1", "hello").await;
    let home = test.home.path().join("home").display().to_string();
    let env = pi_env::Env::fixed([("HOME", home)]);
    let agent = test.home.path().join("agent");
    let live = pi_host::LiveDirectory::new(&agent, &env);
    let listening = async {
        // A session listens once it has a file.
        while live.list().await.len() != 1 {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    };
    let waited = tokio::time::timeout(std::time::Duration::from_mins(1), listening).await;
    assert!(waited.is_ok(), "{:?}", live.ids());
    kill(bot).await;
}

#[tokio::test]
async fn twenty_idle_channels_need_little_memory() {
    let test = BotTest::new((0..20).map(|n| text_reply(&format!("answer {n}")))).await;
    let bot = test.start();
    for n in 0..20 {
        test.slack.say(&format!("C{n}"), "U1", "<@UBOT> hi");
    }
    for n in 0..20 {
        test.wait_for_outcomes(&format!("C{n}"), 1).await;
    }
    check_memory(&bot);
    kill(bot).await;
    let bot = test.start();
    test.slack
        .wait_until("the history of all channels", |slack| {
            slack.calls("conversations.history") >= 40
        })
        .await;
    check_memory(&bot);
    kill(bot).await;
}

fn check_memory(bot: &tokio::process::Child) {
    let status = std::fs::read_to_string(format!("/proc/{}/status", bot.id().unwrap()));
    if let Ok(status) = status {
        let kilobytes = |name: &str| -> u64 {
            let value = status.lines().find_map(|line| line.strip_prefix(name));
            let value = value.unwrap().trim().trim_end_matches(" kB");
            value.parse().unwrap()
        };
        // What the program allocates; the rest is the program itself, which is larger without optimization.
        let (allocated, resident) = (kilobytes("RssAnon:"), kilobytes("VmRSS:"));
        assert!(allocated < 24 * 1024, "{allocated} of {resident} kB");
        assert!(resident < 80 * 1024, "{resident} kB");
    }
}
