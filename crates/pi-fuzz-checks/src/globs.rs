//! Patterns of models and resource files. The first line is the pattern, the others are names.

use std::sync::Arc;
use std::time::{Duration, Instant};

use pi_config::{AgentDir, ResourceFlags, ResourceRequest, SettingsStore, load_resources};
use pi_env::Env;
use pi_host::resolve_scope;
use pi_protocol::settings::Settings;
use pi_protocol::{Model, ProjectAccess};
use pi_providers::builtin_model;
use pretty_assertions::assert_eq;

use crate::temp_files;

/// Long enough for a busy machine, short enough to detect exponential matching.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Files that resource patterns are matched against, relative to the agent directory.
const FILES: [&str; 4] = [
    "prompts/ab.md",
    "prompts/abc.md",
    "prompts/b.md",
    "prompts/c-d.md",
];

/// Checks that matching is fast, and that patterns of `*` and `?` agree with a naive
/// reference matcher.
pub fn globs(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let (pattern, names) = text.split_once('\n').unwrap_or((&text, "a/b\nab"));
    let started = Instant::now();
    model_pattern(pattern, names);
    file_pattern(pattern);
    assert!(started.elapsed() < TIMEOUT, "{:?}", started.elapsed());
}

fn model_pattern(pattern: &str, names: &str) {
    let models: Vec<Arc<Model>> = names.lines().take(8).map(model).collect();
    let scope = resolve_scope([pattern], &models);
    if !is_plain(pattern) || !pattern.contains(['*', '?']) {
        return;
    }
    // An exact name selects only that model.
    let is_name = |model: &Arc<Model>| {
        model.id == pattern || format!("{}/{}", model.provider, model.id) == pattern
    };
    if models.iter().any(is_name) {
        return;
    }
    let chosen: Vec<&str> = scope.models.iter().map(|it| it.model.id.as_str()).collect();
    let mut expected: Vec<&str> = Vec::new();
    for model in &models {
        let full = format!("{}/{}", model.provider, model.id);
        if (matches(pattern, &full) || matches(pattern, &model.id))
            && !expected.contains(&model.id.as_str())
        {
            expected.push(&model.id);
        }
    }
    assert_eq!(chosen, expected, "{pattern:?}");
}

fn model(id: &str) -> Arc<Model> {
    let mut model = builtin_model("anthropic", "claude-sonnet-4-5").unwrap();
    let changed = Arc::make_mut(&mut model);
    changed.id = id.to_lowercase();
    model
}

fn file_pattern(pattern: &str) {
    for file in FILES {
        let path = temp_files::dir().join("globs").join(file);
        if !path.exists() {
            temp_files::write(&format!("globs/{file}"), b"text");
        }
    }
    let base = temp_files::dir().join("globs");
    let loaded = load_resources(&ResourceRequest {
        agent_dir: AgentDir::at(&base),
        cwd: base.join("prompts"),
        env: Env::fixed::<&str, &str>([]),
        settings: SettingsStore::in_memory(Settings {
            prompts: Some(vec![format!("!{pattern}")]),
            ..Settings::default()
        }),
        project: ProjectAccess::Denied,
        flags: ResourceFlags {
            no_context_files: true,
            ..ResourceFlags::default()
        },
    });
    if !is_plain(pattern) || pattern.contains("**") || pattern.starts_with('/') {
        return;
    }
    let mut left: Vec<String> = Vec::new();
    for template in &loaded.prompt_templates {
        left.push(format!("prompts/{}.md", template.name));
    }
    left.sort_unstable();
    let matched = |file: &str| {
        let (_, name) = file.rsplit_once('/').unwrap();
        matches(pattern, file) || matches(pattern, name)
    };
    let expected: Vec<&str> = FILES.into_iter().filter(|file| !matched(file)).collect();
    assert_eq!(left, expected, "{pattern:?}");
}

/// Returns whether a pattern has no special characters except `*` and `?`, and is short enough for
/// exhaustive matching.
fn is_plain(pattern: &str) -> bool {
    let simple = |one: char| {
        one.is_ascii_lowercase()
            || one.is_ascii_digit()
            || matches!(one, '*' | '?' | '/' | '-' | '.')
    };
    pattern.len() <= 16 && pattern.matches('*').count() <= 4 && pattern.chars().all(simple)
}

/// Matches exhaustively: `*` within a segment, `**` across segments.
fn matches(pattern: &str, name: &str) -> bool {
    let pattern: Vec<&str> = pattern.split('/').collect();
    let name: Vec<&str> = name.split('/').collect();
    segments_match(&pattern, &name)
}

fn segments_match(pattern: &[&str], name: &[&str]) -> bool {
    match pattern {
        [] => name.is_empty(),
        ["**", rest @ ..] => {
            (0..=name.len()).any(|skipped| segments_match(rest, name.get(skipped..).unwrap_or(&[])))
        }
        [first, rest @ ..] => match name {
            [segment, others @ ..] => {
                let first: Vec<char> = first.chars().collect();
                let segment: Vec<char> = segment.chars().collect();
                segment_matches(&first, &segment) && segments_match(rest, others)
            }
            [] => false,
        },
    }
}

fn segment_matches(pattern: &[char], name: &[char]) -> bool {
    match (pattern, name) {
        ([], []) => true,
        (['*', rest @ ..], _) => {
            segment_matches(rest, name)
                || matches!(name, [_, others @ ..] if segment_matches(pattern, others))
        }
        (['?', rest @ ..], [_, others @ ..]) => segment_matches(rest, others),
        ([expected, rest @ ..], [actual, others @ ..]) => {
            expected == actual && segment_matches(rest, others)
        }
        _ => false,
    }
}
