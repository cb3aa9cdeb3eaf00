//! The one growing value behind a stream, as its readers see it: [`LiveMessage`].
//!
//! Work per delta is constant: text is appended in place, tool arguments are collected as JSON
//! text and parsed only when the call ends or somebody asks for a [`LiveMessage::snapshot`].
//! Decoders write it through the [`MessageBuilder`].

mod builder;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub use self::builder::MessageBuilder;
use crate::content::AssistantBlock;
use crate::message::AssistantMessage;
use crate::partial_json;
use crate::usage::Usage;

/// A cheap handle to a message that is still being written.
#[derive(Debug, Clone)]
pub struct LiveMessage(Arc<Mutex<Draft>>);

#[derive(Debug)]
struct Draft {
    message: AssistantMessage,
    /// JSON text of tool calls that have not ended, by block index.
    open_arguments: Vec<(usize, String)>,
    /// Ended tool calls whose text is not the whole of an object, by block index.
    broken_calls: Vec<usize>,
    /// The message that is read in place of this one, when another stream took over.
    followed: Option<LiveMessage>,
}

impl LiveMessage {
    fn new(message: AssistantMessage) -> Self {
        Self(Arc::new(Mutex::new(Draft {
            message,
            open_arguments: Vec::new(),
            broken_calls: Vec::new(),
            followed: None,
        })))
    }

    /// Makes readers of this handle read another message from now on.
    pub(crate) fn follow(&self, other: Self) {
        self.lock().followed = Some(other);
    }

    fn followed(&self) -> Option<Self> {
        self.lock().followed.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Draft> {
        // A panic elsewhere cannot leave the draft half-written in a way that matters here.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Copies the message as it is now, with the arguments of open tool calls as far as they can
    /// be read.
    pub fn snapshot(&self) -> AssistantMessage {
        if let Some(other) = self.followed() {
            return other.snapshot();
        }
        let draft = self.lock();
        let mut message = draft.message.clone();
        for (index, text) in &draft.open_arguments {
            if let Some(AssistantBlock::ToolCall(call)) = message.content.get_mut(*index) {
                call.arguments = partial_json::parse_object(text);
            }
        }
        message
    }

    /// Looks at the message without copying it. The arguments of open tool calls are not filled in.
    pub fn read<R>(&self, look: impl FnOnce(&AssistantMessage) -> R) -> R {
        if let Some(other) = self.followed() {
            return other.read(look);
        }
        look(&self.lock().message)
    }

    /// Returns the usage reported so far.
    pub fn usage(&self) -> Usage {
        self.read(|message| message.usage.clone())
    }
}
