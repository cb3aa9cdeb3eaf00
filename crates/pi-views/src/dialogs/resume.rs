//! The session picker: search, order, scope, rename and delete.
//!
//! Sessions arrive as they are found; the selection stays on its session.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use pi_protocol::{SessionInfo, SessionScope};
use pi_tui::{
    ColorToken, Component, Input, InputContext, InputEvent, InputOutcome, MouseEvent, action,
};

use super::canvas::{DialogCanvas, HitTarget, RowPriority};
use super::field::{point_at_field, prefilled};
use super::frame::{DialogBody, DialogFrame};
use super::hint::Hint;
use super::intent_sink::IntentSink;
use super::picker::{EdgeBehavior, Picker, PickerEvent};
use super::plain_text::one_line;
use crate::dialogs::dialog::DialogUpdate;
use crate::dialogs::intent::Intent;
use crate::keys;
use crate::theme::ui_theme::UiTheme;

mod age;
mod listings;
mod order;
mod query;
mod text_search;
mod thread;
mod view;

use listings::{SessionListing, SessionListings};
use order::SessionOrder;
use query::SessionQuery;
use text_search::TextSearch;
use thread::ThreadedSession;

enum ResumeMode {
    Choosing,
    Deleting(PathBuf),
    Renaming { path: PathBuf, field: Input },
}

pub(crate) struct ResumeDialog {
    current: Option<PathBuf>,
    now_ms: i64,
    scope: SessionScope,
    /// The scope listed last: there is one listing at a time, and the next one cancels it.
    listed_scope: SessionScope,
    listings: SessionListings,
    order: SessionOrder,
    named_only: bool,
    show_paths: bool,
    shown: Vec<ThreadedSession>,
    picker: Picker,
    /// Whether the user moved the selection; until then the first session stays selected as others arrive.
    moved: bool,
    search: Input,
    /// What the text of sessions is searched for, instead of their names.
    text_search: Option<TextSearch>,
    mode: ResumeMode,
    message: Option<(ColorToken, String)>,
}

impl ResumeDialog {
    /// Opens the dialog and requests the project's sessions, or a search of the text of all. `current` cannot be
    /// deleted.
    pub(crate) fn open(
        ui: UiTheme,
        current: Option<PathBuf>,
        now_ms: i64,
        search: Option<String>,
    ) -> DialogFrame<Self> {
        let scope = match search {
            None => SessionScope::Project,
            Some(_) => SessionScope::All,
        };
        let mut body = Self {
            current,
            now_ms,
            scope,
            listed_scope: scope,
            listings: SessionListings::default(),
            order: SessionOrder::Threads,
            named_only: false,
            show_paths: false,
            shown: Vec::new(),
            picker: Picker::new(0, EdgeBehavior::Stop),
            moved: false,
            search: prefilled(search.as_deref().unwrap_or_default()),
            text_search: None,
            mode: ResumeMode::Choosing,
            message: None,
        };
        let request = search.and_then(|query| {
            let mut text_search = TextSearch::default();
            let request = text_search.request(&query, scope);
            body.text_search = Some(text_search);
            request
        });
        let frame = DialogFrame::new(ui, body).with_intent(Intent::ListSessions(scope));
        match request {
            Some(request) => frame.with_intent(request),
            None => frame,
        }
    }

    fn listing(&self) -> &SessionListing {
        self.listings.get(self.scope)
    }

    fn selected(&self) -> Option<&Arc<SessionInfo>> {
        self.shown
            .get(self.picker.selected())
            .map(|placed| &placed.session)
    }

    fn is_current(&self, path: &Path) -> bool {
        self.current.as_deref() == Some(path)
    }

    /// Filters and sorts the sessions; keeps the selection if the user moved it.
    fn refresh_list(&mut self) {
        let selected = self.selected().map(|session| session.path.clone());
        let selected = selected.filter(|_| self.moved);
        let query = SessionQuery::parse(self.search.value());
        let sessions = self.listing().sessions.iter();
        let sessions = sessions.filter(|session| !self.named_only || is_named(session));
        self.shown = self.order.arrange(sessions.cloned().collect(), &query);
        self.message = match query {
            SessionQuery::Invalid(cause) => {
                Some((ColorToken::Error, format!("Invalid pattern: {cause}")))
            }
            _ => None,
        };
        self.picker.set_count(self.shown.len());
        let position = |path: &PathBuf| {
            self.shown
                .iter()
                .position(|placed| placed.session.path == *path)
        };
        if let Some(index) = selected.as_ref().and_then(position) {
            self.picker.select(index);
        } else if !self.moved {
            self.picker.select(0);
        }
    }

