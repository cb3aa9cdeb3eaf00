//! The extension host: TypeScript extensions on an embedded JavaScript engine, without Node.
//!
//! An [`Engine`] runs extensions on one thread of its own. It finds and prepares their modules,
//! gives them the globals and the modules of Node they know, keeps them within their budgets and
//! reports what goes wrong to a [`Host`]. It knows nothing of sessions, models or terminals.
//!
//! ```no_run
//! # async fn example(host: std::sync::Arc<dyn pi_ext::Host>) -> Result<(), pi_ext::EngineError> {
//! use pi_ext::{CallOptions, Engine, EngineOptions};
//!
//! let engine = Engine::new(EngineOptions::new(host));
//! let path = "/home/me/.pi/agent/extensions/hello.ts";
//! engine.load(path.as_ref()).await?;
//! let answer = engine.call(path, "greet", vec!["world".into()], CallOptions::default()).await?;
//! # drop(answer);
//! # Ok(())
//! # }
//! ```

mod api;
mod both_hosts;
mod cache;
mod commonjs_exports;
mod embedded;
mod engine;
mod error;
mod host;
mod host_modules;
mod loader;
mod node;
mod node_host;
mod resolver;
mod source_map;
mod terminal_kit;
mod typescript;

pub use api::Extensions;
pub use both_hosts::ExtensionHost;
pub use cache::SourceCache;
pub use commonjs_exports::CommonJsExports;
pub use engine::{Budgets, CallOptions, Engine, EngineOptions, ProcessInfo};
pub use error::{EngineError, Thrown};
pub use host::{ConsoleLevel, ConsoleLine, Fault, FaultKind, Host, HostError, HostFuture};
pub use host_modules::{ModuleSupport, module_support, virtual_module_names};
pub use node_host::NodeHostError;
pub use resolver::{ImportKind, ResolveError, Resolver, Target};
pub use terminal_kit::{KitPart, TerminalKit, WideEdge};
pub use typescript::{PreparedSource, SourceFormat, SyntaxError, prepare};
