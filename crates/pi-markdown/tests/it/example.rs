//! A snapshot of the example's output.

use pi_tui::{Component as _, strip_ansi};

#[expect(dead_code, reason = "the example's main function is not run here")]
#[path = "../../examples/markdown.rs"]
mod markdown;

#[test]
fn sample() {
    let lines = markdown::document(markdown::SAMPLE).render(60);
    let lines: Vec<String> = lines
        .iter()
        .map(|line| strip_ansi(line).trim_end().to_owned())
        .collect();
    insta::assert_snapshot!(lines.join("\n"));
}
