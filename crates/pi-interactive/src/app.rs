//! The application: one event loop over the terminal, the session, tasks and timers.
//!
//! The loop turns every event into messages to the controllers and performs the commands they return. It never
//! awaits the session: slow work runs as a task that ends in a message.

mod actions;
pub(crate) mod command;
mod completion;
pub(crate) mod context;
mod dialog_factory;
mod display;
pub(crate) mod display_command;
mod intents;
mod mcp_completion;
pub(crate) mod message;
mod outcomes;
mod perform;
mod session_view;
pub(crate) mod tasks;

use std::time::Instant;

use pi_host::LinkStatus;
use pi_protocol::settings::FullscreenExitOutput;
use pi_tui::{ExitBehavior, InputEvent, KeyId, RunnerEvent, TerminationSignals};
use pi_views::keys;
use pi_views::theme::image_converter::ImageConversion;
use pi_views::theme::selector::ThemeSelector;
use tokio::task::JoinSet;

use self::context::AppContext;
pub(crate) use self::display::Display;
use self::message::AppMsg;
use self::tasks::{AppHandle, AppTasks};
use crate::controllers::Controllers;
use crate::controllers::appearance::AppearanceMsg;
use crate::controllers::approvals::ApprovalMsg;
use crate::controllers::extensions::ExtensionMsg;
use crate::controllers::prompt::PromptMsg;
use crate::controllers::status::StatusMsg;
use crate::controllers::switching::SwitchMsg;
use crate::controllers::terminal::TerminalMsg;
use crate::extensions::bridge::ExtensionEvent;
use crate::prompt::editor_area::{EditorArea, PromptEvent};
use crate::screen::run_status::{RunStatus, WaitingFor};
use crate::session::port::{PortUpdate, SessionPort};
use crate::transcript::TranscriptMsg;
use crate::{Ended, ExitReason, InteractiveError, InteractiveOptions};

/// Maximum number of session events handled in a row before input is polled again.
const MAX_EVENT_BURST: usize = 256;

/// Writes a debug record of the screen, whatever has focus. Not configurable.
const DEBUG_KEY: &str = "shift+ctrl+d";

/// Routes events to the controllers and performs their commands.
pub(crate) struct App {
    options: InteractiveOptions,
    session: Box<dyn SessionPort>,
    display: Display,
    controllers: Controllers,
    tasks: AppTasks,
    /// Runs the work queued for extension components.
    component_tasks: JoinSet<()>,
    run_status: RunStatus,
    exit_reason: Option<ExitReason>,
}

/// Why the loop woke up.
enum LoopEvent {
    Terminal(RunnerEvent),
    Session(PortUpdate),
    Message(AppMsg),
    ThemeFiles,
    Images(Vec<ImageConversion>),
    Extensions,
    Timer,
}

impl App {
    pub(crate) fn new(
        mut options: InteractiveOptions,
        session: Box<dyn SessionPort>,
        display: Display,
        themes: ThemeSelector,
    ) -> Self {
        let tasks = AppTasks::new();
        let prompts = std::mem::take(&mut options.prompts);
        Self {
            controllers: Controllers::new(&tasks.handle(), themes, prompts),
            options,
            session,
            display,
            tasks,
            component_tasks: JoinSet::new(),
            run_status: RunStatus::default(),
            exit_reason: None,
        }
    }

    /// Runs the event loop until the user quits or the process is terminated.
    pub(crate) async fn run(mut self) -> Result<Ended, InteractiveError> {
        self.begin();
        let reason = loop {
            if let Some(reason) = self.exit_reason.take() {
                break reason;
            }
            if self.controllers.terminal.take_suspension() {
                self.suspend_process().await?;
            }
            let event = self.wait().await?;
            self.handle_event(event);
        };
        self.end(reason).await
    }

    #[cfg(unix)]
    async fn suspend_process(&mut self) -> Result<(), InteractiveError> {
        self.display.screen.runner().suspend().await?;
        self.display.screen.runner().tui_mut().repaint();
        Ok(())
    }

    #[cfg(not(unix))]
    async fn suspend_process(&mut self) -> Result<(), InteractiveError> {
        Ok(())
    }

