//! Posts that appear once, and posts that change often.
//!
//! A post whose outcome is unknown is looked up by its key before it is sent again. Changes of the status post are merged
//! to one per second and channel; details of a run are merged in the same way.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

use crate::chat::{ChatError, ChatService, HistoryPosition, NewPost, PostId};

/// Time between two changes of a channel.
const INTERVAL: Duration = Duration::from_secs(1);

/// Calls of one post before it fails.
const ATTEMPTS: u32 = 6;

const FIRST_PAUSE: Duration = Duration::from_millis(500);

/// Details that wait to be posted; more are dropped, since they are also in the session.
const MAX_DETAILS: usize = 256;

/// Calls until it succeeds or fails for good.
pub(crate) async fn retried<T, F>(mut call: impl FnMut() -> F) -> Result<T, ChatError>
where
    F: Future<Output = Result<T, ChatError>>,
{
    let mut pause = FIRST_PAUSE;
    for _ in 1..ATTEMPTS {
        match call().await {
            Err(error) if error.is_temporary() => {
                let wait = match &error {
                    ChatError::RateLimited { wait, .. } => (*wait).max(pause),
                    _ => pause,
                };
                tracing::debug!(%error, "a call to the chat service is repeated");
                tokio::time::sleep(wait).await;
                pause *= 2;
            }
            result => return result,
        }
    }
    call().await
}

/// Posts unless a post with the key exists.
pub(crate) async fn post_once(
    service: &dyn ChatService,
    post: NewPost<'_>,
    after: &HistoryPosition,
    may_exist: bool,
) -> Result<PostId, ChatError> {
    let mut may_exist = may_exist;
    let mut pause = FIRST_PAUSE;
    let mut attempt = 1;
    loop {
        if may_exist && let Some(key) = post.key {
            let find = || service.find_post(post.channel, post.thread, key, after);
            if let Some(found) = retried(find).await? {
                return Ok(found);
            }
        }
        match service.post(post).await {
            Err(error) if error.is_temporary() && attempt < ATTEMPTS => {
                let wait = match &error {
                    // A request that was limited was not executed.
                    ChatError::RateLimited { wait, .. } => (*wait).max(pause),
                    _ => {
                        may_exist = true;
                        pause
                    }
                };
                tokio::time::sleep(wait).await;
                pause *= 2;
                attempt += 1;
            }
            result => return result,
        }
    }
}

/// Splits a text at line ends into parts of at most `limit` characters.
pub(crate) fn split_text(text: &str, limit: usize) -> Vec<String> {
    let mut parts = Vec::new();
    let mut part = String::new();
    let mut length = 0;
    for line in text.split_inclusive('\n') {
        let size = line.chars().count();
        if length > 0 && length + size > limit {
            parts.push(std::mem::take(&mut part));
            length = 0;
        }
        if size <= limit {
            part.push_str(line);
            length += size;
            continue;
        }
        for c in line.chars() {
            if length == limit {
                parts.push(std::mem::take(&mut part));
                length = 0;
            }
            part.push(c);
            length += 1;
        }
    }
    if !part.trim().is_empty() {
        parts.push(part);
    }
    parts
}

/// A post that shows the state of a run.
#[derive(Debug)]
pub(crate) struct StatusPost {
    text: watch::Sender<String>,
    task: JoinHandle<()>,
}

impl StatusPost {
    pub(crate) fn new(service: Arc<dyn ChatService>, channel: String, post: PostId) -> Self {
        let (text, mut changes) = watch::channel(String::new());
        let task = tokio::spawn(async move {
            while changes.changed().await.is_ok() {
                let text = changes.borrow_and_update().clone();
                match service.update(&channel, &post, &text).await {
                    Ok(()) => tokio::time::sleep(INTERVAL).await,
                    Err(ChatError::RateLimited { wait, .. }) => {
                        changes.mark_changed();
                        tokio::time::sleep(wait.max(INTERVAL)).await;
                    }
                    Err(error) => {
                        tracing::debug!(%error, "cannot change the status");
                        tokio::time::sleep(INTERVAL).await;
                    }
                }
            }
        });
        Self { text, task }
    }

    /// Changes the text soon; a later text replaces one that is not shown yet.
    pub(crate) fn show(&self, text: String) {
        self.text.send_replace(text);
    }

    /// Stops changing the post: nothing that was shown follows the final text.
    pub(crate) async fn close(self) {
        self.task.abort();
        if let Err(error) = self.task.await
            && error.is_panic()
        {
            tracing::warn!(%error, "the status was not shown");
        }
    }
}

/// Posts the details of runs in their threads.
#[derive(Debug, Clone)]
pub(crate) struct DetailPosts(mpsc::Sender<(PostId, String)>);

impl DetailPosts {
    pub(crate) fn new(service: Arc<dyn ChatService>, channel: String) -> Self {
        let (sender, receiver) = mpsc::channel(MAX_DETAILS);
        tokio::spawn(post_details(service, channel, receiver));
        Self(sender)
    }

    pub(crate) fn post(&self, thread: &PostId, text: String) {
        if self.0.try_send((thread.clone(), text)).is_err() {
            tracing::debug!("details of a run are not posted: too many are waiting");
        }
    }
}

async fn post_details(
    service: Arc<dyn ChatService>,
    channel: String,
    mut receiver: mpsc::Receiver<(PostId, String)>,
) {
    let mut next = receiver.recv().await;
    while let Some((thread, mut text)) = next.take() {
        while let Ok((other, more)) = receiver.try_recv() {
            if other != thread || text.len() + more.len() > service.max_text() / 2 {
                next = Some((other, more));
                break;
            }
            text.push('\n');
            text.push_str(&more);
        }
        for part in split_text(&text, service.max_text()) {
            let post = NewPost {
                channel: &channel,
                thread: Some(&thread),
                text: &part,
                key: None,
                buttons: &[],
            };
            if let Err(error) = retried(|| service.post(post)).await {
                tracing::debug!(%error, "cannot post details");
            }
            tokio::time::sleep(INTERVAL).await;
        }
        if next.is_none() {
            next = receiver.recv().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn long_texts_are_split_at_line_ends() {
        assert_eq!(split_text("ab\ncd\nef", 6), ["ab\ncd\n", "ef"]);
        assert_eq!(split_text("äöüabc\nx", 4), ["äöüa", "bc\nx"]);
        assert_eq!(split_text("", 4), [] as [&str; 0]);
    }
}
