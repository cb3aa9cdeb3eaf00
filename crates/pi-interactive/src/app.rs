//! The application: one event loop over the terminal, the live session, tasks and timers.
//!
//! The loop never awaits the session. Slow work runs as a task that ends in an [`AppCallback`], which the
//! loop calls with the application. The submodules handle the individual events.

mod activity;
mod bash;
mod bug_report;
mod dialogs;
mod extension_dialogs;
mod extensions;
mod footer;
mod handle;
mod header;
mod input;
mod intents;
mod llama;
mod login_options;
mod navigation;
mod preferences;
mod prompts;
mod questions;
mod session_switch;
mod sessions;
mod setting_changes;
mod share;
mod shortcuts;
mod sign_in;
mod submit;
mod system;

use std::future::Future;
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use pi_config::{ConfigDiagnostic, TrustChoice};
use pi_runtime::{AgentSession, Delivery, SessionRuntime};
use pi_tui::{Document, RunnerEvent};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::{JoinError, JoinSet};
use tokio_util::sync::DropGuard;

use self::extensions::ExtensionState;
pub(crate) use self::handle::AppHandle;
use self::header::HeaderBlocks;
use self::sign_in::ActiveSignIn;
use crate::dialogs::dialog::Dialog;
use crate::dialogs::intent::QuestionAnswer;
use crate::extensions::bridge::ExtensionUiBridge;
use crate::prompt::double_press::DoublePress;
use crate::screen::AppScreen;
use crate::screen::working::WorkingIndicator;
use crate::session::events::{SessionEvents, SessionUpdate};
use crate::theme::image_converter::ImageConversion;
use crate::theme::selector::ThemeSelector;
use crate::theme::ui_theme::UiTheme;
use crate::theme::watch::ThemeWatch;
use crate::transcript::{Notice, NoticeLevel, Transcript};
use crate::{ExitReason, InteractiveError, InteractiveOptions};

/// Called with the answer to the open dialog.
type AnswerHandler = Box<dyn FnOnce(&mut App, QuestionAnswer) + Send>;

/// Called on the loop when a task is done, or earlier through an [`AppHandle`].
pub(crate) type AppCallback = Box<dyn FnOnce(&mut App) + Send>;

/// Maximum number of session events handled in a row before input is polled again.
const MAX_EVENT_BURST: usize = 256;

/// Runs longer than this send a notification when they end.
const LONG_RUN: Duration = Duration::from_secs(30);

pub(crate) struct App {
    pub(crate) options: InteractiveOptions,
    pub(crate) screen: AppScreen,
    pub(crate) ui: UiTheme,
    pub(crate) themes: ThemeSelector,
    pub(crate) runtime: SessionRuntime,
    pub(crate) session: AgentSession,
    session_events: SessionEvents,
    sessions: watch::Receiver<AgentSession>,
    pub(crate) transcript: Transcript,
    tasks: JoinSet<AppCallback>,
    handle: AppHandle,
    task_rx: mpsc::Receiver<AppCallback>,
    /// The session listing in progress; dropping it cancels the listing.
    listing: Option<DropGuard>,
    sign_in: Option<ActiveSignIn>,
    /// Receives the answer of the open dialog.
    pending_answer: Option<AnswerHandler>,
    /// Receives the trust decision for a project that is being opened.
    pending_trust: Option<oneshot::Sender<Option<TrustChoice>>>,
    clear_key: DoublePress,
    escape_key: DoublePress,
    /// Whether the text in the prompt is a shell command.
    is_bash_mode: bool,
    /// Whether a user's shell command is running, or its end has not reached the screen yet.
    shell_running: bool,
    /// The next shell command: the typed text, the command, and whether it is excluded from the
    /// context.
    next_shell: Option<(String, String, bool)>,
    /// Messages typed during a compaction, sent when it finishes.
    queued_during_compaction: Vec<(String, Delivery)>,
    /// Whether the session's past usage has been counted; afterwards the session keeps the totals up to date.
    usage_counted: bool,
    /// Whether that count is running in the background.
    counting: bool,
    has_multiple_providers: bool,
    subscription: bool,
    /// Whether the extra-usage warning has been shown.
    extra_usage_warned: bool,
    theme_problem: Option<String>,
    key_problems: Vec<ConfigDiagnostic>,
    theme_watch: Option<ThemeWatch>,
    pub(crate) bridge: ExtensionUiBridge,
    pub(crate) extensions: ExtensionState,
    header: HeaderBlocks,
    /// Runs the work queued for extension components.
    component_tasks: JoinSet<()>,
    /// When the current run started.
    run_started: Option<Instant>,
    /// Whether the full screen shows scrollback because the user scrolled up.
    in_scrollback: bool,
    /// A prompt that could not be sent because no model is configured; restored once one is.
    unsent_prompt: Option<String>,
    /// Whether another program has the terminal, such as an external editor.
    terminal_suspended: bool,
    suspending: bool,
    exit_reason: Option<ExitReason>,
}

