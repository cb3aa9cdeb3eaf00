//! Questions as forms with one field, which clients of ACP and MCP show (`elicitation/create`).

use serde_json::{Map, Value, json};

use super::{Answer, RequestKind};
use crate::json_rpc::json_object;

/// The name of the only field.
const FIELD: &str = "value";

/// Longest title of an option, in characters.
const MAX_TITLE: usize = 300;

/// Longest text of arguments in a question, in characters.
const MAX_ARGUMENTS: usize = 4_000;

const ALLOW: &str = "Allow";
const ALLOW_FOR_SESSION: &str = "Allow in this session";
const REJECT: &str = "Reject";

/// A message and a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuestionForm {
    pub message: String,
    /// The JSON Schema of the field.
    pub field: Value,
}

impl QuestionForm {
    /// Asks for one of several options.
    pub fn choice(message: impl Into<String>, options: &[impl AsRef<str>]) -> Self {
        let choices = options.iter().map(|option| {
            let option = option.as_ref();
            json!({"const": option, "title": single_line(option, MAX_TITLE)})
        });
        Self {
            message: message.into(),
            field: json!({"type": "string", "oneOf": choices.collect::<Vec<_>>()}),
        }
    }

    /// Returns the parameters of `elicitation/create`.
    pub fn into_params(self) -> Map<String, Value> {
        let schema = json_object([
            ("type", "object".into()),
            ("properties", json_object([(FIELD, self.field)])),
            ("required", json!([FIELD])),
        ]);
        Map::from_iter([
            ("mode".to_owned(), "form".into()),
            ("message".to_owned(), self.message.into()),
            ("requestedSchema".to_owned(), schema),
        ])
    }
}

/// What a user made of a form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FormAnswer {
    /// The value of the field; null if the client sent none.
    Accepted(Value),
    Declined,
    Cancelled,
}

impl FormAnswer {
    /// Reads the result of `elicitation/create`.
    pub fn of(result: &Value) -> Self {
        match result.get("action").and_then(Value::as_str) {
            Some("accept") => {
                let value = result.get("content").and_then(|it| it.get(FIELD));
                Self::Accepted(value.cloned().unwrap_or_default())
            }
            Some("decline") => Self::Declined,
            _ => Self::Cancelled,
        }
    }
}

impl RequestKind {
    /// Returns the question as a form.
    pub fn form(&self) -> QuestionForm {
        let form = |message: &str, field: Value| QuestionForm {
            message: message.to_owned(),
            field,
        };
        match self {
            Self::Approval {
                tool_name,
                args,
                reason,
            } => {
                let command = args.get("command").and_then(Value::as_str);
                let arguments = match command.filter(|_| args.len() == 1) {
                    Some(command) => command.to_owned(),
                    None => Value::Object(args.clone()).to_string(),
                };
                let arguments: String = arguments.chars().take(MAX_ARGUMENTS).collect();
                let reason = reason.as_ref().map(|reason| format!("\n{reason}"));
                let reason = reason.unwrap_or_default();
                QuestionForm::choice(
                    format!("Allow {tool_name}?{reason}\n\n{arguments}"),
                    &[ALLOW, ALLOW_FOR_SESSION, REJECT],
                )
            }
            Self::Select { title, options, .. } => QuestionForm::choice(title, options),
            Self::Confirm { title, message, .. } => {
                let field = json!({"type": "boolean", "title": "Yes", "default": true});
                match message.as_str() {
                    "" => form(title, field),
                    message => form(&format!("{title}\n\n{message}"), field),
                }
            }
            Self::Input {
                title, placeholder, ..
            } => {
                let mut field = json!({"type": "string"});
                if let Some(placeholder) = placeholder {
                    field["description"] = placeholder.as_str().into();
                }
                form(title, field)
            }
            Self::Editor { title, prefill } => {
                let mut field = json!({"type": "string", "_meta": {"multiline": true}});
                if let Some(prefill) = prefill {
                    field["default"] = prefill.as_str().into();
                }
                form(title, field)
            }
        }
    }

    /// Returns the answer of a user who was shown [`RequestKind::form`]. It always fits the request.
    pub fn answer_of(&self, form: FormAnswer) -> Answer {
        let answer = match (self, form) {
            (Self::Approval { .. }, FormAnswer::Accepted(value)) => match value.as_str() {
                Some(ALLOW) => Answer::Allow,
                Some(ALLOW_FOR_SESSION) => Answer::AllowForSession,
                _ => Answer::Deny { reason: None },
            },
            (Self::Approval { .. }, FormAnswer::Declined | FormAnswer::Cancelled) => {
                Answer::Deny { reason: None }
            }
            (Self::Confirm { .. }, FormAnswer::Accepted(value)) => Answer::Confirmed {
                confirmed: value.as_bool().unwrap_or(true),
            },
            (Self::Confirm { .. }, FormAnswer::Declined) => Answer::Confirmed { confirmed: false },
            (_, FormAnswer::Accepted(Value::String(value))) => Answer::Value { value },
            (_, _) => Answer::Cancelled,
        };
        match self.expects_other_than(&answer) {
            Some(_) => Answer::Cancelled,
            None => answer,
        }
    }
}

