//! What the user sees first: the header, what was loaded, what is wrong.

use std::path::Path;

use pi_config::{ConfigDiagnostic, DiagnosticLevel, Resources};
use pi_runtime::Prompt;

use crate::app::App;
use crate::block::BlockView;
use crate::header::{Header, HeaderFacts, HeaderSection};
use crate::paths::with_tilde;
use crate::transcript::NoticeLevel;

/// How many problems are told before the rest is counted.
const MOST_PROBLEMS: usize = 20;

/// What somebody without any credential can do, seen from inside the application.
const NO_MODEL: &str = "No model can be asked yet. /login signs in or stores a key.\n\
    Keys of the environment count, too: ANTHROPIC_API_KEY, OPENAI_API_KEY, …\n\
    A server of your own: LLAMA_BASE_URL=http://127.0.0.1:8080 pi";

/// Shows the header and what there is to say about how the session was made.
pub(crate) fn greet(app: &mut App) {
    let services = app.runtime.services();
    let settings = services.settings.settings();
    let home = app.look.appearance().home.clone();
    let display = |path: &Path| with_tilde(path, home.as_deref());
    let facts = HeaderFacts {
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
    let header = BlockView::new(Header::new(facts), app.look.clone());
    let header = app.with_transcript(|transcript, document| transcript.append(document, header));
    app.show_header(header);
    let mut diagnostics = app.runtime.diagnostics();
    diagnostics.extend(services.settings.take_diagnostics());
    for diagnostic in diagnostics {
        app.tell_diagnostic(&diagnostic);
    }
    if let Some(fallback) = app.runtime.model_fallback() {
        app.tell(NoticeLevel::Warning, fallback);
    }
    if app.session.model().is_none() {
        app.tell(NoticeLevel::Warning, NO_MODEL);
    }
    app.warn_about_extra_usage();
    app.tell_theme_problem();
    app.tell_key_problems();
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

/// Makes a section of names and their long forms.
fn section(title: &str, entries: impl Iterator<Item = (String, String)>) -> HeaderSection {
    let (names, details) = entries.unzip();
    HeaderSection {
        title: title.to_owned(),
        names,
        details,
        is_problem: false,
    }
}

/// Lists what is wrong with skills, prompts, themes and the rest, whatever else the header shows: what cannot
/// be used would be missed without a word.
fn problems(resources: &Resources) -> Option<HeaderSection> {
    let mut told = resources
        .diagnostics
        .iter()
        .filter(|diagnostic| diagnostic.level > DiagnosticLevel::Info)
        .map(ConfigDiagnostic::message_with_path);
    let mut details: Vec<String> = told.by_ref().take(MOST_PROBLEMS).collect();
    let more = told.count();
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

/// Returns what an extension is called: its file, or the folder whose entry point it is.
fn extension_name(path: &Path) -> String {
    let is_entry_point = path.file_stem().is_some_and(|stem| stem == "index");
    let folder = path.parent().and_then(Path::file_name);
    let name = folder
        .filter(|_| is_entry_point)
        .or_else(|| path.file_name());
    name.map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default()
}

/// Does what can wait until something is on the screen.
pub(crate) fn after_first_frame(app: &mut App) {
    app.probe_terminal();
    app.watch_theme_files();
    app.mention_crash();
    app.look_at_project();
    if app.options.refresh_catalogs {
        app.runtime.refresh_catalogs();
    }
    if let Some(news) = app.options.news.take() {
        app.spawn(news.0, |app, lines| {
            for line in lines {
                app.tell(NoticeLevel::Info, line);
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
    // Whoever hears of it may ask the user first.
    app.spawn(
        async move { runtime.tell_session_start().await },
        |app, ()| app.say_in_turn(prompts),
    );
}

impl App {
    /// Remembers that there was a first start.
    pub(crate) fn finish_first_start(&mut self) {
        let version = self.options.version.clone();
        self.save_setting(|settings| settings.last_changelog_version = Some(version));
    }

    /// Says what is wrong with the user's keys.
    fn tell_key_problems(&mut self) {
        for problem in self.take_key_problems() {
            self.tell_diagnostic(&problem);
        }
    }

    /// Says what a pull changed of a project that was trusted before.
    pub(crate) fn look_at_project(&mut self) {
        let looking = self.runtime.project_changes();
        self.spawn(looking, |app, found| {
            if let Some(changes) = found {
                app.tell_diagnostic(&changes);
            }
        });
    }

    /// Says what is wrong with a file of the user.
    pub(crate) fn tell_diagnostic(&mut self, diagnostic: &ConfigDiagnostic) {
        let level = match diagnostic.level {
            DiagnosticLevel::Info => NoticeLevel::Info,
            DiagnosticLevel::Warning => NoticeLevel::Warning,
            DiagnosticLevel::Error => NoticeLevel::Error,
        };
        self.tell(level, diagnostic.message_with_path());
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn what_is_wrong_with_resources_is_told() {
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
        let told = problems(&resources).unwrap();
        assert!(told.is_problem);
        assert_eq!(told.details, ["skills/a/SKILL.md: it has no description"]);
        let many = vec![ConfigDiagnostic::warning("the same", skill); MOST_PROBLEMS];
        resources.diagnostics.extend(many);
        let told = problems(&resources).unwrap();
        assert_eq!(told.details.len(), MOST_PROBLEMS + 1);
        assert_eq!(told.details.last().unwrap(), "and 1 more");
    }
}
