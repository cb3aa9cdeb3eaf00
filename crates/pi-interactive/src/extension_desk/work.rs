//! The task that talks to the components of extensions: keys in, lines out, one thing at a time.

use std::collections::VecDeque;
use std::time::Instant;

use pi_runtime::{ComponentId, ExtensionRenderError, ExtensionHandle};
use pi_tui::InputEvent;
use serde_json::Value;

use super::surfaces::{Subject, Wanted};
use super::{Drawing, ExtensionDesk, News};

/// What components are told.
#[derive(Clone, Debug)]
pub(crate) enum Task {
    /// Something was typed into one.
    Input { id: ComponentId, data: String },
    /// The mouse did something inside of one.
    Mouse { id: ComponentId, event: Value },
    /// One has the keyboard, or has it no more.
    Focus { id: ComponentId, focused: bool },
    /// Something was typed that extensions see before anybody else.
    Raw(InputEvent),
    /// The screen has another size.
    Resized,
    /// Other colors are in use.
    ThemeChanged { scheme: &'static str },
    /// Another branch is checked out.
    BranchChanged,
    /// The extension's editor gets another text.
    SetEditorText(String),
    /// The extension's editor gets text at its cursor.
    InsertEditorText(String),
    /// The extension's editor gets a text for its history.
    RememberEditorText(String),
    /// Rows are gone from the screen.
    ForgetRows(Vec<ComponentId>),
}

/// What components have not been told yet.
#[derive(Default)]
pub(super) struct Backlog {
    tasks: VecDeque<Task>,
    /// When the task under way began.
    since: Option<Instant>,
}

impl Backlog {
    pub(super) fn push(&mut self, task: Task) {
        self.tasks.push_back(task);
    }

    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }
}

enum Work {
    Task(ExtensionHandle, Task),
    Draw(ExtensionHandle, Wanted),
}

impl ExtensionDesk {
    /// Talks to components for as long as it is polled.
    pub(crate) async fn serve(self) {
        loop {
            match self.next_work() {
                Ok(Work::Task(link, task)) => {
                    self.perform(&link, task).await;
                    self.state().backlog.since = None;
                }
                Ok(Work::Draw(link, wanted)) => self.draw(&link, wanted).await,
                Err(Some(pause)) => {
                    let woken = self.0.work.notified();
                    // Either way it is time to look again.
                    drop(tokio::time::timeout(pause, woken).await);
                }
                Err(None) => self.0.work.notified().await,
            }
        }
    }

    /// Returns how long a component has been busy with what it was told.
    pub(crate) fn busy_since(&self) -> Option<Instant> {
        self.state().backlog.since
    }

    fn next_work(&self) -> Result<Work, Option<std::time::Duration>> {
        let now = Instant::now();
        let mut state = self.state();
        let link = state.link.clone().ok_or(None)?;
        if let Some(task) = state.backlog.tasks.pop_front() {
            state.backlog.since = Some(now);
            return Ok(Work::Task(link, task));
        }
        state
            .surfaces
            .next(now)
            .map(|wanted| Work::Draw(link, wanted))
    }

    async fn perform(&self, link: &ExtensionHandle, task: Task) {
        match task {
            Task::Input { id, data } => {
                link.input(id, &data).await;
                self.state().surfaces.redraw_now(Instant::now());
            }
            Task::Mouse { id, event } => {
                link.mouse(id, event).await;
                self.state().surfaces.redraw_now(Instant::now());
            }
            Task::Focus { id, focused } => {
                link.focus(id, focused).await;
                self.state().surfaces.redraw_now(Instant::now());
            }
            Task::Raw(event) => self.pass_raw(link, event).await,
            Task::Resized => link.resized().await,
            Task::ThemeChanged { scheme } => {
                link.theme_changed(scheme).await;
                self.state().surfaces.redraw_now(Instant::now());
            }
            Task::BranchChanged => {
                link.branch_changed().await;
                self.state().surfaces.redraw(Instant::now());
            }
            Task::SetEditorText(text) => {
                link.set_editor_text(&text).await;
                self.state().surfaces.redraw_now(Instant::now());
            }
            Task::InsertEditorText(text) => {
                link.insert_editor_text(&text).await;
                self.state().surfaces.redraw_now(Instant::now());
            }
            Task::RememberEditorText(text) => link.add_editor_history(&text).await,
            Task::ForgetRows(ids) => link.forget_rows(&ids).await,
        }
    }

    /// Shows extensions what was typed; what they leave of it goes on.
    async fn pass_raw(&self, link: &ExtensionHandle, event: InputEvent) {
        let raw = event.raw();
        let data = String::from_utf8_lossy(&raw);
        match link.raw_input(&data).await {
            None => {}
            Some(same) if same == data => self.tell_news(News::Typed(event)),
            Some(other) => self.tell_news(News::TypedInstead(other)),
        }
    }

    async fn draw(&self, link: &ExtensionHandle, wanted: Wanted) {
        let Wanted { id, width, subject } = wanted;
        let epoch = self.state().epoch;
        let drawing = match subject {
            Subject::Component => Drawing::Component(link.render(id, width).await),
            Subject::Call(data) => Drawing::Call(link.render_tool_call(id, width, data).await),
            Subject::Custom(data) => Drawing::Custom(link.render_custom(id, width, data).await),
            Subject::Wording { parts, shared } => {
                Drawing::Wording(link.transform_markdown(parts, shared).await)
            }
        };
        if self.state().epoch != epoch {
            return;
        }
        match drawing.error() {
            None => self.state().surfaces.forgive(id),
            Some(ExtensionRenderError::Gone) => {}
            Some(error) => {
                if self.state().surfaces.strike(id) {
                    link.report_failure(self.owner(id), "render", error.to_string());
                }
            }
        }
        self.tell_news(News::Drawn { id, width, drawing });
    }
}

impl Drawing {
    fn error(&self) -> Option<&ExtensionRenderError> {
        match self {
            Self::Component(drawn) => drawn.as_ref().err(),
            Self::Call(drawn) => drawn.as_ref().err(),
            Self::Custom(drawn) => drawn.as_ref().err(),
            Self::Wording(texts) => texts.as_ref().err(),
        }
    }
}
