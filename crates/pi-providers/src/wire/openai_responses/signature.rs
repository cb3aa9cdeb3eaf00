//! Stores the ID and phase of a text block's message item.
//!
//! The block's signature is JSON, `{"v":1,"id":"msg_1","phase":"commentary"}`; old sessions
//! have the bare ID.

use serde::{Deserialize, Serialize};

const VERSION: u32 = 1;

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct TextSignature {
    v: u32,
    pub id: String,
    /// Whether the text is commentary or the final answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
}

impl TextSignature {
    pub(super) fn new(id: &str, phase: Option<&str>) -> Self {
        Self {
            v: VERSION,
            id: id.to_owned(),
            phase: phase.map(str::to_owned),
        }
    }

    /// Parses a stored signature; an unknown phase is dropped because the service rejects it.
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

    pub(super) fn to_json(&self) -> Option<String> {
        pi_protocol::json::to_string(self).ok()
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn signatures_of_all_versions_are_parsed() {
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
