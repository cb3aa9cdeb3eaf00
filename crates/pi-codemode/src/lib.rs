//! The tool `codemode`: a model writes a script that calls other tools.
//!
//! A script runs in a JavaScript context without Node, modules or I/O; [`pi_ext`] owns the engine. Its calls go through
//! the session like calls of the model: validated, hooked, permitted, and recorded on the result of the script.

mod calls;
mod declaration;
mod description;
mod discovery;
mod messages;
mod model_calls;
mod output;
mod run;
mod source;
mod store;
mod tool;
mod workers;

pub use model_calls::{ModelDirectory, ModelTask, ModelTaskKind, ModelTaskResult};
pub use tool::{CodemodeOptions, codemode};
pub use workers::{DEFAULT_WORKERS, WorkerSlots};
