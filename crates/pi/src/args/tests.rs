use pretty_assertions::assert_eq;

use super::*;

fn parse(line: &str) -> Args {
    Args::parse(line.split_whitespace().map(OsString::from))
}

fn words(words: &[&str]) -> Args {
    Args::parse(words.iter().map(OsString::from))
}

fn unknown(name: &str, value: Option<&str>) -> UnknownFlag {
    UnknownFlag {
        name: name.to_owned(),
        value: value.map(str::to_owned),
    }
}

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

#[test]
fn long_and_short_names_are_equivalent() {
    for (short, long) in [
        ("-h", "--help"),
        ("-v", "--version"),
        ("-p", "--print"),
        ("-p hello", "--print hello"),
        ("-c", "--continue"),
        ("-r", "--resume"),
        ("-n x", "--name x"),
        ("-t a,b", "--tools a,b"),
        ("-xt a,b", "--exclude-tools a,b"),
        ("-nbt", "--no-builtin-tools"),
        ("-nt", "--no-tools"),
        ("-e x", "--extension x"),
        ("-ne", "--no-extensions"),
        ("-ns", "--no-skills"),
        ("-np", "--no-prompt-templates"),
        ("-nc", "--no-context-files"),
        ("-a", "--approve"),
        ("-na", "--no-approve"),
    ] {
        assert_eq!(parse(short), parse(long), "{short}");
        assert_ne!(parse(long), Args::default(), "{long}");
        assert!(parse(long).problems.is_empty(), "{long}");
    }
}

#[test]
fn every_flag_changes_something() {
    for group in FlagGroup::ALL {
        for flag in Flag::of_group(group) {
            let value = match flag {
                Flag::Mode => "json",
                Flag::TuiMode => "fullscreen",
                Flag::ExtensionHost => "node",
                Flag::Thinking => "high",
                _ => "x",
            };
            let args = match flag.takes() {
                Takes::Nothing if flag == Flag::NoNetwork => words(&["--sandbox", flag.long()]),
                Takes::Nothing => words(&[flag.long()]),
                _ => words(&[flag.long(), value]),
            };
            assert_ne!(args, Args::default(), "{}", flag.long());
            assert!(args.problems.is_empty(), "{}", flag.long());
            assert!(args.unknown.is_empty(), "{}", flag.long());
        }
    }
}

#[test]
fn print_takes_a_message_but_no_flag_and_no_file() {
    for (line, messages, files) in [
        (vec!["-p"], vec![], vec![]),
        (vec!["-p", "hi"], vec!["hi"], vec![]),
        (vec!["-p", "@a"], vec![], vec!["a"]),
        (vec!["-p", "--- title"], vec!["--- title"], vec![]),
        (vec!["-p", "--offline"], vec![], vec![]),
        (vec!["-p", "-c", "hi"], vec!["hi"], vec![]),
        (vec!["-p", "one", "two"], vec!["one", "two"], vec![]),
        (vec!["-p", ""], vec![""], vec![]),
    ] {
        let args = words(&line);
        assert!(args.print, "{line:?}");
        assert_eq!(args.prompt.messages, texts(&messages), "{line:?}");
        assert_eq!(args.prompt.files, texts(&files), "{line:?}");
    }
}

#[test]
fn two_dashes_end_the_flags() {
    let args = words(&["-p", "--", "-x", "--help", "@file", "--", "last"]);
    assert_eq!(args.prompt.messages, texts(&["-x", "--help", "--", "last"]));
    assert_eq!(args.prompt.files, texts(&["file"]));
    assert!(!args.help);
}

#[test]
fn unclaimed_flags_are_explained() {
    for (line, expected) in [
        ("--model", "--model needs a value"),
        (
            "--model=x",
            "--model takes its value as the next argument: --model PATTERN",
        ),
        (
            "--print=hi",
            "--print takes its value as the next argument: --print MESSAGE",
        ),
        ("--continue=yes", "--continue takes no value"),
        (
            "--plan",
            "unknown option --plan: not a pi option and not registered by an extension; see pi --help",
        ),
    ] {
        let args = parse(line);
        let flag = args.unknown.first().unwrap();
        assert_eq!(flag.error_message(), expected, "{line}");
    }
}

#[test]
fn unknown_long_flags_are_kept_for_extensions() {
    for (line, expected) in [
        ("--plan", vec![unknown("plan", None)]),
        ("--plan fast", vec![unknown("plan", Some("fast"))]),
        ("--plan=fast", vec![unknown("plan", Some("fast"))]),
        ("--plan=", vec![unknown("plan", Some(""))]),
        ("--plan -c", vec![unknown("plan", None)]),
        ("--plan @file", vec![unknown("plan", None)]),
        ("--model=x", vec![unknown("model", Some("x"))]),
        ("--model", vec![unknown("model", None)]),
        ("--tools", vec![unknown("tools", None)]),
    ] {
        assert_eq!(parse(line).unknown, expected, "{line}");
        assert!(parse(line).problems.is_empty(), "{line}");
    }
}

#[test]
fn values_may_look_like_flags() {
    assert_eq!(
        parse("--model --help").model.model.as_deref(),
        Some("--help")
    );
    assert_eq!(parse("-n -x").session.name.as_deref(), Some("-x"));
    assert_eq!(
        parse("--system-prompt @a")
            .resources
            .system_prompt
            .as_deref(),
        Some("@a")
    );
}

