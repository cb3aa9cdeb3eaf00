//! Conversion of values between Rust and JavaScript.
//!
//! Everything except bytes is passed as JSON text, which the engine parses and serializes in
//! native code. Bytes are copied; neither side keeps a view into the other's memory.

use rquickjs::function::Opt;
use rquickjs::{
    Array, ArrayBuffer, Ctx, Error, Exception, IntoJs as _, Object, Result, TypedArray, Value,
};

use crate::error::JsException;

/// The result of a native operation.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum NativeReply {
    Nothing,
    Json(serde_json::Value),
    Text(String),
    Bytes(Vec<u8>),
    /// An array of a JSON value and byte arrays.
    JsonAndBytes(serde_json::Value, Vec<Vec<u8>>),
}

impl NativeReply {
    pub(crate) fn into_value<'js>(self, ctx: &Ctx<'js>) -> Result<Value<'js>> {
        match self {
            Self::Nothing => Ok(Value::new_undefined(ctx.clone())),
            Self::Json(value) => json_to_value(ctx, &value),
            Self::Text(text) => text.into_js(ctx),
            Self::Bytes(bytes) => bytes_to_value(ctx, &bytes),
            Self::JsonAndBytes(json, buffers) => {
                let array = Array::new(ctx.clone())?;
                array.set(0, json_to_value(ctx, &json)?)?;
                for (index, buffer) in buffers.iter().enumerate() {
                    array.set(index + 1, bytes_to_value(ctx, buffer)?)?;
                }
                Ok(array.into_value())
            }
        }
    }
}

/// Converts JSON into a JavaScript value.
pub(crate) fn json_to_value<'js>(ctx: &Ctx<'js>, json: &serde_json::Value) -> Result<Value<'js>> {
    match json {
        serde_json::Value::Null => Ok(Value::new_null(ctx.clone())),
        serde_json::Value::Bool(value) => value.into_js(ctx),
        serde_json::Value::String(text) => text.as_str().into_js(ctx),
        other => match other.as_i64() {
            Some(integer) => integer.into_js(ctx),
            None => ctx.json_parse(other.to_string()),
        },
    }
}

/// Converts a JavaScript value into JSON. `undefined` becomes `null`.
pub(crate) fn value_to_json<'js>(ctx: &Ctx<'js>, value: Value<'js>) -> Result<serde_json::Value> {
    if value.is_undefined() || value.is_null() {
        return Ok(serde_json::Value::Null);
    }
    // Fast path: most results of rendering components are plain strings.
    if let Some(text) = value.as_string()
        && let Ok(text) = text.to_string()
    {
        return Ok(serde_json::Value::String(text));
    }
    match ctx.json_stringify(value)? {
        Some(text) => parse_lenient_json(ctx, &text.to_string()?),
        None => Ok(serde_json::Value::Null),
    }
}

/// Converts an optional argument into JSON.
pub(crate) fn argument_to_json<'js>(
    ctx: &Ctx<'js>,
    argument: Opt<Value<'js>>,
) -> Result<serde_json::Value> {
    match argument.0 {
        Some(value) => value_to_json(ctx, value),
        None => Ok(serde_json::Value::Null),
    }
}

/// Parses JSON text from JavaScript, which may contain unpaired surrogates.
pub(crate) fn parse_lenient_json(ctx: &Ctx<'_>, text: &str) -> Result<serde_json::Value> {
    serde_json::from_str(text)
        .or_else(|_| serde_json::from_str(&replace_lone_surrogates(text)))
        .map_err(|error| Exception::throw_type(ctx, &format!("invalid JSON: {error}")))
}

/// Replaces unpaired surrogate escapes such as `\ud83d` with the replacement character.
fn replace_lone_surrogates(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(position) = rest.find('\\') {
        let (before, escape) = rest.split_at(position);
        result.push_str(before);
        let unit = surrogate(escape);
        let length = match unit {
            Some(unit) if unit < 0xDC00 => match escape.get(6..).and_then(surrogate) {
                Some(low) if low >= 0xDC00 => 12,
                _ => 6,
            },
            Some(_) => 6,
            None => escape.chars().take(2).map(char::len_utf8).sum(),
        };
        let (escape, after) = escape.split_at(length.min(escape.len()));
        result.push_str(if unit.is_some() && length == 6 {
            "\\ufffd"
        } else {
            escape
        });
        rest = after;
    }
    result.push_str(rest);
    result
}

