//! The system prompt in named sections, and how a change of it is told to the model.
//!
//! What the sections say is decided elsewhere; here they get their order, their tags and their
//! difference to what the transcript has told already. Only the difference is stored: a prompt that
//! is sent again costs money, and one that is rewritten costs the whole cache.

use pi_ai::json::JsonObject;
use pi_ai::transcript::ToolChanges;
use pi_ai::{MessageContent, SystemMessage, Tool};
use serde_json::Value;
use thiserror::Error;

/// The section that leads the prompt and has no tag.
const PREAMBLE: &str = "preamble";

/// A section of pi's own prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PromptSection {
    /// Who the model is and what it does.
    Preamble,
    /// The tools there are.
    Tools,
    Rules,
    /// Where pi's own documentation is.
    Docs,
    /// What the user adds to the prompt.
    Addendum,
    ProjectContext,
    /// The skills there are.
    Skills,
    Cwd,
}

impl PromptSection {
    /// All of them in the order of the prompt; sections of extensions follow.
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

    /// Returns the section's name, which is also its tag.
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

/// A name that no section may have.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "\"{0}\" cannot name a section of the system prompt: use a lower-case letter followed by \
    lower-case letters, digits, \"_\" and \"-\", and any name but \"preamble\""
)]
pub struct InvalidSectionName(pub String);

/// The sections of a system prompt.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PromptSections {
    /// Names and texts; the order of pi's own sections is settled when they are rendered.
    sections: Vec<(String, String)>,
}

impl PromptSections {
    /// Creates a prompt of a preamble alone.
    pub fn new(preamble: impl Into<String>) -> Self {
        let mut sections = Self::default();
        sections.put(PREAMBLE, preamble.into());
        sections
    }

    /// Sets one of pi's own sections; an empty text leaves it out.
    pub fn set(&mut self, section: PromptSection, text: impl Into<String>) {
        self.put(section.name(), text.into());
    }

    /// Sets a section of an extension, which may also take the place of one of pi's own; an empty
    /// text changes nothing.
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

    /// Renders the sections in order: the preamble as it is, the others in tags of their names.
    pub fn rendered(&self) -> JsonObject {
        let order = PromptSection::ORDER;
        let place = |name: &str| order.iter().position(|known| known.name() == name);
        let mut sections: Vec<&(String, String)> = self
            .sections
            .iter()
            .filter(|(name, text)| name == PREAMBLE || !text.is_empty())
            .collect();
        // The sort is stable, so sections of extensions stay in the order they came in.
        sections.sort_by_key(|(name, _)| place(name).unwrap_or(order.len()));
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

/// Returns what changes sections into others: new texts, then `null` for those that go. None where
/// nothing changes.
pub fn section_changes(previous: &JsonObject, current: &JsonObject) -> Option<JsonObject> {
    let new = current
        .iter()
        .filter(|(name, text)| previous.get(name.as_str()) != Some(text))
        .map(|(name, text)| (name.clone(), text.clone()));
    let gone = previous
        .keys()
        .filter(|name| !current.contains_key(name.as_str()))
        .map(|name| (name.clone(), Value::Null));
    let changes: JsonObject = new.chain(gone).collect();
    (!changes.is_empty()).then_some(changes)
}

/// Makes the system message that brings a transcript up to date; none where it is.
///
/// `current` is what the transcript adds up to ([`crate::Projection::system_message`]). The first
/// message of a session declares everything, later ones what changed; a tool that is defined anew is
/// removed and added. Without `tools` those of the transcript stay.
pub fn system_update(
    current: Option<&SystemMessage>,
    sections: &PromptSections,
    tools: Option<&[Tool]>,
    now_ms: i64,
) -> Option<SystemMessage> {
    let nothing = JsonObject::new();
    let told = current.and_then(|current| current.sections.as_ref());
    let changed_sections = section_changes(told.unwrap_or(&nothing), &sections.rendered());
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
