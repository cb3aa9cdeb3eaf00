//! Choosing the session to go on with: search, order, scope, rename and delete.
//!
//! Sessions arrive as they are found; the selection stays on its session meanwhile.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use pi_session::listing::SessionInfo;
use pi_tui::{
    ColorToken, Component, Input, InputContext, InputEvent, InputOutcome, MouseEvent, action,
};

use super::field::{point_at_field, prefilled};
use super::hint::Hint;
use super::outbox::Outbox;
use super::picker::{Edge, Picked, Picker};
use super::plain::one_line;
use super::sheet::{Hit, Sheet, Weight};
use super::window::{Pane, Window};
use crate::dialog::DialogNews;
use crate::intent::{Intent, SessionScope};
use crate::keys;
use crate::look::Look;

mod age;
mod painting;
mod query;
mod thread;

use query::Query;
use thread::{Placed, threads};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    Threads,
    Recent,
    Relevance,
}

impl Order {
    fn next(self) -> Self {
        match self {
            Self::Threads => Self::Recent,
            Self::Recent => Self::Relevance,
            Self::Relevance => Self::Threads,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Threads => "threads",
            Self::Recent => "newest first",
            Self::Relevance => "best match first",
        }
    }
}

/// What is known of a scope's sessions.
#[derive(Debug, Default)]
struct Listing {
    sessions: Vec<Arc<SessionInfo>>,
    loaded: usize,
    total: usize,
    finished: bool,
}

/// What the dialog is doing.
enum Stage {
    Choosing,
    Deleting(PathBuf),
    Renaming { path: PathBuf, field: Input },
}

/// The dialog that chooses a session.
pub(crate) struct ResumeDialog {
    current: Option<PathBuf>,
    now_ms: i64,
    scope: SessionScope,
    /// Whose sessions were asked for last: there is one search at a time, and the next one ends it.
    searched: SessionScope,
    here: Listing,
    everywhere: Listing,
    order: Order,
    named_only: bool,
    show_paths: bool,
    shown: Vec<Placed>,
    picker: Picker,
    /// Whether the user moved: until then the first session stays selected while others arrive.
    moved: bool,
    search: Input,
    stage: Stage,
    message: Option<(ColorToken, String)>,
}

impl ResumeDialog {
    /// Opens the dialog; it asks for the sessions of the project. `current` cannot be deleted.
    pub(crate) fn open(look: Look, current: Option<PathBuf>, now_ms: i64) -> Window<Self> {
        let pane = Self {
            current,
            now_ms,
            scope: SessionScope::Project,
            searched: SessionScope::Project,
            here: Listing::default(),
            everywhere: Listing::default(),
            order: Order::Threads,
            named_only: false,
            show_paths: false,
            shown: Vec::new(),
            picker: Picker::new(0, Edge::Stop),
            moved: false,
            search: prefilled(""),
            stage: Stage::Choosing,
            message: None,
        };
        Window::new(look, pane).asking(Intent::ListSessions(SessionScope::Project))
    }

    fn listing(&self) -> &Listing {
        match self.scope {
            SessionScope::Project => &self.here,
            SessionScope::All => &self.everywhere,
        }
    }

    fn listing_of(&mut self, scope: SessionScope) -> &mut Listing {
        match scope {
            SessionScope::Project => &mut self.here,
            SessionScope::All => &mut self.everywhere,
        }
    }

    fn selected(&self) -> Option<&Arc<SessionInfo>> {
        self.shown
            .get(self.picker.selected())
            .map(|placed| &placed.session)
    }

    fn is_current(&self, path: &Path) -> bool {
        self.current.as_deref() == Some(path)
    }

    /// Finds what to show, and keeps the selection on its session if the user chose it.
    fn list_again(&mut self) {
        let kept = self.selected().map(|session| session.path.clone());
        let kept = kept.filter(|_| self.moved);
        let query = Query::parse(self.search.value());
        let sessions: Vec<Arc<SessionInfo>> = self
            .listing()
            .sessions
            .iter()
            .filter(|session| !self.named_only || is_named(session))
            .cloned()
            .collect();
        self.shown = if self.order == Order::Threads && query.is_empty() {
            threads(&sessions)
        } else {
            self.search_in(sessions, &query)
        };
        self.message = match query {
            Query::Invalid(cause) => Some((ColorToken::Error, format!("No pattern: {cause}"))),
            _ => None,
        };
        self.picker.set_count(self.shown.len());
        let place = |path: &PathBuf| {
            self.shown
                .iter()
                .position(|placed| placed.session.path == *path)
        };
        if let Some(index) = kept.as_ref().and_then(place) {
            self.picker.select(index);
        } else if !self.moved {
            self.picker.select(0);
        }
    }

