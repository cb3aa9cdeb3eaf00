//! Search of the text of sessions: hits with date, session and snippet.

use std::path::PathBuf;

use pi_protocol::{
    IndexingProgress, SessionScope, SessionSearchHit, SessionSearchResults, SnippetPart, timestamp,
};
use pi_tui::{
    ColorToken, Component, InputContext, InputEvent, InputOutcome, MouseEvent, TruncateOptions,
    WideCharPolicy, action, pad_to_width, slice_columns, truncate_to_width, visible_width,
};

use super::super::canvas::{DialogCanvas, HitTarget, RowPriority};
use super::super::field::point_at_field;
use super::super::hint::Hint;
use super::super::intent_sink::IntentSink;
use super::super::picker::{EdgeBehavior, Picker, PickerEvent};
use super::super::plain_text::one_line;
use super::ResumeDialog;
use crate::canvas::clean_line;
use crate::dialogs::intent::Intent;
use crate::keys;
use crate::theme::ui_theme::RenderContext;

const MAX_ROWS: usize = 10;
/// Columns of the titles of sessions where there is no room for more.
const MIN_TITLE_WIDTH: usize = 22;
/// Columns of the arrow, the date and the gaps.
const ROW_START: usize = 17;

pub(super) struct TextSearch {
    /// The query that was sent last, and its scope.
    sent: Option<(String, SessionScope)>,
    is_waiting: bool,
    /// Number of requests without an answer, repeated ones included.
    pending: usize,
    hits: Vec<SessionSearchHit>,
    total: usize,
    indexing: Option<IndexingProgress>,
    error: Option<String>,
    picker: Picker,
}

impl Default for TextSearch {
    fn default() -> Self {
        Self {
            sent: None,
            is_waiting: false,
            pending: 0,
            hits: Vec::new(),
            total: 0,
            indexing: None,
            error: None,
            picker: Picker::new(0, EdgeBehavior::Stop),
        }
    }
}

impl TextSearch {
    /// Returns the request for a query, unless it was sent already or another one is not answered yet.
    pub(super) fn request(&mut self, query: &str, scope: SessionScope) -> Option<Intent> {
        let query = query.trim();
        if query.is_empty() {
            self.sent = None;
            self.set_hits(SessionSearchResults::default());
            return None;
        }
        let is_sent = self
            .sent
            .as_ref()
            .is_some_and(|(sent, sent_scope)| sent == query && *sent_scope == scope);
        if self.is_waiting || is_sent {
            return None;
        }
        self.sent = Some((query.to_owned(), scope));
        self.is_waiting = true;
        self.pending += 1;
        Some(Intent::SearchSessions {
            query: query.to_owned(),
            scope,
            is_repeated: false,
        })
    }

    /// Returns the last request again while sessions are being indexed, which may find more.
    fn repeated_request(&mut self) -> Option<Intent> {
        if self.pending > 0 || self.indexing.is_none() {
            return None;
        }
        let (query, scope) = self.sent.clone()?;
        self.pending += 1;
        Some(Intent::SearchSessions {
            query,
            scope,
            is_repeated: true,
        })
    }

    fn set_hits(&mut self, results: SessionSearchResults) {
        self.hits = results.hits;
        self.total = results.total;
        self.indexing = results.indexing;
        self.error = None;
        self.picker.set_count(self.hits.len());
        self.picker.select(0);
    }

    /// Shows the results of a repeated request; the selected hit stays selected.
    fn update_hits(&mut self, results: SessionSearchResults) {
        let selected = self.hits.get(self.picker.selected()).cloned();
        self.set_hits(results);
        let is_selected = |hit: &SessionSearchHit| {
            let selected = selected.as_ref();
            selected.is_some_and(|it| it.path == hit.path && it.entry_id == hit.entry_id)
        };
        let position = self.hits.iter().position(is_selected);
        self.picker.select(position.unwrap_or_default());
    }

    /// Returns what opens the selected hit.
    fn chosen(&self) -> Option<Intent> {
        let hit = self.hits.get(self.picker.selected())?;
        Some(Intent::ResumeAt {
            path: PathBuf::from(&hit.path),
            entry: hit.entry_id.as_str().into(),
        })
    }

