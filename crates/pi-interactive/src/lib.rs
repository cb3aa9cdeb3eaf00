//! The terminal application of pi: transcript, editor, dialogs and slash commands.
//!
//! [`run`] shows a live session until the user quits. Blocks and dialogs turn plain data into lines, and keys
//! into intents. The controllers hold the application's state: they turn messages into commands. The `app`
//! module routes events to them and performs their commands on the screen and on the session, which it reaches
//! only through the port in `session`.

mod app;
mod blocks;
mod controllers;
mod extensions;
mod prompt;
mod reference;
mod screen;
mod session;
mod slash;
mod startup;
mod terminal;
mod transcript;

use futures_util::future::BoxFuture;
use pi_host::{Prompt, RemoteSession, SessionRuntime};
use pi_tui::{EditorOptions, InputTiming, Runner, RunnerError, RunnerOptions, Tui};
use pi_views::theme::selector::ThemeSelector;
use pi_views::theme::ui_theme::UiTheme;
use thiserror::Error;

pub use extensions::bridge::ExtensionUiBridge;
pub use extensions::theme::theme_without_terminal;
pub use extensions::toolkit::PiTuiToolkit;
pub use reference::{CommandReference, actions, commands};
pub use startup::resource_config::configure_resources;
pub use startup::trust_prompter::TrustPrompter;

use app::{App, Display};
use controllers::appearance::AppearanceMsg;
use prompt::editor_area::EditorArea;
use screen::{AppScreen, Dock};
use session::local::LocalSessionPort;
use session::port::SessionPort;
use session::remote::RemoteSessionPort;
use terminal::setup;

/// Startup options besides the session itself.
#[derive(Debug, Default)]
pub struct InteractiveOptions {
    /// Prompts sent as soon as the session is on screen.
    pub prompts: Vec<Prompt>,
    /// What the user was typing before the application started again.
    pub draft: String,
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
            .debug_struct("StartupNotices")
            .finish_non_exhaustive()
    }
}

/// How the application ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    pub reason: ExitReason,
    /// What the user was typing.
    pub draft: String,
}

/// Why [`run`] returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitReason {
    Quit,
    /// SIGTERM or SIGHUP was received, or the terminal is gone.
    Terminated,
    /// Another process runs the session; the user attaches to it.
    Attach,
    /// A background process continues the session, and the run that was in progress.
    Detach {
        was_running: bool,
    },
    /// The process that ran the session has ended; the user continues it here.
    TakeOver,
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
) -> Result<Ended, InteractiveError> {
    run_port(Box::new(LocalSessionPort::new(runtime)), options).await
}

/// Runs the terminal application with a session that another process runs, until the user quits.
pub async fn run_attached(
    remote: RemoteSession,
    options: InteractiveOptions,
) -> Result<Ended, InteractiveError> {
    run_port(Box::new(RemoteSessionPort::new(remote)), options).await
}

async fn run_port(
    session: Box<dyn SessionPort>,
    options: InteractiveOptions,
) -> Result<Ended, InteractiveError> {
    let workspace = session.workspace();
    terminal::crash::install_panic_hook(workspace.agent_dir.path(), &pi_env::release());
    let settings = workspace.settings.settings();
    let env = &workspace.env;
    setup::log_writes(env);
    let capabilities = setup::capabilities(&settings, env);
    let mode = setup::color_mode(capabilities, env);
    let mut themes = ThemeSelector::new(mode, setup::color_scheme(env), &settings);
    themes.load(&settings, &workspace.resources.themes);
    let (keys, problems) = setup::read_keys(&workspace.agent_dir, env);
    let chosen = themes.choose();
    let theme_problems = themes.problems();
    let ui = UiTheme::new(setup::render_context(
        &settings,
        chosen.theme,
        keys.clone(),
        capabilities,
        workspace.cwd.clone(),
        env.home_dir(),
    ));
    let mut tui = Tui::new(setup::tui_options(&settings, env, keys));
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
            color_wait: setup::color_wait(&themes),
            program_status: setup::program_status(env),
            program: "pi",
        },
    )?;
    let display = Display::new(
        AppScreen::new(runner, &dock),
        ui,
        options.extensions.clone(),
        env.clone(),
        settings,
    );
    let trust = options.trust.clone();
    options.extensions.attach_application();
    let mut app = App::new(options, session, display, themes);
    app.route(AppearanceMsg::Problems {
        theme: chosen.problem.into_iter().chain(theme_problems).collect(),
        keys: problems,
    });
    if let Some(trust) = trust {
        trust.attach_application(Some(app.handle()));
    }
    // Boxed, so that callers do not carry the state of the loop.
    Box::pin(app.run()).await
}