    fn search_in(&self, sessions: Vec<Arc<SessionInfo>>, query: &Query) -> Vec<Placed> {
        let mut found: Vec<(f64, Arc<SessionInfo>)> = sessions
            .into_iter()
            .filter_map(|session| Some((query.score(&session)?, session)))
            .collect();
        if self.order != Order::Recent && !query.is_empty() {
            found.sort_by(|(first, one), (second, other)| {
                let newest_first = other.modified_ms.cmp(&one.modified_ms);
                first.total_cmp(second).then(newest_first)
            });
        }
        found
            .into_iter()
            .map(|(_, session)| Placed::alone(session))
            .collect()
    }

    fn switch_scope(&mut self, outbox: &mut Outbox) {
        self.scope = match self.scope {
            SessionScope::Project => SessionScope::All,
            SessionScope::All => SessionScope::Project,
        };
        if !self.listing().finished && self.searched != self.scope {
            self.search_again(outbox);
        }
        self.list_again();
    }

    fn search_again(&mut self, outbox: &mut Outbox) {
        self.searched = self.scope;
        outbox.send(Intent::ListSessions(self.scope));
    }

    fn start_deleting(&mut self) {
        let Some(path) = self.selected().map(|session| session.path.clone()) else {
            return;
        };
        if self.is_current(&path) {
            let text = "This is the session you are in; it cannot be deleted here.";
            self.message = Some((ColorToken::Error, text.to_owned()));
        } else {
            self.stage = Stage::Deleting(path);
        }
    }

    fn start_renaming(&mut self) {
        if let Some(session) = self.selected() {
            let mut field = prefilled(session.name.as_deref().unwrap_or_default());
            field.set_focused(true);
            self.stage = Stage::Renaming {
                path: session.path.clone(),
                field,
            };
        }
    }

    /// Shows a new name at once; the file follows.
    fn rename(&mut self, path: &Path, name: Option<&str>) {
        for listing in [&mut self.here, &mut self.everywhere] {
            for session in &mut listing.sessions {
                if session.path == path {
                    Arc::make_mut(session).name = name.map(str::to_owned);
                }
            }
        }
        self.list_again();
    }

    fn forget(&mut self, path: &Path) {
        for listing in [&mut self.here, &mut self.everywhere] {
            listing.sessions.retain(|session| session.path != path);
        }
        self.list_again();
    }

    fn settle(&mut self, picked: Picked, outbox: &mut Outbox) {
        self.moved = true;
        match picked {
            Picked::Moved => {}
            Picked::Confirmed => {
                if let Some(session) = self.selected() {
                    outbox.finish(Intent::Resume(session.path.clone()));
                }
            }
            Picked::Cancelled => outbox.close(),
        }
    }

    /// Handles a key while a session is to be deleted or renamed; returns whether one is.
    fn handle_stage(
        &mut self,
        event: &InputEvent,
        context: &InputContext<'_>,
        outbox: &mut Outbox,
    ) -> bool {
        let means = |action| matches!(event, InputEvent::Key(key) if context.keybindings.matches(key, action));
        match &mut self.stage {
            Stage::Choosing => return false,
            Stage::Deleting(path) => {
                if means(action::SELECT_CONFIRM) {
                    outbox.send(Intent::DeleteSession(path.clone()));
                    self.stage = Stage::Choosing;
                } else if means(action::SELECT_CANCEL) {
                    self.stage = Stage::Choosing;
                }
            }
            Stage::Renaming { path, field } => {
                if means(action::SELECT_CONFIRM) {
                    let path = path.clone();
                    let name = one_line(field.value());
                    let name = (!name.is_empty()).then_some(name);
                    self.stage = Stage::Choosing;
                    self.rename(&path, name.as_deref());
                    outbox.send(Intent::RenameSession { path, name });
                } else if means(action::SELECT_CANCEL) {
                    self.stage = Stage::Choosing;
                } else {
                    field.handle_input(event, context);
                }
            }
        }
        true
    }

