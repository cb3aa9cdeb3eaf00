//! A terminal UI library: keys, text measured in columns, a line renderer, components.
//!
//! It draws into the normal screen and its scrollback, or full-screen; it knows no model and no
//! agent. Text functions, the key decoder and themes take data and return data; terminal I/O sits
//! at the rim.
//!
//! ```
//! use pi_tui::{visible_width, wrap_text};
//!
//! assert_eq!(visible_width("\x1b[31m漢字\x1b[0m"), 4);
//! assert_eq!(wrap_text("one two", 4), ["one", "two"]);
//! ```

mod autocomplete;
mod component;
mod components;
mod fuzzy;
mod input;
mod line;
mod style;
mod text;
mod theme;

pub use autocomplete::{
    CombinedProvider, CommandCompletion, CompletedLine, CompletionProvider, CompletionReply,
    CompletionRequest, CompletionTrigger, Suggestions,
};
pub use component::{CURSOR_MARKER, Component, InputContext, InputOutcome, MouseOutcome};
pub use components::{
    Basis, Boxed, CancellableLoader, Cancellation, CodeHighlighter, Container, Editor, EditorEvent,
    EditorOptions, EditorTheme, Follow, HStack, Image, ImageLimits, ImagePainter, ImageSource,
    Indicator, Input, InputFieldEvent, InputOptions, Loader, LoaderTheme, Markdown,
    MarkdownOptions, MarkdownTheme, MouseRegion, PaintedImage, PixelSize, ScrollView,
    ScrollViewOptions, Scrollbar, SelectEvent, SelectItem, SelectLayout, SelectList, SelectTheme,
    SettingChoices, SettingItem, SettingsEvent, SettingsList, SettingsSearch, SettingsTheme,
    Spacer, StackItem, SubmenuOutcome, SubmenuReply, SyntaxStyles, Text, TruncatedText, VStack,
    highlight_code, latex_to_unicode,
};
pub use fuzzy::{FuzzyQuery, fuzzy_filter, fuzzy_score};
pub use input::{
    ActionDefinition, ColorSlot, Conflict, FocusChange, InputDecoder, InputEvent, InputTiming,
    InvalidKey, Key, KeyEvent, KeyEventKind, KeyId, KeyIdError, Keybindings, KeyboardMode,
    Modifiers, MouseButton, MouseEvent, MouseEventKind, MouseReport, Paste, Platform, TUI_ACTIONS,
    TerminalReply, UserBindings, action,
};
pub use line::{Line, Lines};
pub use style::{Color, Painter, Style};
pub use text::{
    AnsiToken, AnsiTokens, Edge, Graphemes, Sanitizer, Slice, StyleState, TAB_WIDTH, Truncation,
    around_columns, cell_range_at, expand_for_terminal, grapheme_width, graphemes, link_at,
    pad_to_width, sanitize, slice_columns, strip_ansi, truncate_to_width, visible_width, wrap_text,
};
pub use theme::{
    ColorMode, ColorToken, ExportColors, Theme, ThemeError, ThemeProblem, nearest_palette_entry,
};
