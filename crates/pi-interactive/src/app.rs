//! The program: one loop that joins the terminal, the live session, tasks and timers.
//!
//! Nothing here waits for the session: what takes time runs as a task that ends in a follow-up, a
//! function the loop calls with the application. What single events mean is in the files below.

mod activity;
mod asking;
mod bash;
mod bug_report;
mod extension_dialogs;
mod extensions;
mod facts;
mod header;
mod input;
mod intents;
mod llama;
mod login_options;
mod mailbox;
mod navigation;
mod open;
mod outside;
mod preferences;
mod prompts;
mod replacement;
mod sessions;
mod setting_changes;
mod share;
mod shortcuts;
mod sign_in;
mod submit;

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
use self::header::HeaderPlace;
pub(crate) use self::mailbox::Mailbox;
use self::sign_in::SignIn;
use crate::dialog::Dialog;
use crate::extension_ui::ExtensionUiBridge;
use crate::intent::Answer;
use crate::interrupts::DoublePress;
use crate::look::Look;
use crate::picture_desk::Conversion;
use crate::screen::Screen;
use crate::session_link::{Heard, SessionLink};
use crate::theme_choice::ThemeChoice;
use crate::theme_watch::ThemeWatch;
use crate::transcript::{Notice, NoticeLevel, Transcript};
use crate::working::Working;
use crate::{ExitReason, InteractiveError, InteractiveOptions};

/// What is done with the answer to a question.
type Asked = Box<dyn FnOnce(&mut App, Answer) + Send>;

/// What the loop does once a task is over.
pub(crate) type FollowUp = Box<dyn FnOnce(&mut App) + Send>;

/// Session events taken in one go, so that keys are looked at in between.
const BURST: usize = 256;

/// A run that took this long is announced when it ends.
const LONG_RUN: Duration = Duration::from_secs(30);

/// The terminal application with a live session.
pub(crate) struct App {
    pub(crate) options: InteractiveOptions,
    pub(crate) screen: Screen,
    pub(crate) look: Look,
    pub(crate) themes: ThemeChoice,
    pub(crate) runtime: SessionRuntime,
    pub(crate) session: AgentSession,
    link: SessionLink,
    sessions: watch::Receiver<AgentSession>,
    pub(crate) transcript: Transcript,
    tasks: JoinSet<FollowUp>,
    mailbox: Mailbox,
    mail: mpsc::Receiver<FollowUp>,
    /// The search for sessions under way; dropping it gives it up.
    listing: Option<DropGuard>,
    sign_in: Option<SignIn>,
    /// Who waits for the answer of the open dialog.
    asked: Option<Asked>,
    /// Who waits for what the user decides about a project.
    trust_asked: Option<oneshot::Sender<Option<TrustChoice>>>,
    clear_key: DoublePress,
    escape_key: DoublePress,
    /// The text at the prompt is a shell command.
    is_bash_mode: bool,
    /// A command of the user runs, or its end has not reached the screen yet.
    shell_running: bool,
    /// A command that waits for that: what was typed, the command, whether the model does not see it.
    next_shell: Option<(String, String, bool)>,
    /// What was typed during a compaction, to be said after it.
    held_back: Vec<(String, Delivery)>,
    /// The session's usage has been counted; the session goes on counting.
    counted: bool,
    /// A thread is counting.
    counting: bool,
    several_providers: bool,
    subscription: bool,
    /// The warning about extra usage has been told.
    extra_usage_told: bool,
    theme_problem: Option<String>,
    key_problems: Vec<ConfigDiagnostic>,
    theme_watch: Option<ThemeWatch>,
    pub(crate) desk: ExtensionUiBridge,
    pub(crate) extensions: ExtensionState,
    header: HeaderPlace,
    /// Talks to the components of extensions.
    talk: JoinSet<()>,
    /// When the run under way began.
    run_began: Option<Instant>,
    /// The full screen shows what left the main one, until the user has read it.
    reading: bool,
    /// A prompt that nobody could be asked; it comes back when somebody can.
    unasked: Option<String>,
    /// Another program has the terminal.
    terminal_lent: bool,
    suspending: bool,
    leaving: Option<ExitReason>,
}

