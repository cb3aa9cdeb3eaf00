//! The terminal library for components that run on Node; every question crosses as JSON.

use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::host::HostError;
use crate::terminal_kit::{self, NO_KIT, Parts, TerminalKit, columns};

/// The library, and the parts that components on Node stand on.
pub(super) struct Terminal {
    kit: Option<Arc<dyn TerminalKit>>,
    parts: Parts,
}

impl Terminal {
    pub(super) fn new(kit: Option<Arc<dyn TerminalKit>>) -> Self {
        Self {
            kit,
            parts: Parts::default(),
        }
    }

    pub(super) fn answer(&mut self, method: &str, arguments: Value) -> Result<Value, HostError> {
        let Some(kit) = &self.kit else {
            return Err(HostError::new(NO_KIT));
        };
        match method {
            "widthOf" => {
                let (text,): (String,) = read(arguments)?;
                Ok(json!(kit.width(&text)))
            }
            "truncateText" => {
                let (text, width, ellipsis): (String, f64, String) = read(arguments)?;
                Ok(json!(kit.truncate(&text, columns(width), &ellipsis)))
            }
            "wrapText" => {
                let (text, width): (String, f64) = read(arguments)?;
                Ok(json!(kit.wrap(&text, columns(width))))
            }
            "sliceText" => {
                let (line, start, length, strict): (String, f64, f64, bool) = read(arguments)?;
                let cut = terminal_kit::slice(&**kit, &line, start, length, strict);
                Ok(json!(cut))
            }
            "keyName" => {
                let (sequence,): (String,) = read(arguments)?;
                Ok(json!(kit.key_name(&sequence)))
            }
            "isKey" => {
                let (sequence, key): (String, String) = read(arguments)?;
                Ok(json!(kit.is_key(&sequence, &key)))
            }
            "answer" => {
                let (question, arguments): (String, Value) = read(arguments)?;
                kit.answer(&question, arguments)
            }
            "makePart" => {
                let (kind, options): (String, Value) = read(arguments)?;
                Ok(json!(self.parts.keep(kit.part(&kind, options)?)))
            }
            "callPart" => {
                let (id, method, arguments): (u32, String, Value) = read(arguments)?;
                self.parts.call(id, &method, arguments)
            }
            "dropPart" => {
                let (id,): (u32,) = read(arguments)?;
                self.parts.release(id);
                Ok(Value::Null)
            }
            _ => Err(HostError::new(format!(
                "the terminal library knows no {method}"
            ))),
        }
    }
}

fn read<Data: DeserializeOwned>(arguments: Value) -> Result<Data, HostError> {
    serde_json::from_value(arguments).map_err(|error| HostError::new(error.to_string()))
}
