//! Changes to the screen.

use std::path::PathBuf;
use std::sync::Arc;

use pi_host::{ComponentId, ExtensionShortcut, ScreenChange};
use pi_protocol::settings::{RunNotification, Settings};
use pi_protocol::{QueuedTexts, StreamPhase};
use pi_tui::{ColorToken, InputEvent, KeyId, Keybindings};
use pi_views::theme::selector::ThemeSelector;
use pi_views::theme::ui_theme::RenderContext;

use crate::extensions::bridge::DrawOutcome;
use pi_views::working_indicator::{Activity, WorkingOverrides};

/// A change to the screen or the terminal.
#[derive(Debug)]
pub(crate) enum DisplayCommand {
    SetPrompt(String),
    /// Inserts text at the cursor.
    InsertAtPrompt(String),
    AddToHistory(String),
    PaintBorder(ColorToken),
    /// Lays out the prompt again.
    TouchPrompt,
    SetQueue(QueuedTexts),
    SetActivity(Activity),
    SetPhase(Option<StreamPhase>),
    /// Shows progress in the terminal's title bar or taskbar.
    SetProgress(bool),
    SetTitle(String),
    /// Reports the end of a run to a user who may look elsewhere.
    Notify {
        kind: RunNotification,
        text: String,
    },
    /// Shows a hint for a short time.
    Flash(String),
    CopyToTerminal(String),
    ReleaseTerminal,
    ReclaimTerminal,
    ViewScrollback,
    LeaveScrollback,
    ApplySettings {
        settings: Arc<Settings>,
        cwd: PathBuf,
    },
    SetKeys(Box<Keybindings>),
    UpdateContext(ContextChange),
    PublishThemes {
        themes: Box<ThemeSelector>,
        has_changed: bool,
    },
    PublishExpanded(bool),
    PublishBranch {
        branch: Option<String>,
        has_changed: bool,
    },
    Extension(ExtensionDisplay),
}

/// A change of the render context; everything is laid out again.
pub(crate) struct ContextChange(Box<dyn FnOnce(&mut RenderContext) + Send>);

impl ContextChange {
    pub(crate) fn new(change: impl FnOnce(&mut RenderContext) + Send + 'static) -> Self {
        Self(Box::new(change))
    }

    pub(crate) fn apply(self, context: &mut RenderContext) {
        (self.0)(context);
    }
}

impl std::fmt::Debug for ContextChange {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("ContextChange")
    }
}

/// A change that an extension requested.
#[derive(Debug)]
pub(crate) enum ExtensionDisplay {
    /// Removes everything that extensions show.
    Reset,
    /// Mounts, unmounts, focuses or hides a component, or writes to the terminal.
    Change(ScreenChange),
    /// Shows lines next to the prompt; `None` removes them.
    Widget {
        key: String,
        lines: Option<Vec<String>>,
        placement: Option<String>,
    },
    Working(WorkingChange),
    /// Lines that a component drew.
    Drawn {
        id: ComponentId,
        width: usize,
        outcome: DrawOutcome,
    },
    /// The text that an extension's editor shows.
    EditorText(String),
    /// Input that extensions have seen.
    Forward(InputEvent),
    ForwardBytes(String),
    SetShortcuts(Vec<(KeyId, ExtensionShortcut)>),
    /// Lets components render again.
    Redraw,
}

/// A change of the working indicator.
pub(crate) struct WorkingChange(Box<dyn FnOnce(&mut WorkingOverrides) + Send>);

impl WorkingChange {
    pub(crate) fn new(change: impl FnOnce(&mut WorkingOverrides) + Send + 'static) -> Self {
        Self(Box::new(change))
    }

    pub(crate) fn apply(self, overrides: &mut WorkingOverrides) {
        (self.0)(overrides);
    }
}

impl std::fmt::Debug for WorkingChange {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("WorkingChange")
    }
}
