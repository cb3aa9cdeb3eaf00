//! What the colors of the `system` theme depend on: hue family, contrast and surfaces of each token.

use super::super::ColorToken;
use crate::color_space::Oklch;
use crate::style::Color;
use crate::terminal::{ColorScheme, TEXT_CONTRAST};

/// Where a token gets its hue from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    Neutral,
    Red,
    Green,
    Yellow,
    Blue,
    Magenta,
    Cyan,
    BrightMagenta,
}

impl Family {
    /// Returns the palette entry of the family; grays have none.
    pub(super) fn slot(self) -> Option<usize> {
        match self {
            Self::Neutral => None,
            Self::Red => Some(1),
            Self::Green => Some(2),
            Self::Yellow => Some(3),
            Self::Blue => Some(4),
            Self::Magenta => Some(5),
            Self::Cyan => Some(6),
            Self::BrightMagenta => Some(13),
        }
    }

    /// Returns hue and chroma for terminals that report no palette.
    pub(super) fn own_color(self) -> Oklch {
        let (chroma, hue) = match self {
            Self::Neutral => (0.012, 260.0),
            Self::Red => (0.15, 22.0),
            Self::Green => (0.13, 150.0),
            Self::Yellow => (0.13, 85.0),
            Self::Blue => (0.12, 250.0),
            Self::Magenta => (0.13, 305.0),
            Self::Cyan => (0.09, 195.0),
            Self::BrightMagenta => (0.18, 335.0),
        };
        Oklch {
            lightness: 0.5,
            chroma,
            hue,
        }
    }

    /// Returns the limit of the chroma, since saturated palettes are hard to read as text.
    pub(super) fn max_chroma(self) -> f64 {
        match self {
            Self::Neutral => 0.02,
            Self::Red | Self::BrightMagenta => 0.2,
            Self::Green | Self::Yellow | Self::Blue | Self::Magenta | Self::Cyan => 0.16,
        }
    }
}

pub(super) enum Role {
    /// A background; `step` is its distance in lightness from the terminal's.
    Surface { family: Family, step: f64 },
    /// The terminal's foreground where it is readable.
    Text,
    /// Drawn on the background and on `surfaces` with one of `contrasts`, in the order of preference.
    Drawn {
        family: Family,
        contrasts: &'static [f64],
        surfaces: &'static [ColorToken],
    },
}

/// All panels that text is drawn on.
pub(super) const PANELS: &[ColorToken] = &[
    ColorToken::SelectedBg,
    ColorToken::UserMessageBg,
    ColorToken::CustomMessageBg,
    ColorToken::ToolPendingBg,
    ColorToken::ToolSuccessBg,
    ColorToken::ToolErrorBg,
];

const SEARCH_MATCH: &[ColorToken] = &[ColorToken::SearchMatchBg];

/// Text in color.
const READABLE: &[f64] = &[5.5, TEXT_CONTRAST];
/// Secondary text.
const SECONDARY: &[f64] = &[5.0, TEXT_CONTRAST];
/// Least prominent text, such as hints.
const SUBTLE: &[f64] = &[3.6, 3.0];
/// Lines that need not be read.
const LINE: &[f64] = &[2.2, 1.8];
const TRACK: &[f64] = &[1.5, 1.3];

const fn drawn(family: Family, contrasts: &'static [f64]) -> Role {
    Role::Drawn {
        family,
        contrasts,
        surfaces: PANELS,
    }
}

/// A line on the background, such as a border.
const fn line(family: Family, contrasts: &'static [f64]) -> Role {
    Role::Drawn {
        family,
        contrasts,
        surfaces: &[],
    }
}

const fn surface(family: Family, step: f64) -> Role {
    Role::Surface { family, step }
}

