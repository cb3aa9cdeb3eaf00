//! Commands and options that do not call a model.

use pretty_assertions::assert_eq;

use crate::harness::{TestContext, text_reply};

#[tokio::test]
async fn version_and_help_create_no_files() {
    let context = TestContext::new([]).await;
    for arguments in [["--version"], ["-v"]] {
        let run = context.run(&arguments).await;
        assert_eq!(
            (run.code, run.stdout.as_str(), run.stderr.as_str()),
            (Some(0), "1.5.0\n", "")
        );
    }
    let verbose = context.run(&["--version", "--verbose"]).await;
    assert_eq!(verbose.code, Some(0));
    assert!(
        verbose.stdout.contains("release 1.5.0+rs."),
        "{}",
        verbose.stdout
    );
    let help = context
        .run(&["--help", "--fork", "x", "--no-session"])
        .await;
    assert_eq!((help.code, help.stderr.as_str()), (Some(0), ""));
    assert!(help.stdout.contains("--append-system-prompt"));
    assert!(!context.home.path().join("home").exists());
    let agent: Vec<_> = std::fs::read_dir(context.home.path().join("agent"))
        .unwrap()
        .collect();
    assert_eq!(agent.len(), 1, "only models.json exists");
}

#[tokio::test]
async fn invalid_arguments_are_reported_on_one_line_with_hints() {
    let context = TestContext::new([]).await;
    for (arguments, part) in [
        (vec!["-z", "-p", "x"], "-z"),
        (vec!["--mode", "nope", "x"], "nope"),
        (vec!["--frobnicate", "-p", "x"], "--frobnicate"),
        // Sessions start later, without the sandbox that was meant.
        (vec!["acp", "--sandbx", "read-only"], "--sandbx"),
        (vec!["serve", "--sandbx", "read-only"], "--sandbx"),
        (vec!["--mode", "rpc", "@a.txt"], "@file"),
        (
            vec!["-p", "x", "--fork", "a", "--no-session"],
            "--no-session",
        ),
        (vec!["-p", "x", "--session-id", "-bad-"], "-bad-"),
        (vec!["-p", "x", "--name", " "], "--name"),
        (vec!["-p", "@missing.txt", "x"], "missing.txt"),
        (vec!["-p", "x", "--model", "no-such-model"], "no-such-model"),
        (
            vec!["-p", "x", "--session", "no-such-session"],
            "no-such-session",
        ),
    ] {
        let run = context.run(&arguments).await;
        assert_eq!(
            (run.code, run.stdout.as_str()),
            (Some(1), ""),
            "{arguments:?}: {run:?}"
        );
        let first = run.stderr.lines().next().unwrap();
        assert!(
            first.starts_with("error: "),
            "{arguments:?}: {}",
            run.stderr
        );
        assert!(first.contains(part), "{arguments:?}: {}", run.stderr);
        let others = run.stderr.lines().skip(1);
        for line in others {
            assert!(line.starts_with("hint: "), "{arguments:?}: {}", run.stderr);
        }
    }
    assert!(context.server.requests().is_empty());
}

#[tokio::test]
async fn list_models_prints_a_table() {
    let context = TestContext::new([]).await;
    let run = context.run(&["--list-models"]).await;
    assert_eq!(run.code, Some(0));
    assert_eq!(
        run.stdout,
        "provider  model  context  max-out  thinking  images\n\
         mock      alpha  200K     8.2K     yes       yes   \n\
         mock      beta   200K     8.2K     no        yes   \n"
    );
    let run = context.run(&["--list-models", "zzz"]).await;
    assert_eq!(run.stdout, "No models matching \"zzz\"\n");
}

#[tokio::test]
async fn auth_commands_print_script_friendly_output() {
    let context = TestContext::new([]).await;
    for (arguments, code, stdout) in [
        (vec!["check", "--provider", "mock"], 0, "ready\n"),
        (
            vec!["check", "--provider", "mock", "--json"],
            0,
            "{\"status\":\"ready\",\"provider\":\"mock\",\"authType\":\"api_key\"}\n",
        ),
        (vec!["check", "--model", "alpha"], 0, "ready\n"),
        (
            vec!["check", "--provider", "mock", "--credentials"],
            0,
            "k\n",
        ),
        (vec!["check", "--provider", "openai"], 1, "not_ready\n"),
        (
            vec!["check", "--provider", "unknown", "--json"],
            1,
            "{\"status\":\"not_ready\",\"provider\":\"unknown\",\"reason\":\"provider_not_found\"}\n",
        ),
        (vec!["print-api-key", "--provider", "mock"], 0, "k\n"),
        (vec!["print-bearer-token", "--provider", "mock"], 1, ""),
        (vec!["check"], 2, ""),
        (vec!["frobnicate"], 1, ""),
    ] {
        let arguments: Vec<&str> = ["auth"].into_iter().chain(arguments).collect();
        let run = context.run(&arguments).await;
        assert_eq!(
            (run.code, run.stdout.as_str()),
            (Some(code), stdout),
            "{arguments:?}: {run:?}"
        );
    }
    context.home.write("agent/models.json", "{ broken");
    let run = context
        .run(&["auth", "check", "--provider", "mock", "--json"])
        .await;
    assert_eq!(run.code, Some(2));
    assert!(run.stdout.contains("invalid_state"));
}

