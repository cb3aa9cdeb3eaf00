//! The commands as methods, one each.

use std::sync::Arc;

use pi_agent::QueueMode;
use pi_ai::{AgentMessage, ImageContent, Model, ThinkingLevel};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{RpcClient, RpcClientError};
use crate::command::{RpcCommand, StreamingBehavior};
use crate::response::{
    BashResponse, CompactResponse, CycleModelResponse, EntriesResponse, RpcForkMessage, ForkResponse, MessagesResponse,
    QueuedMessages, ReplaceResponse, RpcSessionState, RpcSessionStats,
};

impl RpcClient {
    /// Sends a message; returns when the agent has taken it.
    pub async fn prompt(
        &self,
        message: impl Into<String>,
        images: Vec<ImageContent>,
    ) -> Result<(), RpcClientError> {
        self.send_command(RpcCommand::Prompt {
            message: message.into(),
            images,
            streaming_behavior: None,
        })
        .await
    }

    /// Sends a message that is queued if the agent works.
    pub async fn prompt_or_queue(
        &self,
        message: impl Into<String>,
        images: Vec<ImageContent>,
        behavior: StreamingBehavior,
    ) -> Result<(), RpcClientError> {
        self.send_command(RpcCommand::Prompt {
            message: message.into(),
            images,
            streaming_behavior: Some(behavior),
        })
        .await
    }

    /// Queues a message for after the tools that run now.
    pub async fn steer(
        &self,
        message: impl Into<String>,
        images: Vec<ImageContent>,
    ) -> Result<(), RpcClientError> {
        let message = message.into();
        self.send_command(RpcCommand::Steer { message, images }).await
    }

    /// Queues a message for when the agent would stop.
    pub async fn follow_up(
        &self,
        message: impl Into<String>,
        images: Vec<ImageContent>,
    ) -> Result<(), RpcClientError> {
        let message = message.into();
        self.send_command(RpcCommand::FollowUp { message, images }).await
    }

    /// Stops what is under way; returns when the agent is idle.
    pub async fn abort(&self) -> Result<(), RpcClientError> {
        self.send_command(RpcCommand::Abort).await
    }

    /// Empties the queues.
    pub async fn clear_queue(&self) -> Result<QueuedMessages, RpcClientError> {
        self.request_as(RpcCommand::ClearQueue).await
    }

    /// Begins a new session.
    pub async fn new_session(
        &self,
        parent_session: Option<String>,
    ) -> Result<ReplaceResponse, RpcClientError> {
        self.request_as(RpcCommand::NewSession { parent_session }).await
    }

    /// Returns how things stand.
    pub async fn state(&self) -> Result<RpcSessionState, RpcClientError> {
        self.request_as(RpcCommand::GetState).await
    }

    /// Returns the messages the model sees.
    pub async fn messages(&self) -> Result<Vec<AgentMessage>, RpcClientError> {
        let list: MessagesResponse = self.request_as(RpcCommand::GetMessages).await?;
        Ok(list.messages)
    }

    /// Chooses a model.
    pub async fn set_model(
        &self,
        provider: impl Into<String>,
        model_id: impl Into<String>,
    ) -> Result<Arc<Model>, RpcClientError> {
        self.request_as(RpcCommand::SetModel {
            provider: provider.into(),
            model_id: model_id.into(),
        })
        .await
    }

    /// Chooses the next model; none if there is only one.
    pub async fn cycle_model(&self) -> Result<Option<CycleModelResponse>, RpcClientError> {
        self.request_as(RpcCommand::CycleModel).await
    }

    /// Returns the models that can be used.
    pub async fn available_models(&self) -> Result<Vec<Arc<Model>>, RpcClientError> {
        #[derive(Deserialize)]
        struct Data {
            models: Vec<Arc<Model>>,
        }
        let data: Data = self.request_as(RpcCommand::GetAvailableModels).await?;
        Ok(data.models)
    }

    /// Chooses a thinking level.
    pub async fn set_thinking_level(&self, level: ThinkingLevel) -> Result<(), RpcClientError> {
        let level = level.as_str().to_owned();
        self.send_command(RpcCommand::SetThinkingLevel { level }).await
    }

    /// Chooses the next thinking level; none if the model does not think.
    pub async fn cycle_thinking_level(&self) -> Result<Option<ThinkingLevel>, RpcClientError> {
        #[derive(Deserialize)]
        struct Data {
            level: ThinkingLevel,
        }
        let data: Option<Data> = self.request_as(RpcCommand::CycleThinkingLevel).await?;
        Ok(data.map(|data| data.level))
    }

    /// Returns the thinking levels the model offers.
    pub async fn available_thinking_levels(&self) -> Result<Vec<ThinkingLevel>, RpcClientError> {
        #[derive(Deserialize)]
        struct Data {
            levels: Vec<ThinkingLevel>,
        }
        let data: Data = self.request_as(RpcCommand::GetAvailableThinkingLevels).await?;
        Ok(data.levels)
    }

