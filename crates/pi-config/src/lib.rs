//! The files pi keeps under its agent directory.
//!
//! Several programs may use the directory at the same time, the TypeScript pi among them. What is
//! shared is therefore changed under the lock both know ([`LockDir`]), written beside and renamed
//! ([`atomic_file`]), and never overwritten when it cannot be understood.
//!
//! ```no_run
//! # async fn example() -> Result<(), pi_ai::AuthError> {
//! use pi_ai::{CredentialStore, Env};
//! use pi_config::{AgentDir, AuthFile};
//!
//! let directory = AgentDir::from_env(&Env::process());
//! let credentials = AuthFile::new(directory.auth_file());
//! for entry in credentials.list().await? {
//!     println!("{}", entry.provider);
//! }
//! # Ok(())
//! # }
//! ```

pub mod atomic_file;
mod auth_file;
mod diagnostic;
pub mod env_vars;
mod exposure;
mod json_text;
mod keybindings_file;
mod lock_dir;
mod locked_file;
mod models_file;
mod models_store;
mod object_file;
mod packages;
mod paths;
mod regular_file;
mod resources;
mod scope;
mod session_directory;
mod settings;
mod startup_migration;
mod trust;

pub use auth_file::AuthFile;
pub use diagnostic::{ConfigDiagnostic, DiagnosticLevel};
pub use exposure::check_exposure;
pub use keybindings_file::{KeyConflict, Keybindings, read_keybindings};
pub use lock_dir::{LockDir, LockError, LockTiming};
pub use models_file::{ModelsFileError, Problem, parse_models_file, read_models_file};
pub use models_store::ModelsStoreFile;
pub use packages::{
    GitAddress, MissingPackage, NpmAddress, NpmRange, NpmVersion, PackageAddress,
    PackageAddressError, PackageLocations, installed_version,
};
pub use paths::{AgentDir, expand_home};
pub use regular_file::UnreadableFile;
pub use resources::{
    ContextFile, ExtensionFile, ListedResource, ProjectOverride, PromptTemplate, ResourceFlags,
    ResourceKind, ResourceRequest, Resources, Skill, SkillError, SkillListing, SourceInfo,
    SourceOrigin, SourceScope, Switchboard, ThemeFile, expand_prompt_template,
    expand_skill_command, list_skills_for_model, load_resources,
};
pub use scope::{ProjectAccess, Scope};
pub use session_directory::session_directory;
pub use settings::{
    AutoDetect, BranchSummarySettings, CacheWarming, CodeMode, CodemodeSettings, CommandLine,
    CompactionModelOverride, CompactionSettings, CompactionTokens, DeliveryMode,
    DoubleEscapeAction, ExtensionEngine, ExtensionHosts, FullscreenExitOutput, FullscreenScrollbar,
    ImageProtocol, ImageProtocolName, ImageSettings, MarkdownSettings, MermaidMode, PackageFilter,
    PackageSource, ProjectTrustDefault, ProviderRetrySettings, QuietStartup, QuietStartupWord,
    RetrySettings, RunSettings, SETTING_REFERENCE, SettingReach, SettingReference, SettingTopic,
    Settings, SettingsError, SettingsStore, ShareDestination, Switch, TerminalSettings,
    TreeFilterMode, TuiMode, WarningSettings, WheelScrollLines,
};
pub use startup_migration::{run_project_migrations, run_startup_migrations};
pub use trust::{
    ProjectChanges, SavedTrust, SessionChoices, TrustChoice, TrustDecision, TrustError,
    TrustInputs, TrustStore, TrustUpdate, changed_since_last_use, decide_trust, requires_trust,
    trust_choices,
};
