//! What the extensions of a session cost, and whether that exceeds their budget.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use pi_ext::ExtensionUsage;
use pi_protocol::settings::{BudgetAction, ExtensionBudget};
use pi_protocol::{CacheMissCause, CacheMissReport, ExtensionCost};
use serde::Deserialize;

use crate::front_end::ExtensionFailure;
use crate::registration::ToolData;
use crate::{ExtensionsInner, SessionExtensions};

/// The event under which an exceeded budget is reported.
const BUDGET_EVENT: &str = "budget";

/// How long a report waits for extensions that are busy.
const PATIENCE: Duration = Duration::from_millis(500);

/// Minimum time between two checks of the heap, each of which collects garbage.
const HEAP_CHECK_INTERVAL: Duration = Duration::from_secs(30);

/// Characters per token in estimates.
const TOKEN_CHARACTERS: u64 = 4;

const MIB: u64 = 1024 * 1024;

const HEAP_KEY: &str = "heapMb";

/// A part of prompts that extensions change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum PromptPart {
    System,
    /// Messages of a single request.
    Context,
}

/// Texts that extensions add to prompts, by path.
#[derive(Debug, Default)]
pub(crate) struct PromptTexts(BTreeMap<String, PromptText>);

#[derive(Debug, Default)]
struct PromptText {
    system: i64,
    context: i64,
    /// Sections of the system prompt that it has changed.
    sections: HashSet<String>,
}

impl PromptTexts {
    /// Sets the size of a part in the last prompt, in characters.
    pub(crate) fn set(
        &mut self,
        extension: String,
        part: PromptPart,
        characters: i64,
        sections: Vec<String>,
    ) {
        let text = self.0.entry(extension).or_default();
        match part {
            PromptPart::System => text.system = characters,
            PromptPart::Context => text.context = characters,
        }
        text.sections.extend(sections);
    }

    /// Returns the characters that an extension adds; none if it removes more than that.
    fn characters(&self, extension: &str) -> u64 {
        let text = self.0.get(extension);
        let characters = text.map_or(0, |text| text.system.saturating_add(text.context));
        u64::try_from(characters).unwrap_or_default()
    }

    /// Returns the extension that has changed a section.
    fn owner_of_section(&self, name: &str) -> Option<String> {
        let mut texts = self.0.iter();
        let owner = texts.find(|(_, text)| text.sections.contains(name));
        owner.map(|(extension, _)| extension.clone())
    }
}

/// The budget of the extensions of a session.
#[derive(Debug, Default)]
pub(crate) struct BudgetState {
    budget: ExtensionBudget,
    /// The extensions and limits that were reported.
    reported: Mutex<HashSet<(String, &'static str)>>,
    /// When garbage was collected to check the heap.
    last_heap_check: Mutex<Option<Instant>>,
}

impl BudgetState {
    pub(crate) fn new(budget: ExtensionBudget) -> Self {
        Self {
            budget,
            reported: Mutex::default(),
            last_heap_check: Mutex::default(),
        }
    }

    /// Whether shares of the heap are limited.
    pub(crate) fn limits_heap(&self) -> bool {
        self.budget.heap_mb.is_some()
    }

    /// Whether garbage must be collected to find out what exceeds its share of the heap. Starts the time until the next
    /// check.
    fn start_heap_check(&self, costs: &[ExtensionCost], now: Instant) -> bool {
        let is_new = |cost: &ExtensionCost| {
            let key = (cost.path.clone(), HEAP_KEY);
            !cost.paused && !self.reported.lock().contains(&key)
        };
        let heap = only_heap(&self.budget);
        let is_suspect = |cost: &ExtensionCost| !exceeded(cost, &heap).is_empty() && is_new(cost);
        if !costs.iter().any(is_suspect) {
            return false;
        }
        let mut last = self.last_heap_check.lock();
        let is_early =
            last.is_some_and(|last| now.saturating_duration_since(last) < HEAP_CHECK_INTERVAL);
        if !is_early {
            *last = Some(now);
        }
        !is_early
    }
}

fn only_heap(budget: &ExtensionBudget) -> ExtensionBudget {
    ExtensionBudget {
        heap_mb: budget.heap_mb,
        ..ExtensionBudget::default()
    }
}

/// What has run, and may have changed figures that a budget limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BudgetOccasion {
    Event,
    Rendering,
}

