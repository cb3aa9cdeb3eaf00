//! Short scripts of quotes, operators, here-documents and words, as rules and bash understand them.
//!
//! Only scripts that the rules allow are run, and only with programs that the test provides.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use pi_permissions::{Effect, PermissionRules, ToolUse};
use pi_protocol::json::JsonObject;
use pi_protocol::settings::{PermissionRule, PermissionSettings};
use pi_test_support::write_program;
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};

use crate::replay::FuzzBudget;

const BASH: &str = "/bin/bash";

/// The denied program.
const DENIED: &str = "rm";

const PIECES: &[&str] = &[
    " ",
    " ",
    " ",
    " ",
    "\n",
    "\n",
    "\t",
    ";",
    "&&",
    "||",
    "|",
    "|&",
    "&",
    "'",
    "'",
    "\"",
    "\"",
    "\\",
    "\\\n",
    "#",
    " #",
    "echo",
    "echo ",
    "true",
    "a",
    "x",
    "-n",
    "--",
    "rm",
    "rm x",
    " rm x",
    ">",
    ">>",
    "<",
    "2>&1",
    "&>",
    ">|",
    "<>",
    ">&",
    "<&",
    "<<E\n",
    "<<-E\n",
    "<<'E'\n",
    "<< \"E\"\n",
    "<<\\E\n",
    "\nE\n",
    "\n\tE\n",
    "<<<",
    "(",
    ")",
    "{",
    "}",
    "{ ",
    " }",
    "$",
    "$(",
    "`",
    "${",
    "$'",
    "$\"",
    "$((",
    "))",
    "$[",
    "]",
    "[",
    "[[",
    "]]",
    "*",
    "?",
    "~",
    "!",
    "! ",
    "=",
    "A=1 ",
    "A=",
    "A+=x ",
    "A[0]=",
    "$A",
    "${A",
    "time ",
    "time -p ",
    "eval ",
    "command ",
    "builtin ",
    "exec ",
    "if ",
    "then ",
    "else ",
    "fi",
    "case a in ",
    "a) ",
    ";;",
    "esac",
    "for A in ",
    "do ",
    "done",
    "coproc ",
    "\r",
    "\u{b}",
    "\u{c}",
    "\u{a0}",
    "\u{200b}",
    "é",
    "{a,",
    "..",
    ",",
    ":",
    ": ",
    "E",
    "set -- ",
    "shift",
    "trap ",
    " EXIT",
    "printf ",
    "%s",
    "export ",
    "alias ",
    "[ -n ",
    " ]",
    "-c ",
];

fn script(random: &mut StdRng) -> String {
    let count = random.random_range(2..=14_usize);
    let denied = random.random_range(0..count);
    let pieces = (0..count).map(|index| match index {
        _ if index == denied => "rm x",
        _ => PIECES[random.random_range(0..PIECES.len())],
    });
    pieces.collect()
}

/// Returns rules that allow everything but one program.
fn rules() -> PermissionRules {
    let list = |rule: &str| Some(vec![PermissionRule::Rule(rule.to_owned())]);
    let settings = PermissionSettings {
        allow: list("bash(*)"),
        deny: list("bash(rm *)"),
        ..PermissionSettings::default()
    };
    PermissionRules::parse(&settings, Path::new("/work"), None).unwrap()
}

#[test]
fn bash_runs_no_denied_command_of_an_allowed_script() {
    if !Path::new(BASH).exists() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let programs = directory.path().join("programs");
    let marker = directory.path().join("marker");
    let work = directory.path().join("work");
    fs::create_dir(&programs).unwrap();
    let text = format!("#!/bin/sh\n: > '{}'\n", marker.display());
    write_program(&programs.join(DENIED), text);
    let is_run = |script: &str| {
        fs::create_dir(&work).unwrap();
        let mut bash = Command::new(BASH);
        bash.args(["--noprofile", "--norc", "-c", script])
            .env_clear();
        bash.env("PATH", &programs)
            .current_dir(&work)
            .stdin(Stdio::null());
        // Also waits for programs in the background, which have inherited the output.
        bash.output().unwrap();
        fs::remove_dir_all(&work).unwrap();
        fs::remove_file(&marker).is_ok()
    };
    assert!(is_run("rm x"), "the program cannot be run");

    let rules = rules();
    let budget = FuzzBudget::from_env();
    let mut random = StdRng::seed_from_u64(budget.seed);
    let mut allowed = 0;
    let scripts = budget.run(|| {
        let script = script(&mut random);
        let arguments = JsonObject::from_iter([("command".to_owned(), script.as_str().into())]);
        let verdict = rules.decide(ToolUse {
            tool: "bash",
            arguments: &arguments,
        });
        if verdict.effect == Effect::Allow {
            allowed += 1;
            assert!(!is_run(&script), "{script:?} is allowed and runs {DENIED}");
        }
    });
    eprintln!("shell_rules: {scripts} scripts, of which bash ran {allowed}");
}