#[tokio::test]
async fn local_packages_are_recorded_in_the_settings() {
    let context = TestContext::new([]).await;
    context
        .home
        .write("project/pkg/prompts/greet.md", "Say hello\n");
    let run = context.run(&["list"]).await;
    assert_eq!(
        (run.code, run.stdout.as_str()),
        (Some(0), "No packages installed.\n")
    );
    let run = context.run(&["install", "./pkg"]).await;
    assert_eq!(
        (run.code, run.stdout.as_str()),
        (Some(0), "Installed ./pkg\n"),
        "{run:?}"
    );
    let settings = context.home.read("agent/settings.json");
    assert!(settings.contains("\"../project/pkg\""), "{settings}");
    let run = context.run(&["list"]).await;
    assert!(
        run.stdout
            .starts_with("User packages:\n  ../project/pkg\n    "),
        "{run:?}"
    );
    for (arguments, part) in [
        (vec!["install", "npm:thing"], "npm:thing"),
        (vec!["install", "./missing"], "missing"),
        (vec!["remove", "./other"], "./other"),
        (vec!["update"], "update"),
    ] {
        let run = context.run(&arguments).await;
        assert_eq!(
            (run.code, run.stdout.as_str()),
            (Some(1), ""),
            "{arguments:?}"
        );
        assert!(run.stderr.contains(part), "{arguments:?}: {}", run.stderr);
    }
    let run = context.run(&["remove", "pkg"]).await;
    assert_eq!(
        (run.code, run.stdout.as_str()),
        (Some(0), "Removed pkg\n"),
        "{run:?}"
    );
    assert_eq!(
        context.run(&["list"]).await.stdout,
        "No packages installed.\n"
    );
}

#[tokio::test]
async fn exports_never_overwrite_sessions() {
    let context = TestContext::new([text_reply("one"), text_reply("two")]).await;
    for file in ["a.jsonl", "b.jsonl"] {
        let arguments = ["--model", "mock/alpha", "--session", file, "-p", "hi"];
        assert_eq!(context.run(&arguments).await.code, Some(0));
    }
    let file = |name: &str| context.project_dir().join(name);
    let before = ["a.jsonl", "b.jsonl"].map(|name| std::fs::read(file(name)).unwrap());
    for (arguments, expected) in [
        (
            &["--export", "a.jsonl", "b.jsonl"][..],
            "it is a session file",
        ),
        (
            &["--export", "a.jsonl", "./a.jsonl"],
            "it is a session file",
        ),
        (
            &["--export", "a.jsonl", "page.html", "b.jsonl"],
            "--export takes one session and one output file; unexpected: b.jsonl",
        ),
    ] {
        let run = context.run(arguments).await;
        assert_eq!(run.code, Some(1), "{run:?}");
        assert!(run.stderr.contains(expected), "{run:?}");
    }
    let own = file("a.jsonl").to_string_lossy().into_owned();
    let command = serde_json::json!({"type": "export_html", "outputPath": own});
    let arguments = [
        "--mode",
        "rpc",
        "--model",
        "mock/alpha",
        "--session",
        "a.jsonl",
    ];
    let run = context
        .run_with_input(&arguments, &format!("{command}\n"))
        .await;
    assert!(run.stdout.contains("it is a session file"), "{run:?}");
    let after = ["a.jsonl", "b.jsonl"].map(|name| std::fs::read(file(name)).unwrap());
    assert!(after[1] == before[1], "the other session changed");
    assert!(
        after[0].starts_with(&before[0]),
        "the session was overwritten"
    );
    assert!(!file("page.html").exists());
}

#[tokio::test]
async fn doctor_finds_settings_with_which_pi_does_not_start() {
    for settings in [
        r#"{"permissions": {"deny": ["bash(git"]}}"#,
        r#"{"sandbox": {"mode": "strict"}}"#,
    ] {
        let context = TestContext::new([]).await;
        context.home.write("agent/settings.json", settings);
        let run = context.run(&["doctor"]).await;
        assert_eq!(run.code, Some(1), "{}", run.stdout);
        let fix = "correct the settings; pi does not start with them";
        assert!(run.stdout.contains(fix), "{}", run.stdout);
        let refused = context.run(&["-p", "x"]).await;
        assert_eq!(refused.code, Some(1), "{}", refused.stdout);
    }
}

#[tokio::test]
async fn help_of_acp_names_its_options() {
    let context = TestContext::new([]).await;
    let run = context.run(&["acp", "--help"]).await;
    assert_eq!(run.code, Some(0));
    assert!(run.stdout.contains("--login"), "{}", run.stdout);
}
