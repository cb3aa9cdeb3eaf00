//! Barriers: points at which a run waits for the process that supervises it.

use serde::{Deserialize, Serialize};

/// Whether a call may run again if its process was killed during it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReplayPolicy {
    /// The call runs at most once.
    #[default]
    Never,
    /// Running it twice has the same effect as running it once.
    Safe,
}

/// A run waits here until its supervisor responds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "barrier")]
pub struct BarrierLine {
    /// The response repeats it.
    pub id: String,
    /// Size of the session file in bytes; the file is complete up to here.
    pub length: u64,
    #[serde(flatten)]
    pub point: SupervisedPoint,
}

/// What follows a barrier.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "point", rename_all = "snake_case")]
pub enum SupervisedPoint {
    /// A request to the model.
    Request {
        /// Provider and ID of the model that receives it, as `provider/id`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<String>,
        estimate: RequestEstimate,
        usage: SessionUsage,
    },
    /// Calls of tools.
    Tools { calls: Vec<SupervisedCall> },
    /// Nothing: the run is over.
    Settled,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RequestEstimate {
    pub input_tokens: u64,
}

/// What a session has used so far.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct SessionUsage {
    /// In US dollars.
    pub cost: f64,
    /// Number of responses.
    pub turns: u64,
    /// Tokens of all kinds.
    #[serde(default)]
    pub tokens: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SupervisedCall {
    pub id: String,
    pub name: String,
    pub replay: ReplayPolicy,
}

/// A provider has refused a request because there are too many. The run continues: another attempt waits at a barrier.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "rate_limited", rename_all = "camelCase")]
pub struct RateLimitLine {
    /// Provider and ID of the model, as `provider/id`.
    pub model: String,
    /// How long the provider asks to wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
}

/// The decision of the supervisor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "barrier_response")]
pub struct BarrierResponse {
    /// The barrier it responds to.
    pub id: String,
    /// Whether the run proceeds.
    pub ok: bool,
    /// Why it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<BarrierStop>,
}

/// Why a run ends at a barrier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BarrierStop {
    /// Another process owns the session. This one exits and stores nothing more.
    Fenced,
    /// A limit of cost, tokens, turns or time is reached.
    Limit,
    Canceled,
    #[default]
    Paused,
}
