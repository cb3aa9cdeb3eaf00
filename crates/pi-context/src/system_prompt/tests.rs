//! Sections of the system prompt and their required contents.

use pi_protocol::json::JsonObject;
use pretty_assertions::assert_eq;
use serde_json::Value;

use super::*;

fn parts() -> SystemPromptParts {
    SystemPromptParts {
        cwd: "/project".into(),
        docs: DocsPaths {
            documentation: None,
            program: "pi".to_owned(),
            agent_directory: "/home/me/.pi/agent".into(),
        },
        ..SystemPromptParts::default()
    }
}

/// Renders the prompt for tools that each have a snippet and two rules, one of them shared.
fn rendered(parts: &SystemPromptParts, active: &[&str]) -> JsonObject {
    let rules: Vec<[String; 2]> = active
        .iter()
        .map(|name| [format!("Use {name} well."), "Be careful.".to_owned()])
        .collect();
    let tools: Vec<PromptTool<'_>> = active
        .iter()
        .zip(&rules)
        .map(|(&name, rules)| PromptTool {
            name,
            snippet: Some(" A  tool\n"),
            guidelines: rules,
        })
        .collect();
    parts.sections(&tools).rendered()
}

fn text<'a>(sections: &'a JsonObject, name: &str) -> &'a str {
    sections.get(name).and_then(Value::as_str).unwrap_or("")
}

const DEFAULT_TOOLS: [&str; 4] = ["read", "bash", "edit", "write"];

#[test]
fn a_custom_prompt_drops_tools_rules_and_docs() {
    let custom = SystemPromptParts {
        custom: Some("Be a poet.".to_owned()),
        append: vec!["One.".to_owned(), "Two.".to_owned()],
        ..parts()
    };
    let sections = rendered(&custom, &DEFAULT_TOOLS);
    let names: Vec<&String> = sections.keys().collect();
    assert_eq!(names, ["preamble", "addendum", "cwd"]);
    assert_eq!(text(&sections, "preamble"), "Be a poet.");
    assert_eq!(
        text(&sections, "addendum"),
        "<addendum>\nOne.\n\nTwo.\n</addendum>"
    );
}

#[test]
fn an_empty_custom_prompt_is_ignored() {
    let empty = SystemPromptParts {
        custom: Some(String::new()),
        ..parts()
    };
    assert_eq!(
        rendered(&empty, &DEFAULT_TOOLS),
        rendered(&parts(), &DEFAULT_TOOLS)
    );
}

#[test]
fn skills_are_listed_only_if_they_can_be_read() {
    let skilled = SystemPromptParts {
        skills: vec![PromptSkill {
            name: "pdf".to_owned(),
            description: "For &lt;pages&gt;".to_owned(),
            location: "/skills/pdf/SKILL.md".to_owned(),
        }],
        ..parts()
    };
    assert_eq!(text(&rendered(&skilled, &["edit", "ls"]), "skills"), "");
    assert!(text(&rendered(&skilled, &["bash"]), "skills").contains("with bash"));
    let listed = rendered(&skilled, &["bash", "read"]);
    let listed = text(&listed, "skills");
    assert!(listed.contains("with read"), "{listed}");
    let entry = "<name>pdf</name>\n    <description>For &lt;pages&gt;</description>\n    \
                 <location>/skills/pdf/SKILL.md</location>";
    assert!(listed.contains(entry), "{listed}");
}

#[test]
fn instructions_keep_their_order_and_paths() {
    let instructed = SystemPromptParts {
        instructions: [
            ("/agent/AGENTS.md", "first"),
            ("/project/CLAUDE.md", "second"),
        ]
        .map(|(path, content)| ProjectInstructions {
            path: path.into(),
            content: content.to_owned(),
        })
        .into(),
        ..parts()
    };
    let sections = rendered(&instructed, &DEFAULT_TOOLS);
    let context = text(&sections, "project_context");
    assert!(context.contains("<project_instructions path=\"/agent/AGENTS.md\">\nfirst\n</project_instructions>\n\n<project_instructions path=\"/project/CLAUDE.md\">\nsecond\n"));
}

#[test]
fn search_tools_replace_the_shell_rule() {
    let rules = |active: &[&str]| text(&rendered(&parts(), active), "rules").to_owned();
    assert!(rules(&["bash"]).contains("with bash: ls, rg, find"));
    assert!(!rules(&["bash", "grep"]).contains("with bash: ls"));
    assert!(!rules(&["read"]).contains("with bash"));
    assert_eq!(
        text(&rendered(&parts(), &[]), "tools").lines().nth(1),
        Some("(none)")
    );
}

#[test]
fn tools_are_listed_on_one_line_each() {
    let sections = rendered(&parts(), &["read", "edit"]);
    let listed: Vec<&str> = text(&sections, "tools").lines().skip(1).take(2).collect();
    assert_eq!(listed, ["- read: A tool", "- edit: A tool"]);
}

#[test]
fn rules_appear_once_in_tool_order() {
    let sections = rendered(&parts(), &["write", "read", "write"]);
    let rules = text(&sections, "rules");
    let write = rules.find("Use write well.").unwrap();
    let read = rules.find("Use read well.").unwrap();
    assert!(write < read);
    assert_eq!(rules.matches("Use write well.").count(), 1);
    assert_eq!(rules.matches("Be careful.").count(), 1);
}

#[test]
fn the_documentation_directory_is_found() {
    let home = tempfile::tempdir().unwrap();
    let docs = home.path().join("share/doc/pi");
    std::fs::create_dir_all(&docs).unwrap();
    let program = home.path().join("bin/pi");
    assert_eq!(find_documentation(None, Some(&program)), None);
    std::fs::File::create(docs.join("differences.md")).unwrap();
    assert_eq!(find_documentation(None, Some(&program)), Some(docs.clone()));
    let documented = SystemPromptParts {
        docs: DocsPaths {
            documentation: Some(docs.clone()),
            ..parts().docs
        },
        ..parts()
    };
    let sections = rendered(&documented, &DEFAULT_TOOLS);
    assert!(text(&sections, "docs").contains(&*docs.to_string_lossy()));
}

#[test]
fn the_program_path_is_used_if_it_needs_no_quoting() {
    for (program, expected) in [
        (Some("/usr/local/bin/pi"), "/usr/local/bin/pi"),
        (Some("/home/me/my tools/pi"), "pi"),
        (Some("/tmp/$(x)/pi"), "pi"),
        (Some("/usr/bin/my-editor"), "pi"),
        (None, "pi"),
    ] {
        assert_eq!(
            shell_command(program.map(Path::new)),
            expected,
            "{program:?}"
        );
    }
}
