//! The color tokens a theme defines.

/// A purpose that a theme gives a color to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ColorToken {
    /// Highlights: the selected entry, the cursor of lists.
    Accent,
    Border,
    /// Borders of what has the focus.
    BorderAccent,
    /// Borders in the background.
    BorderMuted,
    Success,
    Error,
    Warning,
    Muted,
    /// Text of least weight.
    Dim,
    Text,
    /// Thoughts of a model.
    ThinkingText,
    /// Behind the selected entry.
    SelectedBg,
    /// Behind messages of the user.
    UserMessageBg,
    /// Messages of the user.
    UserMessageText,
    /// Behind messages of extensions.
    CustomMessageBg,
    CustomMessageText,
    /// Labels of messages of extensions.
    CustomMessageLabel,
    /// Behind a tool that runs.
    ToolPendingBg,
    /// Behind a tool that succeeded.
    ToolSuccessBg,
    /// Behind a tool that failed.
    ToolErrorBg,
    ToolTitle,
    ToolOutput,
    MdHeading,
    MdLink,
    MdLinkUrl,
    MdCode,
    MdCodeBlock,
    /// Fences of Markdown code blocks.
    MdCodeBlockBorder,
    MdQuote,
    /// Bars beside Markdown quotes.
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
    /// Editor border without thinking.
    ThinkingOff,
    /// Editor border at minimal thinking.
    ThinkingMinimal,
    /// Editor border at low thinking.
    ThinkingLow,
    /// Editor border at medium thinking.
    ThinkingMedium,
    /// Editor border at high thinking.
    ThinkingHigh,
    /// Editor border at extra high thinking.
    ThinkingXhigh,
    /// Editor border while a shell command is typed.
    BashMode,
    /// The track of scrollbars.
    ScrollbarTrack,
    /// The thumb of scrollbars.
    ScrollbarThumb,
    /// Behind matches of a search.
    SearchMatchBg,
    /// Matches of a search.
    SearchMatchText,
    /// Editor border at maximal thinking.
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
    /// Returns every token.
    pub fn all() -> impl Iterator<Item = Self> {
        NAMES.iter().map(|(token, _)| *token)
    }

    /// Returns the token's name in theme files.
    pub fn name(self) -> &'static str {
        NAMES.get(self as usize).map_or("", |(_, name)| name)
    }

    /// Returns the token with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        NAMES
            .iter()
            .find(|(_, known)| *known == name)
            .map(|(token, _)| *token)
    }

    /// Returns whether the token colors what is behind text.
    pub fn is_background(self) -> bool {
        self.name().ends_with("Bg")
    }

    /// Returns the token whose color stands in when a theme leaves this one out; `None` if it may not.
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
    fn names_stand_in_the_order_of_the_enum() {
        assert_eq!(NAMES.len(), 56);
        for (index, (token, name)) in NAMES.iter().enumerate() {
            assert_eq!(*token as usize, index, "{name}");
            assert_eq!(ColorToken::from_name(name), Some(*token));
        }
    }
}