/// Why the loop goes on.
enum Woken {
    Terminal(RunnerEvent),
    Replaced,
    Session(Heard),
    Done(Result<FollowUp, JoinError>),
    Mail(FollowUp),
    ThemeFiles,
    Pictures(Vec<Conversion>),
    Extensions,
    Timer,
}

/// What an application is made of.
pub(crate) struct AppParts {
    pub(crate) options: InteractiveOptions,
    pub(crate) screen: Screen,
    pub(crate) look: Look,
    pub(crate) themes: ThemeChoice,
    pub(crate) runtime: SessionRuntime,
}

impl App {
    /// Puts the parts together.
    pub(crate) fn new(parts: AppParts) -> Self {
        let mut sessions = parts.runtime.sessions();
        let session = sessions.borrow_and_update().clone();
        let (mailbox, mail) = Mailbox::new();
        Self {
            link: SessionLink::to(&session),
            transcript: Transcript::new(parts.look.clone(), parts.options.extensions.clone()),
            desk: parts.options.extensions.clone(),
            options: parts.options,
            screen: parts.screen,
            look: parts.look,
            themes: parts.themes,
            runtime: parts.runtime,
            session,
            sessions,
            tasks: JoinSet::new(),
            mailbox,
            mail,
            listing: None,
            sign_in: None,
            asked: None,
            trust_asked: None,
            clear_key: DoublePress::default(),
            escape_key: DoublePress::default(),
            is_bash_mode: false,
            shell_running: false,
            next_shell: None,
            held_back: Vec::new(),
            counted: false,
            counting: false,
            several_providers: false,
            subscription: false,
            extra_usage_told: false,
            theme_problem: None,
            key_problems: Vec::new(),
            theme_watch: None,
            extensions: ExtensionState::default(),
            header: HeaderPlace::default(),
            talk: JoinSet::new(),
            run_began: None,
            reading: false,
            unasked: None,
            terminal_lent: false,
            suspending: false,
            leaving: None,
        }
    }

    /// Serves the user until somebody wants to leave.
    pub(crate) async fn run(mut self) -> Result<ExitReason, InteractiveError> {
        self.begin();
        let reason = loop {
            if let Some(reason) = self.leaving.take() {
                break reason;
            }
            if std::mem::take(&mut self.suspending) {
                self.stop_until_continued().await?;
            }
            let woken = self.wait().await?;
            self.react(woken);
        };
        self.end(reason).await
    }

    #[cfg(unix)]
    async fn stop_until_continued(&mut self) -> Result<(), InteractiveError> {
        self.screen.runner().suspend().await?;
        self.screen.runner().tui().repaint();
        Ok(())
    }

    #[cfg(not(unix))]
    async fn stop_until_continued(&mut self) -> Result<(), InteractiveError> {
        Ok(())
    }

    async fn wait(&mut self) -> Result<Woken, InteractiveError> {
        let deadline = self.next_tick();
        let timer = async {
            match deadline {
                Some(deadline) => tokio::time::sleep_until(deadline.into()).await,
                None => std::future::pending().await,
            }
        };
        let pictures = self.look.appearance().pictures.clone();
        let desk = self.desk.clone();
        let theme_watch = &mut self.theme_watch;
        let theme_changed = async {
            match theme_watch {
                Some(watch) => watch.changed().await,
                None => std::future::pending().await,
            }
        };
        Ok(tokio::select! {
            // Keys first: somebody waits for them.
            biased;
            event = self.screen.runner().next(), if !self.terminal_lent => Woken::Terminal(event?),
            Ok(()) = self.sessions.changed() => Woken::Replaced,
            heard = self.link.next() => Woken::Session(heard),
            // What a task had to say comes before its end.
            Some(mail) = self.mail.recv() => Woken::Mail(mail),
            Some(done) = self.tasks.join_next() => Woken::Done(done),
            () = desk.changed() => Woken::Extensions,
            () = theme_changed => Woken::ThemeFiles,
            pictures = pictures.next() => Woken::Pictures(pictures),
            () = timer => Woken::Timer,
        })
    }

