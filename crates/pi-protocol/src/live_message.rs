//! [`LiveMessage`], a shared handle to a message that is still streaming.
//!
//! The cost per delta is constant: text is appended in place, tool arguments are collected as JSON
//! text and parsed only when the call ends or a [`LiveMessage::snapshot`] is taken. Decoders write
//! through the [`MessageBuilder`].

mod builder;
mod call_ids;
mod remote;

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};

pub use self::builder::MessageBuilder;
use crate::content::AssistantBlock;
use crate::message::AssistantMessage;
use crate::partial_json;
use crate::usage::Usage;

/// A cheap handle to a message that is still being written.
#[derive(Debug, Clone, Default)]
pub struct LiveMessage(Arc<Mutex<Draft>>);

#[derive(Debug, Default)]
struct Draft {
    message: AssistantMessage,
    /// JSON text of open tool calls, by block index.
    open_arguments: BTreeMap<usize, String>,
    /// Closed tool calls whose text is not a complete JSON object, by block index.
    incomplete_calls: Vec<usize>,
    /// The usage of the message when it was last read.
    shared_usage: Arc<Usage>,
    /// The message to read instead of this one, after another stream took over.
    replacement: Option<LiveMessage>,
}

impl LiveMessage {
    fn new(message: AssistantMessage) -> Self {
        Self(Arc::new(Mutex::new(Draft {
            message,
            open_arguments: BTreeMap::new(),
            incomplete_calls: Vec::new(),
            shared_usage: Arc::default(),
            replacement: None,
        })))
    }

    /// Redirects this handle to another message.
    pub fn redirect_to(&self, other: Self) {
        self.lock().replacement = Some(other);
    }

    fn replacement(&self) -> Option<Self> {
        self.lock().replacement.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Draft> {
        self.0.lock()
    }

    /// Copies the message as it is now. The arguments of open tool calls are parsed as far as
    /// possible.
    pub fn snapshot(&self) -> AssistantMessage {
        if let Some(other) = self.replacement() {
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

    /// Reads the message without copying it. The arguments of open tool calls are not filled in.
    pub fn read<R>(&self, read: impl FnOnce(&AssistantMessage) -> R) -> R {
        if let Some(other) = self.replacement() {
            return other.read(read);
        }
        read(&self.lock().message)
    }

    /// Returns the usage so far. It changes a few times per response, and every update carries it.
    pub fn usage(&self) -> Arc<Usage> {
        if let Some(other) = self.replacement() {
            return other.usage();
        }
        let mut draft = self.lock();
        if *draft.shared_usage != draft.message.usage {
            draft.shared_usage = Arc::new(draft.message.usage.clone());
        }
        Arc::clone(&draft.shared_usage)
    }
}
