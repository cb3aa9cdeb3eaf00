//! The completion popup: when to request completions, and how to apply a reply.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::buffer::{Buffer, TextPosition};
use crate::autocomplete::prefix::in_symbol_token;
use crate::autocomplete::{
    CompletionProvider, CompletionRequest, CompletionRequests, CompletionTrigger, Suggestions,
};
use crate::components::select_list::{SelectItem, SelectLayout, SelectList, SelectTheme};
use crate::text::{is_cjk, sanitize};

/// Avoids walking a directory tree for every letter while the user types quickly.
const DEBOUNCE: Duration = Duration::from_millis(20);
const DEFAULT_TRIGGERS: [char; 2] = ['@', '#'];
const COMMAND_LAYOUT: SelectLayout = SelectLayout {
    min_column: 12,
    max_column: 32,
};

/// Why completions are requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RequestReason {
    /// While typing, or to update an open popup.
    Typing,
    /// Tab in the name of a command.
    CommandTab,
    /// Tab elsewhere: a single match is inserted immediately.
    PathTab,
    /// To update a popup of paths.
    PathUpdate,
}

impl RequestReason {
    fn trigger(self) -> CompletionTrigger {
        match self {
            Self::Typing | Self::CommandTab => CompletionTrigger::Typing,
            Self::PathTab | Self::PathUpdate => CompletionTrigger::Path,
        }
    }
}

#[derive(Debug)]
pub(super) struct CompletionPopup {
    pub(super) list: SelectList,
    pub(super) prefix: String,
    trigger: CompletionTrigger,
}

/// A pending request, and the editor state when it was sent.
#[derive(Debug)]
struct PendingRequest {
    reason: RequestReason,
    cursor: TextPosition,
    line: Option<Arc<str>>,
}

/// The effect of a reply.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ReplyOutcome {
    Nothing,
    HistoryView,
    /// Insert the only match.
    Insert(SelectItem, String),
}

pub(super) struct Autocomplete {
    pub(super) provider: Option<Arc<dyn CompletionProvider>>,
    pub(super) popup: Option<CompletionPopup>,
    pub(super) requests: CompletionRequests,
    pub(super) max_visible: usize,
    theme: SelectTheme,
    triggers: Vec<char>,
    pending: Option<PendingRequest>,
    due: Option<Instant>,
}

impl Autocomplete {
    pub(super) fn new(theme: SelectTheme, max_visible: usize) -> Self {
        Self {
            provider: None,
            popup: None,
            requests: CompletionRequests::default(),
            max_visible,
            theme,
            triggers: DEFAULT_TRIGGERS.to_vec(),
            pending: None,
            due: None,
        }
    }

    pub(super) fn set_provider(&mut self, provider: Arc<dyn CompletionProvider>) {
        self.cancel();
        self.triggers = DEFAULT_TRIGGERS.to_vec();
        let own = provider.trigger_characters();
        self.triggers.extend(
            own.into_iter()
                .filter(|it| *it != '/' && !it.is_whitespace()),
        );
        self.provider = Some(provider);
    }

    /// Closes the popup and drops a pending reply.
    pub(super) fn cancel(&mut self) {
        self.popup = None;
        self.cancel_request();
    }

    fn cancel_request(&mut self) {
        self.pending = None;
        self.due = None;
        self.requests.cancel();
    }

    pub(super) fn next_tick(&self) -> Option<Instant> {
        self.due
    }

    /// Whether typing `character` just now triggers completion.
    pub(super) fn is_triggered_by(&self, character: char, buffer: &Buffer) -> bool {
        let before = buffer.before_cursor();
        if character == '/' && buffer.cursor.line == 0 {
            return before.trim() == "/";
        }
        let continues =
            character.is_ascii_alphanumeric() || ".-_:".contains(character) || is_cjk(character);
        (self.triggers.contains(&character) || continues) && self.is_completable(buffer, continues)
    }

    /// Whether the cursor is where completions are possible.
    pub(super) fn is_completable(&self, buffer: &Buffer, commands: bool) -> bool {
        let before = buffer.before_cursor();
        (commands && in_command(buffer)) || in_symbol_token(before, &self.triggers)
    }

    /// Requests completions, immediately or after a pause in typing.
    pub(super) fn request(&mut self, reason: RequestReason, buffer: &Buffer, now: Instant) {
        let Some(provider) = &self.provider else {
            return;
        };
        let path = reason.trigger() == CompletionTrigger::Path;
        if path && !provider.completes_path(&build_request(buffer, reason)) {
            return;
        }
        self.cancel_request();
        self.pending = Some(PendingRequest {
            reason,
            cursor: buffer.cursor,
            line: buffer.lines().get(buffer.cursor.line).cloned(),
        });
        let is_debounced = reason == RequestReason::Typing
            && in_symbol_token(buffer.before_cursor(), &self.triggers);
        if is_debounced {
            self.due = Some(now + DEBOUNCE);
        } else {
            self.start(buffer);
        }
    }

