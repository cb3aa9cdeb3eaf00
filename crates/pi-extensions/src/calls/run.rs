//! Calls about the run of the current session: state, messages, compaction.

use pi_protocol::{CompactionOutcome, ContextUsage, MessageContent};
use serde_json::Value;

use super::group::calls;
use crate::send_message::{DraftData, SendOptions};

calls! {
    trait RunCalls {
        call "run.isIdle" => is_idle() -> bool;
        call "run.hasPendingMessages" => has_pending_messages() -> bool;
        call "run.contextUsage" => context_usage() -> Option<ContextUsage>;
        call "run.systemPrompt" => system_prompt() -> String;
        /// Returns the inputs of the system prompt.
        call "run.systemPromptOptions" => system_prompt_options() -> Value;
        call "run.abort" => abort();
        request "run.waitForIdle" => wait_for_idle();
        request "run.compact" => compact(
            instructions as "customInstructions": Option<String>,
        ) -> CompactionOutcome;

        /// Sends a custom message; a failure is reported to the user.
        call "run.sendMessage" => send_message(
            message: DraftData,
            options: SendOptions = SendOptions::default(),
        );
        /// Sends a user message; a failure is reported to the user.
        call "run.sendUserMessage" => send_user_message(
            content: MessageContent,
            options: SendOptions = SendOptions::default(),
        );
        /// Sends a custom message; a failure rejects the promise.
        request "run.deliverMessage" => deliver_message(
            message: DraftData,
            options: SendOptions = SendOptions::default(),
        );
        /// Sends a user message; a failure rejects the promise.
        request "run.deliverUserMessage" => deliver_user_message(
            content: MessageContent,
            options: SendOptions = SendOptions::default(),
        );
    }
}
