//! Hand-written prompts for the most used packages: what a user does with them, in order.
//!
//! A line is a prompt; `call-tool NAME ARGUMENTS` makes the scripted model call a tool. `{page}` is the URL of a page.

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

/// Returns the prompts for a package, by their names in the results.
pub(super) fn prompts(package: &str, page_url: &str) -> Vec<(String, String)> {
    let script = SCRIPTS.iter().find(|(name, _)| *name == package);
    let lines = script.map_or("", |(_, script)| script).lines();
    lines
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .enumerate()
        .map(|(index, line)| {
            let prompt = line.replace("{page}", page_url);
            (format!("script {}", index + 1), prompt)
        })
        .collect()
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
            let prompts = prompts(package, "http://127.0.0.1/");
            assert!(!prompts.is_empty(), "{package}");
            for (name, prompt) in prompts {
                let Some(call) = prompt.strip_prefix("call-tool ") else {
                    assert!(prompt.starts_with('/'), "{package} {name}");
                    continue;
                };
                let (_, arguments) = call.split_once(' ').unwrap();
                assert!(
                    serde_json::from_str::<Value>(arguments).is_ok(),
                    "{package} {name}: {arguments}"
                );
            }
        }
    }
}
