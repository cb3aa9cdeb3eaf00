//! Asks the user of the client whether the files of a project are used.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::future::BoxFuture;
use parking_lot::{Mutex, MutexGuard};
use pi_host::TrustPrompt;
use pi_protocol::{FormAnswer, QuestionForm, TrustChoice};
use serde_json::{Value, json};

use crate::connection::Connection;
use crate::permissions::ask_form;

/// Prompts about projects through the client. Created before the client is connected; cheap to clone.
#[derive(Clone, Default)]
pub struct AcpTrustPrompt(Arc<Mutex<TrustState>>);

#[derive(Default)]
struct TrustState {
    /// Set once the client has advertised forms.
    connection: Option<Connection>,
    /// The requests that open sessions, by their directories.
    requests: HashMap<PathBuf, Value>,
    /// Projects without a decision that the client could not be asked about.
    unasked: HashSet<PathBuf>,
}

impl AcpTrustPrompt {
    fn state(&self) -> MutexGuard<'_, TrustState> {
        self.0.lock()
    }

    pub(crate) fn connect(&self, connection: Connection) {
        self.state().connection = Some(connection);
    }

    pub(crate) fn disconnect(&self) {
        let connection = self.state().connection.take();
        drop(connection);
    }

    /// Names the request that a question about a directory belongs to.
    pub(crate) fn begin(&self, cwd: &Path, request: &Value) {
        let mut state = self.state();
        state.requests.insert(cwd.to_owned(), request.clone());
    }

    /// Returns whether a project remained without a decision because the client could not be asked.
    pub(crate) fn take_unasked(&self, cwd: &Path) -> bool {
        let mut state = self.state();
        state.requests.remove(cwd);
        state.unasked.remove(cwd)
    }

    async fn ask(
        &self,
        cwd: &Path,
        choices: Vec<TrustChoice>,
        changes: Vec<String>,
    ) -> Option<TrustChoice> {
        let question = {
            let mut state = self.state();
            let request = state.requests.get(cwd).cloned();
            let question = state.connection.clone().zip(request);
            if question.is_none() {
                state.unasked.insert(cwd.to_owned());
            }
            question
        };
        let (connection, request) = question?;
        let labels: Vec<String> = choices.iter().map(TrustChoice::label).collect();
        let mut message = format!(
            "Trust {}? It has settings, extensions or other files that can run code.",
            cwd.display()
        );
        if !changes.is_empty() {
            message.push_str("\n\nChanged since you trusted it:\n");
            message.push_str(&changes.join("\n"));
        }
        let scope = json!({ "requestId": request });
        let form = QuestionForm::choice(message, &labels);
        match ask_form(&connection, scope, form).await {
            FormAnswer::Accepted(Value::String(label)) => {
                let mut choices = choices.into_iter();
                choices.find(|choice| choice.label() == label)
            }
            _ => None,
        }
    }
}

impl TrustPrompt for AcpTrustPrompt {
    fn prompt<'a>(
        &'a self,
        cwd: &'a Path,
        choices: Vec<TrustChoice>,
        changes: Vec<String>,
    ) -> BoxFuture<'a, Option<TrustChoice>> {
        Box::pin(self.ask(cwd, choices, changes))
    }
}