/// Why the loop woke up.
enum LoopEvent {
    Terminal(RunnerEvent),
    SessionReplaced,
    Session(SessionUpdate),
    Done(Result<AppCallback, JoinError>),
    Posted(AppCallback),
    ThemeFiles,
    Images(Vec<ImageConversion>),
    Extensions,
    Timer,
}

/// Parts the application is built from.
pub(crate) struct AppParts {
    pub(crate) options: InteractiveOptions,
    pub(crate) screen: AppScreen,
    pub(crate) ui: UiTheme,
    pub(crate) themes: ThemeSelector,
    pub(crate) runtime: SessionRuntime,
}

impl App {
    pub(crate) fn new(parts: AppParts) -> Self {
        let mut sessions = parts.runtime.sessions();
        let session = sessions.borrow_and_update().clone();
        let (handle, task_rx) = AppHandle::new();
        Self {
            session_events: SessionEvents::subscribe(&session),
            transcript: Transcript::new(parts.ui.clone(), parts.options.extensions.clone()),
            bridge: parts.options.extensions.clone(),
            options: parts.options,
            screen: parts.screen,
            ui: parts.ui,
            themes: parts.themes,
            runtime: parts.runtime,
            session,
            sessions,
            tasks: JoinSet::new(),
            handle,
            task_rx,
            listing: None,
            sign_in: None,
            pending_answer: None,
            pending_trust: None,
            clear_key: DoublePress::default(),
            escape_key: DoublePress::default(),
            is_bash_mode: false,
            shell_running: false,
            next_shell: None,
            queued_during_compaction: Vec::new(),
            usage_counted: false,
            counting: false,
            has_multiple_providers: false,
            subscription: false,
            extra_usage_warned: false,
            theme_problem: None,
            key_problems: Vec::new(),
            theme_watch: None,
            extensions: ExtensionState::default(),
            header: HeaderBlocks::default(),
            component_tasks: JoinSet::new(),
            run_started: None,
            in_scrollback: false,
            unsent_prompt: None,
            terminal_suspended: false,
            suspending: false,
            exit_reason: None,
        }
    }

    /// Runs the event loop until the user quits or the process is terminated.
    pub(crate) async fn run(mut self) -> Result<ExitReason, InteractiveError> {
        self.begin();
        let reason = loop {
            if let Some(reason) = self.exit_reason.take() {
                break reason;
            }
            if std::mem::take(&mut self.suspending) {
                self.suspend_process().await?;
            }
            let event = self.wait().await?;
            self.handle_event(event);
        };
        self.end(reason).await
    }

    #[cfg(unix)]
    async fn suspend_process(&mut self) -> Result<(), InteractiveError> {
        self.screen.runner().suspend().await?;
        self.screen.runner().tui_mut().repaint();
        Ok(())
    }

    #[cfg(not(unix))]
    async fn suspend_process(&mut self) -> Result<(), InteractiveError> {
        Ok(())
    }

    async fn wait(&mut self) -> Result<LoopEvent, InteractiveError> {
        let deadline = self.next_tick();
        let timer = async {
            match deadline {
                Some(deadline) => tokio::time::sleep_until(deadline.into()).await,
                None => std::future::pending().await,
            }
        };
        let images = self.ui.context().image_converter.clone();
        let bridge = self.bridge.clone();
        let theme_watch = &mut self.theme_watch;
        let theme_changed = async {
            match theme_watch {
                Some(watch) => watch.changed().await,
                None => std::future::pending().await,
            }
        };
        Ok(tokio::select! {
            // Input first, to keep typing responsive.
            biased;
            event = self.screen.runner().next(), if !self.terminal_suspended => LoopEvent::Terminal(event?),
            Ok(()) = self.sessions.changed() => LoopEvent::SessionReplaced,
            update = self.session_events.next() => LoopEvent::Session(update),
            // Messages a task posted come before its completion.
            Some(callback) = self.task_rx.recv() => LoopEvent::Posted(callback),
            Some(done) = self.tasks.join_next() => LoopEvent::Done(done),
            () = bridge.changed() => LoopEvent::Extensions,
            () = theme_changed => LoopEvent::ThemeFiles,
            images = images.next_batch() => LoopEvent::Images(images),
            () = timer => LoopEvent::Timer,
        })
    }

