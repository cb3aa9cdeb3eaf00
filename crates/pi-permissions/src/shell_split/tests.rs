use pretty_assertions::assert_eq;

use super::*;

/// Words joined by spaces; `$` marks expanded words, `>` written files, `=` variables.
fn shown(command: &str) -> Vec<String> {
    let show = |word: &Word| {
        let mark = if word.is_expanded { "$" } else { "" };
        format!("{mark}[{}]", word.text)
    };
    let script = split(command);
    assert_eq!(script.unclear, None, "{command}");
    let commands = script.commands;
    let commands = commands.iter().map(|command| {
        let mut parts: Vec<String> = command.words.iter().map(show).collect();
        if !command.variables.is_empty() {
            parts.insert(0, "=".to_owned());
        }
        let written = command.written_files.iter().map(show);
        parts.extend(written.map(|file| format!(">{file}")));
        parts.join(" ")
    });
    commands.collect()
}

#[test]
fn lists_and_pipelines_are_separate_commands() {
    assert_eq!(
        shown("git status && cargo test -p x | tail -5; ls & pwd || true |& cat\nid"),
        [
            "[git] [status]",
            "[cargo] [test] [-p] [x]",
            "[tail] [-5]",
            "[ls]",
            "[pwd]",
            "[true]",
            "[cat]",
            "[id]"
        ]
    );
}

#[test]
fn quotes_and_escapes_are_removed() {
    assert_eq!(
        shown(r#"r'm' "a b" c\ d "x\"y" '$HOME' "e\f" l\s"#),
        ["[rm] [a b] [c d] [x\"y] [$HOME] [e\\f] [ls]"]
    );
    assert_eq!(shown("ls \\\n  -l"), ["[ls] [-l]"]);
    assert_eq!(shown("echo '' # rm"), ["[echo] []"]);
    assert_eq!(shown("echo a#b"), ["[echo] [a#b]"]);
}

#[test]
fn expanded_words_are_marked() {
    assert_eq!(
        shown("ls $HOME \"$A/b\" *.rs a? $ '*'"),
        ["[ls] $[$HOME] $[$A/b] $[*.rs] $[a?] [$] [*]"]
    );
    assert_eq!(
        shown("git show stash@{0} {}"),
        ["[git] [show] [stash@{0}] [{}]"]
    );
}

#[test]
fn variables_and_redirections_are_not_words() {
    assert_eq!(shown("A=1 B+=2 make C=3"), ["= [make] [C=3]"]);
    assert_eq!(shown("A='1 2' B=\"$X\" make"), ["= [make]"]);
    assert_eq!(shown("'A'=1 make"), ["[A=1] [make]"]);
    assert_eq!(shown("time -p A=1 make"), ["= [time] [-p] [make]"]);
    assert_eq!(shown("A=1"), ["="]);
    assert_eq!(
        shown("cmd < in > out 2>> err 2>&1 &> all >| forced <> both >& file 3>&-"),
        ["[cmd] >[out] >[err] >[all] >[forced] >[both] >[file]"]
    );
    assert_eq!(
        shown("! grep x y 2>/dev/null"),
        ["[grep] [x] [y] >[/dev/null]"]
    );
}

#[test]
fn what_is_known_only_when_it_runs_is_unclear() {
    for command in [
        "echo $(rm x)",
        "echo `rm x`",
        "echo \"$(rm x)\"",
        "echo \"`rm x`\"",
        "cat <(rm x)",
        "tee >(rm x)",
        "echo ${x}",
        "echo $((1))",
        "(rm x)",
        "{ rm x; }",
        "f() { rm x; }",
        "if true; then rm x; fi",
        "for x in a; do rm $x; done",
        "while true; do rm x; done",
        "case a in a) rm x;; esac",
        "[[ a ]]",
        "cat << E\nrm x\nE",
        "cat <<< x",
        "$'\\x72m' x",
        "{rm,-rf,x}",
        "echo {1..3}",
        "ls\rrm x",
        "echo \u{1b}[A",
        "echo 'a",
        "echo \"a",
        "echo \\",
        "echo >",
        "echo > > a",
        "{fd}> a rm x",
        "A['$(rm x)']=1",
        "echo $[1]",
        "rm\u{a0}x",
        "rm\u{200b} x",
        "echo '\0'",
        "echo \\\n$\\\n(rm x)",
    ] {
        assert!(split(command).unclear.is_some(), "{command}");
    }
}

#[test]
fn many_commands_are_unclear() {
    assert_eq!(split(&"true;".repeat(50)).unclear, None);
    assert_eq!(
        split(&"true;".repeat(51)).unclear,
        Some(Unclear("more than 50 commands"))
    );
}

#[test]
fn a_continued_line_hides_no_expansion() {
    assert_eq!(shown("$\\\nX a"), ["$[$X] [a]"]);
    assert_eq!(shown("ls &\\\n& id"), ["[ls]", "[id]"]);
    assert_eq!(shown("echo '\\\n'"), ["[echo] [\\\n]"]);
}

#[test]
fn commands_in_unclear_parts_are_found() {
    for command in [
        "echo $(rm x)",
        "echo \"a $(rm x) b\"",
        "echo `rm x`",
        "echo ${X:-$(rm x)}",
        "cat <(rm x)",
        "tee >(rm x) y",
        "(ls; rm x)",
        "{ rm x; }",
        "f() { rm x; }",
        "function f { rm x; }",
        "if true; then rm x; fi",
        "for x in a b; do rm x; done",
        "while true; do rm x; done",
        "until rm x; do true; done",
        "case a in a) rm x;; esac",
        "select x in a; do rm x; done",
        "coproc rm x",
        "[[ a ]] && rm x",
        "((1)) && rm x",
        "echo $((1)) && rm x",
        "ls\rrm x",
        "A[0]=$(rm x)",
        "cat << E\n$(rm x)\nE",
        "cat << 'E'\nls\nE\nrm x",
        "cat <<- E\n\tls\n\tE\nrm x",
        "{fd}> a rm x",
    ] {
        let commands = split(command).commands;
        let is_found = commands.iter().any(|command| {
            let texts: Vec<&str> = command
                .words
                .iter()
                .map(|word| word.text.as_str())
                .collect();
            texts == ["rm", "x"]
        });
        assert!(is_found, "{command}: {commands:?}");
    }
}

#[test]
fn text_is_no_command() {
    for command in [
        "cat << E\nrm x\nE",
        "cat << 'E'\n$(rm x)\nE",
        "cat <<< 'rm x'",
        "echo 'a; rm x'",
    ] {
        let commands = split(command).commands;
        assert!(
            !format!("{commands:?}").contains("\"rm\""),
            "{command}: {commands:?}"
        );
    }
}

#[test]
fn deep_nesting_ends() {
    for command in [
        "$(".repeat(100_000),
        "(".repeat(100_000),
        "cat <<E\n$(".repeat(10_000),
    ] {
        assert!(split(&command).unclear.is_some());
    }
}
