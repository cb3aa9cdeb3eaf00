//! Questions of a run - permissions and dialogs of extensions - as buttons in its thread.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use pi_host::AgentSession;
use pi_protocol::{Answer, Request, RequestId, RequestKind};

use tokio::sync::RwLock;

use crate::chat::{Button, ButtonChoice, ChatService, NewPost, PostId};
use crate::delivery::retried;

/// Characters of a question.
const MAX_TEXT: usize = 2500;

/// The open questions of a channel.
#[derive(Clone)]
pub(crate) struct Questions(Arc<QuestionsInner>);

struct QuestionsInner {
    service: Arc<dyn ChatService>,
    channel: String,
    time: Duration,
    open: Mutex<HashMap<PostId, OpenQuestion>>,
    /// Read while a question is posted: it may be answered before its post is known here.
    posting: RwLock<()>,
}

struct OpenQuestion {
    session: AgentSession,
    request: RequestId,
    text: String,
    answers: Vec<(String, Answer)>,
}

impl Questions {
    pub(crate) fn new(service: Arc<dyn ChatService>, channel: String, time: Duration) -> Self {
        Self(Arc::new(QuestionsInner {
            service,
            channel,
            time,
            open: Mutex::default(),
            posting: RwLock::default(),
        }))
    }

    /// Posts a question, and denies it if it stays unanswered.
    pub(crate) async fn ask(
        &self,
        session: AgentSession,
        thread: Option<PostId>,
        request: Request,
    ) {
        let (text, answers, denial) = described(&request.kind);
        let buttons: Vec<Button> = answers
            .iter()
            .enumerate()
            .map(|(index, (label, _))| Button {
                label: label.clone(),
                value: index.to_string(),
            })
            .collect();
        let post = NewPost {
            channel: &self.0.channel,
            thread: thread.as_ref(),
            text: &text,
            key: None,
            buttons: &buttons,
        };
        let posting = self.0.posting.read().await;
        let posted = match retried(|| self.0.service.post(post)).await {
            Ok(posted) => posted,
            Err(error) => {
                tracing::warn!(%error, "cannot post a question; it is denied");
                answer(&session, request.id, denial).await;
                return;
            }
        };
        let open = OpenQuestion {
            session: session.clone(),
            request: request.id.clone(),
            text,
            answers,
        };
        self.lock().insert(posted.clone(), open);
        drop(posting);
        if !session
            .requests()
            .pending()
            .iter()
            .any(|it| it.id == request.id)
        {
            // It was answered while it was posted.
            self.resolved(&request.id).await;
            return;
        }
        tokio::time::sleep(self.0.time).await;
        let expired = self.lock().remove(&posted);
        if let Some(question) = expired {
            answer(&session, question.request, denial).await;
            self.close(&posted, &question.text, "Denied: no answer in time")
                .await;
        }
    }

    /// Applies the choice of a user who may answer.
    pub(crate) async fn choose(&self, choice: &ButtonChoice) {
        drop(self.0.posting.write().await);
        let found = self.lock().remove(&choice.post);
        let Some(question) = found else {
            self.close(&choice.post, "", "This question is no longer open")
                .await;
            return;
        };
        let index: Option<usize> = choice.value.parse().ok();
        let Some((label, chosen)) = index.and_then(|index| question.answers.get(index)) else {
            self.lock().insert(choice.post.clone(), question);
            return;
        };
        answer(&question.session, question.request.clone(), chosen.clone()).await;
        let note = format!("{label} - <@{}>", choice.user);
        self.close(&choice.post, &question.text, &note).await;
    }

    /// Closes a question that was answered elsewhere.
    pub(crate) async fn resolved(&self, request: &RequestId) {
        let found = {
            let mut open = self.lock();
            let post = open
                .iter()
                .find(|(_, question)| question.request == *request);
            let post = post.map(|(post, _)| post.clone());
            post.and_then(|post| open.remove(&post).map(|question| (post, question)))
        };
        if let Some((post, question)) = found {
            self.close(&post, &question.text, "Answered").await;
        }
    }

    async fn close(&self, post: &PostId, text: &str, note: &str) {
        let text = format!("{text}\n_{note}_");
        let update = || self.0.service.update(&self.0.channel, post, text.trim());
        if let Err(error) = retried(update).await {
            tracing::debug!(%error, "cannot show how a question ended");
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<PostId, OpenQuestion>> {
        self.0.open.lock()
    }
}

async fn answer(session: &AgentSession, request: RequestId, answer: Answer) {
    if let Err(error) = session.requests().answer(request, answer).await {
        tracing::debug!(?error, "a question was answered already");
    }
}

/// Returns the text of a question, its answers with their labels, and the answer that denies it.
fn described(kind: &RequestKind) -> (String, Vec<(String, Answer)>, Answer) {
    let yes_no = |confirmed| Answer::Confirmed { confirmed };
    let (text, answers, denial) = match kind {
        RequestKind::Approval {
            tool_name,
            args,
            reason,
        } => {
            let args = serde_json::to_string_pretty(args).unwrap_or_default();
            let reason = reason.as_deref().unwrap_or_default();
            let deny = Answer::Deny {
                reason: Some("It was not allowed in the chat.".to_owned()),
            };
            (
                format!(
                    "**Allow {tool_name}?** {reason}\n```\n{}\n```",
                    fenced(&args)
                ),
                vec![
                    ("Allow".to_owned(), Answer::Allow),
                    ("Allow for this session".to_owned(), Answer::AllowForSession),
                    ("Deny".to_owned(), Answer::Deny { reason: None }),
                ],
                deny,
            )
        }
        RequestKind::Select { title, options, .. } => {
            let choose = |option: &String| {
                let value = Answer::Value {
                    value: option.clone(),
                };
                (option.clone(), value)
            };
            (
                format!("**{title}**"),
                options.iter().map(choose).collect(),
                Answer::Cancelled,
            )
        }
        RequestKind::Confirm { title, message, .. } => (
            format!("**{title}**\n{message}"),
            vec![
                ("Yes".to_owned(), yes_no(true)),
                ("No".to_owned(), yes_no(false)),
            ],
            Answer::Cancelled,
        ),
        RequestKind::Input { title, .. } | RequestKind::Editor { title, .. } => (
            format!("**{title}**\nAnswer with `pi attach` in a terminal."),
            vec![("Cancel".to_owned(), Answer::Cancelled)],
            Answer::Cancelled,
        ),
        _ => (
            "A question needs a terminal: answer with `pi attach`.".to_owned(),
            vec![("Cancel".to_owned(), Answer::Cancelled)],
            Answer::Cancelled,
        ),
    };
    (text.chars().take(MAX_TEXT).collect(), answers, denial)
}

/// Returns a text that cannot end a code block.
pub(crate) fn fenced(text: &str) -> String {
    text.replace("```", "'''")
}
