//! What a text block remembers of the message item it arrived in: its id and its phase.
//!
//! Stored as JSON in the block's signature, `{"v":1,"id":"msg_1","phase":"commentary"}`; sessions
//! of old hold the bare id.

use serde::{Deserialize, Serialize};

const VERSION: u32 = 1;

/// The id and phase of a message item.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct TextSignature {
    v: u32,
    pub id: String,
    /// Whether the text comments on the work or is the final answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
}

impl TextSignature {
    /// Describes a message item.
    pub(super) fn new(id: &str, phase: Option<&str>) -> Self {
        Self {
            v: VERSION,
            id: id.to_owned(),
            phase: phase.map(str::to_owned),
        }
    }

    /// Reads a stored signature; an unknown phase is left out, because the service refuses it.
    pub(super) fn parse(signature: &str) -> Self {
        match serde_json::from_str::<Self>(signature) {
            Ok(parsed) if parsed.v == VERSION => Self {
                phase: parsed
                    .phase
                    .filter(|phase| matches!(phase.as_str(), "commentary" | "final_answer")),
                ..parsed
            },
            _ => Self::new(signature, None),
        }
    }

    /// Writes the signature as it is stored.
    pub(super) fn to_json(&self) -> Option<String> {
        crate::json::to_string(self).ok()
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn signatures_of_every_age_are_read() {
        let cases = [
            (r#"{"v":1,"id":"m"}"#, "m", None),
            (
                r#"{"v":1,"id":"m","phase":"final_answer"}"#,
                "m",
                Some("final_answer"),
            ),
            (r#"{"v":1,"id":"m","phase":"later"}"#, "m", None),
            (r#"{"v":2,"id":"m"}"#, r#"{"v":2,"id":"m"}"#, None),
            ("msg_old", "msg_old", None),
        ];
        for (stored, id, phase) in cases {
            assert_eq!(
                TextSignature::parse(stored),
                TextSignature::new(id, phase),
                "{stored}"
            );
        }
        let written = TextSignature::new("m", Some("commentary")).to_json();
        assert_eq!(
            written.as_deref(),
            Some(r#"{"v":1,"id":"m","phase":"commentary"}"#)
        );
    }
}
