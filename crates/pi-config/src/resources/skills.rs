//! Skills: instructions that the model loads on demand.
//!
//! Only the front matter of a skill is read until it is used. A skill with an invalid name or
//! a long description is reported but still loaded; one without a description is skipped.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use pi_protocol::ConfigDiagnostic;
use pi_protocol::{SourceInfo, SourceOrigin, SourceScope};

use super::front_matter::{FrontMatter, normalize_line_endings, read_head, split};
use super::named_set::NamedSet;
use crate::regular_file::{MAX_BYTES, read_prose};

const MAX_NAME_LENGTH: usize = 64;
const MAX_DESCRIPTION_LENGTH: usize = 1024;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skill {
    /// Invoked as `/skill:<name>`.
    pub name: String,
    /// What it does and when to use it.
    pub description: String,
    pub file_path: PathBuf,
    /// Base directory of relative paths in the instructions.
    pub base_dir: PathBuf,
    /// Whether only the user can invoke it.
    pub disable_model_invocation: bool,
    pub source_info: SourceInfo,
}

/// The listing of a skill in the system prompt, escaped for XML.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillListing {
    pub name: String,
    pub description: String,
    /// The path of the skill file.
    pub location: String,
}

#[derive(Debug, thiserror::Error)]
#[error("cannot load skill {name:?}: {}: {reason}", path.display())]
pub struct SkillError {
    pub name: String,
    pub path: PathBuf,
    pub reason: String,
}

impl Skill {
    /// Reads the instructions without the front matter.
    pub fn read_body(&self) -> Result<String, SkillError> {
        let load_error = |reason| SkillError {
            name: self.name.clone(),
            path: self.file_path.clone(),
            reason,
        };
        let text = read_prose(&self.file_path, MAX_BYTES)
            .map_err(|error| load_error(error.to_string()))?
            .ok_or_else(|| load_error("file not found".to_owned()))?;
        let text = normalize_line_endings(&text);
        Ok(split(&text).body.trim().to_owned())
    }
}

/// Lists the skills that the model may invoke.
pub fn list_skills_for_model(skills: &[Skill]) -> Vec<SkillListing> {
    skills
        .iter()
        .filter(|skill| !skill.disable_model_invocation)
        .map(|skill| SkillListing {
            name: escape_xml(&skill.name),
            description: escape_xml(&skill.description),
            location: escape_xml(&skill.file_path.to_string_lossy()),
        })
        .collect()
}

/// Expands `/skill:name arguments` to the skill's instructions. Returns `None` for any other
/// text and for an unknown skill.
pub fn expand_skill_command(text: &str, skills: &[Skill]) -> Option<Result<String, SkillError>> {
    let command = text.strip_prefix("/skill:")?;
    let (name, arguments) = command
        .split_once(char::is_whitespace)
        .unwrap_or((command, ""));
    let skill = skills.iter().find(|skill| skill.name == name)?;
    Some(skill.read_body().map(|body| {
        // Transcripts parse this element, so its format is fixed.
        let mut text = format!(
            "<skill name=\"{}\" location=\"{}\">\nReferences are relative to {}.\n\n{body}\n</skill>",
            escape_attribute(&skill.name),
            escape_attribute(&skill.file_path.to_string_lossy()),
            skill.base_dir.display(),
        );
        let arguments = arguments.trim();
        if !arguments.is_empty() {
            text.push_str("\n\n");
            text.push_str(arguments);
        }
        text
    }))
}

fn escape_xml(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&apos;"),
            other => escaped.push(other),
        }
    }
    escaped
}

/// Escapes only what would end the attribute; regular names and paths are unchanged.
fn escape_attribute(text: &str) -> String {
    text.replace('"', "&quot;").replace(['\n', '\r'], " ")
}

/// Collects skills, without duplicate real files.
#[derive(Debug)]
pub(super) struct SkillSet {
    skills: NamedSet<Skill>,
    real_files: HashSet<PathBuf>,
}

impl SkillSet {
    pub(super) fn new() -> Self {
        Self {
            skills: NamedSet::new("skill"),
            real_files: HashSet::new(),
        }
    }

