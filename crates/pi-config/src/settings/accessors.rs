//! The values that count: what is set, within its range, or the default.

use std::path::PathBuf;
use std::time::Duration;

use pi_ai::retry::RetryPolicy;
use pi_ai::{Env, ThinkingLevel, TransportPreference};

use super::{
    BoolOrAuto, CacheWarming, DeliveryMode, DoubleEscapeAction, FullscreenExitOutput,
    FullscreenScrollbar, ImageProtocolName, ImageProtocolSetting, MermaidMode, ProjectTrustDefault,
    QuietStartup, QuietStartupPart, Settings, TreeFilterMode, TuiMode, WheelScrollLines,
};
use crate::{env_vars, expand_home};

/// What compaction needs to know of its settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CompactionTokens {
    /// Tokens kept free for the answer.
    pub reserve: u64,
    /// Recent tokens that are not summarized.
    pub keep_recent: u64,
}

const COMPACTION_RESERVE_TOKENS: u64 = 16_384;
const COMPACTION_KEEP_RECENT_TOKENS: u64 = 20_000;

/// Model and thinking.
impl Settings {
    /// Returns the thinking level of new sessions.
    pub fn default_thinking_level(&self) -> ThinkingLevel {
        self.default_thinking_level.unwrap_or(ThinkingLevel::Medium)
    }

    /// Returns the thinking level set for one model.
    pub fn model_thinking_level(&self, provider: &str, model: &str) -> Option<ThinkingLevel> {
        self.model_thinking_levels
            .get(&format!("{provider}/{model}"))
            .copied()
    }

    /// Returns whether thinking stays out of the transcript.
    pub fn hide_thinking_block(&self) -> bool {
        self.hide_thinking_block.unwrap_or(false)
    }

    /// Returns whether costly cache misses are shown.
    pub fn show_cache_miss_notices(&self) -> bool {
        self.show_cache_miss_notices.unwrap_or(false)
    }

    /// Returns when a prompt cache is kept warm.
    pub fn cache_warming(&self) -> CacheWarming {
        self.cache_warming.unwrap_or_default()
    }
}

/// Interaction and tools.
impl Settings {
    /// Returns how steering messages are delivered.
    pub fn steering_mode(&self) -> DeliveryMode {
        self.steering_mode.unwrap_or_default()
    }

    /// Returns how follow-up messages are delivered.
    pub fn follow_up_mode(&self) -> DeliveryMode {
        self.follow_up_mode.unwrap_or_default()
    }

    /// Returns the command that edits a prompt: the setting, `VISUAL`, `EDITOR`, the platform's.
    pub fn external_editor(&self, env: &Env) -> String {
        self.external_editor
            .clone()
            .filter(|command| !command.trim().is_empty())
            .or_else(|| env.var(env_vars::VISUAL))
            .or_else(|| env.var(env_vars::EDITOR))
            .unwrap_or_else(|| if cfg!(windows) { "notepad" } else { "nano" }.to_owned())
    }

    /// Returns what two escapes do.
    pub fn double_escape_action(&self) -> DoubleEscapeAction {
        self.double_escape_action.unwrap_or_default()
    }

    /// Returns what the session tree shows at first.
    pub fn tree_filter_mode(&self) -> TreeFilterMode {
        self.tree_filter_mode.unwrap_or_default()
    }

    /// Returns what to do with a project nobody decided about.
    pub fn default_project_trust(&self) -> ProjectTrustDefault {
        self.default_project_trust.unwrap_or_default()
    }

    /// Returns whether skills are commands.
    pub fn enable_skill_commands(&self) -> bool {
        self.enable_skill_commands.unwrap_or(true)
    }

    /// Returns the shell of the bash tool, a leading `~` replaced.
    pub fn shell_path(&self, env: &Env) -> Option<PathBuf> {
        let path = self.shell_path.as_deref().filter(|path| !path.is_empty())?;
        Some(expand_home(path, env))
    }
}

/// Sessions.
impl Settings {
    /// Returns whether compaction happens by itself.
    pub fn compaction_enabled(&self) -> bool {
        self.compaction.enabled.unwrap_or(true)
    }

