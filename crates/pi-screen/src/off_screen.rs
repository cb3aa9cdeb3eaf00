//! The screen of a session without a terminal.

use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use futures_util::future::BoxFuture;
use parking_lot::{Mutex, MutexGuard};
use pi_host::{
    ChosenCompletion, ClientScreen, ComponentId, EditorInfo, ExtensionCompletionRequest,
    ExtensionCompletions, ExtensionHandle, ExtensionNotice, ExtensionScreen, ExtensionShortcut,
    MountSerial, ScreenChange, ScreenFeed, ScreenInfo, ThemeData, ThemeInfo,
};
use pi_protocol::settings::Settings;
use pi_protocol::{Command, ScreenRow, ScreenSize};
use pi_tui::Size;
use serde_json::Value;
use tokio::sync::{Notify, watch};

use crate::components::Components;
use crate::feed::ComponentFeed;
use crate::service::{ComponentTask, serve};
use crate::transcript_row::{RowIds, render_row};

/// Cells that clients may ask for: a drawing costs time and memory.
const MAX_COLUMNS: usize = 500;
const MAX_SCREEN_ROWS: usize = 200;

/// Input that waits for components; more is dropped.
const MAX_TASKS: usize = 1024;

/// Returns the theme that settings select; the path is the directory with theme files.
pub type ThemeSource = Box<dyn Fn(&Settings, &Path) -> ThemeData + Send + Sync>;

/// Draws components off-screen; clones share their state.
#[derive(Clone)]
pub struct OffScreen(pub(crate) Arc<OffScreenInner>);

pub(crate) struct OffScreenInner {
    theme: ThemeSource,
    state: Mutex<ScreenState>,
    /// Wakes the task that serves components.
    pub(crate) work: Notify,
    /// Changes with everything that clients see.
    changes: watch::Sender<u64>,
}

#[derive(Default)]
pub(crate) struct ScreenState {
    pub(crate) link: Option<ExtensionHandle>,
    /// Changes when other extensions connect.
    pub(crate) epoch: u64,
    pub(crate) components: Components,
    pub(crate) tasks: VecDeque<ComponentTask>,
    /// The component that knows that it has the focus.
    notified_focus: Option<ComponentId>,
    pub(crate) size: Size,
    /// Whether extensions see all input first.
    pub(crate) has_raw_listeners: bool,
    is_open: bool,
    is_expanded: bool,
    statuses: BTreeMap<String, String>,
    pub(crate) rows: RowIds,
    pub(crate) clients: usize,
    pub(crate) is_served: bool,
    /// Whether a terminal shows the same components: it tracks the focus and the size, and owns the prompt.
    is_mirror: bool,
}

impl OffScreen {
    pub fn new(theme: ThemeSource) -> Self {
        Self(Arc::new(OffScreenInner {
            theme,
            state: Mutex::default(),
            work: Notify::new(),
            changes: watch::Sender::new(0),
        }))
    }

    /// Creates a screen that shows clients what a terminal shows. The terminal has its own theme.
    pub(crate) fn mirror(theme: ThemeSource) -> Self {
        let screen = Self::new(theme);
        let mut state = screen.0.state();
        state.is_mirror = true;
        state.is_open = true;
        drop(state);
        screen
    }

    /// Returns whether clients show the screen.
    pub(crate) fn has_clients(&self) -> bool {
        self.0.state().clients > 0
    }
}

impl OffScreenInner {
    pub(crate) fn state(&self) -> MutexGuard<'_, ScreenState> {
        self.state.lock()
    }

    pub(crate) fn subscribe(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// Notifies the task and the clients of a change.
    pub(crate) fn changed(&self) {
        self.changes.send_modify(|changes| *changes += 1);
        self.work.notify_one();
    }

    fn set_size(&self, size: ScreenSize) {
        let size = Size {
            columns: usize::from(size.cols).clamp(1, MAX_COLUMNS),
            rows: usize::from(size.rows).clamp(1, MAX_SCREEN_ROWS),
        };
        let mut state = self.state();
        if std::mem::replace(&mut state.size, size) != size && !state.is_mirror {
            state.push(ComponentTask::Resized);
        }
    }
}

