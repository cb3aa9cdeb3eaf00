//! YAML front matter of Markdown files.
//!
//! The block is untrusted: its size, nesting and aliases are limited, and a value of
//! an unexpected type is treated as absent.

mod yaml;

use std::borrow::Cow;
use std::collections::HashMap;
use std::io::Read;
use std::path::Path;

use yaml::YamlValue;

use crate::regular_file::{self, ReadFileError};

const MAX_BLOCK_BYTES: usize = 128 * 1024;
/// Size of the first read; most blocks are far smaller.
const FIRST_READ_BYTES: usize = 8 * 1024;

/// A Markdown file split into front matter and body.
#[derive(Debug)]
pub(crate) struct MarkdownDocument<'a> {
    /// The lines between the `---` markers.
    pub(crate) block: Option<&'a str>,
    /// Everything after the block, or the whole text if there is none.
    pub(crate) body: &'a str,
}

#[derive(Debug, Default)]
pub(crate) struct FrontMatter(HashMap<String, YamlValue>);

#[derive(Debug, thiserror::Error)]
#[error("invalid YAML front matter: {0}")]
pub(crate) struct FrontMatterError(String);

/// Converts all line endings to `\n`.
pub(crate) fn normalize_line_endings(text: &str) -> Cow<'_, str> {
    if text.contains('\r') {
        Cow::Owned(text.replace("\r\n", "\n").replace('\r', "\n"))
    } else {
        Cow::Borrowed(text)
    }
}

/// Splits text with `\n` line endings. An unclosed block is part of the body.
pub(crate) fn split(text: &str) -> MarkdownDocument<'_> {
    let whole = MarkdownDocument {
        block: None,
        body: text,
    };
    let Some(rest) = text.strip_prefix("---") else {
        return whole;
    };
    let Some((block, body)) = rest.split_once("\n---") else {
        return whole;
    };
    // The rest of the opening marker's line is not part of the block.
    let block = block.split_once('\n').map_or("", |(_, block)| block);
    MarkdownDocument {
        block: Some(block),
        body: body.trim(),
    }
}

impl FrontMatter {
    pub(crate) fn parse(block: &str) -> Result<Self, FrontMatterError> {
        if block.trim().is_empty() {
            return Ok(Self::default());
        }
        if block.len() > MAX_BLOCK_BYTES {
            return Err(FrontMatterError(format!(
                "longer than {MAX_BLOCK_BYTES} bytes"
            )));
        }
        yaml::read_entries(block)
            .map(Self)
            .map_err(FrontMatterError)
    }

    /// Returns a string value that is not blank.
    pub(crate) fn text(&self, key: &str) -> Option<&str> {
        match self.0.get(key)? {
            YamlValue::Text(text) if !text.trim().is_empty() => Some(text),
            _ => None,
        }
    }

    /// Returns the elements of a list, which may also be a text with commas.
    pub(crate) fn list(&self, key: &str) -> Option<Vec<String>> {
        let elements: Vec<&str> = match self.0.get(key)? {
            YamlValue::Text(text) => text.split(',').collect(),
            YamlValue::List(list) => list.iter().map(String::as_str).collect(),
            YamlValue::Bool(_) | YamlValue::Other => return None,
        };
        let elements = elements.into_iter().map(str::trim);
        let elements = elements.filter(|element| !element.is_empty());
        Some(elements.map(str::to_owned).collect())
    }

    pub(crate) fn is_true(&self, key: &str) -> bool {
        self.0.get(key) == Some(&YamlValue::Bool(true))
    }
}

/// Reads just enough of a file to contain its block, with `\n` line endings; `None` if the file does
/// not exist.
pub(crate) fn read_head(path: &Path) -> Result<Option<String>, ReadFileError> {
    let Some(mut file) = regular_file::open(path)? else {
        return Ok(None);
    };
    let mut bytes = Vec::with_capacity(FIRST_READ_BYTES);
    let mut read_size = FIRST_READ_BYTES;
    loop {
        let limit = u64::try_from(read_size).unwrap_or(u64::MAX);
        let read = file.by_ref().take(limit).read_to_end(&mut bytes)?;
        let is_complete = read < read_size
            || !starts_a_block(&bytes)
            || bytes.len() > MAX_BLOCK_BYTES
            || closes_a_block(&bytes);
        if is_complete {
            let text = regular_file::decode_prose(bytes);
            return Ok(Some(normalize_line_endings(&text).into_owned()));
        }
        read_size = MAX_BLOCK_BYTES;
    }
}

