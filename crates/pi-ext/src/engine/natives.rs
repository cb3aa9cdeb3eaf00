//! The module `pi:native`: native functions for the embedded JavaScript.
//!
//! Node's modules go through `call` and `begin`, which take an operation name and JSON and
//! dispatch to `node`. JavaScript holds the callbacks; Rust holds only IDs.

#![expect(
    clippy::needless_pass_by_value,
    reason = "rquickjs passes the arguments of native functions by value"
)]

use std::path::Path;
use std::ptr::NonNull;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use rquickjs::context::EvalOptions;
use rquickjs::module::{Declarations, Exports, ModuleDef};
use rquickjs::object::Accessor;
use rquickjs::prelude::{Func, Opt};
use rquickjs::{Ctx, Error, Exception, Function, Module, Object, Result, Value, qjs};

use super::realm::Realm;
use super::timers::{Repetition, Timers};
use super::values::{
    self, argument_to_json, bytes_of, bytes_to_value, json_to_value, value_to_json,
};
use crate::error::EngineError;
use crate::host::ConsoleLevel;
use crate::loader::throw_with_code;
use crate::resolver::{ImportKind, builtin_names};
use crate::typescript::SourceFormat;
use crate::{embedded, node};

const EXPORTS: [&str; 25] = [
    "abort",
    "begin",
    "builtinNames",
    "call",
    "compile",
    "findCycle",
    "decodeUtf8",
    "encodeUtf8",
    "charge",
    "charged",
    "enterHandler",
    "markEvaluated",
    "hostCall",
    "mapPosition",
    "newGlobal",
    "now",
    "prepare",
    "print",
    "processInfo",
    "register",
    "requireModule",
    "resolve",
    "settle",
    "startTimer",
    "stopTimer",
];

/// The module `pi:native`.
pub(crate) struct NativeModule;

impl NativeModule {
    /// Specifier used by the embedded JavaScript.
    pub(crate) const NAME: &str = "pi:native";
}

impl ModuleDef for NativeModule {
    fn declare(declarations: &Declarations<'_>) -> Result<()> {
        for name in EXPORTS {
            declarations.declare(name)?;
        }
        Ok(())
    }

    fn evaluate<'js>(_: &Ctx<'js>, exports: &Exports<'js>) -> Result<()> {
        exports
            .export("abort", Func::from(abort))?
            .export("begin", Func::from(begin))?
            .export(
                "builtinNames",
                Func::from(|| builtin_names().collect::<Vec<_>>()),
            )?
            .export("call", Func::from(call))?
            .export("charge", Func::from(charge))?
            .export("charged", Func::from(charged))?
            .export("compile", Func::from(compile))?
            .export("findCycle", Func::from(find_cycle))?
            .export("decodeUtf8", Func::from(decode_utf8))?
            .export("encodeUtf8", Func::from(encode_utf8))?
            .export("enterHandler", Func::from(enter_handler))?
            .export("markEvaluated", Func::from(mark_evaluated))?
            .export("hostCall", Func::from(host_call))?
            .export("mapPosition", Func::from(map_position))?
            .export("newGlobal", Func::from(new_global))?
            .export("now", Func::from(now))?
            .export("prepare", Func::from(prepare))?
            .export("print", Func::from(print))?
            .export("processInfo", Func::from(process_info))?
            .export("register", Func::from(register))?
            .export("requireModule", Func::from(require_module))?
            .export("resolve", Func::from(resolve))?
            .export("settle", Func::from(settle))?
            .export("startTimer", Func::from(start_timer))?
            .export("stopTimer", Func::from(stop_timer))?;
        Ok(())
    }
}

/// Runs an operation synchronously.
fn call<'js>(
    ctx: Ctx<'js>,
    module: String,
    operation: String,
    arguments: Opt<Value<'js>>,
    bytes: Opt<Value<'js>>,
) -> Result<Value<'js>> {
    let realm = Realm::current()?;
    let request = request(&ctx, operation, arguments, bytes)?;
    match node::call(&realm, &module, &request) {
        Ok(reply) => reply.into_value(&ctx),
        Err(error) => Err(error.throw(&ctx)),
    }
}

/// Starts an operation. The `complete` entry point is called with the ID when it finishes.
fn begin<'js>(
    ctx: Ctx<'js>,
    id: u64,
    module: String,
    operation: String,
    arguments: Opt<Value<'js>>,
    bytes: Opt<Value<'js>>,
) -> Result<()> {
    let realm = Realm::current()?;
    let request = request(&ctx, operation, arguments, bytes)?;
    let owner = realm.owner();
    let work = node::start(&realm, &module, request);
    let weak = Rc::downgrade(&realm);
    let task = realm.resources.spawn(async move {
        let result = work.await;
        if let Some(realm) = weak.upgrade() {
            realm.resources.untrack_operation(id);
            realm.complete(owner, id, result);
        }
    });
    realm.resources.track_operation(id, task);
    Ok(())
}

