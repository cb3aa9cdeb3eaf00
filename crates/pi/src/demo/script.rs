//! The script of the demo: prompts and model answers.
//!
//! The tool results are real. If a command fails, the model reports it instead of continuing.

use pi_protocol::Message;
use pi_providers::{FauxCall, FauxModel, FauxProvider, FauxResponse};
use serde_json::json;

/// Shown wherever pi shows the model.
pub(super) const PROVIDER: &str = "demo";

const MODEL: &str = "scripted";

/// The program the model writes; runs in any POSIX shell.
const PROGRAM: &str = include_str!("table.sh");

pub(super) const PROMPTS: [&str; 2] = [
    "Write a small shell script that prints a multiplication table, and run it.",
    "The columns are not aligned. Fix that and show me a larger table.",
];

pub(super) fn model() -> FauxProvider {
    let model = FauxModel {
        reasoning: true,
        ..FauxModel::new(MODEL)
    };
    let provider = FauxProvider::new().with_id(PROVIDER).with_models([model]);
    provider.extend([
        FauxResponse::thinking("Two loops and printf. Plain sh runs on any machine.")
            .then_text("I'll write it in plain shell so it runs anywhere.")
            .then_tool_call("write", json!({"path": "table.sh", "content": PROGRAM})),
        FauxResponse::text("Now I'll run it.")
            .then_tool_call("bash", json!({"command": "sh table.sh 5"})),
        FauxResponse::from_fn(|call| {
            outcome_reply(
                call,
                "It works: five rows, and each number is the product of its row and column.",
            )
        }),
        FauxResponse::thinking("Each number takes as many columns as it has digits.")
            .then_text(
                "Each number takes only the width of its digits. A fixed width fixes the alignment.",
            )
            .then_tool_call(
                "edit",
                json!({"path": "table.sh", "edits": [
                    {"oldText": "printf '%s ' \"$((row", "newText": "printf '%4s' \"$((row"}
                ]}),
            ),
        FauxResponse::text("Now a larger table:")
            .then_tool_call("bash", json!({"command": "sh table.sh 9"})),
        FauxResponse::from_fn(|call| {
            outcome_reply(
                call,
                "The columns are aligned now: `%4s` pads every number to four characters. That is \
                 enough for tables up to 31, whose largest number is 961.",
            )
        }),
    ]);
    provider
}

/// The answer to prompts after the script.
pub(super) fn end() -> FauxResponse {
    FauxResponse::text(
        "The script ends here. Look around: `/diff` shows the changes, **Ctrl+O** opens the tool calls, `/hotkeys` \
         lists the keys. Quit with **Ctrl+D**, then start `pi` with your own model.",
    )
}

/// Returns `success`, or an explanation if the last tool call failed.
fn outcome_reply(call: &FauxCall, success: &str) -> FauxResponse {
    if last_tool_failed(call) {
        return FauxResponse::text(
            "That did not work on this machine; see the output above. A real model would now \
             investigate. This one is scripted and can only report it.",
        );
    }
    FauxResponse::text(success)
}

fn last_tool_failed(call: &FauxCall) -> bool {
    let last = call.request.messages.last();
    matches!(last, Some(Message::ToolResult(result)) if result.is_error)
}
