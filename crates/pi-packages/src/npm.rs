//! npm packages without npm: dependencies are resolved, fetched, verified, laid out in
//! `node_modules` and moved into place atomically.
//!
//! The directory is the same one that npm uses for the TypeScript pi: `package.json`, `package-lock.json` and
//! `node_modules` remain valid for npm, so both programs can use the same directory.

mod build;
mod config;
mod external;
mod integrity;
mod locked_checksums;
mod manifest;
mod packument;
mod platform;
mod programs;
mod project;
mod registry;
mod resolve;
mod scripts;
mod spec;
mod tree;
mod unpack;

pub(crate) use build::{BuildRequirements, ModulesBuilder};
pub(crate) use config::NpmConfig;
pub use config::save_registry;
pub(crate) use external::ExternalNpm;
pub(crate) use manifest::NpmManifest;
pub(crate) use packument::Release;
pub(crate) use project::{NpmProject, ignore_content, lock_install_path};
pub(crate) use registry::RegistryClient;
pub(crate) use resolve::{PeerDependencies, is_provided};
pub use scripts::ScriptPolicy;
pub(crate) use tree::read_manifest;
pub(crate) use unpack::{UnpackLimits, unpack};
