//! Screen state visible to extensions, and the changes they make to it.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Instant;

use futures_util::future::BoxFuture;
use pi_host::{
    ChosenCompletion, ComponentId, EditorInfo, ExtensionCompletionRequest, ExtensionCompletions,
    ExtensionHandle, ExtensionScreen, ExtensionShortcut, ScreenChange, ScreenInfo, ThemeData,
    ThemeInfo,
};
use pi_tui::{CompletionProvider, request_suggestions};
use pi_views::theme::selector::ThemeSelector;
use pi_views::theme::ui_theme::UiTheme;

use super::completion::{byte_offset, item_of, request, select_item, utf16_column};
use super::surfaces::DrawSubject;
use super::{BridgeInner, BridgeState, ExtensionEvent, ExtensionUiBridge};
use crate::extensions::theme::theme_data;
use crate::prompt::editor_area::ACTIONS;

/// Rows are numbered from here, far above component IDs but exactly representable in JavaScript.
const FIRST_ROW: ComponentId = 1 << 40;

/// Screen state last published by the application.
#[derive(Default)]
pub(super) struct PublishedScreen {
    pub(super) editor_text: String,
    ui: Option<UiTheme>,
    themes: Option<Arc<ThemeSelector>>,
    facts: ScreenInfo,
    editor: EditorInfo,
    statuses: BTreeMap<String, String>,
    shortcuts: Vec<ExtensionShortcut>,
    bounds: HashMap<ComponentId, [usize; 4]>,
    /// The extension that owns each component, where known.
    owners: HashMap<ComponentId, String>,
    completion: Option<Arc<dyn CompletionProvider>>,
}

impl PublishedScreen {
    pub(super) fn set_status(&mut self, key: &str, text: Option<String>) {
        match text {
            Some(text) => {
                self.statuses.insert(key.to_owned(), text);
            }
            None => {
                self.statuses.remove(key);
            }
        }
    }
}

impl ExtensionUiBridge {
    /// Attaches the screen.
    pub(crate) fn open(&self, ui: UiTheme) {
        self.0.state().screen.ui = Some(ui);
    }

    pub(crate) fn set_facts(&self, change: impl FnOnce(&mut ScreenInfo)) {
        change(&mut self.0.state().screen.facts);
    }

    pub(crate) fn set_editor(&self, change: impl FnOnce(&mut EditorInfo)) {
        change(&mut self.0.state().screen.editor);
    }

    pub(crate) fn set_editor_text(&self, text: String) {
        self.0.state().screen.editor_text = text;
    }

    pub(crate) fn set_themes(&self, themes: ThemeSelector) {
        self.0.state().screen.themes = Some(Arc::new(themes));
    }

    pub(crate) fn set_shortcuts(&self, shortcuts: Vec<ExtensionShortcut>) {
        self.0.state().screen.shortcuts = shortcuts;
    }

    pub(crate) fn set_bounds(&self, id: ComponentId, bounds: [usize; 4]) {
        self.0.state().screen.bounds.insert(id, bounds);
    }

    /// Returns the extension that owns a component, if known.
    pub(crate) fn owner(&self, id: ComponentId) -> Option<String> {
        self.0.state().screen.owners.get(&id).cloned()
    }

    /// Sets the built-in completion provider.
    pub(crate) fn set_completion(&self, provider: Arc<dyn CompletionProvider>) {
        self.0.state().screen.completion = Some(provider);
    }

    /// Returns the extensions' status texts, ordered by key.
    pub(crate) fn statuses(&self) -> Vec<String> {
        self.0.state().screen.statuses.values().cloned().collect()
    }

    /// Requests the lines of something an extension draws.
    pub(crate) fn request_draw(&self, id: ComponentId, width: usize, subject: DrawSubject) {
        let mut state = self.0.state();
        state.surfaces.request(id, width, subject, Instant::now());
        self.0.tasks.notify_one();
    }

    /// Requests the lines of every component again.
    pub(crate) fn redraw(&self) {
        let mut state = self.0.state();
        if state.link.is_some() {
            state.surfaces.redraw(Instant::now());
            self.0.tasks.notify_one();
        }
    }

    /// Returns a new ID for a transcript row; disjoint from component IDs.
    pub(crate) fn new_row(&self) -> ComponentId {
        let mut state = self.0.state();
        state.rows += 1;
        FIRST_ROW + state.rows
    }

    /// Removes rows that are no longer on screen.
    pub(crate) fn forget_rows(&self, ids: Vec<ComponentId>) {
        if ids.is_empty() {
            return;
        }
        {
            let mut state = self.0.state();
            for id in &ids {
                state.surfaces.forget(*id);
            }
        }
        self.enqueue(super::ComponentTask::ForgetRows(ids));
    }
}

impl BridgeInner {
    fn ui(&self) -> Option<UiTheme> {
        self.state().screen.ui.clone()
    }

    fn completion(&self) -> Option<Arc<dyn CompletionProvider>> {
        self.state().screen.completion.clone()
    }
}

