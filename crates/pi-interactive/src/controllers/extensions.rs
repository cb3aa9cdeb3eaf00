//! Requests of extensions: notices, components, shortcuts, themes and shutdown.

#[cfg(test)]
mod tests;

use std::time::Duration;

use pi_host::{ExtensionFailure, ExtensionNotice, ExtensionShortcut, ScreenChange};
use pi_tui::KeyId;
use serde_json::Value;

use super::appearance::AppearanceMsg;
use super::dialogs::DialogMsg;
use super::prompt::PromptMsg;
use super::shortcuts;
use super::status::StatusMsg;
use crate::ExitReason;
use crate::app::command::AppCommand;
use crate::app::context::AppContext;
use crate::app::display_command::{ContextChange, DisplayCommand, ExtensionDisplay, WorkingChange};
use crate::extensions::bridge::ExtensionEvent;
use crate::transcript::{NoticeLevel, TranscriptMsg};
use pi_views::working_indicator::INTERVAL;

/// Maximum number of stack-trace lines shown.
const STACK_LINES: usize = 6;

/// Events of a session that is about to be replaced.
const LEAVING_EVENTS: [&str; 3] = [
    "session_before_switch",
    "session_before_fork",
    "session_shutdown",
];

#[derive(Debug)]
pub(crate) enum ExtensionMsg {
    /// Extensions were loaded or unloaded.
    Connected(ConnectedExtensions),
    Event(ExtensionEvent),
    /// The key of a shortcut was pressed at the prompt.
    KeyPressed(KeyId),
    ShortcutEnded(Result<(), String>),
    /// A component drew lines that do not fit.
    TooWide {
        owner: Option<String>,
        lines: usize,
        width: usize,
    },
    /// The session has nothing more to do.
    Settled,
    /// The session moves in its tree, after which the transcript is rebuilt.
    NavigationStarted,
    NavigationEnded,
    /// Another session is shown; the transcript is its own.
    SessionReplaced,
    /// The current branch of the working directory.
    Branch(Option<String>),
}

/// What the application knows about newly loaded extensions.
#[derive(Debug, Default)]
pub(crate) struct ConnectedExtensions {
    /// `None` without extensions.
    pub(crate) shortcuts: Option<Vec<ExtensionShortcut>>,
    /// Commands that a built-in command hides.
    pub(crate) hidden_commands: Vec<String>,
}

/// State that belongs to the loaded extensions.
#[derive(Debug, Default)]
pub(crate) struct ExtensionController {
    has_extensions: bool,
    /// Active shortcuts: key, extension and key name, in matching order.
    shortcuts: Vec<(KeyId, String, String)>,
    /// Characters that trigger extension completion; `None` without a completion provider.
    completion_triggers: Option<Vec<char>>,
    branch: Option<String>,
    last_failure: Option<ExtensionFailure>,
    /// Notices that arrived while the session moves in its tree: rebuilding the transcript would remove them.
    held_notices: Option<Vec<AppCommand>>,
    /// Failures that the next session shows again: replacing the transcript removes them before they can be read.
    leaving_failures: Vec<String>,
    quit_when_idle: bool,
}

impl ExtensionController {
    pub(crate) fn completion_triggers(&self) -> Option<&[char]> {
        self.completion_triggers.as_deref()
    }

    pub(crate) fn update(
        &mut self,
        message: ExtensionMsg,
        ctx: &AppContext<'_>,
    ) -> Vec<AppCommand> {
        match message {
            ExtensionMsg::Connected(connected) => self.connected(connected, ctx),
            ExtensionMsg::Event(event) => self.on_event(event, ctx),
            ExtensionMsg::KeyPressed(key) => {
                let shortcuts = self.shortcuts.iter();
                let mut pressed = shortcuts.filter(|(known, ..)| *known == key);
                let command = pressed
                    .next()
                    .map(|(_, extension, key)| AppCommand::RunShortcut {
                        extension: extension.clone(),
                        key: key.clone(),
                    });
                command.into_iter().collect()
            }
            ExtensionMsg::ShortcutEnded(Err(error)) => {
                vec![AppCommand::error(format!("Shortcut failed: {error}"))]
            }
            ExtensionMsg::TooWide {
                owner,
                lines,
                width,
            } => vec![too_wide(owner.as_deref(), lines, width)],
            ExtensionMsg::Settled if self.quit_when_idle => {
                vec![AppCommand::Quit(ExitReason::Quit)]
            }
            ExtensionMsg::Settled => {
                // The session was not replaced after all.
                self.leaving_failures.clear();
                Vec::new()
            }
            ExtensionMsg::ShortcutEnded(Ok(())) => Vec::new(),
            ExtensionMsg::NavigationStarted => {
                self.held_notices.get_or_insert_default();
                Vec::new()
            }
            ExtensionMsg::NavigationEnded => self.held_notices.take().unwrap_or_default(),
            ExtensionMsg::SessionReplaced => {
                let failures = std::mem::take(&mut self.leaving_failures).into_iter();
                failures.map(AppCommand::error).collect()
            }
            ExtensionMsg::Branch(branch) => {
                let has_changed = self.branch != branch;
                self.branch.clone_from(&branch);
                let published = DisplayCommand::PublishBranch {
                    branch,
                    has_changed,
                };
                vec![AppCommand::Display(published)]
            }
        }
    }

