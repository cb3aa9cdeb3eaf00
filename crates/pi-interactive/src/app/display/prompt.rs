//! The prompt on screen: pi's editor, or the one of an extension.

use pi_tui::ColorToken;

use super::Display;
use crate::app::message::AppMsg;
use crate::controllers::prompt::PromptMsg;
use crate::extensions::bridge::ComponentTask;

impl Display {
    /// Returns the prompt text, with large pastes as markers.
    pub(crate) fn prompt_text(&self) -> String {
        if self.screen.has_extension_editor() {
            return self.editor_text.clone();
        }
        let editor = self.screen.editor();
        editor.map(|area| area.peek().text()).unwrap_or_default()
    }

    /// Returns the prompt text with the pasted text.
    pub(crate) fn expanded_prompt(&mut self) -> String {
        if self.screen.has_extension_editor() {
            return self.prompt_text();
        }
        self.screen
            .with_editor(|area| area.editor().expanded_text())
    }

    /// Takes the prompt text with the pasted text; returns it and what the controllers must know.
    pub(crate) fn take_prompt(&mut self) -> (String, Vec<AppMsg>) {
        let text = self.expanded_prompt();
        if self.screen.has_extension_editor() {
            return (text, self.set_prompt(""));
        }
        self.screen.with_editor(|area| area.editor().set_text(""));
        (text, Vec::new())
    }

    pub(super) fn set_prompt(&mut self, text: &str) -> Vec<AppMsg> {
        if self.screen.has_extension_editor() {
            text.clone_into(&mut self.editor_text);
            self.bridge
                .enqueue(ComponentTask::SetEditorText(text.to_owned()));
        } else {
            self.screen.with_editor(|area| area.editor().set_text(text));
        }
        self.publish_prompt();
        vec![PromptMsg::Changed.into()]
    }

    pub(super) fn insert_at_prompt(&mut self, text: String) -> Vec<AppMsg> {
        if self.screen.has_extension_editor() {
            self.bridge.enqueue(ComponentTask::InsertEditorText(text));
            return Vec::new();
        }
        self.screen
            .with_editor(|area| area.editor().insert_text(&text));
        self.publish_prompt();
        vec![PromptMsg::Changed.into()]
    }

    pub(super) fn add_to_history(&mut self, text: String) {
        self.screen
            .with_editor(|area| area.editor().add_to_history(&text));
        if self.screen.has_extension_editor() {
            self.bridge.enqueue(ComponentTask::RememberEditorText(text));
        }
    }

    /// Publishes the text of pi's editor to extensions.
    pub(crate) fn publish_prompt(&mut self) {
        if self.bridge.is_connected() && !self.screen.has_extension_editor() {
            let text = self.expanded_prompt();
            self.bridge.set_editor_text(text);
        }
    }

    pub(super) fn paint_border(&mut self, token: ColorToken) {
        self.border = token;
        let border = self.ui.painter(token);
        self.screen
            .with_editor(|area| area.editor().set_border(border));
        self.publish_editor();
    }

    /// Publishes the editor's border color and padding to extensions.
    pub(crate) fn publish_editor(&mut self) {
        let (settings, border) = (&self.settings, self.border);
        self.bridge.set_editor(|editor| {
            editor.padding = usize::from(settings.editor_padding_x());
            editor.completions = usize::from(settings.autocomplete_max_visible());
            editor.border = border.name();
        });
        self.bridge.redraw();
    }
}
