//! Finds models from what people type: `provider/id:thinking`, parts of names, globs.
//!
//! Two questions are answered. [`resolve_model`] finds the one model that `--model` means, and is
//! strict: a wrong guess would cost money. [`resolve_scope`] finds the models that `--models` and
//! the `enabledModels` setting list, and is lenient: what it cannot make sense of is a warning.

mod collation;
mod glob;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;

use crate::model::Model;
use crate::providers::builtin_provider;
use crate::registry::Models;
use crate::thinking::ThinkingLevel;
pub use collation::compare_ids;
use glob::Glob;

/// The models to search, a provider at a time, so that naming a provider reads no other.
pub trait ModelPool {
    /// Returns the ids of all providers.
    fn provider_ids(&self) -> Vec<String>;

    /// Returns the models of a provider.
    fn provider_models(&self, provider: &str) -> Vec<Arc<Model>>;

    /// Returns whether a provider has a credential.
    fn is_authenticated(&self, provider: &str) -> bool;

    /// Returns all models.
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

/// What `--provider`, `--model` and `--thinking` say.
#[derive(Debug, Clone, Copy, Default)]
pub struct ModelQuery<'a> {
    /// `--provider`.
    pub provider: Option<&'a str>,
    /// `--model`.
    pub pattern: &'a str,
    /// `--thinking`, which makes a level at the end of the pattern part of the id where no model
    /// has that id.
    pub thinking: Option<ThinkingLevel>,
}

/// The model a query means.
#[derive(Debug, Clone, PartialEq)]
pub struct ResolvedModel {
    pub model: Arc<Model>,
    /// The level at the end of the pattern.
    pub thinking: Option<ThinkingLevel>,
    /// What the user should know about the choice.
    pub warning: Option<ModelWarning>,
}

/// What the user should know about a choice.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ModelWarning {
    /// The provider lists no such model; one was made up after its first.
    CustomModel {
        provider: String,
        /// The id that was asked for.
        id: String,
    },
    /// What follows the last colon is no thinking level.
    BadLevel { level: String, pattern: String },
    /// No model is meant by a pattern of a scope.
    NoMatch { pattern: String },
}

impl fmt::Display for ModelWarning {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CustomModel { provider, id } => write!(
                formatter,
                "{provider} lists no model \"{id}\"; sending the id as it is"
            ),
            Self::BadLevel { level, pattern } => write!(
                formatter,
                "\"{level}\" in \"{pattern}\" is no thinking level; using the default"
            ),
            Self::NoMatch { pattern } => {
                write!(formatter, "No model matches \"{pattern}\"")
            }
        }
    }
}

/// Why a query means no model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ModelQueryError {
    /// There is nothing to choose from.
    #[error("There are no models; add some to models.json")]
    NoModels,
    /// The provider does not exist.
    #[error("Unknown provider \"{0}\"; `pi docs providers` lists those there are")]
    UnknownProvider(String),
    /// The model does not exist.
    #[error("No model matches \"{0}\"; --list-models shows those with a credential")]
    NotFound(String),
    /// Several providers have the model.
    #[error(
        "Several providers have \"{pattern}\": {}. {} Name one with --provider or as provider/model",
        candidates.join(", "),
        if *authenticated { "More than one of them has a credential." } else { "None of them has a credential." }
    )]
    Ambiguous {
        /// What was asked for.
        pattern: String,
        /// The models, as `provider/id`.
        candidates: Vec<String>,
        /// Whether more than one of the providers has a credential; otherwise none has.
        authenticated: bool,
    },
}

