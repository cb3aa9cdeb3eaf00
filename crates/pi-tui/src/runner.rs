//! The loop around a [`Tui`]: bytes in, events to the UI, frames out.
//!
//! A program calls [`Runner::next`] in its own loop and reacts to what comes back; frames, timers,
//! questions to the terminal and their answers are taken care of on the way.

use std::collections::VecDeque;
use std::io;
use std::time::Instant;

use crate::component::InputOutcome;
use crate::frame_requester::{FrameRequester, FrameScheduler};
use crate::input::{InputDecoder, InputEvent, InputTiming, TerminalReply};
use crate::render::{ExitBehavior, RenderError, ScreenMode};
use crate::terminal::{
    TerminalCapabilities, ColorScheme, KeyboardNegotiation, ENABLE_COLOR_SCHEME_REPORTS, PendingReplies,
    ProcessTerminal, TerminalProgress, QUERY_BACKGROUND, QUERY_CELL_SIZE, DISABLE_COLOR_SCHEME_REPORTS,
    TerminalEnvironment, TerminalEvent, clipboard_sequence, title_sequence,
};
use crate::tui::{FrameUrgency, EventResponse, Tui};

/// What a program hears from [`Runner::next`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunnerEvent {
    /// A key, paste or the like, and whether a component used it.
    Input {
        event: InputEvent,
        /// Whether it was used.
        outcome: InputOutcome,
    },
    /// The user clicked an address.
    OpenUrl(String),
    /// The terminal is light or dark, as far as it says.
    ColorScheme(ColorScheme),
    /// The screen has another size.
    Resized,
    /// The process shall end.
    Terminated,
}

/// Why a UI cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum RunnerError {
    /// The terminal cannot be read or written.
    #[error("the terminal cannot be used")]
    Terminal(#[from] io::Error),
    /// A frame cannot be painted.
    #[error(transparent)]
    Render(#[from] RenderError),
}

/// How a [`Runner`] treats the terminal.
#[derive(Clone, Copy, Debug, Default)]
pub struct RunnerOptions {
    /// How long to wait for the rest of a sequence.
    pub timing: InputTiming,
    /// What the terminal can show.
    pub capabilities: TerminalCapabilities,
}

/// A UI on this process's terminal.
#[derive(Debug)]
pub struct Runner {
    tui: Tui,
    terminal: ProcessTerminal,
    options: RunnerOptions,
    decoder: InputDecoder,
    keyboard: KeyboardNegotiation,
    pending: PendingReplies,
    scheduler: FrameScheduler,
    requester: FrameRequester,
    progress: TerminalProgress,
    ready: VecDeque<RunnerEvent>,
}

/// Looks a variable up in the environment of the process.
fn process_variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

fn environment() -> TerminalEnvironment<'static> {
    TerminalEnvironment::new(&process_variable)
}

enum Woken {
    Terminal(TerminalEvent),
    Requested,
    Timer,
}

impl Runner {
    /// Takes the terminal and asks it what it can do.
    pub fn start(tui: Tui, options: RunnerOptions) -> Result<Self, RunnerError> {
        let terminal = ProcessTerminal::open()?;
        let keyboard = KeyboardNegotiation::default();
        let windows = environment().in_windows_terminal();
        let mut runner = Self {
            tui,
            terminal,
            options,
            decoder: InputDecoder::new(options.timing, keyboard.mode(windows)),
            keyboard,
            pending: PendingReplies::default(),
            scheduler: FrameScheduler::default(),
            requester: FrameRequester::default(),
            progress: TerminalProgress::default(),
            ready: VecDeque::new(),
        };
        runner.enter()?;
        Ok(runner)
    }

    /// Returns the UI, to look at it.
    pub fn tui(&self) -> &Tui {
        &self.tui
    }

    /// Returns the UI, to change it; a frame follows.
    pub fn tui_mut(&mut self) -> &mut Tui {
        self.scheduler.request(FrameUrgency::Soon, Instant::now());
        &mut self.tui
    }

    /// Returns a handle with which tasks ask for frames.
    pub fn requester(&self) -> FrameRequester {
        self.requester.clone()
    }

    /// Sets the title of the window.
    pub fn set_title(&mut self, title: &str) -> Result<(), RunnerError> {
        self.write(&title_sequence(title))
    }

    /// Shows that work is under way, or that it ended.
    pub fn set_progress(&mut self, active: bool) -> Result<(), RunnerError> {
        let bytes = self.progress.set(active, Instant::now());
        self.note_modes();
        self.write(bytes)
    }

