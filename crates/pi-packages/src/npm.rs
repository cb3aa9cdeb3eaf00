//! npm packages without npm: a directory's dependencies are resolved, fetched, checked, laid out in
//! `node_modules` and put in place in one step.
//!
//! The directory is the one the TypeScript pi lets npm install into: `package.json`, `package-lock.json` and
//! `node_modules` stay what npm expects, so that both programs can go on with each other's work.

mod build;
mod config;
mod external;
mod integrity;
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

pub(crate) use build::{Builder, Requirements};
pub(crate) use config::NpmConfig;
pub(crate) use external::ExternalNpm;
pub(crate) use manifest::Manifest;
pub(crate) use packument::Release;
pub(crate) use project::{NpmProject, ignore_content, lock_place};
pub(crate) use registry::Registry;
pub(crate) use resolve::{Peers, is_provided};
pub use scripts::ScriptPolicy;
pub(crate) use tree::read_manifest;
pub(crate) use unpack::{Limits, unpack};
