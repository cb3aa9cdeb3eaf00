//! Explains prompt cache misses: compares what a request contained with the request before it, from the entries of a
//! session file. Nothing else is recorded, so reports also work for sessions of other versions and machines.

use std::collections::BTreeMap;
use std::time::Duration;

use pi_protocol::json::JsonObject;
use pi_protocol::{
    AgentMessage, CacheMissCause, CacheMissReport, Entry, EntryBody, EntryId, SystemMessage,
};
use serde_json::Value;

use crate::cache_miss::{CacheMiss, CacheMissDetector};
use crate::sections::is_built_in_section;

/// Lifetime of an unused prompt cache, unless the model has another one.
const CACHE_LIFETIME: Duration = Duration::from_mins(5);

/// Follows the entries of a session in file order.
#[derive(Debug, Clone, Default)]
pub struct CacheReporter {
    detector: CacheMissDetector,
    sections: BTreeMap<String, Value>,
    tools: Vec<String>,
    model: Option<String>,
    thinking: Option<String>,
    last_entry: Option<EntryId>,
    /// Changes since the last response, those first that are first in a request.
    changes: PromptChanges,
}

#[derive(Debug, Clone, Default)]
struct PromptChanges {
    model: Option<CacheMissCause>,
    sections: Vec<String>,
    tools_added: Vec<String>,
    tools_removed: Vec<String>,
    /// A move to an entry that is not the last one.
    branch: bool,
    edits: usize,
    thinking: Option<CacheMissCause>,
}

impl PromptChanges {
    fn into_causes(self, miss: &CacheMiss) -> Vec<CacheMissCause> {
        let mut causes: Vec<CacheMissCause> = self.model.into_iter().collect();
        for section in self.sections {
            causes.push(CacheMissCause::Section {
                is_extension: !is_built_in_section(&section),
                name: section,
            });
        }
        if !(self.tools_added.is_empty() && self.tools_removed.is_empty()) {
            causes.push(CacheMissCause::Tools {
                added: self.tools_added,
                removed: self.tools_removed,
            });
        }
        if self.branch {
            causes.push(CacheMissCause::Branch);
        }
        if self.edits > 0 {
            causes.push(CacheMissCause::Edits { count: self.edits });
        }
        if miss.idle >= CACHE_LIFETIME {
            causes.push(CacheMissCause::Expired {
                idle_ms: u64::try_from(miss.idle.as_millis()).unwrap_or(u64::MAX),
            });
        }
        causes.extend(self.thinking);
        causes
    }
}

impl CacheReporter {
    /// Processes the next entry of the file and returns the miss of its request, if any. `read_rate` returns the price
    /// of a million cached tokens by provider and model.
    pub fn observe(
        &mut self,
        entry: &Entry,
        read_rate: impl Fn(&str, &str) -> f64,
    ) -> Option<CacheMissReport> {
        let is_moved = self.last_entry.is_some() && entry.parent_id != self.last_entry;
        self.last_entry = Some(entry.id.clone());
        self.changes.branch |= is_moved;
        self.observe_on_branch(entry, read_rate)
    }

    /// Processes the next entry of a branch; others may be passed to `observe_message`.
    pub fn observe_on_branch(
        &mut self,
        entry: &Entry,
        read_rate: impl Fn(&str, &str) -> f64,
    ) -> Option<CacheMissReport> {
        match &entry.body {
            EntryBody::ContextEdit(_) => self.changes.edits += 1,
            EntryBody::ThinkingLevelChange(change) => {
                self.observe_thinking(&change.thinking_level);
            }
            EntryBody::Compaction(compaction) => {
                self.sections.clear();
                self.tools.clear();
                if let Some(system) = &compaction.system_message {
                    self.observe_system(system);
                }
                self.changes = PromptChanges::default();
            }
            EntryBody::Message(message) => {
                let (miss, causes) = self.observe_message(message, read_rate)?;
                let AgentMessage::Assistant(response) = message else {
                    return None;
                };
                return Some(CacheMissReport {
                    entry_id: entry.id.clone(),
                    timestamp_ms: response.timestamp,
                    model: self.model.clone().unwrap_or_default(),
                    tokens: miss.tokens,
                    cost: miss.cost,
                    causes,
                });
            }
            _ => {}
        }
        self.detector.observe_entry(entry, read_rate);
        None
    }

    /// Processes the next message and returns the miss of its request with the causes, if any.
    pub fn observe_message(
        &mut self,
        message: &AgentMessage,
        read_rate: impl Fn(&str, &str) -> f64,
    ) -> Option<(CacheMiss, Vec<CacheMissCause>)> {
        match message {
            AgentMessage::System(system) => {
                self.observe_system(system);
                None
            }
            AgentMessage::Assistant(response) => {
                let model = format!("{}/{}", response.provider, response.model);
                let before = self.model.replace(model.clone());
                if let Some(before) = before.filter(|before| *before != model) {
                    self.changes.model = Some(CacheMissCause::Model {
                        from: before,
                        to: model,
                    });
                }
                let miss = self.detector.observe_response(response, read_rate);
                let changes = std::mem::take(&mut self.changes);
                miss.map(|miss| (miss, changes.into_causes(&miss)))
            }
            _ => None,
        }
    }

    /// Records the thinking level of the requests that follow.
    pub fn observe_thinking(&mut self, level: &str) {
        let before = self.thinking.replace(level.to_owned());
        if let Some(from) = before.filter(|before| before != level) {
            let to = level.to_owned();
            self.changes.thinking = Some(CacheMissCause::Thinking { from, to });
        }
    }

    /// Resets the comparison because a summary replaces earlier messages.
    pub fn summarized(&mut self) {
        self.changes = PromptChanges::default();
        self.detector.context_changed();
    }

