//! Hand-written prompts for the most used packages: what a user does with them, in order.
//!
//! A line is a prompt; `call-tool NAME ARGUMENTS` makes the scripted model call a tool. `{page}` is the URL of a page.
//! Lines after a prompt state its effect, for the tests of pi alone: after `> ` a text that a client, the model or the
//! project receives, after `! ` one that none of them does. After `~ `, a text that arrives later, from work in the
//! background: the step ends after it. The comparison with the TypeScript pi has confirmed
//! them, except for sub-agents, which it cannot start here, and reviews of plan mode, which fail there.

const SCRIPTS: [(&str, &str); 10] = [
    (
        "@aliou/pi-processes",
        include_str!("scripts/pi-processes.txt"),
    ),
    (
        "@gotgenes/pi-permission-system",
        include_str!("scripts/pi-permission-system.txt"),
    ),
    (
        "@juicesharp/rpiv-todo",
        include_str!("scripts/rpiv-todo.txt"),
    ),
    ("@samfp/pi-memory", include_str!("scripts/pi-memory.txt")),
    ("pi-lens", include_str!("scripts/pi-lens.txt")),
    ("pi-mcp-adapter", include_str!("scripts/pi-mcp-adapter.txt")),
    ("pi-plan-mode", include_str!("scripts/pi-plan-mode.txt")),
    (
        "pi-schedule-prompt",
        include_str!("scripts/pi-schedule-prompt.txt"),
    ),
    ("pi-subagents", include_str!("scripts/pi-subagents.txt")),
    ("pi-web-access", include_str!("scripts/pi-web-access.txt")),
];

/// A prompt and its effect.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ScriptStep {
    pub(super) prompt: String,
    /// Texts that are part of the observed results.
    pub(super) expected: Vec<&'static str>,
    /// Texts that are not.
    pub(super) unexpected: Vec<&'static str>,
    /// A text that a client receives before the step ends.
    pub(super) awaited: Option<&'static str>,
}

/// Returns the steps for a package.
pub(super) fn steps(package: &str, page_url: &str) -> Vec<ScriptStep> {
    let script = SCRIPTS.iter().find(|(name, _)| *name == package);
    parse(script.map_or("", |(_, script)| script), page_url)
}

fn parse(script: &'static str, page_url: &str) -> Vec<ScriptStep> {
    let mut steps: Vec<ScriptStep> = Vec::new();
    for line in script.lines() {
        let is_skipped = line.is_empty() || line.starts_with('#');
        match (line.split_at_checked(2), steps.last_mut()) {
            _ if is_skipped => {}
            (Some(("> ", text)), Some(step)) => step.expected.push(text),
            (Some(("! ", text)), Some(step)) => step.unexpected.push(text),
            (Some(("~ ", text)), Some(step)) => step.awaited = Some(text),
            _ => steps.push(ScriptStep {
                prompt: line.replace("{page}", page_url),
                ..ScriptStep::default()
            }),
        }
    }
    steps
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::super::PACKAGES;
    use super::*;

    #[test]
    fn every_script_belongs_to_a_package_and_has_valid_arguments() {
        for (package, _) in SCRIPTS {
            let is_listed = PACKAGES.lines().any(|line| {
                line.rsplit_once('@')
                    .is_some_and(|(name, _)| name == package)
            });
            assert!(is_listed, "{package}");
            let steps = steps(package, "http://127.0.0.1/");
            assert!(!steps.is_empty(), "{package}");
            for ScriptStep { prompt, .. } in steps {
                let Some(call) = prompt.strip_prefix("call-tool ") else {
                    assert!(prompt.starts_with('/'), "{package}: {prompt}");
                    continue;
                };
                let (_, arguments) = call.split_once(' ').unwrap();
                assert!(
                    serde_json::from_str::<Value>(arguments).is_ok(),
                    "{package}: {arguments}"
                );
            }
        }
    }

    #[test]
    fn effects_belong_to_the_prompt_before_them() {
        let script = "# A comment\n/first {page}\n> shown\n! hidden\n~ later\n\n/second\n";
        let first = ScriptStep {
            prompt: "/first URL".into(),
            expected: vec!["shown"],
            unexpected: vec!["hidden"],
            awaited: Some("later"),
        };
        let second = ScriptStep {
            prompt: "/second".into(),
            ..ScriptStep::default()
        };
        assert_eq!(parse(script, "URL"), [first, second]);
    }
}
