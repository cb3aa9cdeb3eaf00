//! Calls of clients without a handshake that wait for answers of the user.
//!
//! Such a client is asked with the result of its call, which says what is needed and how the call is named. It sends the
//! call again with the answers; until then the session waits.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use pi_protocol::{FormAnswer, JsonRpcError, QuestionForm};
use serde_json::{Map, Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

use super::questions::{AskUser, elicitation};
use super::tools::Progress;

/// How long a call waits to be sent again before it is canceled. Users take their time.
const MAX_WAIT: Duration = Duration::from_hours(1);

/// Questions that a call asks at the same time and that the client does not know yet.
const QUEUED_QUESTIONS: usize = 16;

type CallResult = Result<Value, JsonRpcError>;

/// Calls by the state that clients repeat. Dropping a call cancels it.
#[derive(Default)]
pub(super) struct SuspendedCalls {
    waiting: Arc<Mutex<HashMap<String, CallInProgress>>>,
    tasks: TaskTracker,
    closing: CancellationToken,
}

impl SuspendedCalls {
    /// Starts a call. `run` receives what asks the user, and what cancels the call.
    pub(super) fn start(
        &self,
        progress: Arc<Progress>,
        run: impl FnOnce(Arc<dyn AskUser>, CancellationToken) -> BoxFuture<'static, CallResult>,
    ) -> CallInProgress {
        let (sender, questions) = mpsc::channel(QUEUED_QUESTIONS);
        let asker = Arc::new(ResultAsker {
            questions: sender,
            last_key: AtomicU64::new(0),
        });
        let cancel = CancellationToken::new();
        let running = self.tasks.spawn(run(asker, cancel.clone()));
        CallInProgress {
            questions,
            open: Vec::new(),
            running,
            progress,
            _cancel: cancel.drop_guard(),
        }
    }

    /// Returns the call that a client sends again, with the answers to its questions.
    pub(super) fn resume(&self, state: &Value, params: &Value) -> Option<CallInProgress> {
        let mut call = self.waiting.lock().remove(state.as_str()?)?;
        if let Some(Value::Object(answers)) = params.get("inputResponses") {
            call.answer(answers);
        }
        Some(call)
    }

    /// Waits for the result of a call, or until it asks the user.
    pub(super) async fn advance(
        &self,
        mut call: CallInProgress,
        cancel: &CancellationToken,
    ) -> CallResult {
        let Some(step) = cancel.run_until_cancelled(call.next()).await else {
            // No response is sent.
            return Err(JsonRpcError::internal("the call was canceled"));
        };
        match step {
            Step::Ended(result) => result,
            Step::Asks(requests) => {
                // The response is the end of this request.
                call.progress.redirect(None);
                let state = uuid::Uuid::new_v4().to_string();
                self.waiting.lock().insert(state.clone(), call);
                self.cancel_later(state.clone());
                Ok(json!({
                    "resultType": "input_required",
                    "inputRequests": requests,
                    "requestState": state,
                }))
            }
        }
    }

    fn cancel_later(&self, state: String) {
        let waiting = Arc::downgrade(&self.waiting);
        let closing = self.closing.clone();
        self.tasks.spawn(async move {
            let expiring = tokio::time::sleep(MAX_WAIT);
            closing.run_until_cancelled(expiring).await;
            if let Some(waiting) = waiting.upgrade() {
                let expired = waiting.lock().remove(&state);
                drop(expired);
            }
        });
    }

    /// Cancels the calls that wait, and waits for their end.
    pub(super) async fn close(&self) {
        self.closing.cancel();
        self.waiting.lock().clear();
        self.tasks.close();
        self.tasks.wait().await;
    }
}

/// A call that may ask the user; canceled when dropped.
pub(super) struct CallInProgress {
    questions: mpsc::Receiver<Question>,
    /// Questions without an answer.
    open: Vec<Question>,
    running: JoinHandle<CallResult>,
    pub(super) progress: Arc<Progress>,
    _cancel: DropGuard,
}

struct Question {
    key: String,
    form: QuestionForm,
    answer: oneshot::Sender<FormAnswer>,
}

enum Step {
    Ended(CallResult),
    /// The questions, by their keys.
    Asks(Map<String, Value>),
}

impl CallInProgress {
    fn answer(&mut self, answers: &Map<String, Value>) {
        for question in std::mem::take(&mut self.open) {
            match answers.get(&question.key) {
                // The question may have been withdrawn.
                Some(answer) => drop(question.answer.send(FormAnswer::of(answer))),
                None => self.open.push(question),
            }
        }
    }

    /// Waits for the next step. A question that the client did not answer is asked again.
    async fn next(&mut self) -> Step {
        loop {
            while let Ok(question) = self.questions.try_recv() {
                self.open.push(question);
            }
            self.open.retain(|question| !question.answer.is_closed());
            if !self.open.is_empty() {
                let requests = self.open.iter().map(|question| {
                    let params = elicitation(question.form.clone());
                    let request = json!({"method": "elicitation/create", "params": params});
                    (question.key.clone(), request)
                });
                return Step::Asks(requests.collect());
            }
            tokio::select! {
                biased;
                ended = &mut self.running => {
                    let failed = |error| Err(JsonRpcError::internal(format!("the call failed: {error}")));
                    return Step::Ended(ended.unwrap_or_else(failed));
                }
                Some(question) = self.questions.recv() => self.open.push(question),
            }
        }
    }
}

/// Asks with the result of a call.
struct ResultAsker {
    questions: mpsc::Sender<Question>,
    last_key: AtomicU64,
}

impl AskUser for ResultAsker {
    fn ask(&self, form: QuestionForm) -> BoxFuture<'static, FormAnswer> {
        let key = self.last_key.fetch_add(1, Ordering::Relaxed) + 1;
        let (answer, answered) = oneshot::channel();
        let question = Question {
            key: format!("question-{key}"),
            form,
            answer,
        };
        let questions = self.questions.clone();
        Box::pin(async move {
            // Dropped with the question if the call is canceled.
            questions.send(question).await.ok();
            answered.await.unwrap_or(FormAnswer::Cancelled)
        })
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn progress() -> Arc<Progress> {
        Arc::new(Progress::default())
    }

    /// Asks two questions at once and returns the answers.
    fn asking(
        asker: Arc<dyn AskUser>,
        cancel: CancellationToken,
    ) -> BoxFuture<'static, CallResult> {
        Box::pin(async move {
            let ask = |message: &str| asker.ask(QuestionForm::choice(message, &["a"]));
            let answers = futures_util::future::join(ask("1"), ask("2"));
            match cancel.run_until_cancelled(answers).await {
                Some(answers) => Ok(json!(format!("{answers:?}"))),
                None => Err(JsonRpcError::internal("canceled")),
            }
        })
    }

    #[tokio::test]
    async fn a_call_is_sent_again_until_all_questions_are_answered() {
        let calls = SuspendedCalls::default();
        let cancel = CancellationToken::new();
        let asked = calls.advance(calls.start(progress(), asking), &cancel);
        let asked = asked.await.unwrap();
        assert_eq!(asked["resultType"], "input_required");
        assert_eq!(asked["inputRequests"].as_object().unwrap().len(), 2);
        let answers = json!({"inputResponses": {
            "question-1": {"action": "accept", "content": {"value": "a"}},
            "question-9": {"action": "accept"},
        }});
        let state = &asked["requestState"];
        let call = calls.resume(state, &answers).unwrap();
        // The state names one call once.
        assert!(calls.resume(state, &answers).is_none());
        let asked = calls.advance(call, &cancel).await.unwrap();
        let open: Vec<_> = asked["inputRequests"].as_object().unwrap().keys().collect();
        assert_eq!(open, ["question-2"]);
        let answers = json!({"inputResponses": {"question-2": {"action": "decline"}}});
        let call = calls.resume(&asked["requestState"], &answers).unwrap();
        let result = calls.advance(call, &cancel).await.unwrap();
        assert_eq!(result, json!("(Accepted(String(\"a\")), Declined)"));
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_that_is_not_sent_again_is_canceled() {
        let calls = SuspendedCalls::default();
        let cancel = CancellationToken::new();
        let (ended, end) = oneshot::channel();
        let call = calls.start(progress(), |asker, cancel| {
            Box::pin(async move {
                let answers = asking(asker, CancellationToken::new()).await;
                cancel.cancelled().await;
                ended.send(answers).ok();
                Ok(Value::Null)
            })
        });
        let asked = calls.advance(call, &cancel).await.unwrap();
        let answers = end.await.unwrap().unwrap();
        assert_eq!(answers, json!("(Cancelled, Cancelled)"));
        assert!(calls.resume(&asked["requestState"], &json!({})).is_none());
    }

    #[tokio::test]
    async fn closing_cancels_the_calls_that_wait() {
        let calls = SuspendedCalls::default();
        let cancel = CancellationToken::new();
        let asked = calls.advance(calls.start(progress(), asking), &cancel);
        assert!(asked.await.is_ok());
        calls.close().await;
        assert!(calls.waiting.lock().is_empty());
    }
}
