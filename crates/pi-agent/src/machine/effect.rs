//! Effects requested by the machine.

use pi_protocol::ToolCall;
use pi_protocol::json::JsonObject;

use crate::event::AgentEvent;
use crate::turn::FinishedTurn;

/// An action for the driver, performed in order. Every effect except `Emit` and `Execute` is
/// followed by exactly one input, and the machine waits for it.
#[derive(Debug, Clone)]
pub(crate) enum Effect {
    /// Publish to listeners and await them.
    Emit(AgentEvent),
    /// Feed `Resumed` once all previous effects are done. The queues are polled here, after
    /// listeners had the chance to fill them.
    Resume,
    /// Call the hook and feed `NextTurnPrepared`.
    PrepareNextTurn,
    /// Call the hook and feed `RequestPrepared`.
    PrepareRequest,
    /// Call the model and feed `Stream` events; the last one is terminal.
    Stream,
    /// Validate a call and feed `Preflighted`.
    Preflight(ToolCall),
    /// Run a call and feed any number of `ToolUpdated` and one `ToolFinished`; calls may run in
    /// parallel.
    Execute {
        /// The index of the call in the batch.
        index: usize,
        call: ToolCall,
        arguments: JsonObject,
    },
    /// Call the hook and feed `TurnFinished`.
    FinishTurn(FinishedTurn),
    /// The run is over; feed `Settled`.
    Finish,
}
