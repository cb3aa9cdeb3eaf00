//! The first lookup of a provider's models: unpacking and parsing its file of the embedded catalog. The
//! budget is about a millisecond for the largest, which is what a start-up with a model of it pays.

use divan::Bencher;

fn main() {
    divan::main();
}

const LARGEST: [&str; 5] = [
    "openrouter",
    "vercel-ai-gateway",
    "amazon-bedrock",
    "huggingface",
    "opencode",
];

#[divan::bench(args = LARGEST)]
fn first_lookup(bencher: Bencher<'_, '_>, provider: &str) {
    bencher.bench(|| pi_ai::parse_builtin_models(provider));
}

/// All providers, as a search over every model needs them.
#[divan::bench]
fn whole_catalog() -> usize {
    pi_ai::builtin_providers()
        .iter()
        .map(|info| pi_ai::parse_builtin_models(info.id).len())
        .sum()
}

/// A later lookup.
#[divan::bench]
fn lookup() -> bool {
    pi_ai::builtin_model("openrouter", "moonshotai/kimi-k2.6").is_some()
}
