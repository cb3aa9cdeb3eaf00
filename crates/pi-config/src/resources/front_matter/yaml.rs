//! The top level of a YAML mapping: texts, flags and lists of texts by key.
//!
//! Aliases are counted and resolved to scalars only, so that no input grows.

use std::borrow::Cow;
use std::collections::HashMap;

use granit_parser::{Event, Parser, ScalarStyle, Tag};

const MAX_NESTING: usize = 32;
const MAX_NODES: usize = 10_000;
const MAX_ALIASES: usize = 100;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum YamlValue {
    Text(String),
    Bool(bool),
    /// The texts in a list; other elements are left out.
    List(Vec<String>),
    /// A number, nothing or a mapping.
    Other,
}

/// Reads the entries of a block. A block that is no mapping has none.
pub(super) fn read_entries(block: &str) -> Result<HashMap<String, YamlValue>, String> {
    let mut reader = EntryReader::default();
    for event in Parser::new_from_str(block) {
        let (event, _) = event.map_err(|error| error.to_string())?;
        reader.read(event)?;
    }
    Ok(reader.entries)
}

#[derive(Default)]
struct EntryReader {
    entries: HashMap<String, YamlValue>,
    /// Anchors of the open lists and mappings, 0 for those without one.
    open: Vec<usize>,
    is_mapping: bool,
    key: PendingKey,
    /// Key of the list that is being read.
    list: Option<String>,
    scalars: HashMap<usize, YamlValue>,
    nodes: usize,
    aliases: usize,
    documents: usize,
}

#[derive(Default)]
enum PendingKey {
    #[default]
    None,
    Text(String),
    /// A key that is no text.
    Other,
}

impl EntryReader {
    fn read(&mut self, event: Event<'_>) -> Result<(), String> {
        match event {
            Event::DocumentStart(..) => {
                self.documents += 1;
                if self.documents > 1 {
                    return Err("more than one document".to_owned());
                }
            }
            Event::MappingStart(_, anchor, _) => self.open(anchor, true)?,
            Event::SequenceStart(_, anchor, _) => self.open(anchor, false)?,
            Event::MappingEnd | Event::SequenceEnd => {
                self.open.pop();
                if self.open.len() == 1 {
                    self.list = None;
                }
            }
            Event::Scalar(text, style, anchor, tag) => {
                let value = resolve(text, style, tag.as_deref());
                if anchor != 0 {
                    self.scalars.insert(anchor, value.clone());
                }
                self.node(value)?;
            }
            Event::Alias(anchor) => {
                self.aliases += 1;
                if self.aliases > MAX_ALIASES {
                    return Err(format!("more than {MAX_ALIASES} aliases"));
                }
                if self.open.contains(&anchor) {
                    return Err("an alias inside its own anchor".to_owned());
                }
                let value = self.scalars.get(&anchor).cloned();
                self.node(value.unwrap_or(YamlValue::Other))?;
            }
            _ => {}
        }
        Ok(())
    }

    fn open(&mut self, anchor: usize, is_mapping: bool) -> Result<(), String> {
        if self.open.is_empty() {
            self.is_mapping = is_mapping;
        } else if is_mapping || self.open.len() > 1 {
            self.node(YamlValue::Other)?;
        } else {
            if let PendingKey::Text(key) = &self.key {
                self.list = Some(key.clone());
            }
            self.node(YamlValue::List(Vec::new()))?;
        }
        self.open.push(anchor);
        if self.open.len() > MAX_NESTING {
            return Err(format!("nested more than {MAX_NESTING} levels deep"));
        }
        Ok(())
    }

    /// Takes a node as a key or value, if it belongs to the top level.
    fn node(&mut self, value: YamlValue) -> Result<(), String> {
        self.nodes += 1;
        if self.nodes > MAX_NODES {
            return Err(format!("more than {MAX_NODES} values"));
        }
        if let (Some(key), 2, YamlValue::Text(text)) = (&self.list, self.open.len(), &value)
            && let Some(YamlValue::List(list)) = self.entries.get_mut(key)
        {
            list.push(text.clone());
            return Ok(());
        }
        if !self.is_mapping || self.open.len() != 1 {
            return Ok(());
        }
        match std::mem::take(&mut self.key) {
            PendingKey::None => {
                self.key = match value {
                    YamlValue::Text(key) => PendingKey::Text(key),
                    YamlValue::Bool(_) | YamlValue::List(_) | YamlValue::Other => PendingKey::Other,
                };
            }
            PendingKey::Other => {}
            PendingKey::Text(key) => {
                if self.entries.contains_key(&key) {
                    return Err(format!("duplicate key {key}"));
                }
                self.entries.insert(key, value);
            }
        }
        Ok(())
    }
}

