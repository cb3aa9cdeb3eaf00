//! Terminal capabilities, as detected from environment variables.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::{ImageProtocol, Size};
use crate::render::MouseTracking;

/// How long to wait for tmux to report its features.
const TMUX_TIMEOUT: Duration = Duration::from_millis(250);

/// The environment variables the terminal library reads.
#[derive(Clone, Copy)]
pub struct TerminalEnvironment<'a> {
    variable: &'a dyn Fn(&str) -> Option<String>,
}

impl std::fmt::Debug for TerminalEnvironment<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("TerminalEnvironment")
    }
}

impl<'a> TerminalEnvironment<'a> {
    pub fn new(variable: &'a dyn Fn(&str) -> Option<String>) -> Self {
        Self { variable }
    }

    fn has(&self, name: &str) -> bool {
        (self.variable)(name).is_some_and(|value| !value.is_empty())
    }

    fn lower(&self, name: &str) -> String {
        (self.variable)(name).unwrap_or_default().to_lowercase()
    }

    fn in_tmux(&self) -> bool {
        self.has("TMUX") || self.lower("TERM").starts_with("tmux")
    }

    fn in_screen(&self) -> bool {
        self.has("STY") || self.lower("TERM").starts_with("screen")
    }

    /// Whether a multiplexer runs between us and the terminal.
    pub fn in_multiplexer(&self) -> bool {
        self.in_tmux() || self.in_screen() || self.has("ZELLIJ")
    }

    pub fn in_windows_terminal(&self) -> bool {
        self.has("WT_SESSION") && !self.in_multiplexer()
    }

    /// Returns the mouse reporting to use in full-screen mode.
    pub fn mouse_tracking(&self) -> MouseTracking {
        if self.in_multiplexer() {
            MouseTracking::Buttons
        } else {
            MouseTracking::All
        }
    }

    pub fn size(&self) -> Size {
        super::raw_mode::size(self.variable)
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TerminalCapabilities {
    /// Image protocol, if the terminal supports one.
    pub images: Option<ImageProtocol>,
    /// Whether images may be drawn with block characters. They are not if the user disables images.
    pub block_images: bool,
    pub true_color: bool,
    /// Whether OSC 8 links are clickable. Otherwise URLs must be written out.
    pub hyperlinks: bool,
}

/// The user's settings for the terminal. They take precedence over everything else.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CapabilityOverrides {
    /// `Some(None)` disables images.
    pub images: Option<Option<ImageProtocol>>,
    pub true_color: Option<bool>,
    pub hyperlinks: Option<bool>,
}

impl CapabilityOverrides {
    /// Reads `PI_IMAGE_PROTOCOL`, `PI_TRUE_COLOR` and `PI_HYPERLINKS`.
    pub fn from_environment(environment: TerminalEnvironment<'_>) -> Self {
        let flag = |name: &str| match environment.lower(name).as_str() {
            "1" => Some(true),
            "0" => Some(false),
            _ => None,
        };
        Self {
            images: match environment.lower("PI_IMAGE_PROTOCOL").as_str() {
                "kitty" => Some(Some(ImageProtocol::Kitty)),
                "iterm2" => Some(Some(ImageProtocol::ITerm2)),
                "none" | "0" => Some(None),
                _ => None,
            },
            true_color: flag("PI_TRUE_COLOR"),
            hyperlinks: flag("PI_HYPERLINKS"),
        }
    }

    /// Returns these overrides, with unset values taken from `other`.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            images: self.images.or(other.images),
            true_color: self.true_color.or(other.true_color),
            hyperlinks: self.hyperlinks.or(other.hyperlinks),
        }
    }
}

