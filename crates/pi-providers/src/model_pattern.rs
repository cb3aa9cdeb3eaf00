//! Resolves model references typed by users: `provider/id:thinking`, partial names and globs.
//!
//! [`resolve_model`] finds the single model for `--model` and is strict, because a wrong guess
//! costs money. [`resolve_scope`] finds the models for `--models` and the `enabledModels` setting
//! and is lenient: invalid patterns produce warnings.

mod collation;
mod glob;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;

use pi_protocol::{Model, ScopedModel, ThinkingLevel};

use crate::providers::builtin_provider;
use crate::registry::Models;
pub use collation::compare_ids;
use glob::Glob;

/// The models to search. Access is per provider, so naming a provider loads no other.
pub trait ModelPool {
    fn provider_ids(&self) -> Vec<String>;

    fn provider_models(&self, provider: &str) -> Vec<Arc<Model>>;

    fn is_authenticated(&self, provider: &str) -> bool;

    fn all_models(&self) -> Vec<Arc<Model>> {
        let ids = self.provider_ids();
        ids.iter().flat_map(|id| self.provider_models(id)).collect()
    }
}

impl ModelPool for Models {
    fn provider_ids(&self) -> Vec<String> {
        let providers = self.providers();
        providers
            .iter()
            .map(|provider| provider.id().to_owned())
            .collect()
    }

    fn provider_models(&self, provider: &str) -> Vec<Arc<Model>> {
        self.models(provider).to_vec()
    }

    fn is_authenticated(&self, provider: &str) -> bool {
        Self::is_authenticated(self, provider)
    }
}

/// The `--provider`, `--model` and `--thinking` options.
#[derive(Debug, Clone, Copy, Default)]
pub struct ModelQuery<'a> {
    /// `--provider`.
    pub provider: Option<&'a str>,
    /// `--model`.
    pub pattern: &'a str,
    /// `--thinking`. If set and no listed model matches, a level suffix of the pattern stays part of
    /// the custom model's ID.
    pub thinking: Option<ThinkingLevel>,
}

/// The model that a query resolves to.
#[derive(Debug, Clone, PartialEq)]
pub struct ResolvedModel {
    pub model: Arc<Model>,
    /// Thinking level from the pattern's suffix.
    pub thinking: Option<ThinkingLevel>,
    pub warning: Option<ModelWarning>,
}

/// A warning about a resolved model.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ModelWarning {
    /// The provider lists no such model; it was derived from the provider's default model.
    CustomModel {
        provider: String,
        /// Requested ID.
        id: String,
    },
    /// The suffix after the last colon is not a thinking level.
    BadLevel { level: String, pattern: String },
    /// A scope pattern matches no model.
    NoMatch { pattern: String },
}

impl fmt::Display for ModelWarning {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CustomModel { provider, id } => write!(
                formatter,
                "{provider} does not list a model \"{id}\"; using the ID as given"
            ),
            Self::BadLevel { level, pattern } => write!(
                formatter,
                "\"{level}\" in \"{pattern}\" is not a thinking level; using the default"
            ),
            Self::NoMatch { pattern } => {
                write!(formatter, "No model matches \"{pattern}\"")
            }
        }
    }
}

/// Why a query could not be resolved.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ModelQueryError {
    #[error("No models available; add some to models.json")]
    NoModels,
    #[error("Unknown provider \"{0}\"; run `pi docs providers` for a list")]
    UnknownProvider(String),
    #[error("No model matches \"{0}\"; run `pi --list-models` to list available models")]
    NotFound(String),
    /// Several providers offer the model.
    #[error(
        "\"{pattern}\" is ambiguous: {}. {} Use --provider or provider/model to choose one",
        candidates.join(", "),
        if *authenticated { "Several of these providers have credentials." } else { "None of these providers has a credential." }
    )]
    Ambiguous {
        /// Requested pattern.
        pattern: String,
        /// Matching models, as `provider/id`.
        candidates: Vec<String>,
        /// Whether several of the providers have credentials; otherwise none has.
        authenticated: bool,
    },
}

