//! Order, tags and differences of prompt sections.

use pretty_assertions::assert_eq;
use serde_json::json;

use super::*;

fn tool(name: &str, description: &str) -> Tool {
    serde_json::from_value(json!({"name": name, "description": description, "parameters": {}}))
        .unwrap()
}

#[test]
fn sections_are_ordered_and_tagged() {
    let mut sections = PromptSections::default();
    sections.set_extension("zebra", "Z").unwrap();
    sections.set(PromptSection::Cwd, "/x");
    sections.set_extension("ant-2", "A").unwrap();
    sections.set(PromptSection::Skills, "S");
    sections.set(PromptSection::ProjectContext, "C");
    sections.set(PromptSection::Addendum, "");
    sections.set(PromptSection::Docs, "D");
    sections.set(PromptSection::Rules, "R");
    sections.set(PromptSection::Tools, "T");
    sections.set(PromptSection::Preamble, "P");
    sections.set_extension("rules", "other rules").unwrap();
    sections.set_extension("docs", "").unwrap();
    let expected = [
        ("preamble", "P"),
        ("tools", "<tools>\nT\n</tools>"),
        ("rules", "<rules>\nother rules\n</rules>"),
        ("docs", "<docs>\nD\n</docs>"),
        (
            "project_context",
            "<project_context>\nC\n</project_context>",
        ),
        ("skills", "<skills>\nS\n</skills>"),
        ("cwd", "<cwd>\n/x\n</cwd>"),
        ("zebra", "<zebra>\nZ\n</zebra>"),
        ("ant-2", "<ant-2>\nA\n</ant-2>"),
    ];
    let rendered = sections.rendered();
    let rendered: Vec<(&str, &str)> = rendered
        .iter()
        .map(|(name, text)| (name.as_str(), text.as_str().unwrap()))
        .collect();
    assert_eq!(rendered, expected);
}

#[test]
fn invalid_extension_section_names_are_rejected() {
    let mut sections = PromptSections::new("P");
    for name in [
        "", "A", "1a", "-a", "_a", "a b", "a.b", "ä", "aB", "preamble",
    ] {
        let result = sections.set_extension(name, "x");
        assert_eq!(result, Err(InvalidSectionName(name.to_owned())));
    }
    assert_eq!(sections, PromptSections::new("P"));
}

#[test]
fn changes_contain_new_texts_and_nulls() {
    let object = |value: Value| value.as_object().unwrap().clone();
    let previous = object(json!({"a": "1", "b": "2", "c": "3"}));
    let current = object(json!({"d": "4", "c": "3", "a": "9"}));
    let changes = section_changes(&previous, &current).unwrap();
    let text = pi_protocol::json::to_string(&changes).unwrap();
    assert_eq!(text, r#"{"d":"4","a":"9","b":null}"#);
    assert_eq!(section_changes(&current, &current), None);
}

#[test]
fn the_first_message_declares_everything_and_later_ones_only_changes() {
    let mut sections = PromptSections::new("P");
    sections.set(PromptSection::Cwd, "/x");
    let tools = [tool("read", "1"), tool("bash", "1")];
    let first = system_update(None, &sections, Some(&tools), 5).unwrap();
    assert_eq!(
        serde_json::to_value(&first).unwrap(),
        json!({"content": "", "sections": {"preamble": "P", "cwd": "<cwd>\n/x\n</cwd>"},
            "toolsAdded": tools, "timestamp": 5})
    );
    assert_eq!(
        system_update(Some(&first), &sections, Some(&tools), 6),
        None
    );
    assert_eq!(system_update(Some(&first), &sections, None, 6), None);

    let redefined = [tool("read", "2"), tool("ls", "1")];
    let update = system_update(
        Some(&first),
        &PromptSections::new("P2"),
        Some(&redefined),
        6,
    );
    assert_eq!(
        serde_json::to_value(update.unwrap()).unwrap(),
        json!({"content": "", "sections": {"preamble": "P2", "cwd": null},
            "toolsAdded": redefined, "toolsRemoved": [{"name": "read"}, {"name": "bash"}],
            "timestamp": 6})
    );
    let tools_only = system_update(Some(&first), &sections, Some(&tools[..1]), 7).unwrap();
    assert_eq!((tools_only.sections, tools_only.tools_added), (None, None));
}
