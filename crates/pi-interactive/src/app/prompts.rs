//! The prompt: its text, its border, and queued messages restored to it.

use pi_protocol::ThinkingLevel;
use pi_runtime::QueuedTexts;
use pi_tui::ColorToken;

use super::App;
use crate::extension_ui::ComponentTask;

impl App {
    /// Returns the prompt text, with large pastes as markers.
    pub(super) fn prompt_text(&self) -> String {
        if self.screen.has_extension_editor() {
            return self.extensions.editor_text.clone();
        }
        let editor = self.screen.editor();
        editor.map(|area| area.peek().text()).unwrap_or_default()
    }

    pub(crate) fn set_prompt(&mut self, text: &str) {
        if self.screen.has_extension_editor() {
            text.clone_into(&mut self.extensions.editor_text);
            self.bridge
                .enqueue(ComponentTask::SetEditorText(text.to_owned()));
        } else {
            self.screen.with_editor(|area| area.editor().set_text(text));
        }
        self.on_prompt_changed();
    }

    /// Inserts text at the cursor.
    pub(crate) fn insert_at_prompt(&mut self, text: &str) {
        if self.screen.has_extension_editor() {
            self.bridge
                .enqueue(ComponentTask::InsertEditorText(text.to_owned()));
            return;
        }
        self.screen
            .with_editor(|area| area.editor().insert_text(text));
        self.on_prompt_changed();
    }

    /// Adds a prompt to the history.
    pub(super) fn add_to_history(&mut self, text: &str) {
        self.screen
            .with_editor(|area| area.editor().add_to_history(text));
        if self.screen.has_extension_editor() {
            self.bridge
                .enqueue(ComponentTask::RememberEditorText(text.to_owned()));
        }
    }

    pub(super) fn on_prompt_changed(&mut self) {
        if self.bridge.is_connected() && !self.screen.has_extension_editor() {
            let text = self
                .screen
                .with_editor(|area| area.editor().expanded_text());
            self.bridge.set_editor_text(text);
        }
        let is_bash_mode = self.prompt_text().trim_start().starts_with('!');
        if is_bash_mode != self.is_bash_mode {
            self.is_bash_mode = is_bash_mode;
            self.paint_border();
        }
    }

    /// Colors the prompt border by thinking level, or marks a shell command.
    pub(super) fn paint_border(&mut self) {
        let token = if self.is_bash_mode {
            ColorToken::BashMode
        } else {
            border_token(self.session.thinking_level())
        };
        let border = self.ui.painter(token);
        self.screen
            .with_editor(|area| area.editor().set_border(border));
        self.publish_editor();
    }

    /// Interrupts the run; queued messages return to the prompt.
    pub(super) fn stop_run(&mut self) {
        let session = self.session.clone();
        let stopping = async move {
            let texts = session.clear_queue().await;
            session.abort().await;
            texts
        };
        let queued_during_compaction = self.take_queued_prompts();
        self.spawn(stopping, move |app, texts| {
            app.restore_to_prompt(texts, queued_during_compaction);
        });
    }

    /// Moves queued messages back to the prompt.
    pub(super) fn restore_queue(&mut self) {
        let session = self.session.clone();
        let taking = async move { session.clear_queue().await };
        let queued_during_compaction = self.take_queued_prompts();
        self.spawn(taking, move |app, texts| {
            let count = app.restore_to_prompt(texts, queued_during_compaction);
            app.status(match count {
                0 => "No queued messages".to_owned(),
                1 => "Queued message restored to the editor".to_owned(),
                _ => format!("{count} queued messages restored to the editor"),
            });
        });
    }

    fn take_queued_prompts(&mut self) -> Vec<String> {
        let queued_during_compaction = std::mem::take(&mut self.queued_during_compaction);
        queued_during_compaction
            .into_iter()
            .map(|(text, _)| text)
            .collect()
    }

    fn restore_to_prompt(
        &mut self,
        queued: QueuedTexts,
        queued_during_compaction: Vec<String>,
    ) -> usize {
        let mut texts = queued.steering;
        texts.extend(queued.follow_up);
        texts.extend(queued_during_compaction);
        let count = texts.len();
        if count > 0 {
            texts.push(self.prompt_text());
            texts.retain(|text| !text.trim().is_empty());
            self.set_prompt(&texts.join("\n\n"));
        }
        self.refresh_queue();
        count
    }

    /// Updates the list of queued messages.
    pub(super) fn refresh_queue(&mut self) {
        let mut waiting = self.session.queued_texts();
        for (text, delivery) in &self.queued_during_compaction {
            match delivery {
                pi_runtime::Delivery::Steer => waiting.steering.push(text.clone()),
                pi_runtime::Delivery::FollowUp => waiting.follow_up.push(text.clone()),
            }
        }
        self.screen.with_queue(|queue| queue.set(waiting));
    }
}

/// Returns the border color of a thinking level.
pub(crate) fn border_token(level: ThinkingLevel) -> ColorToken {
    match level {
        ThinkingLevel::Off => ColorToken::ThinkingOff,
        ThinkingLevel::Minimal => ColorToken::ThinkingMinimal,
        ThinkingLevel::Low => ColorToken::ThinkingLow,
        ThinkingLevel::Medium => ColorToken::ThinkingMedium,
        ThinkingLevel::High => ColorToken::ThinkingHigh,
        ThinkingLevel::Xhigh => ColorToken::ThinkingXhigh,
        ThinkingLevel::Max => ColorToken::ThinkingMax,
    }
}
