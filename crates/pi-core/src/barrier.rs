//! Points of a run at which its supervisor decides whether it proceeds.

use pi_protocol::{SharedMessage, ToolCall};

/// A point before an effect that costs money or changes files. The session is stored up to here.
#[derive(Debug, Clone, PartialEq)]
pub enum BarrierPoint {
    /// A request is about to be sent.
    Request,
    /// These calls are about to run.
    Tools(Vec<ToolCall>),
    /// The run is over. Nothing is left to stop.
    Settled,
}

/// The last turn of a conversation, if no message follows its response and the results of its calls.
#[derive(Debug, Clone)]
pub struct OpenTurn {
    pub response: SharedMessage,
    /// Whether some of its calls have a result.
    pub has_results: bool,
    /// The calls without a result.
    pub calls: Vec<OpenCall>,
}

#[derive(Debug, Clone)]
pub struct OpenCall {
    pub call: ToolCall,
    /// The call has started before, and its tool may not run twice.
    pub is_interrupted: bool,
}
