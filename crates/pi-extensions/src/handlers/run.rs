//! Handles calls about the run of the current session.

use std::sync::Arc;

use pi_ext::HostError;
use pi_protocol::{CompactionOutcome, ContextUsage, MessageContent};
use serde_json::Value;

use super::Caller;
use crate::calls::{Pending, RunCalls};
use crate::front_end::ExtensionFailure;
use crate::send_message::{DraftData, SendOptions};

impl RunCalls for Caller<'_> {
    fn is_idle(&self) -> Result<bool, HostError> {
        Ok(self.bridge.session()?.is_idle())
    }

    fn has_pending_messages(&self) -> Result<bool, HostError> {
        Ok(self.bridge.session()?.pending_message_count() > 0)
    }

    fn context_usage(&self) -> Result<Option<ContextUsage>, HostError> {
        self.bridge.session()?.context_usage()
    }

    fn system_prompt(&self) -> Result<String, HostError> {
        Ok(self.bridge.session()?.system_prompt())
    }

    fn system_prompt_options(&self) -> Result<Value, HostError> {
        Ok(self.bridge.prompt_options(&*self.bridge.session()?))
    }

    fn abort(&self) -> Result<(), HostError> {
        let session = self.bridge.session()?;
        self.bridge.begin(async move { session.abort().await });
        Ok(())
    }

    fn wait_for_idle(&self) -> Result<Pending<()>, HostError> {
        let session = self.bridge.session()?;
        Ok(self.bridge.spawn_on_runtime(async move {
            session.wait_for_idle().await;
            Ok(())
        }))
    }

    fn compact(
        &self,
        instructions: Option<String>,
    ) -> Result<Pending<CompactionOutcome>, HostError> {
        let session = self.bridge.session()?;
        let work = async move { session.compact(instructions).await };
        Ok(self.bridge.spawn_on_runtime(work))
    }

    fn send_message(&self, message: DraftData, options: SendOptions) -> Result<(), HostError> {
        let session = self.bridge.session()?;
        let ui = Arc::clone(&self.bridge.ui);
        self.bridge.begin(async move {
            if let Err(error) = session.send_message(message, options).await {
                ui.report_failure(failure("sendMessage", &error)).await;
            }
        });
        Ok(())
    }

    fn send_user_message(
        &self,
        content: MessageContent,
        options: SendOptions,
    ) -> Result<(), HostError> {
        let session = self.bridge.session()?;
        let ui = Arc::clone(&self.bridge.ui);
        self.bridge.begin(async move {
            if let Err(error) = session.send_user_message(content, options).await {
                ui.report_failure(failure("sendUserMessage", &error)).await;
            }
        });
        Ok(())
    }

    fn deliver_message(
        &self,
        message: DraftData,
        options: SendOptions,
    ) -> Result<Pending<()>, HostError> {
        let session = self.bridge.session()?;
        let work = async move { session.send_message(message, options).await };
        Ok(self.bridge.spawn_on_runtime(work))
    }

    fn deliver_user_message(
        &self,
        content: MessageContent,
        options: SendOptions,
    ) -> Result<Pending<()>, HostError> {
        let session = self.bridge.session()?;
        let work = async move { session.send_user_message(content, options).await };
        Ok(self.bridge.spawn_on_runtime(work))
    }
}

fn failure(event: &str, error: &HostError) -> ExtensionFailure {
    ExtensionFailure {
        extension: None,
        event: event.to_owned(),
        error: error.to_string(),
        stack: None,
    }
}