/// Finds the model that a command line means.
pub fn resolve_model(
    query: ModelQuery<'_>,
    pool: &impl ModelPool,
) -> Result<ResolvedModel, ModelQueryError> {
    let providers = pool.provider_ids();
    if providers.is_empty() {
        return Err(ModelQueryError::NoModels);
    }
    let find = |wanted: &str| providers.iter().find(|id| id.eq_ignore_ascii_case(wanted));
    if let Some(wanted) = query.provider {
        let provider =
            find(wanted).ok_or_else(|| ModelQueryError::UnknownProvider(wanted.to_owned()))?;
        let pattern = strip_provider(query.pattern, provider).unwrap_or(query.pattern);
        let models = pool.provider_models(provider);
        return match parse_pattern(pattern, &models, BadLevels::NoMatch) {
            Some(found) => Ok(found),
            None => custom_model(query, provider, pattern, &models),
        };
    }
    // A known provider before the slash is meant as one, even where another provider has models
    // whose ids begin with the same word.
    let prefix = query.pattern.split_once('/');
    match prefix.and_then(|(prefix, rest)| Some((find(prefix)?, rest))) {
        Some((provider, rest)) => resolve_inferred(query, provider, rest, pool),
        None => resolve_anywhere(query.pattern, pool),
    }
}

/// Resolves a pattern whose first part names a provider.
fn resolve_inferred(
    query: ModelQuery<'_>,
    provider: &str,
    rest: &str,
    pool: &impl ModelPool,
) -> Result<ResolvedModel, ModelQueryError> {
    let models = pool.provider_models(provider);
    if let Some(found) = parse_pattern(rest, &models, BadLevels::NoMatch) {
        return Ok(prefer_usable(found, query.pattern, pool));
    }
    let all = pool.all_models();
    let exact = all
        .iter()
        .find(|model| is_exact(model, query.pattern))
        .map(|model| ResolvedModel::plain(Arc::clone(model)));
    exact
        .or_else(|| parse_pattern(query.pattern, &all, BadLevels::NoMatch))
        .map_or_else(|| custom_model(query, provider, rest, &models), Ok)
}

/// Prefers a model whose very id is the pattern, if it alone can be used.
fn prefer_usable(found: ResolvedModel, pattern: &str, pool: &impl ModelPool) -> ResolvedModel {
    if pool.is_authenticated(&found.model.provider) {
        return found;
    }
    let mut usable = pool.all_models().into_iter().filter(|model| {
        same(&model.id, pattern)
            && !model.is_same(&found.model)
            && pool.is_authenticated(&model.provider)
    });
    match (usable.next(), usable.next()) {
        (Some(only), None) => ResolvedModel::plain(only),
        _ => found,
    }
}

/// Resolves a pattern that names no provider.
fn resolve_anywhere(
    pattern: &str,
    pool: &impl ModelPool,
) -> Result<ResolvedModel, ModelQueryError> {
    let all = pool.all_models();
    let mut exact = all.iter().filter(|model| is_exact(model, pattern)).cloned();
    match (exact.next(), exact.next()) {
        (Some(only), None) => return Ok(ResolvedModel::plain(only)),
        (Some(first), Some(second)) => {
            let candidates: Vec<_> = [first, second].into_iter().chain(exact).collect();
            return choose_usable(pattern, &candidates, pool);
        }
        (None, _) => {}
    }
    parse_pattern(pattern, &all, BadLevels::NoMatch)
        .ok_or_else(|| ModelQueryError::NotFound(pattern.to_owned()))
}

/// Chooses the one of several models with the same id whose provider has a credential.
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
        return Ok(ResolvedModel::plain(Arc::clone(only)));
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

