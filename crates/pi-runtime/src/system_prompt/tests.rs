//! Which sections there are for which parts, and what must stand in them.

use pretty_assertions::assert_eq;
use serde_json::Value;

use super::*;
use crate::toolset::ToolsetOptions;

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

fn rendered(parts: &SystemPromptParts, active: &[&str]) -> pi_ai::json::JsonObject {
    let tools = Toolset::new(ToolsetOptions::new("/project"));
    let active: Vec<String> = active.iter().map(|&name| name.to_owned()).collect();
    parts.sections(&tools, &active).rendered()
}

fn text<'a>(sections: &'a pi_ai::json::JsonObject, name: &str) -> &'a str {
    sections.get(name).and_then(Value::as_str).unwrap_or("")
}

const USUAL: [&str; 4] = ["read", "bash", "edit", "write"];

#[test]
fn the_usual_prompt_reads_well() {
    let sections = rendered(&parts(), &USUAL);
    let whole: Vec<&str> = sections.values().filter_map(Value::as_str).collect();
    insta::assert_snapshot!(whole.join("\n\n"));
}

#[test]
fn a_prompt_of_the_users_own_drops_tools_rules_and_docs() {
    let custom = SystemPromptParts {
        custom: Some("Be a poet.".to_owned()),
        append: vec!["One.".to_owned(), "Two.".to_owned()],
        ..parts()
    };
    let sections = rendered(&custom, &USUAL);
    let names: Vec<&String> = sections.keys().collect();
    assert_eq!(names, ["preamble", "addendum", "cwd"]);
    assert_eq!(text(&sections, "preamble"), "Be a poet.");
    assert_eq!(
        text(&sections, "addendum"),
        "<addendum>\nOne.\n\nTwo.\n</addendum>"
    );
}

#[test]
fn an_empty_custom_prompt_is_none() {
    let empty = SystemPromptParts {
        custom: Some(String::new()),
        ..parts()
    };
    assert_eq!(rendered(&empty, &USUAL), rendered(&parts(), &USUAL));
}

#[test]
fn skills_are_listed_only_if_they_can_be_read() {
    let skilled = SystemPromptParts {
        skills: vec![SkillListing {
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
    let sections = rendered(&instructed, &USUAL);
    let context = text(&sections, "project_context");
    assert!(context.contains("<project_instructions path=\"/agent/AGENTS.md\">\nfirst\n</project_instructions>\n\n<project_instructions path=\"/project/CLAUDE.md\">\nsecond\n"));
}

#[test]
fn search_tools_make_the_shell_rule_superfluous() {
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
fn rules_are_said_once_in_the_order_of_the_tools() {
    let sections = rendered(&parts(), &["write", "read", "write"]);
    let rules = text(&sections, "rules");
    let write = rules.find("Keep write for new files").unwrap();
    let read = rules.find("Look at files with read").unwrap();
    assert!(write < read);
    assert_eq!(rules.matches("Keep write for new files").count(), 1);
}

#[test]
fn the_documentation_is_named_where_it_is() {
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
    let sections = rendered(&documented, &USUAL);
    assert!(text(&sections, "docs").contains(&*docs.to_string_lossy()));
}

#[test]
fn the_program_is_called_by_its_path_where_that_is_safe() {
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
