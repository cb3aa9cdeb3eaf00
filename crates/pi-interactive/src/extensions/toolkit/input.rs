//! A single-line input for an extension component.

use std::sync::Arc;

use parking_lot::Mutex;
use pi_host::{HostError, NativeWidget};
use pi_tui::{Component as _, Input, InputFieldEvent, InputOptions};
use serde::Deserialize;
use serde_json::{Value, json};

use super::styles::Paint;
use super::{Keyboard, member, unknown};

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct InputWidgetOptions {
    prompt: Option<String>,
    placeholder: Option<String>,
    placeholder_style: Option<Paint>,
}

pub(super) struct InputWidget {
    input: Input,
    keyboard: Keyboard,
    events: Arc<Mutex<Vec<Value>>>,
}

impl InputWidget {
    pub(super) fn new(keyboard: Keyboard, options: InputWidgetOptions) -> Self {
        let defaults = InputOptions::default();
        let style = options.placeholder_style.map(|style| style.painter());
        let mut input = Input::new(InputOptions {
            prompt: options.prompt.unwrap_or(defaults.prompt),
            placeholder: options.placeholder.unwrap_or(defaults.placeholder),
            placeholder_style: style.unwrap_or(defaults.placeholder_style),
        });
        let events = Arc::new(Mutex::new(Vec::new()));
        let sender = Arc::clone(&events);
        input.on_event(move |event| {
            let event = match event {
                InputFieldEvent::Submitted(text) => json!({ "type": "submit", "text": text }),
                InputFieldEvent::Canceled => json!({ "type": "cancel" }),
            };
            sender.lock().push(event);
        });
        Self {
            input,
            keyboard,
            events,
        }
    }
}

impl NativeWidget for InputWidget {
    fn call(&mut self, method: &str, arguments: Value) -> Result<Value, HostError> {
        match method {
            "render" => {
                self.input.set_focused(member(&arguments, "focused")?);
                let lines = self.input.render(member(&arguments, "width")?);
                let lines = lines.iter().map(|line| Value::from(line.as_str()));
                Ok(lines.collect())
            }
            "input" => {
                let data: String = member(&arguments, "data")?;
                let input = &mut self.input;
                self.keyboard.read(&data, 0, |event, context| {
                    input.handle_input(event, context);
                });
                let mut events = self.events.lock();
                Ok(std::mem::take(&mut *events).into())
            }
            "value" => Ok(self.input.value().into()),
            "setValue" => {
                self.input
                    .set_value(&member::<String>(&arguments, "value")?);
                Ok(Value::Null)
            }
            _ => Err(unknown(method)),
        }
    }
}