impl ExtensionScreen for BridgeInner {
    fn connect(&self, link: Option<ExtensionHandle>) {
        {
            let mut state = self.state();
            state.link = link;
            state.epoch += 1;
            state.task_queue.clear();
            state.surfaces.clear();
            state.screen.statuses.clear();
            state.screen.bounds.clear();
            state.screen.owners.clear();
            state.events.push(ExtensionEvent::Connected);
        }
        self.events.notify_one();
        self.tasks.notify_one();
    }

    fn change(&self, extension: Option<&str>, change: ScreenChange) {
        let now = Instant::now();
        let mut state = self.state();
        let BridgeState {
            surfaces, screen, ..
        } = &mut *state;
        match &change {
            ScreenChange::Redraw => {
                surfaces.redraw(now);
                self.tasks.notify_one();
                return;
            }
            ScreenChange::RowChanged { id } => {
                surfaces.redraw_row(*id, now);
                self.tasks.notify_one();
                return;
            }
            ScreenChange::Mount { id, .. } => {
                let owner = extension.map(|extension| (*id, extension.to_owned()));
                screen.owners.extend(owner);
            }
            ScreenChange::Unmount { id } => {
                surfaces.forget(*id);
                screen.bounds.remove(id);
                screen.owners.remove(id);
            }
            ScreenChange::EditorChanged { text } | ScreenChange::EditorRestored { text } => {
                screen.editor_text.clone_from(text);
            }
            ScreenChange::Expanded { expanded } => screen.facts.expanded = *expanded,
            _ => {}
        }
        drop(state);
        self.emit(ExtensionEvent::Changed(change));
    }

    fn info(&self) -> ScreenInfo {
        let state = self.state();
        let screen = &state.screen;
        let statuses = screen.statuses.iter();
        ScreenInfo {
            statuses: statuses
                .map(|(key, text)| (key.clone(), text.clone()))
                .collect(),
            ..screen.facts.clone()
        }
    }

    fn editor_info(&self) -> EditorInfo {
        EditorInfo {
            actions: ACTIONS.to_vec(),
            ..self.state().screen.editor.clone()
        }
    }

    fn theme(&self, name: Option<&str>) -> Option<ThemeData> {
        let themes = self.state().screen.themes.clone();
        let path = |name: &str| {
            let file = themes.as_ref()?.file(name)?;
            Some(file.path.to_string_lossy().into_owned())
        };
        match name {
            Some(name) => {
                let theme = themes.as_ref()?.load_named(name).ok()?;
                Some(theme_data(&theme, path(name)))
            }
            None => {
                let theme = Arc::clone(&self.ui()?.context().theme);
                Some(theme_data(&theme, path(theme.name())))
            }
        }
    }

    fn themes(&self) -> Vec<ThemeInfo> {
        let Some(themes) = self.state().screen.themes.clone() else {
            return Vec::new();
        };
        let path = |name: &str| {
            let file = themes.file(name)?;
            Some(file.path.to_string_lossy().into_owned())
        };
        let names = themes.names().into_iter();
        names
            .map(|name| ThemeInfo {
                path: path(&name),
                name,
            })
            .collect()
    }

    fn set_theme(&self, name: &str) -> Result<(), String> {
        let Some(themes) = self.state().screen.themes.clone() else {
            return Err("the screen is not ready".to_owned());
        };
        let theme = themes.load_named(name)?;
        // Colors requested from now on are those of the new theme.
        if let Some(ui) = self.ui() {
            ui.update(|ctx| ctx.theme = Arc::new(theme));
        }
        self.emit(ExtensionEvent::ThemeSelected(name.to_owned()));
        Ok(())
    }

    fn shortcuts(&self) -> Vec<ExtensionShortcut> {
        self.state().screen.shortcuts.clone()
    }

    fn overlay_bounds(&self, id: ComponentId) -> Option<[usize; 4]> {
        self.state().screen.bounds.get(&id).copied()
    }

    fn complete(
        &self,
        question: ExtensionCompletionRequest,
    ) -> BoxFuture<'static, Option<ExtensionCompletions>> {
        let provider = self.completion();
        Box::pin(async move {
            let provider = provider?;
            let found = request_suggestions(provider.as_ref(), request(&question)).await;
            if found.items.is_empty() {
                return None;
            }
            Some(ExtensionCompletions {
                items: found.items.into_iter().map(item_of).collect(),
                prefix: found.prefix,
            })
        })
    }

    fn apply_completion(&self, chosen: &ChosenCompletion) -> (String, usize) {
        let Some(provider) = self.completion() else {
            return (chosen.line.clone(), chosen.column);
        };
        let offset = byte_offset(&chosen.line, chosen.column);
        let item = select_item(chosen.item.clone());
        let done = provider.complete(&chosen.line, offset, &item, &chosen.prefix);
        let column = utf16_column(&done.line, done.offset);
        (done.line, column)
    }

    fn completes_path(&self, question: &ExtensionCompletionRequest) -> bool {
        let provider = self.completion();
        provider.is_some_and(|provider| provider.completes_path(&request(question)))
    }
}