/// Cancels a running operation. Its `complete` callback is not called.
fn abort(id: u64) -> Result<()> {
    Realm::current()?.resources.abort_operation(id);
    Ok(())
}

fn request<'js>(
    ctx: &Ctx<'js>,
    operation: String,
    arguments: Opt<Value<'js>>,
    bytes: Opt<Value<'js>>,
) -> Result<node::NativeRequest> {
    let arguments = argument_to_json(ctx, arguments)?;
    let bytes = bytes.0.as_ref().and_then(bytes_of);
    Ok(node::NativeRequest {
        operation,
        arguments,
        bytes,
    })
}

fn host_call<'js>(ctx: Ctx<'js>, method: String, arguments: Opt<Value<'js>>) -> Result<Value<'js>> {
    let realm = Realm::current()?;
    let arguments = argument_to_json(&ctx, arguments)?;
    let result = realm
        .options
        .host
        .0
        .call(realm.owner().path(), &method, arguments);
    match result {
        Ok(value) => json_to_value(&ctx, &value),
        Err(error) => Err(node::NativeError::from(error).throw(&ctx)),
    }
}

/// Records the extension whose handlers of an event are called next.
fn enter_handler(dispatch: u64, extension: String) -> Result<()> {
    let realm = Realm::current()?;
    realm.charge(Some(Arc::from(extension.as_str())), false);
    realm.options.running_hooks.enter(dispatch, extension);
    Ok(())
}

/// Charges an extension, or none, for what runs from now on; returns the one that was charged until now.
fn charge(extension: Option<String>, is_rendering: bool) -> Result<Option<String>> {
    let extension = extension.map(|path| Arc::from(path.as_str()));
    let before = Realm::current()?.charge(extension, is_rendering);
    Ok(before.as_deref().map(str::to_owned))
}

/// Returns the extension that is charged for the running code.
fn charged() -> Result<Option<String>> {
    let owner = Realm::current()?.owner();
    Ok(owner.charged.as_deref().map(str::to_owned))
}

fn register<'js>(ctx: Ctx<'js>, entry_points: Object<'js>) -> Result<()> {
    Realm::current()?.set_entry_points(&ctx, &entry_points)
}

/// Completes a call from Rust with the outcome of its promise.
fn settle<'js>(ctx: Ctx<'js>, id: u64, is_fulfilled: bool, value: Value<'js>) -> Result<()> {
    let realm = Realm::current()?;
    if !is_fulfilled {
        realm.settle_exception(id, values::exception_from_value(&value));
        return Ok(());
    }
    let result = value_to_json(&ctx, value).map_err(|error| {
        EngineError::InvalidValue(values::take_exception(&ctx, &error).to_string())
    });
    realm.settle(id, result);
    Ok(())
}

fn start_timer(id: u64, milliseconds: f64, repeats: bool) -> Result<()> {
    let repetition = if repeats {
        Repetition::Forever
    } else {
        Repetition::Once
    };
    Timers::start(&Realm::current()?, id, milliseconds, repetition);
    Ok(())
}

fn stop_timer(id: u64) -> Result<()> {
    Realm::current()?.timers.stop(id);
    Ok(())
}

fn print(level: String, text: String) -> Result<()> {
    let level = match level.as_str() {
        "debug" => ConsoleLevel::Debug,
        "warn" => ConsoleLevel::Warning,
        "error" => ConsoleLevel::Error,
        _ => ConsoleLevel::Info,
    };
    Realm::current()?.print(level, text);
    Ok(())
}

/// Returns monotonic milliseconds since the first call.
fn now() -> f64 {
    thread_local! {
        static START: Instant = Instant::now();
    }
    START.with(|start| start.elapsed().as_secs_f64() * 1000.0)
}

fn encode_utf8<'js>(ctx: Ctx<'js>, text: rquickjs::String<'js>) -> Result<Value<'js>> {
    bytes_to_value(&ctx, text.to_string()?.as_bytes())
}

/// Decodes UTF-8. Returns `undefined` for invalid input if `fatal` is set.
fn decode_utf8<'js>(ctx: Ctx<'js>, bytes: Value<'js>, fatal: bool) -> Result<Value<'js>> {
    let bytes = bytes_of(&bytes)
        .ok_or_else(|| Exception::throw_type(&ctx, "expected a Uint8Array or an ArrayBuffer"))?;
    match String::from_utf8(bytes) {
        Ok(text) => rquickjs::IntoJs::into_js(text, &ctx),
        Err(_) if fatal => Ok(Value::new_undefined(ctx)),
        Err(error) => {
            let text = String::from_utf8_lossy(error.as_bytes()).into_owned();
            rquickjs::IntoJs::into_js(text, &ctx)
        }
    }
}

