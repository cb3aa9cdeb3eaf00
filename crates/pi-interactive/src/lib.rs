//! The terminal application of pi: transcript, editor, dialogs and slash commands.
//!
//! [`run`] shows a live session until the user leaves. The layers: blocks and dialogs turn plain data
//! into lines and keys into intents; the application joins them with the session, the settings and the
//! terminal.

mod app;
mod block;
mod blocks;
mod byte_size;
mod clipboard;
mod crash;
mod dialog;
mod dialogs;
mod diff_view;
mod double_press;
mod editor_area;
mod extension_completion;
mod extension_question;
mod extension_ui;
mod extension_view;
mod external_editor;
mod footer;
mod git_branch;
mod header;
mod image_converter;
mod intent;
mod keys;
mod paths;
mod queue_view;
mod reference;
mod resource_config;
mod screen;
mod session_events;
mod session_report;
mod slash;
mod standalone_dialog;
mod startup;
mod temp_files;
mod terminal_setup;
mod theme_selector;
mod theme_watch;
mod thousands;
mod title;
mod transcript;
mod trust_prompter;
mod tui_toolkit;
mod ui_theme;
mod untrusted_text;
mod web_address;
mod widgets;
mod working;

use futures_util::future::BoxFuture;
use pi_runtime::{Prompt, SessionRuntime};
use pi_tui::{EditorOptions, InputTiming, Runner, RunnerError, RunnerOptions, Tui};
use thiserror::Error;

pub use extension_ui::ExtensionUiBridge;
pub use reference::{CommandReference, actions, commands};
pub use resource_config::configure_resources;
pub use trust_prompter::TrustPrompter;
pub use tui_toolkit::PiTuiToolkit;

use app::{App, AppParts};
use editor_area::EditorArea;
use screen::{AppScreen, Dock};
use theme_selector::ThemeSelector;
use ui_theme::UiTheme;

/// What the application starts with beside the session.
#[derive(Debug, Default)]
pub struct InteractiveOptions {
    /// The version to show.
    pub version: String,
    /// What is said to the model at once.
    pub prompts: Vec<Prompt>,
    /// Whether everything is listed at the start, whatever the settings say.
    pub verbose: bool,
    /// Whether the user chooses a session first.
    pub pick_session: bool,
    /// Whether services are asked for newer models.
    pub refresh_catalogs: bool,
    /// Tells what is new, as Markdown.
    pub changelog: Option<fn() -> String>,
    /// Whom the runtime asks about projects.
    pub trust: Option<TrustPrompter>,
    /// Where extensions meet the screen; the one the runtime was given.
    pub extensions: ExtensionUiBridge,
    /// Whether this is the very first start.
    pub first_start: bool,
    /// What becomes known once something is on the screen, such as newer releases.
    pub startup_notices: Option<StartupNotices>,
}

/// Work that begins after the first frame; its lines are shown when it is over.
pub struct StartupNotices(BoxFuture<'static, Vec<String>>);

impl StartupNotices {
    /// Shows the lines this work ends with. Nothing of it runs before the first frame.
    pub fn new(work: impl Future<Output = Vec<String>> + Send + 'static) -> Self {
        Self(Box::pin(work))
    }
}

impl std::fmt::Debug for StartupNotices {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("StartupNews")
            .finish_non_exhaustive()
    }
}

/// Why the application ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitReason {
    Quit,
    /// The process was asked to end, or its terminal is gone.
    Terminated,
}

/// Why the application cannot go on.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum InteractiveError {
    /// The terminal cannot be used.
    #[error(transparent)]
    Terminal(#[from] RunnerError),
}

/// Shows a live session until the user leaves, then ends it.
pub async fn run(
    runtime: SessionRuntime,
    options: InteractiveOptions,
) -> Result<ExitReason, InteractiveError> {
    let services = runtime.services();
    crash::install_panic_hook(services.agent_dir.path(), &options.version);
    let settings = services.settings.settings();
    let env = &services.env;
    let capabilities = terminal_setup::capabilities(&settings, env);
    let mode = terminal_setup::color_mode(capabilities, env);
    let mut themes = ThemeSelector::new(mode, terminal_setup::color_scheme(env), &settings);
    themes.load(&settings, &services.resources.themes);
    let (keys, problems) = terminal_setup::read_keys(&services.agent_dir, env);
    let chosen = themes.choose();
    let ui = UiTheme::new(terminal_setup::render_context(
        &settings,
        chosen.theme,
        keys.clone(),
        capabilities,
        services.cwd.clone(),
        env.home_dir(),
    ));
    let mut tui = Tui::new(terminal_setup::tui_options(&settings, env, keys));
    let editor = EditorArea::new(
        &ui,
        EditorOptions {
            padding: settings.editor_padding_x().into(),
            max_completions: settings.autocomplete_max_visible().into(),
        },
    );
    let dock = Dock::build(&mut tui, &ui, editor);
    let runner = Runner::start(
        tui,
        RunnerOptions {
            timing: InputTiming::default(),
            capabilities,
        },
    )?;
    let mut app = App::new(AppParts {
        options,
        screen: AppScreen::new(runner, &dock),
        ui,
        themes,
        runtime,
    });
    app.note_problems(chosen.problem, problems);
    app.options.extensions.attach_application();
    if let Some(trust) = &app.options.trust {
        trust.attach_application(Some(app.handle()));
    }
    app.run().await
}
