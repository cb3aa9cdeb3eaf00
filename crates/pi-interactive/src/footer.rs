//! The lines below the editor: where we are, what it cost, which model answers.

use pi_session::{ContextUsage, TokenTotals};
use pi_tui::{
    ColorToken, Component, Line, Lines, Truncation, sanitize, truncate_to_width, visible_width,
};

use crate::look::Look;

/// What the footer says.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct FooterFacts {
    /// The working directory, with the home as `~`.
    pub(crate) place: String,
    /// The branch that is checked out.
    pub(crate) branch: Option<String>,
    /// The session's name.
    pub(crate) name: Option<String>,
    /// Tokens used so far.
    pub(crate) tokens: TokenTotals,
    /// The share of the last prompt that came from the cache, in percent.
    pub(crate) cache_hits: Option<f64>,
    /// What it cost in US dollars.
    pub(crate) cost: f64,
    /// Whether a subscription pays for it.
    pub(crate) subscription: bool,
    /// How full the context is.
    pub(crate) context: Option<ContextUsage>,
    /// The model's context window.
    pub(crate) window: u64,
    /// Whether the session compacts itself.
    pub(crate) auto_compaction: bool,
    /// The provider, where there are several.
    pub(crate) provider: Option<String>,
    /// The model.
    pub(crate) model: Option<String>,
    /// The thinking level, if the model thinks.
    pub(crate) thinking: Option<String>,
    /// What extensions say, by their key.
    pub(crate) statuses: Vec<String>,
}

/// The footer.
#[derive(Debug)]
pub(crate) struct Footer {
    look: Look,
    facts: FooterFacts,
}

impl Footer {
    /// Starts with nothing to say.
    pub(crate) fn new(look: Look) -> Self {
        Self {
            look,
            facts: FooterFacts::default(),
        }
    }

    /// Returns what it says.
    pub(crate) fn facts(&self) -> &FooterFacts {
        &self.facts
    }

    /// Says something else.
    pub(crate) fn set_facts(&mut self, facts: FooterFacts) {
        self.facts = facts;
    }
}

impl Component for Footer {
    fn render(&mut self, width: usize) -> Lines {
        let appearance = self.look.appearance();
        let facts = &self.facts;
        let mut place = facts.place.clone();
        if let Some(branch) = &facts.branch {
            place.push_str(&format!(" ({branch})"));
        }
        if let Some(name) = &facts.name {
            place.push_str(&format!(" • {name}"));
        }
        let mut left = Vec::new();
        for (mark, count) in [
            ("↑", facts.tokens.input),
            ("↓", facts.tokens.output),
            ("R", facts.tokens.cache_read),
            ("W", facts.tokens.cache_write),
        ] {
            if count > 0 {
                left.push(format!("{mark}{}", short_count(count)));
            }
        }
        if facts.cost > 0.0 || facts.subscription {
            let paid = if facts.subscription { " (sub)" } else { "" };
            left.push(format!("${:.3}{paid}", facts.cost));
        }
        let automatic = if facts.auto_compaction { " (auto)" } else { "" };
        let share = facts.context.as_ref().and_then(|context| context.percent);
        let share = share.map_or("?".to_owned(), |percent| format!("{percent:.1}%"));
        left.push(format!("{share}/{}{automatic}", short_count(facts.window)));
        let left = left.join(" ");
        let mut right = facts.model.clone().unwrap_or_else(|| "no model".to_owned());
        if let Some(provider) = &facts.provider {
            right = format!("({provider}) {right}");
        }
        if let Some(thinking) = &facts.thinking {
            right.push_str(&format!(" • {thinking}"));
        }
        let gap = width.saturating_sub(visible_width(&left) + visible_width(&right));
        let second = if gap >= 2 {
            format!("{left}{}{right}", " ".repeat(gap))
        } else {
            format!("{left}  {right}")
        };
        let statuses = facts.statuses.join(" ");
        [place, second]
            .into_iter()
            .chain((!statuses.is_empty()).then_some(statuses))
            .map(|line| {
                let line = sanitize(&line).replace(['\n', '\r', '\t'], " ");
                let line = truncate_to_width(&line, width, Truncation::default());
                Line::from(appearance.paint(ColorToken::Dim, &line))
            })
            .collect()
    }
}

/// Returns a count in few characters, such as `1.2k`.
pub(crate) fn short_count(count: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
    let number = count as f64;
    match count {
        0..1_000 => count.to_string(),
        1_000..10_000 => format!("{:.1}k", number / 1e3),
        10_000..1_000_000 => format!("{:.0}k", number / 1e3),
        1_000_000..10_000_000 => format!("{:.1}M", number / 1e6),
        _ => format!("{:.0}M", number / 1e6),
    }
}