fn resolve(text: Cow<'_, str>, style: ScalarStyle, tag: Option<&Tag>) -> YamlValue {
    let is_text = match tag.and_then(Tag::core_suffix) {
        Some(kind) => kind == "str",
        None => style != ScalarStyle::Plain || tag.is_some() || !is_typed(&text),
    };
    match &*text {
        _ if is_text => YamlValue::Text(text.into_owned()),
        "true" | "True" | "TRUE" => YamlValue::Bool(true),
        "false" | "False" | "FALSE" => YamlValue::Bool(false),
        _ => YamlValue::Other,
    }
}

/// Whether a plain scalar is a boolean, number or nothing by the core schema of YAML 1.2.
fn is_typed(text: &str) -> bool {
    match text {
        "" | "~" | "null" | "Null" | "NULL" | "true" | "True" | "TRUE" | "false" | "False"
        | "FALSE" | ".nan" | ".NaN" | ".NAN" => return true,
        _ => {}
    }
    let is_radix =
        |digits: &str, radix| !digits.is_empty() && digits.chars().all(|c| c.is_digit(radix));
    if let Some(digits) = text.strip_prefix("0x") {
        return is_radix(digits, 16);
    }
    if let Some(digits) = text.strip_prefix("0o") {
        return is_radix(digits, 8);
    }
    let number = text.strip_prefix(['+', '-']).unwrap_or(text);
    matches!(number, ".inf" | ".Inf" | ".INF")
        // Rust also parses words such as `infinity`.
        || number.starts_with(|first: char| first.is_ascii_digit() || first == '.')
            && number.parse::<f64>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> YamlValue {
        let mut entries = read_entries(&format!("key: {text}")).unwrap();
        entries.remove("key").unwrap()
    }

    #[test]
    fn scalars_have_the_types_of_the_core_schema() {
        for number in [
            "12", "-0.5", "+1e3", "0x1F", "0o17", ".5", "5.", ".inf", "-.INF", ".nan",
        ] {
            assert_eq!(value(number), YamlValue::Other, "{number}");
        }
        for nothing in ["", "~", "null", "# only a comment"] {
            assert_eq!(value(nothing), YamlValue::Other, "{nothing}");
        }
        for text in [
            "yes", "inf", "1.2.3", "0x", "1_000", "'true'", "!!str 12", "!own 12",
        ] {
            assert!(matches!(value(text), YamlValue::Text(_)), "{text}");
        }
        assert_eq!(value("True"), YamlValue::Bool(true));
        assert_eq!(value("false"), YamlValue::Bool(false));
    }

    #[test]
    fn only_the_top_level_is_read() {
        let entries = read_entries(
            "a: {b: inner}\nc: &text words\nd: *text\n? [complex]\n: value\n12: number\ne: last",
        )
        .unwrap();
        let mut keys: Vec<_> = entries.keys().map(String::as_str).collect();
        keys.sort_unstable();
        assert_eq!(keys, ["a", "c", "d", "e"]);
        assert_eq!(entries["a"], YamlValue::Other);
        assert_eq!(entries["d"], YamlValue::Text("words".to_owned()));
        assert_eq!(entries["e"], YamlValue::Text("last".to_owned()));
    }

    #[test]
    fn a_list_has_the_texts_of_its_own_level() {
        let list =
            |texts: &[&str]| YamlValue::List(texts.iter().map(ToString::to_string).collect());
        let entries =
            read_entries("a:\n  - one\n  - [inner]\n  - two\nb: [x, 1]\nc: {d: [y]}\ne: []");
        let entries = entries.unwrap();
        assert_eq!(entries["a"], list(&["one", "two"]));
        assert_eq!(entries["b"], list(&["x"]));
        assert_eq!(entries["c"], YamlValue::Other);
        assert_eq!(entries["e"], list(&[]));
    }
}
