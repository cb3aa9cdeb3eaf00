//! The terminal library for components that run on Node; every question crosses as JSON.

use std::collections::HashMap;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::host::HostError;
use crate::terminal_kit::{KitPart, TerminalKit, WideEdge};

/// The widest line anybody can ask for; a terminal is never wider.
const WIDEST: f64 = 100_000.0;

/// The library, and the parts that components on Node stand on.
pub(super) struct Terminal {
    kit: Option<Arc<dyn TerminalKit>>,
    parts: HashMap<u32, Box<dyn KitPart>>,
    last: u32,
}

impl Terminal {
    pub(super) fn new(kit: Option<Arc<dyn TerminalKit>>) -> Self {
        Self {
            kit,
            parts: HashMap::new(),
            last: 0,
        }
    }

    pub(super) fn answer(&mut self, method: &str, arguments: Value) -> Result<Value, HostError> {
        let Some(kit) = &self.kit else {
            return Err(HostError::new(
                "this program has no terminal library for the components of extensions",
            ));
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
                let start = columns(start);
                let edge = if strict {
                    WideEdge::Drop
                } else {
                    WideEdge::Keep
                };
                Ok(json!(kit.slice(
                    &line,
                    start..start + columns(length),
                    edge
                )))
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
                let part = kit.part(&kind, options)?;
                self.last = self.last.wrapping_add(1);
                self.parts.insert(self.last, part);
                Ok(json!(self.last))
            }
            "callPart" => {
                let (id, method, arguments): (u32, String, Value) = read(arguments)?;
                match self.parts.get_mut(&id) {
                    Some(part) => part.call(&method, arguments),
                    None => Err(HostError::new("this component was disposed of")),
                }
            }
            "dropPart" => {
                let (id,): (u32,) = read(arguments)?;
                self.parts.remove(&id);
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

/// Turns a number of JavaScript into columns.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the number is clamped, and not a number becomes none"
)]
fn columns(number: f64) -> usize {
    number.clamp(0.0, WIDEST) as usize
}
