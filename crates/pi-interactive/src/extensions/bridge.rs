//! Connects extensions to the screen.
//!
//! Extensions run on their own thread, the screen on another, and neither waits for the other. Requests of
//! extensions are queued here as events for the application, the screen state visible to extensions is stored
//! here, and input and draw requests for their components are queued for a separate task.

mod completion;
mod events;
mod screen;
mod surfaces;
mod tasks;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use futures_util::future::BoxFuture;
use parking_lot::{Mutex, MutexGuard};
use pi_env::Env;
use pi_host::{
    AgentDir, DialogResponse, ExtensionDialog, ExtensionFailure, ExtensionHandle, ExtensionMode,
    ExtensionNotice, ExtensionScreen, ExtensionUi, SettingsOverrides,
};
use pi_views::dialogs::intent::{Intent, QuestionAnswer};
use tokio::sync::{Notify, oneshot};

pub(crate) use completion::{question, select_item};
pub(crate) use events::{DialogId, DrawOutcome, ExtensionEvent};
pub(crate) use surfaces::DrawSubject;
pub(crate) use tasks::ComponentTask;

use events::{ExtensionEventQueue, PendingDialog};
use screen::PublishedScreen;
use surfaces::Surfaces;
use tasks::ComponentTaskQueue;

use crate::extensions::question;
use crate::startup::standalone_dialog::StartupPrompter;

/// The bridge between extensions and the screen; clones share their state.
#[derive(Clone, Default)]
pub struct ExtensionUiBridge(Arc<BridgeInner>);

#[derive(Default)]
struct BridgeInner {
    /// Shows dialogs before the application runs.
    startup_prompter: Option<StartupPrompter>,
    has_application: AtomicBool,
    state: Mutex<BridgeState>,
    events: Notify,
    /// Wakes the task that serves components.
    tasks: Notify,
}

#[derive(Default)]
struct BridgeState {
    link: Option<ExtensionHandle>,
    events: ExtensionEventQueue,
    task_queue: ComponentTaskQueue,
    surfaces: Surfaces,
    screen: PublishedScreen,
    next_dialog: DialogId,
    /// Number of transcript rows with a component ID.
    rows: u64,
    /// Incremented whenever other extensions connect.
    epoch: u64,
}

impl BridgeInner {
    fn state(&self) -> MutexGuard<'_, BridgeState> {
        self.state.lock()
    }

    fn emit(&self, event: ExtensionEvent) {
        self.state().events.push(event);
        self.events.notify_one();
    }
}

impl std::fmt::Debug for ExtensionUiBridge {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("ExtensionUiBridge")
    }
}

impl ExtensionUiBridge {
    /// Creates a bridge; dialogs that extensions open before the application runs are shown standalone, with
    /// the settings of this user and run.
    pub fn new(agent_dir: AgentDir, env: Env, run_settings: SettingsOverrides) -> Self {
        Self(Arc::new(BridgeInner {
            startup_prompter: Some(StartupPrompter {
                agent_dir,
                env,
                run_settings,
            }),
            ..BridgeInner::default()
        }))
    }

    /// Routes everything to the application from here on.
    pub(crate) fn attach_application(&self) {
        self.0.has_application.store(true, Ordering::Relaxed);
    }

    /// Shows a dialog standalone, if the application is not running yet.
    fn ask_standalone(
        &self,
        dialog: &ExtensionDialog,
    ) -> Option<BoxFuture<'static, DialogResponse>> {
        if self.0.has_application.load(Ordering::Relaxed) {
            return None;
        }
        let startup_prompter = self.0.startup_prompter.clone()?;
        // The standalone screen has no countdown.
        let dialog = ExtensionDialog {
            timeout: None,
            ..dialog.clone()
        };
        Some(Box::pin(async move {
            let cwd = std::env::current_dir().unwrap_or_default();
            let shown = dialog.clone();
            let make = |ui| question::contents(shown, Instant::now()).open(ui);
            let read = |intent| match intent {
                Intent::Answer(answer) => Some(answer),
                _ => None,
            };
            match startup_prompter.ask(&cwd, make, read).await {
                Ok(answer) => {
                    let answer = answer.unwrap_or(QuestionAnswer::Dismissed);
                    question::to_dialog_answer(&dialog.prompt, answer)
                }
                Err(error) => {
                    tracing::warn!(%error, "cannot show the extension dialog");
                    DialogResponse::Cancelled
                }
            }
        }))
    }

    /// Returns the connection to the extensions, if any are loaded.
    pub(crate) fn link(&self) -> Option<ExtensionHandle> {
        self.0.state().link.clone()
    }

    pub(crate) fn is_connected(&self) -> bool {
        self.0.state().link.is_some()
    }

    /// Waits until there are events for the application.
    pub(crate) async fn changed(&self) {
        self.0.events.notified().await;
    }

    pub(crate) fn take_events(&self) -> Vec<ExtensionEvent> {
        self.0.state().events.take()
    }

    /// Queues a task for the components; tasks run in order.
    pub(crate) fn enqueue(&self, task: ComponentTask) {
        let mut state = self.0.state();
        if state.link.is_some() {
            state.task_queue.push(task);
            self.0.tasks.notify_one();
        }
    }
}

impl ExtensionUi for ExtensionUiBridge {
    fn mode(&self) -> ExtensionMode {
        ExtensionMode::Terminal
    }

    fn notify(&self, notice: ExtensionNotice) -> BoxFuture<'static, ()> {
        {
            let mut state = self.0.state();
            match &notice {
                ExtensionNotice::Status { key, text } => state.screen.set_status(key, text.clone()),
                ExtensionNotice::EditorText { text } => state.screen.editor_text.clone_from(text),
                _ => {}
            }
        }
        self.0.emit(ExtensionEvent::Notice(notice));
        Box::pin(std::future::ready(()))
    }

    fn show_dialog(&self, dialog: ExtensionDialog) -> BoxFuture<'static, DialogResponse> {
        if let Some(answer) = self.ask_standalone(&dialog) {
            return answer;
        }
        let (answer, answered) = oneshot::channel();
        let id = {
            let mut state = self.0.state();
            state.next_dialog = state.next_dialog.next();
            state.next_dialog
        };
        self.0
            .emit(ExtensionEvent::DialogRequested { id, dialog, answer });
        let pending = PendingDialog::new(self.clone(), id);
        Box::pin(async move {
            let answer = answered.await;
            pending.answered();
            answer.unwrap_or(DialogResponse::Cancelled)
        })
    }

    fn report_failure(&self, failure: ExtensionFailure) -> BoxFuture<'static, ()> {
        self.0.emit(ExtensionEvent::Failed(failure));
        Box::pin(std::future::ready(()))
    }

    fn request_shutdown(&self) {
        self.0.emit(ExtensionEvent::ShutDown);
    }

    fn editor_text(&self) -> String {
        self.0.state().screen.editor_text.clone()
    }

    fn screen(&self) -> Option<&dyn ExtensionScreen> {
        Some(self.0.as_ref())
    }
}
