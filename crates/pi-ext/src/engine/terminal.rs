//! The module `pi:terminal`: the program's terminal library, for our JavaScript components.
//!
//! What is asked for in every frame crosses as plain values; the rest as JSON under a name. Parts
//! are kept by the realm, under a number, until JavaScript is done with theirs.

#![expect(
    clippy::needless_pass_by_value,
    reason = "the engine hands a native function its arguments by value"
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
use crate::terminal_kit::{self, NO_KIT, TerminalKit, columns};

const EXPORTS: [&str; 10] = [
    "answer",
    "callPart",
    "dropPart",
    "isKey",
    "keyName",
    "makePart",
    "sliceText",
    "truncateText",
    "widthOf",
    "wrapText",
];

/// Text of JavaScript, where half of a surrogate pair may stand alone.
struct Text(String);

impl<'js> FromJs<'js> for Text {
    fn from_js(ctx: &Ctx<'js>, value: Value<'js>) -> Result<Self> {
        let Some(text) = value.as_string() else {
            let kind = value.type_name();
            let message = format!("expected a text, not {kind}");
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
    /// What our JavaScript imports it as.
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
            .export("answer", Func::from(answer))?
            .export("callPart", Func::from(call_part))?
            .export("dropPart", Func::from(drop_part))?
            .export("isKey", Func::from(is_key))?
            .export("keyName", Func::from(key_name))?
            .export("makePart", Func::from(make_part))?
            .export("sliceText", Func::from(slice_text))?
            .export("truncateText", Func::from(truncate_text))?
            .export("widthOf", Func::from(width_of))?
            .export("wrapText", Func::from(wrap_text))?;
        Ok(())
    }
}

fn kit(ctx: &Ctx<'_>) -> Result<Arc<dyn TerminalKit>> {
    let realm = Realm::current()?;
    match &realm.options.terminal_kit {
        Some(kit) => Ok(Arc::clone(&kit.0)),
        None => Err(Exception::throw_message(ctx, NO_KIT)),
    }
}

fn width_of(ctx: Ctx<'_>, text: Text) -> Result<u32> {
    let width = kit(&ctx)?.width(&text.0);
    Ok(u32::try_from(width).unwrap_or(u32::MAX))
}

fn truncate_text(ctx: Ctx<'_>, text: Text, width: f64, ellipsis: Text) -> Result<String> {
    Ok(kit(&ctx)?.truncate(&text.0, columns(width), &ellipsis.0))
}

fn wrap_text(ctx: Ctx<'_>, text: Text, width: f64) -> Result<Vec<String>> {
    Ok(kit(&ctx)?.wrap(&text.0, columns(width)))
}

fn slice_text(ctx: Ctx<'_>, line: Text, start: f64, length: f64, strict: bool) -> Result<String> {
    let kit = kit(&ctx)?;
    Ok(terminal_kit::slice(&*kit, &line.0, start, length, strict))
}

fn key_name(ctx: Ctx<'_>, sequence: Text) -> Result<Option<String>> {
    Ok(kit(&ctx)?.key_name(&sequence.0))
}

fn is_key(ctx: Ctx<'_>, sequence: Text, key: Text) -> Result<bool> {
    Ok(kit(&ctx)?.is_key(&sequence.0, &key.0))
}

fn answer<'js>(ctx: Ctx<'js>, question: String, arguments: Opt<Value<'js>>) -> Result<Value<'js>> {
    let arguments = argument_to_json(&ctx, arguments)?;
    let answer = kit(&ctx)?.answer(&question, arguments);
    value_or_throw(&ctx, answer)
}

fn make_part<'js>(ctx: Ctx<'js>, kind: String, options: Opt<Value<'js>>) -> Result<u32> {
    let options = argument_to_json(&ctx, options)?;
    match kit(&ctx)?.part(&kind, options) {
        Ok(part) => Ok(Realm::current()?.parts.borrow_mut().keep(part)),
        Err(error) => Err(NativeError::from(error).throw(&ctx)),
    }
}

fn call_part<'js>(
    ctx: Ctx<'js>,
    id: u32,
    method: String,
    arguments: Opt<Value<'js>>,
) -> Result<Value<'js>> {
    let arguments = argument_to_json(&ctx, arguments)?;
    let realm = Realm::current()?;
    let answer = realm.parts.borrow_mut().call(id, &method, arguments);
    value_or_throw(&ctx, answer)
}

fn drop_part(id: u32) -> Result<()> {
    Realm::current()?.parts.borrow_mut().release(id);
    Ok(())
}

fn value_or_throw<'js>(
    ctx: &Ctx<'js>,
    answer: std::result::Result<serde_json::Value, HostError>,
) -> Result<Value<'js>> {
    match answer {
        Ok(value) => json_to_value(ctx, &value),
        Err(error) => Err(NativeError::from(error).throw(ctx)),
    }
}