impl BudgetOccasion {
    /// Returns the limits of the figures that may have changed.
    fn limits(self, budget: &ExtensionBudget) -> ExtensionBudget {
        match self {
            Self::Event => ExtensionBudget {
                render_ms: None,
                ..*budget
            },
            Self::Rendering => ExtensionBudget {
                handler_ms: None,
                prompt_tokens: None,
                ..*budget
            },
        }
    }
}

/// A limit that an extension exceeds.
#[derive(Debug, PartialEq, Eq)]
struct ExceededLimit {
    key: &'static str,
    message: String,
}

/// Returns the limits that the costs of an extension exceed.
fn exceeded(cost: &ExtensionCost, budget: &ExtensionBudget) -> Vec<ExceededLimit> {
    let milliseconds = |limit: Option<u64>, key, spent: f64, what: &str| {
        let limit = limit.and_then(|limit| u32::try_from(limit).ok())?;
        (spent > f64::from(limit)).then(|| ExceededLimit {
            key,
            message: format!("{what} took {spent:.0} ms; extensionBudget.{key} is {limit}"),
        })
    };
    let amount = |limit: Option<u64>, key, used: u64, unit: &str| {
        let limit = limit?;
        (used > limit).then(|| ExceededLimit {
            key,
            message: format!("uses {used} {unit}; extensionBudget.{key} is {limit}"),
        })
    };
    let heap = cost.heap_bytes / MIB;
    [
        milliseconds(budget.start_ms, "startMs", cost.start_ms, "loading"),
        milliseconds(
            budget.handler_ms,
            "handlerMs",
            cost.longest_handler_ms,
            "an event",
        ),
        milliseconds(
            budget.render_ms,
            "renderMs",
            cost.longest_frame_ms,
            "a frame",
        ),
        amount(budget.heap_mb, HEAP_KEY, heap, "MiB of the heap (about)"),
        amount(
            budget.prompt_tokens,
            "promptTokens",
            cost.prompt_tokens,
            "tokens of each prompt",
        ),
    ]
    .into_iter()
    .flatten()
    .collect()
}

impl SessionExtensions {
    /// Returns what each extension costs; `misses` are the prompt cache misses of the session. Waits a moment for
    /// extensions that are busy.
    pub async fn costs(&self, misses: &[CacheMissReport]) -> Vec<ExtensionCost> {
        let usage = self.0.engine.engine().usage(PATIENCE).await;
        let mut costs = self.0.costs(&usage, &self.0.prompt_tokens());
        for miss in misses {
            let owners = miss.causes.iter().flat_map(|cause| self.0.owners_of(cause));
            let owners: HashSet<String> = owners.collect();
            for cost in costs.iter_mut().filter(|cost| owners.contains(&cost.path)) {
                cost.cache_misses += 1;
            }
        }
        costs
    }
}

