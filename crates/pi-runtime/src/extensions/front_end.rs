//! What extensions show and ask, for a front end to carry out.
//!
//! A front end implements [`ExtensionUi`]; one without a person keeps the defaults, which show
//! nothing and answer nothing.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use pi_config::ExtensionEngine;
use pi_ext::TerminalKit;
use serde::Deserialize;
use serde_json::Value;

use super::screen::ExtensionScreen;

/// The front end as extensions know it (`ctx.mode`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ExtensionMode {
    Terminal,
    Rpc,
    Json,
    /// The last answer alone.
    #[default]
    Print,
}

impl ExtensionMode {
    /// Returns the name extensions know.
    pub fn name(self) -> &'static str {
        match self {
            Self::Terminal => "tui",
            Self::Rpc => "rpc",
            Self::Json => "json",
            Self::Print => "print",
        }
    }

    /// Returns whether somebody can answer dialogs.
    pub fn has_ui(self) -> bool {
        matches!(self, Self::Terminal | Self::Rpc)
    }
}

/// Something an extension shows; what is absent clears it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(
    tag = "kind",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
#[non_exhaustive]
pub enum ExtensionNotice {
    /// A message for the user.
    Notify {
        message: String,
        /// `info`, `warning` or `error`.
        notify_type: Option<String>,
    },
    /// A line of status.
    Status { key: String, text: Option<String> },
    /// Lines around the editor.
    Widget {
        key: String,
        lines: Option<Vec<String>>,
        /// `aboveEditor` or `belowEditor`.
        placement: Option<String>,
    },
    /// The title of the window.
    Title { title: String },
    /// The text the user is writing.
    EditorText { text: String },
    /// Text for the place of the cursor.
    EditorPaste { text: String },
    /// What is shown while the model works.
    WorkingMessage { message: Option<String> },
    /// Whether it is shown that the model works.
    WorkingVisible { visible: bool },
    /// How it is shown that the model works.
    WorkingIndicator {
        /// Frames and their pace.
        indicator: Option<Value>,
    },
    /// What stands in the place of hidden thinking.
    HiddenThinkingLabel { label: Option<String> },
}

/// Something an extension asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExtensionDialog {
    pub prompt: DialogPrompt,
    /// When it gives up waiting.
    pub timeout: Option<Duration>,
}

/// The kinds of dialogs.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub enum DialogPrompt {
    /// One of several options.
    Select { title: String, options: Vec<String> },
    Confirm {
        title: String,
        #[serde(default)]
        message: String,
    },
    Input {
        title: String,
        /// Shown while nothing is typed.
        placeholder: Option<String>,
    },
    /// A text of any length.
    Editor {
        title: String,
        /// The text to begin with.
        prefill: Option<String>,
    },
}

/// How a dialog ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DialogResponse {
    /// With a text or an option.
    Text(String),
    /// With yes or no.
    Confirmed(bool),
    Cancelled,
}

/// A failure in an extension.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExtensionFailure {
    /// The extension's file; none where it is not known which failed.
    pub extension: Option<String>,
    /// The event or verb it failed in.
    pub event: String,
    pub error: String,
    /// Where, in the author's files and lines.
    pub stack: Option<String>,
}

/// The part of a front end that extensions use.
pub trait ExtensionUi: Send + Sync {
    /// Returns which front end this is.
    fn mode(&self) -> ExtensionMode;

    /// Shows something.
    fn notify(&self, notice: ExtensionNotice) -> BoxFuture<'static, ()> {
        drop(notice);
        Box::pin(std::future::ready(()))
    }

    /// Asks something. Dropping the future withdraws the question.
    fn show_dialog(&self, dialog: ExtensionDialog) -> BoxFuture<'static, DialogResponse> {
        drop(dialog);
        Box::pin(std::future::ready(DialogResponse::Cancelled))
    }

    /// Reports a failure.
    fn report_failure(&self, failure: ExtensionFailure) -> BoxFuture<'static, ()>;

    /// Ends the program when what is under way is done.
    fn request_shutdown(&self) {}

    /// Returns the text the user is writing.
    fn editor_text(&self) -> String {
        String::new()
    }

    /// Returns the terminal, where there is one.
    fn screen(&self) -> Option<&dyn ExtensionScreen> {
        None
    }
}

/// A front end without a person: failures go to the log.
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

/// A long flag of the command line that an extension may know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExtensionFlag {
    /// Its name, without the dashes.
    pub name: String,
    /// Its value, if it has one.
    pub value: Option<String>,
    /// What the user is told if no extension knows it.
    pub unclaimed: String,
}

/// What a program says about extensions before any is loaded.
#[derive(Clone)]
pub struct ExtensionOptions {
    pub ui: Arc<dyn ExtensionUi>,
    /// Long flags the program does not know.
    pub flags: Vec<ExtensionFlag>,
    /// The terminal library that components stand on; without one they cannot be drawn.
    pub tui_toolkit: Option<Arc<dyn TerminalKit>>,
    /// What runs all of them, whatever the settings say.
    pub engine: Option<ExtensionEngine>,
}

impl Default for ExtensionOptions {
    fn default() -> Self {
        Self {
            ui: Arc::new(NoExtensionUi::default()),
            flags: Vec::new(),
            tui_toolkit: None,
            engine: None,
        }
    }
}
