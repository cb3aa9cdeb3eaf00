//! The module `pi:terminal`: the embedder's TUI library, for JavaScript components.
//!
//! Functions used in every frame take plain values; all others are named queries with JSON.
//! Native widgets are stored in the realm by ID until JavaScript drops them.

#![expect(
    clippy::needless_pass_by_value,
    reason = "rquickjs passes the arguments of native functions by value"
)]

use std::sync::Arc;

use rquickjs::function::Opt;
use rquickjs::module::{Declarations, Exports, ModuleDef};
use rquickjs::prelude::Func;
use rquickjs::{Ctx, Exception, FromJs, Result, Value};

use super::realm::Realm;
use super::values::{argument_to_json, json_to_value, value_to_json};
use crate::host::HostError;
use crate::node::NativeError;
use crate::tui_toolkit::{self, NO_TOOLKIT, TuiToolkit, columns};

const EXPORTS: [&str; 10] = [
    "query",
    "callWidget",
    "dropWidget",
    "isKey",
    "keyName",
    "createWidget",
    "sliceText",
    "truncateText",
    "widthOf",
    "wrapText",
];

/// A JavaScript string, which may contain unpaired surrogates.
struct JsText(String);

impl<'js> FromJs<'js> for JsText {
    fn from_js(ctx: &Ctx<'js>, value: Value<'js>) -> Result<Self> {
        let Some(text) = value.as_string() else {
            let kind = value.type_name();
            let message = format!("expected a string, got {kind}");
            return Err(Exception::throw_type(ctx, &message));
        };
        if let Ok(text) = text.to_string() {
            return Ok(Self(text));
        }
        match value_to_json(ctx, value)? {
            serde_json::Value::String(text) => Ok(Self(text)),
            _ => Ok(Self(String::new())),
        }
    }
}

/// The module `pi:terminal`.
pub(crate) struct TerminalModule;

impl TerminalModule {
    /// Specifier used by the embedded JavaScript.
    pub(crate) const NAME: &str = "pi:terminal";
}

impl ModuleDef for TerminalModule {
    fn declare(declarations: &Declarations<'_>) -> Result<()> {
        for name in EXPORTS {
            declarations.declare(name)?;
        }
        Ok(())
    }

    fn evaluate<'js>(_: &Ctx<'js>, exports: &Exports<'js>) -> Result<()> {
        exports
            .export("query", Func::from(query))?
            .export("callWidget", Func::from(call_widget))?
            .export("dropWidget", Func::from(drop_widget))?
            .export("isKey", Func::from(is_key))?
            .export("keyName", Func::from(key_name))?
            .export("createWidget", Func::from(create_widget))?
            .export("sliceText", Func::from(slice_text))?
            .export("truncateText", Func::from(truncate_text))?
            .export("widthOf", Func::from(width_of))?
            .export("wrapText", Func::from(wrap_text))?;
        Ok(())
    }
}

fn toolkit(ctx: &Ctx<'_>) -> Result<Arc<dyn TuiToolkit>> {
    let realm = Realm::current()?;
    match &realm.options.tui_toolkit {
        Some(toolkit) => Ok(Arc::clone(&toolkit.0)),
        None => Err(Exception::throw_message(ctx, NO_TOOLKIT)),
    }
}

fn width_of(ctx: Ctx<'_>, text: JsText) -> Result<u32> {
    let width = toolkit(&ctx)?.width(&text.0);
    Ok(u32::try_from(width).unwrap_or(u32::MAX))
}

fn truncate_text(ctx: Ctx<'_>, text: JsText, width: f64, ellipsis: JsText) -> Result<String> {
    Ok(toolkit(&ctx)?.truncate(&text.0, columns(width), &ellipsis.0))
}

fn wrap_text(ctx: Ctx<'_>, text: JsText, width: f64) -> Result<Vec<String>> {
    Ok(toolkit(&ctx)?.wrap(&text.0, columns(width)))
}

fn slice_text(ctx: Ctx<'_>, line: JsText, start: f64, length: f64, strict: bool) -> Result<String> {
    let toolkit = toolkit(&ctx)?;
    Ok(tui_toolkit::slice(
        &*toolkit, &line.0, start, length, strict,
    ))
}

fn key_name(ctx: Ctx<'_>, sequence: JsText) -> Result<Option<String>> {
    Ok(toolkit(&ctx)?.key_name(&sequence.0))
}

fn is_key(ctx: Ctx<'_>, sequence: JsText, key: JsText) -> Result<bool> {
    Ok(toolkit(&ctx)?.is_key(&sequence.0, &key.0))
}

fn query<'js>(ctx: Ctx<'js>, name: String, arguments: Opt<Value<'js>>) -> Result<Value<'js>> {
    let arguments = argument_to_json(&ctx, arguments)?;
    let result = toolkit(&ctx)?.query(&name, arguments);
    value_or_throw(&ctx, result)
}

fn create_widget<'js>(ctx: Ctx<'js>, kind: String, options: Opt<Value<'js>>) -> Result<u32> {
    let options = argument_to_json(&ctx, options)?;
    match toolkit(&ctx)?.create_widget(&kind, options) {
        Ok(widget) => Ok(Realm::current()?.widgets.borrow_mut().insert(widget)),
        Err(error) => Err(NativeError::from(error).throw(&ctx)),
    }
}

fn call_widget<'js>(
    ctx: Ctx<'js>,
    id: u32,
    method: String,
    arguments: Opt<Value<'js>>,
) -> Result<Value<'js>> {
    let arguments = argument_to_json(&ctx, arguments)?;
    let realm = Realm::current()?;
    let result = realm.widgets.borrow_mut().call(id, &method, arguments);
    value_or_throw(&ctx, result)
}

fn drop_widget(id: u32) -> Result<()> {
    Realm::current()?.widgets.borrow_mut().remove(id);
    Ok(())
}

fn value_or_throw<'js>(
    ctx: &Ctx<'js>,
    result: std::result::Result<serde_json::Value, HostError>,
) -> Result<Value<'js>> {
    match result {
        Ok(value) => json_to_value(ctx, &value),
        Err(error) => Err(NativeError::from(error).throw(ctx)),
    }
}