    /// Changes the kind of screen.
    pub fn set_mode(&mut self, mode: ScreenMode) -> Result<(), RunnerError> {
        let bytes = self.tui.set_mode(mode);
        self.note_modes();
        self.write(&bytes)?;
        self.scheduler.request(FrameUrgency::Now, Instant::now());
        Ok(())
    }

    /// Shows on the full screen what has just left the main screen.
    pub fn view_scrollback(&mut self) -> Result<(), RunnerError> {
        let bytes = self.tui.view_scrollback();
        self.note_modes();
        self.write(&bytes)?;
        self.scheduler.request(FrameUrgency::Now, Instant::now());
        Ok(())
    }

    /// Waits for the next thing a program must know; paints in between.
    pub async fn next(&mut self) -> Result<RunnerEvent, RunnerError> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Ok(event);
            }
            self.do_what_is_due()?;
            // A lone Escape becomes a key when its time is up, not when bytes arrive.
            if !self.ready.is_empty() {
                continue;
            }
            let deadline = self.deadline();
            let requester = self.requester.clone();
            let timer = async {
                match deadline {
                    Some(deadline) => tokio::time::sleep_until(deadline.into()).await,
                    None => std::future::pending().await,
                }
            };
            let woken = tokio::select! {
                event = self.terminal.next_event() => Woken::Terminal(event),
                () = requester.requested() => Woken::Requested,
                () = timer => Woken::Timer,
            };
            match woken {
                Woken::Terminal(event) => self.take(event)?,
                Woken::Requested => self.scheduler.request(FrameUrgency::Soon, Instant::now()),
                Woken::Timer => {}
            }
        }
    }

    fn deadline(&self) -> Option<Instant> {
        [
            self.decoder.deadline(),
            self.scheduler.deadline(),
            self.tui.deadline(),
            self.progress.deadline(),
        ]
        .into_iter()
        .flatten()
        .min()
    }

    fn do_what_is_due(&mut self) -> Result<(), RunnerError> {
        let now = Instant::now();
        if self.decoder.deadline().is_some_and(|due| due <= now) {
            for event in self.decoder.expire(now) {
                self.handle(event, now)?;
            }
        }
        let need = self.tui.tick(now);
        self.scheduler.request(need, now);
        let keep_alive = self.progress.tick(now);
        self.write(keep_alive)?;
        if self.scheduler.take(now) {
            let frame = self.tui.frame()?;
            self.write(&frame)?;
        }
        Ok(())
    }

    fn take(&mut self, event: TerminalEvent) -> Result<(), RunnerError> {
        let now = Instant::now();
        match event {
            TerminalEvent::Input(bytes) => {
                for event in self.decoder.push(&bytes, now) {
                    self.handle(event, now)?;
                }
            }
            TerminalEvent::Resized => {
                let size = environment().size().at_least_one_cell();
                if size != self.tui.size() {
                    self.tui.set_size(size);
                    self.scheduler.request(FrameUrgency::Soon, now);
                    self.ready.push_back(RunnerEvent::Resized);
                }
            }
            TerminalEvent::Terminated | TerminalEvent::Closed => {
                self.ready.push_back(RunnerEvent::Terminated);
            }
        }
        Ok(())
    }

    fn handle(&mut self, event: InputEvent, now: Instant) -> Result<(), RunnerError> {
        if let InputEvent::Reply(reply) = &event {
            self.handle_reply(reply)?;
        }
        let reaction = self.tui.handle(&event, now);
        self.react(event, reaction, now)
    }

    /// Hands on an event that a listener kept for a while, past all listeners.
    pub fn forward(&mut self, event: InputEvent) -> Result<(), RunnerError> {
        let now = Instant::now();
        let reaction = self.tui.forward(&event, now);
        self.react(event, reaction, now)
    }

    /// Hands on bytes as if they had been typed, past all listeners.
    pub fn forward_bytes(&mut self, bytes: &[u8]) -> Result<(), RunnerError> {
        let mut decoder = InputDecoder::new(self.options.timing, self.decoder.mode());
        let mut events = decoder.push(bytes, Instant::now());
        if let Some(deadline) = decoder.deadline() {
            events.extend(decoder.expire(deadline));
        }
        events.into_iter().try_for_each(|event| self.forward(event))
    }

    fn react(
        &mut self,
        event: InputEvent,
        reaction: EventResponse,
        now: Instant,
    ) -> Result<(), RunnerError> {
        self.scheduler.request(reaction.frame, now);
        self.write(&reaction.output)?;
        self.ready
            .extend(reaction.open_url.map(RunnerEvent::OpenUrl));
        if !matches!(event, InputEvent::Reply(_)) {
            self.ready.push_back(RunnerEvent::Input {
                event,
                outcome: reaction.outcome,
            });
        }
        Ok(())
    }

    fn handle_reply(&mut self, reply: &TerminalReply) -> Result<(), RunnerError> {
        self.pending.received(reply);
        self.decoder.set_awaiting_reply(self.pending.any());
        let bytes = self.keyboard.receive(reply);
        self.write(bytes)?;
        let windows = environment().in_windows_terminal();
        self.decoder.set_mode(self.keyboard.mode(windows));
        self.ready
            .extend(ColorScheme::from_reply(reply).map(RunnerEvent::ColorScheme));
        Ok(())
    }

    /// Stops the process as Ctrl+Z does; returns once it continues, with the screen painted anew.
    #[cfg(unix)]
    pub async fn suspend(&mut self) -> Result<(), RunnerError> {
        self.leave(ExitBehavior::RestoreScreen)?;
        let expects = expect_replies(&mut self.decoder, &mut self.pending);
        self.terminal.suspend(expects).await?;
        self.enter()
    }

    /// Gives the terminal to something that runs beside this program, such as an editor.
    ///
    /// [`next`](Self::next) must not be called until [`reclaim_terminal`](Self::reclaim_terminal).
    pub fn release_terminal(&mut self) -> Result<(), RunnerError> {
        self.leave(ExitBehavior::RestoreScreen)?;
        let expects = expect_replies(&mut self.decoder, &mut self.pending);
        self.terminal.close(expects);
        Ok(())
    }

    /// Takes the terminal again and paints the screen anew.
    pub fn reclaim_terminal(&mut self) -> Result<(), RunnerError> {
        self.terminal.reopen()?;
        self.enter()
    }

    /// Puts text on the clipboard of the person at the terminal, also over SSH.
    pub fn copy(&mut self, text: &str) -> Result<(), RunnerError> {
        self.write(&clipboard_sequence(text))
    }

    /// Writes sequences that change nothing on the screen, such as notifications.
    pub fn write_out_of_band(&mut self, sequences: &str) -> Result<(), RunnerError> {
        self.write(sequences)
    }

    /// Asks for attention: a sound, a mark on the tab, as the user's terminal has it.
    pub fn ring_bell(&mut self) -> Result<(), RunnerError> {
        self.write("\x07")
    }

    /// Gives the terminal back and returns the UI.
    pub fn stop(mut self, leave: ExitBehavior) -> Result<Tui, RunnerError> {
        self.leave(leave)?;
        let expects = expect_replies(&mut self.decoder, &mut self.pending);
        self.terminal.close(expects);
        Ok(self.tui)
    }

    fn enter(&mut self) -> Result<(), RunnerError> {
        // What happened to the size while the process was stopped, nobody told.
        self.tui.set_size(environment().size());
        self.note_modes();
        let start = self.tui.start();
        self.write(&start)?;
        let cell_size = self
            .options
            .capabilities
            .images
            .map_or("", |_| QUERY_CELL_SIZE);
        let questions = format!(
            "{ENABLE_COLOR_SCHEME_REPORTS}{QUERY_BACKGROUND}{cell_size}{}",
            self.keyboard.start()
        );
        self.write(&questions)?;
        self.scheduler.request(FrameUrgency::Now, Instant::now());
        Ok(())
    }

    fn leave(&mut self, leave: ExitBehavior) -> Result<(), RunnerError> {
        let clear = self.progress.set(false, Instant::now());
        let stop = self.tui.stop(leave);
        self.write(&format!("{clear}{stop}{DISABLE_COLOR_SCHEME_REPORTS}"))?;
        let mut modes = self.terminal.modes();
        modes.alternate_screen = false;
        self.terminal.set_modes(modes);
        Ok(())
    }

    fn note_modes(&mut self) {
        let mut modes = self.terminal.modes();
        modes.alternate_screen = self.tui.mode() == ScreenMode::Full;
        modes.color_scheme_reports = true;
        modes.progress = self.progress.deadline().is_some();
        self.terminal.set_modes(modes);
    }

    fn write(&mut self, bytes: &str) -> Result<(), RunnerError> {
        self.pending.sent(bytes);
        self.decoder.set_awaiting_reply(self.pending.any());
        Ok(self.terminal.write(bytes)?)
    }
}

/// Returns a judge of drained bytes: whether more answers are on their way.
fn expect_replies<'a>(
    decoder: &'a mut InputDecoder,
    pending: &'a mut PendingReplies,
) -> impl FnMut(&[u8]) -> bool + 'a {
    move |bytes| {
        for event in decoder.push(bytes, Instant::now()) {
            if let InputEvent::Reply(reply) = event {
                pending.received(&reply);
            }
        }
        pending.any()
    }
}
