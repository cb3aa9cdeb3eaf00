//! Renders Mermaid flowcharts and sequence diagrams as text.
//!
//! `flowchart` and `sequence` parse their source and draw it on a `canvas`. Unsupported diagrams
//! are shown as code. If the last line cannot be parsed it is skipped, since it may still be
//! streaming.

mod canvas;
mod flowchart;
mod sequence;

/// Longer sources are shown as code, since the work grows faster than the diagram.
pub(super) const MAX_SOURCE_LEN: usize = 8 * 1024;

/// Renders a diagram as lines. Returns `None` if its kind is unsupported, or if it is invalid or
/// too large.
pub fn mermaid_to_text(source: &str) -> Option<Vec<String>> {
    if source.len() > MAX_SOURCE_LEN {
        return None;
    }
    let lines: Vec<&str> = source
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with("%%"))
        .collect();
    let (header, body) = lines.split_first()?;
    // Statements may follow on the line of the header.
    let (header, first) = header.split_once(';').unwrap_or((header, ""));
    let body: Vec<&str> = Some(first.trim())
        .filter(|first| !first.is_empty())
        .into_iter()
        .chain(body.iter().copied())
        .collect();
    let mut words = header.split_whitespace();
    let canvas = match words.next()? {
        "graph" | "flowchart" => flowchart::draw(words.next(), &body)?,
        "sequenceDiagram" => sequence::draw(&body)?,
        _ => return None,
    };
    Some(canvas.into_lines())
}

/// Whether the info string of a code block names a diagram.
pub(super) fn is_mermaid(info: &str) -> bool {
    info.split_whitespace()
        .next()
        .is_some_and(|word| word.eq_ignore_ascii_case("mermaid"))
}

/// Returns a label without quotes, split at its line breaks.
fn label_lines(label: &str) -> Vec<String> {
    let label = label.trim().trim_matches('"');
    let mut text = label.to_owned();
    for tag in ["<br/>", "<br />", "<br>", "\\n"] {
        text = text.replace(tag, "\n");
    }
    text.lines().map(|line| line.trim().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn unsupported_and_invalid_diagrams_are_rejected() {
        for source in [
            "",
            "pie\n a: 1",
            "graph TD\n A[never closed\n B --> C",
            "sequenceDiagram\n what is this\n A->>B: x",
            "graph TD",
            "sequenceDiagram",
        ] {
            assert_eq!(mermaid_to_text(source), None, "{source:?}");
        }
    }

    #[test]
    fn any_prefix_of_a_diagram_is_accepted() {
        let sources = [
            "graph TD\n A[Start] --> B{Is it?}\n B -->|yes| C(Do it)\n B -- no --> D\n D --> A\n",
            "sequenceDiagram\n autonumber\n participant A as Alice\n A->>+B: Hello\n B-->>-A: Hi\n\
             Note over A,B: both\n loop often\n A->>A: think\n end\n",
        ];
        for source in sources {
            for (end, _) in source.char_indices() {
                mermaid_to_text(source.split_at(end).0);
            }
        }
    }

    #[test]
    fn large_sources_are_bounded() {
        let chain = vec!["n-->m"; 1000].join("-->");
        assert_eq!(mermaid_to_text(&format!("graph TD\n{chain}")), None);
        let nodes: Vec<String> = (0..60).map(|number| format!("n{number}")).collect();
        let chain = nodes.join("-->");
        assert_eq!(mermaid_to_text(&format!("graph TD\n{chain}\nx")), None);
        let messages: Vec<String> = (0..60).map(|number| format!("a->>b{number}:x")).collect();
        let messages = messages.join("\n");
        assert_eq!(
            mermaid_to_text(&format!("sequenceDiagram\n{messages}")),
            None
        );
    }
}
