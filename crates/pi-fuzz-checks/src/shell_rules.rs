//! Shell commands and rules for them. The first line is the pattern of a rule, the rest is a command.

use std::path::Path;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use pi_permissions::{Effect, PermissionRules, Reason, ToolUse, Verdict};
use pi_protocol::json::JsonObject;
use pi_protocol::settings::{PermissionRule, PermissionSettings};
use pretty_assertions::assert_eq;

/// Long enough for a busy machine, short enough to detect exponential searches.
const TIMEOUT: Duration = Duration::from_secs(5);

/// A command that a rule denies.
const DENIED: &str = "rm -rf x";

/// Allows everything but the denied command.
static RULES: LazyLock<PermissionRules> =
    LazyLock::new(|| rules(&["bash(*)"], &["bash(rm *)"]).unwrap());

/// Lines of a command after which the denied one is inserted.
const INSERTIONS: usize = 8;

/// Checks that a denied command is found before, after and between the lines of any command that is allowed, that
/// trailing white space has no effect, and that no rule allows what the same rule denies.
pub fn shell_rules(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let (pattern, command) = text.split_once('\n').unwrap_or(("git *", &text));
    let started = Instant::now();
    denied_commands_are_found(command);
    same_rule(pattern, command);
    assert!(started.elapsed() < TIMEOUT, "{:?}", started.elapsed());
}

fn denied_commands_are_found(command: &str) {
    for before in [
        "rm -rf x\n",
        "rm -rf x;",
        "rm -rf x && ",
        "true; rm -rf x | ",
        "true && rm -rf x || ",
        "'r'm -rf \\\nx;",
    ] {
        let denied = format!("{before}{command}");
        assert_eq!(decide(&RULES, &denied).effect, Effect::Deny, "{denied:?}");
    }
    let effect = decide(&RULES, command).effect;
    if !command.ends_with('\\') {
        for space in [" ", "\t", "\n", " \n\n "] {
            let longer = format!("{command}{space}");
            assert_eq!(decide(&RULES, &longer).effect, effect, "{longer:?}");
        }
    }
    let ends = command.match_indices('\n').map(|(end, _)| end);
    for end in ends.take(INSERTIONS).chain([command.len()]) {
        // Quotes and other constructs that are allowed have ended there.
        let (lines, rest) = command.split_at(end);
        if decide(&RULES, lines).effect == Effect::Allow {
            let denied = format!("{lines}\n{DENIED}{rest}");
            assert_eq!(decide(&RULES, &denied).effect, Effect::Deny, "{denied:?}");
        }
    }
}

/// A rule as both `allow` and `deny` allows nothing.
fn same_rule(pattern: &str, command: &str) {
    let rule = format!("bash({pattern})");
    let Some(rules) = rules(&[&rule], &[&rule]) else {
        return;
    };
    let verdict = decide(&rules, command);
    let is_allowed = matches!(verdict.reason, Reason::Rule(_)) && verdict.effect != Effect::Deny;
    assert!(!is_allowed, "{verdict:?}: {command:?}");
}

/// Returns the rules; `None` if one is invalid.
fn rules(allow: &[&str], deny: &[&str]) -> Option<PermissionRules> {
    let list = |rules: &[&str]| {
        let rules = rules.iter().copied().map(str::to_owned);
        Some(rules.map(PermissionRule::Rule).collect())
    };
    let settings = PermissionSettings {
        allow: list(allow),
        deny: list(deny),
        ..PermissionSettings::default()
    };
    PermissionRules::parse(&settings, Path::new("/work"), Some(Path::new("/home/user"))).ok()
}

fn decide(rules: &PermissionRules, command: &str) -> Verdict {
    let arguments = JsonObject::from_iter([("command".to_owned(), command.into())]);
    let tool = "bash";
    rules.decide(ToolUse {
        tool,
        arguments: &arguments,
    })
}
