//! Completion while typing: what may be completed, by whom, and how an answer gets back.
//!
//! A provider answers at once or later, from any thread, through a [`CompletionReply`]. An answer that
//! comes after the next question is dropped. The popup belongs to the editor.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::components::SelectItem;

mod combined;
mod command;
mod files;
mod paths;
pub(crate) mod prefix;
mod separator;

pub use combined::CombinedCompletionProvider;
pub use command::CommandCompletion;

/// Why completions are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompletionTrigger {
    /// Something was typed that may be completed.
    Typing,
    /// The user asked for a path, with Tab.
    Path,
}

/// A question to a [`CompletionProvider`].
#[derive(Clone, Debug)]
pub struct CompletionRequest {
    /// The whole text, by line.
    pub lines: Vec<Arc<str>>,
    pub line: usize,
    /// The cursor's byte offset in its line.
    pub offset: usize,
    /// Why completions are wanted.
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

/// An answer: what fits, and the text it would replace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Suggestions {
    /// What fits, best first.
    pub items: Vec<SelectItem>,
    /// The text before the cursor that an item replaces.
    pub prefix: String,
}

/// A line after a completion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompletedLine {
    pub line: String,
    /// The cursor's byte offset in it.
    pub offset: usize,
}

/// Knows what can be completed.
pub trait CompletionProvider: Send + Sync {
    /// Answers a question, now or later. Long work belongs on another thread and watches
    /// [`CompletionReply::is_stale`].
    fn suggest(&self, request: CompletionRequest, reply: CompletionReply);

    /// Returns characters that start a completion at the start of a token, besides `@` and `#`.
    fn trigger_characters(&self) -> Vec<char> {
        Vec::new()
    }

    /// Returns whether Tab shall complete a path here.
    fn completes_path(&self, request: &CompletionRequest) -> bool {
        prefix::allows_path(request.before_cursor())
    }

    /// Returns the line with `item` in place of `prefix`, which ends at `offset`.
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

/// Asks a provider outside of an editor and waits for its answer.
pub async fn request_suggestions(
    provider: &dyn CompletionProvider,
    request: CompletionRequest,
) -> Suggestions {
    let questions = Questions::default();
    let answered = Arc::new(tokio::sync::Notify::new());
    let notify = Arc::clone(&answered);
    questions.on_answer(move || notify.notify_one());
    provider.suggest(request, questions.ask());
    loop {
        if let Some(answer) = questions.answer() {
            return answer;
        }
        answered.notified().await;
    }
}

type Notify = Arc<dyn Fn() + Send + Sync>;

/// The place an answer is left at.
#[derive(Default)]
struct Desk {
    current: AtomicU64,
    /// The answer to the current question. Its lock also guards the change to the next one.
    answer: Mutex<Option<Suggestions>>,
    notify: Mutex<Option<Notify>>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Hands an answer to the editor. Dropped without one, it says that nothing fits.
pub struct CompletionReply {
    desk: Arc<Desk>,
    id: u64,
    answered: bool,
}

impl CompletionReply {
    /// Returns whether nobody waits for this answer any more.
    pub fn is_stale(&self) -> bool {
        self.desk.current.load(Ordering::Acquire) != self.id
    }

    /// Gives the answer.
    pub fn send(mut self, suggestions: Suggestions) {
        self.answer(suggestions);
    }

    fn answer(&mut self, suggestions: Suggestions) {
        self.answered = true;
        {
            // Held while looking, lest a late answer take the place of the one to the next question.
            let mut answer = locked(&self.desk.answer);
            if self.is_stale() {
                return;
            }
            *answer = Some(suggestions);
        }
        let notify = locked(&self.desk.notify).clone();
        if let Some(notify) = notify {
            notify();
        }
    }
}

impl Drop for CompletionReply {
    fn drop(&mut self) {
        if !self.answered {
            self.answer(Suggestions::default());
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

/// The asking side: one question is open at a time.
#[derive(Clone, Default)]
pub(crate) struct Questions {
    desk: Arc<Desk>,
}

impl Questions {
    /// Calls `notify` from the answering thread, so that a frame can be requested.
    pub(crate) fn on_answer(&self, notify: impl Fn() + Send + Sync + 'static) {
        *locked(&self.desk.notify) = Some(Arc::new(notify));
    }

    /// Opens a question; an older one is stale from here on.
    pub(crate) fn ask(&self) -> CompletionReply {
        CompletionReply {
            id: self.withdraw(),
            desk: Arc::clone(&self.desk),
            answered: false,
        }
    }

    /// Makes the open question stale and returns the number of the next one.
    pub(crate) fn withdraw(&self) -> u64 {
        let mut answer = locked(&self.desk.answer);
        *answer = None;
        self.desk.current.fetch_add(1, Ordering::AcqRel) + 1
    }

    /// Returns the answer to the open question, once; nothing that fits is an empty answer.
    pub(crate) fn answer(&self) -> Option<Suggestions> {
        locked(&self.desk.answer).take()
    }
}

impl fmt::Debug for Questions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Questions")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn late_answers_are_dropped() {
        let questions = Questions::default();
        let first = questions.ask();
        let second = questions.ask();
        assert!(first.is_stale());
        second.send(Suggestions::default());
        first.send(Suggestions {
            prefix: "late".to_owned(),
            ..Suggestions::default()
        });
        assert_eq!(questions.answer(), Some(Suggestions::default()));
        assert_eq!(questions.answer(), None);
    }

    #[test]
    fn a_withdrawn_question_has_no_answer() {
        let questions = Questions::default();
        questions.ask().send(Suggestions::default());
        questions.withdraw();
        assert_eq!(questions.answer(), None);
    }

    #[test]
    fn a_forgotten_question_is_answered_with_nothing() {
        let questions = Questions::default();
        drop(questions.ask());
        assert_eq!(questions.answer(), Some(Suggestions::default()));
    }
}
