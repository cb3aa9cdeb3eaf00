//! Client of pi's line protocol: [`RpcClient`] starts a pi process in RPC mode and talks to it. Links no session.
//!
//! ```no_run
//! # async fn example() -> Result<(), pi_rpc_client::RpcClientError> {
//! use std::time::Duration;
//!
//! use pi_rpc_client::{RpcClient, RpcClientOptions};
//!
//! let client = RpcClient::start(&RpcClientOptions::new("pi"))?;
//! let minute = Duration::from_secs(60);
//! client.prompt_and_wait("What does this project do?", Vec::new(), minute).await?;
//! println!("{:?}", client.last_assistant_text().await?);
//! # Ok(())
//! # }
//! ```

mod client;
mod response;

pub use client::{
    RpcClient, RpcClientError, RpcClientOptions, RpcEvent, RpcModelCommands, RpcSubscription,
    RpcSupervisor,
};
pub use response::{
    BashResponse, CompactResponse, CycleModelResponse, EntriesResponse, ForkResponse,
    MessagesResponse, ReplaceResponse, RpcForkMessage, RpcResponse, RpcSessionState,
};
