//! Embedded JavaScript modules, compiled to bytecode by the build script.

use rquickjs::promise::PromiseState;
use rquickjs::{Ctx, Error, Exception, Module, Object, Result};

#[derive(Debug)]
pub(crate) struct EmbeddedModule {
    /// Specifier it is imported by.
    pub(crate) name: &'static str,
    pub(crate) exports: &'static [&'static str],
    /// Re-exports of a package: exported name, source module, name in that module.
    pub(crate) origins: &'static [(&'static str, &'static str, &'static str)],
    /// Its bytecode, compressed.
    packed: &'static [u8],
}

/// All embedded modules, sorted by name.
static MODULES: &[EmbeddedModule] = include!(concat!(env!("OUT_DIR"), "/embedded.rs"));

pub(crate) fn find(name: &str) -> Option<&'static EmbeddedModule> {
    let position = MODULES
        .binary_search_by(|module| module.name.cmp(name))
        .ok()?;
    MODULES.get(position)
}

impl EmbeddedModule {
    #[expect(
        unsafe_code,
        reason = "bytecode can only be read by an unsafe function"
    )]
    pub(crate) fn declare<'js>(&self, ctx: &Ctx<'js>) -> Result<Module<'js>> {
        let bytecode = pi_packed::unpack_bytes(self.packed)?;
        // SAFETY: the bytecode was written by the same engine version in this crate's build script.
        unsafe { Module::load(ctx.clone(), &bytecode) }
    }
}

/// Evaluates an embedded module without top-level `await`.
pub(crate) fn evaluate(ctx: &Ctx<'_>, name: &str) -> Result<()> {
    namespace(ctx, name).map(drop)
}

/// Returns the namespace of a module by its resolved name, loading it if necessary.
///
/// Implements `require` of an ES module. Fails for modules with top-level `await`.
pub(crate) fn namespace<'js>(ctx: &Ctx<'js>, name: &str) -> Result<Object<'js>> {
    let quoted = serde_json::Value::String(name.to_owned()).to_string();
    let source = format!("export * as module from {quoted};");
    let (bridge, promise) =
        Module::declare(ctx.clone(), format!("bridge:{name}"), source)?.eval()?;
    match promise.state() {
        PromiseState::Resolved => bridge.get("module"),
        PromiseState::Rejected => {
            // Mark the rejection as handled; it is returned as an error below.
            promise.catch()?.call::<_, ()>((
                rquickjs::function::This(promise.clone()),
                rquickjs::Function::new(ctx.clone(), || {})?,
            ))?;
            Err(promise
                .result::<()>()
                .and_then(std::result::Result::err)
                .unwrap_or(Error::Unknown))
        }
        PromiseState::Pending => Err(Exception::throw_message(
            ctx,
            &format!("require() cannot load {name}: it uses top-level await; use import() instead"),
        )),
    }
}