    /// Records which sections and tools differ from those that were declared.
    fn observe_system(&mut self, system: &SystemMessage) {
        // The first prompt is no change.
        let is_first = self.sections.is_empty() && self.tools.is_empty() && self.model.is_none();
        let sections: &JsonObject = &system.sections.clone().unwrap_or_default();
        for (name, text) in sections {
            let before = match text {
                Value::Null => self.sections.remove(name),
                text => self.sections.insert(name.clone(), text.clone()),
            };
            if before.as_ref() != Some(text) && !self.changes.sections.contains(name) {
                self.changes.sections.push(name.clone());
            }
        }
        for tool in system.tools_removed.iter().flatten() {
            self.tools.retain(|known| *known != tool.name);
            self.changes.tools_removed.push(tool.name.clone());
        }
        for tool in system.tools_added.iter().flatten() {
            if !self.tools.contains(&tool.name) {
                self.tools.push(tool.name.clone());
            }
            self.changes.tools_added.push(tool.name.clone());
        }
        if is_first {
            self.changes = PromptChanges::default();
        }
    }
}

#[cfg(test)]
mod tests {
    use pi_session::testing::{START_MS, TestPath, compaction, response, user};
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;

    fn request(read: u64, write: u64) -> Value {
        let mut response = response("a");
        response["usage"] =
            json!({"input": 10, "output": 1, "cacheRead": read, "cacheWrite": write});
        response
    }

    fn system(sections: &Value, added: &[&str], removed: &[&str]) -> Value {
        let tool = |name: &&str| json!({"name": name, "description": "d", "parameters": {}});
        let added: Vec<Value> = added.iter().map(tool).collect();
        let removed: Vec<Value> = removed.iter().map(|name| json!({"name": name})).collect();
        json!({"type": "message", "message": {"role": "system", "content": "", "sections": sections,
            "toolsAdded": added, "toolsRemoved": removed}})
    }

    fn causes(entries: impl IntoIterator<Item = Value>) -> Vec<String> {
        let path = TestPath::of(entries);
        let mut reporter = CacheReporter::default();
        let reports = path
            .entries
            .iter()
            .filter_map(|entry| reporter.observe(entry, |_, _| 1.0));
        reports
            .map(|report| {
                let causes: Vec<String> = report.causes.iter().map(ToString::to_string).collect();
                causes.join("; ")
            })
            .collect()
    }

    /// A request that fills the cache, then a change, then a request that misses it.
    fn after(changes: Vec<Value>) -> Vec<String> {
        let prompt = system(
            &json!({"preamble": "p", "todo": "1"}),
            &["read", "bash"],
            &[],
        );
        let mut entries = vec![prompt, user("x"), request(0, 50_000)];
        entries.extend(changes);
        entries.push(request(0, 60_000));
        causes(entries)
    }

    #[test]
    fn every_change_is_named() {
        let mut late = request(0, 60_000);
        late["timestamp"] = json!(START_MS + 600_000);
        let mut other = request(0, 60_000);
        other["model"] = json!("beta");
        let thinking =
            |level: &str| json!({"type": "thinking_level_change", "thinkingLevel": level});
        for (name, changes, expected) in [
            ("nothing", vec![], ""),
            (
                "a section of an extension",
                vec![system(&json!({"todo": "2"}), &[], &[])],
                "section \"todo\" of an extension changed",
            ),
            (
                "a removed section",
                vec![system(&json!({"todo": null}), &[], &[])],
                "section \"todo\" of an extension changed",
            ),
            (
                "the instructions of the project",
                vec![system(&json!({"project_context": "AGENTS.md"}), &[], &[])],
                "AGENTS.md or another context file changed",
            ),
            (
                "the working directory",
                vec![system(&json!({"cwd": "/other"}), &[], &[])],
                "section \"cwd\" of the system prompt changed",
            ),
            (
                "a tool",
                vec![system(&json!({}), &["grep"], &[])],
                "tools changed: added grep",
            ),
            (
                "a removed tool",
                vec![system(&json!({}), &[], &["bash"])],
                "tools changed: removed bash",
            ),
            (
                "another order",
                vec![system(&json!({}), &["read"], &["read"])],
                "the order of tools changed: read",
            ),
            (
                "an edit",
                vec![json!({"type": "context_edit", "targetId": "e1", "replacement": null})],
                "1 earlier entry was edited or omitted",
            ),
            (
                "the thinking level",
                vec![thinking("low"), thinking("high")],
                "thinking level changed from low to high",
            ),
            (
                "an unchanged prompt",
                vec![system(&json!({"todo": "1"}), &[], &[])],
                "",
            ),
        ] {
            assert_eq!(after(changes), [expected], "{name}");
        }
        let first = || request(0, 50_000);
        assert_eq!(
            causes([first(), late]),
            ["the cache expired: no request for 10 minutes"]
        );
        assert_eq!(
            causes([first(), other]),
            ["model changed from mock/alpha to mock/beta"]
        );
        assert_eq!(
            causes([first(), compaction("s", "e0"), request(0, 9_000)]),
            [""; 0]
        );
        assert_eq!(causes([first(), request(50_000, 300)]), [""; 0]);
    }

    #[test]
    fn a_move_in_the_tree_is_named() {
        let mut path = TestPath::of([request(0, 50_000), user("x"), request(0, 60_000)]);
        let mut moved = Entry::clone(&path.entries[1]);
        moved.parent_id = None;
        path.entries[1] = std::sync::Arc::new(moved);
        let mut reporter = CacheReporter::default();
        let mut reports = path
            .entries
            .iter()
            .filter_map(|it| reporter.observe(it, |_, _| 0.0));
        assert_eq!(reports.next().unwrap().causes, [CacheMissCause::Branch]);
    }
}