/// Resolves the model for a command line.
pub fn resolve_model(
    query: ModelQuery<'_>,
    pool: &impl ModelPool,
) -> Result<ResolvedModel, ModelQueryError> {
    let providers = pool.provider_ids();
    if providers.is_empty() {
        return Err(ModelQueryError::NoModels);
    }
    let find = |requested: &str| {
        providers
            .iter()
            .find(|id| id.eq_ignore_ascii_case(requested))
    };
    if let Some(requested) = query.provider {
        let provider = find(requested)
            .ok_or_else(|| ModelQueryError::UnknownProvider(requested.to_owned()))?;
        let pattern = strip_provider(query.pattern, provider).unwrap_or(query.pattern);
        let models = pool.provider_models(provider);
        return match parse_pattern(pattern, &models, InvalidLevelPolicy::NoMatch) {
            Some(found) => Ok(found),
            None => custom_model(query, provider, pattern, &models),
        };
    }
    // A known provider before the slash takes precedence, even if another provider has model IDs
    // that start with the same word.
    let prefix = query.pattern.split_once('/');
    match prefix.and_then(|(prefix, rest)| Some((find(prefix)?, rest))) {
        Some((provider, rest)) => resolve_with_prefix(query, provider, rest, pool),
        None => resolve_anywhere(query.pattern, pool),
    }
}

/// Resolves a pattern whose first segment names a provider.
fn resolve_with_prefix(
    query: ModelQuery<'_>,
    provider: &str,
    rest: &str,
    pool: &impl ModelPool,
) -> Result<ResolvedModel, ModelQueryError> {
    let models = pool.provider_models(provider);
    if let Some(found) = parse_pattern(rest, &models, InvalidLevelPolicy::NoMatch) {
        return Ok(prefer_usable(found, query.pattern, pool));
    }
    let all = pool.all_models();
    let exact = all
        .iter()
        .find(|model| is_exact(model, query.pattern))
        .map(|model| ResolvedModel::without_suffix(Arc::clone(model)));
    exact
        .or_else(|| parse_pattern(query.pattern, &all, InvalidLevelPolicy::NoMatch))
        .map_or_else(|| custom_model(query, provider, rest, &models), Ok)
}

/// Prefers a model whose full ID equals the pattern if it is the only usable one.
fn prefer_usable(found: ResolvedModel, pattern: &str, pool: &impl ModelPool) -> ResolvedModel {
    if pool.is_authenticated(&found.model.provider) {
        return found;
    }
    let mut usable = pool.all_models().into_iter().filter(|model| {
        eq_ignore_case(&model.id, pattern)
            && !model.is_same(&found.model)
            && pool.is_authenticated(&model.provider)
    });
    match (usable.next(), usable.next()) {
        (Some(only), None) => ResolvedModel::without_suffix(only),
        _ => found,
    }
}

/// Resolves a pattern without a provider.
fn resolve_anywhere(
    pattern: &str,
    pool: &impl ModelPool,
) -> Result<ResolvedModel, ModelQueryError> {
    let all = pool.all_models();
    let mut exact = all.iter().filter(|model| is_exact(model, pattern)).cloned();
    match (exact.next(), exact.next()) {
        (Some(only), None) => return Ok(ResolvedModel::without_suffix(only)),
        (Some(first), Some(second)) => {
            let candidates: Vec<_> = [first, second].into_iter().chain(exact).collect();
            return choose_usable(pattern, &candidates, pool);
        }
        (None, _) => {}
    }
    parse_pattern(pattern, &all, InvalidLevelPolicy::NoMatch)
        .ok_or_else(|| ModelQueryError::NotFound(pattern.to_owned()))
}