impl TerminalCapabilities {
    /// Resolves the capabilities: settings override environment variables, which override
    /// detection.
    ///
    /// `tmux_forwards_links` is only called inside tmux, and only if nothing else decides; see
    /// [`probe_tmux_hyperlinks`].
    pub fn resolve(
        environment: TerminalEnvironment<'_>,
        settings: CapabilityOverrides,
        tmux_forwards_links: impl FnOnce() -> bool,
    ) -> Self {
        let overrides = settings.or(CapabilityOverrides::from_environment(environment));
        let forwards = || overrides.hyperlinks.unwrap_or_else(tmux_forwards_links);
        let detected = Self::detect(environment, forwards);
        Self {
            images: overrides.images.unwrap_or(detected.images),
            block_images: overrides.images != Some(None),
            true_color: overrides.true_color.unwrap_or(detected.true_color),
            hyperlinks: overrides.hyperlinks.unwrap_or(detected.hyperlinks),
        }
    }

    fn detect(
        environment: TerminalEnvironment<'_>,
        tmux_forwards_links: impl FnOnce() -> bool,
    ) -> Self {
        let program = environment.lower("TERM_PROGRAM");
        let any = |names: &[&str]| names.iter().any(|name| environment.has(name));
        let hinted = matches!(
            environment.lower("COLORTERM").as_str(),
            "truecolor" | "24bit"
        ) || environment.lower("TERM").ends_with("-direct");
        let modern = |images| Self {
            images,
            true_color: true,
            hyperlinks: true,
            ..Self::default()
        };
        let plain = |true_color| Self {
            true_color,
            ..Self::default()
        };
        // Multiplexers do not forward images reliably, and forward links only where tmux reports
        // so.
        if environment.in_tmux() {
            return Self {
                hyperlinks: tmux_forwards_links(),
                ..plain(hinted)
            };
        }
        if environment.lower("TERM").starts_with("screen") {
            return plain(hinted);
        }
        if program == "herdr" {
            return Self {
                true_color: hinted,
                ..modern(Some(ImageProtocol::Kitty))
            };
        }
        let kitty = any(&[
            "KITTY_WINDOW_ID",
            "GHOSTTY_RESOURCES_DIR",
            "WEZTERM_PANE",
            "WARP_SESSION_ID",
            "WARP_TERMINAL_SESSION_UUID",
        ]) || matches!(
            program.as_str(),
            "kitty" | "ghostty" | "wezterm" | "warpterminal" | "rex"
        ) || (program == "orca" && environment.lower("ORCA_IMAGE_PROTOCOL") == "kitty")
            || environment.lower("TERM").contains("ghostty");
        if kitty {
            return modern(Some(ImageProtocol::Kitty));
        }
        if any(&["ITERM_SESSION_ID"]) || program == "iterm.app" {
            return modern(Some(ImageProtocol::ITerm2));
        }
        if any(&["WT_SESSION"]) || matches!(program.as_str(), "alacritty" | "vscode" | "zed") {
            return modern(None);
        }
        let jetbrains = environment.lower("TERMINAL_EMULATOR") == "jetbrains-jediterm";
        // An unknown terminal that swallows OSC 8 would hide the URL, so no links there.
        plain(hinted || jetbrains || cfg!(windows))
    }
}

