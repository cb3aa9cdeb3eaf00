//! The footer: working directory, usage, cost and model.

use pi_protocol::{ContextUsage, TokenTotals};
use pi_tui::{
    ColorToken, Component, Lines, TruncateOptions, styled_line, truncate_to_width, visible_width,
};
use pi_views::theme::ui_theme::{RenderContext, UiTheme};

use crate::blocks::clean_line;

/// Minimum columns between the usage numbers and the model.
const MIN_GAP: usize = 2;
/// The model name is not cut below this width while other details can be dropped.
const MIN_MODEL_WIDTH: usize = 12;
/// Context usage in percent shown as a warning.
const NEARLY_FULL: f64 = 70.0;
/// Context usage in percent shown as an error.
const FULL: f64 = 90.0;
const ELLIPSIS: TruncateOptions<'static> = TruncateOptions { ellipsis: "..." };

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct FooterData {
    /// The working directory, with the home directory as `~`.
    pub(crate) directory: String,
    pub(crate) branch: Option<String>,
    pub(crate) name: Option<String>,
    /// Number of clients of other processes.
    pub(crate) watching: usize,
    pub(crate) tokens: TokenTotals,
    /// Share of the last prompt read from the cache, in percent.
    pub(crate) cache_hits: Option<f64>,
    /// In US dollars.
    pub(crate) cost: f64,
    /// Whether a subscription covers the cost.
    pub(crate) subscription: bool,
    pub(crate) context: Option<ContextUsage>,
    /// The model's context window in tokens.
    pub(crate) window: u64,
    pub(crate) auto_compaction: bool,
    /// `None` if only one provider is configured.
    pub(crate) provider: Option<String>,
    pub(crate) model: Option<String>,
    /// `None` if the model has no thinking levels.
    pub(crate) thinking: Option<String>,
    /// The model that a virtual model chose for the last response, with its thinking level.
    pub(crate) routed: Option<String>,
    /// Status texts of extensions, ordered by key.
    pub(crate) statuses: Vec<String>,
}

#[derive(Debug)]
pub(crate) struct Footer {
    ui: UiTheme,
    data: FooterData,
    /// An extension's footer is shown instead.
    hidden: bool,
}

impl Footer {
    pub(crate) fn new(ui: UiTheme) -> Self {
        Self {
            ui,
            data: FooterData::default(),
            hidden: false,
        }
    }

    /// Hides the footer while an extension shows its own.
    pub(crate) fn set_hidden(&mut self, hidden: bool) {
        self.hidden = hidden;
    }

    pub(crate) fn set_data(&mut self, data: FooterData) {
        self.data = data;
    }
}

impl FooterData {
    fn directory_line(&self) -> String {
        let branch = self.branch.as_deref();
        let branch = branch.map(|branch| format!(" ({})", clean_line(branch)));
        let name = self.name.as_deref();
        let name = name.map(|name| format!(" • {}", clean_line(name)));
        let directory = clean_line(&self.directory);
        let watching = (self.watching > 0).then(|| format!(" • {} watching", self.watching));
        [Some(directory), branch, name, watching]
            .into_iter()
            .flatten()
            .collect()
    }

    /// Returns tokens and cost, without context usage.
    fn usage(&self, detail: FooterDetail) -> String {
        let tokens = [("↑", self.tokens.input), ("↓", self.tokens.output)];
        let cache = [
            ("R", self.tokens.cache_read),
            ("W", self.tokens.cache_write),
        ];
        let mut counts = Vec::new();
        if detail >= FooterDetail::Tokens {
            counts.extend(tokens);
        }
        if detail >= FooterDetail::Cache {
            counts.extend(cache);
        }
        let counts = counts.into_iter().filter(|(_, count)| *count > 0);
        let mut parts: Vec<String> = counts
            .map(|(mark, count)| format!("{mark}{}", short_count(count)))
            .collect();
        if detail >= FooterDetail::Cache
            && self.tokens.cache_read + self.tokens.cache_write > 0
            && let Some(share) = self.cache_hits
        {
            parts.push(format!("CH{share:.1}%"));
        }
        if detail >= FooterDetail::Cost && (self.cost > 0.0 || self.subscription) {
            let paid = if self.subscription { " (sub)" } else { "" };
            parts.push(format!("${:.3}{paid}", self.cost));
        }
        parts.join(" ")
    }

