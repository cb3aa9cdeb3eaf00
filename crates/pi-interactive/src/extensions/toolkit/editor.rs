//! A multi-line editor for an extension component.
//!
//! Completions are resolved in JavaScript: a request is returned with the result of the call that caused it,
//! and the suggestions arrive through a separate call.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use parking_lot::{Mutex, MutexGuard};
use pi_host::{HostError, NativeWidget};
use pi_tui::{
    CompletionProvider, CompletionReply, CompletionRequest, CompletionTrigger, Component as _,
    Editor, EditorEvent, EditorOptions, EditorTheme, Painter, SelectItem, Suggestions,
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::styles::ListPaint;
use super::{Keyboard, member, read, unknown};

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct EditorWidgetOptions {
    padding_x: usize,
    autocomplete_max_visible: Option<usize>,
    list: ListPaint,
}

/// Events and completion requests for JavaScript.
#[derive(Default)]
struct PendingEvents {
    events: Vec<Value>,
    questions: Vec<Value>,
    replies: HashMap<u64, CompletionReply>,
    last_question: u64,
}

/// Shared with the editor's callbacks.
#[derive(Clone, Default)]
struct SharedPendingEvents(Arc<Mutex<PendingEvents>>);

impl SharedPendingEvents {
    fn lock(&self) -> MutexGuard<'_, PendingEvents> {
        self.0.lock()
    }
}

/// Forwards completion requests to JavaScript.
struct CompletionRelay {
    pending: SharedPendingEvents,
    triggers: Vec<char>,
}

impl CompletionProvider for CompletionRelay {
    fn suggest(&self, request: CompletionRequest, reply: CompletionReply) {
        let mut pending = self.pending.lock();
        pending.last_question += 1;
        let id = pending.last_question;
        pending.questions.push(json!({
            "id": id,
            "lines": request.lines,
            "line": request.line,
            "column": utf16_length(request.before_cursor()),
            "force": request.trigger == CompletionTrigger::Path,
        }));
        // Older replies are kept until they are stale: dropping one earlier would report that nothing matches.
        pending.replies.retain(|_, reply| !reply.is_stale());
        pending.replies.insert(id, reply);
    }

    fn trigger_characters(&self) -> Vec<char> {
        self.triggers.clone()
    }
}

#[derive(Deserialize)]
struct CompletionResponse {
    id: u64,
    #[serde(default)]
    items: Vec<SuggestedItem>,
    #[serde(default)]
    prefix: String,
}

#[derive(Deserialize)]
struct SuggestedItem {
    value: String,
    #[serde(default)]
    label: Option<String>,
    #[serde(default)]
    description: Option<String>,
}

pub(super) struct EditorWidget {
    editor: Editor,
    keyboard: Keyboard,
    pending: SharedPendingEvents,
}

impl EditorWidget {
    pub(super) fn new(keyboard: Keyboard, options: &EditorWidgetOptions) -> Self {
        let defaults = EditorOptions::default();
        let theme = EditorTheme {
            border: Painter::plain(),
            popup: options.list.theme(),
        };
        let mut editor = Editor::new(
            theme,
            EditorOptions {
                padding: options.padding_x,
                max_completions: options
                    .autocomplete_max_visible
                    .unwrap_or(defaults.max_completions),
            },
        );
        let pending = SharedPendingEvents::default();
        let sender = pending.clone();
        editor.on_event(move |event| {
            let event = match event {
                EditorEvent::Changed => json!({ "type": "change" }),
                EditorEvent::Submitted(text) => json!({ "type": "submit", "text": text }),
            };
            sender.lock().events.push(event);
        });
        Self {
            editor,
            keyboard,
            pending,
        }
    }

    fn perform(&mut self, method: &str, arguments: &Value) -> Result<Value, HostError> {
        let text = || member::<String>(arguments, "text");
        match method {
            "render" => return self.render(arguments),
            "input" => {
                let data: String = member(arguments, "data")?;
                let rows = member::<Option<usize>>(arguments, "rows")?.unwrap_or(24);
                let editor = &mut self.editor;
                self.keyboard.read(&data, rows, |event, context| {
                    editor.handle_input(event, context);
                });
            }
            "text" => return Ok(self.editor.text().into()),
            "expandedText" => return Ok(self.editor.expanded_text().into()),
            "cursor" => return Ok(self.cursor()),
            "setText" => self.editor.set_text(&text()?),
            "insert" => self.editor.insert_text(&text()?),
            "addHistory" => self.editor.add_to_history(&text()?),
            "setPadding" => self.editor.set_padding(member(arguments, "padding")?),
            "setMaxVisible" => self.editor.set_max_completions(member(arguments, "count")?),
            "setSubmit" => self
                .editor
                .set_submit_enabled(member(arguments, "enabled")?),
            "setTriggers" => {
                let triggers: Vec<String> = member(arguments, "characters")?;
                let triggers = triggers.iter().filter_map(|text| text.chars().next());
                self.editor
                    .set_completion_provider(Arc::new(CompletionRelay {
                        pending: self.pending.clone(),
                        triggers: triggers.collect(),
                    }));
            }
            "suggest" => self.suggest(read(arguments)?),
            "tick" => self.editor.tick(Instant::now()),
            _ => return Err(unknown(method)),
        }
        Ok(Value::Null)
    }

    fn render(&mut self, arguments: &Value) -> Result<Value, HostError> {
        if let Some(rows) = member(arguments, "rows")? {
            self.editor.set_rows(rows);
        }
        self.editor.set_focused(member(arguments, "focused")?);
        let lines = self.editor.render(member(arguments, "width")?);
        let lines: Vec<Value> = lines.iter().map(|line| line.as_str().into()).collect();
        let (above, below) = self.editor.hidden_rows();
        Ok(json!({
            "lines": lines,
            "above": above,
            "below": below,
            "shown": self.editor.visible_rows(),
        }))
    }

    /// Returns the cursor in JavaScript units (UTF-16 code units).
    fn cursor(&self) -> Value {
        let (line, offset) = self.editor.cursor();
        let text = self.editor.text();
        let before = text.split('\n').nth(line).and_then(|it| it.get(..offset));
        json!({ "line": line, "col": utf16_length(before.unwrap_or_default()) })
    }

    fn suggest(&mut self, answer: CompletionResponse) {
        let reply = self.pending.lock().replies.remove(&answer.id);
        let Some(reply) = reply else {
            return;
        };
        let items = answer.items.into_iter().map(|item| SelectItem {
            label: item.label.unwrap_or_default(),
            description: item.description,
            value: item.value,
        });
        reply.send(Suggestions {
            items: items.collect(),
            prefix: answer.prefix,
        });
        self.editor.tick(Instant::now());
    }
}

impl NativeWidget for EditorWidget {
    fn call(&mut self, method: &str, arguments: Value) -> Result<Value, HostError> {
        let value = self.perform(method, &arguments)?;
        let wait = self.editor.next_tick();
        let wait = wait.map(|due| due.saturating_duration_since(Instant::now()));
        let mut pending = self.pending.lock();
        Ok(json!({
            "value": value,
            "events": std::mem::take(&mut pending.events),
            "questions": std::mem::take(&mut pending.questions),
            "tick": wait.map(|wait| wait.as_millis()),
            "isCompleting": self.editor.is_completing(),
        }))
    }
}

fn utf16_length(text: &str) -> usize {
    text.encode_utf16().count()
}
