//! The front end's interface to extensions: notices, dialogs and failures.
//!
//! A front end implements [`ExtensionUi`]. The defaults, for front ends without a user, show
//! nothing and cancel dialogs.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use pi_ext::TuiToolkit;
use pi_protocol::settings::{ExtensionEngine, Settings};
use pi_protocol::{Answer, Request, RequestId, RequestKind};
use serde::Deserialize;
use serde_json::Value;

use crate::SessionExtensions;
use crate::client_screen::ClientScreen;
use crate::screen::{ExtensionScreen, ThemeData};

/// The kind of front end, as visible to extensions (`ctx.mode`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ExtensionMode {
    Terminal,
    Rpc,
    Json,
    /// Prints only the last response.
    #[default]
    Print,
}

impl ExtensionMode {
    /// Returns the name in the extension API.
    pub fn name(self) -> &'static str {
        match self {
            Self::Terminal => "tui",
            Self::Rpc => "rpc",
            Self::Json => "json",
            Self::Print => "print",
        }
    }

    /// Returns whether a user can respond to dialogs.
    pub fn has_ui(self) -> bool {
        matches!(self, Self::Terminal | Self::Rpc)
    }
}

/// A UI change by an extension; absent values clear it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(
    tag = "kind",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
#[non_exhaustive]
pub enum ExtensionNotice {
    Notify {
        message: String,
        /// `info`, `warning` or `error`.
        notify_type: Option<String>,
    },
    Status {
        key: String,
        text: Option<String>,
    },
    /// Lines around the editor.
    Widget {
        key: String,
        lines: Option<Vec<String>>,
        /// `aboveEditor` or `belowEditor`.
        placement: Option<String>,
    },
    /// The window title.
    Title {
        title: String,
    },
    /// The text in the editor.
    EditorText {
        text: String,
    },
    /// Text to insert at the cursor.
    EditorPaste {
        text: String,
    },
    /// The message shown while the model is working.
    WorkingMessage {
        message: Option<String>,
    },
    /// Whether the working indicator is visible.
    WorkingVisible {
        visible: bool,
    },
    /// The appearance of the working indicator.
    WorkingIndicator {
        /// Frames and interval.
        indicator: Option<Value>,
    },
    /// Placeholder for hidden thinking.
    HiddenThinkingLabel {
        label: Option<String>,
    },
}

/// A dialog of an extension.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExtensionDialog {
    /// The ID of its request, by which any client may answer it.
    pub id: String,
    pub prompt: DialogPrompt,
    /// Time after which the dialog is canceled.
    pub timeout: Option<Duration>,
}

impl ExtensionDialog {
    /// Returns the dialog as a request of the session.
    pub fn to_request(&self) -> Request {
        let timeout = self.timeout_milliseconds();
        let kind = match self.prompt.clone() {
            DialogPrompt::Select { title, options } => RequestKind::Select {
                title,
                options,
                timeout,
            },
            DialogPrompt::Confirm { title, message } => RequestKind::Confirm {
                title,
                message,
                timeout,
            },
            DialogPrompt::Input { title, placeholder } => RequestKind::Input {
                title,
                placeholder,
                timeout,
            },
            DialogPrompt::Editor { title, prefill } => RequestKind::Editor { title, prefill },
        };
        Request {
            id: RequestId(self.id.clone()),
            call: None,
            kind,
        }
    }

