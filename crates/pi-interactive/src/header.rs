//! What stands at the top of the transcript: the program's name, the most useful keys, and what was
//! loaded.

use pi_tui::{ColorToken, Lines, sanitize, wrap_text};

use crate::block::Block;
use crate::keys;
use crate::look::Appearance;

/// What the header says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct HeaderFacts {
    /// The version, as `--version` prints it.
    pub(crate) version: String,
    /// Whether the name and the keys are left out.
    pub(crate) quiet: bool,
    /// Lists of what was loaded, such as skills: a title, the short list, and the full one.
    pub(crate) sections: Vec<HeaderSection>,
}

/// A list in the header.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct HeaderSection {
    /// What is listed.
    pub(crate) title: String,
    /// The names.
    pub(crate) names: Vec<String>,
    /// The long form, one line each.
    pub(crate) details: Vec<String>,
    /// Whether it tells of problems.
    pub(crate) is_problem: bool,
}

/// The header.
#[derive(Debug)]
pub(crate) struct Header {
    facts: HeaderFacts,
    expanded: bool,
    generation: u64,
}

impl Header {
    /// Makes a header.
    pub(crate) fn new(facts: HeaderFacts) -> Self {
        Self {
            facts,
            expanded: false,
            generation: 0,
        }
    }
}

impl Block for Header {
    fn lines(&mut self, width: usize, appearance: &Appearance) -> Lines {
        let mut lines = Vec::new();
        if !self.facts.quiet {
            let name = appearance.style(ColorToken::Accent).bold().apply("pi");
            let version = format!(" v{}", self.facts.version);
            lines.push(String::new());
            lines.push(format!(
                " {name}{}",
                appearance.paint(ColorToken::Dim, &version)
            ));
            let hints = [
                format!("{} stop", appearance.key(keys::INTERRUPT)),
                format!("{} twice exit", appearance.key(keys::CLEAR)),
                "/ commands".to_owned(),
                "! shell".to_owned(),
                format!("{} details", appearance.key(keys::TOOLS_EXPAND)),
            ];
            let hints = appearance.paint(ColorToken::Muted, &hints.join(" · "));
            lines.extend(
                wrap_text(&hints, width.saturating_sub(2).max(1))
                    .into_iter()
                    .map(|line| format!(" {line}")),
            );
        }
        for section in &self.facts.sections {
            let token = if section.is_problem {
                ColorToken::Warning
            } else {
                ColorToken::MdHeading
            };
            lines.push(String::new());
            lines.push(appearance.paint(token, &format!("[{}]", section.title)));
            let shown: Vec<String> = if self.expanded || section.names.is_empty() {
                section.details.clone()
            } else {
                vec![section.names.join(", ")]
            };
            for line in shown {
                let line = appearance.paint(ColorToken::Muted, &sanitize(&line));
                lines.extend(
                    wrap_text(&line, width.saturating_sub(3).max(1))
                        .into_iter()
                        .map(|line| format!("  {line}")),
                );
            }
        }
        lines.into()
    }

    fn generation(&self) -> u64 {
        self.generation
    }

    fn set_expanded(&mut self, expanded: bool) {
        if self.expanded != expanded {
            self.expanded = expanded;
            self.generation += 1;
        }
    }
}
