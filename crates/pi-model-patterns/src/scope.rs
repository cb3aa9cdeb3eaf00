//! The models of a list of patterns, as in `--models`.

use std::sync::Arc;

use pi_protocol::{Model, ModelGlob, ScopedModel, ThinkingLevel};

use super::pool::{ModelPool as _, ModelSlice};
use super::reference::{self, MatchRules, Matched, Reference, SuffixPolicy};
use super::{ModelWarning, compare_ids, full_id, split_level, with_current_provider};

/// The models matched by a list of patterns.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ModelScope {
    /// Matching models without duplicates, in pattern order.
    pub models: Vec<ScopedModel>,
    pub warnings: Vec<ModelWarning>,
}

impl ModelScope {
    fn add_reference(&mut self, pattern: &str, found: &Reference, thinking: Option<ThinkingLevel>) {
        match &found.matched {
            Matched::One(model) => self.add(model, thinking),
            Matched::Several { candidates, .. } => {
                let mut providers: Vec<String> = Vec::new();
                for model in candidates {
                    self.add(model, thinking);
                    if !providers.contains(&model.provider) {
                        providers.push(model.provider.clone());
                    }
                }
                pi_protocol::sort_by(&mut providers, |left, right| compare_ids(left, right));
                self.warnings.push(ModelWarning::Ambiguous {
                    pattern: pattern.to_owned(),
                    providers,
                });
            }
        }
    }

    fn add(&mut self, model: &Arc<Model>, thinking: Option<ThinkingLevel>) {
        if !self.models.iter().any(|known| known.model.is_same(model)) {
            let model = Arc::clone(model);
            self.models.push(ScopedModel { model, thinking });
        }
    }
}

/// Resolves a list of patterns; empty ones are ignored. A pattern that several providers match
/// equally adds the models of all of them.
pub fn resolve_scope<'a>(
    patterns: impl IntoIterator<Item = &'a str>,
    models: &[Arc<Model>],
) -> ModelScope {
    let mut scope = ModelScope::default();
    let pool = ModelSlice(models);
    let providers = pool.provider_ids();
    for pattern in patterns {
        let text = with_current_provider(pattern.trim(), &providers);
        if text.is_empty() {
            continue;
        }
        if text.contains(['*', '?', '[']) {
            add_matches(&mut scope, &text, models);
            continue;
        }
        let rules = MatchRules {
            suffix: SuffixPolicy::Lenient,
            fuzzy: true,
        };
        match reference::resolve(&text, rules, &pool) {
            Some(found) => {
                scope.warnings.extend(found.warning.clone());
                scope.add_reference(pattern, &found, found.thinking);
            }
            None => scope.warnings.push(ModelWarning::NoMatch {
                pattern: pattern.to_owned(),
            }),
        }
    }
    scope
}

fn add_matches(scope: &mut ModelScope, pattern: &str, models: &[Arc<Model>]) {
    let (text, thinking) = match split_level(pattern) {
        Some((text, Some(level), _)) => (text, Some(level)),
        Some((_, None, _)) | None => (pattern, None),
    };
    // IDs may contain brackets.
    let exact = MatchRules {
        suffix: SuffixPolicy::Ignored,
        fuzzy: false,
    };
    if let Some(found) = reference::resolve(text, exact, &ModelSlice(models)) {
        scope.add_reference(pattern, &found, thinking);
        return;
    }
    let glob = ModelGlob::new(text);
    let mut found = false;
    for model in models {
        if glob.matches(&full_id(model)) || glob.matches(&model.id) {
            found = true;
            scope.add(model, thinking);
        }
    }
    if !found {
        scope.warnings.push(ModelWarning::NoMatch {
            pattern: pattern.to_owned(),
        });
    }
}
