//! Calls to the front end that work in every mode.

use serde_json::Value;

use super::group::calls;
use crate::front_end::{DialogPrompt, ExtensionNotice};

calls! {
    trait UiCalls {
        call "ui.notify" => notify(notice as "...": ExtensionNotice);
        /// Returns the text in the prompt editor.
        call "ui.editorText" => editor_text() -> String;
        /// Shows a dialog. The result is a text, a boolean, or null if it was canceled.
        request "ui.showDialog" => show_dialog(
            timeout: Option<f64>,
            prompt as "...": DialogPrompt,
        ) -> Value;
        /// Counts as an open dialog until JavaScript cancels the request.
        request "ui.holdDialog" => hold_dialog();
    }
}