    fn switch_scope(&mut self, sink: &mut IntentSink) {
        self.scope = match self.scope {
            SessionScope::Project => SessionScope::All,
            SessionScope::All => SessionScope::Project,
        };
        if !self.listing().finished && self.listed_scope != self.scope {
            self.apply_search(sink);
        }
        self.refresh_list();
    }

    fn apply_search(&mut self, sink: &mut IntentSink) {
        self.listed_scope = self.scope;
        sink.send(Intent::ListSessions(self.scope));
    }

    fn start_deleting(&mut self) {
        let Some(path) = self.selected().map(|session| session.path.clone()) else {
            return;
        };
        if self.is_current(&path) {
            let text = "The current session cannot be deleted.";
            self.message = Some((ColorToken::Error, text.to_owned()));
        } else {
            self.mode = ResumeMode::Deleting(path);
        }
    }

    fn start_renaming(&mut self) {
        if let Some(session) = self.selected() {
            let mut field = prefilled(session.name.as_deref().unwrap_or_default());
            field.set_focused(true);
            self.mode = ResumeMode::Renaming {
                path: session.path.clone(),
                field,
            };
        }
    }

    /// Shows a new name at once; the file is renamed in the background.
    fn rename(&mut self, path: &Path, name: Option<&str>) {
        self.listings.rename(path, name);
        self.refresh_list();
    }

    fn forget(&mut self, path: &Path) {
        self.listings.remove(path);
        self.refresh_list();
    }

    fn on_pick(&mut self, picked: PickerEvent, sink: &mut IntentSink) {
        self.moved = true;
        match picked {
            PickerEvent::Moved => {}
            PickerEvent::Confirmed => {
                if let Some(session) = self.selected() {
                    sink.finish(Intent::Resume(session.path.clone()));
                }
            }
            PickerEvent::Canceled => sink.close(),
        }
    }

    /// Handles a key while a session is being deleted or renamed; returns whether that is the case.
    fn handle_mode(
        &mut self,
        event: &InputEvent,
        context: &InputContext<'_>,
        sink: &mut IntentSink,
    ) -> bool {
        let pressed = |action| matches!(event, InputEvent::Key(key) if context.keybindings.matches(key, action));
        match &mut self.mode {
            ResumeMode::Choosing => return false,
            ResumeMode::Deleting(path) => {
                if pressed(action::SELECT_CONFIRM) {
                    sink.send(Intent::DeleteSession(path.clone()));
                    self.mode = ResumeMode::Choosing;
                } else if pressed(action::SELECT_CANCEL) {
                    self.mode = ResumeMode::Choosing;
                }
            }
            ResumeMode::Renaming { path, field } => {
                if pressed(action::SELECT_CONFIRM) {
                    let path = path.clone();
                    let name = one_line(field.value());
                    let name = (!name.is_empty()).then_some(name);
                    self.mode = ResumeMode::Choosing;
                    self.rename(&path, name.as_deref());
                    sink.send(Intent::RenameSession { path, name });
                } else if pressed(action::SELECT_CANCEL) {
                    self.mode = ResumeMode::Choosing;
                } else {
                    field.handle_input(event, context);
                }
            }
        }
        true
    }

    /// Handles the keys that change the list; returns whether one was pressed.
    fn handle_view(
        &mut self,
        event: &InputEvent,
        context: &InputContext<'_>,
        sink: &mut IntentSink,
    ) -> bool {
        let InputEvent::Key(key) = event else {
            return false;
        };
        let pressed = |action| context.keybindings.matches(key, action);
        let searching = !self.search.value().is_empty();
        if pressed(action::INPUT_TAB) {
            self.switch_scope(sink);
        } else if pressed(keys::SESSION_TOGGLE_SORT) {
            self.order = self.order.next();
            self.refresh_list();
        } else if pressed(keys::SESSION_TOGGLE_NAMED_FILTER) {
            self.named_only = !self.named_only;
            self.refresh_list();
        } else if pressed(keys::SESSION_TOGGLE_PATH) {
            self.show_paths = !self.show_paths;
        } else if pressed(keys::SESSION_DELETE)
            || (pressed(keys::SESSION_DELETE_NONINVASIVE) && !searching)
        {
            self.start_deleting();
        } else if pressed(keys::SESSION_RENAME) {
            self.start_renaming();
        } else {
            return false;
        }
        true
    }
}

