//! Settings of tmux that limit what reaches the terminal, with the lines that fix them.

use std::process::{Command, Stdio};

use pi_env::Env;

use super::finding::Finding;

/// An option, how to read it, and when it is a finding.
struct TmuxOption {
    name: &'static str,
    is_fine: fn(&str) -> bool,
    /// What does not work otherwise.
    effect: &'static str,
    /// A line of tmux.conf.
    fix: &'static str,
}

const OPTIONS: [TmuxOption; 6] = [
    TmuxOption {
        name: "extended-keys",
        is_fine: |value| value != "off",
        effect: "Shift+Enter and Alt keys may not reach pi",
        fix: "set -s extended-keys on",
    },
    TmuxOption {
        name: "escape-time",
        is_fine: |value| {
            value
                .parse()
                .is_ok_and(|milliseconds: u32| milliseconds <= 50)
        },
        effect: "Escape is delayed",
        fix: "set -s escape-time 10",
    },
    TmuxOption {
        name: "focus-events",
        is_fine: |value| value == "on",
        effect: "pi does not know whether its window has the focus",
        fix: "set -g focus-events on",
    },
    TmuxOption {
        name: "set-clipboard",
        is_fine: |value| value != "off",
        effect: "copied text does not reach the clipboard of the terminal",
        fix: "set -s set-clipboard on",
    },
    TmuxOption {
        name: "allow-passthrough",
        is_fine: |value| value != "off",
        effect: "images are not shown",
        fix: "set -g allow-passthrough on",
    },
    TmuxOption {
        name: "default-terminal",
        is_fine: |value| value.contains("256color") || value.contains("direct"),
        effect: "colors are limited",
        fix: "set -g default-terminal tmux-256color",
    },
];

pub(super) fn run(env: &Env) -> Vec<Finding> {
    let is_set = |name| env.var(name).is_some_and(|value| !value.is_empty());
    if is_set("ZELLIJ") {
        return vec![Finding::ok(
            "zellij",
            "a multiplexer runs between pi and the terminal",
        )];
    }
    if is_set("STY") {
        return vec![
            Finding::warning(
                "screen",
                "GNU screen supports neither true color nor images",
            )
            .fix("use tmux or zellij"),
        ];
    }
    if !is_set("TMUX") {
        return Vec::new();
    }
    check(&read_option)
}

fn check(read: &dyn Fn(&str) -> Option<String>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for option in &OPTIONS {
        // Older versions do not have all options.
        let Some(value) = read(option.name) else {
            continue;
        };
        if !(option.is_fine)(&value) {
            let message = format!("{} is {value}: {}", option.name, option.effect);
            findings.push(Finding::warning("tmux", message).fix(option.fix));
        }
    }
    if findings.is_empty() {
        findings.push(Finding::ok("tmux", "the settings are fine"));
    }
    findings
}

/// Reads an option of the server, of the session or of the window, whichever has it.
fn read_option(name: &str) -> Option<String> {
    ["-sv", "-gv", "-gwv"].into_iter().find_map(|scope| {
        let output = Command::new("tmux")
            .args(["show-options", scope, name])
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .output()
            .ok()?;
        let value = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        (output.status.success() && !value.is_empty()).then_some(value)
    })
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn settings_that_limit_pi_are_found_with_their_fix() {
        let found = check(&|name| match name {
            "extended-keys" => Some("off".to_owned()),
            "escape-time" => Some("500".to_owned()),
            "set-clipboard" => Some("external".to_owned()),
            _ => None,
        });
        let fixes: Vec<&str> = found
            .iter()
            .flat_map(|it| &it.fixes)
            .map(String::as_str)
            .collect();
        assert_eq!(fixes, ["set -s extended-keys on", "set -s escape-time 10"]);
        let fine = check(&|name| (name == "extended-keys").then(|| "always".to_owned()));
        assert_eq!(fine, [Finding::ok("tmux", "the settings are fine")]);
    }
}