    /// Handles the keys that change what is listed; returns whether it was one of them.
    fn handle_view(
        &mut self,
        event: &InputEvent,
        context: &InputContext<'_>,
        outbox: &mut Outbox,
    ) -> bool {
        let InputEvent::Key(key) = event else {
            return false;
        };
        let means = |action| context.keybindings.matches(key, action);
        let searching = !self.search.value().is_empty();
        if means(action::INPUT_TAB) {
            self.switch_scope(outbox);
        } else if means(keys::SESSION_TOGGLE_SORT) {
            self.order = self.order.next();
            self.list_again();
        } else if means(keys::SESSION_TOGGLE_NAMED_FILTER) {
            self.named_only = !self.named_only;
            self.list_again();
        } else if means(keys::SESSION_TOGGLE_PATH) {
            self.show_paths = !self.show_paths;
        } else if means(keys::SESSION_DELETE)
            || (means(keys::SESSION_DELETE_NONINVASIVE) && !searching)
        {
            self.start_deleting();
        } else if means(keys::SESSION_RENAME) {
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
        "(nothing said)".to_owned()
    } else {
        title
    }
}

impl Pane for ResumeDialog {
    fn paint(&mut self, sheet: &mut Sheet) {
        sheet.blank();
        if let Stage::Renaming { path, .. } = &self.stage {
            let title = format!("Name of “{}”", self.title_of(path));
            sheet.title(&title);
            let text = "Without a name, the first message stands for the session.";
            sheet.text(Weight::Help, ColorToken::Muted, text);
            sheet.blank();
            if let Stage::Renaming { field, .. } = &mut self.stage {
                sheet.field(field);
            }
            sheet.blank();
            sheet.hints(&[
                Hint::key(action::SELECT_CONFIRM, "save"),
                Hint::leave("cancel"),
            ]);
            return;
        }
        self.paint_head(sheet);
        sheet.blank();
        sheet.field(&mut self.search);
        sheet.blank();
        self.paint_list(sheet);
        if matches!(self.stage, Stage::Deleting(_)) {
            return;
        }
        sheet.blank();
        let syntax = "Search: words, \"a phrase\", re:a pattern";
        sheet.text(Weight::Help, ColorToken::Dim, syntax);
        sheet.hints(&self.hints());
    }

    fn handle(
        &mut self,
        event: &InputEvent,
        context: &InputContext<'_>,
        outbox: &mut Outbox,
    ) -> InputOutcome {
        if self.handle_stage(event, context, outbox) {
            return InputOutcome::Consumed;
        }
        self.message = None;
        if self.handle_view(event, context, outbox) {
            return InputOutcome::Consumed;
        }
        if let Some(picked) = self.picker.key(event, context) {
            self.settle(picked, outbox);
            return InputOutcome::Consumed;
        }
        let before = self.search.value().to_owned();
        let outcome = self.search.handle_input(event, context);
        if self.search.value() != before {
            self.moved = false;
            self.list_again();
        }
        outcome
    }

    fn mouse(
        &mut self,
        event: &MouseEvent,
        hit: Option<Hit>,
        context: &InputContext<'_>,
        outbox: &mut Outbox,
    ) -> bool {
        match &mut self.stage {
            Stage::Deleting(_) => false,
            Stage::Renaming { field, .. } => point_at_field(field, event, hit, context),
            Stage::Choosing => {
                if let Some(picked) = self.picker.mouse(event, hit) {
                    self.settle(picked, outbox);
                    return true;
                }
                point_at_field(&mut self.search, event, hit, context)
            }
        }
    }

    fn set_focused(&mut self, focused: bool) {
        self.search.set_focused(focused);
        if let Stage::Renaming { field, .. } = &mut self.stage {
            field.set_focused(focused);
        }
    }

    fn feed(&mut self, news: DialogNews, outbox: &mut Outbox) {
        match news {
            DialogNews::Sessions {
                scope,
                sessions,
                loaded,
                total,
                finished,
            } => {
                let listing = self.listing_of(scope);
                // A report that the end of the search has overtaken, or of a search that begins again: what is
                // known is better.
                if listing.finished && !finished {
                    return;
                }
                (listing.loaded, listing.total, listing.finished) = (loaded, total, finished);
                if let Some(sessions) = sessions {
                    listing.sessions = sessions;
                    self.list_again();
                }
            }
            DialogNews::SessionDeleted(path) => {
                self.forget(&path);
                self.message = Some((ColorToken::Success, "The session is deleted.".to_owned()));
            }
            DialogNews::SessionRenamed => self.search_again(outbox),
            DialogNews::Failed(cause) => {
                self.message = Some((ColorToken::Error, cause));
                // A name that was shown may not have been written.
                self.search_again(outbox);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;
