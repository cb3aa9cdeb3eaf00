//! HTML text: escaping, anchors, and the attributes of tags in pages.

use std::fmt::Write as _;

/// Escapes text for element content and quoted attributes.
pub(super) fn escape(text: &str) -> String {
    let mut html = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => html.push_str("&amp;"),
            '<' => html.push_str("&lt;"),
            '>' => html.push_str("&gt;"),
            '"' => html.push_str("&quot;"),
            other => html.push(other),
        }
    }
    html
}

/// Returns the anchor of a heading, as code hosts generate it.
pub(super) fn slug(heading: &str) -> String {
    let kept = heading
        .trim()
        .chars()
        .filter(|letter| letter.is_alphanumeric() || " -_".contains(*letter));
    kept.collect::<String>().to_lowercase().replace(' ', "-")
}

/// Returns the value of an attribute in the text of a tag.
pub(super) fn attribute<'a>(tag: &'a str, name: &str) -> Option<&'a str> {
    let start = format!(" {name}=\"");
    let (_, rest) = tag.split_once(&start)?;
    let (value, _) = rest.split_once('"')?;
    Some(value)
}

/// Appends formatted HTML.
pub(super) fn push(html: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    html.write_fmt(text).ok();
}
