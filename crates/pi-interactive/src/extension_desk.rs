//! Where extensions and the screen meet.
//!
//! Extensions speak on a thread of their own, the screen on another; neither waits. What extensions want
//! is noted here as news for the application, what they may know of the screen is kept here for
//! them, and what their components must be told or asked is work for a task beside both.

mod news;
mod screen;
mod surfaces;
mod work;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use futures_util::future::BoxFuture;
use pi_ai::Env;
use pi_config::{AgentDir, SettingsOverrides};
use pi_runtime::{
    DialogAnswer, ExtensionDialog, ExtensionFailure, ExtensionLink, ExtensionMode, ExtensionNotice,
    ExtensionScreen, ExtensionUi,
};
use tokio::sync::{Notify, oneshot};

pub(crate) use news::{DialogId, Drawing, News};
pub(crate) use screen::{question, select_item};
pub(crate) use surfaces::Subject;
pub(crate) use work::Task;

use news::{Asking, NewsQueue};
use screen::Known;
use surfaces::Surfaces;
use work::Backlog;

use crate::extension_question;
use crate::intent::{Answer, Intent};
use crate::lone_dialog::Beforehand;

/// The place where extensions and the screen meet; clones are the same place.
#[derive(Clone, Default)]
pub struct ExtensionDesk(Arc<Inner>);

#[derive(Default)]
struct Inner {
    /// How to ask before there is an application.
    beforehand: Option<Beforehand>,
    has_application: AtomicBool,
    state: Mutex<State>,
    news: Notify,
    /// Wakes the task that talks to components.
    work: Notify,
}

#[derive(Default)]
struct State {
    link: Option<ExtensionLink>,
    news: NewsQueue,
    backlog: Backlog,
    surfaces: Surfaces,
    known: Known,
    next_dialog: DialogId,
    /// Rows of the transcript that were numbered.
    rows: u64,
    /// Counts how often other extensions came.
    epoch: u64,
}

impl std::fmt::Debug for ExtensionDesk {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("ExtensionDesk")
    }
}

impl ExtensionDesk {
    /// Makes a desk for the user of this directory and the settings of this run, who can be asked before the application runs.
    pub fn new(agent_dir: AgentDir, env: Env, run_settings: SettingsOverrides) -> Self {
        Self(Arc::new(Inner {
            beforehand: Some(Beforehand {
                agent_dir,
                env,
                run_settings,
            }),
            ..Inner::default()
        }))
    }

    /// Brings everything to the application from here on.
    pub(crate) fn use_application(&self) {
        self.0.has_application.store(true, Ordering::Relaxed);
    }

    /// Asks on a screen of its own, where the application does not run yet.
    fn ask_alone(&self, dialog: &ExtensionDialog) -> Option<BoxFuture<'static, DialogAnswer>> {
        if self.0.has_application.load(Ordering::Relaxed) {
            return None;
        }
        let beforehand = self.0.beforehand.clone()?;
        // Nothing counts the time down on that screen.
        let dialog = ExtensionDialog {
            timeout: None,
            ..dialog.clone()
        };
        Some(Box::pin(async move {
            let cwd = std::env::current_dir().unwrap_or_default();
            let make = |look| extension_question::dialog(&dialog, look, Instant::now());
            let read = |intent| match intent {
                Intent::Answer(answer) => Some(answer),
                _ => None,
            };
            match beforehand.ask(&cwd, make, read).await {
                Ok(answer) => {
                    let answer = answer.unwrap_or(Answer::Dismissed);
                    extension_question::given(&dialog.question, answer)
                }
                Err(error) => {
                    tracing::warn!(%error, "nobody could be asked what an extension wants to know");
                    DialogAnswer::Cancelled
                }
            }
        }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
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
        self.0.news.notified().await;
    }

    /// Returns the news.
    pub(crate) fn take_news(&self) -> Vec<News> {
        self.state().news.take()
    }

    fn tell_news(&self, news: News) {
        self.state().news.push(news);
        self.0.news.notify_one();
    }

    /// Has a component told something, in the order in which things are said here.
    pub(crate) fn say(&self, task: Task) {
        let mut state = self.state();
        if state.link.is_some() {
            state.backlog.push(task);
            self.0.work.notify_one();
        }
    }
}

impl ExtensionUi for ExtensionDesk {
    fn mode(&self) -> ExtensionMode {
        ExtensionMode::Terminal
    }

    fn tell(&self, notice: ExtensionNotice) -> BoxFuture<'static, ()> {
        {
            let mut state = self.state();
            match &notice {
                ExtensionNotice::Status { key, text } => state.known.set_status(key, text.clone()),
                ExtensionNotice::EditorText { text } => state.known.editor_text.clone_from(text),
                _ => {}
            }
        }
        self.tell_news(News::Notice(notice));
        Box::pin(std::future::ready(()))
    }

    fn ask(&self, dialog: ExtensionDialog) -> BoxFuture<'static, DialogAnswer> {
        if let Some(asking) = self.ask_alone(&dialog) {
            return asking;
        }
        let (answer, answered) = oneshot::channel();
        let id = {
            let mut state = self.state();
            state.next_dialog = state.next_dialog.next();
            state.next_dialog
        };
        self.tell_news(News::Asked { id, dialog, answer });
        let asking = Asking::new(self.clone(), id);
        Box::pin(async move {
            let answer = answered.await;
            asking.answered();
            answer.unwrap_or(DialogAnswer::Cancelled)
        })
    }

    fn fail(&self, failure: ExtensionFailure) -> BoxFuture<'static, ()> {
        self.tell_news(News::Failed(failure));
        Box::pin(std::future::ready(()))
    }

    fn shut_down(&self) {
        self.tell_news(News::ShutDown);
    }

    fn editor_text(&self) -> String {
        self.state().known.editor_text.clone()
    }

    fn screen(&self) -> Option<&dyn ExtensionScreen> {
        Some(self)
    }
}