/// Makes a text fit for a title: one line without control characters, at most `limit` characters.
pub fn single_line(text: &str, limit: usize) -> String {
    let mut words = String::new();
    for (kept, character) in text.trim().chars().enumerate() {
        if kept == limit {
            words.push('…');
            break;
        }
        let is_control = character.is_control() || matches!(character, '\u{2028}' | '\u{2029}');
        words.push(if is_control { ' ' } else { character });
    }
    words
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn kind(request: Value) -> RequestKind {
        serde_json::from_value(request).unwrap()
    }

    fn approval() -> RequestKind {
        kind(
            json!({"method": "approval", "toolName": "bash", "args": {"command": "ls"}, "reason": "a rule asks"}),
        )
    }

    fn select() -> RequestKind {
        kind(json!({"method": "select", "title": "Which?", "options": ["a", "b\nc"]}))
    }

    #[test]
    fn questions_are_forms() {
        let confirm = kind(json!({"method": "confirm", "title": "Sure", "message": "Really?"}));
        let input = kind(json!({"method": "input", "title": "Name", "placeholder": "Ada"}));
        let editor = kind(json!({"method": "editor", "title": "Text", "prefill": "old"}));
        for (kind, message, field) in [
            (
                approval(),
                "Allow bash?\na rule asks\n\nls",
                json!({"type": "string", "oneOf": [
                    {"const": ALLOW, "title": ALLOW},
                    {"const": ALLOW_FOR_SESSION, "title": ALLOW_FOR_SESSION},
                    {"const": REJECT, "title": REJECT},
                ]}),
            ),
            (
                select(),
                "Which?",
                json!({"type": "string", "oneOf": [
                    {"const": "a", "title": "a"},
                    {"const": "b\nc", "title": "b c"},
                ]}),
            ),
            (
                confirm,
                "Sure\n\nReally?",
                json!({"type": "boolean", "title": "Yes", "default": true}),
            ),
            (
                input,
                "Name",
                json!({"type": "string", "description": "Ada"}),
            ),
            (
                editor,
                "Text",
                json!({"type": "string", "default": "old", "_meta": {"multiline": true}}),
            ),
        ] {
            let message = message.to_owned();
            assert_eq!(kind.form(), QuestionForm { message, field });
        }
    }

    #[test]
    fn titles_are_single_lines() {
        assert_eq!(single_line("a\u{1b}[31mb\nc\u{2028}d ", 20), "a [31mb c d");
        assert_eq!(single_line("abcdef", 3), "abc…");
    }

    #[test]
    fn answers_fit_their_question() {
        let confirm = kind(json!({"method": "confirm", "title": "t", "message": ""}));
        let input = kind(json!({"method": "input", "title": "t"}));
        let accept = |value: Value| json!({"action": "accept", "content": {"value": value}});
        let (decline, cancel) = (json!({"action": "decline"}), json!({"action": "cancel"}));
        let deny = Answer::Deny { reason: None };
        let confirmed = |confirmed: bool| Answer::Confirmed { confirmed };
        let value = |value: &str| Answer::Value {
            value: value.to_owned(),
        };
        for (kind, result, expected) in [
            (approval(), accept(json!(ALLOW)), Answer::Allow),
            (
                approval(),
                accept(json!(ALLOW_FOR_SESSION)),
                Answer::AllowForSession,
            ),
            (approval(), accept(json!("other")), deny.clone()),
            (approval(), decline.clone(), deny.clone()),
            (approval(), cancel.clone(), deny),
            (select(), accept(json!("b\nc")), value("b\nc")),
            (select(), accept(json!("other")), Answer::Cancelled),
            (select(), decline.clone(), Answer::Cancelled),
            (confirm.clone(), accept(json!(false)), confirmed(false)),
            (
                confirm.clone(),
                json!({"action": "accept"}),
                confirmed(true),
            ),
            (confirm.clone(), decline, confirmed(false)),
            (confirm, cancel, Answer::Cancelled),
            (input.clone(), accept(json!("x")), value("x")),
            (input.clone(), accept(json!(7)), Answer::Cancelled),
            (input, json!("nonsense"), Answer::Cancelled),
        ] {
            let answer = kind.answer_of(FormAnswer::of(&result));
            assert_eq!(answer, expected, "{kind:?} {result}");
        }
    }
}
