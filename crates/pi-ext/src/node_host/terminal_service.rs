//! The TUI library for components that run on Node. All calls are JSON.

use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::host::HostError;
use crate::tui_toolkit::{self, NO_TOOLKIT, TuiToolkit, WidgetTable, columns};

/// The TUI library and the native widgets of components on Node.
pub(super) struct TerminalService {
    toolkit: Option<Arc<dyn TuiToolkit>>,
    widgets: WidgetTable,
}

impl TerminalService {
    pub(super) fn new(toolkit: Option<Arc<dyn TuiToolkit>>) -> Self {
        Self {
            toolkit,
            widgets: WidgetTable::default(),
        }
    }

    pub(super) fn handle(&mut self, method: &str, arguments: &Value) -> Result<Value, HostError> {
        let Some(toolkit) = &self.toolkit else {
            return Err(HostError::new(NO_TOOLKIT));
        };
        match method {
            "widthOf" => {
                let (text,): (String,) = parse_arguments(arguments)?;
                Ok(json!(toolkit.width(&text)))
            }
            "truncateText" => {
                let (text, width, ellipsis): (String, f64, String) = parse_arguments(arguments)?;
                Ok(json!(toolkit.truncate(&text, columns(width), &ellipsis)))
            }
            "wrapText" => {
                let (text, width): (String, f64) = parse_arguments(arguments)?;
                Ok(json!(toolkit.wrap(&text, columns(width))))
            }
            "sliceText" => {
                let (line, start, length, strict): (String, f64, f64, bool) =
                    parse_arguments(arguments)?;
                let cut = tui_toolkit::slice(&**toolkit, &line, start, length, strict);
                Ok(json!(cut))
            }
            "keyName" => {
                let (sequence,): (String,) = parse_arguments(arguments)?;
                Ok(json!(toolkit.key_name(&sequence)))
            }
            "isKey" => {
                let (sequence, key): (String, String) = parse_arguments(arguments)?;
                Ok(json!(toolkit.is_key(&sequence, &key)))
            }
            "query" => {
                let (name, arguments): (String, Value) = parse_arguments(arguments)?;
                toolkit.query(&name, arguments)
            }
            "createWidget" => {
                let (kind, options): (String, Value) = parse_arguments(arguments)?;
                Ok(json!(
                    self.widgets.insert(toolkit.create_widget(&kind, options)?)
                ))
            }
            "callWidget" => {
                let (id, method, arguments): (u32, String, Value) = parse_arguments(arguments)?;
                self.widgets.call(id, &method, arguments)
            }
            "dropWidget" => {
                let (id,): (u32,) = parse_arguments(arguments)?;
                self.widgets.remove(id);
                Ok(Value::Null)
            }
            _ => Err(HostError::new(format!(
                "unknown terminal method `{method}`"
            ))),
        }
    }
}

fn parse_arguments<Data: DeserializeOwned>(arguments: &Value) -> Result<Data, HostError> {
    Data::deserialize(arguments).map_err(|error| HostError::new(error.to_string()))
}
