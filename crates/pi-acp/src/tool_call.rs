//! How tool calls look in a client: title, kind, locations and content.

use std::path::{Path, PathBuf};

use pi_protocol::{InputBlock, ToolOutput, json_object, single_line};
use serde_json::{Map, Value, json};

use crate::content::{input_block, text_block};

/// Longest title, in characters.
const MAX_TITLE: usize = 300;

/// Longest text of a result; the end is kept.
const MAX_TEXT_BYTES: usize = 64 * 1024;

/// Tools whose output is text of files or programs, not Markdown.
const PLAIN_OUTPUT: [&str; 7] = ["read", "ls", "grep", "find", "bash", "edit", "write"];

/// Returns the kind of a tool for icons and policies of clients.
pub(crate) fn kind(tool: &str) -> &'static str {
    match tool {
        "read" | "ls" => "read",
        "grep" | "find" => "search",
        "edit" | "write" => "edit",
        "bash" => "execute",
        "task" => "think",
        _ => "other",
    }
}

/// Whether the call of a tool changes the file it names.
pub(crate) fn changes_file(tool: &str) -> bool {
    kind(tool) == "edit"
}

/// Returns the title of a call: what it does to what.
pub(crate) fn title(tool: &str, arguments: &Value) -> String {
    let field = |name: &str| arguments.get(name).and_then(Value::as_str);
    let path = path_argument(arguments);
    let titled = match (tool, path, field("command"), field("pattern")) {
        ("read", Some(path), ..) => format!("Read {path}"),
        ("ls", path, ..) => format!("List {}", path.unwrap_or(".")),
        ("edit", Some(path), ..) => format!("Edit {path}"),
        ("write", Some(path), ..) => format!("Write {path}"),
        ("bash", _, Some(command), _) => command.to_owned(),
        ("grep", path, _, Some(pattern)) => {
            let place = path.map_or_else(String::new, |path| format!(" in {path}"));
            format!("Search for {pattern}{place}")
        }
        ("find", _, _, Some(pattern)) => format!("Find {pattern}"),
        _ => tool.to_owned(),
    };
    single_line(&titled, MAX_TITLE)
}

/// Returns the title of a call whose arguments still arrive.
pub(crate) fn partial_title(tool: &str, path: Option<&str>) -> String {
    let verb = match tool {
        "write" => "Writing",
        "edit" => "Editing",
        "read" => "Reading",
        _ => return single_line(tool, MAX_TITLE),
    };
    single_line(&format!("{verb} {}…", path.unwrap_or("a file")), MAX_TITLE)
}

fn path_argument(arguments: &Value) -> Option<&str> {
    let path = arguments.get("path").or_else(|| arguments.get("file_path"));
    path.and_then(Value::as_str)
}

/// Returns the absolute path of the file that a call names.
pub(crate) fn target(arguments: &Value, cwd: &Path) -> Option<PathBuf> {
    let path = path_argument(arguments)?;
    // Some models write a mention instead of a path.
    let path = path.strip_prefix('@').unwrap_or(path);
    (!path.is_empty() && !path.starts_with('~') && !path.contains('\0')).then(|| cwd.join(path))
}

/// Returns the places that an editor can follow.
pub(crate) fn locations(arguments: &Value, cwd: &Path, line: Option<u64>) -> Vec<Value> {
    let Some(path) = target(arguments, cwd) else {
        return Vec::new();
    };
    let offset = arguments.get("offset").and_then(Value::as_u64);
    let line = line.or(offset).and_then(|line| u32::try_from(line).ok());
    let mut location = json!({ "path": path.to_string_lossy() });
    if let (Some(line), Some(location)) = (line, location.as_object_mut()) {
        location.insert("line".to_owned(), line.into());
    }
    vec![location]
}

/// Returns the content of a result.
pub(crate) fn output_content(tool: &str, output: &ToolOutput) -> Vec<Value> {
    blocks_content(tool, &output.content)
}

pub(crate) fn blocks_content(tool: &str, blocks: &[InputBlock]) -> Vec<Value> {
    let is_plain = PLAIN_OUTPUT.contains(&tool);
    let blocks = blocks.iter().filter_map(|block| match block {
        InputBlock::Text(text) if text.text.is_empty() => None,
        InputBlock::Text(text) if is_plain => Some(text_block(&fenced(tail(&text.text), ""))),
        InputBlock::Text(text) => Some(text_block(tail(&text.text))),
        other => input_block(other),
    });
    blocks.map(content_item).collect()
}