fn is_named(session: &SessionInfo) -> bool {
    session
        .name
        .as_deref()
        .is_some_and(|name| !name.trim().is_empty())
}

fn title(session: &SessionInfo) -> String {
    let title = one_line(session.title().unwrap_or_default());
    if title.is_empty() {
        "(empty)".to_owned()
    } else {
        title
    }
}

impl DialogBody for ResumeDialog {
    fn paint(&mut self, canvas: &mut DialogCanvas) {
        canvas.blank();
        if let ResumeMode::Renaming { path, .. } = &self.mode {
            let title = format!("Rename “{}”", self.title_of(path));
            canvas.title(&title);
            let text = "Leave empty to show the first message instead.";
            canvas.text(RowPriority::Help, ColorToken::Muted, text);
            canvas.blank();
            if let ResumeMode::Renaming { field, .. } = &mut self.mode {
                canvas.field(field);
            }
            canvas.blank();
            canvas.hints(&[
                Hint::key(action::SELECT_CONFIRM, "save"),
                Hint::leave("cancel"),
            ]);
            return;
        }
        if self.text_search.is_some() {
            self.paint_text_search(canvas);
            return;
        }
        self.paint_header(canvas);
        canvas.blank();
        canvas.field(&mut self.search);
        canvas.blank();
        self.paint_list(canvas);
        if matches!(self.mode, ResumeMode::Deleting(_)) {
            return;
        }
        canvas.blank();
        let syntax = "Search: words, \"phrase\", re:regex";
        canvas.text(RowPriority::Help, ColorToken::Dim, syntax);
        canvas.hints(&self.hints());
    }

    fn handle(
        &mut self,
        event: &InputEvent,
        context: &InputContext<'_>,
        sink: &mut IntentSink,
    ) -> InputOutcome {
        if self.handle_mode(event, context, sink) {
            return InputOutcome::Consumed;
        }
        self.message = None;
        if let Some(outcome) = self.handle_text_search(event, context, sink) {
            return outcome;
        }
        if self.handle_view(event, context, sink) {
            return InputOutcome::Consumed;
        }
        if let Some(picked) = self.picker.key(event, context) {
            self.on_pick(picked, sink);
            return InputOutcome::Consumed;
        }
        let before = self.search.value().to_owned();
        let outcome = self.search.handle_input(event, context);
        if self.search.value() != before {
            self.moved = false;
            self.refresh_list();
        }
        outcome
    }

    fn mouse(
        &mut self,
        event: &MouseEvent,
        hit: Option<HitTarget>,
        context: &InputContext<'_>,
        sink: &mut IntentSink,
    ) -> bool {
        match &mut self.mode {
            ResumeMode::Deleting(_) => false,
            ResumeMode::Renaming { field, .. } => point_at_field(field, event, hit, context),
            ResumeMode::Choosing => {
                if self.text_search.is_some() {
                    return self.point_at_hits(event, hit, context, sink);
                }
                if let Some(picked) = self.picker.mouse(event, hit) {
                    self.on_pick(picked, sink);
                    return true;
                }
                point_at_field(&mut self.search, event, hit, context)
            }
        }
    }

    fn set_focused(&mut self, focused: bool) {
        self.search.set_focused(focused);
        if let ResumeMode::Renaming { field, .. } = &mut self.mode {
            field.set_focused(focused);
        }
    }

    fn on_update(&mut self, update: DialogUpdate, sink: &mut IntentSink) {
        match update {
            DialogUpdate::Sessions {
                scope,
                sessions,
                loaded,
                total,
                finished,
            } => {
                let listing = self.listings.get_mut(scope);
                // Ignore a report that arrives after its listing has finished, or that belongs to a restarted
                // listing: what is known is more complete.
                if listing.finished && !finished {
                    return;
                }
                (listing.loaded, listing.total, listing.finished) = (loaded, total, finished);
                if let Some(sessions) = sessions {
                    listing.sessions = sessions;
                    self.refresh_list();
                }
            }
            DialogUpdate::SessionHits { query, result } => self.show_hits(&query, result, sink),
            DialogUpdate::SessionDeleted(path) => {
                self.forget(&path);
                self.message = Some((ColorToken::Success, "Session deleted.".to_owned()));
            }
            DialogUpdate::SessionRenamed => self.apply_search(sink),
            DialogUpdate::Failed(cause) => {
                self.message = Some((ColorToken::Error, cause));
                // The new name may not have been written.
                self.apply_search(sink);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;
