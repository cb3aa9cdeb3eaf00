//! Questions to the user of a client with a handshake: requests that the client answers by their IDs.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures_util::future::BoxFuture;
use parking_lot::{Mutex, MutexGuard};
use pi_protocol::{FormAnswer, JsonRpcError, JsonRpcMessage, QuestionForm};
use serde_json::{Map, Value, json};
use tokio::sync::{mpsc, oneshot};

/// Asks the user of a client.
pub(super) trait AskUser: Send + Sync {
    /// Shows a form. Dropping the future withdraws the question.
    fn ask(&self, form: QuestionForm) -> BoxFuture<'static, FormAnswer>;
}

/// Whether the capabilities of a client include forms. Without modes they do: the first versions had no others.
pub(super) fn has_forms(capabilities: Option<&Value>) -> bool {
    let elicitation = capabilities.and_then(|it| it.get("elicitation"));
    let modes = elicitation.and_then(Value::as_object);
    modes.is_some_and(|modes| modes.is_empty() || modes.contains_key("form"))
}

/// Returns the parameters of `elicitation/create`. Choices are an `enum`, which all versions know.
pub(super) fn elicitation(mut form: QuestionForm) -> Map<String, Value> {
    if let Some(Value::Array(choices)) = form.field.get("oneOf") {
        let texts = |key: &str| -> Vec<Value> {
            let choices = choices.iter().filter_map(|choice| choice.get(key));
            choices.cloned().collect()
        };
        form.field = json!({
            "type": "string",
            "enum": texts("const"),
            "enumNames": texts("title"),
        });
    }
    form.into_params()
}

type PendingRequests = HashMap<u64, oneshot::Sender<Result<Value, JsonRpcError>>>;

/// Requests to a client that wait for a response, by ID.
#[derive(Default)]
pub(super) struct ClientRequests {
    last_id: AtomicU64,
    pending: Mutex<PendingRequests>,
}

impl ClientRequests {
    fn pending(&self) -> MutexGuard<'_, PendingRequests> {
        self.pending.lock()
    }

    /// Passes a response to the request that waits for it; an unknown one is ignored.
    pub(super) fn receive(&self, id: &Value, outcome: Result<Value, JsonRpcError>) {
        let waiting = id.as_u64().and_then(|id| self.pending().remove(&id));
        if let Some(waiting) = waiting {
            // The question may be withdrawn at this moment.
            waiting.send(outcome).ok();
        }
    }
}

/// Asks with requests on the output of a call.
pub(super) struct RequestAsker {
    pub(super) requests: Arc<ClientRequests>,
    pub(super) output: mpsc::Sender<Value>,
}

impl AskUser for RequestAsker {
    fn ask(&self, form: QuestionForm) -> BoxFuture<'static, FormAnswer> {
        let id = self.requests.last_id.fetch_add(1, Ordering::Relaxed) + 1;
        let (sender, receiver) = oneshot::channel();
        self.requests.pending().insert(id, sender);
        let open = OpenRequest {
            requests: Arc::clone(&self.requests),
            output: self.output.clone(),
            id,
            is_answered: false,
        };
        let params = Value::Object(elicitation(form));
        let request = JsonRpcMessage::request(id, "elicitation/create", Some(params));
        Box::pin(async move {
            // Captures it as a whole.
            let mut open = open;
            if open.output.send(request).await.is_err() {
                return FormAnswer::Cancelled;
            }
            let answer = tokio::select! {
                answer = receiver => answer.ok(),
                // The client can no longer see the question.
                () = open.output.closed() => None,
            };
            open.is_answered = answer.is_some();
            match answer {
                Some(Ok(result)) => FormAnswer::of(&result),
                Some(Err(error)) => {
                    tracing::debug!(error = error.message, "the client rejected a form");
                    FormAnswer::Cancelled
                }
                None => FormAnswer::Cancelled,
            }
        })
    }
}

/// A request to the client; withdrawn when dropped without an answer.
struct OpenRequest {
    requests: Arc<ClientRequests>,
    output: mpsc::Sender<Value>,
    id: u64,
    is_answered: bool,
}

impl Drop for OpenRequest {
    fn drop(&mut self) {
        self.requests.pending().remove(&self.id);
        if !self.is_answered {
            let params = json!({"requestId": self.id, "reason": "the question was withdrawn"});
            let message = JsonRpcMessage::notification("notifications/cancelled", Some(params));
            // A client that does not read cannot be notified.
            self.output.try_send(message).ok();
        }
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn forms_need_the_capability() {
        for (capabilities, expected) in [
            (json!({}), false),
            (json!({"elicitation": null}), false),
            (json!({"elicitation": {}}), true),
            (json!({"elicitation": {"form": {}}}), true),
            (json!({"elicitation": {"url": {}}}), false),
        ] {
            assert_eq!(has_forms(Some(&capabilities)), expected, "{capabilities}");
        }
        assert!(!has_forms(None));
    }

    #[test]
    fn choices_are_an_enumeration() {
        let params = elicitation(QuestionForm::choice("Which?", &["a", "b\nc"]));
        assert_eq!(
            params["requestedSchema"]["properties"]["value"],
            json!({"type": "string", "enum": ["a", "b\nc"], "enumNames": ["a", "b c"]})
        );
    }

    #[tokio::test]
    async fn a_response_answers_the_request_with_its_id() {
        let requests = Arc::new(ClientRequests::default());
        let (output, mut messages) = mpsc::channel(8);
        let asker = RequestAsker {
            requests: Arc::clone(&requests),
            output,
        };
        let first = asker.ask(QuestionForm::choice("1", &["a"]));
        let second = tokio::spawn(asker.ask(QuestionForm::choice("2", &["a"])));
        assert_eq!(messages.recv().await.unwrap()["id"], 2);
        for id in [json!("2"), json!(7), json!(null)] {
            requests.receive(&id, Ok(json!({"action": "decline"})));
        }
        let accepted = json!({"action": "accept", "content": {"value": "a"}});
        requests.receive(&json!(2), Ok(accepted));
        assert_eq!(second.await.unwrap(), FormAnswer::Accepted(json!("a")));
        // What is no longer asked is withdrawn.
        drop(first);
        let withdrawn = messages.recv().await.unwrap();
        assert_eq!(withdrawn["method"], "notifications/cancelled");
        assert_eq!(withdrawn["params"]["requestId"], 1);
        assert!(requests.pending().is_empty());
    }

    #[tokio::test]
    async fn a_client_that_is_gone_does_not_answer() {
        let (output, messages) = mpsc::channel(8);
        let asker = RequestAsker {
            requests: Arc::default(),
            output,
        };
        let asking = tokio::spawn(asker.ask(QuestionForm::choice("1", &["a"])));
        drop(messages);
        assert_eq!(asking.await.unwrap(), FormAnswer::Cancelled);
    }
}
