//! Prompt templates: Markdown files that the user invokes by name, with arguments.

use std::path::{Path, PathBuf};

use pi_protocol::SourceInfo;

use super::front_matter::{FrontMatter, normalize_line_endings, split};
use super::named_set::NamedSet;
use super::template_arguments::{split_arguments, substitute};
use crate::regular_file::{MAX_BYTES, read_prose};

/// Maximum length of a description taken from the first line.
const DESCRIPTION_CHARACTERS: usize = 60;

/// A template that is invoked as `/name arguments`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptTemplate {
    /// The file name without its extension.
    pub name: String,
    /// From the front matter, or the first line.
    pub description: String,
    /// Shown to the user after the name.
    pub argument_hint: Option<String>,
    /// The text with its placeholders.
    pub content: String,
    pub file_path: PathBuf,
    pub source_info: SourceInfo,
}

/// Expands `/name arguments` to the template with its arguments. Returns `None` for any other text and
/// for an unknown template.
pub fn expand_prompt_template(text: &str, templates: &[PromptTemplate]) -> Option<String> {
    let command = text.strip_prefix('/')?;
    let (name, arguments) = command
        .split_once(char::is_whitespace)
        .unwrap_or((command, ""));
    let template = templates.iter().find(|template| template.name == name)?;
    Some(substitute(&template.content, &split_arguments(arguments)))
}

impl NamedSet<PromptTemplate> {
    /// Loads one file. `describe` returns its provenance.
    pub(super) fn load(&mut self, path: &Path, describe: impl FnOnce(&Path) -> SourceInfo) {
        let text = match read_prose(path, MAX_BYTES) {
            Ok(Some(text)) => text,
            Ok(None) => return,
            Err(error) => {
                self.warn(format!("skipped prompt template: {error}"), path);
                return;
            }
        };
        let text = normalize_line_endings(&text);
        let document = split(&text);
        let matter = match FrontMatter::parse(document.block.unwrap_or_default()) {
            Ok(matter) => matter,
            Err(error) => {
                self.warn(format!("skipped prompt template: {error}"), path);
                return;
            }
        };
        let name = path
            .file_stem()
            .map(|stem| stem.to_string_lossy().into_owned())
            .unwrap_or_default();
        self.add(&name, path, || PromptTemplate {
            name: name.clone(),
            description: matter
                .text("description")
                .map_or_else(|| first_line(document.body), str::to_owned),
            argument_hint: matter.text("argument-hint").map(str::to_owned),
            content: document.body.to_owned(),
            file_path: path.to_owned(),
            source_info: describe(path),
        });
    }
}

fn first_line(body: &str) -> String {
    let line = body
        .lines()
        .find(|line| !line.trim().is_empty())
        .unwrap_or_default();
    let mut words: String = line.chars().take(DESCRIPTION_CHARACTERS).collect();
    if words.len() < line.len() {
        words.push_str("...");
    }
    words
}
