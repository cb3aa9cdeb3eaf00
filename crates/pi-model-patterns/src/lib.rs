//! Resolves model references typed by users: `provider/id:thinking`, partial names and globs.
//!
//! [`resolve_model`] finds the single model for `--model` and is strict, because a wrong guess
//! costs money. [`resolve_scope`] finds the models for `--models` and the `enabledModels` setting
//! and is lenient: invalid patterns produce warnings.

mod collation;
mod pool;
mod reference;
mod scope;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use pi_protocol::{Model, ThinkingLevel, provider_id};
use pi_providers::builtin_provider;

pub use collation::compare_ids;
pub use pool::ModelPool;
use pool::{ModelSlice, WithoutCredentials};
use reference::{MatchRules, Matched, Reference, SuffixPolicy};
pub use scope::{ModelScope, resolve_scope};

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
    /// Whether `--api-key` is set. Stored credentials then do not choose the provider.
    pub has_inline_key: bool,
    /// What to do with a model that a named provider does not list.
    pub unlisted: UnlistedModels,
}

/// What to do with a model that its provider does not list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum UnlistedModels {
    /// Use the ID as given.
    #[default]
    Allowed,
    Rejected,
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
    /// Several providers offer the model of a scope pattern; all of them are in the scope.
    Ambiguous {
        pattern: String,
        providers: Vec<String>,
    },
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
            Self::Ambiguous { pattern, providers } => write!(
                formatter,
                "\"{pattern}\" matches several providers: {}. Use provider/model to choose one",
                providers.join(", ")
            ),
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
///
/// A provider before a slash is only a hint, since IDs may contain slashes: the whole pattern may
/// also be the ID of another provider's model. Credentials decide between providers, unless the
/// command line has a key, which goes to the selected one.
pub fn resolve_model(
    query: ModelQuery<'_>,
    pool: &impl ModelPool,
) -> Result<ResolvedModel, ModelQueryError> {
    let providers = pool.provider_ids();
    if providers.is_empty() {
        return Err(ModelQueryError::NoModels);
    }
    let pattern = with_current_provider(query.pattern.trim(), &providers);
    let constraint = match query.provider {
        Some(requested) => Some(
            find_provider(requested, &providers)
                .ok_or_else(|| ModelQueryError::UnknownProvider(requested.to_owned()))?,
        ),
        None => None,
    };
    let rules = MatchRules {
        suffix: SuffixPolicy::Strict,
        fuzzy: true,
    };
    let found = match constraint {
        Some(provider) => {
            let models = pool.provider_models(provider);
            reference::resolve(&pattern, rules, &ModelSlice(&models))
        }
        None if query.has_inline_key => {
            reference::resolve(&pattern, rules, &WithoutCredentials(pool))
        }
        None => reference::resolve(&pattern, rules, pool),
    };
    match found {
        Some(Reference {
            matched: Matched::One(model),
            thinking,
            warning,
        }) => Ok(ResolvedModel {
            model,
            thinking,
            warning,
        }),
        Some(Reference {
            matched: Matched::Several { candidates, usable },
            ..
        }) => Err(ambiguous(&query, &candidates, usable)),
        None => unlisted_model(query, &pattern, constraint, pool),
    }
}

fn ambiguous(query: &ModelQuery<'_>, candidates: &[Arc<Model>], usable: usize) -> ModelQueryError {
    let mut candidates: Vec<String> = candidates.iter().map(|model| full_id(model)).collect();
    pi_protocol::sort_by(&mut candidates, |left, right| compare_ids(left, right));
    ModelQueryError::Ambiguous {
        pattern: query.pattern.to_owned(),
        candidates,
        authenticated: usable > 0,
    }
}

/// Returns the model of a provider that does not list it, if the query names the provider.
fn unlisted_model(
    query: ModelQuery<'_>,
    pattern: &str,
    constraint: Option<&String>,
    pool: &impl ModelPool,
) -> Result<ResolvedModel, ModelQueryError> {
    let named = match constraint {
        Some(provider) => {
            let rest = strip_provider(pattern, provider).unwrap_or(pattern);
            Some((provider.clone(), rest))
        }
        None => reference::split_provider(pattern, pool),
    };
    match named {
        Some((provider, rest)) if query.unlisted == UnlistedModels::Allowed => {
            custom_model(query, &provider, rest, &pool.provider_models(&provider))
        }
        Some(_) | None => Err(ModelQueryError::NotFound(query.pattern.to_owned())),
    }
}

fn find_provider<'a>(requested: &str, providers: &'a [String]) -> Option<&'a String> {
    let find = |requested: &str| {
        providers
            .iter()
            .find(|id| id.eq_ignore_ascii_case(requested))
    };
    find(requested).or_else(|| find(provider_id::current(requested)))
}

/// Replaces a former provider ID at the start of a pattern.
fn with_current_provider<'a>(pattern: &'a str, providers: &[String]) -> Cow<'a, str> {
    match pattern.split_once('/') {
        Some((provider, rest)) => {
            let current = provider_id::current(provider);
            if current == provider || providers.iter().any(|id| id == provider) {
                Cow::Borrowed(pattern)
            } else {
                Cow::Owned(format!("{current}/{rest}"))
            }
        }
        None => Cow::Borrowed(pattern),
    }
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

/// Splits at the last colon into prefix, parsed level and raw suffix.
fn split_level(pattern: &str) -> Option<(&str, Option<ThinkingLevel>, &str)> {
    let (prefix, suffix) = pattern.rsplit_once(':')?;
    Some((prefix, ThinkingLevel::from_name(suffix), suffix))
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
