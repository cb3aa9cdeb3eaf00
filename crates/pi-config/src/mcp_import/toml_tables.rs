//! The part of TOML that tables of servers use: `[a.b]` headers, strings, numbers, booleans, arrays and inline tables.
//!
//! Other tables of the file are skipped, so they may use everything. Multi-line strings and dates are not supported.

use pi_protocol::json::JsonObject;
use serde_json::{Number, Value};

/// Arrays and inline tables may be nested this deep.
const MAX_DEPTH: usize = 16;

/// Returns the tables below a name: `[name.a]` is the entry `a`, `[name.a.b]` its entry `b`.
pub(super) fn tables_below(text: &str, name: &str) -> Result<JsonObject, String> {
    let mut tables = JsonObject::default();
    // The path of the current table below the name; `None` in others.
    let mut path: Option<Vec<String>> = None;
    let mut rest = text;
    loop {
        rest = skip_blank(rest);
        if rest.is_empty() {
            return Ok(tables);
        }
        if let Some(header) = rest.strip_prefix('[') {
            let (header, after) = header.split_once('\n').unwrap_or((header, ""));
            path = header_path(header, name);
            if let Some(path) = &path {
                table_at(&mut tables, path)?;
            }
            rest = after;
            continue;
        }
        let Some(path) = &path else {
            rest = rest.split_once('\n').map_or("", |(_, after)| after);
            continue;
        };
        let line = text.lines().count() - rest.lines().count() + 1;
        let problem = |problem: String| format!("line {line}: {problem}");
        let (keys, after) = dotted_key(rest).map_err(problem)?;
        let after = skip_spaces(after);
        let after = after
            .strip_prefix('=')
            .ok_or_else(|| problem("expected `=`".to_owned()))?;
        let (value, after) = parse_value(skip_spaces(after), 0).map_err(problem)?;
        let (last, keys) = keys.split_last().ok_or("expected a key")?;
        let table = table_at(&mut tables, &[path.as_slice(), keys].concat())?;
        table.insert(last.clone(), value);
        rest = after;
    }
}

/// Returns the path of a header below a name; `None` if it is another table.
fn header_path(header: &str, name: &str) -> Option<Vec<String>> {
    let (keys, _) = dotted_key(header).ok()?;
    let (first, path) = keys.split_first()?;
    (first == name).then(|| path.to_vec())
}

fn table_at<'a>(tables: &'a mut JsonObject, path: &[String]) -> Result<&'a mut JsonObject, String> {
    let mut table = tables;
    for key in path {
        let entry = table.entry(key.as_str());
        let entry = entry.or_insert_with(|| Value::Object(JsonObject::default()));
        table = entry
            .as_object_mut()
            .ok_or_else(|| format!("{key} is both a value and a table"))?;
    }
    Ok(table)
}

fn skip_spaces(text: &str) -> &str {
    text.trim_start_matches([' ', '\t'])
}

/// Skips whitespace, line breaks and comments.
fn skip_blank(text: &str) -> &str {
    let mut rest = text.trim_start();
    while let Some(comment) = rest.strip_prefix('#') {
        rest = comment.split_once('\n').map_or("", |(_, after)| after);
        rest = rest.trim_start();
    }
    rest
}

fn dotted_key(text: &str) -> Result<(Vec<String>, &str), String> {
    let mut keys = Vec::new();
    let mut rest = skip_spaces(text);
    loop {
        let (key, after) = if rest.starts_with(['"', '\'']) {
            parse_string(rest)?
        } else {
            let is_bare = |one: char| one.is_ascii_alphanumeric() || one == '_' || one == '-';
            let end = rest.find(|one| !is_bare(one)).unwrap_or(rest.len());
            let (key, after) = rest.split_at_checked(end).ok_or("expected a key")?;
            (key.to_owned(), after)
        };
        if key.is_empty() {
            return Err("expected a key".to_owned());
        }
        keys.push(key);
        let after = skip_spaces(after);
        match after.strip_prefix('.') {
            Some(next) => rest = skip_spaces(next),
            None => return Ok((keys, after)),
        }
    }
}

