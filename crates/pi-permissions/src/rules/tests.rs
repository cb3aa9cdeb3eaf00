use pretty_assertions::assert_eq;
use serde_json::json;

use super::*;

fn rules(settings: serde_json::Value) -> PermissionRules {
    let settings: PermissionSettings = serde_json::from_value(settings).unwrap();
    let home = Some(Path::new("/home/a"));
    PermissionRules::parse(&settings, Path::new("/project"), home).unwrap()
}

fn decide(rules: &PermissionRules, tool: &str, argument: &str) -> Verdict {
    let name = if tool == "bash" { "command" } else { "path" };
    let mut arguments = JsonObject::new();
    arguments.insert(name.to_owned(), json!(argument));
    rules.decide(ToolUse {
        tool,
        arguments: &arguments,
    })
}

#[test]
fn nothing_is_asked_without_rules() {
    let rules = rules(json!({}));
    assert!(rules.is_empty());
    for command in ["rm -rf /", "$(x)", "for x in y; do z; done"] {
        assert_eq!(decide(&rules, "bash", command).effect, Effect::Allow);
    }
}

#[test]
fn the_strongest_rule_decides() {
    let rules = rules(json!({
        "deny": ["bash(git push --force *)"],
        "ask": ["bash(git push *)"],
        "allow": ["bash(git *)", "bash(ls *)", "bash(cargo test)"],
    }));
    for (command, effect) in [
        ("git status", Effect::Allow),
        ("git log | git shortlog; ls", Effect::Allow),
        ("git push origin", Effect::Ask),
        ("git push --force", Effect::Deny),
        ("git -C x push --force", Effect::Deny),
        ("ls && git push --force origin main", Effect::Deny),
        ("timeout 5 git push --force", Effect::Deny),
        ("cargo test", Effect::Allow),
        ("cargo test -p x", Effect::Ask),
        ("ls 2>/dev/null", Effect::Allow),
        ("ls $HOME", Effect::Allow),
        ("make", Effect::Ask),
        ("", Effect::Allow),
    ] {
        assert_eq!(decide(&rules, "bash", command).effect, effect, "{command}");
    }
    let reason = |command| decide(&rules, "bash", command).reason.text();
    assert_eq!(reason("git push -n"), "the rule bash(git push *)");
    assert_eq!(reason("git push $(x)"), "the rule bash(git push *)");
    assert_eq!(
        reason("ls made\u{202e}x"),
        "the command contains invisible characters"
    );
    assert_eq!(reason("make"), "no allow rule matches");
    assert_eq!(reason("ls $(x)"), "the command contains a substitution");
}

#[test]
fn commands_are_tried_unless_a_stronger_rule_matches() {
    let rules = rules(json!({
        "deny": ["bash(npm publish *)"],
        "ask": ["bash(npm run *)"],
        "try": ["bash(npm *)", "bash(make)"],
        "allow": ["bash(npm ls)", "bash(ls *)"],
    }));
    for (command, effect) in [
        ("npm install", Effect::Try),
        ("npm ls", Effect::Try),
        ("ls && npm ci", Effect::Try),
        ("timeout 5 npm install", Effect::Try),
        ("npm $COMMAND", Effect::Ask),
        ("make", Effect::Try),
        ("make x", Effect::Ask),
        ("npm run build", Effect::Ask),
        ("npm install; npm publish", Effect::Deny),
        ("npm install $(x)", Effect::Ask),
        ("npm install --script-shell=x", Effect::Ask),
        ("GIT_PAGER=x npm install", Effect::Ask),
        ("npm --silent publish", Effect::Ask),
        ("ls", Effect::Allow),
    ] {
        assert_eq!(decide(&rules, "bash", command).effect, effect, "{command}");
    }
    let mut arguments = JsonObject::new();
    arguments.insert("command".to_owned(), json!("npm start"));
    let process = ToolUse {
        tool: "process",
        arguments: &arguments,
    };
    assert_eq!(rules.decide(process).effect, Effect::Ask);
    let settings = serde_json::from_value(json!({"try": ["write(x)"]})).unwrap();
    let error = PermissionRules::parse(&settings, Path::new("/project"), None).unwrap_err();
    assert_eq!(error.error, RuleError::OnlyCommands);
}