    /// Loads one file, unless it is a symlink to a file that is already loaded. `describe` returns
    /// its provenance and is only called for a valid skill.
    pub(super) fn load(
        &mut self,
        path: &Path,
        real_file: PathBuf,
        describe: impl FnOnce(&Path) -> SourceInfo,
    ) {
        let Some(skill) = self.read(path) else {
            return;
        };
        if self.real_files.contains(&real_file) {
            return;
        }
        let name = skill.name.clone();
        let added = self.skills.add(&name, path, || Skill {
            source_info: describe(path),
            ..skill
        });
        if added {
            self.real_files.insert(real_file);
        }
    }

    /// Adds a warning about a path.
    pub(super) fn warn(&mut self, message: &str, path: &Path) {
        self.skills.warn(message, path);
    }

    /// Returns the skills and the diagnostics.
    pub(super) fn finish(self) -> (Vec<Skill>, Vec<ConfigDiagnostic>) {
        self.skills.finish()
    }

    /// Reads the front matter of one file. A loose Markdown file that is not a skill is ignored silently;
    /// an invalid `SKILL.md` is reported.
    fn read(&mut self, path: &Path) -> Option<Skill> {
        let is_declared = path.file_name().is_some_and(|name| name == "SKILL.md");
        let head = match read_head(path) {
            Ok(Some(head)) => head,
            Ok(None) => return None,
            Err(error) => {
                self.warn(&format!("skipped skill: {error}"), path);
                return None;
            }
        };
        let matter = match FrontMatter::parse(split(&head).block.unwrap_or_default()) {
            Ok(matter) => matter,
            Err(error) => {
                if is_declared {
                    self.warn(&error.to_string(), path);
                }
                return None;
            }
        };
        let description = matter.text("description");
        if description.is_none() && !is_declared {
            return None;
        }
        let base_dir = path.parent().unwrap_or(path).to_owned();
        let name = match matter.text("name") {
            Some(name) => name.to_owned(),
            None => base_dir.file_name()?.to_string_lossy().into_owned(),
        };
        let problems = description
            .map_or(Some(NO_DESCRIPTION.to_owned()), description_problem)
            .into_iter()
            .chain(name_problems(&name));
        for problem in problems {
            self.warn(&problem, path);
        }
        Some(Skill {
            name,
            description: description?.to_owned(),
            file_path: path.to_owned(),
            base_dir,
            disable_model_invocation: matter.is_true("disable-model-invocation"),
            source_info: unknown_source(path),
        })
    }
}

const NO_DESCRIPTION: &str = "skipped skill: no description; add one to its front matter";

fn description_problem(description: &str) -> Option<String> {
    let length = description.encode_utf16().count();
    (length > MAX_DESCRIPTION_LENGTH).then(|| {
        format!(
            "skill description is too long: {length} characters, at most {MAX_DESCRIPTION_LENGTH} allowed"
        )
    })
}

fn name_problems(name: &str) -> impl Iterator<Item = String> {
    let length = name.encode_utf16().count();
    let is_plain = !name.is_empty()
        && name
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
    [
        (length > MAX_NAME_LENGTH).then(|| {
            format!(
                "skill name is too long: {length} characters, at most {MAX_NAME_LENGTH} allowed"
            )
        }),
        (!is_plain).then(|| {
            let shown: String = name.chars().take(MAX_NAME_LENGTH).collect();
            format!("skill name {shown:?} should contain only a-z, 0-9 and hyphens")
        }),
        (name.starts_with('-') || name.ends_with('-'))
            .then(|| "skill name should not start or end with a hyphen".to_owned()),
        name.contains("--")
            .then(|| "skill name should not contain consecutive hyphens".to_owned()),
    ]
    .into_iter()
    .flatten()
}

fn unknown_source(path: &Path) -> SourceInfo {
    SourceInfo {
        path: path.to_owned(),
        source: "local".to_owned(),
        scope: SourceScope::Temporary,
        origin: SourceOrigin::TopLevel,
        base_dir: None,
    }
}