#[test]
fn invalid_arguments_are_errors() {
    for (line, part) in [
        ("-z", "-z"),
        ("-pc", "-pc"),
        ("-", "-"),
        ("-t", "-t"),
        ("-e", "-e"),
        ("--mode", "text, json, rpc or acp"),
        ("--mode nope", "nope"),
        ("--mode -p", "text, json, rpc or acp"),
        ("--tui-mode", "regular or fullscreen"),
        ("--tui-mode tall", "tall"),
        ("--use-theme", "theme"),
        ("--use-theme -p", "theme"),
        ("--name", "--name"),
        ("-n", "--name"),
    ] {
        let args = parse(line);
        let Some(Problem::Error(message)) = args.problems.first() else {
            panic!("{line}")
        };
        assert!(message.contains(part), "{line}: {message}");
    }
}

#[test]
fn an_unknown_thinking_level_is_a_warning() {
    let args = parse("--thinking ultra -p x");
    assert_eq!(args.model.thinking, None);
    assert!(
        matches!(args.problems.as_slice(), [Problem::Warning(message)] if message.contains("ultra"))
    );
    assert_eq!(
        parse("--thinking xhigh").model.thinking,
        Some(ThinkingLevel::Xhigh)
    );
}

#[test]
fn lists_are_split_at_commas() {
    assert_eq!(
        parse("-t read,,bash,").tools.allow,
        Some(texts(&["read", "bash"]))
    );
    assert_eq!(words(&["-t", ""]).tools.allow, Some(Vec::new()));
    assert_eq!(
        words(&["--models", "a, b,"]).model.models,
        Some(texts(&["a", "b", ""]))
    );
}

#[test]
fn the_last_value_wins() {
    assert_eq!(parse("-a -na").trust, Some(false));
    assert_eq!(
        parse("--model a --model b").model.model.as_deref(),
        Some("b")
    );
    assert_eq!(
        parse("--skill a --skill b").resources.skills,
        texts(&["a", "b"])
    );
}

#[test]
fn list_models_takes_a_search() {
    for (line, expected) in [
        ("--list-models", ListModels::All),
        ("--list-models son", ListModels::Matching("son".to_owned())),
        ("--list-models -p", ListModels::All),
        ("--list-models @x", ListModels::All),
    ] {
        assert_eq!(parse(line).list_models, Some(expected), "{line}");
    }
}

#[test]
fn debug_output_omits_the_api_key() {
    let args = parse("--api-key sk-secret");
    assert_eq!(args.model.api_key.as_deref(), Some("sk-secret"));
    assert!(!format!("{args:?}").contains("sk-secret"));
}

#[test]
fn no_tools_wins_over_no_builtin_tools() {
    for line in ["-nt -nbt", "-nbt -nt"] {
        assert_eq!(parse(line).tools.defaults, DefaultTools::None, "{line}");
    }
    assert_eq!(parse("-nbt").tools.defaults, DefaultTools::NoBuiltin);
}

#[test]
fn a_list_of_tools_is_names_or_changes() {
    let tools = parse("--tools r*,ls").tools;
    assert_eq!(tools.allow, Some(vec!["r*".to_owned(), "ls".to_owned()]));
    let tools = parse("-t +grep,-bash").tools;
    assert_eq!(tools.allow, None);
    assert_eq!(tools.changes, ["+grep", "-bash"]);
    for line in ["-t read,+grep", "-t +gr*"] {
        let problems = parse(line).problems;
        assert!(matches!(problems[..], [Problem::Error(_)]), "{problems:?}");
    }
}

#[test]
fn files_with_mcp_servers_belong_to_the_directory_of_the_process() {
    let args = parse("--mcp-config a/mcp.json");
    let cwd = std::env::current_dir().unwrap();
    assert_eq!(args.resources.mcp_config, [cwd.join("a/mcp.json")]);
}

#[test]
fn mistyped_sandbox_modes_are_no_messages() {
    for mode in [
        "readonly",
        "ro",
        "read",
        "read_only",
        "READ-ONLY",
        "Try",
        "tri",
        "workspacee",
        "wrokspace",
        "workspaces",
        "ws",
        "rw",
        "off",
        "none",
        "on",
        "true",
        "yes",
        "no",
        "full",
        "danger-full-access",
        "workspace-write",
    ] {
        for line in [
            format!("--sandbox {mode} -p hi"),
            format!("--sandbox={mode}"),
        ] {
            let args = parse(&line);
            let [Problem::Error(error)] = args.problems.as_slice() else {
                panic!("{line}: {:?}", args.problems);
            };
            assert!(error.contains(&format!("\"{mode}\"")), "{error}");
            assert!(error.contains("workspace, try or read-only"), "{error}");
        }
    }
    for mode in [
        SandboxMode::Workspace,
        SandboxMode::Try,
        SandboxMode::ReadOnly,
    ] {
        for line in [
            format!("--sandbox {mode} hi"),
            format!("--sandbox={mode} hi"),
        ] {
            let args = parse(&line);
            assert_eq!(args.sandbox.mode, Some(mode.into()), "{line}");
            assert_eq!(args.prompt.messages, texts(&["hi"]), "{line}");
            assert!(args.problems.is_empty(), "{line}");
        }
    }
    for message in [
        "explain",
        "the",
        "why",
        "any",
        "my",
        "it",
        "fix the read-only bug",
        "go",
        "/help",
        "",
        "read!",
    ] {
        let args = words(&["--sandbox", message]);
        assert_eq!(args.sandbox.mode, Some(SandboxMode::Workspace.into()));
        assert_eq!(args.prompt.messages, texts(&[message]));
        assert!(args.problems.is_empty(), "{message}");
    }
    let args = words(&["--sandbox", "--", "readonly"]);
    assert_eq!(args.prompt.messages, texts(&["readonly"]));
    for line in ["--sandbox=x", "--sandbox="] {
        assert_eq!(parse(line).problems.len(), 1, "{line}");
    }
}