/// The ways around an allow list that studies of coding agents report.
#[test]
fn allow_lists_cannot_be_bypassed_by_commands_that_run_others() {
    let rules = rules(json!({"allow": [
        "bash(ls *)", "bash(find *)", "bash(echo *)", "bash(go *)", "bash(env *)", "bash(xargs *)", "bash(git *)",
        "bash(cat *)", "bash(timeout *)", "bash(tar *)", "bash(sudo *)", "bash(python3 *)", "bash(export *)", "bash(sed *)",
    ]}));
    let many = "ls;".repeat(51);
    for command in [
        "ls | xargs rm",
        "find . -exec rm {} \\;",
        "find . -delete",
        "find . '-ex'ec rm {} +",
        "env rm x",
        "env A=1 ls",
        "LD_PRELOAD=./x.so ls",
        "ls; rm x",
        "ls\nrm x",
        "ls\rrm x",
        "ls & rm x",
        "ls || rm x",
        "ls $(rm x)",
        "ls `rm x`",
        "cat <(rm x)",
        "echo x > ~/.bashrc",
        "echo x >> ~/.bashrc",
        "echo x &> ~/.bashrc",
        "echo x >| y",
        "go test -exec rm ./...",
        "go test -exec=rm ./...",
        "git -c core.pager='rm x' log",
        "git grep --open-files-in-pager=rm x",
        "timeout 5 rm x",
        "timeout --foreground 5 rm x",
        "tar --to-command=rm -xf a",
        "sudo rm x",
        "/tmp/ls",
        "./ls",
        "$LS",
        "l*",
        "{ls,-l}",
        "ls() { rm x; }",
        "eval ls",
        "bash -c ls",
        ". ls",
        "python3 -c x",
        "PATH=. ls",
        "A='1' ls",
        "export PATH=.; ls",
        "export LD_PRELOAD=./x.so",
        "find . *",
        "tar cf x *",
        "git grep -Orm x",
        "git bisect run ls",
        "git --git-dir=x log",
        "git $X",
        "sed '1e rm x' y",
        "sed -i.bak s/a/b/ y",
        "coproc ls",
        "ls <<< x",
        "time A=1 ls",
        "\u{a0}ls",
        "ls # x\nrm x",
        "ls \\\n& rm x",
        "! rm x",
        "if ls; then ls; fi",
        "select x in a; do ls; done",
        "((ls))",
        "[[ ls ]]",
        many.as_str(),
    ] {
        let verdict = decide(&rules, "bash", command);
        assert_eq!(verdict.effect, Effect::Ask, "{command}: {verdict:?}");
    }
}

