//! Built-in extensions, which flags and settings name as `builtin:NAME`.

use std::collections::BTreeSet;

use pi_protocol::settings::FileHistoryMode;

/// Prefix of the names of built-in extensions and of the paths of built-in tools.
const PREFIX: &str = "builtin:";

/// A part of pi that can be turned off like an extension.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum BuiltinExtension {
    Mcp,
    LlamaCpp,
    Codemode,
    ToolSearch,
    /// Background processes; off by default.
    Process,
    /// Plan mode; off by default.
    Plan,
    /// Sub-agents; off by default.
    Task,
    /// Draws images; off by default.
    Image,
    /// Undoes changes of files; the setting `fileHistory` turns it on.
    FileHistory,
    /// Shows the sandbox of a session that has one.
    Sandbox,
}

impl BuiltinExtension {
    pub const ALL: [Self; 10] = [
        Self::Mcp,
        Self::LlamaCpp,
        Self::Codemode,
        Self::ToolSearch,
        Self::Process,
        Self::Plan,
        Self::Task,
        Self::Image,
        Self::FileHistory,
        Self::Sandbox,
    ];

    /// Those that are loaded only if settings or flags name them.
    const ON_REQUEST: [Self; 4] = [Self::Process, Self::Plan, Self::Task, Self::Image];

    pub fn name(self) -> &'static str {
        match self {
            Self::Mcp => "mcp",
            Self::LlamaCpp => "llama.cpp",
            Self::Codemode => "codemode",
            Self::ToolSearch => "tool-search",
            Self::Process => "process",
            Self::Plan => "plan",
            Self::Task => "task",
            Self::Image => "image",
            Self::FileHistory => "file-history",
            Self::Sandbox => "sandbox",
        }
    }

    fn named(name: &str) -> Option<Self> {
        let mut all = Self::ALL.into_iter();
        all.find(|extension| extension.name() == name)
    }
}

/// Returns the name in an entry that names a built-in extension, known or not.
pub(super) fn builtin_name(entry: &str) -> Option<&str> {
    entry.strip_prefix(PREFIX)
}

/// The built-in extensions that are loaded.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BuiltinExtensions(BTreeSet<BuiltinExtension>);

impl BuiltinExtensions {
    pub fn contains(&self, extension: BuiltinExtension) -> bool {
        self.0.contains(&extension)
    }

    /// Returns those that are loaded unless settings or flags leave them out.
    pub(super) fn standard(file_history: FileHistoryMode) -> Self {
        let mut standard = BTreeSet::from(BuiltinExtension::ALL);
        standard.retain(|extension| !BuiltinExtension::ON_REQUEST.contains(extension));
        if file_history == FileHistoryMode::Off {
            standard.remove(&BuiltinExtension::FileHistory);
        }
        Self(standard)
    }

    /// Applies the entries of a settings list in order; other entries are ignored.
    pub(super) fn apply(&mut self, entries: &[String]) {
        for entry in entries {
            let (is_enabled, rest) = match entry.strip_prefix(['-', '!']) {
                Some(rest) => (false, rest),
                None => (true, entry.strip_prefix('+').unwrap_or(entry)),
            };
            let Some(extension) = builtin_name(rest).and_then(BuiltinExtension::named) else {
                continue;
            };
            if is_enabled {
                self.0.insert(extension);
            } else {
                self.0.remove(&extension);
            }
        }
    }

    pub(super) fn remove(&mut self, extension: BuiltinExtension) {
        self.0.remove(&extension);
    }

    /// Adds one that a flag names; returns what is wrong with the name.
    pub(super) fn add(&mut self, name: &str) -> Result<(), String> {
        if let Some(extension) = BuiltinExtension::named(name) {
            self.0.insert(extension);
            return Ok(());
        }
        let known = BuiltinExtension::ALL.map(BuiltinExtension::name).join(", ");
        Err(format!("unknown built-in extension; use one of {known}"))
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn later_entries_win_and_others_are_ignored() {
        let mut extensions = BuiltinExtensions::standard(FileHistoryMode::Off);
        let entries = [
            "-builtin:mcp",
            "!builtin:llama.cpp",
            "-builtin:nope",
            "x.ts",
        ];
        extensions.apply(&entries.map(str::to_owned));
        assert!(!extensions.contains(BuiltinExtension::Mcp));
        assert!(!extensions.contains(BuiltinExtension::LlamaCpp));
        assert!(extensions.contains(BuiltinExtension::Codemode));
        extensions.apply(&["+builtin:mcp", "builtin:llama.cpp"].map(str::to_owned));
        assert_eq!(
            extensions,
            BuiltinExtensions::standard(FileHistoryMode::Off)
        );
        assert!(!extensions.contains(BuiltinExtension::Process));
        assert!(!extensions.contains(BuiltinExtension::Task));
        assert!(!extensions.contains(BuiltinExtension::Image));
        extensions.apply(&["builtin:process".to_owned()]);
        assert!(extensions.contains(BuiltinExtension::Process));
        assert!(!extensions.contains(BuiltinExtension::FileHistory));
        let extensions = BuiltinExtensions::standard(FileHistoryMode::Edits);
        assert!(extensions.contains(BuiltinExtension::FileHistory));
    }

    #[test]
    fn a_flag_adds_known_names_only() {
        let mut extensions = BuiltinExtensions::default();
        assert_eq!(extensions.add("tool-search"), Ok(()));
        assert!(extensions.contains(BuiltinExtension::ToolSearch));
        let error = extensions.add("nope").unwrap_err();
        assert!(
            error.contains(
                "mcp, llama.cpp, codemode, tool-search, process, plan, task, image, file-history"
            ),
            "{error}"
        );
    }
}
