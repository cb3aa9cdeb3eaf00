//! Effective values: the setting clamped to its range, or the default.

use std::time::Duration;

use super::{
    BoolOrAuto, CacheWarming, CodeMode, CodemodeSettings, DoubleEscapeAction, FileHistoryMode,
    FullscreenExitOutput, FullscreenScrollbar, ImageProtocolName, ImageProtocolSetting,
    ImageSettings, MarkdownSettings, MermaidMode, ProjectTrustDefault, ProviderRetrySettings,
    QuietStartup, QuietStartupPart, RunNotification, Settings, TerminalSettings, ToolRows,
    TreeFilterMode, TuiMode, WheelScrollLines,
};
use crate::provider_id;
use crate::queue::QueueMode;
use crate::request_choice::TransportPreference;
use crate::retry::RetryPolicy;
use crate::thinking::ThinkingLevel;

/// Token limits for compaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CompactionTokens {
    /// Tokens reserved for the response.
    pub reserve: u64,
    /// Most recent tokens that are kept unsummarized.
    pub keep_recent: u64,
}

const COMPACTION_RESERVE_TOKENS: u64 = 16_384;
const COMPACTION_KEEP_RECENT_TOKENS: u64 = 20_000;

const FILE_HISTORY_MAX_BYTES: u64 = 64 * 1024 * 1024;

/// Columns of prose that are easy to read; narrower terminals use all of theirs.
const DEFAULT_TEXT_WIDTH: u16 = 120;
const MIN_TEXT_WIDTH: u16 = 40;

const CODEMODE_INLINE_BUDGET: u64 = 3_000;

impl CodemodeSettings {
    pub fn mode(&self) -> CodeMode {
        self.mode.unwrap_or(CodeMode::On)
    }

    /// Returns the tokens of tool declarations in the description of the tool.
    pub fn inline_budget(&self) -> u64 {
        self.inline_budget.unwrap_or(CODEMODE_INLINE_BUDGET)
    }
}

/// Model and thinking.
impl Settings {
    pub fn default_thinking_level(&self) -> ThinkingLevel {
        self.default_thinking_level.unwrap_or(ThinkingLevel::Medium)
    }

    /// Returns the thinking level configured for one model.
    pub fn model_thinking_level(&self, provider: &str, model: &str) -> Option<ThinkingLevel> {
        let level_of = |provider: &str| {
            let levels = &self.model_thinking_levels;
            levels.get(&format!("{provider}/{model}")).copied()
        };
        level_of(provider).or_else(|| level_of(provider_id::former(provider)?))
    }

    /// Returns provider and ID of the default model.
    pub fn default_model(&self) -> Option<(&str, &str)> {
        let provider = provider_id::current(self.default_provider.as_deref()?);
        Some((provider, self.default_model.as_deref()?))
    }

    pub fn hide_thinking_block(&self) -> bool {
        self.hide_thinking_block.unwrap_or(false)
    }

    pub fn show_cache_miss_notices(&self) -> bool {
        self.show_cache_miss_notices.unwrap_or(false)
    }

    pub fn cache_warming(&self) -> CacheWarming {
        self.cache_warming.unwrap_or_default()
    }
}

/// Interaction and tools.
impl Settings {
    pub fn steering_mode(&self) -> QueueMode {
        self.steering_mode.unwrap_or_default()
    }

    pub fn follow_up_mode(&self) -> QueueMode {
        self.follow_up_mode.unwrap_or_default()
    }

    pub fn double_escape_action(&self) -> DoubleEscapeAction {
        self.double_escape_action.unwrap_or_default()
    }

    /// Returns the initial filter of the session tree.
    pub fn tree_filter_mode(&self) -> TreeFilterMode {
        self.tree_filter_mode.unwrap_or_default()
    }

    /// Returns the default for projects without a saved trust decision.
    pub fn default_project_trust(&self) -> ProjectTrustDefault {
        self.default_project_trust.unwrap_or_default()
    }

    /// Returns whether skills are available as slash commands.
    pub fn enable_skill_commands(&self) -> bool {
        self.enable_skill_commands.unwrap_or(true)
    }
}

/// Sessions.
impl Settings {
    pub fn file_history(&self) -> FileHistoryMode {
        self.file_history.unwrap_or_default()
    }

    pub fn file_history_max_bytes(&self) -> u64 {
        self.file_history_max_bytes
            .unwrap_or(FILE_HISTORY_MAX_BYTES)
    }

    /// Returns whether sessions are compacted automatically.
    pub fn compaction_enabled(&self) -> bool {
        self.compaction.enabled.unwrap_or(true)
    }

