//! Renders a Markdown file, or a sample.
//!
//! Run with `cargo run -p pi-markdown --example markdown -- README.md`; `COLUMNS` sets the width.

use std::io::{self, Write};

use pi_markdown::{Markdown, MarkdownTheme, SyntaxStyles};
use pi_tui::{Color, Component, Style};

pub(crate) const SAMPLE: &str = r#"# Markdown in a terminal

Text with **bold**, *italic*, ~~struck~~ and `code`, a [link](https://example.com) and
a bare https://example.com/address. Formulas: $E = mc^2$ and \(\sum_{i=1}^{n} x_i \le \infty\).

1. First, an item that is long enough to be wrapped at the width of an ordinary terminal window
2. Second
   - nested, with a task list:
     - [x] done
     - [ ] open

> A quote, with
> > another one inside.

```rust
/// Greets a person.
fn greet(name: &str) -> String {
    format!("Hello, {name}! {}", 42)
}
```

| Language | Typing | Notes |
|----------|--------|-------|
| Rust | static | the borrow checker takes some getting used to, but it catches bugs |
| 日本語 | – | wide characters keep the columns |

---

$$
x = \frac{-b \pm \sqrt{b^2 - 4ac}}{2a}
$$

```mermaid
graph LR
    A[Source] --> B{Known?}
    B -->|yes| C(Diagram)
    B -->|no| D[Code]
```
"#;

fn theme() -> MarkdownTheme {
    let color = |index| Style::plain().fg(Color::Indexed(index));
    MarkdownTheme {
        heading: color(3),
        link: color(4),
        link_url: color(8),
        code: color(6),
        code_block: color(2),
        code_block_border: color(8),
        quote: color(8),
        quote_border: color(8),
        rule: color(8),
        list_bullet: color(6),
        syntax: SyntaxStyles {
            comment: color(8),
            keyword: color(5),
            function: color(4),
            variable: color(7),
            string: color(2),
            number: color(3),
            type_name: color(6),
            operator: color(7),
            punctuation: color(8),
        },
        hyperlinks: true,
        ..MarkdownTheme::default()
    }
}

pub(crate) fn document(text: &str) -> Markdown {
    Markdown::new(text, theme()).padding(1, 1)
}

fn main() -> io::Result<()> {
    let text = match std::env::args().nth(1) {
        Some(path) => std::fs::read_to_string(path)?,
        None => SAMPLE.to_owned(),
    };
    let columns = std::env::var("COLUMNS").ok();
    let width = columns.and_then(|width| width.parse().ok()).unwrap_or(80);
    let mut markdown = document(&text);
    let mut output = io::stdout().lock();
    for line in &markdown.render(width) {
        writeln!(output, "{line}\x1b[0m")?;
    }
    output.flush()
}