    pub fn timeout_milliseconds(&self) -> Option<u64> {
        let timeout = self.timeout?;
        Some(u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX))
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub enum DialogPrompt {
    Select {
        title: String,
        options: Vec<String>,
    },
    Confirm {
        title: String,
        #[serde(default)]
        message: String,
    },
    Input {
        title: String,
        /// Shown while the input is empty.
        placeholder: Option<String>,
    },
    /// Multi-line text.
    Editor {
        title: String,
        /// The initial text.
        prefill: Option<String>,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DialogResponse {
    /// A text or the chosen option.
    Text(String),
    Confirmed(bool),
    Cancelled,
}

impl From<DialogResponse> for Answer {
    fn from(response: DialogResponse) -> Self {
        match response {
            DialogResponse::Text(value) => Self::Value { value },
            DialogResponse::Confirmed(confirmed) => Self::Confirmed { confirmed },
            DialogResponse::Cancelled => Self::Cancelled,
        }
    }
}

impl From<Answer> for DialogResponse {
    fn from(answer: Answer) -> Self {
        match answer {
            Answer::Value { value } => Self::Text(value),
            Answer::Confirmed { confirmed } => Self::Confirmed(confirmed),
            // Dialogs do not accept the answers to approvals.
            _ => Self::Cancelled,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExtensionFailure {
    /// Path of the extension; `None` if unknown.
    pub extension: Option<String>,
    /// The event or operation that failed.
    pub event: String,
    pub error: String,
    /// Stack trace with the original files and lines.
    pub stack: Option<String>,
}

/// The part of a front end that extensions use.
pub trait ExtensionUi: Send + Sync {
    fn mode(&self) -> ExtensionMode;

    fn notify(&self, notice: ExtensionNotice) -> BoxFuture<'static, ()> {
        drop(notice);
        Box::pin(std::future::ready(()))
    }

    /// Shows a dialog. Dropping the future closes it.
    fn show_dialog(&self, dialog: ExtensionDialog) -> BoxFuture<'static, DialogResponse> {
        drop(dialog);
        Box::pin(std::future::ready(DialogResponse::Cancelled))
    }

    /// Returns whether dialogs can ask for a text. Where they cannot, such a dialog is canceled at once.
    fn asks_for_text(&self) -> bool {
        self.mode().has_ui()
    }

    fn report_failure(&self, failure: ExtensionFailure) -> BoxFuture<'static, ()>;

    /// Exits the program once everything in progress has finished.
    fn request_shutdown(&self) {}

    fn editor_text(&self) -> String {
        String::new()
    }

    /// Receives what extensions write to the console, stdout or stderr, if there is no terminal.
    fn console(&self, text: &str) {
        let _ = text;
    }

    /// Returns the theme that `settings` select, for front ends without a terminal. `agent_dir` has the theme files.
    fn theme(&self, settings: &Settings, agent_dir: &Path) -> Option<ThemeData> {
        let _ = (settings, agent_dir);
        None
    }

    /// Returns the terminal screen, if there is one.
    fn screen(&self) -> Option<&dyn ExtensionScreen> {
        self.client_screen().and_then(ClientScreen::opened)
    }

    /// Returns what draws components for clients without a terminal.
    fn client_screen(&self) -> Option<&dyn ClientScreen> {
        None
    }

    /// Returns whether clients should learn that an extension needs a screen.
    fn reports_missing_screen(&self) -> bool {
        false
    }

    /// Returns the kind of front end for extensions: with a screen, everything works as in a terminal.
    fn extension_mode(&self) -> ExtensionMode {
        match (self.mode(), self.screen()) {
            (ExtensionMode::Rpc, Some(_)) => ExtensionMode::Terminal,
            (mode, _) => mode,
        }
    }
}

/// A front end without a user: failures are logged.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoExtensionUi(pub ExtensionMode);

impl ExtensionUi for NoExtensionUi {
    fn mode(&self) -> ExtensionMode {
        self.0
    }

    fn report_failure(&self, failure: ExtensionFailure) -> BoxFuture<'static, ()> {
        tracing::warn!(
            extension = failure.extension,
            event = failure.event,
            "{}",
            failure.error
        );
        Box::pin(std::future::ready(()))
    }
}

/// A long command-line flag that an extension may have registered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExtensionFlag {
    /// Name without the dashes.
    pub name: String,
    pub value: Option<String>,
    /// The error to show if no extension registered the flag.
    pub unclaimed: String,
}

#[derive(Clone)]
pub struct ExtensionOptions {
    pub ui: Arc<dyn ExtensionUi>,
    /// Long flags unknown to the program.
    pub flags: Vec<ExtensionFlag>,
    /// The terminal library components are rendered with; without it they cannot be rendered.
    pub tui_toolkit: Option<Arc<dyn TuiToolkit>>,
    /// The engine for all extensions; overrides the settings.
    pub engine: Option<ExtensionEngine>,
    /// Extensions that are loaded already, instead of those in files.
    pub preloaded: Option<SessionExtensions>,
}

impl Default for ExtensionOptions {
    fn default() -> Self {
        Self {
            ui: Arc::new(NoExtensionUi::default()),
            flags: Vec::new(),
            tui_toolkit: None,
            engine: None,
            preloaded: None,
        }
    }
}
