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
mod cursor;
mod focus;
mod frame_requester;
mod fuzzy;
mod input;
mod line;
mod overlay;
mod render;
mod runner;
mod style;
mod terminal;
mod text;
mod theme;
mod tui;

pub use autocomplete::{
    CombinedProvider, CommandCompletion, CompletedLine, CompletionProvider, CompletionReply,
    CompletionRequest, CompletionTrigger, Suggestions, suggestions,
};
pub use component::{CURSOR_MARKER, Component, InputContext, InputOutcome, MouseOutcome};
pub use components::{
    Basis, Boxed, CancellableLoader, Cancellation, CodeHighlighter, Container, Editor, EditorEvent,
    EditorOptions, EditorTheme, Follow, HStack, Image, ImageLimits, ImagePainter, ImageSource,
    Indicator, Input, InputFieldEvent, InputOptions, Loader, LoaderTheme, Markdown,
    MarkdownOptions, MarkdownTheme, Mermaid, MouseRegion, PaintedImage, ScrollView,
    ScrollViewOptions, Scrollbar, SelectEvent, SelectItem, SelectLayout, SelectList, SelectTheme,
    SettingChoices, SettingItem, SettingsEvent, SettingsList, SettingsSearch, SettingsTheme,
    Spacer, StackItem, SubmenuOutcome, SubmenuReply, SyntaxStyles, Text, TruncatedText, VStack,
    highlight_code, latex_to_unicode, mermaid_to_text,
};
pub use focus::{FocusTarget, Heir};
pub use frame_requester::{FRAME_INTERVAL, FrameRequester, FrameScheduler};
pub use fuzzy::{FuzzyQuery, best_first, fuzzy_filter, fuzzy_score};
pub use input::{
    ActionDefinition, ColorSlot, Conflict, FocusChange, InputDecoder, InputEvent, InputTiming,
    InvalidKey, Key, KeyEvent, KeyEventKind, KeyId, KeyIdError, Keybindings, KeyboardMode,
    Modifiers, MouseButton, MouseEvent, MouseEventKind, MouseReport, Paste, Platform, TUI_ACTIONS,
    TerminalReply, UserBindings, action,
};
pub use line::{Line, Lines};
pub use overlay::{Anchor, Bounds, Margin, OverlayId, OverlayOptions, Position, Width};
pub use render::{
    BlockId, Document, Leave, Liveness, MouseTracking, RenderError, RenderOptions, ScreenMode,
    ScrollbarPolicy, ShrinkPolicy, WidthPolicy,
};
pub use runner::{Runner, RunnerError, RunnerEvent, RunnerOptions};
pub use style::{Color, Painter, Style};
pub use terminal::{
    Capabilities, CapabilityOverrides, CellSize, ColorScheme, ImageCells, ImageDimensions,
    ImageProtocol, ImageSpan, KITTY_DELETE_ALL, KITTY_HIDE_ALL, KeyboardNegotiation,
    NOTIFY_COLOR_SCHEME, PendingReplies, ProcessTerminal, Progress, ProtocolPainter,
    QUERY_BACKGROUND, QUERY_CELL_SIZE, STOP_NOTIFYING_COLOR_SCHEME, Size, TerminalEnvironment,
    TerminalEvent, TerminalModes, copy_to_clipboard, image_dimensions, image_fallback, image_lines,
    iterm2_image, kitty_delete, kitty_image, next_image_id, probe_tmux_hyperlinks, title_sequence,
};
pub use text::{
    AnsiToken, AnsiTokens, Edge, Graphemes, Sanitizer, Slice, StyleState, TAB_WIDTH, Truncation,
    around_columns, cell_range_at, expand_for_terminal, grapheme_width, graphemes, link_at,
    pad_to_width, sanitize, slice_columns, strip_ansi, truncate_to_width, visible_width, wrap_text,
};
pub use theme::{
    ColorMode, ColorToken, ExportColors, Theme, ThemeError, ThemeProblem, nearest_palette_entry,
};
pub use tui::{FrameNeed, Heard, ListenerId, Reaction, Tui, TuiOptions};
