//! Completion while typing: providers, requests and how replies reach the editor.
//!
//! A provider replies immediately or later, from any thread, through a [`CompletionReply`]. A reply
//! to an outdated request is dropped. The popup belongs to the editor.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::components::SelectItem;

mod combined;
mod command;
mod files;
mod paths;
pub(crate) mod prefix;
mod separator;

pub use combined::CombinedCompletionProvider;
pub use command::CommandCompletion;
use parking_lot::{Mutex, MutexGuard};

/// What triggered a completion request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompletionTrigger {
    /// Typing text that may be completed.
    Typing,
    /// Tab, to complete a path.
    Path,
}

/// A request to a [`CompletionProvider`].
#[derive(Clone, Debug)]
pub struct CompletionRequest {
    /// The complete text, by line.
    pub lines: Vec<Arc<str>>,
    pub line: usize,
    /// Byte offset of the cursor in its line.
    pub offset: usize,
    pub trigger: CompletionTrigger,
}

impl CompletionRequest {
    /// Returns the cursor's line up to the cursor.
    pub fn before_cursor(&self) -> &str {
        self.lines
            .get(self.line)
            .and_then(|line| line.get(..self.offset))
            .unwrap_or_default()
    }
}

/// The matching items and the text they replace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Suggestions {
    /// Matching items, best first.
    pub items: Vec<SelectItem>,
    /// The text before the cursor that an item replaces.
    pub prefix: String,
}

/// A line after a completion was inserted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompletedLine {
    pub line: String,
    /// Byte offset of the cursor in the line.
    pub offset: usize,
}

/// Source of completions.
pub trait CompletionProvider: Send + Sync {
    /// Replies to a request, now or later. Long-running work belongs on another thread and should
    /// poll [`CompletionReply::is_stale`].
    fn suggest(&self, request: CompletionRequest, reply: CompletionReply);

    /// Returns additional characters, besides `@` and `#`, that trigger completion at the start of
    /// a token.
    fn trigger_characters(&self) -> Vec<char> {
        Vec::new()
    }

    /// Whether Tab completes a path here.
    fn completes_path(&self, request: &CompletionRequest) -> bool {
        prefix::allows_path(request.before_cursor())
    }

    /// Replaces `prefix`, which ends at `offset`, with `item` and returns the new line.
    fn complete(
        &self,
        line: &str,
        offset: usize,
        item: &SelectItem,
        prefix: &str,
    ) -> CompletedLine {
        prefix::complete(line, offset, item, prefix)
    }
}

/// Requests completions outside an editor and waits for the reply.
pub async fn request_suggestions(
    provider: &dyn CompletionProvider,
    request: CompletionRequest,
) -> Suggestions {
    let requests = CompletionRequests::default();
    let sent = Arc::new(tokio::sync::Notify::new());
    let notify = Arc::clone(&sent);
    requests.on_reply(move || notify.notify_one());
    provider.suggest(request, requests.start());
    loop {
        if let Some(reply) = requests.reply() {
            return reply;
        }
        sent.notified().await;
    }
}

type Notify = Arc<dyn Fn() + Send + Sync>;

/// Shared slot through which a provider delivers a reply.
#[derive(Default)]
struct ReplySlot {
    current: AtomicU64,
    /// Reply to the current request. Its lock also guards switching to the next request.
    reply: Mutex<Option<Suggestions>>,
    notify: Mutex<Option<Notify>>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock()
}

/// Delivers a reply to the editor. Dropping it without a reply sends empty suggestions.
pub struct CompletionReply {
    slot: Arc<ReplySlot>,
    id: u64,
    sent: bool,
}

impl CompletionReply {
    /// Whether the request has been superseded.
    pub fn is_stale(&self) -> bool {
        self.slot.current.load(Ordering::Acquire) != self.id
    }

    pub fn send(mut self, suggestions: Suggestions) {
        self.reply(suggestions);
    }

    fn reply(&mut self, suggestions: Suggestions) {
        self.sent = true;
        {
            // Hold the lock while comparing IDs, so that a late reply cannot replace the reply to a
            // newer request.
            let mut reply = locked(&self.slot.reply);
            if self.is_stale() {
                return;
            }
            *reply = Some(suggestions);
        }
        let notify = locked(&self.slot.notify).clone();
        if let Some(notify) = notify {
            notify();
        }
    }
}

impl Drop for CompletionReply {
    fn drop(&mut self) {
        if !self.sent {
            self.reply(Suggestions::default());
        }
    }
}

impl fmt::Debug for CompletionReply {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("CompletionReply")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

/// The requesting side: at most one request is current.
#[derive(Clone, Default)]
pub(crate) struct CompletionRequests {
    slot: Arc<ReplySlot>,
}

impl CompletionRequests {
    /// Registers a callback that runs on the replying thread, for example to request a frame.
    pub(crate) fn on_reply(&self, notify: impl Fn() + Send + Sync + 'static) {
        *locked(&self.slot.notify) = Some(Arc::new(notify));
    }

    /// Starts a request and makes any older one stale.
    pub(crate) fn start(&self) -> CompletionReply {
        CompletionReply {
            id: self.cancel(),
            slot: Arc::clone(&self.slot),
            sent: false,
        }
    }

    /// Makes the current request stale and returns the next request ID.
    pub(crate) fn cancel(&self) -> u64 {
        let mut reply = locked(&self.slot.reply);
        *reply = None;
        self.slot.current.fetch_add(1, Ordering::AcqRel) + 1
    }

    /// Takes the reply to the current request, if it has arrived.
    pub(crate) fn reply(&self) -> Option<Suggestions> {
        locked(&self.slot.reply).take()
    }
}

impl fmt::Debug for CompletionRequests {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Questions")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn late_replies_are_dropped() {
        let requests = CompletionRequests::default();
        let first = requests.start();
        let second = requests.start();
        assert!(first.is_stale());
        second.send(Suggestions::default());
        first.send(Suggestions {
            prefix: "late".to_owned(),
            ..Suggestions::default()
        });
        assert_eq!(requests.reply(), Some(Suggestions::default()));
        assert_eq!(requests.reply(), None);
    }

    #[test]
    fn a_canceled_request_has_no_reply() {
        let requests = CompletionRequests::default();
        requests.start().send(Suggestions::default());
        requests.cancel();
        assert_eq!(requests.reply(), None);
    }

    #[test]
    fn dropping_a_reply_sends_empty_suggestions() {
        let requests = CompletionRequests::default();
        drop(requests.start());
        assert_eq!(requests.reply(), Some(Suggestions::default()));
    }
}