    /// Requests completions for Tab: command names in a command, paths elsewhere.
    pub(super) fn request_on_demand(&mut self, buffer: &Buffer, now: Instant) {
        let before = buffer.before_cursor();
        let name_only = in_command(buffer) && !before.trim_start().contains(' ');
        let reason = if name_only {
            RequestReason::CommandTab
        } else {
            RequestReason::PathTab
        };
        self.request(reason, buffer, now);
    }

    /// Requests completions for an open popup again, because the text before the cursor changed.
    pub(super) fn update(&mut self, buffer: &Buffer, now: Instant) {
        let reason = match self.popup.as_ref().map(|popup| popup.trigger) {
            Some(CompletionTrigger::Typing) => RequestReason::Typing,
            Some(CompletionTrigger::Path) => RequestReason::PathUpdate,
            None => return,
        };
        self.request(reason, buffer, now);
    }

    /// Sends a debounced request once its pause is over.
    pub(super) fn tick(&mut self, buffer: &Buffer, now: Instant) {
        if self.due.is_some_and(|due| due <= now) {
            self.due = None;
            self.start(buffer);
        }
    }

    fn start(&mut self, buffer: &Buffer) {
        if let (Some(provider), Some(pending)) = (&self.provider, &self.pending) {
            provider.suggest(build_request(buffer, pending.reason), self.requests.start());
        }
    }

    /// Applies a reply, if one arrived that still fits the text.
    pub(super) fn apply_reply(&mut self, buffer: &Buffer) -> ReplyOutcome {
        let Some(reply) = self.requests.reply() else {
            return ReplyOutcome::Nothing;
        };
        let Some(pending) = self.pending.take() else {
            return ReplyOutcome::Nothing;
        };
        let line = buffer.lines().get(buffer.cursor.line);
        let same_line = match (&pending.line, line) {
            (Some(old), Some(new)) => Arc::ptr_eq(old, new),
            _ => false,
        };
        if pending.cursor != buffer.cursor || !same_line {
            return ReplyOutcome::Nothing;
        }
        let Suggestions { mut items, prefix } = reply;
        if items.is_empty() {
            self.popup = None;
            return ReplyOutcome::HistoryView;
        }
        if pending.reason == RequestReason::PathTab && items.len() == 1 {
            self.popup = None;
            return items.pop().map_or(ReplyOutcome::Nothing, |item| {
                ReplyOutcome::Insert(item, prefix)
            });
        }
        for item in &mut items {
            // Names and descriptions of commands, files and models are untrusted.
            let label = match item.label.as_str() {
                "" => item.value.as_str(),
                label => label,
            };
            item.label = sanitize_line(label);
            item.description = item.description.as_deref().map(sanitize_line);
        }
        let best = best_match(&items, &prefix);
        let mut list = SelectList::new(items, self.max_visible, self.theme.clone());
        if prefix.starts_with('/') {
            list = list.layout(COMMAND_LAYOUT);
        }
        list.select(best);
        self.popup = Some(CompletionPopup {
            list,
            prefix,
            trigger: pending.reason.trigger(),
        });
        ReplyOutcome::HistoryView
    }
}

impl fmt::Debug for Autocomplete {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Autocomplete")
            .field("popup", &self.popup)
            .field("pending", &self.pending)
            .finish_non_exhaustive()
    }
}

/// Returns untrusted text as a single line that is safe to display.
fn sanitize_line(text: &str) -> String {
    sanitize(text).replace('\n', " ")
}

/// Whether the cursor is in a slash command, which must be on the first line.
fn in_command(buffer: &Buffer) -> bool {
    buffer.cursor.line == 0 && buffer.before_cursor().trim_start().starts_with('/')
}

fn build_request(buffer: &Buffer, reason: RequestReason) -> CompletionRequest {
    CompletionRequest {
        lines: buffer.lines().to_vec(),
        line: buffer.cursor.line,
        offset: buffer.cursor.offset,
        trigger: reason.trigger(),
    }
}

/// Returns the index of the item that equals the prefix, or else the first that starts with it, or
/// else 0.
fn best_match(items: &[SelectItem], prefix: &str) -> usize {
    if prefix.is_empty() {
        return 0;
    }
    let exact = items.iter().position(|item| item.value == prefix);
    let starts = || items.iter().position(|item| item.value.starts_with(prefix));
    exact.or_else(starts).unwrap_or(0)
}