impl ExtensionsInner {
    /// Returns the extensions whose tools or sections caused a cache miss.
    fn owners_of(&self, cause: &CacheMissCause) -> Vec<String> {
        match cause {
            CacheMissCause::Section { name, .. } => {
                let owner = self.prompt_texts.lock().owner_of_section(name);
                owner.into_iter().collect()
            }
            CacheMissCause::Tools { added, removed } => {
                let registry = self.bridge.registry();
                let is_named =
                    |tool: &ToolData| added.contains(&tool.name) || removed.contains(&tool.name);
                let tools = registry.tools.iter().filter(|(_, tool)| is_named(tool));
                tools.map(|(extension, _)| extension.clone()).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Returns the tokens that extensions add to prompts, by path.
    fn prompt_tokens(&self) -> HashMap<String, u64> {
        let active = self.bridge.session().map(|session| session.active_tools());
        let active = active.unwrap_or_default();
        let registry = self.bridge.registry();
        let texts = self.prompt_texts.lock();
        let tokens = registry.sources.keys().map(|path| {
            let tools = registry.tools.iter();
            let tools = tools.filter(|(owner, tool)| owner == path && active.contains(&tool.name));
            let declared: u64 = tools.map(|(_, tool)| tool.prompt_characters()).sum();
            let characters = declared.saturating_add(texts.characters(path));
            (path.clone(), characters.div_ceil(TOKEN_CHARACTERS))
        });
        tokens.collect()
    }

    fn costs(
        &self,
        usage: &BTreeMap<String, ExtensionUsage>,
        prompt_tokens: &HashMap<String, u64>,
    ) -> Vec<ExtensionCost> {
        let registry = self.bridge.registry();
        let mut paths: Vec<&String> = registry.sources.keys().collect();
        paths.sort();
        let costs = paths.into_iter().map(|path| {
            let usage = usage.get(path).copied().unwrap_or_default();
            ExtensionCost {
                path: path.clone(),
                on_node: self.engine.is_on_node(path),
                paused: self.hooks.is_paused(path),
                start_ms: milliseconds(usage.load),
                handler_ms: milliseconds(usage.handlers),
                longest_handler_ms: milliseconds(usage.longest_handler),
                events: usage.events,
                running_ms: milliseconds(usage.running),
                render_ms: milliseconds(usage.rendering),
                longest_frame_ms: milliseconds(usage.longest_frame),
                frames: usage.frames,
                late_frames: usage.late_frames,
                heap_bytes: usage.heap,
                prompt_tokens: prompt_tokens.get(path).copied().unwrap_or_default(),
                cache_misses: 0,
                errors: usage.errors,
                children: usage.children,
            }
        });
        costs.collect()
    }

    /// Reports extensions that exceed their budget, and pauses them if the user wants that.
    pub(crate) async fn check_budget(&self, occasion: BudgetOccasion) {
        let limits = occasion.limits(&self.budget.budget);
        if limits.is_unlimited() {
            return;
        }
        let prompt_tokens = limits.prompt_tokens.map(|_| self.prompt_tokens());
        let prompt_tokens = prompt_tokens.unwrap_or_default();
        let costs = self.costs(&self.engine.meter().usage(), &prompt_tokens);
        let needs_heap_check = self.budget.start_heap_check(&costs, Instant::now());
        let without_heap = ExtensionBudget {
            heap_mb: None,
            ..limits
        };
        self.report_exceeded(&costs, &without_heap).await;
        if needs_heap_check {
            // Without garbage.
            let usage = self.engine.engine().usage(PATIENCE).await;
            let costs = self.costs(&usage, &prompt_tokens);
            self.report_exceeded(&costs, &only_heap(&limits)).await;
        }
    }

    async fn report_exceeded(&self, costs: &[ExtensionCost], limits: &ExtensionBudget) {
        for cost in costs {
            for limit in exceeded(cost, limits) {
                self.limit_exceeded(&cost.path, limit).await;
            }
        }
    }

    async fn limit_exceeded(&self, extension: &str, limit: ExceededLimit) {
        let key = (extension.to_owned(), limit.key);
        if !self.budget.reported.lock().insert(key) {
            return;
        }
        let pauses = self.budget.budget.on_exceeded == Some(BudgetAction::Pause);
        let consequence = if pauses { "; paused until /reload" } else { "" };
        let failure = ExtensionFailure {
            extension: Some(extension.to_owned()),
            event: BUDGET_EVENT.to_owned(),
            error: format!("{}{consequence}", limit.message),
            stack: None,
        };
        self.bridge.ui.report_failure(failure).await;
        if pauses && !self.hooks.is_paused(extension) {
            self.hooks.pause(extension.to_owned());
            if let Err(error) = self.engine.unmount_all(extension).await {
                tracing::warn!(%error, extension, "cannot remove the components of a paused extension");
            }
        }
    }
}

/// Returns milliseconds with microseconds as decimals.
fn milliseconds(time: Duration) -> f64 {
    let microseconds = time.as_secs_f64() * 1e6;
    microseconds.round() / 1e3
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn each_limit_has_its_own_figure() {
        let cost = ExtensionCost {
            start_ms: 600.4,
            longest_handler_ms: 250.0,
            handler_ms: 9_000.0,
            longest_frame_ms: 20.0,
            heap_bytes: 64 * MIB,
            prompt_tokens: 5_000,
            ..ExtensionCost::default()
        };
        let budget = ExtensionBudget {
            start_ms: Some(500),
            render_ms: Some(16),
            handler_ms: Some(200),
            heap_mb: Some(32),
            prompt_tokens: Some(1_000),
            on_exceeded: None,
        };
        let keys = |budget: &ExtensionBudget| -> Vec<_> {
            let exceeded = exceeded(&cost, budget).into_iter();
            exceeded.map(|limit| limit.key).collect()
        };
        assert_eq!(
            keys(&budget),
            ["startMs", "handlerMs", "renderMs", "heapMb", "promptTokens"]
        );
        let roomy = ExtensionBudget {
            start_ms: Some(601),
            render_ms: Some(20),
            handler_ms: Some(250),
            heap_mb: Some(64),
            prompt_tokens: Some(5_000),
            on_exceeded: None,
        };
        assert_eq!(keys(&roomy), [""; 0]);
        assert_eq!(
            exceeded(&cost, &budget)[0].message,
            "loading took 600 ms; extensionBudget.startMs is 500"
        );
        assert!(ExtensionBudget::default().is_unlimited());
        assert!(!budget.is_unlimited());
        for (occasion, expected) in [
            (
                BudgetOccasion::Event,
                &["startMs", "handlerMs", "heapMb", "promptTokens"][..],
            ),
            (
                BudgetOccasion::Rendering,
                &["startMs", "renderMs", "heapMb"],
            ),
        ] {
            assert_eq!(keys(&occasion.limits(&budget)), expected);
        }
    }

    #[test]
    fn the_heap_is_checked_at_intervals_for_extensions_that_are_not_reported() {
        let state = BudgetState::new(ExtensionBudget {
            heap_mb: Some(32),
            ..ExtensionBudget::default()
        });
        let cost = |path: &str, mebibytes: u64| ExtensionCost {
            path: path.to_owned(),
            heap_bytes: mebibytes * MIB,
            ..ExtensionCost::default()
        };
        let (small, large) = (cost("small", 32), cost("large", 33));
        let start = Instant::now();
        let at = |checks: u32| start + checks * HEAP_CHECK_INTERVAL;
        let starts = |costs: Vec<ExtensionCost>, now| state.start_heap_check(&costs, now);
        assert!(!starts(vec![small.clone()], start));
        assert!(starts(vec![small, large.clone()], start));
        assert!(!starts(
            vec![large.clone()],
            start + HEAP_CHECK_INTERVAL / 2
        ));
        assert!(starts(vec![large.clone()], at(1)));
        let paused = ExtensionCost {
            paused: true,
            ..cost("paused", 33)
        };
        assert!(!starts(vec![paused.clone()], at(2)));
        state.reported.lock().insert((large.path.clone(), HEAP_KEY));
        assert!(!starts(vec![large, paused, cost("other", 1)], at(2)));
        assert!(starts(vec![cost("other", 33)], at(2)));
    }

    #[test]
    fn removed_text_costs_nothing() {
        let mut texts = PromptTexts::default();
        let extension = || "/a.ts".to_owned();
        texts.set(
            extension(),
            PromptPart::System,
            400,
            vec!["todo".to_owned()],
        );
        texts.set(extension(), PromptPart::Context, 100, Vec::new());
        assert_eq!(texts.characters("/a.ts"), 500);
        texts.set(extension(), PromptPart::Context, -900, Vec::new());
        assert_eq!(texts.characters("/a.ts"), 0);
        assert_eq!(texts.owner_of_section("todo"), Some(extension()));
        assert_eq!(texts.owner_of_section("other"), None);
    }
}