pub(crate) fn content_item(block: Value) -> Value {
    json_object([("type", "content".into()), ("content", block)])
}

pub(crate) fn diff(path: &Path, before: Option<&str>, after: &str) -> Value {
    json!({
        "type": "diff",
        "path": path.to_string_lossy(),
        "oldText": before,
        "newText": after,
    })
}

/// Returns what a call is going to do, for the question whether it may.
pub(crate) fn proposed_content(tool: &str, arguments: &Value, cwd: &Path) -> Vec<Value> {
    let field =
        |value: &'_ Value, name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
    if let (Some(command), true) = (field(arguments, "command"), kind(tool) == "execute") {
        return vec![content_item(text_block(&fenced(&command, "sh")))];
    }
    let Some(path) = target(arguments, cwd).filter(|_| changes_file(tool)) else {
        return Vec::new();
    };
    if let Some(text) = field(arguments, "content") {
        return vec![diff(&path, None, &text)];
    }
    let edits = arguments.get("edits").and_then(Value::as_array);
    let edits = edits.map_or_else(|| vec![arguments.clone()], Clone::clone);
    let diffs = edits.iter().filter_map(|edit| {
        let (before, after) = (field(edit, "oldText")?, field(edit, "newText")?);
        Some(diff(&path, Some(&before), &after))
    });
    diffs.collect()
}

/// Puts text in a code block that it cannot end.
pub(crate) fn fenced(text: &str, language: &str) -> String {
    let mut longest = 0;
    let mut run = 0;
    for character in text.chars() {
        run = if character == '`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    let fence = "`".repeat((longest + 1).max(3));
    let end = if text.ends_with('\n') { "" } else { "\n" };
    format!("{fence}{language}\n{text}{end}{fence}")
}

/// Returns the end of a long text.
pub(crate) fn tail(text: &str) -> &str {
    let excess = text.len().saturating_sub(MAX_TEXT_BYTES);
    let start = (excess..=text.len()).find(|index| text.is_char_boundary(*index));
    start.and_then(|start| text.get(start..)).unwrap_or(text)
}

/// Inserts a field unless the list is empty.
pub(crate) fn insert_list(object: &mut Map<String, Value>, name: &str, items: Vec<Value>) {
    if !items.is_empty() {
        object.insert(name.to_owned(), Value::Array(items));
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn titles_name_what_is_done() {
        for (tool, arguments, expected) in [
            ("read", json!({"path": "a.rs"}), "Read a.rs"),
            ("read", json!({}), "read"),
            ("ls", json!({}), "List ."),
            (
                "bash",
                json!({"command": "cargo\ntest \u{1b}[1m"}),
                "cargo test  [1m",
            ),
            (
                "grep",
                json!({"pattern": "x", "path": "src"}),
                "Search for x in src",
            ),
            ("mcp__a__b", json!({"path": "x"}), "mcp__a__b"),
        ] {
            assert_eq!(title(tool, &arguments), expected);
        }
    }

    #[test]
    fn locations_are_absolute() {
        let cwd = Path::new("/p");
        assert_eq!(
            locations(&json!({"path": "a\nb", "offset": 7}), cwd, None),
            [json!({"path": "/p/a\nb", "line": 7})]
        );
        assert_eq!(
            locations(&json!({"path": "/x"}), cwd, Some(3)),
            [json!({"path": "/x", "line": 3})]
        );
        assert_eq!(
            locations(&json!({"command": "ls"}), cwd, None),
            [] as [Value; 0]
        );
    }

    #[test]
    fn a_code_block_is_not_ended_by_its_text() {
        assert_eq!(fenced("a", "sh"), "```sh\na\n```");
        assert_eq!(fenced("````\n", ""), "`````\n````\n`````");
    }

    #[test]
    fn a_permission_shows_the_command_and_the_change() {
        let cwd = Path::new("/p");
        assert_eq!(
            proposed_content("bash", &json!({"command": "rm -r x\nls"}), cwd),
            [content_item(text_block("```sh\nrm -r x\nls\n```"))]
        );
        assert_eq!(
            proposed_content("write", &json!({"path": "a", "content": "n"}), cwd),
            [diff(Path::new("/p/a"), None, "n")]
        );
        let edits = json!({"path": "a", "edits": [{"oldText": "o", "newText": "n"}]});
        assert_eq!(
            proposed_content("edit", &edits, cwd),
            [diff(Path::new("/p/a"), Some("o"), "n")]
        );
    }
}