fn starts_a_block(bytes: &[u8]) -> bool {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    bytes.starts_with(b"---")
}

fn closes_a_block(bytes: &[u8]) -> bool {
    bytes
        .windows(4)
        .skip(3)
        .any(|window| window == b"\n---" || window == b"\r---")
}

#[cfg(test)]
mod tests {
    use pi_test_support::TempHome;
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    use super::*;

    fn parse(block: &str) -> FrontMatter {
        FrontMatter::parse(block).unwrap()
    }

    #[test]
    fn file_is_split_into_front_matter_and_body() {
        for (text, block, body) in [
            ("---\na: 1\n---\n\nbody\n", Some("a: 1"), "body"),
            ("---\n---\nbody", Some(""), "body"),
            ("no block\n", None, "no block\n"),
            ("---\nnever closed\n", None, "---\nnever closed\n"),
            ("", None, ""),
            ("---", None, "---"),
            ("text\n---\na: 1\n---\n", None, "text\n---\na: 1\n---\n"),
        ] {
            let document = split(text);
            assert_eq!((document.block, document.body), (block, body), "{text:?}");
        }
    }

    #[test]
    fn values_of_unexpected_type_are_ignored() {
        let matter = parse(
            "name: 12\ndescription: [a]\nhint: '  '\nflag: 'true'\nyes: yes\nok: true\nbig: .inf",
        );
        assert_eq!(matter.text("name"), None);
        assert_eq!(matter.text("description"), None);
        assert_eq!(matter.text("hint"), None);
        assert!(!matter.is_true("flag"));
        assert!(!matter.is_true("yes"));
        assert!(matter.is_true("ok"));
        assert_eq!(parse("just text").text("name"), None);
        assert_eq!(parse("- a\n- b").text("name"), None);
    }

    #[test]
    fn strings_may_be_quoted_folded_or_contain_quoted_colons() {
        let matter = parse("a: \"x: y\"\nb: >\n  one\n  two\nc: '#1'");
        assert_eq!(matter.text("a"), Some("x: y"));
        assert_eq!(matter.text("b"), Some("one two\n"));
        assert_eq!(matter.text("c"), Some("#1"));
    }

    #[test]
    fn hostile_yaml_is_rejected_quickly() {
        let mut bomb = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n".to_owned();
        for level in 1..12 {
            let below = level - 1;
            let row = format!("*a{below},").repeat(10);
            bomb = format!("{bomb}a{level}: &a{level} [{row}]\n");
        }
        for block in [
            bomb,
            "a: ".to_owned() + &"[".repeat(5_000),
            "a: ".to_owned() + &"{a: ".repeat(5_000),
            "x: &x [*x]".to_owned(),
            "a: 1\na: 2".to_owned(),
            "a: [1".to_owned(),
            "x".repeat(MAX_BLOCK_BYTES + 1),
        ] {
            let head: String = block.chars().take(20).collect();
            assert!(FrontMatter::parse(&block).is_err(), "{head}");
        }
    }

    proptest! {
        #[test]
        fn arbitrary_text_never_panics(text in "(---\n)?[-a-c:\\[\\]{}&*!|>'\"#% \t\n\r]{0,80}(\n---\n)?.{0,10}") {
            let text = normalize_line_endings(&text);
            let document = split(&text);
            if let Ok(matter) = FrontMatter::parse(document.block.unwrap_or_default()) {
                prop_assert!(matter.text("a").is_none_or(|value| !value.trim().is_empty()));
            }
            prop_assert!(text.contains(document.body));
        }
    }

    #[test]
    fn only_the_start_of_a_large_file_is_read() {
        let home = TempHome::new();
        let text = format!("---\r\na: b\r\n---\r\n{}", "x".repeat(1_000_000));
        let head = read_head(&home.write("SKILL.md", text)).unwrap().unwrap();
        assert!(head.len() <= 8 * 1024);
        assert_eq!(split(&head).block, Some("a: b"));

        let long = format!("---\na: {}\n---\n", "y".repeat(20_000));
        assert_eq!(
            read_head(&home.write("SKILL.md", &long)).unwrap(),
            Some(long)
        );
    }
}
