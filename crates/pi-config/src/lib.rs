//! Reads and writes the files in pi's agent directory: settings, credentials, trust decisions and resources.
//!
//! Several programs may use the directory at the same time, including the TypeScript pi. Shared files are
//! therefore changed under a common lock ([`pi_fs::LockDir`]), replaced atomically ([`pi_fs::atomic_file`]), and never
//! overwritten if they are malformed.
//!
//! ```no_run
//! # async fn example() -> Result<(), pi_auth::AuthError> {
//! use pi_auth::CredentialStore;
//! use pi_env::Env;
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

mod agent_dir_stamp;
mod auth_file;
mod dir_permissions;
pub mod env_vars;
mod json_text;
mod keybindings_file;
mod locked_file;
mod mcp_auth_file;
mod mcp_file;
mod mcp_import;
mod mcp_records;
mod models_file;
mod models_store;
mod object_file;
mod packages;
mod paths;
mod regular_file;
mod resources;
mod session_directory;
mod settings;
mod startup_migration;
mod trust;

pub use agent_dir_stamp::AgentDirStamp;
pub use auth_file::AuthFile;
pub use dir_permissions::check_dir_permissions;
pub use keybindings_file::{KeybindingConflict, UserKeybindings, read_keybindings};
pub use locked_file::acquire_lock;
pub use mcp_auth_file::{McpAuthEntry, McpAuthFileError};
pub use mcp_file::{
    ConfiguredMcpServer, McpApproval, McpConfig, McpConfigFiles, McpFileError, McpServerPatch,
    PatchedEntry, accept_mcp_server, add_mcp_server, dot_mcp_json_file, is_loopback_host,
    load_mcp_config, parse_mcp_server, project_mcp_file, remove_mcp_server, update_mcp_server,
    withdraw_mcp_server,
};
pub use mcp_import::{McpClient, McpImport, read_mcp_servers_of};
pub use mcp_records::{McpRecords, McpRecordsError};
pub use models_file::{
    ModelsFileChangeError, ModelsFileError, ModelsFileProblem, parse_models_file,
    put_models_file_provider, read_models_file, remove_models_file_provider,
};
pub use models_store::ModelsStoreFile;
pub use packages::{
    GitAddress, MissingPackage, NpmAddress, NpmRange, NpmVersion, PackageAddress,
    PackageAddressError, PackageChangelog, PackageLocations, installed_version,
};
pub use paths::{AgentDir, expand_home};
pub use regular_file::ReadFileError;
pub use resources::{
    AgentDirectories, AgentFile, AgentSource, BuiltinExtension, BuiltinExtensions, ContextFile,
    ExtensionFile, ListedResource, ProjectOverride, PromptTemplate, ResourceFlags, ResourceKind,
    ResourceRequest, ResourceToggles, Resources, Skill, SkillError, SkillListing,
    TemplateParameter, expand_prompt_template, expand_skill_command, list_skills_for_model,
    load_agents, load_resources, split_template_arguments,
};
pub use session_directory::session_directory;
pub use settings::{
    InvalidRestriction, SettingsError, SettingsOverrides, SettingsStore, change_settings_file,
    check_restrictions, extension_engine, shell_path,
};
pub use startup_migration::{run_project_migrations, run_startup_migrations};
pub use trust::{
    ProjectChanges, SessionChoices, TrustDecision, TrustError, TrustInputs, TrustStore,
    TrustUpdate, decide_trust, requires_trust, trust_choices,
};