    /// Returns the compaction limits for a model: for each, the model's override, the general setting or the default.
    pub fn compaction_tokens(&self, provider: &str, model: &str) -> CompactionTokens {
        let own = self
            .compaction
            .model_overrides
            .get(&format!("{provider}/{model}"))
            .copied()
            .unwrap_or_default();
        CompactionTokens {
            reserve: own
                .reserve_tokens
                .or(self.compaction.reserve_tokens)
                .unwrap_or(COMPACTION_RESERVE_TOKENS),
            keep_recent: own
                .keep_recent_tokens
                .or(self.compaction.keep_recent_tokens)
                .unwrap_or(COMPACTION_KEEP_RECENT_TOKENS),
        }
    }

    pub fn branch_summary_reserve_tokens(&self) -> u64 {
        self.branch_summary
            .reserve_tokens
            .unwrap_or(COMPACTION_RESERVE_TOKENS)
    }

    /// Returns whether to skip both the prompt and the summary when leaving a branch.
    pub fn branch_summary_skip_prompt(&self) -> bool {
        self.branch_summary.skip_prompt.unwrap_or(false)
    }
}

/// Terminal and display.
impl Settings {
    /// Returns whether both the header and the resource list are hidden.
    pub fn quiet_startup(&self) -> bool {
        self.quiet_startup == Some(QuietStartup::All(true))
    }

    /// Returns whether the resource list is hidden, with or without the header.
    pub fn hide_startup_details(&self) -> bool {
        self.quiet_startup()
            || self.quiet_startup == Some(QuietStartup::Part(QuietStartupPart::Header))
    }

    pub fn tui_mode(&self) -> TuiMode {
        self.tui_mode.unwrap_or_default()
    }

    pub fn fullscreen_exit_output(&self) -> FullscreenExitOutput {
        self.fullscreen_exit_output.unwrap_or_default()
    }

    pub fn fullscreen_scrollbar(&self) -> FullscreenScrollbar {
        self.fullscreen_scrollbar.unwrap_or_default()
    }

    pub fn fullscreen_copy_on_select(&self) -> bool {
        self.fullscreen_copy_on_select.unwrap_or(true)
    }

    /// Returns the lines to scroll per wheel step; `None` to let the terminal decide.
    pub fn fullscreen_wheel_scroll_lines(&self) -> Option<u16> {
        match self.fullscreen_wheel_scroll_lines {
            Some(WheelScrollLines::Lines(lines)) => Some(clamp(lines, 1, 100)),
            Some(WheelScrollLines::Detect(_)) | None => None,
        }
    }

    /// Returns the horizontal padding of the editor, 0 to 3 cells.
    pub fn editor_padding_x(&self) -> u16 {
        clamp(self.editor_padding_x.unwrap_or(0), 0, 3)
    }

    /// Returns the horizontal padding of the transcript: 0 or 1 cells.
    pub fn output_pad(&self) -> u16 {
        u16::from(self.output_pad != Some(0))
    }

    /// Returns the maximum number of visible completions, 3 to 20.
    pub fn autocomplete_max_visible(&self) -> u16 {
        clamp(self.autocomplete_max_visible.unwrap_or(5), 3, 20)
    }
}

/// Network and retries.
impl Settings {
    pub fn transport(&self) -> TransportPreference {
        self.transport.unwrap_or_default()
    }

    /// Returns the proxy for all requests.
    pub fn http_proxy(&self) -> Option<&str> {
        let proxy = self.http_proxy.as_deref()?.trim();
        (!proxy.is_empty()).then_some(proxy)
    }

    /// Returns after how long `pi serve` closes a session without clients.
    pub fn serve_idle_limit(&self) -> Duration {
        let minutes = self.serve.idle_minutes.unwrap_or(30);
        Duration::from_secs(minutes.max(1).saturating_mul(60))
    }

    /// `None` means no timeout.
    pub fn http_idle_timeout(&self) -> Option<Duration> {
        timeout(self.http_idle_timeout_ms.unwrap_or(300_000))
    }

    /// `None` means no timeout.
    pub fn websocket_connect_timeout(&self) -> Option<Duration> {
        timeout(self.websocket_connect_timeout_ms.unwrap_or(15_000))
    }

    /// Returns the retry policy for failed turns.
    pub fn retry_policy(&self) -> RetryPolicy {
        let (retry, usual) = (&self.retry, RetryPolicy::default());
        let pause = |milliseconds: Option<u64>, usual: Duration| {
            milliseconds.map_or(usual, Duration::from_millis)
        };
        RetryPolicy {
            enabled: retry.enabled.unwrap_or(usual.enabled),
            max_retries: retry.max_retries.map_or(usual.max_retries, saturate),
            base_delay: pause(retry.base_delay_ms, usual.base_delay),
            max_delay: pause(retry.max_agent_delay_ms, usual.max_delay),
        }
    }
}