/// Of several models with the same ID, chooses the one whose provider has a credential.
fn choose_usable(
    pattern: &str,
    candidates: &[Arc<Model>],
    pool: &impl ModelPool,
) -> Result<ResolvedModel, ModelQueryError> {
    let usable: Vec<_> = candidates
        .iter()
        .filter(|model| pool.is_authenticated(&model.provider))
        .collect();
    if let [only] = usable.as_slice() {
        return Ok(ResolvedModel::without_suffix(Arc::clone(only)));
    }
    let authenticated = !usable.is_empty();
    let mut candidates: Vec<String> = candidates.iter().map(|model| full_id(model)).collect();
    candidates.sort_by(|left, right| compare_ids(left, right));
    Err(ModelQueryError::Ambiguous {
        pattern: pattern.to_owned(),
        candidates,
        authenticated,
    })
}

/// Creates an unlisted model of a known provider, based on the provider's default model.
fn custom_model(
    query: ModelQuery<'_>,
    provider: &str,
    pattern: &str,
    models: &[Arc<Model>],
) -> Result<ResolvedModel, ModelQueryError> {
    let default_model = builtin_provider(provider).map(|info| info.default_model);
    let default_model = models
        .iter()
        .find(|model| Some(model.id.as_str()) == default_model);
    let Some(template) = default_model.or(models.first()) else {
        return Err(ModelQueryError::NotFound(format!("{provider}/{pattern}")));
    };
    let (id, thinking) = match (query.thinking, split_level(pattern)) {
        (None, Some((id, Some(level), _))) => (id, Some(level)),
        (None | Some(_), _) => (pattern, None),
    };
    let mut model = Model::clone(template);
    id.clone_into(&mut model.id);
    id.clone_into(&mut model.name);
    let requested = query.thinking.or(thinking);
    if requested.is_some_and(|level| level != ThinkingLevel::Off) {
        model.reasoning = true;
    }
    Ok(ResolvedModel {
        model: Arc::new(model),
        thinking,
        warning: Some(ModelWarning::CustomModel {
            provider: provider.to_owned(),
            id: id.to_owned(),
        }),
    })
}

/// The models matched by a list of patterns.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ModelScope {
    /// Matching models without duplicates, in pattern order.
    pub models: Vec<ScopedModel>,
    pub warnings: Vec<ModelWarning>,
}

impl ModelScope {
    fn add(&mut self, model: &Arc<Model>, thinking: Option<ThinkingLevel>) {
        if !self.models.iter().any(|known| known.model.is_same(model)) {
            let model = Arc::clone(model);
            self.models.push(ScopedModel { model, thinking });
        }
    }
}

