//! The options of a summary request.

use pi_context::SummaryRequest;
use pi_providers::StreamOptions;

/// Returns the request options: the caller's credentials, timeouts and hooks plus the settings of
/// the summary.
pub fn summary_options(request: &SummaryRequest, base: StreamOptions) -> StreamOptions {
    StreamOptions {
        // The model's own limit applies.
        max_tokens: None,
        cache_retention: Some(request.cache_retention),
        reasoning: request.reasoning,
        tool_choice: None,
        ..base
    }
}

#[cfg(test)]
mod tests {
    use pi_context::SummaryPurpose;
    use pi_protocol::{CacheRetention, ThinkingLevel, ToolChoice};
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn the_summary_replaces_its_own_settings_only() {
        let request = SummaryRequest {
            purpose: SummaryPurpose::History,
            messages: Vec::new(),
            cache_retention: CacheRetention::None,
            reasoning: ThinkingLevel::Medium,
        };
        let base = StreamOptions {
            session_id: Some("own".into()),
            max_tokens: Some(1),
            tool_choice: Some(ToolChoice::Auto),
            ..StreamOptions::default()
        };
        let options = summary_options(&request, base);
        assert_eq!(options.session_id.as_deref(), Some("own"));
        assert_eq!(options.max_tokens, None);
        assert_eq!(options.cache_retention, Some(CacheRetention::None));
        assert_eq!(options.reasoning, ThinkingLevel::Medium);
        assert_eq!(options.tool_choice, None);
    }
}
