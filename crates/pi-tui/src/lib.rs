//! Terminal UI library: key decoding, text measured in columns, a line renderer and components.
//!
//! It draws into the main screen and its scrollback, or full-screen, and knows nothing about models,
//! agents or Markdown. Text functions, the key decoder and themes perform no I/O; that is confined to
//! [`ProcessTerminal`] and [`Runner`].
//!
//! ```
//! use pi_tui::{visible_width, wrap_text};
//!
//! assert_eq!(visible_width("\x1b[31m漢字\x1b[0m"), 4);
//! assert_eq!(wrap_text("one two", 4), ["one", "two"]);
//! ```

mod autocomplete;
mod color_space;
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
    CombinedCompletionProvider, CommandCompletion, CompletedLine, CompletionProvider,
    CompletionReply, CompletionRequest, CompletionTrigger, Suggestions, request_suggestions,
};
pub use color_space::{Oklch, Rgb, contrast, okhsl_to_rgb};
pub use component::{CURSOR_MARKER, Component, InputContext, InputOutcome, MouseOutcome};
pub use components::{
    BackgroundFill, Basis, Container, Editor, EditorEvent, EditorOptions, EditorTheme,
    EncodedImage, FollowMode, HStack, Image, ImageCellLimits, ImagePainter, Input, InputFieldEvent,
    InputOptions, PaddedBox, PaintedImage, ScrollView, ScrollViewOptions, ScrollbarVisibility,
    SelectEvent, SelectItem, SelectLayout, SelectList, SelectTheme, SettingControl, SettingItem,
    SettingsEvent, SettingsList, SettingsSearch, SettingsTheme, Spacer, StackItem, SubmenuHandle,
    SubmenuOutcome, Text, TruncatedText, VStack, horizontal_padding,
};
pub use focus::{FocusFallback, FocusTarget};
pub use frame_requester::{FRAME_INTERVAL, FrameRequester, FrameScheduler};
pub use fuzzy::{FuzzyQuery, fuzzy_filter, fuzzy_score, sort_by_score};
pub use input::{
    ActionDefinition, ColorSlot, FocusChange, InputDecoder, InputEvent, InputTiming, InvalidKey,
    Key, KeyConflict, KeyEvent, KeyEventKind, KeyId, KeyIdError, Keybindings, KeyboardMode,
    Modifiers, MouseButton, MouseEvent, MouseEventKind, MouseReport, Paste, Platform, TUI_ACTIONS,
    TerminalReply, UserKeybindings, action,
};
pub use line::{Line, Lines};
pub use overlay::{
    CellRect, OverlayAnchor, OverlayId, OverlayMargin, OverlayOptions, OverlayPosition,
    OverlayWidth,
};
pub use render::{
    BlockId, Document, ExitBehavior, Liveness, MouseTracking, RenderError, RenderOptions,
    ScreenMode, ScrollbarPolicy, ShrinkPolicy, WidthPolicy,
};
pub use runner::{Runner, RunnerError, RunnerEvent, RunnerOptions};
pub use style::{Color, Painter, Style};
pub use terminal::{
    BlockedKind, CapabilityOverrides, CellSize, ColorScheme, DISABLE_COLOR_SCHEME_REPORTS,
    ENABLE_COLOR_SCHEME_REPORTS, ImageCells, ImageDimensions, ImageProtocol, ImageSpan,
    KITTY_DELETE_ALL, KITTY_HIDE_ALL, KeyboardNegotiation, PendingReplies, ProcessTerminal,
    ProgramState, ProgramStatus, ProgramStatusSupport, ProtocolImagePainter, QUERY_CELL_SIZE,
    RawModeGuard, Size, TerminalCapabilities, TerminalColors, TerminalEnvironment, TerminalEvent,
    TerminalModes, TerminalProgress, TerminationSignals, clipboard_sequence, image_dimensions,
    image_fallback, image_lines, iterm2_image, kitty_delete, kitty_image, log_terminal_writes,
    next_image_id, probe_tmux_hyperlinks, title_sequence,
};
pub use text::{
    AnsiToken, AnsiTokens, Graphemes, LineSlice, Sanitizer, StyleState, TAB_WIDTH, TruncateOptions,
    WideCharPolicy, cell_range_at, expand_for_terminal, grapheme_width, graphemes, link_at,
    pad_to_width, sanitize, slice_columns, split_around, strip_ansi, styled_line,
    truncate_to_width, visible_width, wrap_text,
};
pub use theme::{
    ColorMode, ColorToken, ExportColors, SYSTEM_THEME, Theme, ThemeError, ThemeProblem,
    nearest_palette_entry,
};
pub use tui::{
    EventResponse, FrameUrgency, ListenerId, ListenerOutcome, Scene, Tui, TuiOptions, WheelSpeed,
};
