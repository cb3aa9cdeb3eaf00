//! The completion popup: when to ask, what to show, what an answer is for.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::buffer::{Buffer, TextPosition};
use crate::autocomplete::prefix::in_symbol_token;
use crate::autocomplete::{
    CompletionProvider, CompletionRequest, CompletionTrigger, CompletionRequests, Suggestions,
};
use crate::components::select_list::{SelectItem, SelectLayout, SelectList, SelectTheme};
use crate::text::{is_cjk, sanitize};

/// Walking a tree for every letter of a fast typist would be waste.
const DEBOUNCE: Duration = Duration::from_millis(20);
const DEFAULT_TRIGGERS: [char; 2] = ['@', '#'];
const COMMAND_LAYOUT: SelectLayout = SelectLayout {
    min_column: 12,
    max_column: 32,
};

/// Why a question is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asking {
    /// While typing, or to bring an open popup up to date.
    Typing,
    /// Tab in the name of a command.
    CommandTab,
    /// Tab elsewhere: a single answer is taken at once.
    PathTab,
    /// To bring a popup of paths up to date.
    PathUpdate,
}

impl Asking {
    fn trigger(self) -> CompletionTrigger {
        match self {
            Self::Typing | Self::CommandTab => CompletionTrigger::Typing,
            Self::PathTab | Self::PathUpdate => CompletionTrigger::Path,
        }
    }
}

#[derive(Debug)]
pub(super) struct Popup {
    pub(super) list: SelectList,
    pub(super) prefix: String,
    trigger: CompletionTrigger,
}

/// A question under way, and the state it was asked in.
#[derive(Debug)]
struct Pending {
    asking: Asking,
    cursor: TextPosition,
    line: Option<Arc<str>>,
}

/// What became of an answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Settled {
    Nothing,
    Shown,
    /// The only item there is shall be inserted.
    Insert(SelectItem, String),
}

pub(super) struct Autocomplete {
    pub(super) provider: Option<Arc<dyn CompletionProvider>>,
    pub(super) popup: Option<Popup>,
    pub(super) requests: CompletionRequests,
    pub(super) max_visible: usize,
    theme: SelectTheme,
    triggers: Vec<char>,
    pending: Option<Pending>,
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

    /// Closes the popup; an answer under way will be dropped.
    pub(super) fn cancel(&mut self) {
        self.popup = None;
        self.withdraw();
    }

    fn withdraw(&mut self) {
        self.pending = None;
        self.due = None;
        self.requests.cancel();
    }

    pub(super) fn next_tick(&self) -> Option<Instant> {
        self.due
    }

    /// Returns whether typing `character` just now asks for completions.
    pub(super) fn is_triggered_by(&self, character: char, buffer: &Buffer) -> bool {
        let before = buffer.before_cursor();
        if character == '/' && buffer.cursor.line == 0 {
            return before.trim() == "/";
        }
        let continues =
            character.is_ascii_alphanumeric() || ".-_:".contains(character) || is_cjk(character);
        (self.triggers.contains(&character) || continues) && self.is_completable(buffer, continues)
    }

    /// Returns whether the cursor is where completions may be found.
    pub(super) fn is_completable(&self, buffer: &Buffer, commands: bool) -> bool {
        let before = buffer.before_cursor();
        (commands && in_command(buffer)) || in_symbol_token(before, &self.triggers)
    }

    /// Asks for completions, at once or after a pause in typing.
    pub(super) fn ask(&mut self, asking: Asking, buffer: &Buffer, now: Instant) {
        let Some(provider) = &self.provider else {
            return;
        };
        let path = asking.trigger() == CompletionTrigger::Path;
        if path && !provider.completes_path(&request(buffer, asking)) {
            return;
        }
        self.withdraw();
        self.pending = Some(Pending {
            asking,
            cursor: buffer.cursor,
            line: buffer.lines().get(buffer.cursor.line).cloned(),
        });
        let waits =
            asking == Asking::Typing && in_symbol_token(buffer.before_cursor(), &self.triggers);
        if waits {
            self.due = Some(now + DEBOUNCE);
        } else {
            self.start(buffer);
        }
    }

    /// Asks again for an open popup, because the text before the cursor changed.
    pub(super) fn update(&mut self, buffer: &Buffer, now: Instant) {
        let asking = match self.popup.as_ref().map(|popup| popup.trigger) {
            Some(CompletionTrigger::Typing) => Asking::Typing,
            Some(CompletionTrigger::Path) => Asking::PathUpdate,
            None => return,
        };
        self.ask(asking, buffer, now);
    }

    /// Asks what was waiting for a pause, if that is over.
    pub(super) fn tick(&mut self, buffer: &Buffer, now: Instant) {
        if self.due.is_some_and(|due| due <= now) {
            self.due = None;
            self.start(buffer);
        }
    }

    fn start(&mut self, buffer: &Buffer) {
        if let (Some(provider), Some(pending)) = (&self.provider, &self.pending) {
            provider.suggest(request(buffer, pending.asking), self.requests.start());
        }
    }

    /// Takes an answer, if there is one that still fits the text.
    pub(super) fn settle(&mut self, buffer: &Buffer) -> Settled {
        let Some(answer) = self.requests.reply() else {
            return Settled::Nothing;
        };
        let Some(pending) = self.pending.take() else {
            return Settled::Nothing;
        };
        let line = buffer.lines().get(buffer.cursor.line);
        let same_line = match (&pending.line, line) {
            (Some(old), Some(new)) => Arc::ptr_eq(old, new),
            _ => false,
        };
        if pending.cursor != buffer.cursor || !same_line {
            return Settled::Nothing;
        }
        let Suggestions { mut items, prefix } = answer;
        if items.is_empty() {
            self.popup = None;
            return Settled::Shown;
        }
        if pending.asking == Asking::PathTab && items.len() == 1 {
            self.popup = None;
            return items
                .pop()
                .map_or(Settled::Nothing, |item| Settled::Insert(item, prefix));
        }
        for item in &mut items {
            // Names and words of commands, files and models are other people's.
            let label = match item.label.as_str() {
                "" => item.value.as_str(),
                label => label,
            };
            item.label = shown(label);
            item.description = item.description.as_deref().map(shown);
        }
        let best = best_match(&items, &prefix);
        let mut list = SelectList::new(items, self.max_visible, self.theme.clone());
        if prefix.starts_with('/') {
            list = list.layout(COMMAND_LAYOUT);
        }
        list.select(best);
        self.popup = Some(Popup {
            list,
            prefix,
            trigger: pending.asking.trigger(),
        });
        Settled::Shown
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

/// Returns foreign text as a line that is safe to be shown.
fn shown(text: &str) -> String {
    sanitize(text).replace('\n', " ")
}

/// Returns whether the cursor is in a slash command, which only the first line can hold.
pub(super) fn in_command(buffer: &Buffer) -> bool {
    buffer.cursor.line == 0 && buffer.before_cursor().trim_start().starts_with('/')
}

fn request(buffer: &Buffer, asking: Asking) -> CompletionRequest {
    CompletionRequest {
        lines: buffer.lines().to_vec(),
        line: buffer.cursor.line,
        offset: buffer.cursor.offset,
        trigger: asking.trigger(),
    }
}

/// Returns the item that is the prefix, or the first that starts with it, or the first.
fn best_match(items: &[SelectItem], prefix: &str) -> usize {
    if prefix.is_empty() {
        return 0;
    }
    let exact = items.iter().position(|item| item.value == prefix);
    let starts = || items.iter().position(|item| item.value.starts_with(prefix));
    exact.or_else(starts).unwrap_or(0)
}
