//! Package installer that does not need Node: installs extensions, skills, prompts and themes from npm and git.
//!
//! [`PackageInstaller`] uses the same directories as the TypeScript pi and maintains the files
//! that npm expects. Packages are built in a staging directory and moved into place atomically, so a failed
//! installation changes nothing. Callers read the configured packages from the settings.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use pi_env::Env;
//! use pi_config::{AgentDir, PackageAddress};
//! use pi_protocol::SourceScope;
//! use pi_packages::{InstallerOptions, PackageInstaller, ConfiguredPackage};
//!
//! let env = Env::process();
//! let options = InstallerOptions::new(AgentDir::from_env(&env), std::env::current_dir()?, env);
//! let package = ConfiguredPackage {
//!     address: PackageAddress::parse("npm:pi-web-access")?,
//!     scope: SourceScope::User,
//! };
//! PackageInstaller::new(options).install(&package).await?;
//! # Ok(())
//! # }
//! ```

mod command;
mod dir_ops;
mod error;
mod git;
mod inspection;
mod installer;
mod npm;
mod progress;
mod release;

pub use error::PackageError;
pub use inspection::PackageInspection;
pub use installer::{ConfiguredPackage, InstallerOptions, PackageInstaller};
pub use npm::{ScriptPolicy, save_registry};
pub use pi_ext::{ModuleSupport, SourceCache, node_need};
pub use progress::{InstallProgress, ProgressListener};
pub use release::{ReleaseFeed, ReleaseInfo};
