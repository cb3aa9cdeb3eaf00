//! What the system prompt says, section by section.
//!
//! The sections' order, tags and changes over time are `pi-session`'s matter; which tools are active
//! is the session's. Here are the words, and which of them belong to a given set of tools, context
//! files and skills.

use std::path::{Path, PathBuf};

use pi_config::SkillListing;
use pi_session::{PromptSection, PromptSections};

use crate::toolset::Toolset;

const PREAMBLE: &str = "You are pi, an expert coding agent in the user's terminal. You work in the \
    user's project through your tools: look things up, change files, run commands, and carry the \
    task through to the end before you answer.";

/// What holds whatever the tools are.
const GENERAL_RULES: [&str; 5] = [
    "Look before you change: read the code around it and follow its conventions.",
    "Do all of what was asked and nothing beyond it. Leave changes alone that you did not make.",
    "When a build or test covers your change, run it, and report failures as they are.",
    "Keep answers short: say what you did and found, not what you are about to do.",
    "Name files by their paths.",
];

/// The tools a skill can be read with, the best one first.
const SKILL_READERS: [&str; 2] = ["read", "bash"];

/// Instructions from a file of the project or the user, such as `AGENTS.md`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectInstructions {
    pub path: PathBuf,
    pub content: String,
}

/// Where the model learns about pi itself.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DocsPaths {
    /// The folder with pi's manual, if this installation has one.
    pub documentation: Option<PathBuf>,
    /// The command that is pi in a shell: `pi docs` prints the manual.
    pub program: String,
    /// The folder with the user's settings, models and resources.
    pub agent_directory: PathBuf,
}

/// What a system prompt is made of, beside the tools.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SystemPromptParts {
    pub cwd: PathBuf,
    /// A prompt of the user's own, instead of ours; tools, rules and docs then stay out.
    pub custom: Option<String>,
    /// What the user adds.
    pub append: Vec<String>,
    /// Instructions of the project and the user, the most general first.
    pub instructions: Vec<ProjectInstructions>,
    /// The skills the model may use by itself.
    pub skills: Vec<SkillListing>,
    /// Where the model learns about pi.
    pub docs: DocsPaths,
}

impl SystemPromptParts {
    /// Makes the sections for a set of active tools.
    pub fn sections(&self, tools: &Toolset, active: &[String]) -> PromptSections {
        let mut sections = match self.custom.as_deref() {
            Some(custom) if !custom.is_empty() => PromptSections::new(custom),
            Some(_) | None => {
                let mut sections = PromptSections::new(PREAMBLE);
                sections.set(PromptSection::Tools, tools_text(tools, active));
                sections.set(PromptSection::Rules, rules_text(tools, active));
                sections.set(PromptSection::Docs, self.docs.text());
                sections
            }
        };
        sections.set(PromptSection::Addendum, self.append.join("\n\n"));
        sections.set(PromptSection::ProjectContext, self.instructions_text());
        sections.set(PromptSection::Skills, self.skills_text(active));
        let cwd = self.cwd.to_string_lossy().replace('\\', "/");
        sections.set(PromptSection::Cwd, cwd);
        sections
    }

    fn instructions_text(&self) -> String {
        if self.instructions.is_empty() {
            return String::new();
        }
        let files = self.instructions.iter().map(|file| {
            let path = file.path.display();
            let content = &file.content;
            format!("<project_instructions path=\"{path}\">\n{content}\n</project_instructions>")
        });
        let lead = "What the user and the project ask of you; the later wins over the earlier:";
        std::iter::once(lead.to_owned())
            .chain(files)
            .collect::<Vec<_>>()
            .join("\n\n")
    }

    fn skills_text(&self, active: &[String]) -> String {
        let reader = SKILL_READERS.into_iter().find(|name| is_in(active, name));
        let Some(reader) = reader.filter(|_| !self.skills.is_empty()) else {
            return String::new();
        };
        let lead = format!(
            "Skills are instructions for special tasks. When a task fits a description, read the \
             skill's file with {reader} and follow it. Relative paths in it start at the file's own \
             folder."
        );
        let skills = self.skills.iter().map(|skill| {
            let SkillListing {
                name,
                description,
                location,
            } = skill;
            format!(
                "  <skill>\n    <name>{name}</name>\n    <description>{description}</description>\n    \
                 <location>{location}</location>\n  </skill>\n"
            )
        });
        let skills: String = skills.collect();
        format!("{lead}\n\n<available_skills>\n{skills}</available_skills>")
    }
}