#[test]
fn deny_lists_see_through_quotes_directories_and_launchers() {
    let rules = rules(json!({"deny": ["bash(rm *)", "bash(shutdown)"]}));
    for command in [
        "rm x",
        "r'm' x",
        "r\\m x",
        "/bin/rm x",
        "true; rm x",
        "A=1 rm x",
        "rm x > y",
        "nohup rm x",
        "env rm x",
        "timeout 5 nice -n 3 rm x",
        "shutdown",
        "A='1' rm x",
        "A=\"$B\" C='' rm x",
        "time rm x",
        "time ! rm x",
        "time -p A=1 rm x",
        "env 'A-B=1' rm x",
        "{fd}> a rm x",
        "RM x",
        "rm.exe x",
        "ls | xargs rm",
        "sudo -u root rm x",
        "sh -c 'rm x'",
        "bash <<< 'rm x'",
        "bash << E\nrm x\nE",
        "find . -exec rm {} +",
        "echo $(rm x)",
        "echo \"`rm x`\"",
        "(rm x)",
        "ls() { rm x; }; ls",
        "for x in a; do rm x; done",
        "case a in a) rm x;; esac",
        "ls\rrm x",
        "git -c alias.x='!rm x' x",
        "eval 'rm x'",
        "exec rm x",
        "coproc rm x",
        "hash -p /bin/rm ls; ls x",
    ] {
        assert_eq!(
            decide(&rules, "bash", command).effect,
            Effect::Deny,
            "{command}"
        );
    }
    for command in [
        "$RM x",
        "$'\\x72m' x",
        "/bin/r? x",
        "{rm,x}",
        "sh script",
        "python3 -c 'import os; os.system(\"rm x\")'",
        "perl -e 'unlink x'",
        "awk 'BEGIN{system(\"rm x\")}'",
        "echo rm x | sh",
        "echo code | python3",
        "GIT_SSH_COMMAND='rm x' git fetch",
        "PAGER='rm x' git log",
        "export GIT_SSH_COMMAND='rm x'; git fetch",
        "export \"$X\"; git fetch",
        "BASH_ENV=x make",
        "git config alias.x '!rm x'",
        "test -v 'a[$(rm x)]'",
        "cat << E > script\nrm x\nE",
    ] {
        assert_eq!(
            decide(&rules, "bash", command).effect,
            Effect::Ask,
            "{command}"
        );
    }
    for command in [
        "ls",
        "cargo build > log",
        "A=1 make",
        "grep rm x",
        "find . -name rm",
        "echo 'a; rm x'",
        "git commit -m 'rm x; rm y'",
        "RUST_LOG=debug cargo test",
        "PATH=~/bin:$PATH make",
        "export PATH=~/bin:$PATH; make",
        "GIT_AUTHOR_NAME=me git commit",
        "time make",
        "cd src && ls > /dev/null",
    ] {
        assert_eq!(
            decide(&rules, "bash", command).effect,
            Effect::Allow,
            "{command}"
        );
    }
}

#[test]
fn an_exact_rule_allows_what_a_wildcard_does_not() {
    let rules =
        rules(json!({"allow": ["bash(sudo systemctl restart app)", "bash(find . -delete)"]}));
    for (command, effect) in [
        ("sudo systemctl restart app", Effect::Allow),
        ("find . -delete", Effect::Allow),
        ("sudo systemctl restart other", Effect::Ask),
        ("find . -delete > x", Effect::Ask),
    ] {
        assert_eq!(decide(&rules, "bash", command).effect, effect, "{command}");
    }
}

#[test]
fn rules_for_files_apply_to_related_tools_and_redirections() {
    let rules = rules(json!({
        "deny": ["write(/etc/**)", "read(**/.env)"],
        "ask": ["write(.github/**)"],
    }));
    for (tool, argument, effect) in [
        ("write", "/etc/passwd", Effect::Deny),
        ("edit", "/etc/passwd", Effect::Deny),
        ("edit", "../etc/passwd", Effect::Deny),
        ("edit", "src/main.rs", Effect::Allow),
        ("write", ".github/workflows/a.yml", Effect::Ask),
        ("read", "a/.env", Effect::Deny),
        ("grep", "a/.env", Effect::Deny),
        ("read", "/etc/passwd", Effect::Allow),
        ("bash", "echo x > /etc/passwd", Effect::Deny),
        ("bash", "echo x > .github/y", Effect::Ask),
        ("bash", "echo x > $FILE", Effect::Ask),
        ("bash", "echo x > y", Effect::Allow),
        ("bash", "cd /etc && echo x > passwd", Effect::Deny),
        ("bash", "cd / && cd etc; echo x > passwd", Effect::Deny),
        ("bash", "cd ~/../../etc; echo x > passwd", Effect::Deny),
        ("bash", "command cd /etc && echo x > passwd", Effect::Deny),
        ("bash", "cd $DIR && echo x > passwd", Effect::Ask),
        ("bash", "cd - && echo x > passwd", Effect::Ask),
        ("bash", "echo x > ~root/passwd", Effect::Ask),
        ("bash", "cd $DIR && echo x > /tmp/y", Effect::Allow),
        ("bash", "cd src && echo x > y", Effect::Allow),
        ("bash", "(echo x > /etc/passwd)", Effect::Deny),
        ("bash", "cat << E > /etc/passwd\nx\nE", Effect::Deny),
    ] {
        let verdict = decide(&rules, tool, argument);
        assert_eq!(verdict.effect, effect, "{tool} {argument}: {verdict:?}");
    }
}

