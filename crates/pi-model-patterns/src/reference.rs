//! Matches a reference to one model: `provider/id`, an ID, or a part of an ID or name.

use std::sync::Arc;

use pi_protocol::{Model, ThinkingLevel};

use super::{ModelPool, ModelWarning, compare_ids, eq_ignore_case, split_level, strip_provider};

/// More colons than any real ID has; each is a possible start of the level suffix.
const MAX_COLONS: usize = 16;

/// How to treat a suffix after a colon if the whole text matches nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SuffixPolicy {
    /// It is part of the ID.
    Ignored,
    /// It must be a thinking level.
    Strict,
    /// One that is not a thinking level is dropped with a warning.
    Lenient,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct MatchRules {
    pub(super) suffix: SuffixPolicy,
    /// Whether a part of an ID or name is enough.
    pub(super) fuzzy: bool,
}

/// What a text refers to.
#[derive(Debug)]
pub(super) struct Reference {
    pub(super) matched: Matched,
    pub(super) thinking: Option<ThinkingLevel>,
    pub(super) warning: Option<ModelWarning>,
}

#[derive(Debug)]
pub(super) enum Matched {
    One(Arc<Model>),
    /// Models of several providers, none of which is preferable.
    Several {
        candidates: Vec<Arc<Model>>,
        /// How many of them can be used.
        usable: usize,
    },
}

/// Matches the whole text if possible, otherwise the text without its level suffix. IDs may contain
/// colons.
pub(super) fn resolve(text: &str, rules: MatchRules, pool: &impl ModelPool) -> Option<Reference> {
    let text = text.trim();
    if text.is_empty() || text.matches(':').count() > MAX_COLONS {
        return None;
    }
    let exact = match_named(text, rules.fuzzy, pool);
    let matched = exact.or_else(|| {
        let fuzzy = rules.fuzzy.then(|| match_part(text, pool));
        fuzzy.flatten()
    });
    if let Some(matched) = matched {
        return Some(Reference {
            matched,
            thinking: None,
            warning: None,
        });
    }
    let (prefix, level, suffix) = split_level(text)?;
    match (rules.suffix, level) {
        (SuffixPolicy::Ignored, _) | (SuffixPolicy::Strict, None) => return None,
        (SuffixPolicy::Strict | SuffixPolicy::Lenient, _) => {}
    }
    let mut found = resolve(prefix, rules, pool)?;
    match level {
        Some(_) if found.warning.is_some() => {}
        Some(level) => found.thinking = Some(level),
        None => {
            found.thinking = None;
            found.warning = Some(ModelWarning::BadLevel {
                level: suffix.to_owned(),
                pattern: text.to_owned(),
            });
        }
    }
    Some(found)
}

/// Splits a text at the longest provider ID that it starts with; IDs of providers may contain
/// slashes.
pub(super) fn split_provider<'a>(
    text: &'a str,
    pool: &impl ModelPool,
) -> Option<(String, &'a str)> {
    let mut providers = pool.provider_ids();
    pi_protocol::sort_by_key(&mut providers, |id| std::cmp::Reverse(id.len()));
    providers.into_iter().find_map(|provider| {
        let rest = strip_provider(text, &provider)?.trim();
        let is_known = !rest.is_empty() && !pool.provider_models(&provider).is_empty();
        is_known.then_some((provider, rest))
    })
}

/// Matches `provider/id`, or the whole text as the ID of any provider's model.
///
/// The named provider wins if it can be used, which is decided without loading other providers.
/// Otherwise the only usable model with that ID wins: the named provider could not serve the
/// request.
fn match_named(text: &str, fuzzy: bool, pool: &impl ModelPool) -> Option<Matched> {
    let named = split_provider(text, pool).and_then(|(provider, rest)| {
        let models = pool.provider_models(&provider);
        let with_id = |id: &str| models.iter().find(|model| eq_ignore_case(&model.id, id));
        // An ID may repeat the name of its provider.
        let exact = with_id(rest).or_else(|| with_id(text)).cloned();
        exact.or_else(|| {
            let partial = fuzzy.then(|| best_match(&containing(rest, &models)));
            partial.flatten()
        })
    });
    if let Some(model) = &named
        && pool.is_authenticated(&model.provider)
    {
        return Some(Matched::One(Arc::clone(model)));
    }
    let is_other = |model: &Arc<Model>| named.as_ref().is_none_or(|named| !named.is_same(model));
    let others: Vec<Arc<Model>> = pool
        .all_models()
        .into_iter()
        .filter(|model| eq_ignore_case(&model.id, text) && is_other(model))
        .collect();
    let mut candidates: Vec<Arc<Model>> = named.iter().cloned().collect();
    candidates.extend(others.iter().cloned());
    let first = candidates.first()?;
    if is_single_provider(&candidates) {
        return Some(Matched::One(Arc::clone(first)));
    }
    let usable = others
        .iter()
        .filter(|model| pool.is_authenticated(&model.provider));
    let usable: Vec<&Arc<Model>> = usable.collect();
    match (usable.as_slice(), named) {
        ([only], _) => Some(Matched::One(Arc::clone(only))),
        ([], Some(named)) => Some(Matched::One(named)),
        (several, _) => Some(Matched::Several {
            usable: several.len(),
            candidates,
        }),
    }
}

/// Matches a part of an ID or name. If several providers match, those that can be used are
/// preferred; the same ID at several of them is ambiguous.
fn match_part(text: &str, pool: &impl ModelPool) -> Option<Matched> {
    let mut matches = containing(text, &pool.all_models());
    let mut has_usable = false;
    if !is_single_provider(&matches) {
        let usable: Vec<Arc<Model>> = matches
            .iter()
            .filter(|model| pool.is_authenticated(&model.provider))
            .cloned()
            .collect();
        has_usable = !usable.is_empty();
        if has_usable {
            matches = usable;
        }
    }
    let best = best_match(&matches)?;
    matches.retain(|model| model.id == best.id);
    if is_single_provider(&matches) {
        return Some(Matched::One(best));
    }
    Some(Matched::Several {
        usable: if has_usable { matches.len() } else { 0 },
        candidates: matches,
    })
}

fn containing(text: &str, models: &[Arc<Model>]) -> Vec<Arc<Model>> {
    let lower = text.to_lowercase();
    let matches = models.iter().filter(|model| {
        model.id.to_lowercase().contains(&lower) || model.name.to_lowercase().contains(&lower)
    });
    matches.cloned().collect()
}

fn is_single_provider(models: &[Arc<Model>]) -> bool {
    models
        .windows(2)
        .all(|pair| matches!(pair, [left, right] if left.provider == right.provider))
}

/// Prefers aliases over dated versions, then the highest ID, then the first match.
fn best_match(matches: &[Arc<Model>]) -> Option<Arc<Model>> {
    let best = matches.iter().reduce(|best, model| {
        let order = is_alias(&model.id)
            .cmp(&is_alias(&best.id))
            .then_with(|| compare_ids(&model.id, &best.id));
        if order.is_gt() { model } else { best }
    });
    best.cloned()
}

/// Returns whether an ID is an alias, that is, does not end in a date such as `-20250929`.
fn is_alias(id: &str) -> bool {
    let is_date =
        |suffix: &str| suffix.len() == 8 && suffix.bytes().all(|byte| byte.is_ascii_digit());
    !id.rsplit_once('-')
        .is_some_and(|(_, suffix)| is_date(suffix))
}