    /// Says how steering messages are delivered.
    pub async fn set_steering_mode(&self, mode: QueueMode) -> Result<(), RpcClientError> {
        self.send_command(RpcCommand::SetSteeringMode { mode }).await
    }

    /// Says how follow-up messages are delivered.
    pub async fn set_follow_up_mode(&self, mode: QueueMode) -> Result<(), RpcClientError> {
        self.send_command(RpcCommand::SetFollowUpMode { mode }).await
    }

    /// Summarizes the conversation so far.
    pub async fn compact(
        &self,
        custom_instructions: Option<String>,
    ) -> Result<CompactResponse, RpcClientError> {
        self.request_as(RpcCommand::Compact {
            custom_instructions,
        })
        .await
    }

    /// Turns automatic compaction on or off.
    pub async fn set_auto_compaction(&self, enabled: bool) -> Result<(), RpcClientError> {
        self.send_command(RpcCommand::SetAutoCompaction { enabled }).await
    }

    /// Turns automatic retries on or off.
    pub async fn set_auto_retry(&self, enabled: bool) -> Result<(), RpcClientError> {
        self.send_command(RpcCommand::SetAutoRetry { enabled }).await
    }

    /// Gives up a retry that is waiting.
    pub async fn abort_retry(&self) -> Result<(), RpcClientError> {
        self.send_command(RpcCommand::AbortRetry).await
    }

    /// Runs a command of the user.
    pub async fn bash(&self, command: impl Into<String>) -> Result<BashResponse, RpcClientError> {
        self.request_as(RpcCommand::Bash {
            command: command.into(),
            exclude_from_context: None,
        })
        .await
    }

    /// Stops the user's commands.
    pub async fn abort_bash(&self) -> Result<(), RpcClientError> {
        self.send_command(RpcCommand::AbortBash).await
    }

    /// Returns counts and costs.
    pub async fn session_stats(&self) -> Result<RpcSessionStats, RpcClientError> {
        self.request_as(RpcCommand::GetSessionStats).await
    }

    /// Writes the session as a web page and returns where it is.
    pub async fn export_html(&self, output_path: Option<String>) -> Result<String, RpcClientError> {
        #[derive(Deserialize)]
        struct Data {
            path: String,
        }
        let data: Data = self.request_as(RpcCommand::ExportHtml { output_path }).await?;
        Ok(data.path)
    }

    /// Opens another session file.
    pub async fn switch_session(
        &self,
        session_path: impl Into<String>,
    ) -> Result<ReplaceResponse, RpcClientError> {
        let session_path = session_path.into();
        self.request_as(RpcCommand::SwitchSession { session_path }).await
    }

    /// Begins a session from before a message of the user.
    pub async fn fork(&self, entry_id: impl Into<String>) -> Result<ForkResponse, RpcClientError> {
        let entry_id = entry_id.into();
        self.request_as(RpcCommand::Fork { entry_id }).await
    }

    /// Begins a session that is a copy of this branch.
    pub async fn clone_session(&self) -> Result<ReplaceResponse, RpcClientError> {
        self.request_as(RpcCommand::Clone).await
    }

    /// Returns the messages a fork can begin at.
    pub async fn fork_messages(&self) -> Result<Vec<RpcForkMessage>, RpcClientError> {
        #[derive(Deserialize)]
        struct Data {
            messages: Vec<RpcForkMessage>,
        }
        let data: Data = self.request_as(RpcCommand::GetForkMessages).await?;
        Ok(data.messages)
    }

    /// Returns the entries of the session file, or only those after one of them.
    pub async fn entries(&self, since: Option<String>) -> Result<EntriesResponse, RpcClientError> {
        self.request_as(RpcCommand::GetEntries { since }).await
    }

    /// Returns the entries as a tree.
    pub async fn tree(&self) -> Result<Value, RpcClientError> {
        self.request(&RpcCommand::GetTree).await
    }

    /// Returns the text of the last answer.
    pub async fn last_assistant_text(&self) -> Result<Option<String>, RpcClientError> {
        #[derive(Deserialize)]
        struct Data {
            #[serde(default)]
            text: Option<String>,
        }
        let data: Data = self.request_as(RpcCommand::GetLastAssistantText).await?;
        Ok(data.text)
    }

    /// Names the session.
    pub async fn set_session_name(&self, name: impl Into<String>) -> Result<(), RpcClientError> {
        let name = name.into();
        self.send_command(RpcCommand::SetSessionName { name }).await
    }

    /// Returns what a message may begin with after `/`.
    pub async fn commands(&self) -> Result<Vec<Value>, RpcClientError> {
        #[derive(Deserialize)]
        struct Data {
            commands: Vec<Value>,
        }
        let data: Data = self.request_as(RpcCommand::GetCommands).await?;
        Ok(data.commands)
    }

    async fn send_command(&self, command: RpcCommand) -> Result<(), RpcClientError> {
        self.request(&command).await.map(drop)
    }

    async fn request_as<T: DeserializeOwned>(&self, command: RpcCommand) -> Result<T, RpcClientError> {
        let data = self.request(&command).await?;
        Ok(serde_json::from_value(data)?)
    }
}
