//! Keys and other terminal events.

use std::time::{Duration, Instant};

use pi_config::DoubleEscapeAction;
use pi_runtime::{CycleDirection, Delivery, Persist};
use pi_tui::{InputEvent, KeyId, RunnerEvent, ScreenMode, action};

use super::App;
use crate::ExitReason;
use crate::keys;
use crate::prompt::editor_area::{EditorArea, PromptEvent};

/// Number of screens above the viewport for which older entries are loaded.
const LOADED_AHEAD: usize = 2;

/// How long the hint about leaving the scrollback is shown.
const HINT_TIME: Duration = Duration::from_secs(3);

/// Writes a debug dump of the screen, whatever has focus. Not configurable.
const DEBUG_KEY: &str = "shift+ctrl+d";

impl App {
    pub(super) fn on_terminal(&mut self, event: RunnerEvent) {
        match event {
            RunnerEvent::Input { event, .. } => self.on_input(&event),
            RunnerEvent::OpenUrl(url) => self.open_url(url),
            RunnerEvent::ColorScheme(scheme) => self.on_color_scheme(scheme),
            RunnerEvent::Resized => {
                let rows = self.screen.peek().size().rows;
                self.screen.with_dialog(|dialog| dialog.set_rows(rows));
                self.publish_size();
            }
            RunnerEvent::Terminated => self.leave(ExitReason::Terminated),
        }
        self.load_older();
    }

    /// Loads older entries before the user scrolls to the first one shown.
    fn load_older(&mut self) {
        let tui = self.screen.peek();
        let near = LOADED_AHEAD * tui.size().rows;
        if self.transcript.has_older() && tui.lines_above().is_some_and(|lines| lines < near) {
            let session = self.session.clone();
            self.with_transcript(|transcript, document| transcript.show_older(document, &session));
        }
    }

    fn on_input(&mut self, event: &InputEvent) {
        if event.is_key_release() {
            return;
        }
        if is_debug_key(event) {
            self.write_debug_record();
            return;
        }
        if self.screen.has_dialog() {
            self.handle_dialog_intents();
        }
        if let InputEvent::Key(key) = event
            && self.ui.context().keys.matches(key, keys::CLEAR)
        {
            self.close_stuck_component();
        }
        for event in self.screen.with_editor(EditorArea::take_events) {
            match event {
                PromptEvent::Submitted(text) => self.submit(&text),
                PromptEvent::Changed => self.on_prompt_changed(),
                PromptEvent::Action(action) => self.perform(action),
                PromptEvent::Shortcut(key) => self.run_shortcut_for_key(key),
            }
        }
    }

    /// Switches to the full-screen scrollback; older entries are loaded while scrolling.
    fn enter_scrollback(&mut self) {
        if self.screen.peek().mode() != ScreenMode::Main {
            return;
        }
        self.in_scrollback = true;
        self.write_terminal(|app| app.screen.runner().view_scrollback());
        let back = self.ui.context().key(keys::INTERRUPT);
        let hint = format!("Press {back} to return to the prompt");
        let now = Instant::now();
        self.screen.runner().tui_mut().flash(&hint, HINT_TIME, now);
    }

    /// Returns from the scrollback to the end of the conversation.
    pub(super) fn leave_scrollback(&mut self) {
        if std::mem::take(&mut self.in_scrollback) {
            self.write_terminal(|app| app.screen.runner().set_mode(ScreenMode::Main));
        }
    }

    /// Performs an application action triggered in an extension's editor.
    pub(super) fn perform_action_by_name(&mut self, action: &str) {
        let known = crate::prompt::editor_area::ACTIONS
            .iter()
            .chain([&keys::EXIT]);
        if let Some(action) = known.copied().find(|known| *known == action) {
            self.perform(action);
        }
    }

