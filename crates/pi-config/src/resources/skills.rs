//! Skills: instructions the model loads when a task calls for them.
//!
//! Only the front matter of a skill is read until somebody uses it. A skill with an odd name or
//! a long description is reported and loaded all the same; one without a description is not.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::front_matter::{FrontMatter, read_head, split, with_plain_line_ends};
use super::named_set::NamedSet;
use super::{SourceInfo, SourceOrigin, SourceScope};
use crate::ConfigDiagnostic;
use crate::regular_file::{MAX_BYTES, read_prose};

const MAX_NAME_LENGTH: usize = 64;
const MAX_DESCRIPTION_LENGTH: usize = 1024;

/// A skill the user or the model may call for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skill {
    /// What it is called: `/skill:<name>`.
    pub name: String,
    /// What it does and when it applies.
    pub description: String,
    pub file_path: PathBuf,
    /// The directory its relative paths start at.
    pub base_dir: PathBuf,
    /// Whether only the user may call for it.
    pub disable_model_invocation: bool,
    /// Where it came from.
    pub source_info: SourceInfo,
}

/// What the model is told of a skill, escaped for use between XML tags.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillListing {
    pub name: String,
    pub description: String,
    /// The path of its file.
    pub location: String,
}

/// Why a skill could not be used.
#[derive(Debug, thiserror::Error)]
#[error("skill {name:?} at {} cannot be used: {reason}", path.display())]
pub struct SkillError {
    pub name: String,
    pub path: PathBuf,
    pub reason: String,
}

impl Skill {
    /// Reads the instructions, without the front matter.
    pub fn read_body(&self) -> Result<String, SkillError> {
        let unusable = |reason| SkillError {
            name: self.name.clone(),
            path: self.file_path.clone(),
            reason,
        };
        let text = read_prose(&self.file_path, MAX_BYTES)
            .map_err(|error| unusable(error.to_string()))?
            .ok_or_else(|| unusable("it is gone".to_owned()))?;
        let text = with_plain_line_ends(&text);
        Ok(split(&text).body.trim().to_owned())
    }
}

/// Lists the skills the model may call for by itself.
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

/// Replaces `/skill:name arguments` by the skill's instructions. Returns `None` for any other
/// text, and for a name no skill has.
pub fn expand_skill_command(text: &str, skills: &[Skill]) -> Option<Result<String, SkillError>> {
    let command = text.strip_prefix("/skill:")?;
    let (name, arguments) = command
        .split_once(char::is_whitespace)
        .unwrap_or((command, ""));
    let skill = skills.iter().find(|skill| skill.name == name)?;
    Some(skill.read_body().map(|body| {
        // The element is read back by transcripts, so its shape is fixed.
        let mut text = format!(
            "<skill name=\"{}\" location=\"{}\">\nReferences are relative to {}.\n\n{body}\n</skill>",
            attribute(&skill.name),
            attribute(&skill.file_path.to_string_lossy()),
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

/// Keeps a value inside its quotes; everything that occurs in sane names and paths stays as is.
fn attribute(text: &str) -> String {
    text.replace('"', "&quot;").replace(['\n', '\r'], " ")
}

/// Gathers skills, each real file once.
#[derive(Debug)]
pub(super) struct SkillSet {
    skills: NamedSet<Skill>,
    real_files: HashSet<PathBuf>,
}

impl SkillSet {
    /// Begins with nothing.
    pub(super) fn new() -> Self {
        Self {
            skills: NamedSet::new("skill"),
            real_files: HashSet::new(),
        }
    }

    /// Loads one file; a link to a file that was loaded already is passed over. `describe` says
    /// where it came from once it proves to be a skill.
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

    /// Reports something about a path that is no skill.
    pub(super) fn warn(&mut self, message: &str, path: &Path) {
        self.skills.warn(message, path);
    }

    /// Returns the skills and what the user should know.
    pub(super) fn finish(self) -> (Vec<Skill>, Vec<ConfigDiagnostic>) {
        self.skills.finish()
    }

    /// Reads the front matter of one file. Loose Markdown files that are no skills are none of the
    /// user's concern; a `SKILL.md` that does not work is.
    fn read(&mut self, path: &Path) -> Option<Skill> {
        let is_declared = path.file_name().is_some_and(|name| name == "SKILL.md");
        let head = match read_head(path) {
            Ok(Some(head)) => head,
            Ok(None) => return None,
            Err(error) => {
                self.warn(&format!("skill is not loaded: {error}"), path);
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
            .map_or(Some(NO_DESCRIPTION.to_owned()), problem_of_description)
            .into_iter()
            .chain(problems_of_name(&name));
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

const NO_DESCRIPTION: &str =
    "skill has no description and is not loaded; add one to its front matter";

fn problem_of_description(description: &str) -> Option<String> {
    let length = description.encode_utf16().count();
    (length > MAX_DESCRIPTION_LENGTH).then(|| {
        format!(
            "skill description has {length} characters; keep it within {MAX_DESCRIPTION_LENGTH}"
        )
    })
}

fn problems_of_name(name: &str) -> impl Iterator<Item = String> {
    let length = name.encode_utf16().count();
    let is_plain = !name.is_empty()
        && name
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
    [
        (length > MAX_NAME_LENGTH).then(|| {
            format!("skill name has {length} characters; keep it within {MAX_NAME_LENGTH}")
        }),
        (!is_plain).then(|| {
            let shown: String = name.chars().take(MAX_NAME_LENGTH).collect();
            format!("skill name {shown:?} should hold only a-z, 0-9 and hyphens")
        }),
        (name.starts_with('-') || name.ends_with('-'))
            .then(|| "skill name should not begin or end with a hyphen".to_owned()),
        name.contains("--")
            .then(|| "skill name should not hold two hyphens in a row".to_owned()),
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