    /// Returns the progress of the search, or the number of hits.
    fn state(&self) -> String {
        let mut state = match (self.is_waiting, self.sent.is_some()) {
            (true, _) => "searching…".to_owned(),
            (false, true) if self.total == 1 => "1 match".to_owned(),
            (false, true) => format!("{} matches", self.total),
            (false, false) => String::new(),
        };
        if let Some(indexing) = &self.indexing {
            let percent = (indexing.done * 100).checked_div(indexing.total);
            let percent = percent.unwrap_or_default();
            state = format!("indexing {percent}% · {state}");
        }
        state
    }
}

impl ResumeDialog {
    /// Handles the keys of the search, and the one that starts it; returns `None` for others.
    pub(super) fn handle_text_search(
        &mut self,
        event: &InputEvent,
        context: &InputContext<'_>,
        sink: &mut IntentSink,
    ) -> Option<InputOutcome> {
        let pressed = |action| matches!(event, InputEvent::Key(key) if context.keybindings.matches(key, action));
        if pressed(keys::SESSION_SEARCH_TEXT) {
            self.text_search = match self.text_search {
                Some(_) => None,
                None => Some(TextSearch::default()),
            };
            self.refresh_list();
            self.request_hits(sink);
            return Some(InputOutcome::Consumed);
        }
        let text_search = self.text_search.as_mut()?;
        if pressed(action::INPUT_TAB) {
            self.switch_scope(sink);
        } else if let Some(picked) = text_search.picker.key(event, context) {
            self.on_hit_picked(picked, sink);
        } else {
            let outcome = self.search.handle_input(event, context);
            self.request_hits(sink);
            return Some(outcome);
        }
        self.request_hits(sink);
        Some(InputOutcome::Consumed)
    }

    fn request_hits(&mut self, sink: &mut IntentSink) {
        let query = self.search.value();
        let text_search = self.text_search.as_mut();
        if let Some(request) = text_search.and_then(|it| it.request(query, self.scope)) {
            sink.send(request);
        }
    }

    fn on_hit_picked(&mut self, picked: PickerEvent, sink: &mut IntentSink) {
        match picked {
            PickerEvent::Moved => {}
            PickerEvent::Confirmed => {
                if let Some(intent) = self.text_search.as_ref().and_then(TextSearch::chosen) {
                    sink.finish(intent);
                }
            }
            PickerEvent::Canceled => sink.close(),
        }
    }

    pub(super) fn point_at_hits(
        &mut self,
        event: &MouseEvent,
        hit: Option<HitTarget>,
        context: &InputContext<'_>,
        sink: &mut IntentSink,
    ) -> bool {
        let picked = self.text_search.as_mut();
        if let Some(picked) = picked.and_then(|it| it.picker.mouse(event, hit)) {
            self.on_hit_picked(picked, sink);
            return true;
        }
        point_at_field(&mut self.search, event, hit, context)
    }

    /// Shows the hits of a query. If another one was typed meanwhile, that one is searched for.
    pub(super) fn show_hits(
        &mut self,
        query: &str,
        result: Result<SessionSearchResults, String>,
        sink: &mut IntentSink,
    ) {
        let Some(text_search) = &mut self.text_search else {
            return;
        };
        let is_expected = text_search
            .sent
            .as_ref()
            .is_some_and(|(sent, _)| sent == query);
        text_search.pending = text_search.pending.saturating_sub(1);
        let was_waiting = text_search.is_waiting;
        text_search.is_waiting &= !is_expected && text_search.sent.is_some();
        if is_expected {
            match result {
                Ok(results) if was_waiting => text_search.set_hits(results),
                Ok(results) => text_search.update_hits(results),
                Err(error) => {
                    text_search.set_hits(SessionSearchResults::default());
                    text_search.error = Some(error);
                }
            }
        }
        self.request_hits(sink);
        let text_search = self.text_search.as_mut();
        if let Some(request) = text_search.and_then(TextSearch::repeated_request) {
            sink.send(request);
        }
    }

    pub(super) fn paint_text_search(&mut self, canvas: &mut DialogCanvas) {
        let title = match self.scope {
            SessionScope::Project => "Text of sessions in this directory",
            SessionScope::All => "Text of all sessions",
        };
        let state = self.text_search.as_ref().map(TextSearch::state);
        canvas.title_with_state(title, &state.unwrap_or_default());
        canvas.blank();
        canvas.field(&mut self.search);
        canvas.blank();
        if let Some(text_search) = &mut self.text_search {
            paint_hits(text_search, canvas);
        }
        canvas.blank();
        let syntax = "Search: words, \"phrase\", prefix*";
        canvas.text(RowPriority::Help, ColorToken::Dim, syntax);
        canvas.hints(&[
            Hint::key(action::SELECT_CONFIRM, "open at the match"),
            Hint::key(action::INPUT_TAB, "this directory/all"),
            Hint::key(keys::SESSION_SEARCH_TEXT, "list sessions"),
            Hint::leave("cancel"),
        ]);
    }
}

