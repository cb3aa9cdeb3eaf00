//! Response lines. They are built as text, since their data can be a complete session.

use pi_protocol::json::RawJson;
use pi_protocol::{Ack, Rejected};
use serde::Serialize;
use serde_json::Value;

use super::client_line::RejectedLine;
use crate::commands::{AcceptedCommand, HeldRun};

/// The leading fields of every response, in wire order.
#[derive(Serialize)]
struct ResponseHead<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a Value>,
    r#type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<&'a str>,
    success: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
}

/// Builds the response line of a successful command; `data` is JSON.
pub fn success_line(id: Option<&Value>, command: &str, data: Option<&str>) -> String {
    let mut line = head_line(&ResponseHead {
        id,
        r#type: "response",
        command: Some(command),
        success: true,
        error: None,
    });
    if let Some(data) = data {
        line.pop();
        line.reserve(data.len() + 10);
        line.push_str(",\"data\":");
        line.push_str(data);
        line.push('}');
    }
    line
}

/// Builds the response line of a failed command.
pub fn failure_line(failure: &RejectedLine) -> String {
    head_line(&ResponseHead {
        id: failure.id.as_ref(),
        r#type: "response",
        command: failure.command.as_deref(),
        success: false,
        error: Some(&failure.error),
    })
}

/// Builds the response line of a command. Send it before dropping the run, so that it precedes the events of the run.
pub fn outcome_line(
    id: Option<Value>,
    command: String,
    outcome: Result<AcceptedCommand, Rejected>,
) -> (String, Option<HeldRun>) {
    match outcome {
        Ok(AcceptedCommand { ack, run }) => {
            let data = response_data(&ack);
            let data = data.as_ref().map(RawJson::as_str);
            (success_line(id.as_ref(), &command, data), Some(run))
        }
        Err(rejected) => {
            let line = failure_line(&RejectedLine {
                id,
                command: Some(command),
                error: rejected.message,
            });
            (line, None)
        }
    }
}

/// Returns the result of a command: its data, or what became of a message.
fn response_data(ack: &Ack) -> Option<RawJson> {
    match ack {
        Ack::Done { data } => data.clone(),
        disposition => RawJson::of(disposition).ok(),
    }
}

fn head_line(head: &ResponseHead<'_>) -> String {
    // Serializing strings and JSON values cannot fail.
    pi_protocol::json::to_string(head).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;

    #[test]
    fn responses_serialize_in_wire_order() {
        assert_eq!(
            success_line(Some(&json!("r1")), "abort", None),
            r#"{"id":"r1","type":"response","command":"abort","success":true}"#
        );
        assert_eq!(
            success_line(None, "cycle_model", Some("null")),
            r#"{"type":"response","command":"cycle_model","success":true,"data":null}"#
        );
        let failure = RejectedLine {
            id: Some(json!(5)),
            command: None,
            error: "a \"b\"\n".to_owned(),
        };
        assert_eq!(
            failure_line(&failure),
            r#"{"id":5,"type":"response","success":false,"error":"a \"b\"\n"}"#
        );
    }
}
