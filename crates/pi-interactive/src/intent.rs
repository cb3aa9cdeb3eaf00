//! What a dialog wants done.
//!
//! Dialogs perform nothing themselves: they hand over intents, and the application performs them on
//! the session, the settings or the screen.

use std::path::PathBuf;
use std::sync::Arc;

use pi_ai::{AuthKind, Model, ScopedModel, ThinkingLevel, TransportPreference};
use pi_config::{
    CacheWarming, DeliveryMode, DoubleEscapeAction, FullscreenExitOutput, FullscreenScrollbar,
    MermaidMode, ProjectTrustDefault, QuietStartup, TreeFilterMode, TrustChoice, TuiMode,
};
use pi_session::EntryId;

/// Something a dialog asks the application to do.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Intent {
    /// Use a model in this session.
    SetModel(Arc<Model>),
    /// Use a model in this session and in new ones.
    SaveDefaultModel(Arc<Model>),
    /// Use a thinking level in this session.
    SetThinking(ThinkingLevel),
    /// Use a thinking level in this session and in new ones.
    SaveDefaultThinking(ThinkingLevel),
    /// Cycle through these models in this session; none means all.
    SetScope(Option<Vec<ScopedModel>>),
    /// Keep what to cycle through, as `enabledModels` spells it; none means all.
    ///
    /// Models that are not available at the moment stay in the list.
    SaveScope(Option<Vec<String>>),
    /// Change a setting of the user and let it take effect.
    ChangeSetting(SettingChange),
    /// Show a theme without keeping it; the setting's text, so `light/dark` pairs work too.
    PreviewTheme(String),
    /// Show the theme of the settings again.
    EndThemePreview,
    /// Move to another place of the session tree.
    NavigateTree {
        target: EntryId,
        /// Whether the branch that is left is summarized.
        summarize: Summarize,
    },
    /// Name an entry, or take its name away.
    SetLabel {
        entry: EntryId,
        label: Option<String>,
    },
    /// Start a session that ends before a message of the user.
    Fork { entry: EntryId },
    /// Go on with another session.
    Resume(PathBuf),
    /// Name another session, or take its name away.
    RenameSession { path: PathBuf, name: Option<String> },
    /// Delete a session's file.
    DeleteSession(PathBuf),
    /// List the sessions of this project or of all, as [`DialogUpdate::Sessions`](crate::dialog::DialogNews).
    ListSessions(SessionScope),
    /// Copy a session file into this project and go on with it.
    Import(PathBuf),
    /// Keep what the user decided about the project.
    Trust(TrustChoice),
    /// Sign in to a provider: in the browser, with a code, or with a key and what goes with it.
    SignIn {
        provider: String,
        /// Whether it is an account or a key.
        kind: AuthKind,
    },
    /// Answer a question of the sign-in under way.
    AnswerSignIn(String),
    /// Give the sign-in under way up.
    CancelSignIn,
    /// Keep an API key.
    StoreKey { provider: String, key: SecretText },
    /// Delete a stored credential.
    SignOut { provider: String },
    /// The first start is over.
    FinishFirstStart,
    /// Open the sign-in dialog.
    OpenLogin,
    /// A question got its answer: confirmations, and the questions of extensions.
    Answer(QuestionAnswer),
    /// Put text into the clipboard.
    CopyText(String),
    /// Open an address in the browser.
    OpenUrl(String),
    /// Open a text in the user's editor; it comes back as [`DialogUpdate::Edited`](crate::dialog::DialogNews).
    EditExternally(String),
}

/// Text that is not shown, printed or logged.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct SecretText(pub(crate) String);

impl std::fmt::Debug for SecretText {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Secret(…)")
    }
}

/// Whether a branch that is left is summarized.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Summarize {
    #[default]
    No,
    /// With the usual instructions.
    Plain,
    /// With the user's own words in addition.
    With(String),
}

/// Which sessions are listed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum SessionScope {
    /// Those of the working directory.
    #[default]
    Project,
    /// Those of every directory.
    All,
}

/// The answer to a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum QuestionAnswer {
    Confirmed(bool),
    /// One of the choices, by its place in the list.
    Chosen(usize),
    Text(String),
    /// No answer: the dialog was closed, or its time was over.
    Dismissed,
}

/// A setting with its new value, one variant for each line of the settings dialog.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum SettingChange {
    /// `autocompact`
    AutoCompact(bool),
    /// `steering-mode`
    SteeringMode(DeliveryMode),
    /// `follow-up-mode`
    FollowUpMode(DeliveryMode),
    /// `transport`
    Transport(TransportPreference),
    /// `http-idle-timeout`, in milliseconds; 0 is for ever.
    HttpIdleTimeout(u64),
    /// `cache-warming-mode`
    CacheWarming(CacheWarming),
    /// `hide-thinking`
    HideThinking(bool),
    /// `mermaid-rendering`
    Mermaid(MermaidMode),
    /// `cache-miss-notices`
    CacheMissNotices(bool),
    /// `collapse-changelog`
    CollapseChangelog(bool),
    /// `quiet-startup`
    QuietStartup(QuietStartup),
    /// `install-telemetry`
    InstallTelemetry(bool),
    /// `default-project-trust`
    DefaultProjectTrust(ProjectTrustDefault),
    /// `double-escape-action`
    DoubleEscapeAction(DoubleEscapeAction),
    /// `tree-filter-mode`
    TreeFilterMode(TreeFilterMode),
    /// `warnings`: the warning about extra usage of a subscription.
    WarnExtraUsage(bool),
    /// `model-thinking`: the level of one model; none means the default.
    ModelThinking {
        /// `provider/id`
        model: String,
        level: Option<ThinkingLevel>,
    },
    /// The default thinking level, from the same submenu.
    DefaultThinking(ThinkingLevel),
    /// `tui-mode`
    TuiMode(TuiMode),
    /// `fullscreen-exit-output`
    FullscreenExitOutput(FullscreenExitOutput),
    /// `fullscreen-scrollbar`
    FullscreenScrollbar(FullscreenScrollbar),
    /// `fullscreen-copy-on-select`
    FullscreenCopyOnSelect(bool),
    /// `theme`: a name, or `light/dark` names to follow the terminal.
    Theme(String),
    /// `show-images`
    ShowImages(bool),
    /// `image-width-cells`
    ImageWidthCells(u64),
    /// `auto-resize-images`
    AutoResizeImages(bool),
    /// `block-images`
    BlockImages(bool),
    /// `skill-commands`
    SkillCommands(bool),
    /// `show-hardware-cursor`
    ShowHardwareCursor(bool),
    /// `editor-padding`
    EditorPadding(u64),
    /// `output-padding`
    OutputPadding(u64),
    /// `autocomplete-max-visible`
    AutocompleteMaxVisible(u64),
    /// `clear-on-shrink`
    ClearOnShrink(bool),
    /// `terminal-progress`
    TerminalProgress(bool),
}
