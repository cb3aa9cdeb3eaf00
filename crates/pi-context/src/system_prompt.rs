//! Text of the system prompt, section by section.
//!
//! [`PromptSections`] owns the order, tags and changes of the sections, and the session knows which
//! tools are active. This file contains the text, and selects it for a given set of tools, context
//! files and skills.

use std::path::{Path, PathBuf};

use crate::sections::{PromptSection, PromptSections};

const PREAMBLE: &str = "You are pi, an expert coding agent in the user's terminal. You work on the \
    user's project with your tools: inspect code, edit files, run commands, and complete the task \
    before you give your final answer.";

/// Rules that apply independently of the tools.
const GENERAL_RULES: [&str; 5] = [
    "Read the surrounding code before editing and follow its conventions.",
    "Do everything the user asked for and nothing more. Do not modify or revert changes you did not make.",
    "If a build or test covers your change, run it. Report failures as they are.",
    "Keep answers short: state what you did and found, not what you are about to do.",
    "Refer to files by path.",
];

/// Tools to read a skill with, in order of preference.
const SKILL_READERS: [&str; 2] = ["read", "bash"];

/// Instructions from a file of the project or the user, such as `AGENTS.md`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectInstructions {
    pub path: PathBuf,
    pub content: String,
}

/// A skill the model may use on its own. The texts are escaped for XML.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptSkill {
    pub name: String,
    pub description: String,
    pub location: String,
}

/// What the prompt says about an active tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PromptTool<'tool> {
    pub name: &'tool str,
    /// One line for the list of tools; without it, the tool is not listed.
    pub snippet: Option<&'tool str>,
    /// Rules for using the tool.
    pub guidelines: &'tool [String],
}

/// Where the model finds documentation of pi.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DocsPaths {
    /// The directory of the manual, if this installation has one.
    pub documentation: Option<PathBuf>,
    /// The shell command for pi; `pi docs` prints the manual.
    pub program: String,
    /// The directory of the user's settings, models and resources.
    pub agent_directory: PathBuf,
}

/// Inputs of the system prompt, except the tools.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SystemPromptParts {
    pub cwd: PathBuf,
    /// A custom prompt that replaces the default; tools, rules and docs are then omitted.
    pub custom: Option<String>,
    /// Text appended by the user.
    pub append: Vec<String>,
    /// User and project instructions, most general first.
    pub instructions: Vec<ProjectInstructions>,
    pub skills: Vec<PromptSkill>,
    pub docs: DocsPaths,
}

impl SystemPromptParts {
    /// Builds the sections for the active tools.
    pub fn sections(&self, tools: &[PromptTool<'_>]) -> PromptSections {
        let mut sections = match self.custom.as_deref() {
            Some(custom) if !custom.is_empty() => PromptSections::new(custom),
            Some(_) | None => {
                let mut sections = PromptSections::new(PREAMBLE);
                sections.set(PromptSection::Tools, tools_text(tools));
                sections.set(PromptSection::Rules, rules_text(tools));
                sections.set(PromptSection::Docs, self.docs.text());
                sections
            }
        };
        sections.set(PromptSection::Addendum, self.append.join("\n\n"));
        sections.set(PromptSection::ProjectContext, self.instructions_text());
        sections.set(PromptSection::Skills, self.skills_text(tools));
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
        let lead = "Instructions from the user and the project; later ones take precedence over earlier ones:";
        std::iter::once(lead.to_owned())
            .chain(files)
            .collect::<Vec<_>>()
            .join("\n\n")
    }

    fn skills_text(&self, tools: &[PromptTool<'_>]) -> String {
        let reader = SKILL_READERS
            .into_iter()
            .find(|name| is_active(tools, name));
        let Some(reader) = reader.filter(|_| !self.skills.is_empty()) else {
            return String::new();
        };
        let lead = format!(
            "Skills are instructions for specific tasks. When a task matches a description, read the \
             skill's file with {reader} and follow it. Relative paths in a skill are relative to the \
             directory of its file."
        );
        let skills = self.skills.iter().map(|skill| {
            let PromptSkill {
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
    /// Independent of the tools, so that a change of tools does not change this section.
    fn text(&self) -> String {
        let pi = match self.program.as_str() {
            "" => "pi",
            program => program,
        };
        let manual = match &self.documentation {
            Some(directory) => format!("The manual is in {}.", directory.display()),
            None => {
                format!("`{pi} docs` lists the pages of the manual; `{pi} docs TOPIC` prints one.")
            }
        };
        format!(
            "Only for questions about pi itself, its settings, sessions, extensions, skills, themes or \
             SDK:\n\
             - {manual} Read the relevant pages completely before you answer or write code for pi.\n\
             - `{pi} --help` lists commands, flags and environment variables.\n\
             - The user's settings, models, key bindings, extensions, skills, prompts and themes \
             are in {}; those of a project are in .pi.",
            self.agent_directory.display()
        )
    }
}

fn tools_text(tools: &[PromptTool<'_>]) -> String {
    let listed: Vec<String> = tools
        .iter()
        .filter_map(|tool| {
            let words = tool.snippet?.split_whitespace();
            let snippet = words.collect::<Vec<_>>().join(" ");
            (!snippet.is_empty()).then(|| format!("- {}: {snippet}", tool.name))
        })
        .collect();
    let list = match listed.as_slice() {
        [] => "(none)".to_owned(),
        listed => listed.join("\n"),
    };
    format!("{list}\n\nAdditional tools may be available; see the tool list.")
}

fn rules_text(tools: &[PromptTool<'_>]) -> String {
    let of_tools = tools
        .iter()
        .flat_map(|tool| tool.guidelines.iter().map(String::as_str));
    let all = shell_rule(tools)
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

/// Returns how to search files, unless there are tools for it.
fn shell_rule(tools: &[PromptTool<'_>]) -> Option<&'static str> {
    if ["grep", "find", "ls"]
        .iter()
        .any(|name| is_active(tools, name))
    {
        return None;
    }
    match (is_active(tools, "bash"), is_active(tools, "powershell")) {
        (true, true) => Some("List and search files with bash or PowerShell."),
        (true, false) => Some("List and search files with bash: ls, rg, find."),
        (false, true) => Some("List and search files with PowerShell."),
        (false, false) => None,
    }
}

fn is_active(tools: &[PromptTool<'_>], name: &str) -> bool {
    tools.iter().any(|tool| tool.name == name)
}

/// Returns the shell command for this program: its full path, since it may not be on the `PATH`. A
/// program with another name embeds pi and does not have its commands.
pub fn shell_command(program: Option<&Path>) -> String {
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

/// Finds the directory of pi's manual: in the package directory from the environment, or next to
/// the program.
pub fn find_documentation(package: Option<&Path>, program: Option<&Path>) -> Option<PathBuf> {
    let program_dir = program.and_then(Path::parent);
    let shared = program_dir.and_then(Path::parent);
    [
        package.map(|directory| directory.join("docs")),
        program_dir.map(|directory| directory.join("docs")),
        shared.map(|directory| directory.join("share/doc/pi")),
    ]
    .into_iter()
    .flatten()
    .find(|directory| directory.join("differences.md").is_file())
}

#[cfg(test)]
mod tests;
