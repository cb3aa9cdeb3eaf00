//! Extension host: runs TypeScript extensions on an embedded JavaScript engine, without Node.
//!
//! An [`Engine`] runs extensions on a dedicated thread. It resolves and transpiles their modules,
//! provides Node's globals and builtin modules, enforces resource limits and reports failures to
//! an [`EngineHost`]. It does not depend on sessions, models or terminals.
//!
//! ```no_run
//! # async fn example(host: std::sync::Arc<dyn pi_ext::EngineHost>) -> Result<(), pi_ext::EngineError> {
//! use pi_ext::{CallOptions, Engine, EngineOptions};
//!
//! let engine = Engine::new(EngineOptions::new(host));
//! let path = "/home/me/.pi/agent/extensions/hello.ts";
//! engine.load(path.as_ref()).await?;
//! let greeting = engine.call(path, "greet", vec!["world".into()], CallOptions::default()).await?;
//! # drop(greeting);
//! # Ok(())
//! # }
//! ```

mod bare_script;
mod cache;
mod child_guard;
mod child_launcher;
mod commonjs_exports;
mod embedded;
mod engine;
mod error;
mod host;
mod host_modules;
mod host_router;
mod loader;
mod manager;
mod node;
mod node_host;
mod node_need;
mod resolver;
mod running_hooks;
mod source_map;
mod tui_toolkit;
mod typescript;
mod usage_meter;

pub use bare_script::{BareScript, ScriptFailure, ScriptHandle, ScriptLimits, ScriptMessage};
pub use cache::SourceCache;
pub use child_guard::{ChildGuard, ChildSupervisor, ChildUse};
pub use child_launcher::ChildLauncher;
pub use commonjs_exports::CommonJsExports;
pub use engine::{CallOptions, Engine, EngineLimits, EngineOptions, ProcessInfo};
pub use error::{EngineError, JsException};
pub use host::{
    ConsoleLevel, ConsoleLine, EngineHost, ExtensionFault, FaultKind, HostError, HostFuture,
};
pub use host_modules::{ModuleSupport, module_support, virtual_module_names};
pub use host_router::{EVENTS_CALL, ExtensionHost, SCREEN_CALL};
pub use manager::{ExtensionManager, HookDispatch, HookProbe, HostRecovery, UiCall};
pub use node_host::NodeHostError;
pub use node_need::find as node_need;
pub use resolver::{ImportKind, ModuleResolver, ResolveError, ResolvedModule};
pub use tui_toolkit::{NativeWidget, TuiToolkit, WideEdge};
pub use typescript::{PreparedSource, SourceFormat, SyntaxError, prepare};
pub use usage_meter::{ExtensionUsage, UsageMeter};
