//! The OAuth flows of the built-in providers.

use std::sync::Arc;

use pi_auth::{
    AnthropicOAuth, GithubCopilotOAuth, KimiCodingOAuth, MetaOAuth, OAuthFlow, OpenAiChatGptOAuth,
    OpenAiCodexOAuth, OpenRouterOAuth, RadiusOAuth, XaiOAuth,
};
use pi_env::Env;

use crate::catalog::builtin_model;

/// Returns the OAuth flow of a built-in provider, if it has one.
///
/// Environment variables can change the hosts of the Kimi and Radius flows.
pub fn builtin_oauth_flow(provider: &str, env: &Env) -> Option<Arc<dyn OAuthFlow>> {
    Some(match provider {
        "anthropic" => Arc::new(AnthropicOAuth::default()),
        "openai" => Arc::new(OpenAiChatGptOAuth::default()),
        "openai-codex" => Arc::new(OpenAiCodexOAuth::default()),
        "github-copilot" => Arc::new(GithubCopilotOAuth::new(|id| {
            builtin_model("github-copilot", id).is_some()
        })),
        "xai" => Arc::new(XaiOAuth::default()),
        "kimi-coding" => Arc::new(KimiCodingOAuth::from_env(env)),
        "meta" => Arc::new(MetaOAuth::default()),
        "openrouter" => Arc::new(OpenRouterOAuth::default()),
        "radius" => Arc::new(RadiusOAuth::from_env(env)),
        _ => return None,
    })
}
