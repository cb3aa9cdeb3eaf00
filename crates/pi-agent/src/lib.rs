//! The agent loop: turns, tool calls, queues and events. No files, no terminal.
//!
//! An [`Agent`] has a transcript, tools and a model, and runs at most one prompt at a time. The
//! loop is a pure state machine; a driver performs its effects and sends every event to the
//! [`AgentListener`]s. Applications customize the loop with [`AgentHooks`].
//!
//! ```
//! use std::sync::Arc;
//! use pi_agent::{Agent, AgentOptions};
//! use pi_protocol::{Message, Model};
//! use pi_providers::{AssistantStream, StreamOptions};
//!
//! # async fn example(model: Arc<Model>) -> Result<(), pi_agent::AgentError> {
//! let models = |model: Arc<Model>, _messages: Arc<[Message]>, _options: StreamOptions| {
//!     AssistantStream::produce(&model, 0, |mut writer| async move {
//!         let block = writer.message().open_text();
//!         writer.message().append_text(block, "Hello");
//!         writer.message().close_text(block);
//!         writer.complete().await;
//!     })
//! };
//! let agent = Agent::new(AgentOptions::new(Arc::new(models), model));
//! agent.prompt_text("Hi", Vec::new()).await?;
//! assert_eq!(agent.state().messages.len(), 2);
//! # Ok(())
//! # }
//! ```

mod agent;
mod driver;
mod error;
mod event;
mod hooks;
mod machine;
mod queue;
mod request_phase;
mod tool;
mod turn;
mod validation;

pub use agent::{Agent, AgentListener, AgentOptions, AgentState, ModelStream, Subscription};
pub use error::{AgentError, HookError};
pub use event::{AgentEvent, SharedMessage};
pub use hooks::{
    AgentHooks, FinishedToolCall, LoopContext, LoopUpdate, NoHooks, PendingToolCall,
    ToolCallVerdict, ToolResultUpdate, model_message,
};
pub use queue::{MessageQueue, QueueMode};
pub use tool::{ExecutionMode, Tool, ToolError, ToolOutput, UpdateSink};
pub use turn::{FinishedTurn, TurnDecision};
pub use validation::{ArgumentError, validate_arguments};
