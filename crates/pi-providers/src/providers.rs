//! The built-in providers, as data: names, base URLs, authentication and default models.
//!
//! Models are in [`crate::catalog`]; credential resolution is in [`pi_auth`].

use pi_auth::{ApiKeyAuth, ConfiguredAuth, KeySource, ProviderAuth};
use pi_env::Env;

use crate::oauth_flows::builtin_oauth_flow;

/// A built-in provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProviderInfo {
    /// ID used in models, settings and session files.
    pub id: &'static str,
    /// Display name.
    pub name: &'static str,
    /// Base URL, unless it depends on the API, the region or the account.
    pub base_url: Option<&'static str>,
    pub default_model: &'static str,
    /// Accepted keys; `None` if the provider supports only OAuth.
    pub key: Option<KeyInfo>,
    /// Whether there is an OAuth flow; see [`builtin_oauth_flow`].
    pub has_oauth: bool,
}

/// The keys that a built-in provider accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct KeyInfo {
    /// Label for the key prompt.
    pub label: &'static str,
    /// Where to find a key if none is stored.
    pub source: KeySource,
}

impl ProviderInfo {
    /// Returns how requests to the provider authenticate. The environment determines the hosts of
    /// some OAuth flows.
    pub fn auth(&self, env: &Env) -> ProviderAuth {
        ProviderAuth {
            provider: self.id.to_owned(),
            api_key: self.key.map(|key| ApiKeyAuth {
                name: key.label.into(),
                source: key.source,
            }),
            oauth: builtin_oauth_flow(self.id, env),
            configured: ConfiguredAuth::default(),
        }
    }
}

/// Returns all built-in providers, in the order in which a default model is chosen.
pub fn builtin_providers() -> &'static [ProviderInfo] {
    &PROVIDERS
}

pub fn builtin_provider(id: &str) -> Option<&'static ProviderInfo> {
    PROVIDERS.iter().find(|provider| provider.id == id)
}

/// Starts a row of the table.
const fn provider(
    id: &'static str,
    name: &'static str,
    default_model: &'static str,
) -> ProviderInfo {
    ProviderInfo {
        id,
        name,
        base_url: None,
        default_model,
        key: None,
        has_oauth: false,
    }
}

impl ProviderInfo {
    const fn at(mut self, base_url: &'static str) -> Self {
        self.base_url = Some(base_url);
        self
    }

