//! One field of a form: its dialog, and which values it accepts.

use serde_json::{Number, Value};

use crate::servers::McpSession;

const OMIT: &str = "(no answer)";
const DONE: &str = "(done)";

/// Longer lists of options are not shown.
const MAX_OPTIONS: usize = 1_000;

/// A field of a form.
#[derive(Debug, PartialEq)]
pub(super) struct Field {
    pub(super) name: String,
    label: String,
    description: Option<String>,
    is_required: bool,
    default: Option<Value>,
    kind: FieldKind,
}

#[derive(Debug, PartialEq)]
enum FieldKind {
    Text {
        limits: (usize, usize),
    },
    Number {
        is_integer: bool,
        limits: (f64, f64),
    },
    Boolean,
    /// One of several values.
    Choice(Vec<FieldOption>),
    /// Several values, at least and at most so many.
    Choices(Vec<FieldOption>, (usize, usize)),
}

/// A value and how it is shown.
#[derive(Debug, PartialEq)]
struct FieldOption {
    label: String,
    value: String,
}

/// What a user entered.
pub(super) enum FieldAnswer {
    Value(Value),
    Omitted,
    Canceled,
}

impl Field {
    pub(super) fn parse(name: &str, schema: &Value, is_required: bool) -> Result<Self, String> {
        let text = |key: &str| schema.get(key).and_then(Value::as_str).map(str::to_owned);
        let count = |key: &str| {
            let count = schema.get(key).and_then(Value::as_u64);
            count.map(|count| usize::try_from(count).unwrap_or(usize::MAX))
        };
        let limit = |key: &str| schema.get(key).and_then(Value::as_f64);
        let kind = match text("type").as_deref() {
            Some("string") => match options(schema)? {
                Some(options) => FieldKind::Choice(options),
                None => FieldKind::Text {
                    limits: (
                        count("minLength").unwrap_or_default(),
                        count("maxLength").unwrap_or(usize::MAX),
                    ),
                },
            },
            Some(kind @ ("number" | "integer")) => FieldKind::Number {
                is_integer: kind == "integer",
                limits: (
                    limit("minimum").unwrap_or(f64::NEG_INFINITY),
                    limit("maximum").unwrap_or(f64::INFINITY),
                ),
            },
            Some("boolean") => FieldKind::Boolean,
            Some("array") => {
                let options = match schema.get("items") {
                    Some(items) => options(items)?,
                    None => None,
                };
                let options = options.ok_or_else(|| unsupported(name))?;
                let limits = (
                    count("minItems").unwrap_or_default(),
                    count("maxItems").unwrap_or(usize::MAX),
                );
                FieldKind::Choices(options, limits)
            }
            _ => return Err(unsupported(name)),
        };
        Ok(Self {
            name: name.to_owned(),
            label: text("title").unwrap_or_else(|| name.to_owned()),
            description: text("description"),
            is_required,
            default: schema.get("default").cloned(),
            kind,
        })
    }

    /// Describes the field in one line.
    pub(super) fn summary(&self) -> String {
        let mut text = self.label.clone();
        if self.is_required {
            text.push_str(" (required)");
        }
        if let Some(description) = &self.description {
            text.push_str(": ");
            text.push_str(description);
        }
        text
    }

    /// Asks until the value is valid or the user closes the dialog.
    pub(super) async fn ask(&self, session: &dyn McpSession, server: &str) -> FieldAnswer {
        let title = format!("MCP server \"{server}\" · {}", self.summary());
        match &self.kind {
            FieldKind::Text { .. } | FieldKind::Number { .. } => {
                self.ask_text(session, &title).await
            }
            FieldKind::Boolean => {
                let options = ["Yes", "No"].map(str::to_owned).to_vec();
                match self.select(session, &title, options).await {
                    Selection::Option(index) => FieldAnswer::Value((index == 0).into()),
                    Selection::None => FieldAnswer::Omitted,
                    Selection::Canceled => FieldAnswer::Canceled,
                }
            }
            FieldKind::Choice(options) => {
                let labels = options.iter().map(|option| option.label.clone());
                match self.select(session, &title, labels.collect()).await {
                    Selection::Option(index) => match options.get(index) {
                        Some(option) => FieldAnswer::Value(option.value.clone().into()),
                        None => FieldAnswer::Canceled,
                    },
                    Selection::None => FieldAnswer::Omitted,
                    Selection::Canceled => FieldAnswer::Canceled,
                }
            }
            FieldKind::Choices(options, limits) => {
                self.ask_several(session, &title, options, *limits).await
            }
        }
    }

    async fn ask_text(&self, session: &dyn McpSession, title: &str) -> FieldAnswer {
        let default = self.default.as_ref().map(shown);
        let mut title = title.to_owned();
        loop {
            let placeholder = default.clone().unwrap_or_default();
            let Some(text) = session.input(title.clone(), placeholder).await else {
                return FieldAnswer::Canceled;
            };
            let text = if text.is_empty() {
                default.clone().unwrap_or_default()
            } else {
                text
            };
            if text.is_empty() && !self.is_required {
                return FieldAnswer::Omitted;
            }
            match self.parse_text(&text) {
                Ok(value) => return FieldAnswer::Value(value),
                Err(problem) => title = format!("{}\n{problem}", self.summary()),
            }
        }
    }