/// Makes up a model of a known provider, after the one it usually begins with.
fn custom_model(
    query: ModelQuery<'_>,
    provider: &str,
    pattern: &str,
    models: &[Arc<Model>],
) -> Result<ResolvedModel, ModelQueryError> {
    let usual = builtin_provider(provider).map(|info| info.default_model);
    let usual = models.iter().find(|model| Some(model.id.as_str()) == usual);
    let Some(like) = usual.or(models.first()) else {
        return Err(ModelQueryError::NotFound(format!("{provider}/{pattern}")));
    };
    let (id, thinking) = match (query.thinking, split_level(pattern)) {
        (None, Some((id, Some(level), _))) => (id, Some(level)),
        (None | Some(_), _) => (pattern, None),
    };
    let mut model = Model::clone(like);
    id.clone_into(&mut model.id);
    id.clone_into(&mut model.name);
    let wanted = query.thinking.or(thinking);
    if wanted.is_some_and(|level| level != ThinkingLevel::Off) {
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

/// A model of a scope, with the level its pattern gives it.
#[derive(Debug, Clone, PartialEq)]
pub struct ScopedModel {
    pub model: Arc<Model>,
    pub thinking: Option<ThinkingLevel>,
}

/// The models a list of patterns means.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ModelScope {
    /// The models, each once, in the order of the patterns.
    pub models: Vec<ScopedModel>,
    /// What the user should know.
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

/// Finds the models that a list of patterns means.
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
        match parse_pattern(pattern, models, BadLevels::Warn) {
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
    // An id may hold brackets of its own.
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

/// Far more colons than ids have; each is a place where the level may begin.
const MAX_COLONS: usize = 16;

/// What to make of a suffix that is no thinking level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BadLevels {
    NoMatch,
    Warn,
}

/// Matches a pattern, as a whole if that is possible, otherwise without the level at its end. Ids
/// may hold colons themselves.
fn parse_pattern(
    pattern: &str,
    models: &[Arc<Model>],
    bad_levels: BadLevels,
) -> Option<ResolvedModel> {
    if pattern.matches(':').count() > MAX_COLONS {
        return None;
    }
    if let Some(model) = match_model(pattern, models) {
        return Some(ResolvedModel::plain(Arc::clone(model)));
    }
    let (prefix, level, suffix) = split_level(pattern)?;
    if level.is_none() && bad_levels == BadLevels::NoMatch {
        return None;
    }
    let mut found = parse_pattern(prefix, models, bad_levels)?;
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

/// Splits at the last colon: what is before, the level after, and what stands there.
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
    // Aliases come before dated versions, then the highest id, then the first of equals.
    partial.reduce(|best, model| {
        let order = is_alias(&model.id)
            .cmp(&is_alias(&best.id))
            .then_with(|| compare_ids(&model.id, &best.id));
        if order.is_gt() { model } else { best }
    })
}

/// Finds the one model that a reference names in full, as `provider/id` or as an id that only one
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
        .filter(|model| same(&model.provider, provider) && same(&model.id, id));
    if let Some(found) = only(Box::new(provider_models)) {
        return found;
    }
    let by_id = models.iter().filter(|model| same(&model.id, reference));
    only(Box::new(by_id)).flatten()
}

fn is_exact(model: &Model, pattern: &str) -> bool {
    same(&model.id, pattern)
        || strip_provider(pattern, &model.provider).is_some_and(|id| same(&model.id, id))
}

fn strip_provider<'a>(pattern: &'a str, provider: &str) -> Option<&'a str> {
    let (prefix, rest) = pattern.split_at_checked(provider.len())?;
    let rest = rest.strip_prefix('/')?;
    same(prefix, provider).then_some(rest)
}

fn same(left: &str, right: &str) -> bool {
    left.eq_ignore_ascii_case(right) || left.to_lowercase() == right.to_lowercase()
}

fn full_id(model: &Model) -> String {
    format!("{}/{}", model.provider, model.id)
}

/// Tells an alias from a version with a date at its end, such as `-20250929`.
fn is_alias(id: &str) -> bool {
    let is_date =
        |suffix: &str| suffix.len() == 8 && suffix.bytes().all(|byte| byte.is_ascii_digit());
    !id.rsplit_once('-')
        .is_some_and(|(_, suffix)| is_date(suffix))
}

impl ResolvedModel {
    fn plain(model: Arc<Model>) -> Self {
        Self {
            model,
            thinking: None,
            warning: None,
        }
    }
}
