//! Markdown with constructs that models write: lists, quotes, code, tables and formulas at various indentations.
//!
//! Mutations of the corpus rarely keep such lines intact, and a streamed document must
//! determine whether they belong to the same block.

use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};

use crate::replay::{FuzzBudget, run_check};

const MARGINS: &[&str] = &["", "", "", " ", "  ", "   ", "    ", "     "];

const MARKERS: &[&str] = &[
    "- ", "- ", "* ", "+ ", "1. ", "2. ", "7) ", "-", "-   ", "-     ", "1.    ", "> ", "> ", ">",
    "  ", "   ", "    ",
];

const CONTENTS: &[&str] = &[
    "",
    "",
    "a",
    "b c",
    "text that does not fit on a line",
    "漢字",
    "# h",
    "#",
    "===",
    "---",
    "- - -",
    "***",
    "```",
    "````",
    "```rust",
    "~~~",
    "~~~ sh",
    "| a | b |",
    "|-|-|",
    "|---|:-:|",
    "| 1 | 2 |",
    "|",
    "$$",
    "$$ x $$",
    "\\[",
    "\\]",
    "\\(x\\)",
    "$x$",
    "<div>",
    "</div>",
    "<!--",
    "-->",
    "<b>x</b>",
    "[ ] open",
    "[x] done",
    "`",
    "``",
    "*",
    "**strong**",
    "~~gone~~",
    "[a](b)",
    "\\",
    "  ",
    "let x = 1;",
    "1",
    "1.",
    "-",
    "+",
    "*a",
    "_",
];

fn pick(from: &[&'static str], random: &mut StdRng) -> &'static str {
    from[random.random_range(0..from.len())]
}

/// Generates input for the check: a width, a chunk length, and some lines, the last one truncated.
fn document(random: &mut StdRng) -> Vec<u8> {
    let mut bytes = vec![random.random_range(1..=60), random.random_range(1..=6)];
    for _ in 0..random.random_range(1..=12_u8) {
        let mut line = pick(MARGINS, random).to_owned();
        for _ in 0..random.random_range(0..=3_u8) {
            line.push_str(pick(MARKERS, random));
        }
        line.push_str(pick(CONTENTS, random));
        line.push('\n');
        bytes.extend(line.bytes());
    }
    let cut = random.random_range(0..4_usize);
    bytes.truncate((bytes.len() - cut).max(2));
    bytes
}

#[test]
fn streamed_markdown_renders_the_same() {
    let budget = FuzzBudget::from_env();
    let mut random = StdRng::seed_from_u64(budget.seed);
    let runs = budget.run(|| run_check(pi_fuzz_checks::markdown, &document(&mut random), "lines"));
    eprintln!("markdown: {runs} documents of lines");
}