/// Asks tmux whether it forwards hyperlinks to the outer terminal. Waits at most 250 ms.
pub fn probe_tmux_hyperlinks() -> bool {
    let spawned = Command::new("tmux")
        .args(["display-message", "-p", "#{client_termfeatures}"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    let Ok(mut child) = spawned else {
        return false;
    };
    let deadline = Instant::now() + TMUX_TIMEOUT;
    loop {
        match child.try_wait() {
            Ok(Some(_)) => break,
            Ok(None) if Instant::now() < deadline => {
                std::thread::sleep(Duration::from_millis(2));
            }
            Ok(None) | Err(_) => {
                if let Err(error) = child.kill() {
                    tracing::debug!(%error, "cannot kill tmux");
                }
                break;
            }
        }
    }
    child.wait_with_output().is_ok_and(|output| {
        String::from_utf8_lossy(&output.stdout)
            .split(',')
            .any(|feature| feature.trim() == "hyperlinks")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    /// Images, 24-bit colors, links.
    type Detected = (Option<ImageProtocol>, bool, bool);

    /// Variables, whether tmux forwards links, and the expected capabilities.
    type Case<'a> = (&'a [(&'a str, &'a str)], bool, Detected);

    fn detected(variables: &[(&str, &str)], tmux: bool) -> Detected {
        let lookup = |name: &str| {
            variables
                .iter()
                .find(|(key, _)| *key == name)
                .map(|(_, value)| (*value).to_owned())
        };
        let capabilities = TerminalCapabilities::resolve(
            TerminalEnvironment::new(&lookup),
            CapabilityOverrides::default(),
            || tmux,
        );
        (
            capabilities.images,
            capabilities.true_color,
            capabilities.hyperlinks,
        )
    }

    #[test]
    fn terminals_are_detected_from_the_environment() {
        const KITTY: Option<ImageProtocol> = Some(ImageProtocol::Kitty);
        const ITERM: Option<ImageProtocol> = Some(ImageProtocol::ITerm2);
        let cases: &[Case<'_>] = &[
            (&[("KITTY_WINDOW_ID", "1")], false, (KITTY, true, true)),
            (&[("TERM", "xterm-ghostty")], false, (KITTY, true, true)),
            (&[("TERM_PROGRAM", "WezTerm")], false, (KITTY, true, true)),
            (
                &[("TERM_PROGRAM", "WarpTerminal")],
                false,
                (KITTY, true, true),
            ),
            (&[("TERM_PROGRAM", "iTerm.app")], false, (ITERM, true, true)),
            (&[("TERM_PROGRAM", "Rex")], false, (KITTY, true, true)),
            (&[("TERM_PROGRAM", "herdr")], false, (KITTY, false, true)),
            (
                &[("TERM_PROGRAM", "Orca"), ("ORCA_IMAGE_PROTOCOL", "kitty")],
                false,
                (KITTY, true, true),
            ),
            (&[("TERM_PROGRAM", "orca")], false, (None, false, false)),
            (&[("TERM", "xterm-direct")], false, (None, true, false)),
            (&[("WT_SESSION", "x")], false, (None, true, true)),
            (&[("TERM_PROGRAM", "vscode")], false, (None, true, true)),
            (
                &[("TERMINAL_EMULATOR", "JetBrains-JediTerm")],
                false,
                (None, true, false),
            ),
            (&[("COLORTERM", "truecolor")], false, (None, true, false)),
            (
                &[("TMUX", "x"), ("KITTY_WINDOW_ID", "1")],
                false,
                (None, false, false),
            ),
            (
                &[("TMUX", "x"), ("COLORTERM", "24bit")],
                true,
                (None, true, true),
            ),
            (&[("TERM", "screen-256color")], true, (None, false, false)),
            (
                &[("TMUX", "x"), ("PI_HYPERLINKS", "1")],
                false,
                (None, false, true),
            ),
            (
                &[("KITTY_WINDOW_ID", "1"), ("PI_IMAGE_PROTOCOL", "none")],
                false,
                (None, true, true),
            ),
            (
                &[("PI_IMAGE_PROTOCOL", "iterm2"), ("PI_TRUE_COLOR", "1")],
                false,
                (ITERM, true, false),
            ),
        ];
        for (variables, tmux, expected) in cases {
            assert_eq!(&detected(variables, *tmux), expected, "{variables:?}");
        }
    }

    #[test]
    fn disabled_images_are_not_drawn_with_blocks() {
        let resolve = |images| {
            let settings = CapabilityOverrides {
                images,
                ..CapabilityOverrides::default()
            };
            let environment = TerminalEnvironment::new(&|_| None);
            TerminalCapabilities::resolve(environment, settings, || false).block_images
        };
        assert!(resolve(None));
        assert!(!resolve(Some(None)));
    }

    #[test]
    fn settings_override_the_environment() {
        let lookup = |name: &str| (name == "PI_HYPERLINKS").then(|| "1".to_owned());
        let settings = CapabilityOverrides {
            hyperlinks: Some(false),
            ..CapabilityOverrides::default()
        };
        let capabilities =
            TerminalCapabilities::resolve(TerminalEnvironment::new(&lookup), settings, || true);
        assert!(!capabilities.hyperlinks);
    }
}
