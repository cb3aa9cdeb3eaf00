//! What the scripted model of the demonstration says, and what the user says to it.
//!
//! The words are written in advance; what the tools return is not, and where a command fails the
//! script says so instead of going on as if it had worked.

use pi_ai::{FauxResponse, FauxCall, FauxModel, FauxProvider, Message};
use serde_json::json;

/// The provider's id; it names itself wherever pi shows the model.
pub(super) const PROVIDER: &str = "demo";

/// The model's id.
const MODEL: &str = "scripted";

/// The program the model writes. It runs in every POSIX shell.
const PROGRAM: &str = include_str!("table.sh");

/// What the user says, in order.
pub(super) const PROMPTS: [&str; 2] = [
    "Write a small shell script that prints a multiplication table, and run it.",
    "The columns do not line up. Please fix that and show me a larger table.",
];

/// Creates the model with its whole part.
pub(super) fn model() -> FauxProvider {
    let model = FauxModel {
        reasoning: true,
        ..FauxModel::new(MODEL)
    };
    let provider = FauxProvider::new().with_id(PROVIDER).with_models([model]);
    provider.extend([
        FauxResponse::thinking("Two loops and printf. Plain sh, so that it runs on any machine.")
            .then_text("I will write it in plain shell, so that it runs anywhere.")
            .then_tool_call("write", json!({"path": "table.sh", "content": PROGRAM})),
        FauxResponse::text("Now I run it.")
            .then_tool_call("bash", json!({"command": "sh table.sh 5"})),
        FauxResponse::from_fn(|call| {
            told(
                call,
                "It works: five rows, and each number is the product of its row and its column.",
            )
        }),
        FauxResponse::thinking("Each number takes as many columns as it has digits.")
            .then_text(
                "Every number takes just the room of its digits. A fixed width settles that.",
            )
            .then_tool_call(
                "edit",
                json!({"path": "table.sh", "edits": [
                    {"oldText": "printf '%s ' \"$((row", "newText": "printf '%4s' \"$((row"}
                ]}),
            ),
        FauxResponse::text("And a larger one:")
            .then_tool_call("bash", json!({"command": "sh table.sh 9"})),
        FauxResponse::from_fn(|call| {
            told(
                call,
                "Now the columns line up: `%4s` gives every number four places, filled from the \
                 left. That is enough for tables up to 31, whose largest number is 961.",
            )
        }),
    ]);
    provider
}

/// Says how it went, if it went well.
fn told(call: &FauxCall, success: &str) -> FauxResponse {
    if last_tool_failed(call) {
        return FauxResponse::text(
            "That did not work on this machine; the output above says why. A real model would now \
             look into it. This one is a script and can only tell you.",
        );
    }
    FauxResponse::text(success)
}

fn last_tool_failed(call: &FauxCall) -> bool {
    let last = call.request.messages.last();
    matches!(last, Some(Message::ToolResult(result)) if result.is_error)
}
