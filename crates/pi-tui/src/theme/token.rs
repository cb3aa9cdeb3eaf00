//! The color tokens a theme defines.

/// A role that a theme assigns a color to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ColorToken {
    /// Highlights: the selected entry and list cursors.
    Accent,
    Border,
    /// Borders of the focused element.
    BorderAccent,
    /// Borders of unfocused elements.
    BorderMuted,
    Success,
    Error,
    Warning,
    Muted,
    /// Least prominent text.
    Dim,
    Text,
    /// Model reasoning.
    ThinkingText,
    SelectedBg,
    UserMessageBg,
    UserMessageText,
    /// Background of extension messages.
    CustomMessageBg,
    CustomMessageText,
    CustomMessageLabel,
    ToolPendingBg,
    ToolSuccessBg,
    ToolErrorBg,
    ToolTitle,
    ToolOutput,
    MdHeading,
    MdLink,
    MdLinkUrl,
    MdCode,
    MdCodeBlock,
    MdCodeBlockBorder,
    MdQuote,
    MdQuoteBorder,
    MdHr,
    MdListBullet,
    ToolDiffAdded,
    ToolDiffRemoved,
    /// Unchanged lines of a diff.
    ToolDiffContext,
    SyntaxComment,
    SyntaxKeyword,
    SyntaxFunction,
    SyntaxVariable,
    SyntaxString,
    SyntaxNumber,
    SyntaxType,
    SyntaxOperator,
    SyntaxPunctuation,
    /// Editor border when thinking is off; the following tokens are for the other thinking levels.
    ThinkingOff,
    ThinkingMinimal,
    ThinkingLow,
    ThinkingMedium,
    ThinkingHigh,
    ThinkingXhigh,
    /// Editor border while a shell command is typed.
    BashMode,
    ScrollbarTrack,
    ScrollbarThumb,
    SearchMatchBg,
    SearchMatchText,
    ThinkingMax,
}

/// Every token with its name in theme files, in the order of the enum.
const NAMES: &[(ColorToken, &str)] = &[
    (ColorToken::Accent, "accent"),
    (ColorToken::Border, "border"),
    (ColorToken::BorderAccent, "borderAccent"),
    (ColorToken::BorderMuted, "borderMuted"),
    (ColorToken::Success, "success"),
    (ColorToken::Error, "error"),
    (ColorToken::Warning, "warning"),
    (ColorToken::Muted, "muted"),
    (ColorToken::Dim, "dim"),
    (ColorToken::Text, "text"),
    (ColorToken::ThinkingText, "thinkingText"),
    (ColorToken::SelectedBg, "selectedBg"),
    (ColorToken::UserMessageBg, "userMessageBg"),
    (ColorToken::UserMessageText, "userMessageText"),
    (ColorToken::CustomMessageBg, "customMessageBg"),
    (ColorToken::CustomMessageText, "customMessageText"),
    (ColorToken::CustomMessageLabel, "customMessageLabel"),
    (ColorToken::ToolPendingBg, "toolPendingBg"),
    (ColorToken::ToolSuccessBg, "toolSuccessBg"),
    (ColorToken::ToolErrorBg, "toolErrorBg"),
    (ColorToken::ToolTitle, "toolTitle"),
    (ColorToken::ToolOutput, "toolOutput"),
    (ColorToken::MdHeading, "mdHeading"),
    (ColorToken::MdLink, "mdLink"),
    (ColorToken::MdLinkUrl, "mdLinkUrl"),
    (ColorToken::MdCode, "mdCode"),
    (ColorToken::MdCodeBlock, "mdCodeBlock"),
    (ColorToken::MdCodeBlockBorder, "mdCodeBlockBorder"),
    (ColorToken::MdQuote, "mdQuote"),
    (ColorToken::MdQuoteBorder, "mdQuoteBorder"),
    (ColorToken::MdHr, "mdHr"),
    (ColorToken::MdListBullet, "mdListBullet"),
    (ColorToken::ToolDiffAdded, "toolDiffAdded"),
    (ColorToken::ToolDiffRemoved, "toolDiffRemoved"),
    (ColorToken::ToolDiffContext, "toolDiffContext"),
    (ColorToken::SyntaxComment, "syntaxComment"),
    (ColorToken::SyntaxKeyword, "syntaxKeyword"),
    (ColorToken::SyntaxFunction, "syntaxFunction"),
    (ColorToken::SyntaxVariable, "syntaxVariable"),
    (ColorToken::SyntaxString, "syntaxString"),
    (ColorToken::SyntaxNumber, "syntaxNumber"),
    (ColorToken::SyntaxType, "syntaxType"),
    (ColorToken::SyntaxOperator, "syntaxOperator"),
    (ColorToken::SyntaxPunctuation, "syntaxPunctuation"),
    (ColorToken::ThinkingOff, "thinkingOff"),
    (ColorToken::ThinkingMinimal, "thinkingMinimal"),
    (ColorToken::ThinkingLow, "thinkingLow"),
    (ColorToken::ThinkingMedium, "thinkingMedium"),
    (ColorToken::ThinkingHigh, "thinkingHigh"),
    (ColorToken::ThinkingXhigh, "thinkingXhigh"),
    (ColorToken::BashMode, "bashMode"),
    (ColorToken::ScrollbarTrack, "scrollbarTrack"),
    (ColorToken::ScrollbarThumb, "scrollbarThumb"),
    (ColorToken::SearchMatchBg, "searchMatchBg"),
    (ColorToken::SearchMatchText, "searchMatchText"),
    (ColorToken::ThinkingMax, "thinkingMax"),
];

impl ColorToken {
    pub fn all() -> impl Iterator<Item = Self> {
        NAMES.iter().map(|(token, _)| *token)
    }

    /// Returns the token's name in theme files.
    pub fn name(self) -> &'static str {
        NAMES.get(self as usize).map_or("", |(_, name)| name)
    }

    pub fn from_name(name: &str) -> Option<Self> {
        NAMES
            .iter()
            .find(|(_, known)| *known == name)
            .map(|(token, _)| *token)
    }

    /// Whether the token is a background color.
    pub fn is_background(self) -> bool {
        self.name().ends_with("Bg")
    }

    /// Returns the token that is used when a theme does not define this one, or `None` if it is
    /// required.
    pub fn fallback(self) -> Option<Self> {
        match self {
            Self::ScrollbarTrack => Some(Self::Muted),
            Self::ScrollbarThumb | Self::SearchMatchText => Some(Self::Text),
            Self::SearchMatchBg => Some(Self::SelectedBg),
            Self::ThinkingMax => Some(Self::ThinkingXhigh),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_in_enum_order() {
        assert_eq!(NAMES.len(), 56);
        for (index, (token, name)) in NAMES.iter().enumerate() {
            assert_eq!(*token as usize, index, "{name}");
            assert_eq!(ColorToken::from_name(name), Some(*token));
        }
    }
}
