//! Faults that concern a value itself: its constant, its length, its range, its count of members.

use serde_json::{Map, Value};

use super::is_met;

/// Values of an enumeration that a message lists.
const LISTED_VALUES: usize = 20;

/// Returns what is wrong with a value that has the right type.
pub(super) fn faults(node: &Map<String, Value>, value: &Value) -> Vec<String> {
    let mut faults = Vec::new();
    if let Some(Value::Array(allowed)) = node.get("enum")
        && !allowed.contains(value)
    {
        faults.push(expected_one_of(allowed.iter()));
    }
    if let Some(constant) = node.get("const")
        && constant != value
    {
        faults.push(format!("expected {constant}"));
    }
    match value {
        Value::String(text) => text_faults(node, text, &mut faults),
        Value::Number(number) => number_faults(node, number.as_f64(), &mut faults),
        Value::Object(fields) => {
            let (least, most) = ("minProperties", "maxProperties");
            count_faults(node, fields.len(), (least, most), "properties", &mut faults);
        }
        Value::Null | Value::Bool(_) | Value::Array(_) => {}
    }
    faults
}

pub(super) fn expected_one_of<'value>(allowed: impl Iterator<Item = &'value Value>) -> String {
    let allowed: Vec<String> = allowed.map(ToString::to_string).collect();
    let (listed, rest) = allowed.split_at(allowed.len().min(LISTED_VALUES));
    let listed = listed.join(",");
    match rest.len() {
        0 => format!("expected one of [{listed}]"),
        more => format!("expected one of [{listed}, ... and {more} more]"),
    }
}

/// Returns what is wrong with the number of items. Faults of the items precede them.
pub(super) fn item_count_faults(node: &Map<String, Value>, items: &[Value]) -> Vec<String> {
    let mut faults = Vec::new();
    count_faults(
        node,
        items.len(),
        ("minItems", "maxItems"),
        "items",
        &mut faults,
    );
    let is_repeated =
        |(index, item): (usize, &Value)| items.iter().take(index).any(|earlier| earlier == item);
    if node.get("uniqueItems") == Some(&Value::Bool(true))
        && items.iter().enumerate().any(is_repeated)
    {
        faults.push("expected unique items".to_owned());
    }
    faults
}

fn count_faults(
    node: &Map<String, Value>,
    count: usize,
    (least, most): (&str, &str),
    members: &str,
    faults: &mut Vec<String>,
) {
    let limit = |keyword| node.get(keyword).and_then(Value::as_u64);
    let count = count as u64;
    if let Some(least) = limit(least).filter(|least| count < *least) {
        faults.push(format!("expected at least {least} {members}"));
    }
    if let Some(most) = limit(most).filter(|most| count > *most) {
        faults.push(format!("expected at most {most} {members}"));
    }
}

fn text_faults(node: &Map<String, Value>, text: &str, faults: &mut Vec<String>) {
    let length = text.chars().count();
    count_faults(
        node,
        length,
        ("minLength", "maxLength"),
        "characters",
        faults,
    );
    for (keyword, expectation) in [("pattern", "to match"), ("format", "format")] {
        if let Some(Value::String(expected)) = node.get(keyword)
            && !is_met(keyword, expected, text)
        {
            faults.push(format!("expected {expectation} {expected}"));
        }
    }
}

/// A keyword that limits a number, its sign in the message, and whether a number exceeds a limit.
type NumberLimit = (&'static str, &'static str, fn(f64, f64) -> bool);

fn number_faults(node: &Map<String, Value>, number: Option<f64>, faults: &mut Vec<String>) {
    let Some(number) = number else { return };
    let limit = |keyword| node.get(keyword).and_then(Value::as_f64);
    let limits: [NumberLimit; 4] = [
        ("minimum", ">=", |number, limit| number < limit),
        ("maximum", "<=", |number, limit| number > limit),
        ("exclusiveMinimum", ">", |number, limit| number <= limit),
        ("exclusiveMaximum", "<", |number, limit| number >= limit),
    ];
    for (keyword, sign, is_exceeded) in limits {
        if let Some(limit) = limit(keyword).filter(|limit| is_exceeded(number, *limit)) {
            faults.push(format!("expected {sign} {limit}"));
        }
    }
    if let (Some(step), Some(Value::Number(written))) =
        (limit("multipleOf"), node.get("multipleOf"))
        && step != 0.0
        && !is_whole(number / step)
    {
        faults.push(format!("expected a multiple of {written}"));
    }
}

/// Whether a quotient is a whole number, apart from the rounding of the division.
fn is_whole(quotient: f64) -> bool {
    (quotient - quotient.round()).abs() <= f64::EPSILON * quotient.abs().max(1.0)
}
