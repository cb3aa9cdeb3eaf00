//! The event loop around a [`Tui`]: reads bytes, dispatches events, writes frames.
//!
//! The application calls [`Runner::next`] in its own loop and reacts to the events it returns.
//! Frames, timers and terminal queries are handled internally.

use std::collections::VecDeque;
use std::time::Instant;

use crate::frame_requester::{FrameRequester, FrameScheduler};
use crate::input::{InputDecoder, InputEvent, TerminalReply};
use crate::render::{ExitBehavior, ScreenMode};
use crate::terminal::{
    DISABLE_COLOR_SCHEME_REPORTS, ENABLE_COLOR_SCHEME_REPORTS, KeyboardNegotiation, PendingReplies,
    ProcessTerminal, ProgramStatus, ProgramStatusReport, QUERY_CELL_SIZE, TerminalEnvironment,
    TerminalEvent, TerminalProgress, clipboard_sequence, title_sequence,
};
use crate::tui::{EventResponse, FrameUrgency, Tui};

mod color_report;
mod event;

use color_report::{ColorReport, ColorUpdate};
pub use event::{RunnerError, RunnerEvent, RunnerOptions};

/// A UI on the terminal of this process.
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
    colors: ColorReport,
    status: ProgramStatusReport,
    ready: VecDeque<RunnerEvent>,
}

fn process_variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

fn environment() -> TerminalEnvironment<'static> {
    TerminalEnvironment::new(&process_variable)
}

enum WakeReason {
    Terminal(TerminalEvent),
    Requested,
    Timer,
}

