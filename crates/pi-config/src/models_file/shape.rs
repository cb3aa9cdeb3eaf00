//! What a value of a configuration file may look like, and where it does not.

use jsonc_parser::ast::{Object, Value};
use jsonc_parser::common::Ranged;

/// What a value may look like.
#[derive(Debug)]
pub(super) enum Shape {
    Any,
    Text,
    /// Text that is not empty.
    NonEmptyText,
    Number,
    /// A number above zero.
    Positive,
    /// A whole number in this range.
    Whole(u64, u64),
    /// `true` or `false`.
    Boolean,
    /// `null`.
    Null,
    /// One of these texts.
    OneOf(&'static [&'static str]),
    /// A list with at most this many elements.
    List(&'static Self, usize),
    /// An object of arbitrary keys.
    Map(&'static Self),
    /// An object with these fields; others are left to later versions.
    Fields(&'static [Field]),
    /// One of these shapes.
    Either(&'static [&'static Self]),
}

/// A field of an object.
#[derive(Debug)]
pub(super) struct Field {
    pub(super) name: &'static str,
    pub(super) shape: &'static Shape,
    pub(super) required: bool,
}

/// A value that does not have its shape.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Fault {
    /// Where the value starts, in bytes.
    pub(super) offset: usize,
    pub(super) path: String,
    pub(super) problem: String,
}

/// A field that may be left out.
pub(super) const fn optional(name: &'static str, shape: &'static Shape) -> Field {
    Field {
        name,
        shape,
        required: false,
    }
}

/// A field that must be there.
pub(super) const fn required(name: &'static str, shape: &'static Shape) -> Field {
    Field {
        name,
        shape,
        required: true,
    }
}

impl Shape {
    /// Checks a value and everything in it.
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
            (Self::Whole(least, most), Value::NumberLit(number))
                if whole(number.value).is_some_and(|number| (*least..=*most).contains(&number)) => {
            }
            (Self::OneOf(texts), Value::StringLit(text))
                if texts.contains(&text.value.as_ref()) => {}
            (Self::List(element, most), Value::Array(list)) => {
                if list.elements.len() > *most {
                    fail(format!("must have at most {most} elements"));
                }
                for (index, value) in list.elements.iter().enumerate() {
                    path.push(format!("[{index}]"));
                    element.check(value, path, faults);
                    path.pop();
                }
            }
            (Self::Map(shape), Value::Object(object)) => {
                for property in &object.properties {
                    path.push(step(path, property.name.as_str()));
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
            Self::NonEmptyText => "a string that is not empty".to_owned(),
            Self::Number => "a number".to_owned(),
            Self::Positive => "a number above 0".to_owned(),
            Self::Whole(least, u64::MAX) => format!("a whole number from {least} on"),
            Self::Whole(least, most) => format!("a whole number from {least} to {most}"),
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
            path.push(step(path, field.name));
            field.shape.check(&property.value, path, faults);
            path.pop();
        }
        if field.required && !found {
            path.push(step(path, field.name));
            faults.push(Fault {
                offset: object.start(),
                path: path.concat(),
                problem: "is missing".to_owned(),
            });
            path.pop();
        }
    }
}

/// Accepts a value that fits one of the shapes. Otherwise the shape it comes closest to speaks.
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

/// Returns the next step of a path; a name with dots or spaces is quoted.
fn step(path: &[String], name: &str) -> String {
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

/// Reads a whole number, however it is written: JavaScript takes `1e3` and `5.0` for one.
fn whole(text: &str) -> Option<u64> {
    text.parse().ok().or_else(|| {
        let number: f64 = text.parse().ok()?;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "checked to be a whole number above zero; `as` saturates beyond"
        )]
        (number.fract() == 0.0 && number >= 0.0).then_some(number as u64)
    })
}
