//! Built-in extensions of the program: parts that are off unless settings or flags name them.
//!
//! They use a session like any other front end or participant would, through the interface of `pi-host`.

mod file_history;
mod image;
mod plan;
mod process;
mod sandbox;
mod shown_text;

use pi_host::NativeExtension;

pub use file_history::restore_patch;

/// The extensions, in the order their tools and commands are listed.
pub const EXTENSIONS: &[NativeExtension] = &[
    process::EXTENSION,
    plan::EXTENSION,
    pi_subagents::EXTENSION,
    image::EXTENSION,
    file_history::EXTENSION,
    sandbox::EXTENSION,
];