    /// Removes everything the previous extensions showed, and registers the new ones.
    fn connected(
        &mut self,
        connected: ConnectedExtensions,
        ctx: &AppContext<'_>,
    ) -> Vec<AppCommand> {
        let has_extensions = connected.shortcuts.is_some();
        if !has_extensions && !self.has_extensions {
            return Vec::new();
        }
        *self = Self {
            has_extensions,
            leaving_failures: std::mem::take(&mut self.leaving_failures),
            ..Self::default()
        };
        let mut commands = vec![
            display(ExtensionDisplay::Reset),
            AppCommand::send(DialogMsg::ExtensionsGone),
        ];
        if ctx.ui.context().thinking_label.is_some() {
            commands.push(set_thinking_label(None));
        }
        let requested = connected.shortcuts.unwrap_or_default();
        let resolved = shortcuts::resolve(requested, &ctx.ui.context().keys);
        let warnings = resolved.problems.into_iter().map(warn);
        commands.extend(warnings);
        let active = resolved.shortcuts.iter();
        self.shortcuts = active
            .map(|(id, shortcut)| (*id, shortcut.extension.clone(), shortcut.key.clone()))
            .collect();
        commands.push(display(ExtensionDisplay::SetShortcuts(resolved.shortcuts)));
        let hidden = connected.hidden_commands.into_iter();
        commands.extend(hidden.map(|name| {
            warn(format!(
                "Extension command /{name} is hidden by the built-in command"
            ))
        }));
        commands.push(AppCommand::RefreshCompletion);
        commands.push(AppCommand::send(StatusMsg::NameChanged));
        commands
    }

    fn on_event(&mut self, event: ExtensionEvent, ctx: &AppContext<'_>) -> Vec<AppCommand> {
        match event {
            // The application adds what it knows and sends `Connected`.
            ExtensionEvent::Connected => Vec::new(),
            ExtensionEvent::Notice(notice @ ExtensionNotice::Notify { .. }) => {
                match &mut self.held_notices {
                    Some(held) => {
                        held.extend(on_notice(notice));
                        Vec::new()
                    }
                    None => on_notice(notice),
                }
            }
            ExtensionEvent::Notice(notice) => on_notice(notice),
            ExtensionEvent::DialogRequested { id, dialog, answer } => {
                vec![AppCommand::send(DialogMsg::ExtensionAsked {
                    id,
                    dialog,
                    answer,
                })]
            }
            ExtensionEvent::Withdrawn(id) => vec![AppCommand::send(DialogMsg::Withdrawn(id))],
            ExtensionEvent::Failed(failure) => self.failed(failure),
            ExtensionEvent::Changed(change) => self.on_change(change),
            ExtensionEvent::Drawn { id, width, outcome } => {
                vec![display(ExtensionDisplay::Drawn { id, width, outcome })]
            }
            ExtensionEvent::ThemeSelected(name) => {
                vec![AppCommand::send(AppearanceMsg::UseTheme(name))]
            }
            ExtensionEvent::Typed(event) => vec![display(ExtensionDisplay::Forward(event))],
            ExtensionEvent::TypedInstead(data) => {
                vec![display(ExtensionDisplay::ForwardBytes(data))]
            }
            ExtensionEvent::ShutDown if ctx.session.activity.idle => {
                vec![AppCommand::Quit(ExitReason::Quit)]
            }
            ExtensionEvent::ShutDown => {
                self.quit_when_idle = true;
                Vec::new()
            }
        }
    }

    fn failed(&mut self, failure: ExtensionFailure) -> Vec<AppCommand> {
        // A timer that fails sixty times a second is reported once.
        if self.last_failure.as_ref() == Some(&failure) {
            return Vec::new();
        }
        let ExtensionFailure { event, error, .. } = &failure;
        let mut text = match &failure.extension {
            Some(extension) => format!("Extension \"{extension}\" failed ({event}): {error}"),
            // The session reports its own problems this way, too.
            None => format!("{event}: {error}"),
        };
        let stack = failure.stack.as_deref().unwrap_or_default();
        for line in stack.lines().skip(1).take(STACK_LINES) {
            text.push_str("\n  ");
            text.push_str(line.trim());
        }
        if LEAVING_EVENTS.contains(&event.as_str()) {
            self.leaving_failures.push(text.clone());
        }
        self.last_failure = Some(failure);
        vec![AppCommand::error(text)]
    }