    fn perform(&mut self, action: &'static str) {
        match action {
            action::EDITOR_PAGE_UP => self.enter_scrollback(),
            keys::INTERRUPT => self.interrupt(),
            keys::CLEAR => self.clear(),
            keys::EXIT => self.leave(ExitReason::Quit),
            keys::SUSPEND => self.suspend(),
            keys::THINKING_CYCLE => self.cycle_thinking(),
            keys::MODEL_CYCLE_FORWARD => self.cycle_model(CycleDirection::Forward),
            keys::MODEL_CYCLE_BACKWARD => self.cycle_model(CycleDirection::Backward),
            keys::MODEL_SELECT => self.run_command("/model"),
            keys::TOOLS_EXPAND => self.toggle_details(),
            keys::THINKING_TOGGLE => self.toggle_thinking(),
            keys::EDITOR_EXTERNAL => self.edit_externally(),
            keys::MESSAGE_COPY => self.copy_answer(),
            keys::MESSAGE_FOLLOW_UP => self.submit_prompt(Delivery::FollowUp),
            keys::MESSAGE_DEQUEUE => self.restore_queue(),
            keys::CLIPBOARD_PASTE_IMAGE => self.paste_clipboard(),
            keys::SESSION_NEW => self.run_command("/new"),
            keys::SESSION_TREE => self.run_command("/tree"),
            keys::SESSION_FORK => self.run_command("/fork"),
            keys::SESSION_RESUME => self.run_command("/resume"),
            other => tracing::warn!(other, "action has no effect at the prompt"),
        }
    }

    /// Escape: interrupts the innermost running operation.
    fn interrupt(&mut self) {
        if self.in_scrollback {
            self.leave_scrollback();
            return;
        }
        let session = &self.session;
        if session.is_retrying() {
            session.abort_retry();
        } else if session.is_compacting() {
            session.abort_compaction();
            session.abort_branch_summary();
        } else if session.is_streaming() {
            self.stop_run();
        } else if session.is_bash_running() {
            session.abort_bash();
        } else if self.is_bash_mode {
            self.set_prompt("");
        } else if self.prompt_text().trim().is_empty() && self.escape_key.press(Instant::now()) {
            match session.settings().settings().double_escape_action() {
                DoubleEscapeAction::Tree => self.run_command("/tree"),
                DoubleEscapeAction::Fork => self.run_command("/fork"),
                DoubleEscapeAction::None => {}
            }
        }
    }

    /// Ctrl+C: clears the prompt; pressed twice, quits.
    fn clear(&mut self) {
        if self.clear_key.press(Instant::now()) {
            self.leave(ExitReason::Quit);
        } else {
            self.set_prompt("");
        }
    }

    fn cycle_thinking(&mut self) {
        let session = self.session.clone();
        let cycling = async move { session.cycle_thinking_level(Persist::Session).await };
        self.spawn(cycling, |app, result| match result {
            Ok(Some(level)) => app.status(format!("Thinking: {}", level.as_str())),
            Ok(None) => app.status("This model has no thinking levels"),
            Err(error) => app.error(error.describe()),
        });
    }

    fn cycle_model(&mut self, direction: CycleDirection) {
        let session = self.session.clone();
        let cycling = async move { session.cycle_model(direction, Persist::Session).await };
        self.spawn(cycling, |app, result| match result {
            Ok(Some(cycle)) => {
                app.model_changed();
                app.status(format!("Model: {}", cycle.model.name));
            }
            Ok(None) if app.session.scoped_models().is_empty() => {
                app.status("No other model available");
            }
            Ok(None) => app.status("No other scoped model"),
            Err(error) => app.error(error.describe()),
        });
    }

    fn toggle_details(&mut self) {
        let expanded = !self.transcript.is_expanded();
        self.show_details(expanded);
        self.status(if expanded {
            "Details shown"
        } else {
            "Details hidden"
        });
    }

    /// Expands or collapses all blocks.
    pub(super) fn show_details(&mut self, expanded: bool) {
        self.with_transcript(|transcript, document| transcript.set_expanded(document, expanded));
        self.bridge.set_facts(|facts| facts.expanded = expanded);
        self.bridge.redraw();
    }

    fn toggle_thinking(&mut self) {
        let hide = !self.ui.context().hide_thinking;
        self.update_ui(|ctx| ctx.hide_thinking = hide);
        self.save_setting(move |settings| settings.hide_thinking_block = Some(hide));
        self.status(if hide {
            "Thinking hidden"
        } else {
            "Thinking shown"
        });
    }
}

fn is_debug_key(event: &InputEvent) -> bool {
    let id = DEBUG_KEY.parse::<KeyId>();
    matches!((event, id), (InputEvent::Key(key), Ok(id)) if key.is(id))
}