    /// Returns compaction's numbers for a model: each the model's own, the general, or the default.
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

    /// Returns the tokens kept free for a branch summary.
    pub fn branch_summary_reserve_tokens(&self) -> u64 {
        self.branch_summary
            .reserve_tokens
            .unwrap_or(COMPACTION_RESERVE_TOKENS)
    }

    /// Returns whether the user is not asked about a branch summary, and none made.
    pub fn branch_summary_skip_prompt(&self) -> bool {
        self.branch_summary.skip_prompt.unwrap_or(false)
    }
}

/// Terminal and display.
impl Settings {
    /// Returns whether the header and the list of resources are hidden.
    pub fn quiet_startup(&self) -> bool {
        self.quiet_startup == Some(QuietStartup::All(true))
    }

    /// Returns whether the header is hidden, alone or with everything else.
    pub fn hide_startup_header(&self) -> bool {
        self.quiet_startup()
            || self.quiet_startup == Some(QuietStartup::Part(QuietStartupPart::Header))
    }

    /// Returns whether the terminal application takes the whole screen.
    pub fn tui_mode(&self) -> TuiMode {
        self.tui_mode.unwrap_or_default()
    }

    /// Returns what is left on the terminal after full-screen mode.
    pub fn fullscreen_exit_output(&self) -> FullscreenExitOutput {
        self.fullscreen_exit_output.unwrap_or_default()
    }

    /// Returns when the scroll bar shows.
    pub fn fullscreen_scrollbar(&self) -> FullscreenScrollbar {
        self.fullscreen_scrollbar.unwrap_or_default()
    }

    /// Returns whether a selection is copied at once.
    pub fn fullscreen_copy_on_select(&self) -> bool {
        self.fullscreen_copy_on_select.unwrap_or(true)
    }

    /// Returns how many lines one step of the wheel scrolls; `None` when the terminal decides.
    pub fn fullscreen_wheel_scroll_lines(&self) -> Option<u16> {
        match self.fullscreen_wheel_scroll_lines {
            Some(WheelScrollLines::Lines(lines)) => Some(clamp(lines, 1, 100)),
            Some(WheelScrollLines::Detect(_)) | None => None,
        }
    }

    /// Returns the empty cells beside the editor, 0 to 3.
    pub fn editor_padding_x(&self) -> u16 {
        clamp(self.editor_padding_x.unwrap_or(0), 0, 3)
    }

    /// Returns the empty cells beside the transcript: 0 when that is set, 1 otherwise.
    pub fn output_pad(&self) -> u16 {
        u16::from(self.output_pad != Some(0))
    }

    /// Returns how many completions show, 3 to 20.
    pub fn autocomplete_max_visible(&self) -> u16 {
        clamp(self.autocomplete_max_visible.unwrap_or(5), 3, 20)
    }

    /// Returns whether the terminal's own cursor shows.
    pub fn show_hardware_cursor(&self, env: &Env) -> bool {
        self.show_hardware_cursor
            .unwrap_or_else(|| is_one(env, env_vars::HARDWARE_CURSOR))
    }

    /// Returns whether images show.
    pub fn show_images(&self) -> bool {
        self.terminal.show_images.unwrap_or(true)
    }

    /// Returns how wide images show, at least one cell.
    pub fn image_width_cells(&self) -> u16 {
        clamp(self.terminal.image_width_cells.unwrap_or(60), 1, u16::MAX)
    }

    /// Returns whether rows that became empty are cleared.
    pub fn clear_on_shrink(&self, env: &Env) -> bool {
        self.terminal
            .clear_on_shrink
            .unwrap_or_else(|| is_one(env, env_vars::CLEAR_ON_SHRINK))
    }

    /// Returns whether the terminal's tab shows progress.
    pub fn show_terminal_progress(&self) -> bool {
        self.terminal.show_terminal_progress.unwrap_or(false)
    }

    /// Returns whether links can be clicked; `None` when that is to be found out.
    pub fn hyperlinks(&self) -> Option<bool> {
        known(self.terminal.hyperlinks)
    }

