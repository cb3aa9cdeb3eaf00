//! Benchmarks of rendering responses, complete and while they stream in.

use divan::{Bencher, counter::ItemsCount};
use pi_markdown::{Markdown, MarkdownTheme, SyntaxStyles};
use pi_tui::{Color, Component, Style};

fn main() {
    divan::main();
}

/// Returns a Markdown response of about `lines` lines: prose, lists, tables and code.
fn response(lines: usize) -> String {
    let section = "## Section\n\nSome *prose* with `code` and a [link](https://example.com), which goes on \
for a while so that it has to be wrapped.\n\n- one\n- two\n  - three\n\n```rust\nfn main() {\n    let response = 42;\n    \
// a comment\n    println!(\"{answer}\");\n}\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n";
    section.repeat(lines / section.lines().count() + 1)
}

fn theme() -> MarkdownTheme {
    MarkdownTheme {
        syntax: SyntaxStyles {
            keyword: Style::plain().fg(Color::Indexed(5)),
            string: Style::plain().fg(Color::Indexed(2)),
            ..SyntaxStyles::default()
        },
        ..MarkdownTheme::default()
    }
}

const TAILS: &[(&str, &str)] = &[
    ("paragraph", "Some words at the "),
    ("code", "```rust\nfn tail() {\n    let x = "),
    ("list", "- item\n- another "),
];

/// Appends one piece to a 2,000-line response and renders it.
#[divan::bench(args = 0..TAILS.len())]
fn append_to_a_streaming_response(bencher: Bencher<'_, '_>, tail: usize) {
    let (_, tail) = TAILS.get(tail).copied().unwrap_or_default();
    let mut markdown = Markdown::new(&response(2000), theme());
    markdown.append(tail);
    markdown.render(100);
    let mut count = 0;
    bencher.counter(ItemsCount::new(1_usize)).bench_local(|| {
        count += 1;
        markdown.append(if count % 12 == 0 { "\n" } else { "word " });
        markdown.render(100)
    });
}

/// Renders a 2,000-line response.
#[divan::bench]
fn render_a_long_response(bencher: Bencher<'_, '_>) {
    let text = response(2000);
    bencher.bench(|| Markdown::new(&text, theme()).render(100));
}