/// Returns the original `[line, column]`, or `undefined` if the file has no source map.
fn map_position(file: String, line: u32, column: u32) -> Result<Option<Vec<u32>>> {
    let realm = Realm::current()?;
    let maps = realm.modules.maps.borrow();
    if !maps.contains(&file) {
        return Ok(None);
    }
    Ok(maps
        .position(&file, line, column)
        .map(|(line, column)| vec![line, column]))
}

/// Prepares a file for `require` and returns its format and code.
fn prepare(ctx: Ctx<'_>, path: String) -> Result<Object<'_>> {
    let realm = Realm::current()?;
    let prepared = realm
        .modules
        .prepare(Path::new(&path))
        .map_err(|message| Exception::throw_syntax(&ctx, &message))?;
    let object = Object::new(ctx)?;
    let is_module = prepared.format == SourceFormat::Module;
    object.set("isModule", is_module)?;
    if !is_module {
        object.set("code", prepared.code.as_str())?;
    }
    Ok(object)
}

/// Compiles a function expression as a script with the given file name.
fn compile(ctx: Ctx<'_>, code: String, filename: String) -> Result<Function<'_>> {
    let mut options = EvalOptions::default();
    options.strict = false;
    options.filename = Some(filename);
    ctx.eval_with_options(code, options)
}

/// Creates a context with its own builtin objects and returns its global object. The context lives as long as its functions.
#[expect(
    unsafe_code,
    reason = "a context can only be created by unsafe functions while another one runs"
)]
fn new_global<'js>(ctx: Ctx<'js>) -> Result<Object<'js>> {
    // SAFETY: the runtime is locked as long as `ctx` exists, and its contexts may share values. `from_raw` adds a
    // second reference, so the one of `JS_NewContext` is released.
    let other: Ctx<'js> = unsafe {
        let runtime = qjs::JS_GetRuntime(ctx.as_raw().as_ptr());
        let context = NonNull::new(qjs::JS_NewContext(runtime)).ok_or(Error::Allocation)?;
        let other = Ctx::from_raw(context);
        qjs::JS_FreeContext(context.as_ptr());
        other
    };
    Ok(other.globals())
}

fn resolve(ctx: Ctx<'_>, specifier: String, importer: String, kind: String) -> Result<String> {
    let kind = if kind == "require" {
        ImportKind::Require
    } else {
        ImportKind::Import
    };
    Realm::current()?
        .modules
        .resolve(&specifier, &importer, kind)
        .map_err(|message| throw_with_code(&ctx, &message, "MODULE_NOT_FOUND"))
}

fn require_module(ctx: Ctx<'_>, name: String) -> Result<Object<'_>> {
    let realm = Realm::current()?;
    if let Some(known) = realm.namespace(&ctx, &name)? {
        return Ok(known);
    }
    let namespace = embedded::namespace(&ctx, &name)?;
    realm.cache_namespace(&ctx, name, &namespace);
    Ok(namespace)
}

/// Returns the file that prevents `require` of an ES module because it is still running.
fn find_cycle(name: String, stack: String) -> Result<Option<String>> {
    Ok(Realm::current()?.modules.find_cycle(&name, &stack))
}

/// Marks all files prepared so far as evaluated.
fn mark_evaluated() -> Result<()> {
    Realm::current()?.modules.mark_evaluated();
    Ok(())
}

fn process_info(ctx: Ctx<'_>) -> Result<Value<'_>> {
    let realm = Realm::current()?;
    json_to_value(&ctx, &node::process_info(&realm.options.process))
}

/// Sets the properties of `import.meta` for a file.
pub(crate) fn set_import_meta<'js>(
    ctx: &Ctx<'js>,
    module: &Module<'js>,
    path: &Path,
) -> Result<()> {
    let meta = module.meta()?;
    let name = path.to_string_lossy().into_owned();
    if let Ok(url) = url::Url::from_file_path(path) {
        meta.set("url", url.as_str())?;
    }
    meta.set("filename", name.as_str())?;
    if let Some(directory) = path.parent() {
        meta.set("dirname", directory.to_string_lossy().as_ref())?;
    }
    let importer = name.clone();
    meta.set(
        "resolve",
        Function::new(ctx.clone(), move |ctx: Ctx<'js>, specifier: String| {
            let realm = Realm::current()?;
            let found = realm
                .modules
                .resolve(&specifier, &importer, ImportKind::Import);
            let found =
                found.map_err(|message| throw_with_code(&ctx, &message, "ERR_MODULE_NOT_FOUND"))?;
            let address = url::Url::from_file_path(&found);
            Ok::<_, rquickjs::Error>(address.map_or(found, |address| address.to_string()))
        })?,
    )?;
    // A getter, since no code may run while modules are being linked.
    let getter = move |ctx: Ctx<'js>| -> Result<Value<'js>> {
        let commonjs = embedded::namespace(&ctx, "pi:commonjs")?;
        commonjs
            .get::<_, Function<'js>>("scopeOf")?
            .call((name.clone(),))
    };
    meta.prop("commonjs", Accessor::from(getter))
}