fn paint_hits(text_search: &mut TextSearch, canvas: &mut DialogCanvas) {
    if let Some(error) = &text_search.error {
        canvas.text(RowPriority::Content, ColorToken::Error, &one_line(error));
        return;
    }
    if text_search.hits.is_empty() {
        let text = match (&text_search.sent, text_search.is_waiting) {
            (Some(_), false) => "  No matches.",
            (Some(_), true) => "",
            (None, _) => "  Type to search the text of prompts, responses and tool results.",
        };
        canvas.text(RowPriority::Content, ColorToken::Muted, text);
        return;
    }
    let page = canvas.list_rows(MAX_ROWS, 1, 2);
    let title_width = title_width(&text_search.hits, canvas.width());
    for index in text_search.picker.visible_range(page) {
        if let Some(hit) = text_search.hits.get(index) {
            let selected = index == text_search.picker.selected();
            let line = hit_line(hit, title_width, selected, canvas);
            canvas.item(index, selected, &line);
        }
    }
    if text_search.hits.len() > page {
        canvas.position(text_search.picker.selected(), text_search.hits.len(), "");
    }
}

fn title(hit: &SessionSearchHit) -> String {
    one_line(hit.title.as_deref().unwrap_or("(empty)"))
}

/// Returns the columns of the titles: as many as the widest needs, up to a third of the row.
fn title_width(hits: &[SessionSearchHit], width: usize) -> usize {
    let widest = hits.iter().map(|hit| visible_width(&title(hit))).max();
    let room = width.saturating_sub(ROW_START) / 3;
    widest.unwrap_or(0).min(room.max(MIN_TITLE_WIDTH))
}

/// Returns the row of a hit: date, title and snippet, with the matches marked.
fn hit_line(
    hit: &SessionSearchHit,
    title_width: usize,
    selected: bool,
    canvas: &DialogCanvas,
) -> String {
    let ctx = canvas.context();
    let date = hit.timestamp_ms.map(timestamp::to_iso).unwrap_or_default();
    let date = format!("{:10}", date.get(..10).unwrap_or_default());
    let ellipsis = TruncateOptions { ellipsis: "…" };
    let title = title(hit);
    let title = truncate_to_width(&title, title_width, ellipsis);
    let gap = " ".repeat(title_width.saturating_sub(visible_width(&title)) + 2);
    let room = canvas.width().saturating_sub(ROW_START + title_width);
    let snippet = snippet_line(&hit.snippet, room, &ctx);
    // Dim text is hard to read on the background of the selected row.
    let (arrow, secondary) = if selected {
        (ctx.paint(ColorToken::Accent, " → "), ColorToken::Muted)
    } else {
        ("   ".to_owned(), ColorToken::Dim)
    };
    let line = format!(
        "{arrow}{}  {title}{gap}{snippet}",
        ctx.paint(secondary, &date)
    );
    let line = truncate_to_width(&line, canvas.width(), ellipsis);
    if selected {
        let line = pad_to_width(&line, canvas.width());
        ctx.style(ColorToken::SelectedBg).apply(&line)
    } else {
        line.into_owned()
    }
}

/// Returns a snippet with the matches marked, and its start cut so that the first one is visible.
fn snippet_line(snippet: &[SnippetPart], room: usize, ctx: &RenderContext) -> String {
    let mut has_match = false;
    let parts = snippet.iter().map(|part| {
        let text = clean_line(&part.text);
        if part.is_match {
            has_match = true;
            return ctx.style(ColorToken::Accent).bold().apply(&text);
        }
        let before = visible_width(&text);
        let kept = room / 3;
        let text = if has_match || before <= kept {
            text
        } else {
            let columns = before - kept..before;
            format!(
                "…{}",
                slice_columns(&text, columns, WideCharPolicy::Drop).text
            )
        };
        ctx.paint(ColorToken::Muted, &text)
    });
    parts.collect()
}