    const fn key(self, label: &'static str, variables: &'static [&'static str]) -> Self {
        self.keys(label, KeySource::Variables(variables))
    }

    const fn keys(mut self, label: &'static str, source: KeySource) -> Self {
        self.key = Some(KeyInfo { label, source });
        self
    }

    const fn has_oauth(mut self) -> Self {
        self.has_oauth = true;
        self
    }
}

#[rustfmt::skip]
const PROVIDERS: [ProviderInfo; 41] = [
    provider("amazon-bedrock", "Amazon Bedrock", "us.anthropic.claude-opus-4-6-v1")
        .keys("AWS credentials or bearer token", KeySource::Bedrock),
    provider("ant-ling", "Ant Ling", "Ring-2.6-1T")
        .at("https://api.ant-ling.com/v1")
        .key("Ant Ling API key", &["ANT_LING_API_KEY"]),
    provider("anthropic", "Anthropic", "claude-opus-4-8")
        .at("https://api.anthropic.com")
        .keys("Anthropic API key", KeySource::Anthropic)
        .has_oauth(),
    provider("openai", "OpenAI", "gpt-6.1-sol")
        .at("https://api.openai.com/v1")
        .key("OpenAI API key", &["OPENAI_API_KEY"])
        .has_oauth(),
    provider("azure", "Azure", "gpt-5.4")
        .key("Azure OpenAI API key", &["AZURE_OPENAI_API_KEY"]),
    provider("openai-codex", "OpenAI Codex (legacy)", "gpt-6.1-sol")
        .at("https://chatgpt.com/backend-api")
        .has_oauth(),
    provider("radius", "Radius", "balanced")
        .at("https://radius.pi.dev/v1")
        .key("Radius API key", &["RADIUS_API_KEY"])
        .has_oauth(),
    provider("nvidia", "NVIDIA", "nvidia/nemotron-3.5-super-vl-120b-a12b")
        .at("https://integrate.api.nvidia.com/v1")
        .key("NVIDIA API key", &["NVIDIA_API_KEY"]),
    provider("deepseek", "DeepSeek", "deepseek-v4-pro")
        .at("https://api.deepseek.com")
        .key("DeepSeek API key", &["DEEPSEEK_API_KEY"]),
    provider("google", "Google", "gemini-3.1-pro-preview")
        .at("https://generativelanguage.googleapis.com/v1beta")
        .key("Gemini API key", &["GEMINI_API_KEY"]),
    provider("google-vertex", "Google Vertex AI", "gemini-3.1-pro-preview")
        .keys("Google Cloud credentials", KeySource::Vertex),
    provider("github-copilot", "GitHub Copilot", "gpt-6.1-sol")
        .at("https://api.individual.githubcopilot.com")
        .key("GitHub Copilot token", &["COPILOT_GITHUB_TOKEN"])
        .has_oauth(),
    provider("openrouter", "OpenRouter", "moonshotai/kimi-k2.6")
        .at("https://openrouter.ai/api/v1")
        .key("OpenRouter API key", &["OPENROUTER_API_KEY"])
        .has_oauth(),
    provider("vercel-ai-gateway", "Vercel AI Gateway", "zai/glm-5.1")
        .at("https://ai-gateway.vercel.sh")
        .key("Vercel AI Gateway API key", &["AI_GATEWAY_API_KEY"]),
    provider("xai", "xAI", "grok-4.7")
        .at("https://api.x.ai/v1")
        .key("xAI API key", &["XAI_API_KEY"])
        .has_oauth(),
    provider("groq", "Groq", "openai/gpt-oss-120b")
        .at("https://api.groq.com/openai/v1")
        .key("Groq API key", &["GROQ_API_KEY"]),
    provider("cerebras", "Cerebras", "gpt-oss-120b")
        .at("https://api.cerebras.ai/v1")
        .key("Cerebras API key", &["CEREBRAS_API_KEY"]),
    provider("zai", "Z.AI", "glm-5.3")
        .at("https://api.z.ai/api/coding/paas/v4")
        .key("Z.AI API key", &["ZAI_API_KEY"]),
    provider("zai-coding-cn", "Z.AI Coding CN", "glm-5.3")
        .at("https://open.bigmodel.cn/api/coding/paas/v4")
        .key("Z.AI Coding CN API key", &["ZAI_CODING_CN_API_KEY"]),
    provider("mistral", "Mistral", "devstral-medium-latest")
        .at("https://api.mistral.ai")
        .key("Mistral API key", &["MISTRAL_API_KEY"]),
    provider("minimax", "MiniMax", "MiniMax-M2.7")
        .at("https://api.minimax.io/anthropic")
        .key("MiniMax API key", &["MINIMAX_API_KEY"]),
    provider("minimax-cn", "MiniMax CN", "MiniMax-M2.7")
        .at("https://api.minimaxi.com/anthropic")
        .key("MiniMax CN API key", &["MINIMAX_CN_API_KEY"]),
    provider("moonshotai", "Moonshot AI", "kimi-k2.6")
        .at("https://api.moonshot.ai/v1")
        .key("Moonshot AI API key", &["MOONSHOT_API_KEY"]),
    provider("moonshotai-cn", "Moonshot AI CN", "kimi-k2.6")
        .at("https://api.moonshot.cn/v1")
        .key("Moonshot AI API key", &["MOONSHOT_API_KEY"]),
    provider("huggingface", "Hugging Face", "moonshotai/Kimi-K2.6")
        .at("https://router.huggingface.co/v1")
        .key("Hugging Face token", &["HF_TOKEN"]),
    provider("fireworks", "Fireworks", "accounts/fireworks/models/kimi-k3")
        .at("https://api.fireworks.ai/inference")
        .key("Fireworks API key", &["FIREWORKS_API_KEY"]),
    provider("together", "Together", "moonshotai/Kimi-K3")
        .at("https://api.together.ai/v1")
        .key("Together API key", &["TOGETHER_API_KEY"]),
    provider("baseten", "Baseten", "zai-org/GLM-5.2")
        .at("https://inference.baseten.co/v1")
        .key("Baseten API key", &["BASETEN_API_KEY"]),
    provider("opencode", "OpenCode Zen", "kimi-k2.6")
        .key("OpenCode API key", &["OPENCODE_API_KEY"]),
    provider("opencode-go", "OpenCode Go", "kimi-k3")
        .key("OpenCode API key", &["OPENCODE_API_KEY"]),
    provider("kimi-coding", "Kimi For Coding", "kimi-for-coding")
        .at("https://api.kimi.com/coding/v1")
        .key("Kimi API key", &["KIMI_API_KEY"])
        .has_oauth(),
    provider("meta", "Meta", "muse-spark-1.3")
        .at("https://api.meta.ai/v1")
        .key("Meta Model API key", &["META_API_KEY"])
        .has_oauth(),
    provider("cloudflare-workers-ai", "Cloudflare Workers AI", "@cf/moonshotai/kimi-k2.6")
        .keys("Cloudflare API key", KeySource::CloudflareWorkersAi),
    provider("cloudflare-ai-gateway", "Cloudflare AI Gateway", "workers-ai/@cf/moonshotai/kimi-k2.6")
        .keys("Cloudflare API key", KeySource::CloudflareAiGateway),
    provider("qwen-token-plan", "Qwen Token Plan", "qwen3.7-max")
        .at("https://token-plan.ap-southeast-1.maas.aliyuncs.com/compatible-mode/v1")
        .key("Qwen Token Plan API key", &["QWEN_TOKEN_PLAN_API_KEY"]),
    provider("qwen-token-plan-cn", "Qwen Token Plan CN", "qwen3.7-max")
        .at("https://token-plan.cn-beijing.maas.aliyuncs.com/compatible-mode/v1")
        .key("Qwen Token Plan CN API key", &["QWEN_TOKEN_PLAN_CN_API_KEY"]),
    provider("qwen-token-plan-individual", "Qwen Token Plan Individual", "qwen3.8-max")
        .at("https://token-plan.ap-southeast-1.maas.aliyuncs.com/compatible-mode/v1")
        .key("Qwen Token Plan Individual API key", &["QWEN_TOKEN_PLAN_API_KEY"]),
    provider("xiaomi", "Xiaomi", "mimo-v2.6-pro")
        .at("https://api.xiaomimimo.com/v1")
        .key("Xiaomi API key", &["XIAOMI_API_KEY"]),
    provider("xiaomi-token-plan-cn", "Xiaomi Token Plan CN", "mimo-v2.6-pro")
        .at("https://token-plan-cn.xiaomimimo.com/v1")
        .key("Xiaomi Token Plan CN API key", &["XIAOMI_TOKEN_PLAN_CN_API_KEY"]),
    provider("xiaomi-token-plan-ams", "Xiaomi Token Plan AMS", "mimo-v2.6-pro")
        .at("https://token-plan-ams.xiaomimimo.com/v1")
        .key("Xiaomi Token Plan AMS API key", &["XIAOMI_TOKEN_PLAN_AMS_API_KEY"]),
    provider("xiaomi-token-plan-sgp", "Xiaomi Token Plan SGP", "mimo-v2.6-pro")
        .at("https://token-plan-sgp.xiaomimimo.com/v1")
        .key("Xiaomi Token Plan SGP API key", &["XIAOMI_TOKEN_PLAN_SGP_API_KEY"]),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_provider_has_an_authentication_method() {
        let env = Env::fixed::<&str, &str>([]);
        let mut ids = BTreeSet::new();
        for info in builtin_providers() {
            assert!(ids.insert(info.id), "{} is listed twice", info.id);
            let auth = info.auth(&env);
            assert_eq!(auth.oauth.is_some(), info.has_oauth, "{}", info.id);
            assert!(
                auth.oauth.is_some() || auth.api_key.is_some(),
                "{}",
                info.id
            );
        }
        assert_eq!(builtin_provider("zai").unwrap().name, "Z.AI");
        assert!(builtin_provider("unknown").is_none());
    }
}