fn parse_value(text: &str, depth: usize) -> Result<(Value, &str), String> {
    if depth > MAX_DEPTH {
        return Err("values are nested too deeply".to_owned());
    }
    if text.starts_with(['"', '\'']) {
        let (value, rest) = parse_string(text)?;
        return Ok((value.into(), rest));
    }
    if let Some(rest) = text.strip_prefix('[') {
        return parse_array(rest, depth);
    }
    if let Some(rest) = text.strip_prefix('{') {
        return parse_table(rest, depth);
    }
    let end = text.find([',', ']', '}', '\n', '#', ' ', '\t', '\r']);
    let (word, rest) = text
        .split_at_checked(end.unwrap_or(text.len()))
        .unwrap_or((text, ""));
    let value = match word {
        "true" => true.into(),
        "false" => false.into(),
        number => {
            let digits = number.replace('_', "");
            let number = digits.parse::<i64>().map(Number::from).ok();
            let number = number.or_else(|| Number::from_f64(digits.parse().ok()?));
            number
                .ok_or_else(|| format!("unsupported value {word}"))?
                .into()
        }
    };
    Ok((value, rest))
}

fn parse_array(text: &str, depth: usize) -> Result<(Value, &str), String> {
    let mut items = Vec::new();
    let mut rest = skip_blank(text);
    loop {
        if let Some(after) = rest.strip_prefix(']') {
            return Ok((items.into(), after));
        }
        let (item, after) = parse_value(rest, depth + 1)?;
        items.push(item);
        rest = skip_blank(after);
        match rest.strip_prefix(',') {
            Some(after) => rest = skip_blank(after),
            None if rest.starts_with(']') => {}
            None => return Err("expected `,` or `]`".to_owned()),
        }
    }
}

fn parse_table(text: &str, depth: usize) -> Result<(Value, &str), String> {
    let mut table = JsonObject::default();
    let mut rest = skip_blank(text);
    loop {
        if let Some(after) = rest.strip_prefix('}') {
            return Ok((table.into(), after));
        }
        let (keys, after) = dotted_key(rest)?;
        let after = skip_spaces(after).strip_prefix('=').ok_or("expected `=`")?;
        let (value, after) = parse_value(skip_spaces(after), depth + 1)?;
        let (last, keys) = keys.split_last().ok_or("expected a key")?;
        table_at(&mut table, keys)?.insert(last.clone(), value);
        rest = skip_blank(after);
        match rest.strip_prefix(',') {
            Some(after) => rest = skip_blank(after),
            None if rest.starts_with('}') => {}
            None => return Err("expected `,` or `}`".to_owned()),
        }
    }
}

/// Parses a string of one line.
fn parse_string(text: &str) -> Result<(String, &str), String> {
    if text.starts_with("\"\"\"") || text.starts_with("'''") {
        return Err("strings of several lines are not supported".to_owned());
    }
    let mut characters = text.char_indices();
    let quote = characters.next().map(|(_, quote)| quote);
    let mut value = String::new();
    while let Some((index, character)) = characters.next() {
        match character {
            end if Some(end) == quote => {
                let rest = text.get(index + 1..).unwrap_or_default();
                return Ok((value, rest));
            }
            '\n' => break,
            '\\' if quote == Some('"') => {
                let escape = characters.next().map(|(_, escape)| escape);
                value.push(match escape {
                    Some('n') => '\n',
                    Some('t') => '\t',
                    Some('r') => '\r',
                    Some(same @ ('"' | '\\')) => same,
                    Some(kind @ ('u' | 'U')) => {
                        let length = if kind == 'u' { 4 } else { 8 };
                        let digits: String =
                            characters.by_ref().take(length).map(|(_, it)| it).collect();
                        let code = u32::from_str_radix(&digits, 16).ok();
                        code.and_then(char::from_u32)
                            .ok_or("a string has an invalid escape")?
                    }
                    _ => return Err("a string has an invalid escape".to_owned()),
                });
            }
            other => value.push(other),
        }
    }
    Err("a string does not end".to_owned())
}
