//! The content of a result: what a script has output, in order and within limits.

use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pi_protocol::{ImageContent, InputBlock};

/// Characters per token, as the TypeScript pi estimates them.
const CHARS_PER_TOKEN: u64 = 4;
/// Tokens of output if the script does not set a limit.
pub(crate) const DEFAULT_MAX_TOKENS: u64 = 10_000;

/// Something that a script has output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum OutputItem {
    Text(String),
    Console(String),
    Image { data: String, mime_type: String },
}

/// A part of the result.
#[derive(Debug, Clone, PartialEq, Eq)]
enum OutputPart {
    Text(String),
    Image { data: String, mime_type: String },
}

/// The content of a result and the file with the output if that is too long.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ScriptOutput {
    pub(crate) content: Vec<InputBlock>,
    pub(crate) full_output_path: Option<String>,
}

/// Builds the content after the header. Saves images, and output that is too long, in `directory`.
pub(crate) fn build_output(
    items: Vec<OutputItem>,
    error: Option<String>,
    max_tokens: u64,
    directory: &Path,
) -> ScriptOutput {
    let mut parts = arranged(items);
    parts.extend(error.map(OutputPart::Text));
    let (parts, full_output_path) = limited(joined(parts), max_tokens, directory);
    let content = joined(with_saved_images(parts, directory))
        .into_iter()
        .map(|part| match part {
            OutputPart::Text(text) => InputBlock::text(text),
            OutputPart::Image { data, mime_type } => InputBlock::Image(ImageContent {
                data,
                mime_type,
                ..ImageContent::default()
            }),
        });
    ScriptOutput {
        content: content.collect(),
        full_output_path,
    }
}

/// Numbers the texts if there are several, and puts console lines behind everything else.
fn arranged(items: Vec<OutputItem>) -> Vec<OutputPart> {
    let is_text = |item: &&OutputItem| matches!(item, OutputItem::Text(_));
    let total = items.iter().filter(is_text).count();
    let mut parts = Vec::new();
    let mut lines = Vec::new();
    let mut number = 0;
    for item in items {
        match item {
            OutputItem::Text(text) => {
                number += 1;
                parts.push(OutputPart::Text(if total > 1 {
                    format!("==> text {number}/{total} <==\n{text}")
                } else {
                    text
                }));
            }
            OutputItem::Console(line) => lines.push(line),
            OutputItem::Image { data, mime_type } => {
                parts.push(OutputPart::Image { data, mime_type });
            }
        }
    }
    if !lines.is_empty() {
        let lines = lines.join("\n");
        let text = format!("<console_output>\n{lines}\n</console_output>");
        parts.push(OutputPart::Text(text));
    }
    parts
}

/// Joins adjacent texts; each starts on a new line.
fn joined(parts: Vec<OutputPart>) -> Vec<OutputPart> {
    let mut joined: Vec<OutputPart> = Vec::new();
    for part in parts {
        match (joined.last_mut(), part) {
            (Some(OutputPart::Text(text)), OutputPart::Text(more)) => {
                if !text.is_empty() && !text.ends_with('\n') {
                    text.push('\n');
                }
                text.push_str(&more);
            }
            (_, part) => joined.push(part),
        }
    }
    joined
}

/// Keeps both ends of a text that is too long, and saves all of it.
fn limited(
    parts: Vec<OutputPart>,
    max_tokens: u64,
    directory: &Path,
) -> (Vec<OutputPart>, Option<String>) {
    let texts: Vec<&str> = parts.iter().filter_map(OutputPart::as_text).collect();
    let text = texts.join("\n");
    let length = units(&text);
    let budget = max_tokens.saturating_mul(CHARS_PER_TOKEN);
    if texts.is_empty() || length <= budget {
        return (parts, None);
    }
    let head = budget / 2;
    let tail = budget - head;
    let lines = text.matches('\n').count() + 1;
    let left_out = (length - budget).div_ceil(CHARS_PER_TOKEN);
    let tokens = length.div_ceil(CHARS_PER_TOKEN);
    let (head, tail) = (first_units(&text, head), last_units(&text, tail));
    let mut shown = format!(
        "The output is truncated: it has about {tokens} tokens.\nLines in total: {lines}\n\n\
         {head}…{left_out} tokens truncated…{tail}"
    );
    let saved = save(directory, ".txt", text.as_bytes());
    let notice = match &saved {
        Ok(path) => format!(
            "\n\n[Full output: {}; read parts of it with offset and limit]",
            path.display()
        ),
        Err(error) => format!("\n\n[The full output cannot be saved: {error}]"),
    };
    shown.push_str(&notice);
    let path = saved.ok().map(|path| path.to_string_lossy().into_owned());
    let images = parts.into_iter().filter(|part| part.as_text().is_none());
    let parts = std::iter::once(OutputPart::Text(shown)).chain(images);
    (parts.collect(), path)
}

impl OutputPart {
    fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Image { .. } => None,
        }
    }
}

/// Saves each image once and names its file in front of it: a script cannot write files, and the model sees no bytes.
fn with_saved_images(parts: Vec<OutputPart>, directory: &Path) -> Vec<OutputPart> {
    let mut notices: Vec<(String, String)> = Vec::new();
    let mut all = Vec::new();
    for part in parts {
        if let OutputPart::Image { data, mime_type } = &part {
            let known = notices.iter().find(|(known, _)| known == data);
            let notice = match known {
                Some((_, notice)) => notice.clone(),
                None => image_notice(data, mime_type, directory),
            };
            if known.is_none() {
                notices.push((data.clone(), notice.clone()));
            }
            all.push(OutputPart::Text(notice));
        }
        all.push(part);
    }
    all
}

