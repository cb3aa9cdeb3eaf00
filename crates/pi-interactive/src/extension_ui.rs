//! Where extensions and the screen meet.
//!
//! Extensions speak on a thread of their own, the screen on another; neither waits. What extensions want
//! is noted here as news for the application, what they may know of the screen is kept here for
//! them, and what their components must be told or asked is work for a task beside both.

mod events;
mod screen;
mod surfaces;
mod tasks;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use futures_util::future::BoxFuture;
use pi_ai::Env;
use pi_config::{AgentDir, RunSettings};
use pi_runtime::{
    DialogAnswer, ExtensionDialog, ExtensionFailure, ExtensionLink, ExtensionMode, ExtensionNotice,
    ExtensionScreen, ExtensionUi,
};
use tokio::sync::{Notify, oneshot};

pub(crate) use events::{DialogId, DrawOutcome, ExtensionEvent};
pub(crate) use screen::{question, select_item};
pub(crate) use surfaces::DrawSubject;
pub(crate) use tasks::ComponentTask;

use events::{ExtensionEventQueue, PendingDialog};
use screen::ScreenKnowledge;
use surfaces::Surfaces;
use tasks::ComponentTaskQueue;

use crate::extension_question;
use crate::intent::{Intent, QuestionAnswer};
use crate::standalone_dialog::StartupPrompter;

/// The place where extensions and the screen meet; clones are the same place.
#[derive(Clone, Default)]
pub struct ExtensionUiBridge(Arc<BridgeInner>);

#[derive(Default)]
struct BridgeInner {
    /// How to ask before there is an application.
    startup_prompter: Option<StartupPrompter>,
    has_application: AtomicBool,
    state: Mutex<BridgeState>,
    events: Notify,
    /// Wakes the task that talks to components.
    tasks: Notify,
}

#[derive(Default)]
struct BridgeState {
    link: Option<ExtensionLink>,
    events: ExtensionEventQueue,
    backlog: ComponentTaskQueue,
    surfaces: Surfaces,
    screen: ScreenKnowledge,
    next_dialog: DialogId,
    /// Rows of the transcript that were numbered.
    rows: u64,
    /// Counts how often other extensions came.
    epoch: u64,
}

impl std::fmt::Debug for ExtensionUiBridge {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("ExtensionUiBridge")
    }
}

impl ExtensionUiBridge {
    /// Makes a desk for the user of this directory and the settings of this run, who can be asked before the application runs.
    pub fn new(agent_dir: AgentDir, env: Env, run_settings: RunSettings) -> Self {
        Self(Arc::new(BridgeInner {
            startup_prompter: Some(StartupPrompter {
                agent_dir,
                env,
                run_settings,
            }),
            ..BridgeInner::default()
        }))
    }

    /// Brings everything to the application from here on.
    pub(crate) fn attach_application(&self) {
        self.0.has_application.store(true, Ordering::Relaxed);
    }

    /// Asks on a screen of its own, where the application does not run yet.
    fn ask_standalone(&self, dialog: &ExtensionDialog) -> Option<BoxFuture<'static, DialogAnswer>> {
        if self.0.has_application.load(Ordering::Relaxed) {
            return None;
        }
        let startup_prompter = self.0.startup_prompter.clone()?;
        // Nothing counts the time down on that screen.
        let dialog = ExtensionDialog {
            timeout: None,
            ..dialog.clone()
        };
        Some(Box::pin(async move {
            let cwd = std::env::current_dir().unwrap_or_default();
            let make = |ui| extension_question::dialog(&dialog, ui, Instant::now());
            let read = |intent| match intent {
                Intent::Answer(answer) => Some(answer),
                _ => None,
            };
            match startup_prompter.ask(&cwd, make, read).await {
                Ok(answer) => {
                    let answer = answer.unwrap_or(QuestionAnswer::Dismissed);
                    extension_question::given(&dialog.question, answer)
                }
                Err(error) => {
                    tracing::warn!(%error, "nobody could be asked what an extension wants to know");
                    DialogAnswer::Cancelled
                }
            }
        }))
    }

    fn state(&self) -> MutexGuard<'_, BridgeState> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the way to the extensions, if there are any.
    pub(crate) fn link(&self) -> Option<ExtensionLink> {
        self.state().link.clone()
    }

    /// Returns whether there are extensions.
    pub(crate) fn is_connected(&self) -> bool {
        self.state().link.is_some()
    }

    /// Waits until there are news for the application.
    pub(crate) async fn changed(&self) {
        self.0.events.notified().await;
    }

    /// Returns the news.
    pub(crate) fn take_events(&self) -> Vec<ExtensionEvent> {
        self.state().events.take()
    }

    fn emit(&self, events: ExtensionEvent) {
        self.state().events.push(events);
        self.0.events.notify_one();
    }

    /// Has a component told something, in the order in which things are said here.
    pub(crate) fn say(&self, task: ComponentTask) {
        let mut state = self.state();
        if state.link.is_some() {
            state.backlog.push(task);
            self.0.tasks.notify_one();
        }
    }
}

impl ExtensionUi for ExtensionUiBridge {
    fn mode(&self) -> ExtensionMode {
        ExtensionMode::Terminal
    }

    fn tell(&self, notice: ExtensionNotice) -> BoxFuture<'static, ()> {
        {
            let mut state = self.state();
            match &notice {
                ExtensionNotice::Status { key, text } => state.screen.set_status(key, text.clone()),
                ExtensionNotice::EditorText { text } => state.screen.editor_text.clone_from(text),
                _ => {}
            }
        }
        self.emit(ExtensionEvent::Notice(notice));
        Box::pin(std::future::ready(()))
    }

    fn ask(&self, dialog: ExtensionDialog) -> BoxFuture<'static, DialogAnswer> {
        if let Some(with_intent) = self.ask_standalone(&dialog) {
            return with_intent;
        }
        let (answer, answered) = oneshot::channel();
        let id = {
            let mut state = self.state();
            state.next_dialog = state.next_dialog.next();
            state.next_dialog
        };
        self.emit(ExtensionEvent::DialogRequested { id, dialog, answer });
        let with_intent = PendingDialog::new(self.clone(), id);
        Box::pin(async move {
            let answer = answered.await;
            with_intent.answered();
            answer.unwrap_or(DialogAnswer::Cancelled)
        })
    }

    fn fail(&self, failure: ExtensionFailure) -> BoxFuture<'static, ()> {
        self.emit(ExtensionEvent::Failed(failure));
        Box::pin(std::future::ready(()))
    }

    fn shut_down(&self) {
        self.emit(ExtensionEvent::ShutDown);
    }

    fn editor_text(&self) -> String {
        self.state().screen.editor_text.clone()
    }

    fn screen(&self) -> Option<&dyn ExtensionScreen> {
        Some(self)
    }
}
