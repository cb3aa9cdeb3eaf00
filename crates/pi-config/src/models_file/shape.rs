//! A small schema language for `models.json`, with validation errors that carry their position.

use jsonc_parser::ast::{Object, Value};
use jsonc_parser::common::Ranged;

/// The schema of a value.
#[derive(Debug)]
pub(super) enum Shape {
    Any,
    Text,
    NonEmptyText,
    Number,
    Positive,
    /// An integer in this inclusive range.
    Integer(u64, u64),
    Boolean,
    Null,
    /// One of these strings.
    OneOf(&'static [&'static str]),
    /// A list of at most this many elements.
    List(&'static Self, usize),
    /// An object with arbitrary keys.
    Map(&'static Self),
    /// An object with these fields; unknown fields are allowed.
    Fields(&'static [Field]),
    /// One of these shapes.
    Either(&'static [&'static Self]),
}

#[derive(Debug)]
pub(super) struct Field {
    pub(super) name: &'static str,
    pub(super) shape: &'static Shape,
    pub(super) required: bool,
}

/// A value that does not match its schema.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Fault {
    /// Byte offset of the value.
    pub(super) offset: usize,
    pub(super) path: String,
    pub(super) problem: String,
}

pub(super) const fn optional(name: &'static str, shape: &'static Shape) -> Field {
    Field {
        name,
        shape,
        required: false,
    }
}

pub(super) const fn required(name: &'static str, shape: &'static Shape) -> Field {
    Field {
        name,
        shape,
        required: true,
    }
}

impl Shape {
    /// Validates a value recursively.
    pub(super) fn check(&self, value: &Value<'_>, path: &mut Vec<String>, faults: &mut Vec<Fault>) {
        let mut fail = |problem: String| {
            faults.push(Fault {
                offset: value.start(),
                path: path.concat(),
                problem,
            });
        };
        match (self, value) {
            (Self::Any, _)
            | (Self::Text, Value::StringLit(_))
            | (Self::Number, Value::NumberLit(_))
            | (Self::Boolean, Value::BooleanLit(_))
            | (Self::Null, Value::NullKeyword(_)) => {}
            (Self::NonEmptyText, Value::StringLit(text)) if !text.value.is_empty() => {}
            (Self::Positive, Value::NumberLit(number))
                if number.value.parse().is_ok_and(|number: f64| number > 0.0) => {}
            (Self::Integer(min, max), Value::NumberLit(number))
                if parse_integer(number.value)
                    .is_some_and(|number| (*min..=*max).contains(&number)) => {}
            (Self::OneOf(texts), Value::StringLit(text))
                if texts.contains(&text.value.as_ref()) => {}
            (Self::List(element, max), Value::Array(list)) => {
                if list.elements.len() > *max {
                    fail(format!("must have at most {max} elements"));
                }
                for (index, value) in list.elements.iter().enumerate() {
                    path.push(format!("[{index}]"));
                    element.check(value, path, faults);
                    path.pop();
                }
            }
            (Self::Map(shape), Value::Object(object)) => {
                for property in &object.properties {
                    path.push(path_segment(path, property.name.as_str()));
                    shape.check(&property.value, path, faults);
                    path.pop();
                }
            }
            (Self::Fields(fields), Value::Object(object)) => {
                check_fields(fields, object, path, faults);
            }
            (Self::Either(shapes), value) => check_either(shapes, value, path, faults),
            _ => fail(format!("must be {}", self.description())),
        }
    }

    fn description(&self) -> String {
        match self {
            Self::Any => "a value".to_owned(),
            Self::Text => "a string".to_owned(),
            Self::NonEmptyText => "a nonempty string".to_owned(),
            Self::Number => "a number".to_owned(),
            Self::Positive => "a positive number".to_owned(),
            Self::Integer(min, u64::MAX) => format!("an integer of at least {min}"),
            Self::Integer(min, max) => format!("an integer from {min} to {max}"),
            Self::Boolean => "true or false".to_owned(),
            Self::Null => "null".to_owned(),
            Self::OneOf(texts) => texts
                .iter()
                .map(|text| format!("\"{text}\""))
                .collect::<Vec<_>>()
                .join(" or "),
            Self::List(..) => "a list".to_owned(),
            Self::Map(_) | Self::Fields(_) => "an object".to_owned(),
            Self::Either(shapes) => shapes
                .iter()
                .map(|shape| shape.description())
                .collect::<Vec<_>>()
                .join(" or "),
        }
    }
}

fn check_fields(
    fields: &[Field],
    object: &Object<'_>,
    path: &mut Vec<String>,
    faults: &mut Vec<Fault>,
) {
    for field in fields {
        let mut found = false;
        for property in &object.properties {
            if property.name.as_str() != field.name {
                continue;
            }
            found = true;
            path.push(path_segment(path, field.name));
            field.shape.check(&property.value, path, faults);
            path.pop();
        }
        if field.required && !found {
            path.push(path_segment(path, field.name));
            faults.push(Fault {
                offset: object.start(),
                path: path.concat(),
                problem: "is missing".to_owned(),
            });
            path.pop();
        }
    }
}

/// Accepts a value that matches one of the shapes. Otherwise reports the errors of the closest one.
fn check_either(
    shapes: &[&Shape],
    value: &Value<'_>,
    path: &mut Vec<String>,
    faults: &mut Vec<Fault>,
) {
    let mut closest: Option<Vec<Fault>> = None;
    for shape in shapes {
        let mut found = Vec::new();
        shape.check(value, path, &mut found);
        if found.is_empty() {
            return;
        }
        let is_deeper = |faults: &[Fault]| faults.iter().any(|fault| fault.offset > value.start());
        let closer = closest
            .as_ref()
            .is_none_or(|known| is_deeper(&found) && !is_deeper(known));
        if closer {
            closest = Some(found);
        }
    }
    let closest = closest.unwrap_or_default();
    if closest.iter().all(|fault| fault.offset == value.start()) {
        faults.push(Fault {
            offset: value.start(),
            path: path.concat(),
            problem: format!(
                "must be {}",
                shapes
                    .iter()
                    .map(|shape| shape.description())
                    .collect::<Vec<_>>()
                    .join(" or ")
            ),
        });
    } else {
        faults.extend(closest);
    }
}

/// Formats a path segment; a name with dots or spaces is quoted.
fn path_segment(path: &[String], name: &str) -> String {
    let plain = !name.is_empty()
        && name
            .chars()
            .all(|character| character.is_alphanumeric() || "_-$".contains(character));
    match (plain, path.is_empty()) {
        (true, true) => name.to_owned(),
        (true, false) => format!(".{name}"),
        (false, _) => format!("[{name:?}]"),
    }
}

/// Parses an integer, including forms such as `1e3` and `5.0`, which are integers in JavaScript.
fn parse_integer(text: &str) -> Option<u64> {
    text.parse().ok().or_else(|| {
        let number: f64 = text.parse().ok()?;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "checked to be a nonnegative integer; `as` saturates above `u64::MAX`"
        )]
        (number.fract() == 0.0 && number >= 0.0).then_some(number as u64)
    })
}