impl ScreenState {
    pub(crate) fn push(&mut self, task: ComponentTask) {
        if self.tasks.len() < MAX_TASKS {
            self.tasks.push_back(task);
        }
    }

    /// Applies what a user did in an extension's editor, as far as clients have no other way to do it.
    fn apply_editor_change(&mut self, change: ScreenChange) {
        if self.is_mirror {
            return;
        }
        match change {
            ScreenChange::EditorSubmitted { text } => self.push(ComponentTask::Submit(text)),
            ScreenChange::EditorAction { action } => match action_command(&action) {
                Some(command) => self.push(ComponentTask::Execute(command)),
                None => tracing::debug!(action, "action without effect on clients"),
            },
            ScreenChange::Shortcut { extension, key } => {
                self.push(ComponentTask::Shortcut { extension, key });
            }
            // Clients have no terminal.
            other => tracing::debug!(?other, "screen change without effect on clients"),
        }
    }

    /// Whether clients type their prompts into an extension's editor.
    fn edits(&self) -> bool {
        !self.is_mirror && self.components.has_editor()
    }

    /// Notifies components of a focus that has moved.
    pub(crate) fn update_focus(&mut self) {
        if self.is_mirror {
            return;
        }
        let focused = self.components.focused().map(|component| component.id);
        let earlier = std::mem::replace(&mut self.notified_focus, focused);
        if earlier == focused {
            return;
        }
        for (id, focused) in [(earlier, false), (focused, true)] {
            if let Some(id) = id {
                self.push(ComponentTask::Focus { id, focused });
            }
        }
    }
}

/// The actions of an extension's editor that have an effect without a terminal.
const ACTIONS: [&str; 4] = [
    "app.interrupt",
    "app.thinking.cycle",
    "app.model.cycleForward",
    "app.session.new",
];

fn action_command(action: &str) -> Option<Command> {
    Some(match action {
        "app.interrupt" => Command::Abort,
        "app.thinking.cycle" => Command::CycleThinkingLevel,
        "app.model.cycleForward" => Command::CycleModel,
        "app.session.new" => Command::NewSession {
            parent_session: None,
        },
        _ => return None,
    })
}

impl ClientScreen for OffScreen {
    fn connect(&self, handle: Option<ExtensionHandle>) {
        let mut state = self.0.state();
        state.link = handle;
        state.epoch += 1;
        state.components.clear();
        state.tasks.clear();
        state.notified_focus = None;
        state.has_raw_listeners = false;
        state.statuses.clear();
        state.rows = RowIds::default();
        drop(state);
        self.0.changed();
    }

    fn opened(&self) -> Option<&dyn ExtensionScreen> {
        let is_open = self.0.state().is_open;
        is_open.then_some(self as &dyn ExtensionScreen)
    }

    fn prepare(&self, size: ScreenSize) {
        self.0.set_size(size);
        self.0.state().is_open = true;
    }

    fn open(&self, size: ScreenSize) -> Box<dyn ScreenFeed> {
        self.0.set_size(size);
        let mut state = self.0.state();
        if !std::mem::replace(&mut state.is_open, true) {
            state.push(ComponentTask::Opened);
        }
        state.clients += 1;
        let starts = !std::mem::replace(&mut state.is_served, true);
        drop(state);
        if starts {
            tokio::spawn(serve(Arc::clone(&self.0)));
        }
        self.0.changed();
        Box::new(ComponentFeed::new(Arc::clone(&self.0)))
    }

    fn resize(&self, size: ScreenSize) {
        self.0.set_size(size);
        self.0.changed();
    }

    fn input(&self, serial: Option<MountSerial>, data: String) {
        self.0.state().push(ComponentTask::Input { serial, data });
        self.0.work.notify_one();
    }

