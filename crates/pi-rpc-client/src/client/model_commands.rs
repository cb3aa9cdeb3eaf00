//! Commands that select models and thinking levels.

use std::sync::Arc;

use pi_protocol::{Command, Model, ThinkingLevel};
use serde::Deserialize;

use super::{RpcClient, RpcClientError};
use crate::response::CycleModelResponse;

/// The model commands of a client, returned by [`RpcClient::models`].
#[derive(Clone, Copy)]
pub struct RpcModelCommands<'client>(pub(super) &'client RpcClient);

impl RpcModelCommands<'_> {
    pub async fn select(
        &self,
        provider: impl Into<String>,
        model_id: impl Into<String>,
    ) -> Result<Arc<Model>, RpcClientError> {
        self.0
            .request_as(Command::SetModel {
                provider: provider.into(),
                model_id: model_id.into(),
            })
            .await
    }

    /// Selects the next model; `None` if there is only one.
    pub async fn cycle(&self) -> Result<Option<CycleModelResponse>, RpcClientError> {
        self.0.request_as(Command::CycleModel).await
    }

    pub async fn available(&self) -> Result<Vec<Arc<Model>>, RpcClientError> {
        #[derive(Deserialize)]
        struct Data {
            models: Vec<Arc<Model>>,
        }
        let data: Data = self.0.request_as(Command::GetAvailableModels).await?;
        Ok(data.models)
    }

    pub async fn set_thinking_level(&self, level: ThinkingLevel) -> Result<(), RpcClientError> {
        let level = level.as_str().to_owned();
        self.0
            .send_command(Command::SetThinkingLevel { level })
            .await
    }

    /// Selects the next thinking level; `None` if the model has no thinking levels.
    pub async fn cycle_thinking_level(&self) -> Result<Option<ThinkingLevel>, RpcClientError> {
        #[derive(Deserialize)]
        struct Data {
            level: ThinkingLevel,
        }
        let data: Option<Data> = self.0.request_as(Command::CycleThinkingLevel).await?;
        Ok(data.map(|data| data.level))
    }

    pub async fn thinking_levels(&self) -> Result<Vec<ThinkingLevel>, RpcClientError> {
        #[derive(Deserialize)]
        struct Data {
            levels: Vec<ThinkingLevel>,
        }
        let data: Data = self
            .0
            .request_as(Command::GetAvailableThinkingLevels)
            .await?;
        Ok(data.levels)
    }
}
