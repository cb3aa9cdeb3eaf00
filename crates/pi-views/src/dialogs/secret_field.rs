//! An input field for keys and passwords that never shows the text.

use pi_tui::{CURSOR_MARKER, InputContext, InputEvent, action};

use super::plain_text::one_line;
use crate::dialogs::intent::SecretText;

/// Maximum number of dots shown.
const MAX_DOTS: usize = 24;

/// Masked text input; the cursor stays at the end.
#[derive(Debug)]
pub(super) struct SecretField {
    value: SecretText,
    focused: bool,
}

impl Default for SecretField {
    fn default() -> Self {
        Self {
            value: SecretText(String::new()),
            focused: true,
        }
    }
}

impl SecretField {
    pub(super) fn set_focused(&mut self, focused: bool) {
        self.focused = focused;
    }

    /// Returns the trimmed text; `None` if it is empty.
    pub(super) fn value(&self) -> Option<SecretText> {
        let value = self.value.0.trim();
        (!value.is_empty()).then(|| SecretText(value.to_owned()))
    }

    /// Handles typing; returns whether the event was used.
    pub(super) fn handle(&mut self, event: &InputEvent, context: &InputContext<'_>) -> bool {
        match event {
            // A pasted key may include a line break.
            InputEvent::Paste(paste) => self.value.0.push_str(&one_line(&paste.text)),
            InputEvent::Key(key) => {
                let pressed = |action| context.keybindings.matches(key, action);
                if pressed(action::EDITOR_DELETE_CHAR_BACKWARD) {
                    self.value.0.pop();
                } else if pressed(action::EDITOR_DELETE_TO_LINE_START)
                    || pressed(action::EDITOR_DELETE_WORD_BACKWARD)
                {
                    self.value.0.clear();
                } else if let Some(character) = key.text().filter(|text| !text.is_control()) {
                    self.value.0.push(character);
                } else {
                    return false;
                }
            }
            _ => return false,
        }
        true
    }

    /// Renders the field as a line.
    pub(super) fn line(&self) -> String {
        let count = self.value.0.chars().count();
        let dots = "•".repeat(count.min(MAX_DOTS));
        let marker = if self.focused { CURSOR_MARKER } else { "" };
        let length = if count > 0 {
            format!("  {count} characters")
        } else {
            String::new()
        };
        format!(" > {dots}{marker}\x1b[7m \x1b[27m{length}")
    }
}