    /// Returns the context usage and its color.
    fn context_usage(&self, detail: FooterDetail) -> (String, ColorToken) {
        if self.context.is_none() && self.window == 0 {
            // Without a model.
            return (String::new(), ColorToken::Dim);
        }
        let automatic = if self.auto_compaction && detail >= FooterDetail::Compaction {
            " (auto)"
        } else {
            ""
        };
        let percent = match &self.context {
            Some(context) => context.percent,
            None => Some(0.0),
        };
        let share = percent.map_or("?".to_owned(), |percent| format!("{percent:.1}%"));
        let window = match &self.context {
            Some(context) => context.context_window,
            None => self.window,
        };
        if window == 0 {
            return (String::new(), ColorToken::Dim);
        }
        let token = match percent {
            Some(percent) if percent > FULL => ColorToken::Error,
            Some(percent) if percent > NEARLY_FULL => ColorToken::Warning,
            _ => ColorToken::Dim,
        };
        (format!("{share}/{}{automatic}", short_count(window)), token)
    }

    fn numbers(&self, detail: FooterDetail, ctx: &RenderContext) -> String {
        let usage = self.usage(detail);
        let (usage_text, token) = self.context_usage(detail);
        let gap = if usage.is_empty() || usage_text.is_empty() {
            ""
        } else {
            " "
        };
        format!(
            "{}{}",
            ctx.paint(ColorToken::Dim, &format!("{usage}{gap}")),
            ctx.paint(token, &usage_text)
        )
    }

    fn numbers_line(&self, width: usize, ctx: &RenderContext) -> String {
        let model = ModelLabel::new(self);
        let fits = |left: &String| visible_width(left) + MIN_GAP + model.min_width() <= width;
        let mut numbers = FooterDetail::ALL
            .map(|detail| self.numbers(detail, ctx))
            .into_iter();
        let shortest = self.numbers(FooterDetail::Context, ctx);
        let left = numbers.find(fits).unwrap_or(shortest);
        let left = truncate_to_width(&left, width, ELLIPSIS);
        let right = model.within(width.saturating_sub(visible_width(&left) + MIN_GAP));
        if right.is_empty() {
            return left.into_owned();
        }
        let gap = width.saturating_sub(visible_width(&left) + visible_width(&right));
        let right = format!("{}{right}", " ".repeat(gap));
        format!("{left}{}", ctx.paint(ColorToken::Dim, &right))
    }
}

/// How much detail the numbers show; each level includes those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum FooterDetail {
    /// Context usage.
    Context,
    /// Whether auto-compaction is on.
    Compaction,
    Cost,
    /// Input and output tokens.
    Tokens,
    /// Cache reads and writes.
    Cache,
}

impl FooterDetail {
    /// From most to least detail.
    const ALL: [Self; 5] = [
        Self::Cache,
        Self::Tokens,
        Self::Cost,
        Self::Compaction,
        Self::Context,
    ];
}

/// The model with its thinking level, shortened to the available width.
struct ModelLabel {
    provider: Option<String>,
    model: String,
    /// The thinking level and the model of the last response, with separators; empty without either.
    level: String,
}

impl ModelLabel {
    fn new(data: &FooterData) -> Self {
        let provider = data.provider.as_deref();
        let level = match data.thinking.as_deref() {
            Some("off") => " • thinking off".to_owned(),
            Some(level) => format!(" • {level}"),
            None => String::new(),
        };
        let routed = data.routed.as_deref().map(clean_line);
        let routed = routed.map_or(String::new(), |routed| format!(" → {routed}"));
        Self {
            provider: provider.map(|provider| format!("({}) ", clean_line(provider))),
            model: clean_line(data.model.as_deref().unwrap_or("no model")),
            level: format!("{level}{routed}"),
        }
    }

    /// Returns the width at which the model is still recognizable and its level complete.
    fn min_width(&self) -> usize {
        visible_width(&self.model).min(MIN_MODEL_WIDTH) + visible_width(&self.level)
    }

    /// Returns what fits into `room` columns: the provider is dropped first, then the end of the model name.
    fn within(&self, room: usize) -> String {
        let Self {
            provider,
            model,
            level,
        } = self;
        let unnamed = format!("{model}{level}");
        if let Some(provider) = provider
            && visible_width(provider) + visible_width(&unnamed) <= room
        {
            return format!("{provider}{unnamed}");
        }
        if visible_width(&unnamed) > room && room >= self.min_width() {
            let model = truncate_to_width(model, room - visible_width(level), ELLIPSIS);
            return format!("{model}{level}");
        }
        truncate_to_width(&unnamed, room, TruncateOptions { ellipsis: "" }).into_owned()
    }
}

impl Component for Footer {
    fn render(&mut self, width: usize) -> Lines {
        if self.hidden {
            return Lines::empty();
        }
        let ctx = self.ui.context();
        let data = &self.data;
        let dim = |text: &str| {
            let text = truncate_to_width(text, width, ELLIPSIS);
            ctx.paint(ColorToken::Dim, &text)
        };
        let statuses = data.statuses.join(" ");
        let statuses = styled_line(&statuses);
        let mut lines = vec![dim(&data.directory_line()), data.numbers_line(width, &ctx)];
        if !statuses.is_empty() {
            // Extensions color their own status texts.
            lines.push(truncate_to_width(&statuses, width, ELLIPSIS).into_owned());
        }
        lines.into()
    }
}