    /// Returns the value of a text.
    fn parse_text(&self, text: &str) -> Result<Value, String> {
        match &self.kind {
            FieldKind::Number { is_integer, limits } => parse_number(text, *is_integer, *limits),
            FieldKind::Text {
                limits: (least, most),
            } => {
                let length = text.chars().count();
                if length < *least {
                    return Err(format!("Enter at least {least} characters."));
                }
                if length > *most {
                    return Err(format!("Enter at most {most} characters."));
                }
                Ok(text.into())
            }
            FieldKind::Boolean | FieldKind::Choice(_) | FieldKind::Choices(..) => Ok(text.into()),
        }
    }

    async fn select(
        &self,
        session: &dyn McpSession,
        title: &str,
        mut labels: Vec<String>,
    ) -> Selection {
        let mut title = title.to_owned();
        if let Some(default) = &self.default {
            title.push_str("\nSuggested: ");
            title.push_str(&match default {
                Value::Bool(true) => "Yes".to_owned(),
                Value::Bool(false) => "No".to_owned(),
                other => shown(other),
            });
        }
        if !self.is_required {
            labels.push(OMIT.to_owned());
        }
        let chosen = session.select(title, labels.clone()).await;
        let position = chosen.and_then(|chosen| labels.iter().position(|label| *label == chosen));
        match position {
            None => Selection::Canceled,
            Some(index) if !self.is_required && index + 1 == labels.len() => Selection::None,
            Some(index) => Selection::Option(index),
        }
    }

    /// Lets the user mark options until they are done.
    async fn ask_several(
        &self,
        session: &dyn McpSession,
        title: &str,
        options: &[FieldOption],
        (least, most): (usize, usize),
    ) -> FieldAnswer {
        let default = self.default.as_ref().and_then(Value::as_array);
        let is_default =
            |value: &str| default.is_some_and(|all| all.iter().any(|one| one == value));
        let mut marked: Vec<bool> = options.iter().map(|it| is_default(&it.value)).collect();
        loop {
            let labels = options.iter().zip(&marked).map(|(option, is_marked)| {
                let mark = if *is_marked { "[x]" } else { "[ ]" };
                format!("{mark} {}", option.label)
            });
            let mut labels: Vec<String> = labels.collect();
            let count = marked.iter().filter(|is_marked| **is_marked).count();
            if (least..=most).contains(&count) {
                labels.push(DONE.to_owned());
            }
            let Some(chosen) = session.select(title.to_owned(), labels.clone()).await else {
                return FieldAnswer::Canceled;
            };
            let index = labels.iter().position(|label| *label == chosen);
            match index.and_then(|index| marked.get_mut(index)) {
                Some(is_marked) => *is_marked = !*is_marked,
                None if index.is_some() => break,
                None => return FieldAnswer::Canceled,
            }
        }
        let values = options.iter().zip(&marked);
        let values = values.filter(|(_, is_marked)| **is_marked);
        let values: Vec<Value> = values
            .map(|(option, _)| option.value.clone().into())
            .collect();
        if values.is_empty() && !self.is_required {
            return FieldAnswer::Omitted;
        }
        FieldAnswer::Value(values.into())
    }
}

/// What a user chose from a list.
enum Selection {
    Option(usize),
    None,
    Canceled,
}

fn unsupported(name: &str) -> String {
    format!("the field \"{name}\" of requestedSchema has a type that forms do not support")
}

fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Returns the options of an enumeration, in any of its forms.
fn options(schema: &Value) -> Result<Option<Vec<FieldOption>>, String> {
    let titled = schema.get("oneOf").or_else(|| schema.get("anyOf"));
    let options: Option<Vec<FieldOption>> = match (schema.get("enum"), titled) {
        (Some(Value::Array(values)), _) => {
            let names = schema.get("enumNames").and_then(Value::as_array);
            let name = |index: usize| names.and_then(|names| names.get(index)?.as_str());
            let options = values.iter().enumerate().map(|(index, value)| {
                let value = value.as_str()?;
                Some(FieldOption {
                    label: name(index).unwrap_or(value).to_owned(),
                    value: value.to_owned(),
                })
            });
            options.collect()
        }
        (None, Some(Value::Array(values))) => {
            let options = values.iter().map(|option| {
                let value = option.get("const")?.as_str()?;
                let title = option.get("title").and_then(Value::as_str);
                Some(FieldOption {
                    label: title.unwrap_or(value).to_owned(),
                    value: value.to_owned(),
                })
            });
            options.collect()
        }
        (None, None) => return Ok(None),
        _ => None,
    };
    let options = options.filter(|options| (1..=MAX_OPTIONS).contains(&options.len()));
    let options = options.ok_or("options of requestedSchema must be a list of texts")?;
    Ok(Some(distinct(options)))
}

/// Makes labels different from each other, because an answer is a label.
fn distinct(options: Vec<FieldOption>) -> Vec<FieldOption> {
    let mut labels = std::collections::HashSet::new();
    let options = options.into_iter().map(|mut option| {
        if !labels.insert(option.label.clone()) {
            option.label = format!("{} ({})", option.label, option.value);
        }
        option
    });
    options.collect()
}

fn parse_number(text: &str, is_integer: bool, (least, most): (f64, f64)) -> Result<Value, String> {
    let text = text.trim();
    let number = if is_integer {
        text.parse::<i64>().ok().map(Number::from)
    } else {
        text.parse::<f64>().ok().and_then(Number::from_f64)
    };
    let expected = if is_integer { "an integer" } else { "a number" };
    let number = number.ok_or_else(|| format!("Enter {expected}."))?;
    let value = number.as_f64().unwrap_or_default();
    if value < least {
        return Err(format!("Enter at least {least}."));
    }
    if value > most {
        return Err(format!("Enter at most {most}."));
    }
    Ok(number.into())
}