    fn react(&mut self, woken: Woken) {
        match woken {
            Woken::Terminal(event) => self.on_terminal(event),
            Woken::Replaced => self.on_replaced(),
            Woken::Session(Heard::Phase(phase)) => self.on_request_phase(phase),
            Woken::Session(Heard::Event(event)) => {
                self.on_session(&event);
                for _ in 1..BURST {
                    match self.link.ready() {
                        Some(event) => self.on_session(&event),
                        None => break,
                    }
                }
            }
            Woken::Done(Ok(follow_up)) | Woken::Mail(follow_up) => follow_up(self),
            Woken::Done(Err(error)) => tracing::error!(%error, "a task of the screen ended early"),
            Woken::ThemeFiles => self.reread_themes(),
            Woken::Pictures(pictures) => self.convert_pictures(pictures),
            Woken::Extensions => self.on_extensions(),
            Woken::Timer => self.on_timer(Instant::now()),
        }
    }

    async fn end(mut self, reason: ExitReason) -> Result<ExitReason, InteractiveError> {
        self.stop_reading();
        let Self {
            screen,
            runtime,
            session,
            link,
            tasks,
            talk,
            ..
        } = self;
        let leave = facts::leave(&session);
        // The screen is given back first: whatever ends now must not paint any more.
        let stopped = screen.into_runner().stop(leave);
        drop((link, tasks, talk));
        runtime.shutdown().await;
        stopped?;
        Ok(reason)
    }

    /// Leaves the loop.
    pub(crate) fn leave(&mut self, reason: ExitReason) {
        self.leaving.get_or_insert(reason);
    }

    /// Runs something beside the loop; its follow-up is called when it is over.
    pub(crate) fn spawn<T: Send + 'static>(
        &mut self,
        work: impl Future<Output = T> + Send + 'static,
        then: impl FnOnce(&mut Self, T) + Send + 'static,
    ) {
        // Boxed, so that the machinery of a task is in the program once and not for every kind of work.
        let task: BoxFuture<'static, FollowUp> = Box::pin(async move {
            let result = work.await;
            Box::new(move |app: &mut Self| then(app, result)) as FollowUp
        });
        self.tasks.spawn(task);
    }

    /// Runs something that blocks on a thread of its own; its follow-up is called when it is over.
    pub(crate) fn spawn_blocking<T: Send + 'static>(
        &mut self,
        work: impl FnOnce() -> T + Send + 'static,
        then: impl FnOnce(&mut Self, T) + Send + 'static,
    ) {
        let task: Box<dyn FnOnce() -> FollowUp + Send> = Box::new(move || {
            let result = work();
            Box::new(move |app: &mut Self| then(app, result)) as FollowUp
        });
        self.tasks.spawn_blocking(task);
    }

    /// Returns the mailbox, with which tasks send news before they are over.
    pub(crate) fn mail(&self) -> Mailbox {
        self.mailbox.clone()
    }

    /// Changes the blocks of the transcript.
    pub(crate) fn with_transcript<R>(
        &mut self,
        change: impl FnOnce(&mut Transcript, &mut Document) -> R,
    ) -> R {
        change(&mut self.transcript, self.screen.document())
    }

    /// Says something in the transcript.
    pub(crate) fn tell(&mut self, level: NoticeLevel, text: impl Into<String>) {
        let notice = Notice {
            level,
            text: text.into(),
        };
        self.with_transcript(|transcript, document| transcript.tell(document, &notice));
    }

    /// Says what was done.
    pub(crate) fn status(&mut self, text: impl Into<String>) {
        self.tell(NoticeLevel::Status, text);
    }

    /// Says what could not be done.
    pub(crate) fn error(&mut self, text: impl Into<String>) {
        self.tell(NoticeLevel::Error, text);
    }

    fn next_tick(&self) -> Option<Instant> {
        let editor = self.screen.editor().and_then(|it| it.peek().next_tick());
        let working = self.screen.working().and_then(Working::next_tick);
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
        if is_due(self.screen.working().and_then(Working::next_tick)) {
            self.screen.with_working(|working| working.tick(now));
        }
        if is_due(self.screen.dialog().and_then(Dialog::next_tick)) {
            self.screen.with_dialog(|dialog| dialog.tick(now));
            self.settle_dialog();
        }
        if is_due(self.transcript.next_tick()) {
            self.with_transcript(|transcript, document| transcript.tick(document, now));
        }
    }
}
