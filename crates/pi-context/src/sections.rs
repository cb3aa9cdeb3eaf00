//! The system prompt in named sections, and the messages that update it. The content of sections is
//! decided elsewhere; this module orders and tags them and computes the difference to what the
//! transcript already declares. Only the difference is stored: re-sending the prompt costs tokens,
//! and rewriting it invalidates the cache.

use pi_protocol::json::JsonObject;
use pi_protocol::transcript::ToolChanges;
use pi_protocol::{MessageContent, SystemMessage, Tool};
use serde_json::Value;
use thiserror::Error;

/// The first section; it has no tag.
const PREAMBLE: &str = "preamble";

/// A built-in section of the prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PromptSection {
    /// Role and task of the model.
    Preamble,
    /// The available tools.
    Tools,
    Rules,
    /// Where the documentation of pi is.
    Docs,
    /// Text that the user appends to the prompt.
    Addendum,
    ProjectContext,
    /// The available skills.
    Skills,
    Cwd,
}

impl PromptSection {
    /// Sections in prompt order; sections of extensions follow.
    const ORDER: [Self; 8] = [
        Self::Preamble,
        Self::Tools,
        Self::Rules,
        Self::Docs,
        Self::Addendum,
        Self::ProjectContext,
        Self::Skills,
        Self::Cwd,
    ];

    /// Returns the section name, which is also its tag.
    pub fn name(self) -> &'static str {
        match self {
            Self::Preamble => PREAMBLE,
            Self::Tools => "tools",
            Self::Rules => "rules",
            Self::Docs => "docs",
            Self::Addendum => "addendum",
            Self::ProjectContext => "project_context",
            Self::Skills => "skills",
            Self::Cwd => "cwd",
        }
    }
}

/// Whether a section is not one of an extension.
pub(crate) fn is_built_in_section(name: &str) -> bool {
    PromptSection::ORDER
        .iter()
        .any(|section| section.name() == name)
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "invalid system prompt section name \"{0}\": use a lowercase letter followed by \
    lowercase letters, digits, \"_\" or \"-\"; \"preamble\" is reserved"
)]
pub struct InvalidSectionName(pub String);

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PromptSections {
    /// Names and texts; built-in sections are ordered when they are rendered.
    sections: Vec<(String, String)>,
}

impl PromptSections {
    /// Creates a prompt that has only a preamble.
    pub fn new(preamble: impl Into<String>) -> Self {
        let mut sections = Self::default();
        sections.put(PREAMBLE, preamble.into());
        sections
    }

    /// Sets a built-in section; an empty text removes it.
    pub fn set(&mut self, section: PromptSection, text: impl Into<String>) {
        self.put(section.name(), text.into());
    }

    /// Sets a section for an extension, which may also replace a built-in section. An empty text
    /// changes nothing.
    pub fn set_extension(
        &mut self,
        name: &str,
        text: impl Into<String>,
    ) -> Result<(), InvalidSectionName> {
        if !is_section_name(name) || name == PREAMBLE {
            return Err(InvalidSectionName(name.to_owned()));
        }
        let text = text.into();
        if !text.is_empty() {
            self.put(name, text);
        }
        Ok(())
    }

    fn put(&mut self, name: &str, text: String) {
        let known = self.sections.iter_mut().find(|(known, _)| known == name);
        match known {
            Some((_, known)) => *known = text,
            None => self.sections.push((name.to_owned(), text)),
        }
    }

    /// Renders the sections in order: the preamble as is, the others wrapped in tags.
    pub fn rendered(&self) -> JsonObject {
        let order = PromptSection::ORDER;
        let position = |name: &str| order.iter().position(|known| known.name() == name);
        let mut sections: Vec<&(String, String)> = self
            .sections
            .iter()
            .filter(|(name, text)| name == PREAMBLE || !text.is_empty())
            .collect();
        // The sort is stable, so extension sections keep their insertion order.
        pi_protocol::sort_by_key(&mut sections, |(name, _)| {
            position(name).unwrap_or(order.len())
        });
        let render = |(name, text): &(String, String)| {
            let text = match name.as_str() {
                PREAMBLE => text.clone(),
                _ => format!("<{name}>\n{text}\n</{name}>"),
            };
            (name.clone(), Value::String(text))
        };
        sections.into_iter().map(render).collect()
    }
}

fn is_section_name(name: &str) -> bool {
    let mut characters = name.chars();
    characters
        .next()
        .is_some_and(|first| first.is_ascii_lowercase())
        && characters
            .all(|one| one.is_ascii_lowercase() || one.is_ascii_digit() || matches!(one, '_' | '-'))
}

/// Returns the changes between two sets of sections: new texts, then `null` for removed ones.
/// `None` if nothing changed.
pub fn section_changes(previous: &JsonObject, current: &JsonObject) -> Option<JsonObject> {
    let updated = current
        .iter()
        .filter(|(name, text)| previous.get(name.as_str()) != Some(text))
        .map(|(name, text)| (name.clone(), text.clone()));
    let removed = previous
        .keys()
        .filter(|name| !current.contains_key(name.as_str()))
        .map(|name| (name.clone(), Value::Null));
    let changes: JsonObject = updated.chain(removed).collect();
    (!changes.is_empty()).then_some(changes)
}

/// Returns the system message that updates a transcript to the given prompt and tools; `None` if
/// nothing changed.
///
/// `current` is the combined system message of the transcript
/// ([`pi_session::Projection::system_message`]). The first message of a session declares everything,
/// later ones only the changes; a redefined tool is removed and added. If `tools` is `None`, the
/// tools stay unchanged.
pub fn system_update(
    current: Option<&SystemMessage>,
    sections: &PromptSections,
    tools: Option<&[Tool]>,
    now_ms: i64,
) -> Option<SystemMessage> {
    let empty = JsonObject::new();
    let previous_sections = current.and_then(|current| current.sections.as_ref());
    let changed_sections =
        section_changes(previous_sections.unwrap_or(&empty), &sections.rendered());
    let declared = current.and_then(|current| current.tools_added.as_deref());
    let changed_tools = tools.map_or_else(ToolChanges::default, |tools| {
        let declared = declared.unwrap_or_default().iter();
        ToolChanges::between(
            &declared.collect::<Vec<_>>(),
            &tools.iter().collect::<Vec<_>>(),
        )
    });
    if changed_sections.is_none() && changed_tools.is_empty() {
        return None;
    }
    let ToolChanges { added, removed } = changed_tools;
    Some(SystemMessage {
        content: MessageContent::Text(String::new()),
        sections: changed_sections,
        tools_added: (!added.is_empty()).then_some(added),
        tools_removed: (!removed.is_empty()).then_some(removed),
        timestamp: now_ms,
        ..SystemMessage::default()
    })
}

#[cfg(test)]
mod tests;
