//! Startup: the header, loaded resources, problems.

pub(crate) mod resource_config;
pub(crate) mod standalone_dialog;
pub(crate) mod trust_prompter;
pub(crate) mod upgrade;

use std::path::Path;

use pi_host::{Resources, Workspace};
use pi_protocol::{ConfigDiagnostic, DiagnosticLevel, ProjectAccess};
use pi_views::text::paths::with_tilde;

use crate::InteractiveOptions;
use crate::app::command::AppCommand;
use crate::screen::header::{HeaderData, HeaderSection};
use crate::session::port::OpeningReport;
use crate::transcript::NoticeLevel;

/// Maximum number of problems listed before the rest is only counted.
const MAX_PROBLEMS: usize = 20;

/// Shown when no provider is configured.
const NO_MODEL: &str = "No model configured. Run /login, or set ANTHROPIC_API_KEY, OPENAI_API_KEY, …\n\
    For a local llama.cpp server: LLAMA_BASE_URL=http://127.0.0.1:8080 pi";

/// Shown in a project that the user does not trust.
const NOT_TRUSTED: &str = "This project is not trusted: its instructions, settings and extensions are ignored. Run /trust to change that.";

/// Returns the header of a session.
pub(crate) fn header(
    workspace: &Workspace,
    options: &InteractiveOptions,
    home: Option<&Path>,
) -> HeaderData {
    let settings = workspace.settings.settings();
    let resources = &workspace.resources;
    let display = |path: &Path| with_tilde(path, home);
    HeaderData {
        version: pi_env::VERSION.to_owned(),
        quiet: settings.quiet_startup() && !options.verbose,
        // Apple's terminal leaves gaps between half blocks.
        has_logo: workspace.env.var("TERM_PROGRAM").as_deref() != Some("Apple_Terminal"),
        sections: if settings.hide_startup_details() && !options.verbose {
            problems(resources).into_iter().collect()
        } else {
            let mut sections = sections(resources, &workspace.cwd, &display);
            sections.extend(problems(resources));
            sections
        },
    }
}

/// Returns the problems found while a session was opened.
pub(crate) fn notices(
    report: OpeningReport,
    has_model: bool,
    project: ProjectAccess,
) -> Vec<AppCommand> {
    let mut notices: Vec<_> = report.diagnostics.iter().map(diagnostic).collect();
    let warn = |text: String| AppCommand::notify(NoticeLevel::Warning, text);
    notices.extend(report.model_fallback.map(warn));
    if project.is_denied() {
        notices.push(AppCommand::notify(NoticeLevel::Info, NOT_TRUSTED));
    }
    if !has_model {
        notices.push(warn(NO_MODEL.to_owned()));
    }
    notices
}

/// Returns the notice for a problem with the configuration.
pub(crate) fn diagnostic(diagnostic: &ConfigDiagnostic) -> AppCommand {
    let level = match diagnostic.level {
        DiagnosticLevel::Info => NoticeLevel::Info,
        DiagnosticLevel::Warning => NoticeLevel::Warning,
        DiagnosticLevel::Error => NoticeLevel::Error,
    };
    AppCommand::notify(level, diagnostic.message_with_path())
}

fn sections(
    resources: &Resources,
    cwd: &Path,
    display: &dyn Fn(&Path) -> String,
) -> Vec<HeaderSection> {
    let context = resources.context_files.iter().map(|file| {
        let path = display(&file.path);
        let inside = file.path.strip_prefix(cwd);
        let name = inside.map_or_else(|_| path.clone(), |inside| inside.display().to_string());
        (name, path)
    });
    let named = |name: String, path: &Path| {
        let detail = format!("{name}  {}", display(path));
        (name, detail)
    };
    let skills = resources.skills.iter();
    let skills = skills.map(|skill| named(skill.name.clone(), &skill.file_path));
    let prompts = resources.prompt_templates.iter();
    let prompts = prompts.map(|prompt| named(format!("/{}", prompt.name), &prompt.file_path));
    let extensions = resources.extensions.iter();
    let extensions = extensions.map(|it| (extension_name(&it.path), display(&it.path)));
    [
        section("Context", context),
        section("Skills", skills),
        section("Prompts", prompts),
        section("Extensions", extensions),
    ]
    .into_iter()
    .filter(|section| !section.names.is_empty())
    .collect()
}

/// Builds a section from names and their long forms.
fn section(title: &str, entries: impl Iterator<Item = (String, String)>) -> HeaderSection {
    let (names, details) = entries.unzip();
    HeaderSection {
        title: title.to_owned(),
        names,
        details,
        is_problem: false,
    }
}

/// Lists problems with skills, prompts, themes and other resources. Shown regardless of the other sections,
/// so that a resource that cannot be used is not silently missing.
fn problems(resources: &Resources) -> Option<HeaderSection> {
    let mut messages = resources
        .diagnostics
        .iter()
        .filter(|diagnostic| diagnostic.level > DiagnosticLevel::Info)
        .map(ConfigDiagnostic::message_with_path);
    let mut details: Vec<String> = messages.by_ref().take(MAX_PROBLEMS).collect();
    let more = messages.count();
    if more > 0 {
        details.push(format!("and {more} more"));
    }
    (!details.is_empty()).then(|| HeaderSection {
        title: "Problems".to_owned(),
        names: Vec::new(),
        details,
        is_problem: true,
    })
}

/// Returns the display name of an extension: its file name, or the directory for an `index` entry point.
fn extension_name(path: &Path) -> String {
    let is_entry_point = path.file_stem().is_some_and(|stem| stem == "index");
    let directory = path.parent().and_then(Path::file_name);
    let name = directory
        .filter(|_| is_entry_point)
        .or_else(|| path.file_name());
    name.map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn resource_problems_are_listed() {
        let mut resources = Resources::default();
        assert_eq!(problems(&resources), None);
        let skill = Path::new("skills/a/SKILL.md");
        resources.diagnostics.extend([
            ConfigDiagnostic::warning("it has no description", skill),
            ConfigDiagnostic {
                level: DiagnosticLevel::Info,
                message: "nothing to see".to_owned(),
                path: None,
            },
        ]);
        let section = problems(&resources).unwrap();
        assert!(section.is_problem);
        assert_eq!(
            section.details,
            ["skills/a/SKILL.md: it has no description"]
        );
        let many = vec![ConfigDiagnostic::warning("the same", skill); MAX_PROBLEMS];
        resources.diagnostics.extend(many);
        let section = problems(&resources).unwrap();
        assert_eq!(section.details.len(), MAX_PROBLEMS + 1);
        assert_eq!(section.details.last().unwrap(), "and 1 more");
    }
}