impl DocsPaths {
    /// Does not depend on the tools: a change of these must not change more of the prompt than it has to.
    fn text(&self) -> String {
        let pi = match self.program.as_str() {
            "" => "pi",
            program => program,
        };
        let manual = match &self.documentation {
            Some(folder) => format!("The manual is in {}.", folder.display()),
            None => {
                format!("`{pi} docs` lists the pages of the manual, `{pi} docs TOPIC` prints one.")
            }
        };
        format!(
            "For questions about pi itself, its settings, sessions, extensions, skills, themes or \
             SDK, and only then:\n\
             - {manual} Read the pages that fit, to the end, before you answer or write something for pi.\n\
             - `{pi} --help` lists commands, flags and environment variables.\n\
             - The user's settings, models, key bindings, extensions, skills, prompts and themes \
             are in {}. A project has its own in .pi.",
            self.agent_directory.display()
        )
    }
}

fn tools_text(tools: &Toolset, active: &[String]) -> String {
    let listed: Vec<String> = active
        .iter()
        .filter_map(|name| {
            let snippet = tools.get(name)?.snippet.as_deref()?;
            let snippet = snippet.split_whitespace().collect::<Vec<_>>().join(" ");
            (!snippet.is_empty()).then(|| format!("- {name}: {snippet}"))
        })
        .collect();
    let list = match listed.as_slice() {
        [] => "(none)".to_owned(),
        listed => listed.join("\n"),
    };
    format!("{list}\n\nThe project may bring more tools than these; they are declared alike.")
}

fn rules_text(tools: &Toolset, active: &[String]) -> String {
    let of_tools = active
        .iter()
        .filter_map(|name| tools.get(name))
        .flat_map(|tool| tool.guidelines.iter().map(String::as_str));
    let all = shell_rule(active)
        .into_iter()
        .chain(of_tools)
        .chain(GENERAL_RULES);
    let mut rules: Vec<&str> = Vec::new();
    for rule in all.map(str::trim) {
        if !rule.is_empty() && !rules.contains(&rule) {
            rules.push(rule);
        }
    }
    let mut text = String::new();
    for rule in rules {
        text.push_str(if text.is_empty() { "- " } else { "\n- " });
        text.push_str(rule);
    }
    text
}

/// Returns what to search files with, unless there are tools for it.
fn shell_rule(active: &[String]) -> Option<&'static str> {
    if ["grep", "find", "ls"]
        .iter()
        .any(|name| is_in(active, name))
    {
        return None;
    }
    match (is_in(active, "bash"), is_in(active, "powershell")) {
        (true, true) => Some("List and search files with bash or PowerShell."),
        (true, false) => Some("List and search files with bash: ls, rg, find."),
        (false, true) => Some("List and search files with PowerShell."),
        (false, false) => None,
    }
}

fn is_in(names: &[String], name: &str) -> bool {
    names.iter().any(|known| known == name)
}

/// Returns how a shell calls this program: by its whole path, since it need not be on the `PATH`.
/// A program of another name embeds pi and does not know its commands.
pub(crate) fn shell_command(program: Option<&Path>) -> String {
    let is_pi = |path: &&Path| path.file_stem().is_some_and(|stem| stem == "pi");
    let Some(path) = program.filter(is_pi) else {
        return "pi".to_owned();
    };
    let path = path.to_string_lossy();
    let is_plain = |character: char| character.is_alphanumeric() || "/\\:._-+".contains(character);
    if path.chars().all(is_plain) {
        path.into_owned()
    } else {
        "pi".to_owned()
    }
}

/// Finds the folder with pi's manual: in the one the environment names, or beside the
/// program.
pub(crate) fn find_documentation(
    package: Option<&Path>,
    program: Option<&Path>,
) -> Option<PathBuf> {
    let beside = program.and_then(Path::parent);
    let shared = beside.and_then(Path::parent);
    [
        package.map(|folder| folder.join("docs")),
        beside.map(|folder| folder.join("docs")),
        shared.map(|folder| folder.join("share/doc/pi")),
    ]
    .into_iter()
    .flatten()
    .find(|folder| folder.join("differences.md").is_file())
}

#[cfg(test)]
mod tests;
