//! Files that a conversation read and changed. The lists are carried over from summary to summary.

use std::collections::BTreeSet;

use pi_protocol::AgentMessage;
use pi_protocol::json::JsonObject;
use serde_json::Value;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TouchedFiles {
    pub read: BTreeSet<String>,
    pub written: BTreeSet<String>,
    pub edited: BTreeSet<String>,
}

/// The file lists of a summary. Each file is in one list; both are sorted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FileLists {
    /// Files that were read but not changed.
    pub read: Vec<String>,
    /// Files that were written or edited.
    pub modified: Vec<String>,
}

impl TouchedFiles {
    /// Records the files named by the tool calls of a message, and by the calls that tools made.
    pub fn record_message(&mut self, message: &AgentMessage) {
        match message {
            AgentMessage::Assistant(response) => {
                for call in response.tool_calls() {
                    self.record_call(&call.name, &call.arguments);
                }
            }
            AgentMessage::ToolResult(result) => {
                let nested = result.nested_calls.iter().flat_map(|nested| &nested.calls);
                for call in nested {
                    if let Some(arguments) = &call.arguments {
                        self.record_call(&call.name, arguments);
                    }
                }
            }
            _ => {}
        }
    }

    fn record_call(&mut self, name: &str, arguments: &JsonObject) {
        let list = match name {
            "read" => &mut self.read,
            "write" => &mut self.written,
            "edit" => &mut self.edited,
            _ => return,
        };
        if let Some(path) = arguments.get("path").and_then(Value::as_str)
            && !path.is_empty()
        {
            list.insert(path.to_owned());
        }
    }

    /// Carries over the files of an earlier summary by pi; details written by extensions are
    /// ignored.
    pub fn carry_over(&mut self, details: Option<&Value>, from_hook: Option<bool>) {
        if from_hook == Some(true) {
            return;
        }
        let list = |name| {
            let list = details.and_then(|details| details.get(name)?.as_array());
            let paths = list.into_iter().flatten().filter_map(Value::as_str);
            paths.map(str::to_owned)
        };
        self.read.extend(list("readFiles"));
        self.edited.extend(list("modifiedFiles"));
    }

    /// Splits the files into those only read and those changed.
    pub fn lists(&self) -> FileLists {
        let modified = self.edited.union(&self.written);
        let is_modified = |path: &String| self.edited.contains(path) || self.written.contains(path);
        let read = self.read.iter().filter(|path| !is_modified(path));
        FileLists {
            read: sorted(read),
            modified: sorted(modified),
        }
    }
}

/// Sorts by UTF-16 code units, as JavaScript does, so that both implementations write the same
/// lists.
fn sorted<'path>(paths: impl Iterator<Item = &'path String>) -> Vec<String> {
    let mut paths: Vec<String> = paths.cloned().collect();
    pi_protocol::sort_by(&mut paths, |left, right| {
        left.encode_utf16().cmp(right.encode_utf16())
    });
    paths
}

impl FileLists {
    /// Returns the lists as tagged blocks to append to a summary; empty if there are no files.
    pub fn summary_suffix(&self) -> String {
        let mut suffix = String::new();
        for (tag, paths) in [
            ("read-files", &self.read),
            ("modified-files", &self.modified),
        ] {
            if !paths.is_empty() {
                suffix.extend(["\n\n<", tag, ">\n", &paths.join("\n"), "\n</", tag, ">"]);
            }
        }
        suffix
    }

    /// Returns the lists as the `details` of a summary entry.
    pub fn details(&self) -> Value {
        let list = |paths: &[String]| Value::from(paths.to_vec());
        Value::Object(JsonObject::from_iter([
            ("readFiles".to_owned(), list(&self.read)),
            ("modifiedFiles".to_owned(), list(&self.modified)),
        ]))
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;

    fn calls(calls: &Value) -> AgentMessage {
        let blocks: Vec<Value> = calls
            .as_array()
            .unwrap()
            .iter()
            .map(|call| json!({"type": "toolCall", "id": "c", "name": call[0], "arguments": call[1]}))
            .collect();
        serde_json::from_value(json!({"role": "assistant", "content": blocks})).unwrap()
    }

    #[test]
    fn a_changed_file_is_not_listed_as_read() {
        let mut files = TouchedFiles::default();
        files.record_message(&calls(&json!([
            ["read", {"path": "z"}], ["read", {"path": "a"}], ["read", {"path": "both"}],
            ["edit", {"path": "both"}], ["write", {"path": "new"}], ["write", {"path": "new"}],
            ["bash", {"path": "no"}], ["read", {"path": 7}], ["read", {"path": ""}], ["read", {}],
        ])));
        let user = json!({"role": "user", "content": "read x"});
        files.record_message(&serde_json::from_value(user).unwrap());
        let lists = files.lists();
        assert_eq!(lists.read, ["a", "z"]);
        assert_eq!(lists.modified, ["both", "new"]);
        assert_eq!(
            lists.summary_suffix(),
            "\n\n<read-files>\na\nz\n</read-files>\n\n<modified-files>\nboth\nnew\n</modified-files>"
        );
        assert_eq!(
            lists.details().to_string(),
            r#"{"readFiles":["a","z"],"modifiedFiles":["both","new"]}"#
        );
        assert_eq!(FileLists::default().summary_suffix(), "");
    }

    #[test]
    fn only_lists_of_summaries_by_pi_are_carried_over() {
        let details = json!({"readFiles": ["r", 3], "modifiedFiles": ["m"], "other": ["x"]});
        for (details, from_hook, expected) in [
            (Some(&details), None, (vec!["r"], vec!["m"])),
            (Some(&details), Some(false), (vec!["r"], vec!["m"])),
            (Some(&details), Some(true), (vec![], vec![])),
            (Some(&json!({"readFiles": "r"})), None, (vec![], vec![])),
            (Some(&json!(null)), None, (vec![], vec![])),
            (None, None, (vec![], vec![])),
        ] {
            let mut files = TouchedFiles::default();
            files.carry_over(details, from_hook);
            let lists = files.lists();
            assert_eq!((lists.read, lists.modified), {
                let (read, modified) = expected;
                let owned = |list: Vec<&str>| list.into_iter().map(str::to_owned).collect();
                (owned(read), owned(modified))
            });
        }
    }

    #[test]
    fn paths_are_sorted_like_in_javascript() {
        // U+FF5E sorts after the surrogates of U+1F600 in UTF-16 and before it in UTF-8.
        let paths = ["\u{ff5e}".to_owned(), "\u{1f600}".to_owned()];
        assert_eq!(sorted(paths.iter()), ["\u{1f600}", "\u{ff5e}"]);
    }
}