    async fn wait(&mut self) -> Result<LoopEvent, InteractiveError> {
        let deadline = self.display.next_tick();
        let timer = async {
            match deadline {
                Some(deadline) => tokio::time::sleep_until(deadline.into()).await,
                None => std::future::pending().await,
            }
        };
        let images = self.display.ui.context().image_converter.clone();
        let bridge = self.display.bridge.clone();
        let has_terminal = !self.controllers.terminal.is_released();
        Ok(tokio::select! {
            // Input first, to keep typing responsive.
            biased;
            event = self.display.screen.runner().next(), if has_terminal => LoopEvent::Terminal(event?),
            update = self.session.next_update() => LoopEvent::Session(update),
            message = self.tasks.next() => LoopEvent::Message(message),
            () = bridge.changed() => LoopEvent::Extensions,
            () = self.controllers.appearance.theme_files_changed() => LoopEvent::ThemeFiles,
            images = images.next_batch() => LoopEvent::Images(images),
            () = timer => LoopEvent::Timer,
        })
    }

    fn handle_event(&mut self, event: LoopEvent) {
        match event {
            LoopEvent::Terminal(event) => self.on_terminal(event),
            LoopEvent::Session(
                PortUpdate::Replaced | PortUpdate::Link(LinkStatus::Connected(_)),
            ) => self.on_replaced(),
            LoopEvent::Session(PortUpdate::Phase(phase)) => self.route(StatusMsg::Phase(phase)),
            LoopEvent::Session(PortUpdate::Link(status)) => self.route(SwitchMsg::Link(status)),
            LoopEvent::Session(PortUpdate::Event(event)) => {
                self.on_session(event);
                for _ in 1..MAX_EVENT_BURST {
                    match self.session.try_next_event() {
                        Some(event) => self.on_session(event),
                        None => break,
                    }
                }
            }
            LoopEvent::Message(message) => {
                // A replacement may complete before the loop has noticed the new session.
                let is_replaced = matches!(
                    message,
                    AppMsg::Switch(SwitchMsg::Replaced { result: Ok(_), .. })
                );
                if is_replaced && self.session.take_replacement() {
                    self.on_replaced();
                }
                self.route(message);
            }
            LoopEvent::ThemeFiles => self.route(AppearanceMsg::ReadThemes),
            LoopEvent::Images(images) => self.route(AppearanceMsg::ConvertImages(images)),
            LoopEvent::Extensions => self.on_extensions(),
            LoopEvent::Timer => {
                self.display.tick(Instant::now());
                self.drain_dialogs();
            }
        }
    }

    async fn end(mut self, reason: ExitReason) -> Result<Ended, InteractiveError> {
        let draft = self.display.expanded_prompt();
        self.route(TerminalMsg::LeaveScrollback);
        let settings = self.session.snapshot().settings;
        let exit = match settings.fullscreen_exit_output() {
            FullscreenExitOutput::Transcript => ExitBehavior::PrintTranscript,
            FullscreenExitOutput::ResumeHint => ExitBehavior::RestoreScreen,
        };
        let Self {
            display,
            session,
            tasks,
            component_tasks,
            ..
        } = self;
        let signals = TerminationSignals::listen();
        // Restore the terminal first: nothing may draw after this.
        let stopped = display.screen.into_runner().stop(exit);
        drop((tasks, component_tasks));
        let interrupted = async {
            match signals {
                Ok(mut signals) => signals.next().await,
                Err(_) => std::future::pending().await,
            }
        };
        tokio::select! {
            () = session.shutdown() => {}
            // The user does not want to wait for extensions; the session is on disk already.
            () = interrupted => {}
        }
        stopped?;
        Ok(Ended { reason, draft })
    }

    /// Delivers a message and performs the commands that follow from it.
    pub(crate) fn route(&mut self, message: impl Into<AppMsg>) {
        let message = message.into();
        let may_wait = matches!(
            message,
            AppMsg::Dialogs(_)
                | AppMsg::SignIn(_)
                | AppMsg::Extensions(ExtensionMsg::Event(
                    ExtensionEvent::Connected | ExtensionEvent::Changed(_)
                ))
        );
        let commands = match message {
            AppMsg::Transcript(message) => self.display.update_transcript(message),
            message => {
                let snapshot = self.session.snapshot();
                let prompt = self.display.prompt_text();
                let workspace = self.session.workspace();
                let ctx = AppContext {
                    session: &snapshot,
                    prompt: &prompt,
                    ui: &self.display.ui,
                    screen_mode: self.display.screen.peek().mode(),
                    has_dialog: self.display.screen.dialog().is_some(),
                    version: pi_env::VERSION,
                    now: Instant::now(),
                    available_models: &|| workspace.models.available(),
                    commands: &|| {
                        let commands = self.session.commands();
                        commands.into_iter().map(|command| command.name).collect()
                    },
                };
                self.controllers.update(message, &ctx)
            }
        };
        for command in commands {
            self.perform(command);
        }
        if may_wait {
            self.report_status();
        }
    }