/// Updates, telemetry and warnings.
impl Settings {
    /// Returns whether the changelog shown after an update is collapsed.
    pub fn collapse_changelog(&self) -> bool {
        self.collapse_changelog.unwrap_or(false)
    }

    /// Returns whether installs are counted and requests carry attribution headers. Unlike in the TypeScript pi,
    /// this is opt-in.
    pub fn enable_install_telemetry(&self) -> bool {
        self.enable_install_telemetry.unwrap_or(false)
    }

    /// Returns whether to warn that a Claude subscription may incur extra charges.
    pub fn warn_anthropic_extra_usage(&self) -> bool {
        self.warnings.anthropic_extra_usage.unwrap_or(true)
    }
}

impl TerminalSettings {
    pub fn show_images(&self) -> bool {
        self.show_images.unwrap_or(true)
    }

    /// Returns the width of images, at least one cell.
    pub fn image_width_cells(&self) -> u16 {
        clamp(self.image_width_cells.unwrap_or(60), 1, u16::MAX)
    }

    /// Returns whether to report progress to the terminal, for its tab or taskbar icon.
    pub fn tool_rows(&self) -> ToolRows {
        self.tool_rows.unwrap_or_default()
    }

    pub fn notify(&self) -> RunNotification {
        self.notify.unwrap_or_default()
    }

    /// Returns the columns of prose; `None` for the width of the terminal.
    pub fn max_text_width(&self) -> Option<u16> {
        match self.max_text_width {
            None => Some(DEFAULT_TEXT_WIDTH),
            Some(0) => None,
            Some(columns) => Some(
                u16::try_from(columns)
                    .unwrap_or(u16::MAX)
                    .max(MIN_TEXT_WIDTH),
            ),
        }
    }

    pub fn show_terminal_progress(&self) -> bool {
        self.show_terminal_progress.unwrap_or(false)
    }

    /// Returns whether to use clickable links; `None` to detect support.
    pub fn hyperlinks(&self) -> Option<bool> {
        explicit(self.hyperlinks)
    }

    /// Returns whether to use 24-bit color; `None` to detect support.
    pub fn true_color(&self) -> Option<bool> {
        explicit(self.true_color)
    }

    /// Returns the image protocol, or [`ImageProtocolSetting::Enabled`] with `false` to disable images;
    /// `None` to detect support.
    pub fn image_protocol(&self) -> Option<ImageProtocolSetting> {
        match self.images? {
            ImageProtocolSetting::Protocol(ImageProtocolName::Auto)
            | ImageProtocolSetting::Enabled(true) => None,
            known => Some(known),
        }
    }
}

impl ImageSettings {
    /// Returns whether large images are resized before they are sent.
    pub fn auto_resize(&self) -> bool {
        self.auto_resize.unwrap_or(true)
    }

    /// Returns whether to send no images to models.
    pub fn block_images(&self) -> bool {
        self.block_images.unwrap_or(false)
    }
}

impl MarkdownSettings {
    /// Returns the prefix of each line of a code block.
    pub fn code_block_indent(&self) -> &str {
        self.code_block_indent.as_deref().unwrap_or("  ")
    }

    /// Returns when Mermaid diagrams are rendered.
    pub fn mermaid_mode(&self) -> MermaidMode {
        self.mermaid.unwrap_or_default()
    }
}

impl ProviderRetrySettings {
    /// Returns the timeout of a single request, if one is set.
    pub fn timeout(&self) -> Option<Duration> {
        self.timeout_ms.map(Duration::from_millis)
    }

    /// Returns the maximum retries of a single request, if set.
    pub fn max_retries(&self) -> Option<u32> {
        self.max_retries.map(saturate)
    }

    /// Returns the longest `retry-after` delay to honor; `None` for no limit.
    pub fn max_retry_delay(&self) -> Option<Duration> {
        timeout(self.max_retry_delay_ms.unwrap_or(60_000))
    }
}

fn clamp(number: u64, min: u16, max: u16) -> u16 {
    u16::try_from(number).unwrap_or(u16::MAX).clamp(min, max)
}

fn saturate(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

fn timeout(milliseconds: u64) -> Option<Duration> {
    (milliseconds > 0).then(|| Duration::from_millis(milliseconds))
}

fn explicit(setting: Option<BoolOrAuto>) -> Option<bool> {
    match setting {
        Some(BoolOrAuto::Value(on)) => Some(on),
        Some(BoolOrAuto::Detect(_)) | None => None,
    }
}
