//! Markdown of models to Slack's format, and texts of Slack to plain ones.

/// Converts Markdown. Mentions of users stay; nothing else can notify a channel.
pub(super) fn to_mrkdwn(text: &str) -> String {
    let mut converted = String::with_capacity(text.len() + 16);
    let mut in_code = false;
    for (index, line) in text.split('\n').enumerate() {
        if index > 0 {
            converted.push('\n');
        }
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
            // Slack shows the language as text.
            let (fence, rest) = line.split_at(line.find("```").map_or(0, |at| at + 3));
            converted.push_str(fence);
            let is_language = in_code && !rest.contains('`');
            if !is_language {
                converted.push_str(&escaped(rest));
            }
        } else if in_code {
            converted.push_str(&escaped(line));
        } else if let Some(title) = heading(line) {
            converted.push('*');
            converted.push_str(&inline(title).replace('*', ""));
            converted.push('*');
        } else {
            converted.push_str(&inline(line));
        }
    }
    converted
}

fn heading(line: &str) -> Option<&str> {
    let title = line.trim_start_matches('#');
    let level = line.len() - title.len();
    ((1..=6).contains(&level))
        .then(|| title.strip_prefix(' '))
        .flatten()
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

/// Converts a line outside of a code block.
fn inline(line: &str) -> String {
    // Odd parts are code.
    let parts = line.split('`').enumerate().map(|(index, part)| {
        if index % 2 == 1 {
            escaped(part)
        } else {
            styled(part)
        }
    });
    parts.collect::<Vec<_>>().join("`")
}

fn styled(text: &str) -> String {
    let mut styled = String::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if let Some((mention, after)) = user_mention(rest) {
            styled.push_str(mention);
            rest = after;
        } else if let Some((label, address, after)) = link(rest) {
            let address = escaped(address).replace('|', "%7C");
            styled.extend(["<", &address, "|", &escaped(label), ">"]);
            rest = after;
        } else if let Some(after) = rest.strip_prefix("**") {
            styled.push('*');
            rest = after;
        } else if let Some(after) = rest.strip_prefix("~~") {
            styled.push('~');
            rest = after;
        } else {
            styled.push_str(&escaped(c.encode_utf8(&mut [0; 4])));
            rest = rest.strip_prefix(c).unwrap_or_default();
        }
    }
    styled
}

/// Splits a mention such as `<@U123>` off.
fn user_mention(text: &str) -> Option<(&str, &str)> {
    let id = text.strip_prefix("<@")?;
    let (id, after) = id.split_once('>')?;
    let is_id = !id.is_empty()
        && id
            .chars()
            .all(|c| c.is_ascii_uppercase() || c.is_ascii_digit());
    let length = text.len() - after.len();
    is_id.then(|| text.split_at_checked(length)).flatten()
}

/// Splits a link such as `[label](address)` off.
fn link(text: &str) -> Option<(&str, &str, &str)> {
    let (label, rest) = text.strip_prefix('[')?.split_once("](")?;
    let (address, after) = rest.split_once(')')?;
    let is_web = address.starts_with("https://") || address.starts_with("http://");
    (is_web && !label.contains('[') && !address.contains(['<', '>', ' ']))
        .then_some((label, address, after))
}

/// Removes the escapes and the angle brackets of links.
pub(super) fn to_markdown_text(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('<') {
        plain.push_str(before);
        match after.split_once('>') {
            Some((inside, after)) => {
                plain.push_str(&readable(inside));
                rest = after;
            }
            None => {
                plain.push('<');
                rest = after;
            }
        }
    }
    plain.push_str(rest);
    plain
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&amp;", "&")
}

fn readable(inside: &str) -> String {
    if inside.starts_with(['@', '!']) {
        return format!("<{inside}>");
    }
    match inside.split_once('|') {
        Some((channel, name)) if channel.starts_with('#') => format!("#{name}"),
        Some((address, label)) if address.ends_with(label) => label.to_owned(),
        Some((address, label)) => format!("[{label}]({address})"),
        None => inside.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn markdown_becomes_mrkdwn() {
        for (markdown, expected) in [
            ("**bold** and ~~gone~~", "*bold* and ~gone~"),
            ("# Title **x**", "*Title x*"),
            ("#hash", "#hash"),
            ("[a](https://x.y/?q=1&r=2)", "<https://x.y/?q=1&amp;r=2|a>"),
            ("[a](javascript:x)", "[a](javascript:x)"),
            (
                "<!channel> <@U123> <@u> a < b",
                "&lt;!channel&gt; <@U123> &lt;@u&gt; a &lt; b",
            ),
            ("`**a** <b>` **c**", "`**a** &lt;b&gt;` *c*"),
            (
                "```rust\nlet **x** = <T>;\n```\n**y**",
                "```\nlet **x** = &lt;T&gt;;\n```\n*y*",
            ),
        ] {
            assert_eq!(to_mrkdwn(markdown), expected);
        }
    }

    #[test]
    fn texts_of_slack_become_plain() {
        for (text, expected) in [
            ("a &lt;b&gt; &amp;&amp; c", "a <b> && c"),
            (
                "<https://x.y|x.y> <https://x.y|docs> <https://z>",
                "x.y [docs](https://x.y) https://z",
            ),
            ("<@U1> in <#C1|general>", "<@U1> in #general"),
            ("a < b", "a < b"),
        ] {
            assert_eq!(to_markdown_text(text), expected);
        }
    }
}
