//! The terminal toolkit for extension components, implemented by `pi-tui`.
//!
//! Extensions draw in JavaScript; text measurement, keys, Markdown and editing are done by `pi-tui` and `pi-markdown`. This
//! file answers stateless queries; the submodules have the stateful widgets.

mod editor;
mod images;
mod input;
mod markdown;
mod styles;

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use pi_env::Env;
use pi_host::{AgentDir, HostError, NativeWidget, TuiToolkit, WideEdge};
use pi_tui::{
    FuzzyQuery, InputContext, InputDecoder, InputEvent, InputTiming, KeyEvent, KeyEventKind, KeyId,
    Keybindings, KeyboardMode, Platform, TruncateOptions, WideCharPolicy, sort_by_score,
};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::terminal::setup::read_keys;

/// Longer than any pending escape sequence, so that a lone Escape is flushed.
const ESCAPE_TIMEOUT: Duration = Duration::from_hours(1);

/// The toolkit passed to the extension host.
#[derive(Debug)]
pub struct PiTuiToolkit {
    agent_dir: AgentDir,
    env: Env,
    /// Loaded on demand; reloaded when an engine starts.
    keys: Mutex<Option<Arc<Keybindings>>>,
    is_kitty: AtomicBool,
}

impl PiTuiToolkit {
    /// Creates a toolkit; the user's keybindings are read on demand.
    pub fn new(agent_dir: AgentDir, env: Env) -> Self {
        Self {
            agent_dir,
            env,
            keys: Mutex::default(),
            is_kitty: AtomicBool::new(false),
        }
    }

    fn keys(&self) -> Arc<Keybindings> {
        let mut cached = self.keys.lock();
        let keys = cached.get_or_insert_with(|| {
            let (keys, _) = read_keys(&self.agent_dir, &self.env);
            Arc::new(keys)
        });
        Arc::clone(keys)
    }

    fn keyboard(&self) -> KeyboardMode {
        KeyboardMode {
            kitty: self.is_kitty.load(Ordering::Relaxed),
            ..KeyboardMode::from_environment(|name| self.env.var(name))
        }
    }

    fn key(&self, sequence: &str) -> Option<KeyEvent> {
        KeyEvent::parse(sequence.as_bytes(), self.keyboard())
    }

    /// Lists the bindable actions and their keys.
    fn bindings(&self) -> Value {
        let keys = self.keys();
        let platform = Platform::current(|name| self.env.var(name));
        let names = |keys: &[KeyId]| keys.iter().map(ToString::to_string).collect::<Vec<_>>();
        let definitions = keys.definitions().iter().map(|definition| {
            json!({
                "id": definition.id,
                "description": definition.description,
                "defaultKeys": names(&definition.default_keys(platform)),
                "keys": names(keys.keys(definition.id)),
            })
        });
        Value::Array(definitions.collect())
    }

    fn answer_key(&self, question: &str, arguments: &Value) -> Result<Value, HostError> {
        let key = || -> Result<Option<KeyEvent>, HostError> {
            Ok(self.key(&member::<String>(arguments, "data")?))
        };
        match question {
            "key.kind" => Ok(key()?
                .map(|key| match key.kind() {
                    KeyEventKind::Press => "press",
                    KeyEventKind::Repeat => "repeat",
                    KeyEventKind::Release => "release",
                })
                .into()),
            "key.text" => Ok(key()?.and_then(|key| key.text()).map(String::from).into()),
            "key.isKitty" => Ok(self.is_kitty.load(Ordering::Relaxed).into()),
            "key.setKitty" => {
                let active = member(arguments, "active")?;
                self.is_kitty.store(active, Ordering::Relaxed);
                Ok(Value::Null)
            }
            "key.bindings" => Ok(self.bindings()),
            _ => Err(unknown(question)),
        }
    }
}

impl TuiToolkit for PiTuiToolkit {
    fn engine_started(&self) {
        *self.keys.lock() = None;
    }

    fn width(&self, text: &str) -> usize {
        pi_tui::visible_width(text)
    }

    fn truncate(&self, text: &str, width: usize, ellipsis: &str) -> String {
        pi_tui::truncate_to_width(text, width, TruncateOptions { ellipsis }).into_owned()
    }

    fn wrap(&self, text: &str, width: usize) -> Vec<String> {
        pi_tui::wrap_text(text, width)
    }