    /// Returns whether there are 16 million colors; `None` when that is to be found out.
    pub fn true_color(&self) -> Option<bool> {
        known(self.terminal.true_color)
    }

    /// Returns how images reach the terminal, [`ImageProtocolSetting::Enabled`] with `false` for not at all;
    /// `None` when that is to be found out.
    pub fn image_protocol(&self) -> Option<ImageProtocolSetting> {
        match self.terminal.images? {
            ImageProtocolSetting::Protocol(ImageProtocolName::Auto)
            | ImageProtocolSetting::Enabled(true) => None,
            known => Some(known),
        }
    }

    /// Returns whether large images are made smaller before a model sees them.
    pub fn image_auto_resize(&self) -> bool {
        self.images.auto_resize.unwrap_or(true)
    }

    /// Returns whether no image is sent to a model.
    pub fn block_images(&self) -> bool {
        self.images.block_images.unwrap_or(false)
    }

    /// Returns what lines of code begin with.
    pub fn code_block_indent(&self) -> &str {
        self.markdown.code_block_indent.as_deref().unwrap_or("  ")
    }

    /// Returns when diagrams are drawn.
    pub fn mermaid_mode(&self) -> MermaidMode {
        self.markdown.mermaid.unwrap_or_default()
    }
}

/// Network and retries.
impl Settings {
    /// Returns the preferred transport.
    pub fn transport(&self) -> TransportPreference {
        self.transport.unwrap_or_default()
    }

    /// Returns the proxy of all requests.
    pub fn http_proxy(&self) -> Option<&str> {
        let proxy = self.http_proxy.as_deref()?.trim();
        (!proxy.is_empty()).then_some(proxy)
    }

    /// Returns how long a server may be silent; `None` is for ever.
    pub fn http_idle_timeout(&self) -> Option<Duration> {
        timeout(self.http_idle_timeout_ms.unwrap_or(300_000))
    }

    /// Returns how long a WebSocket may take to open; `None` is for ever.
    pub fn websocket_connect_timeout(&self) -> Option<Duration> {
        timeout(self.websocket_connect_timeout_ms.unwrap_or(15_000))
    }

    /// Returns how the agent tries again.
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

    /// Returns how long a provider's request may take, if that is limited.
    pub fn provider_timeout(&self) -> Option<Duration> {
        self.retry.provider.timeout_ms.map(Duration::from_millis)
    }

    /// Returns how often the provider layer repeats a request, if that is set.
    pub fn provider_max_retries(&self) -> Option<u32> {
        self.retry.provider.max_retries.map(saturate)
    }

    /// Returns the longest pause a server may ask for; `None` is any.
    pub fn provider_max_retry_delay(&self) -> Option<Duration> {
        timeout(self.retry.provider.max_retry_delay_ms.unwrap_or(60_000))
    }
}

/// Updates, telemetry and warnings.
impl Settings {
    /// Returns whether the news after an update are short.
    pub fn collapse_changelog(&self) -> bool {
        self.collapse_changelog.unwrap_or(false)
    }

    /// Returns whether installs are counted and requests attributed. Unlike in the TypeScript pi,
    /// nobody is counted without having asked for it.
    pub fn enable_install_telemetry(&self) -> bool {
        self.enable_install_telemetry.unwrap_or(false)
    }

    /// Returns whether to warn that a subscription may cost extra.
    pub fn warn_anthropic_extra_usage(&self) -> bool {
        self.warnings.anthropic_extra_usage.unwrap_or(true)
    }
}

fn clamp(number: u64, least: u16, most: u16) -> u16 {
    u16::try_from(number).unwrap_or(u16::MAX).clamp(least, most)
}

fn saturate(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

fn timeout(milliseconds: u64) -> Option<Duration> {
    (milliseconds > 0).then(|| Duration::from_millis(milliseconds))
}

fn known(switch: Option<BoolOrAuto>) -> Option<bool> {
    match switch {
        Some(BoolOrAuto::Value(on)) => Some(on),
        Some(BoolOrAuto::Detect(_)) | None => None,
    }
}

fn is_one(env: &Env, variable: &str) -> bool {
    env.var(variable).is_some_and(|value| value == "1")
}