    fn render(&self, row: ScreenRow, expanded: bool, cwd: &Path) -> BoxFuture<'static, Value> {
        let cwd = cwd.to_string_lossy().into_owned();
        Box::pin(render_row(Arc::clone(&self.0), row, expanded, cwd))
    }

    fn observe(&self, notice: &ExtensionNotice) {
        let mut state = self.0.state();
        match notice {
            ExtensionNotice::Status { key, text } => {
                match text {
                    Some(text) => state.statuses.insert(key.clone(), text.clone()),
                    None => state.statuses.remove(key),
                };
                state.components.redraw(Instant::now());
            }
            ExtensionNotice::EditorText { text } if state.edits() => {
                state.push(ComponentTask::EditorText(text.clone()));
            }
            ExtensionNotice::EditorPaste { text } if state.edits() => {
                state.push(ComponentTask::EditorPaste(text.clone()));
            }
            _ => return,
        }
        drop(state);
        self.0.work.notify_one();
    }

    fn theme(&self, settings: &Settings, agent_dir: &Path) -> ThemeData {
        (self.0.theme)(settings, agent_dir)
    }
}

impl ExtensionScreen for OffScreen {
    fn connect(&self, handle: Option<ExtensionHandle>) {
        ClientScreen::connect(self, handle);
    }

    fn change(&self, extension: Option<&str>, change: ScreenChange) {
        let mut state = self.0.state();
        let components = &mut state.components;
        match change {
            ScreenChange::Mount {
                id,
                placement,
                key_release,
            } => components.mount(id, placement, key_release, extension),
            ScreenChange::Unmount { id } => components.unmount(id),
            ScreenChange::Redraw => {}
            ScreenChange::Focus { id } => components.focus(id),
            ScreenChange::OverlayHidden { id, hidden } => {
                if let Some(component) = components.get(id) {
                    component.is_hidden = hidden;
                }
            }
            ScreenChange::OverlayVisible { id, visible } => {
                if let Some(component) = components.get(id) {
                    component.is_unfit = !visible;
                }
            }
            ScreenChange::OverlayReleased { id, next_focus, .. } => {
                components.release(id, next_focus);
            }
            ScreenChange::RawInput { listening } => state.has_raw_listeners = listening,
            ScreenChange::Expanded { expanded } => state.is_expanded = expanded,
            other => state.apply_editor_change(other),
        }
        // Something else may be visible now.
        state.components.redraw(Instant::now());
        state.update_focus();
        drop(state);
        self.0.changed();
    }

    fn info(&self) -> ScreenInfo {
        let state = self.0.state();
        let statuses = state.statuses.iter();
        ScreenInfo {
            columns: state.size.columns,
            rows: state.size.rows,
            expanded: state.is_expanded,
            statuses: statuses
                .map(|(key, text)| (key.clone(), text.clone()))
                .collect(),
            scheme: "dark",
            ..ScreenInfo::default()
        }
    }

    fn editor_info(&self) -> EditorInfo {
        EditorInfo {
            completions: 5,
            border: "borderMuted",
            actions: ACTIONS.to_vec(),
            ..EditorInfo::default()
        }
    }

    /// The theme depends on the settings of the session.
    fn theme(&self, _name: Option<&str>) -> Option<ThemeData> {
        None
    }

    fn themes(&self) -> Vec<ThemeInfo> {
        Vec::new()
    }

    fn set_theme(&self, _name: &str) -> Result<(), String> {
        Err("clients choose their theme".to_owned())
    }

    fn shortcuts(&self) -> Vec<ExtensionShortcut> {
        let link = self.0.state().link.clone();
        link.map_or_else(Vec::new, |link| link.shortcuts())
    }

    fn overlay_bounds(&self, id: ComponentId) -> Option<[usize; 4]> {
        let mut state = self.0.state();
        let size = state.size;
        let component = state.components.get(id)?;
        component.bounds(component.drawn.rows.len(), size)
    }

    fn complete(
        &self,
        _request: ExtensionCompletionRequest,
    ) -> BoxFuture<'static, Option<ExtensionCompletions>> {
        Box::pin(std::future::ready(None))
    }

    fn apply_completion(&self, chosen: &ChosenCompletion) -> (String, usize) {
        (chosen.line.clone(), chosen.column)
    }

    fn completes_path(&self, _request: &ExtensionCompletionRequest) -> bool {
        false
    }
}