#[cfg(unix)]
#[test]
fn a_link_does_not_lead_around_a_rule() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().canonicalize().unwrap();
    std::os::unix::fs::symlink("/etc", root.join("link")).unwrap();
    let parse = |settings: serde_json::Value| {
        let settings: PermissionSettings = serde_json::from_value(settings).unwrap();
        PermissionRules::parse(&settings, &root, None).unwrap()
    };
    let denied = parse(json!({"deny": ["write(/etc/**)"]}));
    assert_eq!(decide(&denied, "write", "link/x").effect, Effect::Deny);
    let allowed = parse(json!({"allow": ["write(./**)"]}));
    assert_eq!(decide(&allowed, "write", "new/x").effect, Effect::Allow);
    assert_eq!(decide(&allowed, "write", "link/x").effect, Effect::Ask);
}

#[test]
fn rules_name_tools_with_wildcards() {
    let rules =
        rules(json!({"deny": ["mcp__github__delete_*"], "ask": ["mcp__*"], "allow": ["read"]}));
    for (tool, effect) in [
        ("mcp__github__delete_repo", Effect::Deny),
        ("mcp__github__list", Effect::Ask),
        ("codemode", Effect::Allow),
        ("bash", Effect::Allow),
    ] {
        assert_eq!(decide(&rules, tool, "x").effect, effect, "{tool}");
    }
}

#[test]
fn invalid_rules_are_errors() {
    let directories = Path::new("/project");
    for (rule, expected) in [
        (json!("(x)"), "the name of a tool is missing"),
        (json!("bash(x"), "the closing parenthesis is missing"),
        (
            json!("codemode(x)"),
            "only bash, read, write, edit, ls, grep and find take a pattern in parentheses",
        ),
        (
            json!("bash(a; b)"),
            "its pattern must be one command without variables and redirections",
        ),
        (json!("bash($(a))"), "its command contains a substitution"),
        (
            json!(42),
            "a rule is text such as \"bash(git push *)\", or an object with \"rule\"",
        ),
        (
            json!({"rule": "bash(a *)", "match": []}),
            "a rule is text such as \"bash(git push *)\", or an object with \"rule\"",
        ),
        (
            json!({"rule": "bash(a *)", "matches": ["b"]}),
            "it does not match its example \"b\"",
        ),
        (
            json!({"rule": "bash(a *)", "ignores": ["x; a b"]}),
            "it matches \"x; a b\", which it should ignore",
        ),
    ] {
        let settings: PermissionSettings = serde_json::from_value(json!({"deny": [rule]})).unwrap();
        let invalid = PermissionRules::parse(&settings, directories, None).unwrap_err();
        assert_eq!(invalid.error.to_string(), expected);
    }
    rules(json!({"ask": [
        {"rule": "bash(git push *)", "matches": ["git push", "ls; git push -f"], "ignores": ["git pull"]},
        {"rule": "write(/etc/**)", "matches": ["/etc/x"], "ignores": ["etc/x"]},
    ]}));
}

#[test]
fn commands_in_the_background_follow_the_rules_for_bash() {
    let rules = rules(json!({"deny": ["bash(rm *)"], "ask": ["process"]}));
    let decide = |arguments: serde_json::Value| {
        let serde_json::Value::Object(arguments) = arguments else {
            unreachable!()
        };
        let call = ToolUse {
            tool: "process",
            arguments: &arguments,
        };
        rules.decide(call).effect
    };
    let start = |command: &str| json!({"action": "start", "name": "x", "command": command});
    assert_eq!(decide(start("rm -r build")), Effect::Deny);
    assert_eq!(decide(start("npm run dev")), Effect::Ask);
    assert_eq!(decide(json!({"action": "list"})), Effect::Ask);
}
