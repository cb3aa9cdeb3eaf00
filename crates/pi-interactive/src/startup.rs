//! Startup: the header, loaded resources, problems.

pub(crate) mod resource_config;
pub(crate) mod standalone_dialog;
pub(crate) mod trust_prompter;

use std::path::Path;

use pi_config::{ConfigDiagnostic, DiagnosticLevel, Resources};
use pi_runtime::Prompt;

use crate::app::App;
use crate::blocks::block::BlockView;
use crate::screen::header::{HeaderBlock, HeaderData, HeaderSection};
use crate::text::paths::with_tilde;
use crate::transcript::NoticeLevel;

/// Maximum number of problems listed before the rest is only counted.
const MAX_PROBLEMS: usize = 20;

/// Shown when no provider is configured.
const NO_MODEL: &str = "No model configured. Run /login, or set ANTHROPIC_API_KEY, OPENAI_API_KEY, …\n\
    For a local llama.cpp server: LLAMA_BASE_URL=http://127.0.0.1:8080 pi";

/// Shows the header and the problems found while loading.
pub(crate) fn show_startup(app: &mut App) {
    let services = app.runtime.services();
    let settings = services.settings.settings();
    let home = app.ui.context().home.clone();
    let display = |path: &Path| with_tilde(path, home.as_deref());
    let data = HeaderData {
        version: app.options.version.clone(),
        quiet: (settings.quiet_startup() || settings.hide_startup_header()) && !app.options.verbose,
        sections: if settings.quiet_startup() && !app.options.verbose {
            problems(&services.resources).into_iter().collect()
        } else {
            let mut sections = sections(&services.resources, &services.cwd, &display);
            sections.extend(problems(&services.resources));
            sections
        },
    };
    let header = BlockView::new(HeaderBlock::new(data), app.ui.clone());
    let header = app.with_transcript(|transcript, document| transcript.append(document, header));
    app.show_header(header);
    let mut diagnostics = app.runtime.diagnostics();
    diagnostics.extend(services.settings.take_diagnostics());
    for diagnostic in diagnostics {
        app.report_diagnostic(&diagnostic);
    }
    if let Some(fallback) = app.runtime.model_fallback() {
        app.notify(NoticeLevel::Warning, fallback);
    }
    if app.session.model().is_none() {
        app.notify(NoticeLevel::Warning, NO_MODEL);
    }
    app.warn_about_extra_usage();
    app.report_theme_problem();
    app.report_key_problems();
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
    let themes = resources.themes.iter();
    let themes = themes.map(|theme| named(theme.name.clone(), &theme.path));
    [
        section("Context", context),
        section("Skills", skills),
        section("Prompts", prompts),
        section("Extensions", extensions),
        section("Themes", themes),
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

/// Runs work deferred until after the first frame.
pub(crate) fn after_first_frame(app: &mut App) {
    app.probe_terminal();
    app.watch_theme_files();
    app.report_last_crash();
    app.report_project_changes();
    if app.options.refresh_catalogs {
        app.runtime.refresh_catalogs();
    }
    if let Some(notices) = app.options.startup_notices.take() {
        app.spawn(notices.0, |app, lines| {
            for line in lines {
                app.notify(NoticeLevel::Info, line);
            }
        });
    }
    if app.options.pick_session {
        app.open_resume();
    } else if app.options.first_start {
        app.open_first_start();
    }
    let prompts: Vec<Prompt> = std::mem::take(&mut app.options.prompts);
    let runtime = app.runtime.clone();
    // Hooks may prompt the user first.
    app.spawn(
        async move { runtime.notify_session_start().await },
        |app, ()| app.send_prompts(prompts),
    );
}

impl App {
    /// Records that the first start is complete.
    pub(crate) fn finish_first_start(&mut self) {
        let version = self.options.version.clone();
        self.save_setting(|settings| settings.last_changelog_version = Some(version));
    }

    fn report_key_problems(&mut self) {
        for problem in self.take_key_problems() {
            self.report_diagnostic(&problem);
        }
    }

    /// Reports changes to a trusted project since it was last trusted.
    pub(crate) fn report_project_changes(&mut self) {
        let checking = self.runtime.project_changes();
        self.spawn(checking, |app, found| {
            if let Some(changes) = found {
                app.report_diagnostic(&changes);
            }
        });
    }

    pub(crate) fn report_diagnostic(&mut self, diagnostic: &ConfigDiagnostic) {
        let level = match diagnostic.level {
            DiagnosticLevel::Info => NoticeLevel::Info,
            DiagnosticLevel::Warning => NoticeLevel::Warning,
            DiagnosticLevel::Error => NoticeLevel::Error,
        };
        self.notify(level, diagnostic.message_with_path());
    }
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
