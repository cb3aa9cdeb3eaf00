//! What a screen asks of extensions, brought to where each of them runs.

use std::time::Duration;

use serde_json::{Value, json};

use super::{Extensions, lock};
use crate::both_hosts::ExtensionHost;
use crate::engine::CallOptions;
use crate::error::EngineError;
use crate::node_host;

/// A function of the part of our JavaScript that serves a screen, and how long it may run.
struct Question<'a> {
    module: &'a str,
    function: &'a str,
    slice: Option<Duration>,
}

impl Extensions {
    /// Calls a function of the part of our JavaScript that serves a screen; `slice` limits how long
    /// it may run.
    pub async fn screen(
        &self,
        part: &str,
        function: &str,
        values: Vec<Value>,
        slice: Option<Duration>,
    ) -> Result<Value, EngineError> {
        let module = format!("pi:pi/{part}");
        let question = Question {
            module: &module,
            function,
            slice,
        };
        if !self.node.is_alive() {
            return self.ask(&question, values, ExtensionHost::Embedded).await;
        }
        match (part, function) {
            ("mount", _) => {
                let id = values.first().and_then(Value::as_u64).unwrap_or_default();
                let place = if id >= node_host::FIRST_NUMBER {
                    ExtensionHost::Node
                } else {
                    ExtensionHost::Embedded
                };
                self.ask(&question, values, place).await
            }
            ("rows", "renderTool") => {
                let extension = values.get(2).and_then(|data| data.get("extension"));
                let place = self.place_of(extension);
                self.ask(&question, values, place).await
            }
            ("rows", "renderCustom") => {
                let first = self.ask(&question, values.clone(), ExtensionHost::Embedded);
                match first.await? {
                    Value::Null => self.ask(&question, values, ExtensionHost::Node).await,
                    drawn => Ok(drawn),
                }
            }
            ("rows", "transformMarkdown") => self.transform_markdown(&question, values).await,
            ("screen", "rawInput") => {
                let first = self.ask(&question, values.clone(), ExtensionHost::Embedded);
                match (first.await?, self.embedded().is_some()) {
                    (Value::Null, true) => Ok(Value::Null),
                    (Value::Null, false) => self.ask(&question, values, ExtensionHost::Node).await,
                    (typed, _) => self.ask(&question, vec![typed], ExtensionHost::Node).await,
                }
            }
            ("completion", _) => {
                let place = lock(&self.heard).completion();
                self.ask(&question, values, place).await
            }
            _ => {
                let first = self.ask(&question, values.clone(), ExtensionHost::Embedded);
                first.await?;
                self.ask(&question, values, ExtensionHost::Node).await
            }
        }
    }

    /// Asks in one place; where nothing runs there, the answer is nothing.
    async fn ask(
        &self,
        question: &Question<'_>,
        values: Vec<Value>,
        place: ExtensionHost,
    ) -> Result<Value, EngineError> {
        let options = CallOptions {
            slice: question.slice,
            ..CallOptions::default()
        };
        let Question {
            module, function, ..
        } = question;
        match place {
            ExtensionHost::Node => self.node.call(module, function, values, options).await,
            ExtensionHost::Embedded => match self.embedded() {
                Some(engine) => engine.call(module, function, values, options).await,
                None => Ok(Value::Null),
            },
        }
    }

    fn place_of(&self, extension: Option<&Value>) -> ExtensionHost {
        let extension = extension.and_then(Value::as_str).unwrap_or_default();
        if lock(&self.on_node).contains(extension) {
            ExtensionHost::Node
        } else {
            ExtensionHost::Embedded
        }
    }

    /// Lets the extensions on Node change what the others have made of texts.
    async fn transform_markdown(
        &self,
        question: &Question<'_>,
        values: Vec<Value>,
    ) -> Result<Value, EngineError> {
        let mut values = values;
        let first = self.ask(question, values.clone(), ExtensionHost::Embedded);
        let texts = first.await?;
        let parts = values.first_mut().and_then(Value::as_array_mut);
        if let (Some(parts), Some(texts)) = (parts, texts.as_array()) {
            for (part, text) in parts.iter_mut().zip(texts) {
                if let Value::Object(part) = part {
                    part.insert("text".to_owned(), json!(text));
                }
            }
        }
        self.ask(question, values, ExtensionHost::Node).await
    }
}
