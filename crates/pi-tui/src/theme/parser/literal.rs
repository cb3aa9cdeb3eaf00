//! Colors as written in theme files.

use serde_json::Value;

use crate::color_space::{Oklch, okhsl_to_rgb};
use crate::style::Color;

/// A value of a theme file.
pub(super) enum ColorLiteral<'a> {
    Color(Color),
    Variable(&'a str),
    Invalid,
}

pub(super) fn literal(value: &Value) -> ColorLiteral<'_> {
    let color = match value {
        Value::String(text) if text.is_empty() => Some(Color::Default),
        Value::String(text) => match text.strip_prefix('#') {
            Some(digits) => parse_hex(digits),
            None => match function(text) {
                Some((name, arguments)) => parse_function(name, arguments),
                None => return ColorLiteral::Variable(text),
            },
        },
        Value::Number(number) => number
            .as_u64()
            .and_then(|index| u8::try_from(index).ok())
            .map(Color::Indexed),
        _ => None,
    };
    color.map_or(ColorLiteral::Invalid, ColorLiteral::Color)
}

/// Parses `rrggbb` or `rgb`.
fn parse_hex(digits: &str) -> Option<Color> {
    if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let value = u32::from_str_radix(digits, 16).ok()?;
    let [_, red, green, blue] = match digits.len() {
        6 => value.to_be_bytes(),
        // Each digit is doubled.
        3 => (((value & 0xf00) << 8 | (value & 0x0f0) << 4 | value & 0x00f) * 0x11).to_be_bytes(),
        _ => return None,
    };
    Some(Color::Rgb(red, green, blue))
}

/// Splits `name(arguments)` of the two color functions.
fn function(text: &str) -> Option<(&str, &str)> {
    let (name, arguments) = text.trim().split_once('(')?;
    let name = ["oklch", "okhsl"]
        .into_iter()
        .find(|known| name.trim().eq_ignore_ascii_case(known))?;
    Some((name, arguments.strip_suffix(')')?))
}

fn parse_function(name: &str, arguments: &str) -> Option<Color> {
    let mut arguments = arguments.split_whitespace();
    let (first, second, third) = (arguments.next()?, arguments.next()?, arguments.next()?);
    if arguments.next().is_some() {
        return None;
    }
    let (red, green, blue) = match name {
        "oklch" => Oklch {
            lightness: fraction(first)?,
            chroma: number(second).filter(|chroma| *chroma >= 0.0)?,
            hue: hue(third)?,
        }
        .to_rgb(),
        _ => okhsl_to_rgb(hue(first)?, percentage(second)?, percentage(third)?),
    };
    Some(Color::Rgb(red, green, blue))
}

fn number(text: &str) -> Option<f64> {
    text.parse().ok().filter(|number: &f64| number.is_finite())
}

/// Parses degrees, with or without the unit.
fn hue(text: &str) -> Option<f64> {
    number(text.strip_suffix("deg").unwrap_or(text))
}

/// Parses `62%`.
fn percentage(text: &str) -> Option<f64> {
    let percent = number(text.strip_suffix('%')?)?;
    (0.0..=100.0).contains(&percent).then_some(percent / 100.0)
}

/// Parses `62%` or `0.62`.
fn fraction(text: &str) -> Option<f64> {
    percentage(text).or_else(|| number(text).filter(|number| (0.0..=1.0).contains(number)))
}
