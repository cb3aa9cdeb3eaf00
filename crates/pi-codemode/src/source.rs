//! The input of the tool: a script, with options on an optional first line.

use serde::Deserialize;
use serde_json::Value;

const OPTIONS_PREFIX: &str = "// @options:";

/// Largest value that an option may have, as a timer has milliseconds in 31 bits.
const MAX_TIMEOUT_MS: u64 = 2_147_483_647;
/// Largest integer that a JavaScript number represents exactly.
const MAX_SAFE_INTEGER: u64 = 9_007_199_254_740_991;

/// A parsed input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ScriptSource<'input> {
    /// The script. In place of an options line it starts with an empty one.
    pub(crate) code: &'input str,
    pub(crate) options: ScriptOptions,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct ScriptOptions {
    pub(crate) max_output_tokens: Option<u64>,
    pub(crate) timeout_ms: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OptionFields {
    max_output_tokens: Option<Value>,
    timeout_ms: Option<Value>,
}

/// Splits an input into options and script; an error states what is wrong with it.
pub(crate) fn parse_source(input: &str) -> Result<ScriptSource<'_>, String> {
    if input.trim().is_empty() {
        return Err("The input is empty. Pass JavaScript source.".to_owned());
    }
    let is_options = |line: &str| line.trim_start().starts_with(OPTIONS_PREFIX);
    if let Some(line) = input.lines().skip(1).position(is_options) {
        return Err(format!(
            "`{OPTIONS_PREFIX}` is only allowed on the first line, not on line {}.",
            line + 2
        ));
    }
    let first = input.lines().next().unwrap_or_default();
    if !is_options(first) {
        return Ok(ScriptSource {
            code: input,
            options: ScriptOptions::default(),
        });
    }
    let code = input.find('\n').and_then(|end| input.get(end..));
    let code = code.filter(|code| !code.trim().is_empty());
    let code = code.ok_or("There is no script after the options line.")?;
    let text = first.trim_start().strip_prefix(OPTIONS_PREFIX);
    Ok(ScriptSource {
        code,
        options: parse_options(text.unwrap_or_default().trim())?,
    })
}

fn parse_options(text: &str) -> Result<ScriptOptions, String> {
    let fields: OptionFields = serde_json::from_str(text).map_err(|error| {
        format!(
            "The options must be a JSON object with `max_output_tokens` and `timeout_ms`, both \
             optional: {error}"
        )
    })?;
    let integer = |value: Option<Value>, name: &str, range: std::ops::RangeInclusive<u64>| {
        let Some(value) = value else {
            return Ok(None);
        };
        let number = value.as_u64().filter(|number| range.contains(number));
        let (low, high) = (range.start(), range.end());
        number
            .map(Some)
            .ok_or_else(|| format!("`{name}` must be an integer from {low} to {high}."))
    };
    Ok(ScriptOptions {
        max_output_tokens: integer(
            fields.max_output_tokens,
            "max_output_tokens",
            0..=MAX_SAFE_INTEGER,
        )?,
        timeout_ms: integer(fields.timeout_ms, "timeout_ms", 1..=MAX_TIMEOUT_MS)?,
    })
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn options_are_optional_and_leave_an_empty_line() {
        let plain = parse_source("return 1").unwrap();
        assert_eq!(plain.code, "return 1");
        assert_eq!(plain.options, ScriptOptions::default());
        let input = "  // @options: {\"max_output_tokens\": 0, \"timeout_ms\": 5}\r\nreturn 1";
        let source = parse_source(input).unwrap();
        assert_eq!(source.code, "\nreturn 1");
        assert_eq!(source.options.max_output_tokens, Some(0));
        assert_eq!(source.options.timeout_ms, Some(5));
    }

    #[test]
    fn bad_input_is_rejected() {
        for input in [
            "",
            " \n ",
            "// @options: {\"timeout_ms\": 5}",
            "// @options: {\"timeout_ms\": 5}\n \n",
            "// @options: {\"timeout_ms\": 0}\nreturn 1",
            "// @options: {\"timeout_ms\": 2147483648}\nreturn 1",
            "// @options: {\"timeout_ms\": 1.5}\nreturn 1",
            "// @options: {\"max_output_tokens\": -1}\nreturn 1",
            "// @options: {\"speed\": 1}\nreturn 1",
            "// @options: {bad}\nreturn 1",
            "// @options: []\nreturn 1",
            "// @options:\nreturn 1",
            "return 1\n// @options: {}",
        ] {
            assert!(parse_source(input).is_err(), "{input}");
        }
    }
}
