//! Lists of tools in flags and settings: names and patterns, or changes of a selection.

use thiserror::Error;

/// A `--tools` list that cannot be applied.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ToolListError {
    #[error("a list of tools has either names or +name and -name entries, not both")]
    Mixed,
    #[error("+name and -name entries take exact names of tools, not patterns: {0}")]
    Pattern(String),
}

/// A valid `--tools` list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ToolList {
    /// Names and patterns.
    Allow(Vec<String>),
    /// `+name` and `-name` entries.
    Change(Vec<String>),
}

impl ToolList {
    pub(super) fn of(entries: Vec<String>) -> Result<Self, ToolListError> {
        let changes = entries.iter().filter(|entry| is_change(entry)).count();
        if changes == 0 {
            return Ok(Self::Allow(entries));
        }
        if changes < entries.len() {
            return Err(ToolListError::Mixed);
        }
        match entries.iter().find(|entry| entry.contains('*')) {
            Some(pattern) => Err(ToolListError::Pattern(pattern.clone())),
            None => Ok(Self::Change(entries)),
        }
    }
}

pub(super) fn is_change(entry: &str) -> bool {
    entry.starts_with(['+', '-'])
}

/// Applies the changes of a list in order: `+name` appends a tool that is absent, `-name` removes one. Other entries
/// change nothing.
pub(super) fn changed(mut tools: Vec<String>, entries: &[String]) -> Vec<String> {
    for entry in entries {
        if let Some(name) = entry.strip_prefix('+') {
            if !name.is_empty() && !tools.iter().any(|tool| tool == name) {
                tools.push(name.to_owned());
            }
        } else if let Some(name) = entry.strip_prefix('-') {
            tools.retain(|tool| tool != name);
        }
    }
    tools
}

/// Returns the tools that a list of the settings selects: its names in place of the standard ones, then its changes.
pub(super) fn resolved(entries: &[String], standard: &[&str]) -> Vec<String> {
    let names: Vec<String> = entries
        .iter()
        .filter(|entry| !is_change(entry))
        .cloned()
        .collect();
    let keeps_standard = names.is_empty() && !entries.is_empty();
    let base = if keeps_standard {
        standard.iter().map(|&name| name.to_owned()).collect()
    } else {
        names
    };
    changed(base, entries)
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn list(entries: &str) -> Vec<String> {
        let entries = entries.split(',').filter(|entry| !entry.is_empty());
        entries.map(str::to_owned).collect()
    }

    #[test]
    fn a_list_is_names_or_changes() {
        assert_eq!(
            ToolList::of(list("r*,ls")),
            Ok(ToolList::Allow(list("r*,ls")))
        );
        assert_eq!(
            ToolList::of(list("+ls,-read")),
            Ok(ToolList::Change(list("+ls,-read")))
        );
        assert_eq!(ToolList::of(list("-bash,read")), Err(ToolListError::Mixed));
        let pattern = ToolListError::Pattern("+gr*".to_owned());
        assert_eq!(ToolList::of(list("+gr*")), Err(pattern));
    }

    #[test]
    fn changes_apply_in_order() {
        let base = || list("read,bash");
        assert_eq!(changed(base(), &list("+ls,-bash,+ls")), list("read,ls"));
        assert_eq!(changed(base(), &list("-read,+read")), list("bash,read"));
        assert_eq!(changed(base(), &list("+,-,x")), base());
    }

    #[test]
    fn names_of_the_settings_replace_the_standard_tools() {
        let standard = ["read", "bash"];
        for (entries, expected) in [
            ("", ""),
            ("ls", "ls"),
            ("+ls,-read", "bash,ls"),
            ("find,-read,+ls", "find,ls"),
        ] {
            assert_eq!(resolved(&list(entries), &standard), list(expected));
        }
    }
}
