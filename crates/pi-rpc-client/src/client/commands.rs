//! One method per command; `model_commands.rs` has those for models.

use pi_protocol::{
    Ack, AgentMessage, Command, Delivery, ImageContent, QueueMode, QueuedTexts, SessionStats,
};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::model_commands::RpcModelCommands;
use super::{RpcClient, RpcClientError};
use crate::response::{
    BashResponse, CompactResponse, EntriesResponse, ForkResponse, MessagesResponse,
    ReplaceResponse, RpcForkMessage, RpcSessionState,
};

impl RpcClient {
    /// Sends a message; returns once the agent has accepted it.
    pub async fn prompt(
        &self,
        message: impl Into<String>,
        images: Vec<ImageContent>,
    ) -> Result<Ack, RpcClientError> {
        self.request_as(Command::Prompt {
            message: message.into(),
            images,
            streaming_behavior: None,
        })
        .await
    }

    /// Sends a message that is queued if the agent is busy.
    pub async fn prompt_or_queue(
        &self,
        message: impl Into<String>,
        images: Vec<ImageContent>,
        behavior: Delivery,
    ) -> Result<Ack, RpcClientError> {
        self.request_as(Command::Prompt {
            message: message.into(),
            images,
            streaming_behavior: Some(behavior),
        })
        .await
    }

    /// Queues a message to be delivered after the current tool calls.
    pub async fn steer(
        &self,
        message: impl Into<String>,
        images: Vec<ImageContent>,
    ) -> Result<Ack, RpcClientError> {
        let message = message.into();
        self.request_as(Command::Steer { message, images }).await
    }

    /// Queues a message for the point where the agent would stop.
    pub async fn follow_up(
        &self,
        message: impl Into<String>,
        images: Vec<ImageContent>,
    ) -> Result<Ack, RpcClientError> {
        let message = message.into();
        self.request_as(Command::FollowUp { message, images }).await
    }

    /// Aborts the current activity; returns when the agent is idle.
    pub async fn abort(&self) -> Result<(), RpcClientError> {
        self.send_command(Command::Abort).await
    }

    pub async fn clear_queue(&self) -> Result<QueuedTexts, RpcClientError> {
        self.request_as(Command::ClearQueue).await
    }

    pub async fn new_session(
        &self,
        parent_session: Option<String>,
    ) -> Result<ReplaceResponse, RpcClientError> {
        self.request_as(Command::NewSession { parent_session })
            .await
    }

    pub async fn state(&self) -> Result<RpcSessionState, RpcClientError> {
        self.request_as(Command::GetState).await
    }

    /// Returns the messages in the model's context.
    pub async fn messages(&self) -> Result<Vec<AgentMessage>, RpcClientError> {
        let list: MessagesResponse = self.request_as(Command::GetMessages).await?;
        Ok(list.messages)
    }

    /// Returns the commands for models and thinking levels.
    pub fn models(&self) -> RpcModelCommands<'_> {
        RpcModelCommands(self)
    }

    pub async fn set_steering_mode(&self, mode: QueueMode) -> Result<(), RpcClientError> {
        self.send_command(Command::SetSteeringMode { mode }).await
    }

    pub async fn set_follow_up_mode(&self, mode: QueueMode) -> Result<(), RpcClientError> {
        self.send_command(Command::SetFollowUpMode { mode }).await
    }

    pub async fn compact(
        &self,
        custom_instructions: Option<String>,
    ) -> Result<CompactResponse, RpcClientError> {
        self.request_as(Command::Compact {
            custom_instructions,
            preview: false,
        })
        .await
    }

    pub async fn set_auto_compaction(&self, enabled: bool) -> Result<(), RpcClientError> {
        self.send_command(Command::SetAutoCompaction { enabled })
            .await
    }

    pub async fn set_auto_retry(&self, enabled: bool) -> Result<(), RpcClientError> {
        self.send_command(Command::SetAutoRetry { enabled }).await
    }

    /// Cancels a pending retry.
    pub async fn abort_retry(&self) -> Result<(), RpcClientError> {
        self.send_command(Command::AbortRetry).await
    }

    /// Runs a shell command for the user.
    pub async fn bash(&self, command: impl Into<String>) -> Result<BashResponse, RpcClientError> {
        self.request_as(Command::Bash {
            command: command.into(),
            exclude_from_context: None,
        })
        .await
    }

    pub async fn abort_bash(&self) -> Result<(), RpcClientError> {
        self.send_command(Command::AbortBash).await
    }

    pub async fn session_stats(&self) -> Result<SessionStats, RpcClientError> {
        self.request_as(Command::GetSessionStats).await
    }

    /// Exports the session as HTML and returns the path.
    pub async fn export_html(&self, output_path: Option<String>) -> Result<String, RpcClientError> {
        #[derive(Deserialize)]
        struct Data {
            path: String,
        }
        let data: Data = self.request_as(Command::ExportHtml { output_path }).await?;
        Ok(data.path)
    }

    pub async fn switch_session(
        &self,
        session_path: impl Into<String>,
    ) -> Result<ReplaceResponse, RpcClientError> {
        let session_path = session_path.into();
        self.request_as(Command::SwitchSession { session_path })
            .await
    }

    /// Starts a session that branches off before a user message.
    pub async fn fork(&self, entry_id: impl Into<String>) -> Result<ForkResponse, RpcClientError> {
        let entry_id = entry_id.into();
        self.request_as(Command::Fork { entry_id }).await
    }

    /// Starts a session that is a copy of the current branch.
    pub async fn clone_session(&self) -> Result<ReplaceResponse, RpcClientError> {
        self.request_as(Command::Clone).await
    }

    /// Returns the user messages at which the session can be forked.
    pub async fn fork_messages(&self) -> Result<Vec<RpcForkMessage>, RpcClientError> {
        #[derive(Deserialize)]
        struct Data {
            messages: Vec<RpcForkMessage>,
        }
        let data: Data = self.request_as(Command::GetForkMessages).await?;
        Ok(data.messages)
    }

    /// Returns the entries of the session file, or only those after `since`.
    pub async fn entries(&self, since: Option<String>) -> Result<EntriesResponse, RpcClientError> {
        self.request_as(Command::GetEntries { since }).await
    }

    pub async fn tree(&self) -> Result<Value, RpcClientError> {
        self.request(&Command::GetTree).await
    }

    /// Returns the text of the last model response.
    pub async fn last_assistant_text(&self) -> Result<Option<String>, RpcClientError> {
        #[derive(Deserialize)]
        struct Data {
            #[serde(default)]
            text: Option<String>,
        }
        let data: Data = self.request_as(Command::GetLastAssistantText).await?;
        Ok(data.text)
    }

    pub async fn set_session_name(&self, name: impl Into<String>) -> Result<(), RpcClientError> {
        let name = name.into();
        self.send_command(Command::SetSessionName { name }).await
    }

    /// Returns the available slash commands.
    pub async fn commands(&self) -> Result<Vec<Value>, RpcClientError> {
        #[derive(Deserialize)]
        struct Data {
            commands: Vec<Value>,
        }
        let data: Data = self.request_as(Command::GetCommands).await?;
        Ok(data.commands)
    }

    pub(super) async fn send_command(&self, command: Command) -> Result<(), RpcClientError> {
        self.request(&command).await.map(drop)
    }

    pub(super) async fn request_as<T: DeserializeOwned>(
        &self,
        command: Command,
    ) -> Result<T, RpcClientError> {
        let data = self.request(&command).await?;
        Ok(serde_json::from_value(data)?)
    }
}