/// Resolves a list of patterns.
pub fn resolve_scope<'a>(
    patterns: impl IntoIterator<Item = &'a str>,
    models: &[Arc<Model>],
) -> ModelScope {
    let mut scope = ModelScope::default();
    for pattern in patterns {
        if pattern.contains(['*', '?', '[']) {
            add_matches(&mut scope, pattern, models);
            continue;
        }
        match parse_pattern(pattern, models, InvalidLevelPolicy::Warn) {
            Some(found) => {
                scope.warnings.extend(found.warning);
                scope.add(&found.model, found.thinking);
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
    if let Some(model) = find_exact(text, models) {
        scope.add(model, thinking);
        return;
    }
    let glob = Glob::new(text);
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

/// More colons than any real ID has; each is a possible start of the level suffix.
const MAX_COLONS: usize = 16;

/// How to treat a suffix that is not a thinking level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum InvalidLevelPolicy {
    NoMatch,
    Warn,
}

/// Matches the whole pattern if possible, otherwise the pattern without its level suffix. IDs may
/// contain colons.
fn parse_pattern(
    pattern: &str,
    models: &[Arc<Model>],
    invalid_levels: InvalidLevelPolicy,
) -> Option<ResolvedModel> {
    if pattern.matches(':').count() > MAX_COLONS {
        return None;
    }
    if let Some(model) = match_model(pattern, models) {
        return Some(ResolvedModel::without_suffix(Arc::clone(model)));
    }
    let (prefix, level, suffix) = split_level(pattern)?;
    if level.is_none() && invalid_levels == InvalidLevelPolicy::NoMatch {
        return None;
    }
    let mut found = parse_pattern(prefix, models, invalid_levels)?;
    match level {
        Some(_) if found.warning.is_some() => {}
        Some(level) => found.thinking = Some(level),
        None => {
            found.thinking = None;
            found.warning = Some(ModelWarning::BadLevel {
                level: suffix.to_owned(),
                pattern: pattern.to_owned(),
            });
        }
    }
    Some(found)
}

/// Splits at the last colon into prefix, parsed level and raw suffix.
fn split_level(pattern: &str) -> Option<(&str, Option<ThinkingLevel>, &str)> {
    let (prefix, suffix) = pattern.rsplit_once(':')?;
    Some((prefix, ThinkingLevel::from_name(suffix), suffix))
}

fn match_model<'models>(
    pattern: &str,
    models: &'models [Arc<Model>],
) -> Option<&'models Arc<Model>> {
    if let Some(model) = find_exact(pattern, models) {
        return Some(model);
    }
    let lower = pattern.to_lowercase();
    let partial = models.iter().filter(|model| {
        model.id.to_lowercase().contains(&lower) || model.name.to_lowercase().contains(&lower)
    });
    // Prefer aliases over dated versions, then the highest ID, then the first match.
    partial.reduce(|best, model| {
        let order = is_alias(&model.id)
            .cmp(&is_alias(&best.id))
            .then_with(|| compare_ids(&model.id, &best.id));
        if order.is_gt() { model } else { best }
    })
}

/// Finds the model that a reference names exactly: as `provider/id`, or as an ID that only one
/// provider has.
fn find_exact<'models>(
    reference: &str,
    models: &'models [Arc<Model>],
) -> Option<&'models Arc<Model>> {
    let reference = reference.trim();
    if reference.is_empty() {
        return None;
    }
    let only = |mut matches: Box<dyn Iterator<Item = &'models Arc<Model>> + '_>| {
        let first = matches.next()?;
        Some(matches.next().is_none().then_some(first))
    };
    let (provider, id) = reference.split_once('/').unwrap_or_default();
    let (provider, id) = (provider.trim(), id.trim());
    let provider_models = models
        .iter()
        .filter(|model| eq_ignore_case(&model.provider, provider) && eq_ignore_case(&model.id, id));
    if let Some(found) = only(Box::new(provider_models)) {
        return found;
    }
    let by_id = models
        .iter()
        .filter(|model| eq_ignore_case(&model.id, reference));
    only(Box::new(by_id)).flatten()
}

fn is_exact(model: &Model, pattern: &str) -> bool {
    eq_ignore_case(&model.id, pattern)
        || strip_provider(pattern, &model.provider).is_some_and(|id| eq_ignore_case(&model.id, id))
}

fn strip_provider<'a>(pattern: &'a str, provider: &str) -> Option<&'a str> {
    let (prefix, rest) = pattern.split_at_checked(provider.len())?;
    let rest = rest.strip_prefix('/')?;
    eq_ignore_case(prefix, provider).then_some(rest)
}

fn eq_ignore_case(left: &str, right: &str) -> bool {
    left.eq_ignore_ascii_case(right) || left.to_lowercase() == right.to_lowercase()
}

fn full_id(model: &Model) -> String {
    format!("{}/{}", model.provider, model.id)
}

/// Returns whether an ID is an alias, that is, does not end in a date such as `-20250929`.
fn is_alias(id: &str) -> bool {
    let is_date =
        |suffix: &str| suffix.len() == 8 && suffix.bytes().all(|byte| byte.is_ascii_digit());
    !id.rsplit_once('-')
        .is_some_and(|(_, suffix)| is_date(suffix))
}

impl ResolvedModel {
    fn without_suffix(model: Arc<Model>) -> Self {
        Self {
            model,
            thinking: None,
            warning: None,
        }
    }
}