    fn on_change(&mut self, change: ScreenChange) -> Vec<AppCommand> {
        match change {
            ScreenChange::Completion { triggers } => {
                let triggers = triggers.iter().filter_map(|text| text.chars().next());
                self.completion_triggers = Some(triggers.collect());
                vec![AppCommand::RefreshCompletion]
            }
            ScreenChange::EditorSubmitted { text } => vec![
                display(ExtensionDisplay::EditorText(String::new())),
                AppCommand::send(PromptMsg::Submitted {
                    text,
                    delivery: pi_protocol::Delivery::Steer,
                }),
            ],
            ScreenChange::EditorChanged { text } => vec![
                display(ExtensionDisplay::EditorText(text)),
                AppCommand::send(PromptMsg::Changed),
            ],
            ScreenChange::EditorRestored { text } => vec![
                display(ExtensionDisplay::EditorText(String::new())),
                AppCommand::send(PromptMsg::SetText(text)),
            ],
            ScreenChange::EditorAction { action } => vec![AppCommand::PerformAction(action)],
            ScreenChange::Shortcut { extension, key } => {
                vec![AppCommand::RunShortcut { extension, key }]
            }
            ScreenChange::Expanded { expanded } => {
                vec![AppCommand::send(TranscriptMsg::SetExpanded(expanded))]
            }
            ScreenChange::Progress { active } => {
                vec![AppCommand::Display(DisplayCommand::SetProgress(active))]
            }
            // Handled by the bridge.
            ScreenChange::Redraw | ScreenChange::RowChanged { .. } => Vec::new(),
            other => vec![display(ExtensionDisplay::Change(other))],
        }
    }
}

fn display(change: ExtensionDisplay) -> AppCommand {
    AppCommand::Display(DisplayCommand::Extension(change))
}

fn working(change: WorkingChange) -> AppCommand {
    display(ExtensionDisplay::Working(change))
}

fn warn(text: String) -> AppCommand {
    AppCommand::notify(NoticeLevel::Warning, text)
}

fn set_thinking_label(label: Option<String>) -> AppCommand {
    let change = ContextChange::new(move |context| context.thinking_label = label);
    AppCommand::Display(DisplayCommand::UpdateContext(change))
}

fn too_wide(owner: Option<&str>, count: usize, width: usize) -> AppCommand {
    let source = match owner {
        Some(extension) => format!("Component of {extension}"),
        None => "Extension component".to_owned(),
    };
    let lines = if count == 1 { "line" } else { "lines" };
    let what = format!("rendered {count} {lines} wider than {width} columns; truncated");
    warn(format!("{source} {what}"))
}

fn on_notice(notice: ExtensionNotice) -> Vec<AppCommand> {
    vec![match notice {
        ExtensionNotice::Notify {
            message,
            notify_type,
        } => AppCommand::notify(
            match notify_type.as_deref() {
                Some("error") => NoticeLevel::Error,
                Some("warning") => NoticeLevel::Warning,
                _ => NoticeLevel::Status,
            },
            message,
        ),
        ExtensionNotice::Status { .. } => {
            return vec![
                AppCommand::send(StatusMsg::Refresh),
                display(ExtensionDisplay::Redraw),
            ];
        }
        ExtensionNotice::Widget {
            key,
            lines,
            placement,
        } => display(ExtensionDisplay::Widget {
            key,
            lines,
            placement,
        }),
        ExtensionNotice::Title { title } => AppCommand::Display(DisplayCommand::SetTitle(title)),
        ExtensionNotice::EditorText { text } => AppCommand::send(PromptMsg::SetText(text)),
        ExtensionNotice::EditorPaste { text } => AppCommand::send(PromptMsg::Insert(text)),
        ExtensionNotice::WorkingMessage { message } => {
            working(WorkingChange::new(move |overrides| {
                overrides.message = message;
            }))
        }
        ExtensionNotice::WorkingVisible { visible } => {
            working(WorkingChange::new(move |overrides| {
                overrides.hidden = !visible;
            }))
        }
        ExtensionNotice::WorkingIndicator { indicator } => {
            let indicator = indicator.as_ref().map(read_indicator);
            working(WorkingChange::new(move |overrides| {
                overrides.indicator = indicator;
            }))
        }
        ExtensionNotice::HiddenThinkingLabel { label } => {
            set_thinking_label(label.map(|label| crate::blocks::clean_line(&label)))
        }
        other => {
            tracing::debug!(?other, "unsupported extension notice");
            return Vec::new();
        }
    }]
}

/// Parses the spinner frames and the interval of an extension's indicator.
fn read_indicator(indicator: &Value) -> (Vec<String>, Duration) {
    let frames = indicator.get("frames").and_then(Value::as_array);
    let frames = match frames {
        Some(frames) => frames
            .iter()
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect(),
        None => pi_views::working_indicator::FRAMES
            .map(str::to_owned)
            .to_vec(),
    };
    let interval = indicator.get("intervalMs").and_then(Value::as_u64);
    // At most one change per frame.
    let interval = interval.map_or(INTERVAL, |interval| Duration::from_millis(interval.max(16)));
    (frames, interval)
}