fn surrogate(escape: &str) -> Option<u32> {
    let digits = escape.strip_prefix("\\u")?.get(..4)?;
    let unit = u32::from_str_radix(digits, 16).ok()?;
    (0xD800..0xE000).contains(&unit).then_some(unit)
}

/// Copies bytes into a new `Uint8Array`. Its memory counts toward the memory limit.
pub(crate) fn bytes_to_value<'js>(ctx: &Ctx<'js>, bytes: &[u8]) -> Result<Value<'js>> {
    let buffer = ArrayBuffer::new_copy(ctx.clone(), bytes)?;
    Ok(TypedArray::<u8>::from_arraybuffer(buffer)?.into_value())
}

/// Copies the bytes of a `Uint8Array` (or `Buffer`) or an `ArrayBuffer`.
#[expect(unsafe_code, reason = "rquickjs has no safe view of a buffer's bytes")]
pub(crate) fn bytes_of(value: &Value<'_>) -> Option<Vec<u8>> {
    if let Ok(array) = TypedArray::<u8>::from_value(value.clone()) {
        // SAFETY: the bytes are copied before any JavaScript can detach or modify them; only this
        // thread runs JavaScript of this context.
        return unsafe { array.as_bytes() }.map(<[u8]>::to_vec);
    }
    let buffer = ArrayBuffer::from_value(value.clone())?;
    // SAFETY: as above.
    unsafe { buffer.as_bytes() }.map(<[u8]>::to_vec)
}

/// Converts a thrown value.
pub(crate) fn exception_from_value(value: &Value<'_>) -> JsException {
    let Some(object) = value.as_object() else {
        let message = match value.as_string().map(rquickjs::String::to_string) {
            Some(Ok(text)) => text,
            _ => describe_primitive(value),
        };
        return JsException {
            message,
            ..JsException::default()
        };
    };
    let message = text_property(object, "message").unwrap_or_else(|| {
        value_to_json(object.ctx(), value.clone()).map_or_else(
            |_| "an object that is not an error was thrown".to_owned(),
            |json| json.to_string(),
        )
    });
    JsException {
        name: text_property(object, "name").unwrap_or_default(),
        message,
        code: text_property(object, "code"),
        stack: text_property(object, "stack").filter(|stack| !stack.is_empty()),
    }
}

fn describe_primitive(value: &Value<'_>) -> String {
    if let Some(number) = value.as_number() {
        number.to_string()
    } else if let Some(flag) = value.as_bool() {
        flag.to_string()
    } else {
        value.type_name().to_owned()
    }
}

/// Reads a string property. Returns `None` if a getter throws.
fn text_property(object: &Object<'_>, name: &str) -> Option<String> {
    match object.get::<_, Option<Value<'_>>>(name) {
        Ok(value) => value?.as_string()?.to_string().ok(),
        Err(_) => {
            drop(object.ctx().catch());
            None
        }
    }
}

/// Takes the pending exception of a failed operation.
pub(crate) fn take_exception(ctx: &Ctx<'_>, error: &Error) -> JsException {
    if matches!(error, Error::Exception) || ctx.has_exception() {
        exception_from_value(&ctx.catch())
    } else {
        JsException {
            message: error.to_string(),
            ..JsException::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unpaired_surrogates_are_replaced() {
        assert_eq!(
            replace_lone_surrogates(r#""\ud83d\ude00\\ud83d""#),
            r#""\ud83d\ude00\\ud83d""#
        );
        assert_eq!(
            replace_lone_surrogates(r#""a\ud83d b\udc00\n""#),
            r#""a\ufffd b\ufffd\n""#
        );
        assert_eq!(
            replace_lone_surrogates(r#""\ud83d\ud83d\ude00""#),
            r#""\ufffd\ud83d\ude00""#
        );
        assert_eq!(replace_lone_surrogates("\\"), "\\");
    }
}
