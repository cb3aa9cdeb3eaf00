//! What the machine wants done.

use pi_ai::ToolCall;
use pi_ai::json::JsonObject;

use crate::event::AgentEvent;
use crate::turn::FinishedTurn;

/// Something for the driver to do, in order. Effects other than `Emit` and `Execute` have exactly
/// one answer, and the machine waits for it.
#[derive(Debug, Clone)]
pub(crate) enum Effect {
    /// Tell the listeners, and wait for them.
    Emit(AgentEvent),
    /// Answer with `Resumed` once everything before is done: the point where queues are looked at,
    /// after listeners had their chance to fill them.
    Resume,
    /// Ask the hook and answer with `NextTurnPrepared`.
    PrepareNextTurn,
    /// Ask the hook and answer with `RequestPrepared`.
    PrepareRequest,
    /// Ask the model and answer with `Stream` events, the last one terminal.
    Stream,
    /// Check a call and answer with `Preflighted`.
    Preflight(ToolCall),
    /// Run a call and answer with `ToolUpdated` and one `ToolFinished`; others may run beside it.
    Execute {
        /// The call's place in the batch.
        index: usize,
        call: ToolCall,
        arguments: JsonObject,
    },
    /// Ask the hook and answer with `TurnFinished`.
    FinishTurn(FinishedTurn),
    /// The run is over; answer with `Settled`.
    Finish,
}
