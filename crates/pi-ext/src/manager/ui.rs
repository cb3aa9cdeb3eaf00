//! UI calls (rendering, input, completion), routed to the host that each extension runs on.

use std::time::Duration;

use serde_json::{Value, json};

use super::{ExtensionManager, lock};
use crate::engine::CallOptions;
use crate::error::EngineError;
use crate::host_router::ExtensionHost;
use crate::node_host;

/// A function of the JavaScript UI modules, with its time slice.
struct UiCall<'a> {
    module: &'a str,
    function: &'a str,
    slice: Option<Duration>,
}

impl ExtensionManager {
    /// Calls a function of a UI module (`js/pi/<part>.js`). `slice` overrides the time slice of the
    /// engine.
    pub async fn call_ui(
        &self,
        part: &str,
        function: &str,
        values: Vec<Value>,
        slice: Option<Duration>,
    ) -> Result<Value, EngineError> {
        let module = format!("pi:pi/{part}");
        let ui_call = UiCall {
            module: &module,
            function,
            slice,
        };
        if !self.node.is_alive() {
            return self
                .call_on(&ui_call, values, ExtensionHost::Embedded)
                .await;
        }
        match (part, function) {
            ("mount", _) => {
                let id = values.first().and_then(Value::as_u64).unwrap_or_default();
                let host = if id >= node_host::FIRST_NODE_ID {
                    ExtensionHost::Node
                } else {
                    ExtensionHost::Embedded
                };
                self.call_on(&ui_call, values, host).await
            }
            ("rows", "renderTool") => {
                let extension = values.get(2).and_then(|data| data.get("extension"));
                let host = self.host_of(extension);
                self.call_on(&ui_call, values, host).await
            }
            ("rows", "renderCustom") => {
                let first = self.call_on(&ui_call, values.clone(), ExtensionHost::Embedded);
                match first.await? {
                    Value::Null => self.call_on(&ui_call, values, ExtensionHost::Node).await,
                    rendered => Ok(rendered),
                }
            }
            ("rows", "transformMarkdown") => self.transform_markdown(&ui_call, values).await,
            ("screen", "rawInput") => {
                let first = self.call_on(&ui_call, values.clone(), ExtensionHost::Embedded);
                match (first.await?, self.embedded().is_some()) {
                    (Value::Null, true) => Ok(Value::Null),
                    (Value::Null, false) => {
                        self.call_on(&ui_call, values, ExtensionHost::Node).await
                    }
                    (input, _) => {
                        self.call_on(&ui_call, vec![input], ExtensionHost::Node)
                            .await
                    }
                }
            }
            ("completion", _) => {
                let host = lock(&self.subscriptions).completion();
                self.call_on(&ui_call, values, host).await
            }
            _ => {
                let first = self.call_on(&ui_call, values.clone(), ExtensionHost::Embedded);
                first.await?;
                self.call_on(&ui_call, values, ExtensionHost::Node).await
            }
        }
    }

    /// Calls a function on one host. Returns `null` if that host is not running.
    async fn call_on(
        &self,
        ui_call: &UiCall<'_>,
        values: Vec<Value>,
        host: ExtensionHost,
    ) -> Result<Value, EngineError> {
        let options = CallOptions {
            slice: ui_call.slice,
            ..CallOptions::default()
        };
        let UiCall {
            module, function, ..
        } = ui_call;
        match host {
            ExtensionHost::Node => self.node.call(module, function, values, options).await,
            ExtensionHost::Embedded => match self.embedded() {
                Some(engine) => engine.call(module, function, values, options).await,
                None => Ok(Value::Null),
            },
        }
    }

    fn host_of(&self, extension: Option<&Value>) -> ExtensionHost {
        let extension = extension.and_then(Value::as_str).unwrap_or_default();
        if lock(&self.on_node).contains(extension) {
            ExtensionHost::Node
        } else {
            ExtensionHost::Embedded
        }
    }

    /// Runs the transforms of the embedded engine, then those on Node on the result.
    async fn transform_markdown(
        &self,
        ui_call: &UiCall<'_>,
        values: Vec<Value>,
    ) -> Result<Value, EngineError> {
        let mut values = values;
        let first = self.call_on(ui_call, values.clone(), ExtensionHost::Embedded);
        let texts = first.await?;
        let parts = values.first_mut().and_then(Value::as_array_mut);
        if let (Some(parts), Some(texts)) = (parts, texts.as_array()) {
            for (part, text) in parts.iter_mut().zip(texts) {
                if let Value::Object(part) = part {
                    part.insert("text".to_owned(), json!(text));
                }
            }
        }
        self.call_on(ui_call, values, ExtensionHost::Node).await
    }
}