/// Formats a count in few characters, such as `1.2k`.
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

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn shown(data: &FooterData, width: usize) -> Vec<String> {
        let mut footer = Footer::new(UiTheme::for_tests());
        footer.set_data(data.clone());
        let lines = footer.render(width);
        assert!(lines.iter().all(|line| visible_width(line) <= width));
        lines
            .iter()
            .map(|line| pi_tui::strip_ansi(line).into_owned())
            .collect()
    }

    fn data() -> FooterData {
        FooterData {
            directory: "~/project".to_owned(),
            branch: Some("main".to_owned()),
            name: Some("Corn\x1b[2Jflower\nFiles".to_owned()),
            tokens: TokenTotals {
                input: 1234,
                output: 56,
                cache_read: 7890,
                cache_write: 321,
                total: 9501,
            },
            cache_hits: Some(83.5),
            cost: 0.0081,
            context: Some(ContextUsage {
                tokens: Some(9501),
                context_window: 200_000,
                percent: Some(4.75),
            }),
            window: 200_000,
            auto_compaction: true,
            provider: Some("mock".to_owned()),
            model: Some("alpha".to_owned()),
            thinking: Some("medium".to_owned()),
            ..FooterData::default()
        }
    }

    #[test]
    fn all_details_are_shown_and_control_sequences_removed() {
        assert_eq!(
            shown(&data(), 90),
            [
                "~/project (main) • Cornflower Files",
                "↑1.2k ↓56 R7.9k W321 CH83.5% $0.008 4.8%/200k (auto)                 (mock) alpha • medium",
            ]
        );
    }

    #[test]
    fn the_model_of_the_last_response_follows_a_virtual_one() {
        let routed = FooterData {
            model: Some("auto".to_owned()),
            thinking: Some("high".to_owned()),
            routed: Some("be\x1b[2Jta • low".to_owned()),
            ..data()
        };
        let numbers = shown(&routed, 100).pop().unwrap();
        assert!(
            numbers.ends_with("(mock) auto • high → beta • low"),
            "{numbers}"
        );
    }

    #[test]
    fn least_important_details_are_dropped_first() {
        let numbers = |data: &FooterData, width| shown(data, width).pop().unwrap();
        let long = FooterData {
            model: Some("alpha-with-a-long-name".to_owned()),
            ..data()
        };
        for (data, width, expected) in [
            (
                data(),
                72,
                "↑1.2k ↓56 R7.9k W321 CH83.5% $0.008 4.8%/200k (auto)      alpha • medium",
            ),
            (
                data(),
                67,
                "↑1.2k ↓56 $0.008 4.8%/200k (auto)             (mock) alpha • medium",
            ),
            (
                data(),
                48,
                "$0.008 4.8%/200k (auto)    (mock) alpha • medium",
            ),
            (data(), 40, "$0.008 4.8%/200k (auto)   alpha • medium"),
            (data(), 36, "4.8%/200k (auto)      alpha • medium"),
            (data(), 25, "4.8%/200k  alpha • medium"),
            (data(), 20, "4.8%/200k  alpha • m"),
            (data(), 6, "4.8..."),
            (
                long.clone(),
                80,
                "↑1.2k ↓56 R7.9k W321 CH83.5% $0.008 4.8%/200k (auto)  alpha-with-a-l... • medium",
            ),
            (long, 40, "4.8%/200k (auto)  alpha-with... • medium"),
        ] {
            assert_eq!(numbers(&data, width), expected, "{width}");
        }
        assert_eq!(shown(&data(), 20)[0], "~/project (main) ...");
        for width in 0..20 {
            shown(&data(), width);
        }
    }

    #[test]
    fn context_usage_is_colored_by_level() {
        let token = |percent| {
            let context = ContextUsage {
                tokens: None,
                context_window: 200_000,
                percent,
            };
            let data = FooterData {
                context: Some(context),
                ..FooterData::default()
            };
            data.context_usage(FooterDetail::Cache)
        };
        assert_eq!(
            token(Some(91.0)),
            ("91.0%/200k".to_owned(), ColorToken::Error)
        );
        assert_eq!(token(Some(71.0)).1, ColorToken::Warning);
        assert_eq!(token(None), ("?/200k".to_owned(), ColorToken::Dim));
    }

    #[test]
    fn extension_statuses_have_their_own_line() {
        let data = FooterData {
            statuses: vec!["one\ntwo".to_owned(), "three".to_owned()],
            thinking: Some("off".to_owned()),
            ..data()
        };
        let lines = shown(&data, 90);
        assert_eq!(lines.get(2).map(String::as_str), Some("one two three"));
        assert!(lines.concat().contains("alpha • thinking off"));
    }
}
