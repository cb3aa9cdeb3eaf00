//! UI calls (rendering, input, completion), routed to the host that each extension runs on.

use std::time::Duration;

use serde_json::Value;

use super::ExtensionManager;
use super::functions::{JsFunction, UiCall};
use crate::engine::CallOptions;
use crate::error::EngineError;
use crate::host_router::ExtensionHost;
use crate::node_host;

impl ExtensionManager {
    /// Calls the terminal UI of extensions. `slice` overrides the time slice of the engine.
    pub async fn call_ui(
        &self,
        call: UiCall,
        slice: Option<Duration>,
    ) -> Result<Value, EngineError> {
        if !self.node.is_alive() {
            return self.call_on(ExtensionHost::Embedded, call, slice).await;
        }
        match call {
            UiCall::Render { id, .. }
            | UiCall::Input { id, .. }
            | UiCall::Mouse { id, .. }
            | UiCall::FocusChanged { id, .. } => {
                let host = if id >= node_host::FIRST_NODE_ID {
                    ExtensionHost::Node
                } else {
                    ExtensionHost::Embedded
                };
                self.call_on(host, call, slice).await
            }
            UiCall::RenderTool { ref data, .. } => {
                let host = self.host_of(data.get("extension"));
                self.call_on(host, call, slice).await
            }
            UiCall::RenderCustom { .. } => {
                let first = self.call_on(ExtensionHost::Embedded, call.clone(), slice);
                match first.await? {
                    Value::Null => self.call_on(ExtensionHost::Node, call, slice).await,
                    rendered => Ok(rendered),
                }
            }
            UiCall::TransformMarkdown { parts, shared } => {
                self.transform_markdown(parts, shared, slice).await
            }
            UiCall::RawInput { .. } => {
                let first = self.call_on(ExtensionHost::Embedded, call.clone(), slice);
                match (first.await?, self.embedded().is_some()) {
                    (Value::Null, true) => Ok(Value::Null),
                    (Value::String(data), true) => {
                        let call = UiCall::RawInput { data };
                        self.call_on(ExtensionHost::Node, call, slice).await
                    }
                    _ => self.call_on(ExtensionHost::Node, call, slice).await,
                }
            }
            UiCall::Suggest { .. } => {
                let host = self.subscriptions.lock().completion();
                self.call_on(host, call, slice).await
            }
            UiCall::ForgetRows { .. }
            | UiCall::Resized
            | UiCall::ScreenOpened
            | UiCall::ThemeChanged { .. }
            | UiCall::BranchChanged
            | UiCall::SetEditorText { .. }
            | UiCall::InsertEditorText { .. }
            | UiCall::AddEditorHistory { .. } => {
                let first = self.call_on(ExtensionHost::Embedded, call.clone(), slice);
                first.await?;
                self.call_on(ExtensionHost::Node, call, slice).await
            }
        }
    }

    /// Calls a function on one host. Returns `null` if that host is not running.
    async fn call_on(
        &self,
        host: ExtensionHost,
        call: UiCall,
        slice: Option<Duration>,
    ) -> Result<Value, EngineError> {
        let options = CallOptions {
            slice,
            ..CallOptions::default()
        };
        let JsFunction { module, name } = call.function();
        let values = call.into_values();
        match host {
            ExtensionHost::Node => self.node.call(module, name, values, options).await,
            ExtensionHost::Embedded => match self.embedded() {
                Some(engine) => engine.call(module, name, values, options).await,
                None => Ok(Value::Null),
            },
        }
    }

    fn host_of(&self, extension: Option<&Value>) -> ExtensionHost {
        let extension = extension.and_then(Value::as_str).unwrap_or_default();
        if self.on_node.lock().contains(extension) {
            ExtensionHost::Node
        } else {
            ExtensionHost::Embedded
        }
    }

    /// Runs the transforms of the embedded engine, then those on Node on the result.
    async fn transform_markdown(
        &self,
        mut parts: Value,
        shared: Value,
        slice: Option<Duration>,
    ) -> Result<Value, EngineError> {
        let call = UiCall::TransformMarkdown {
            parts: parts.clone(),
            shared: shared.clone(),
        };
        let texts = self.call_on(ExtensionHost::Embedded, call, slice).await?;
        if let (Some(parts), Some(texts)) = (parts.as_array_mut(), texts.as_array()) {
            for (part, text) in parts.iter_mut().zip(texts) {
                if let Value::Object(part) = part {
                    part.insert("text".to_owned(), text.clone());
                }
            }
        }
        let call = UiCall::TransformMarkdown { parts, shared };
        self.call_on(ExtensionHost::Node, call, slice).await
    }
}