pub(super) fn role(token: ColorToken) -> Role {
    use ColorToken as T;
    match token {
        T::SelectedBg => surface(Family::Blue, 0.09),
        T::UserMessageBg => surface(Family::Blue, 0.055),
        T::CustomMessageBg => surface(Family::Magenta, 0.055),
        T::ToolPendingBg => surface(Family::Neutral, 0.045),
        T::ToolSuccessBg => surface(Family::Green, 0.045),
        T::ToolErrorBg => surface(Family::Red, 0.045),
        T::SearchMatchBg => surface(Family::Yellow, 0.15),
        // Code without highlighting is text: another color would look like strings.
        T::Text | T::UserMessageText | T::CustomMessageText | T::ToolTitle | T::MdCodeBlock => {
            Role::Text
        }
        T::SearchMatchText => Role::Drawn {
            family: Family::Neutral,
            contrasts: READABLE,
            surfaces: SEARCH_MATCH,
        },
        T::Muted
        | T::ThinkingText
        | T::ToolOutput
        | T::MdLinkUrl
        | T::MdQuote
        | T::ToolDiffContext
        | T::SyntaxComment
        | T::SyntaxOperator
        | T::SyntaxPunctuation => drawn(Family::Neutral, SECONDARY),
        T::Dim | T::MdCodeBlockBorder => drawn(Family::Neutral, SUBTLE),
        T::MdHr | T::MdQuoteBorder => drawn(Family::Neutral, LINE),
        T::BorderMuted | T::ThinkingOff => line(Family::Neutral, LINE),
        T::ScrollbarTrack => line(Family::Neutral, TRACK),
        T::ScrollbarThumb => line(Family::Neutral, SUBTLE),
        T::Accent
        | T::CustomMessageLabel
        | T::MdCode
        | T::MdListBullet
        | T::SyntaxNumber
        | T::SyntaxType => drawn(Family::Magenta, READABLE),
        T::BorderAccent | T::ThinkingHigh => line(Family::Magenta, SUBTLE),
        T::Border | T::ThinkingMinimal | T::ThinkingLow => line(Family::Blue, SUBTLE),
        T::ThinkingMedium => line(Family::Cyan, SUBTLE),
        T::MdLink | T::SyntaxKeyword => drawn(Family::Blue, READABLE),
        T::Success | T::ToolDiffAdded | T::SyntaxString => drawn(Family::Green, READABLE),
        T::BashMode => line(Family::Green, SUBTLE),
        T::Error | T::ToolDiffRemoved => drawn(Family::Red, READABLE),
        T::Warning | T::MdHeading | T::SyntaxFunction => drawn(Family::Yellow, READABLE),
        T::SyntaxVariable => drawn(Family::Cyan, SECONDARY),
        T::ThinkingXhigh => line(Family::BrightMagenta, READABLE),
        T::ThinkingMax => line(Family::Red, READABLE),
    }
}

/// Returns the color of a token on a terminal whose colors are unknown.
pub(super) fn indexed(token: ColorToken, scheme: ColorScheme) -> Color {
    match (token, role(token)) {
        (ColorToken::SelectedBg, _) => Color::Indexed(match scheme {
            ColorScheme::Dark => 8,
            ColorScheme::Light => 7,
        }),
        (ColorToken::SearchMatchBg, _) => Color::Indexed(3),
        (ColorToken::SearchMatchText, _) => Color::Indexed(0),
        (ColorToken::ScrollbarTrack, _) => Color::Indexed(8),
        (_, Role::Drawn { family, .. }) => family
            .slot()
            .and_then(|slot| u8::try_from(slot).ok())
            .map_or(Color::Default, |slot| {
                Color::Indexed(readable(slot, scheme))
            }),
        (_, Role::Surface { .. } | Role::Text) => Color::Default,
    }
}

/// Replaces the colors that most palettes draw too bright for a light background.
fn readable(slot: u8, scheme: ColorScheme) -> u8 {
    const YELLOW: u8 = 3;
    const BLUE: u8 = 4;
    const MAGENTA: u8 = 5;
    const CYAN: u8 = 6;
    match (scheme, slot) {
        (ColorScheme::Light, YELLOW) => MAGENTA,
        (ColorScheme::Light, CYAN) => BLUE,
        _ => slot,
    }
}

/// Whether a token is secondary, and so faint where colors are unknown.
pub(in crate::theme) fn is_secondary(token: ColorToken) -> bool {
    matches!(
        token,
        ColorToken::Muted
            | ColorToken::Dim
            | ColorToken::BorderMuted
            | ColorToken::ThinkingText
            | ColorToken::ThinkingOff
            | ColorToken::CustomMessageText
            | ColorToken::ToolOutput
            | ColorToken::ToolDiffContext
            | ColorToken::MdLinkUrl
            | ColorToken::MdCodeBlockBorder
            | ColorToken::MdQuote
            | ColorToken::MdQuoteBorder
            | ColorToken::MdHr
            | ColorToken::SyntaxComment
            | ColorToken::SyntaxOperator
            | ColorToken::SyntaxPunctuation
    )
}
