//! The terminal application of pi: transcript, editor, dialogs and slash commands.
//!
//! [`run`] shows a live session until the user quits. Blocks and dialogs turn plain data into lines, and keys
//! into intents; the `app` module connects them to the session, the settings and the terminal.

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

/// Startup options besides the session itself.
#[derive(Debug, Default)]
pub struct InteractiveOptions {
    pub version: String,
    /// Prompts sent as soon as the session is on screen.
    pub prompts: Vec<Prompt>,
    /// Show the full startup listing regardless of the settings.
    pub verbose: bool,
    /// Open the session picker first.
    pub pick_session: bool,
    /// Fetch current model catalogs from the providers.
    pub refresh_catalogs: bool,
    /// Returns the changelog as Markdown, for `/changelog`.
    pub changelog: Option<fn() -> String>,
    /// The prompter that the runtime asks about project trust.
    pub trust: Option<TrustPrompter>,
    /// The bridge that was passed to the runtime.
    pub extensions: ExtensionUiBridge,
    /// Whether pi has never been started before; shows the setup dialog.
    pub first_start: bool,
    /// Notices gathered after the first frame, such as newer releases.
    pub startup_notices: Option<StartupNotices>,
}

/// Work that starts after the first frame; the lines it returns are shown as notices.
pub struct StartupNotices(BoxFuture<'static, Vec<String>>);

impl StartupNotices {
    /// Wraps a future. It is not polled before the first frame.
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

/// Why [`run`] returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitReason {
    Quit,
    /// SIGTERM or SIGHUP was received, or the terminal is gone.
    Terminated,
}

/// Errors that end the application.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum InteractiveError {
    #[error(transparent)]
    Terminal(#[from] RunnerError),
}

/// Runs the terminal application until the user quits, then shuts the session down.
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
    app.store_problems(chosen.problem, problems);
    app.options.extensions.attach_application();
    if let Some(trust) = &app.options.trust {
        trust.attach_application(Some(app.handle()));
    }
    app.run().await
}
