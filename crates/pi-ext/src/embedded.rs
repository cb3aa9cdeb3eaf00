//! The JavaScript of ours, compiled to bytecode in the build.

use rquickjs::promise::PromiseState;
use rquickjs::{Ctx, Error, Exception, Module, Object, Result};

/// A module of ours.
#[derive(Debug)]
pub(crate) struct Embedded {
    /// What it is imported as.
    pub(crate) name: &'static str,
    /// What it exports.
    pub(crate) exports: &'static [&'static str],
    /// What a package passes on: the name, the module it comes from, and its name there.
    pub(crate) origins: &'static [(&'static str, &'static str, &'static str)],
    bytecode: &'static [u8],
}

/// All of them, sorted by name.
static MODULES: &[Embedded] = include!(concat!(env!("OUT_DIR"), "/embedded.rs"));

/// Returns a module of ours.
pub(crate) fn find(name: &str) -> Option<&'static Embedded> {
    let position = MODULES
        .binary_search_by(|module| module.name.cmp(name))
        .ok()?;
    MODULES.get(position)
}

impl Embedded {
    /// Declares the module in a context.
    #[expect(
        unsafe_code,
        reason = "bytecode can only be read by an unsafe function"
    )]
    pub(crate) fn declare<'js>(&self, ctx: &Ctx<'js>) -> Result<Module<'js>> {
        // SAFETY: the bytes were written by the same version of the engine in our own build.
        unsafe { Module::load(ctx.clone(), self.bytecode) }
    }
}

/// Evaluates a module of ours that waits for nothing.
pub(crate) fn evaluate(ctx: &Ctx<'_>, name: &str) -> Result<()> {
    namespace(ctx, name).map(drop)
}

/// Returns the namespace of a module by its resolved name, loading it if need be.
///
/// This is what `require` of an ES module is. One that waits at its top level cannot be had so.
pub(crate) fn namespace<'js>(ctx: &Ctx<'js>, name: &str) -> Result<Object<'js>> {
    let quoted = serde_json::Value::String(name.to_owned()).to_string();
    let source = format!("export * as module from {quoted};");
    let (bridge, promise) =
        Module::declare(ctx.clone(), format!("bridge:{name}"), source)?.eval()?;
    match promise.state() {
        PromiseState::Resolved => bridge.get("module"),
        PromiseState::Rejected => {
            // Looked at here; without this it would count as unhandled as well.
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
            &format!("require() cannot load {name}: it uses await at its top level; use import()"),
        )),
    }
}