    fn handle_event(&mut self, event: LoopEvent) {
        match event {
            LoopEvent::Terminal(event) => self.on_terminal(event),
            LoopEvent::SessionReplaced => self.on_replaced(),
            LoopEvent::Session(SessionUpdate::Phase(phase)) => self.on_request_phase(phase),
            LoopEvent::Session(SessionUpdate::Event(event)) => {
                self.on_session(&event);
                for _ in 1..MAX_EVENT_BURST {
                    match self.session_events.try_next() {
                        Some(event) => self.on_session(&event),
                        None => break,
                    }
                }
            }
            LoopEvent::Done(Ok(callback)) | LoopEvent::Posted(callback) => callback(self),
            LoopEvent::Done(Err(error)) => tracing::error!(%error, "UI task failed"),
            LoopEvent::ThemeFiles => self.reread_themes(),
            LoopEvent::Images(images) => self.convert_images(images),
            LoopEvent::Extensions => self.on_extensions(),
            LoopEvent::Timer => self.on_timer(Instant::now()),
        }
    }

    async fn end(mut self, reason: ExitReason) -> Result<ExitReason, InteractiveError> {
        self.leave_scrollback();
        let Self {
            screen,
            runtime,
            session,
            session_events,
            tasks,
            component_tasks,
            ..
        } = self;
        let leave = footer::leave(&session);
        // Restore the terminal first: nothing may draw after this.
        let stopped = screen.into_runner().stop(leave);
        drop((session_events, tasks, component_tasks));
        runtime.shutdown().await;
        stopped?;
        Ok(reason)
    }

    /// Leaves the loop with this reason.
    pub(crate) fn leave(&mut self, reason: ExitReason) {
        self.exit_reason.get_or_insert(reason);
    }

    /// Spawns a future; `then` runs on the loop when it completes.
    pub(crate) fn spawn<T: Send + 'static>(
        &mut self,
        work: impl Future<Output = T> + Send + 'static,
        then: impl FnOnce(&mut Self, T) + Send + 'static,
    ) {
        // Boxed, so that the task machinery is compiled once and not per future type.
        let task: BoxFuture<'static, AppCallback> = Box::pin(async move {
            let result = work.await;
            Box::new(move |app: &mut Self| then(app, result)) as AppCallback
        });
        self.tasks.spawn(task);
    }

    /// Runs blocking work on its own thread; `then` runs on the loop when it completes.
    pub(crate) fn spawn_blocking<T: Send + 'static>(
        &mut self,
        work: impl FnOnce() -> T + Send + 'static,
        then: impl FnOnce(&mut Self, T) + Send + 'static,
    ) {
        let task: Box<dyn FnOnce() -> AppCallback + Send> = Box::new(move || {
            let result = work();
            Box::new(move |app: &mut Self| then(app, result)) as AppCallback
        });
        self.tasks.spawn_blocking(task);
    }

    /// Returns a handle that tasks use to call back before they complete.
    pub(crate) fn handle(&self) -> AppHandle {
        self.handle.clone()
    }

    /// Runs a closure on the transcript and its document.
    pub(crate) fn with_transcript<R>(
        &mut self,
        change: impl FnOnce(&mut Transcript, &mut Document) -> R,
    ) -> R {
        change(&mut self.transcript, self.screen.document())
    }

    /// Adds a notice to the transcript.
    pub(crate) fn notify(&mut self, level: NoticeLevel, text: impl Into<String>) {
        let notice = Notice {
            level,
            text: text.into(),
        };
        self.with_transcript(|transcript, document| transcript.add_notice(document, &notice));
    }

    /// Shows a status line; the next one replaces it.
    pub(crate) fn status(&mut self, text: impl Into<String>) {
        self.notify(NoticeLevel::Status, text);
    }

    pub(crate) fn error(&mut self, text: impl Into<String>) {
        self.notify(NoticeLevel::Error, text);
    }

    fn next_tick(&self) -> Option<Instant> {
        let editor = self.screen.editor().and_then(|it| it.peek().next_tick());
        let working = self.screen.working().and_then(WorkingIndicator::next_tick);
        let dialog = self.screen.dialog().and_then(Dialog::next_tick);
        [editor, working, dialog, self.transcript.next_tick()]
            .into_iter()
            .flatten()
            .min()
    }

    fn on_timer(&mut self, now: Instant) {
        let is_due = |tick: Option<Instant>| tick.is_some_and(|tick| tick <= now);
        if is_due(self.screen.editor().and_then(|it| it.peek().next_tick())) {
            self.screen.with_editor(|editor| editor.editor().tick(now));
        }
        if is_due(self.screen.working().and_then(WorkingIndicator::next_tick)) {
            self.screen.with_working(|working| working.tick(now));
        }
        if is_due(self.screen.dialog().and_then(Dialog::next_tick)) {
            self.screen.with_dialog(|dialog| dialog.tick(now));
            self.handle_dialog_intents();
        }
        if is_due(self.transcript.next_tick()) {
            self.with_transcript(|transcript, document| transcript.tick(document, now));
        }
    }
}
