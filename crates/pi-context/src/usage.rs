//! How much of the context window a session uses.

use pi_protocol::{AgentMessage, ContextUsage};
use pi_session::Projection;

use crate::estimate::{context_tokens, reported_tokens};

/// Returns the usage of a context; `None` if the context window is unknown.
pub fn context_usage(projection: &Projection, context_window: u64) -> Option<ContextUsage> {
    let tokens = is_known(projection).then(|| context_tokens(projection).tokens);
    ContextUsage::of_size(tokens, context_window)
}

/// After a compaction, the context size is unknown until a response reports it.
fn is_known(projection: &Projection) -> bool {
    projection.compaction().is_none()
        || projection.since_compaction().any(|message| match message {
            AgentMessage::Assistant(response) => reported_tokens(response).is_some(),
            _ => false,
        })
}

#[cfg(test)]
mod tests {
    use pi_session::testing::{TestPath, compaction, omission, response_with_tokens, user};
    use pretty_assertions::assert_eq;
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn absurd_usage_does_not_overflow() {
        let absurd = json!({"role": "assistant", "content": [], "stopReason": "stop",
            "usage": {"input": 1e300, "output": 1e300, "cacheRead": 1e300, "cacheWrite": 1e300}});
        let path = TestPath::of([absurd, user("abcd")]);
        let usage = context_usage(&path.projection(), 200).unwrap();
        assert_eq!(usage.tokens, Some(u64::MAX));
    }

    #[test]
    fn context_usage_is_unknown_between_a_compaction_and_the_next_response() {
        let failed = json!({
            "role": "assistant", "content": [], "stopReason": "error", "usage": {"totalTokens": 5},
        });
        let cases: [(&str, Vec<Value>, Option<u64>); 7] = [
            ("empty", vec![], Some(0)),
            (
                "reported and estimated",
                vec![response_with_tokens("a", 100), user("abcd")],
                Some(101),
            ),
            (
                "compacted",
                vec![
                    response_with_tokens("a", 100),
                    compaction("s", "e0"),
                    user("x"),
                ],
                None,
            ),
            ("failed since", vec![compaction("s", "e0"), failed], None),
            (
                "zero since",
                vec![compaction("s", "e0"), response_with_tokens("a", 0)],
                None,
            ),
            (
                "responded since",
                vec![
                    compaction("s", "e0"),
                    user("x"),
                    response_with_tokens("a", 50),
                ],
                Some(50),
            ),
            (
                "response omitted since",
                vec![
                    compaction("s", "e0"),
                    response_with_tokens("a", 50),
                    omission("e1"),
                ],
                None,
            ),
        ];
        for (name, entries, tokens) in cases {
            let projection = TestPath::of(entries).projection();
            let usage = context_usage(&projection, 200).unwrap();
            assert_eq!(usage.tokens, tokens, "{name}");
        }
        let projection = TestPath::of([response_with_tokens("a", 71)]).projection();
        assert_eq!(context_usage(&projection, 0), None);
        assert_eq!(
            pi_protocol::json::to_string(&context_usage(&projection, 200).unwrap()).unwrap(),
            r#"{"tokens":71,"contextWindow":200,"percent":35.5}"#
        );
        let compacted = TestPath::of([compaction("s", "e0")]).projection();
        assert_eq!(
            pi_protocol::json::to_string(&context_usage(&compacted, 200).unwrap()).unwrap(),
            r#"{"tokens":null,"contextWindow":200,"percent":null}"#
        );
    }
}
