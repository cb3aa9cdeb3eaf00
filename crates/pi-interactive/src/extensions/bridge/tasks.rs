//! The task that serves extension components: delivers input, requests lines, one at a time.

use std::collections::VecDeque;
use std::time::Instant;

use pi_host::{ComponentId, ExtensionHandle, ExtensionRenderError};
use pi_tui::InputEvent;
use serde_json::Value;

use super::surfaces::{DrawRequest, DrawSubject};
use super::{DrawOutcome, ExtensionEvent, ExtensionUiBridge};

/// Input and notifications for components.
#[derive(Clone, Debug)]
pub(crate) enum ComponentTask {
    /// Input for a component.
    Input {
        id: ComponentId,
        data: String,
    },
    /// A mouse event inside a component.
    Mouse {
        id: ComponentId,
        event: Value,
    },
    /// A component gained or lost focus.
    Focus {
        id: ComponentId,
        focused: bool,
    },
    /// Input that extensions see before anything else.
    Raw(InputEvent),
    Resized,
    /// The theme changed.
    ThemeChanged {
        scheme: &'static str,
    },
    BranchChanged,
    /// Replace the text of the extension's editor.
    SetEditorText(String),
    /// Insert text at the cursor of the extension's editor.
    InsertEditorText(String),
    /// Add a text to the history of the extension's editor.
    RememberEditorText(String),
    /// Rows were removed from the screen.
    ForgetRows(Vec<ComponentId>),
}

#[derive(Default)]
pub(super) struct ComponentTaskQueue {
    tasks: VecDeque<ComponentTask>,
    /// When the current task started.
    since: Option<Instant>,
}

impl ComponentTaskQueue {
    pub(super) fn push(&mut self, task: ComponentTask) {
        self.tasks.push_back(task);
    }

    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }
}

enum NextWork {
    Task(ExtensionHandle, ComponentTask),
    Draw(ExtensionHandle, DrawRequest),
}

impl ExtensionUiBridge {
    /// Serves components for as long as it is polled.
    pub(crate) async fn run_tasks(self) {
        loop {
            match self.next_work() {
                Ok(NextWork::Task(link, task)) => {
                    self.perform(&link, task).await;
                    self.0.state().task_queue.since = None;
                }
                Ok(NextWork::Draw(link, request)) => self.draw(&link, request).await,
                Err(Some(pause)) => {
                    let notified = self.0.tasks.notified();
                    // In either case, check again.
                    drop(tokio::time::timeout(pause, notified).await);
                }
                Err(None) => self.0.tasks.notified().await,
            }
        }
    }

    /// Returns since when a component has been busy with its current task.
    pub(crate) fn busy_since(&self) -> Option<Instant> {
        self.0.state().task_queue.since
    }

    fn next_work(&self) -> Result<NextWork, Option<std::time::Duration>> {
        let now = Instant::now();
        let mut state = self.0.state();
        let link = state.link.clone().ok_or(None)?;
        if let Some(task) = state.task_queue.tasks.pop_front() {
            state.task_queue.since = Some(now);
            return Ok(NextWork::Task(link, task));
        }
        state
            .surfaces
            .next(now)
            .map(|request| NextWork::Draw(link, request))
    }

    async fn perform(&self, link: &ExtensionHandle, task: ComponentTask) {
        match task {
            ComponentTask::Input { id, data } => {
                link.input(id, &data).await;
                self.0.state().surfaces.redraw_now(Instant::now());
            }
            ComponentTask::Mouse { id, event } => {
                link.mouse(id, event).await;
                self.0.state().surfaces.redraw_now(Instant::now());
            }
            ComponentTask::Focus { id, focused } => {
                link.focus(id, focused).await;
                self.0.state().surfaces.redraw_now(Instant::now());
            }
            ComponentTask::Raw(event) => self.forward_raw(link, event).await,
            ComponentTask::Resized => link.resized().await,
            ComponentTask::ThemeChanged { scheme } => {
                link.theme_changed(scheme).await;
                self.0.state().surfaces.redraw_now(Instant::now());
            }
            ComponentTask::BranchChanged => {
                link.branch_changed().await;
                self.0.state().surfaces.redraw(Instant::now());
            }
            ComponentTask::SetEditorText(text) => {
                link.set_editor_text(&text).await;
                self.0.state().surfaces.redraw_now(Instant::now());
            }
            ComponentTask::InsertEditorText(text) => {
                link.insert_editor_text(&text).await;
                self.0.state().surfaces.redraw_now(Instant::now());
            }
            ComponentTask::RememberEditorText(text) => link.add_editor_history(&text).await,
            ComponentTask::ForgetRows(ids) => link.forget_rows(&ids).await,
        }
    }

    /// Shows extensions the input; forwards what they leave of it.
    async fn forward_raw(&self, link: &ExtensionHandle, event: InputEvent) {
        let raw = event.raw();
        let data = String::from_utf8_lossy(&raw);
        match link.raw_input(&data).await {
            None => {}
            Some(same) if same == data => self.0.emit(ExtensionEvent::Typed(event)),
            Some(other) => self.0.emit(ExtensionEvent::TypedInstead(other)),
        }
    }

    async fn draw(&self, link: &ExtensionHandle, request: DrawRequest) {
        let DrawRequest { id, width, subject } = request;
        let epoch = self.0.state().epoch;
        let outcome = match subject {
            DrawSubject::Component => DrawOutcome::Component(link.render(id, width).await),
            DrawSubject::Call(data) => {
                DrawOutcome::Call(link.render_tool_call(id, width, data).await)
            }
            DrawSubject::Custom(data) => {
                DrawOutcome::Custom(link.render_custom(id, width, data).await)
            }
            DrawSubject::Texts { parts, shared } => {
                DrawOutcome::Texts(link.transform_markdown(parts, shared).await)
            }
        };
        if self.0.state().epoch != epoch {
            return;
        }
        match outcome.error() {
            None => self.0.state().surfaces.record_success(id),
            Some(ExtensionRenderError::Gone) => {}
            Some(error) => {
                if self.0.state().surfaces.record_failure(id) {
                    link.report_failure(self.owner(id), "render", error.to_string());
                }
            }
        }
        self.0.emit(ExtensionEvent::Drawn { id, width, outcome });
    }
}

impl DrawOutcome {
    fn error(&self) -> Option<&ExtensionRenderError> {
        match self {
            Self::Component(drawn) => drawn.as_ref().err(),
            Self::Call(drawn) => drawn.as_ref().err(),
            Self::Custom(drawn) => drawn.as_ref().err(),
            Self::Texts(texts) => texts.as_ref().err(),
        }
    }
}
