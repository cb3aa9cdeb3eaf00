//! What the user sees first: the header, what was loaded, what is wrong.

use pi_config::{ConfigDiagnostic, DiagnosticLevel, Resources};
use pi_runtime::Prompt;

use crate::app::App;
use crate::block::BlockView;
use crate::header::{Header, HeaderFacts, HeaderSection};
use crate::paths::with_tilde;
use crate::transcript::NoticeLevel;

/// Shows the header and what there is to say about how the session was made.
pub(crate) fn greet(app: &mut App) {
    let services = app.runtime.services();
    let settings = services.settings.settings();
    let home = app.look.appearance().home.clone();
    let display = |path: &std::path::Path| with_tilde(path, home.as_deref());
    let facts = HeaderFacts {
        version: app.options.version.clone(),
        quiet: (settings.quiet_startup() || settings.hide_startup_header()) && !app.options.verbose,
        sections: if settings.quiet_startup() && !app.options.verbose {
            Vec::new()
        } else {
            sections(&services.resources, &services.cwd, &display)
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
        let hints = pi_runtime::no_model_hints().join("\n");
        app.tell(
            NoticeLevel::Warning,
            format!("No model can be asked yet.\n{hints}"),
        );
    }
    app.warn_about_extra_usage();
    app.tell_theme_problem();
    app.tell_key_problems();
}

fn sections(
    resources: &Resources,
    cwd: &std::path::Path,
    display: &dyn Fn(&std::path::Path) -> String,
) -> Vec<HeaderSection> {
    let context = HeaderSection {
        title: "Context".to_owned(),
        names: resources
            .context_files
            .iter()
            .map(|file| match file.path.strip_prefix(cwd) {
                Ok(inside) => inside.display().to_string(),
                Err(_) => display(&file.path),
            })
            .collect(),
        details: resources
            .context_files
            .iter()
            .map(|file| display(&file.path))
            .collect(),
        is_problem: false,
    };
    let skills = HeaderSection {
        title: "Skills".to_owned(),
        names: resources
            .skills
            .iter()
            .map(|skill| skill.name.clone())
            .collect(),
        details: resources
            .skills
            .iter()
            .map(|skill| format!("{}  {}", skill.name, display(&skill.file_path)))
            .collect(),
        is_problem: false,
    };
    let prompts = HeaderSection {
        title: "Prompts".to_owned(),
        names: resources
            .prompt_templates
            .iter()
            .map(|template| format!("/{}", template.name))
            .collect(),
        details: resources
            .prompt_templates
            .iter()
            .map(|template| format!("/{}  {}", template.name, display(&template.file_path)))
            .collect(),
        is_problem: false,
    };
    let extensions = HeaderSection {
        title: "Extensions".to_owned(),
        names: resources
            .extensions
            .iter()
            .map(|extension| extension_name(&extension.path))
            .collect(),
        details: resources
            .extensions
            .iter()
            .map(|extension| display(&extension.path))
            .collect(),
        is_problem: false,
    };
    let themes = HeaderSection {
        title: "Themes".to_owned(),
        names: resources
            .themes
            .iter()
            .map(|theme| theme.name.clone())
            .collect(),
        details: resources
            .themes
            .iter()
            .map(|theme| format!("{}  {}", theme.name, display(&theme.path)))
            .collect(),
        is_problem: false,
    };
    [context, skills, prompts, extensions, themes]
        .into_iter()
        .filter(|section| !section.names.is_empty())
        .collect()
}

/// Returns what an extension is called: its file, or the folder whose entry point it is.
fn extension_name(path: &std::path::Path) -> String {
    let is_entry_point = path.file_stem().is_some_and(|stem| stem == "index");
    let folder = path.parent().and_then(std::path::Path::file_name);
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
    if app.options.refresh_catalogues {
        app.runtime.refresh_catalogues();
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
        let runtime = self.runtime.clone();
        self.spawn(
            async move { runtime.project_changes().await },
            |app, found| {
                if let Some(changes) = found {
                    app.tell_diagnostic(&changes);
                }
            },
        );
    }

    /// Says what is wrong with a file of the user.
    pub(crate) fn tell_diagnostic(&mut self, diagnostic: &ConfigDiagnostic) {
        let level = match diagnostic.level {
            DiagnosticLevel::Info => NoticeLevel::Info,
            DiagnosticLevel::Warning => NoticeLevel::Warning,
            DiagnosticLevel::Error => NoticeLevel::Error,
        };
        let text = match &diagnostic.path {
            Some(path) if !diagnostic.message.contains(&*path.to_string_lossy()) => {
                format!("{}: {}", path.display(), diagnostic.message)
            }
            _ => diagnostic.message.clone(),
        };
        self.tell(level, text);
    }
}