    fn slice(&self, line: &str, columns: Range<usize>, edge: WideEdge) -> String {
        let edge = match edge {
            WideEdge::Keep => WideCharPolicy::Keep,
            WideEdge::Drop => WideCharPolicy::Drop,
        };
        // Extensions expect a wide character cut by the left edge to be dropped, including its cell.
        let first = pi_tui::cell_range_at(line, columns.start);
        let start = first
            .filter(|cells| cells.start < columns.start)
            .map_or(columns.start, |cells| cells.end);
        pi_tui::slice_columns(line, start..columns.end, edge).text
    }

    fn key_name(&self, sequence: &str) -> Option<String> {
        Some(self.key(sequence)?.id()?.to_string())
    }

    fn is_key(&self, sequence: &str, key: &str) -> bool {
        match (self.key(sequence), key.parse::<KeyId>()) {
            (Some(event), Ok(key)) => event.is(key),
            _ => false,
        }
    }

    fn query(&self, question: &str, arguments: Value) -> Result<Value, HostError> {
        let (area, _) = question.split_once('.').unwrap_or((question, ""));
        match area {
            "key" => self.answer_key(question, &arguments),
            "text" => answer_text(question, &arguments),
            "image" => images::answer(question, &arguments, &self.env),
            _ => Err(unknown(question)),
        }
    }

    fn create_widget(
        &self,
        kind: &str,
        options: Value,
    ) -> Result<Box<dyn NativeWidget>, HostError> {
        let keyboard = Keyboard {
            keys: self.keys(),
            mode: self.keyboard(),
        };
        match kind {
            "editor" => Ok(Box::new(editor::EditorWidget::new(
                keyboard,
                &read(&options)?,
            ))),
            "field" => Ok(Box::new(input::InputWidget::new(keyboard, read(&options)?))),
            "markdown" => Ok(Box::new(markdown::MarkdownWidget::new(&read(&options)?))),
            _ => Err(unknown(kind)),
        }
    }
}

/// Keyboard state needed by widgets that take input.
struct Keyboard {
    keys: Arc<Keybindings>,
    mode: KeyboardMode,
}

impl Keyboard {
    /// Splits terminal input into events and passes each to `handle`.
    fn read(
        &self,
        data: &str,
        rows: usize,
        mut handle: impl FnMut(&InputEvent, &InputContext<'_>),
    ) {
        let now = Instant::now();
        let mut decoder = InputDecoder::new(InputTiming::default(), self.mode);
        let mut events = decoder.push(data.as_bytes(), now);
        events.extend(decoder.expire(now + ESCAPE_TIMEOUT));
        let context = InputContext {
            keybindings: &self.keys,
            now,
            rows,
        };
        for event in &events {
            handle(event, &context);
        }
    }
}

#[derive(Deserialize)]
struct FuzzyRequest {
    query: String,
    texts: Vec<String>,
}

fn answer_text(question: &str, arguments: &Value) -> Result<Value, HostError> {
    match question {
        "text.strip" => {
            let text: String = member(arguments, "text")?;
            Ok(pi_tui::strip_ansi(&text).into_owned().into())
        }
        "text.link" => {
            let line: String = member(arguments, "line")?;
            let column = member(arguments, "column")?;
            Ok(pi_tui::link_at(&line, column).into())
        }
        "text.latex" => {
            let formula: String = member(arguments, "formula")?;
            Ok(pi_markdown::latex_to_unicode(&formula).into())
        }
        "text.score" => {
            let (query, text): (String, String) =
                (member(arguments, "query")?, member(arguments, "text")?);
            Ok(pi_tui::fuzzy_score(&query, &text).into())
        }
        "text.rank" => {
            let FuzzyRequest { query, texts } = read(arguments)?;
            Ok(rank(&FuzzyQuery::new(&query), &texts).into())
        }
        "text.highlight" => Ok(markdown::highlight(&read(arguments)?)),
        _ => Err(unknown(question)),
    }
}

/// Returns the indices of the matching texts, best match first.
fn rank(query: &FuzzyQuery, texts: &[String]) -> Vec<usize> {
    let scored = texts.iter().enumerate();
    sort_by_score(scored.filter_map(|(index, text)| Some((query.score(text)?, index))))
}

fn read<Data: DeserializeOwned>(value: &Value) -> Result<Data, HostError> {
    pi_protocol::json::from_value(value).map_err(|error| HostError::new(error.to_string()))
}

/// Deserializes a member; a missing one is treated as null.
fn member<Data: DeserializeOwned>(value: &Value, name: &str) -> Result<Data, HostError> {
    let member = value.get(name).unwrap_or(&Value::Null);
    pi_protocol::json::from_value(member)
        .map_err(|error| HostError::new(format!("{name}: {error}")))
}

fn unknown(name: &str) -> HostError {
    HostError::new(format!("unknown toolkit function: {name}"))
}
