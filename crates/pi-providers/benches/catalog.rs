//! The first lookup of a provider's models, which decompresses and parses its part of the embedded catalog.
//! The budget is about a millisecond for the largest provider, since startup pays for it.

use divan::Bencher;

fn main() {
    divan::main();
}

const LARGEST_PROVIDERS: [&str; 5] = [
    "openrouter",
    "vercel-ai-gateway",
    "amazon-bedrock",
    "huggingface",
    "opencode",
];

#[divan::bench(args = LARGEST_PROVIDERS)]
fn first_lookup(bencher: Bencher<'_, '_>, provider: &str) {
    bencher.bench(|| pi_providers::parse_builtin_models(provider));
}

/// All providers, as for a search over every model.
#[divan::bench]
fn complete_catalog() -> usize {
    pi_providers::builtin_providers()
        .iter()
        .map(|info| pi_providers::parse_builtin_models(info.id).len())
        .sum()
}

/// A cached lookup.
#[divan::bench]
fn lookup() -> bool {
    pi_providers::builtin_model("openrouter", "moonshotai/kimi-k2.6").is_some()
}