fn image_notice(data: &str, mime_type: &str, directory: &Path) -> String {
    let extension = match mime_type {
        "image/jpeg" => ".jpg",
        "image/gif" => ".gif",
        "image/webp" => ".webp",
        _ => ".png",
    };
    // The prelude has checked the alphabet; what it has not is reported.
    let saved = STANDARD
        .decode(data)
        .map_err(std::io::Error::other)
        .and_then(|bytes| {
            let size = bytes.len();
            save(directory, extension, &bytes).map(|path| (path, size))
        });
    match saved {
        Ok((path, size)) => {
            format!(
                "[Image saved to {} ({mime_type}, {size} bytes)]",
                path.display()
            )
        }
        Err(error) => format!("[The image ({mime_type}) cannot be saved: {error}]"),
    }
}

/// Writes a new file that only the user can read.
fn save(directory: &Path, extension: &str, bytes: &[u8]) -> std::io::Result<PathBuf> {
    use std::io::Write as _;

    let name = format!("pi-codemode-{:016x}{extension}", rand::random::<u64>());
    let path = directory.join(name);
    pi_fs::private::create_file(&path)?.write_all(bytes)?;
    Ok(path)
}

/// Number of UTF-16 code units, as scripts count characters.
fn units(text: &str) -> u64 {
    u64::try_from(text.encode_utf16().count()).unwrap_or(u64::MAX)
}

fn first_units(text: &str, max: u64) -> &str {
    let mut count = 0;
    let end = text.char_indices().find(|(_, character)| {
        count += u64::try_from(character.len_utf16()).unwrap_or(2);
        count > max
    });
    let end = end.map_or(text.len(), |(position, _)| position);
    text.get(..end).unwrap_or_default()
}

fn last_units(text: &str, max: u64) -> &str {
    let mut count = 0;
    let start = text.char_indices().rev().find(|(_, character)| {
        count += u64::try_from(character.len_utf16()).unwrap_or(2);
        count > max
    });
    let start = start.map_or(0, |(position, character)| position + character.len_utf8());
    text.get(start..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn text(text: &str) -> OutputItem {
        OutputItem::Text(text.to_owned())
    }

    fn console(line: &str) -> OutputItem {
        OutputItem::Console(line.to_owned())
    }

    fn texts(items: Vec<OutputItem>, max_tokens: u64) -> Vec<String> {
        let directory = tempfile::tempdir().unwrap();
        let output = build_output(items, None, max_tokens, directory.path());
        let blocks = output.content.iter();
        blocks
            .map(|block| match block {
                InputBlock::Text(text) => text.text.clone(),
                _ => "image".to_owned(),
            })
            .collect()
    }

    #[test]
    fn several_texts_are_numbered_and_console_lines_come_last() {
        assert_eq!(texts(vec![text("one")], 100), ["one"]);
        assert!(texts(Vec::new(), 100).is_empty());
        assert_eq!(
            texts(
                vec![text("a\n"), console("c1"), text("b"), console("c2")],
                100
            ),
            [
                "==> text 1/2 <==\na\n==> text 2/2 <==\nb\n<console_output>\nc1\nc2\n</console_output>"
            ]
        );
    }

    #[test]
    fn long_output_keeps_both_ends_and_is_saved() {
        let directory = tempfile::tempdir().unwrap();
        let items = vec![text(&"0123456789".repeat(40))];
        let output = build_output(items, None, 20, directory.path());
        let InputBlock::Text(shown) = &output.content[0] else {
            panic!("no text");
        };
        let (_, kept) = shown.text.split_once("\n\n").unwrap();
        let ends = "0123456789".repeat(4);
        assert!(
            kept.starts_with(&format!("{ends}…80 tokens truncated…{ends}\n\n[")),
            "{kept}"
        );
        let path = output.full_output_path.unwrap();
        assert_eq!(std::fs::read_to_string(path).unwrap().len(), 400);
    }

    #[test]
    fn ends_are_cut_between_characters() {
        let wide = "\u{1f600}a\u{1f600}";
        assert_eq!(first_units(wide, 2), "\u{1f600}");
        assert_eq!(first_units(wide, 1), "");
        assert_eq!(last_units(wide, 3), "a\u{1f600}");
        assert_eq!(last_units(wide, 1), "");
        assert_eq!(last_units(wide, 9), wide);
    }

    #[test]
    fn an_image_is_saved_once_with_private_mode() {
        let directory = tempfile::tempdir().unwrap();
        let image = || OutputItem::Image {
            data: "iVBORw0KGgo=".to_owned(),
            mime_type: "image/png".to_owned(),
        };
        let items = vec![image(), text("between"), image()];
        let output = build_output(items, None, 100, directory.path());
        assert_eq!(output.content.len(), 4);
        let files: Vec<_> = std::fs::read_dir(directory.path())
            .unwrap()
            .flatten()
            .collect();
        assert_eq!(files.len(), 1);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = files[0].metadata().unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
    }
}