impl Runner {
    /// Takes over the terminal and queries its capabilities.
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
            colors: ColorReport::default(),
            status: ProgramStatusReport::new(options.program_status),
            ready: VecDeque::new(),
        };
        runner.enter()?;
        Ok(runner)
    }

    pub fn tui(&self) -> &Tui {
        &self.tui
    }

    /// Returns the UI for modification and schedules a frame.
    pub fn tui_mut(&mut self) -> &mut Tui {
        self.scheduler
            .request(FrameUrgency::Content, Instant::now());
        &mut self.tui
    }

    /// Returns a handle that other tasks use to request frames.
    pub fn requester(&self) -> FrameRequester {
        self.requester.clone()
    }

    /// Sets the window title.
    pub fn set_title(&mut self, title: &str) -> Result<(), RunnerError> {
        self.write(&title_sequence(title))
    }

    /// Shows or clears the terminal's progress indicator.
    pub fn set_progress(&mut self, active: bool) -> Result<(), RunnerError> {
        let bytes = self.progress.set(active, Instant::now());
        self.sync_modes();
        self.write(bytes)
    }

    /// Reports what the program does, if the terminal supports it.
    pub fn set_program_status(&mut self, status: ProgramStatus) -> Result<(), RunnerError> {
        let bytes = self.status.set(status, self.options.program);
        self.write(&bytes)
    }

    pub fn set_mode(&mut self, mode: ScreenMode) -> Result<(), RunnerError> {
        let bytes = self.tui.set_mode(mode);
        self.sync_modes();
        self.write(&bytes)?;
        self.scheduler.request(FrameUrgency::Now, Instant::now());
        Ok(())
    }

    /// Shows the lines that most recently left the main screen, in full-screen mode.
    pub fn view_scrollback(&mut self) -> Result<(), RunnerError> {
        let bytes = self.tui.view_scrollback();
        self.sync_modes();
        self.write(&bytes)?;
        self.scheduler.request(FrameUrgency::Now, Instant::now());
        Ok(())
    }

    /// Waits for the next event the application must handle, painting frames in the meantime.
    pub async fn next(&mut self) -> Result<RunnerEvent, RunnerError> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Ok(event);
            }
            self.run_due_timers()?;
            // A lone Escape becomes a key when its timeout expires, not when bytes arrive.
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
            let reason = tokio::select! {
                event = self.terminal.next_event() => WakeReason::Terminal(event),
                () = requester.requested() => WakeReason::Requested,
                () = timer => WakeReason::Timer,
            };
            match reason {
                WakeReason::Terminal(event) => self.handle_terminal_event(event)?,
                WakeReason::Requested => {
                    self.scheduler
                        .request(FrameUrgency::Content, Instant::now());
                }
                WakeReason::Timer => {}
            }
        }
    }

    fn deadline(&self) -> Option<Instant> {
        let frame = self.scheduler.deadline();
        [
            self.decoder.deadline(),
            frame.map(|due| self.colors.held().map_or(due, |held| due.max(held))),
            self.tui.deadline(),
            self.progress.deadline(),
        ]
        .into_iter()
        .flatten()
        .min()
    }

    fn run_due_timers(&mut self) -> Result<(), RunnerError> {
        let now = Instant::now();
        if self.decoder.deadline().is_some_and(|due| due <= now) {
            for event in self.decoder.expire(now) {
                self.handle(event, now)?;
            }
        }
        let urgency = self.tui.tick(now);
        self.scheduler.request(urgency, now);
        let keep_alive = self.progress.tick(now);
        self.write(keep_alive)?;
        if !self.colors.holds_frame(now) && self.scheduler.take(now) {
            let frame = self.tui.frame()?;
            self.write(&frame)?;
        }
        Ok(())
    }

    fn handle_terminal_event(&mut self, event: TerminalEvent) -> Result<(), RunnerError> {
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
        let response = self.tui.handle(&event, now);
        self.apply_response(event, response, now)
    }

    /// Handles an event that a listener held back, bypassing all listeners.
    pub fn forward(&mut self, event: InputEvent) -> Result<(), RunnerError> {
        let now = Instant::now();
        let response = self.tui.forward(&event, now);
        self.apply_response(event, response, now)
    }

    /// Handles bytes as if they had been typed, bypassing all listeners.
    pub fn forward_bytes(&mut self, bytes: &[u8]) -> Result<(), RunnerError> {
        let mut decoder = InputDecoder::new(self.options.timing, self.decoder.mode());
        let mut events = decoder.push(bytes, Instant::now());
        if let Some(deadline) = decoder.deadline() {
            events.extend(decoder.expire(deadline));
        }
        events.into_iter().try_for_each(|event| self.forward(event))
    }

    fn apply_response(
        &mut self,
        event: InputEvent,
        response: EventResponse,
        now: Instant,
    ) -> Result<(), RunnerError> {
        self.scheduler.request(response.frame, now);
        self.write(&response.output)?;
        self.ready
            .extend(response.open_url.map(RunnerEvent::OpenUrl));
        if !matches!(event, InputEvent::Reply(_)) {
            self.ready.push_back(RunnerEvent::Input {
                event,
                outcome: response.outcome,
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
        let status = self.status.receive(reply, self.options.program);
        self.write(&status)?;
        match self.colors.receive(reply) {
            Some(ColorUpdate::Colors(colors)) => {
                self.ready.push_back(RunnerEvent::Colors(colors));
                Ok(())
            }
            Some(ColorUpdate::Scheme(scheme)) => {
                self.ready.push_back(RunnerEvent::ColorScheme(scheme));
                let queries = self.colors.query();
                self.write(&queries)
            }
            None => Ok(()),
        }
    }

    /// Suspends the process as Ctrl+Z does. Returns once it is resumed and the screen is repainted.
    #[cfg(unix)]
    pub async fn suspend(&mut self) -> Result<(), RunnerError> {
        self.leave(ExitBehavior::Pause)?;
        let expects = expect_replies(&mut self.decoder, &mut self.pending);
        self.terminal.suspend(expects).await?;
        self.enter()
    }

    /// Releases the terminal to another program, such as an external editor.
    ///
    /// Do not call [`next`](Self::next) until [`reclaim_terminal`](Self::reclaim_terminal) has
    /// returned.
    pub fn release_terminal(&mut self) -> Result<(), RunnerError> {
        self.leave(ExitBehavior::Pause)?;
        let expects = expect_replies(&mut self.decoder, &mut self.pending);
        self.terminal.close(expects);
        Ok(())
    }

    /// Takes over the terminal again and repaints the screen.
    pub fn reclaim_terminal(&mut self) -> Result<(), RunnerError> {
        self.terminal.reopen()?;
        self.enter()
    }

    /// Copies text to the clipboard through the terminal (OSC 52), which also works over SSH.
    pub fn copy(&mut self, text: &str) -> Result<(), RunnerError> {
        self.write(&clipboard_sequence(text))
    }

    /// Writes sequences that do not affect the screen contents, such as notifications.
    pub fn write_out_of_band(&mut self, sequences: &str) -> Result<(), RunnerError> {
        self.write(sequences)
    }

    /// Rings the terminal bell.
    pub fn ring_bell(&mut self) -> Result<(), RunnerError> {
        self.write("\x07")
    }

    /// Restores the terminal and returns the UI.
    pub fn stop(mut self, exit: ExitBehavior) -> Result<Tui, RunnerError> {
        self.leave(exit)?;
        let expects = expect_replies(&mut self.decoder, &mut self.pending);
        self.terminal.close(expects);
        Ok(self.tui)
    }

    fn enter(&mut self) -> Result<(), RunnerError> {
        // The size may have changed while the process was stopped, without a signal.
        self.tui.set_size(environment().size());
        self.sync_modes();
        let start = self.tui.start();
        self.write(&start)?;
        let cell_size = self
            .options
            .capabilities
            .images
            .map_or("", |_| QUERY_CELL_SIZE);
        let queries = format!(
            "{ENABLE_COLOR_SCHEME_REPORTS}{}{}{cell_size}{}",
            self.status.start(),
            self.colors.start(self.options.color_wait, Instant::now()),
            self.keyboard.start()
        );
        self.write(&queries)?;
        self.scheduler.request(FrameUrgency::Now, Instant::now());
        Ok(())
    }

    fn leave(&mut self, exit: ExitBehavior) -> Result<(), RunnerError> {
        let clear = self.progress.set(false, Instant::now());
        let stop = self.tui.stop(exit);
        self.write(&format!("{clear}{stop}{DISABLE_COLOR_SCHEME_REPORTS}"))?;
        let mut modes = self.terminal.modes();
        modes.alternate_screen = false;
        self.terminal.set_modes(modes);
        Ok(())
    }

    fn sync_modes(&mut self) {
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

/// Returns a predicate that consumes drained bytes and reports whether more replies are pending.
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