    /// Reports to the terminal what the program does or waits for.
    fn report_status(&mut self) {
        let waiting = match (
            self.controllers.sign_in.provider(),
            self.controllers.dialogs.extension_title(),
            self.display.screen.blocked(),
        ) {
            (Some(provider), _, _) => WaitingFor::SignIn(provider),
            (None, Some(title), _) => WaitingFor::Answer(title),
            (None, None, Some(blocked)) => WaitingFor::Component(blocked),
            (None, None, None) => WaitingFor::Nothing,
        };
        let is_blocked = waiting != WaitingFor::Nothing || self.controllers.approvals.is_waiting();
        let name = self.session.snapshot().name;
        let status = self.run_status.current(name.as_deref(), waiting);
        self.display.set_blocked(is_blocked);
        self.display.set_program_status(status);
    }

    fn on_session(&mut self, event: pi_protocol::SessionEvent) {
        let status = StatusMsg::of(&event);
        let approval = ApprovalMsg::of(&event);
        let has_state = self.run_status.follow(&event);
        let now = Instant::now();
        self.display
            .screen
            .with_working(|working| working.follow(&event, now));
        self.route(TranscriptMsg::Event(Box::new(event)));
        if let Some(status) = status {
            self.route(status);
        }
        if let Some(approval) = approval {
            self.route(approval);
        }
        if has_state {
            self.report_status();
        }
    }

    fn on_terminal(&mut self, event: RunnerEvent) {
        let scroll = match &event {
            RunnerEvent::Input { event, .. } => {
                keys::upward_scroll(event, &self.display.ui.context().keys)
            }
            _ => None,
        };
        match event {
            RunnerEvent::Input { event, .. } => self.on_input(&event),
            RunnerEvent::OpenUrl(url) => self.route(TerminalMsg::OpenUrl(url)),
            RunnerEvent::ColorScheme(scheme) => self.route(AppearanceMsg::ColorScheme(scheme)),
            RunnerEvent::Colors(colors) => self.route(AppearanceMsg::Colors(colors)),
            RunnerEvent::Resized => self.display.resized(),
            RunnerEvent::Terminated => self.quit(ExitReason::Terminated),
        }
        let session = &self.session;
        self.display.load_entries(scroll, || session.history());
    }

    fn on_input(&mut self, event: &InputEvent) {
        if event.is_key_release() {
            return;
        }
        if is_debug_key(event) {
            self.perform(command::AppCommand::WriteDebugRecord);
            return;
        }
        self.drain_dialogs();
        if let InputEvent::Key(key) = event
            && self.display.ui.context().keys.matches(key, keys::CLEAR)
            && self.display.close_stuck_component(Instant::now())
        {
            let text = "An extension component is not responding; removed it";
            self.perform(command::AppCommand::error(text));
        }
        for event in self.display.screen.with_editor(EditorArea::take_events) {
            match event {
                PromptEvent::Submitted(text) => self.route(PromptMsg::Submitted {
                    text,
                    delivery: pi_protocol::Delivery::Steer,
                }),
                PromptEvent::Changed => {
                    self.display.publish_prompt();
                    self.route(PromptMsg::Changed);
                }
                PromptEvent::Action(action) => self.perform_action(action),
                PromptEvent::Shortcut(key) => self.route(ExtensionMsg::KeyPressed(key)),
            }
        }
    }

    /// Handles the queued extension events.
    fn on_extensions(&mut self) {
        for event in self.display.bridge.take_events() {
            match event {
                ExtensionEvent::Connected => {
                    let connected = self.connected_extensions();
                    self.route(ExtensionMsg::Connected(connected));
                }
                event => self.route(ExtensionMsg::Event(event)),
            }
        }
        self.display.publish_overlay_bounds();
    }

    /// Carries out the intents of the open dialog, and closes dialogs that are done.
    fn drain_dialogs(&mut self) {
        for (key, intent) in self.display.screen.take_intents() {
            self.route(intents::message(key, intent));
        }
        for key in self.display.screen.done_dialogs() {
            self.route(crate::controllers::dialogs::DialogMsg::Done(key));
        }
    }

    /// Returns a handle that posts messages to the loop.
    pub(crate) fn handle(&self) -> AppHandle {
        self.tasks.handle()
    }

    fn quit(&mut self, reason: ExitReason) {
        self.exit_reason.get_or_insert(reason);
    }
}

fn is_debug_key(event: &InputEvent) -> bool {
    let id = DEBUG_KEY.parse::<KeyId>();
    matches!((event, id), (InputEvent::Key(key), Ok(id)) if key.is(id))
}
