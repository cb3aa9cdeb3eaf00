//! A session whose user answers from a script.

use std::collections::VecDeque;
use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use pi_protocol::McpServerStatus;
use secrecy::SecretString;

use crate::servers::{ExtensionServer, McpNoticeLevel, McpSession, SessionToolInfo};

/// Answers dialogs in order; `None` closes one. Without answers every dialog is closed.
#[derive(Default)]
pub(crate) struct ScriptedSession {
    answers: Arc<Mutex<VecDeque<Option<String>>>>,
    titles: Mutex<Vec<String>>,
    notices: Mutex<Vec<String>>,
}

impl ScriptedSession {
    pub(crate) fn new(answers: &[Option<&str>]) -> Self {
        let answers = answers.iter().map(|answer| answer.map(str::to_owned));
        Self {
            answers: Arc::new(Mutex::new(answers.collect())),
            ..Self::default()
        }
    }

    /// Returns the titles of the dialogs.
    pub(crate) fn titles(&self) -> Vec<String> {
        self.titles.lock().clone()
    }

    pub(crate) fn notices(&self) -> Vec<String> {
        self.notices.lock().clone()
    }

    /// Takes an answer when the dialog is polled: one that is replaced before needs none.
    fn answer(&self, title: String) -> BoxFuture<'static, Option<String>> {
        self.titles.lock().push(title);
        let answers = Arc::clone(&self.answers);
        async move { answers.lock().pop_front().flatten() }.boxed()
    }
}

impl McpSession for ScriptedSession {
    fn tools(&self) -> Vec<SessionToolInfo> {
        Vec::new()
    }

    fn active_tools(&self) -> Vec<String> {
        Vec::new()
    }

    fn set_active_tools(&self, _names: &[String]) {}

    fn extension_servers(&self) -> Vec<ExtensionServer> {
        Vec::new()
    }

    fn notify(&self, _level: McpNoticeLevel, message: String) -> BoxFuture<'static, ()> {
        self.notices.lock().push(message);
        std::future::ready(()).boxed()
    }

    /// A list is answered with one of its options; one that starts with the answer is enough.
    fn select(&self, title: String, options: Vec<String>) -> BoxFuture<'static, Option<String>> {
        let answer = self.answer(title);
        async move {
            let answer = answer.await?;
            let mut matching = options.iter().filter(|option| option.starts_with(&answer));
            let Some(option) = matching.next() else {
                panic!("no option is {answer:?}: {options:?}");
            };
            Some(option.clone())
        }
        .boxed()
    }

    fn input(&self, title: String, _placeholder: String) -> BoxFuture<'static, Option<String>> {
        self.answer(title)
    }

    fn has_user(&self) -> bool {
        true
    }

    fn asks_for_text(&self) -> bool {
        true
    }

    fn has_screen(&self) -> bool {
        true
    }

    fn statuses_changed(&self, _servers: Vec<McpServerStatus>) -> BoxFuture<'static, ()> {
        std::future::ready(()).boxed()
    }

    fn provider_token(&self, _provider: &str) -> BoxFuture<'static, Option<SecretString>> {
        std::future::ready(None).boxed()
    }
}
