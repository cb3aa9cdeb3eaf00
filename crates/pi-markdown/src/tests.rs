//! Markdown rendering, and that streaming gives the same result as rendering at once.

use proptest::prelude::*;

use pi_tui::{Color, Component as _, Style, strip_ansi, visible_width};

use super::*;
use pretty_assertions::assert_eq;

fn plain(text: &str, width: usize) -> String {
    let mut markdown = Markdown::new(text, MarkdownTheme::default());
    let lines = markdown.render(width);
    let lines: Vec<String> = lines
        .iter()
        .map(|line| strip_ansi(line).trim_end().to_owned())
        .collect();
    lines.join("\n")
}

#[test]
fn blocks_are_rendered() {
    let cases = [
        ("# One\n## Two\n### Three", "One\n\nTwo\n\n### Three"),
        ("a\nb  \nc", "a\nb\nc"),
        ("a\n\n\n\nb", "a\n\nb"),
        ("a\n- b\n- c\n\nd", "a\n- b\n- c\n\nd"),
        ("- a\n# h", "- a\nh"),
        ("- a\n\n- b", "- a\n\n- b"),
        ("- a\n- b\n\n  c", "- a\n\n- b\n  c"),
        ("- # a\n\n- # b", "- a\n\n- b"),
        ("- a\n  > b\n  >\n- c", "- a\n  │ b\n- c"),
        ("> - a\n>\n> - b", "│ - a\n│\n│ - b"),
        ("- a\n  - b\n\nc", "- a\n    - b\n\nc"),
        ("3. a\n3. b", "3. a\n4. b"),
        ("- a\n  - b\n    1. c", "- a\n    - b\n        1. c"),
        ("- [x] a\n- [ ] b", "☑ a\n☐ b"),
        ("1. [x] a", "1. ☑ a"),
        (
            "|a|b|c|\n|-|-:|:-:|\n|long|1|x|\n|d|22|yyy|",
            "┌──────┬────┬─────┐\n│ a    │  b │  c  │\n├──────┼────┼─────┤\n│ long │  1 │  x  │\n├──────┼────┼─────┤\n│ d    │ 22 │ yyy │\n└──────┴────┴─────┘",
        ),
        (
            "```\n    let a = one_two(three);\n```",
            "```\n      let a =\n        one_two(thre\n        e);\n```",
        ),
        ("-", "-"),
        ("> a\n> b\n>\n> c", "│ a\n│ b\n│\n│ c"),
        ("> > a", "│ │ a"),
        ("---", "────────────────────"),
        ("```rust\nlet a;\n```\nx", "```rust\n  let a;\n```\n\nx"),
        ("    code", "```\n  code\n```"),
        ("<b>x</b>", "<b>x</b>"),
        (
            "a <i>b</i> `c` **d** *e* ~~f~~ ~g~",
            "a <i>b</i> c d e f\n~g~",
        ),
        ("[t](http://x)", "t (http://x)"),
        ("<http://x> [http://x](http://x)", "http://x http://x"),
        ("[t][r]\n\n[r]: http://y", "t (http://y)"),
        ("<me@x.y>", "me@x.y"),
        ("![alt](pic.png)", "alt (pic.png)"),
        ("a $x^2$ b", "a x² b"),
        ("\\(a_1\\) and \\[b\\]", "a₁ and b"),
        ("$$\n\\frac{a}{b}\n$$", "a\n─\nb"),
        ("costs $5 or $6", "costs $5 or $6"),
        (
            "```\n\\(x\\)\n$$\ny\n$$\n```\nx",
            "```\n  \\(x\\)\n  $$\n  y\n  $$\n```\n\nx",
        ),
        (
            "- ```\n  $$\n   y\n  $$\n  ```\n\n\\(x\\)",
            "- ```\n    $$\n     y\n    $$\n  ```\n\nx",
        ),
        ("a\tb", "a   b"),
        ("a\x1b[31mb\x1b]0;x\x07c", "abc"),
        ("", ""),
        ("  \n ", ""),
    ];
    for (source, expected) in cases {
        assert_eq!(plain(source, 20), expected, "{source:?}");
    }
}

#[test]
fn table_columns_share_the_width() {
    let source = "| name | what it is |\n|---|---|\n| a | a long description of it |\n| b | x |";
    assert_eq!(
        plain(source, 60),
        "\
┌──────┬──────────────────────────┐
│ name │ what it is               │
├──────┼──────────────────────────┤
│ a    │ a long description of it │
├──────┼──────────────────────────┤
│ b    │ x                        │
└──────┴──────────────────────────┘"
    );
    assert_eq!(
        plain(source, 24),
        "\
┌──────┬───────────────┐
│ name │ what it is    │
├──────┼───────────────┤
│ a    │ a long        │
│      │ description   │
│      │ of it         │
├──────┼───────────────┤
│ b    │ x             │
└──────┴───────────────┘"
    );
    assert_eq!(plain("|a|b|\n|-|-|", 8), "|a|b|\n|-|-|");
}

#[test]
fn options_preserve_source_text() {
    let mut markdown =
        Markdown::new("* a \\* b\n\n7) c", MarkdownTheme::default()).options(MarkdownOptions {
            keep_list_markers: true,
            keep_escapes: true,
            latex: false,
            mermaid: MermaidRendering::Off,
        });
    let lines = markdown.render(12);
    let lines: Vec<&str> = lines.iter().map(|line| line.trim_end()).collect();
    assert_eq!(lines, ["* a \\* b", "", "7) c"]);
}

#[test]
fn styles_nest_and_close() {
    let theme = MarkdownTheme {
        heading: Style::plain().fg(Color::Indexed(3)),
        code: Style::plain().fg(Color::Indexed(6)),
        link: Style::plain().fg(Color::Indexed(4)),
        hyperlinks: true,
        ..MarkdownTheme::default()
    };
    let mut markdown = Markdown::new("## a `b`", theme.clone());
    assert_eq!(
        markdown.render(5).as_ref(),
        ["\x1b[1;33ma \x1b[22;39m\x1b[1;36mb\x1b[22;39m  "]
    );
    let mut markdown = Markdown::new("[t](http://x/ü)", theme);
    assert_eq!(
        markdown.render(1).as_ref(),
        ["\x1b]8;;http://x/%C3%BC\x1b\\\x1b[4;34mt\x1b[24;39m\x1b]8;;\x1b\\"]
    );
}

#[test]
fn only_web_and_mail_links_are_clickable() {
    let theme = MarkdownTheme {
        hyperlinks: true,
        ..MarkdownTheme::default()
    };
    for (url, is_link) in [
        ("https://example.com", true),
        ("HTTP://example.com", true),
        ("mailto:a@example.com", true),
        ("file:///etc/passwd", false),
        ("file://attacker/share", false),
        ("javascript:alert(1)", false),
        ("vscode://file/x", false),
        ("data:text/html,x", false),
        ("x-man-page://ls", false),
        ("src/main.rs", false),
    ] {
        let mut markdown = Markdown::new(&format!("[text](<{url}>)"), theme.clone());
        let lines = markdown.render(60);
        let shown: Vec<&str> = lines.iter().map(pi_tui::Line::as_str).collect();
        let shown = shown.join("\n");
        assert_eq!(shown.contains("\x1b]8;"), is_link, "{shown:?}");
        // Links that are not clickable show their URL.
        assert_eq!(shown.contains(&format!("({url})")), !is_link, "{shown:?}");
    }
}

#[test]
fn a_background_fills_the_padded_lines() {
    let mut markdown = Markdown::new("a", MarkdownTheme::default())
        .padding(1, 1)
        .background(Style::plain().bg(Color::Indexed(4)));
    assert_eq!(
        markdown.render(3).as_ref(),
        [
            "\x1b[44m   \x1b[49m",
            "\x1b[44m a \x1b[49m",
            "\x1b[44m   \x1b[49m"
        ]
    );
}

const DOCUMENT: &str = "# Title\n\nSome *text* with `code`,\nand a [link][r].\n\n- one\n  - two\n\n\
- three\n\n```rust\nfn main() {\n    println!(\"hi\");\n}\n```\n\n> quote\n> more\n\n| a | b |\n|---|---|\n\
| 1 | 2 |\n\n~~~\nplain ``` code\n~~~\n1. x\n2. y\n\n    indented\n\n```\nnever closed\n``";

fn streamed(pieces: &[&str], width: usize) -> Vec<String> {
    let mut markdown = Markdown::new("", MarkdownTheme::default());
    for piece in pieces {
        markdown.append(piece);
        markdown.render(width);
    }
    markdown
        .render(width)
        .iter()
        .map(ToString::to_string)
        .collect()
}

#[test]
fn every_streamed_prefix_matches_a_full_render() {
    let mut markdown = Markdown::new("", MarkdownTheme::default());
    for (index, character) in DOCUMENT.char_indices() {
        markdown.append(character.encode_utf8(&mut [0; 4]));
        let end = index + character.len_utf8();
        let (start, _) = DOCUMENT.split_at(end);
        let mut complete = Markdown::new(start, MarkdownTheme::default());
        assert_eq!(markdown.render(30), complete.render(30), "{:?}", start);
    }
}

const LISTS_AND_TABLES: &str = "- a\n- b\n  more\n- c\n\n- d\n---\n3. x\n3. y\n\n   z\n10. w\nlazy\n\n|a|b|\n|-|-|\n\
|1|2|\n|longer cell|x|\n|3|\n\n* p\n+ q\n+ r\n|h|\n|-|\n|i|\n- [x] t\n- [ ] u\n\n\n\ntext\n|not|a table\n\n| A | B | C |\n\
|:--|:-:|--:|\n| 1 | 2 | 3 |\n| an answer that needs more room than there is | 2 | 3 |\n| 4 |\n# end\n";

#[test]
fn streamed_lists_and_tables_match_a_full_render() {
    for width in [12, 30, 60] {
        let mut markdown = Markdown::new("", MarkdownTheme::default());
        for (index, character) in LISTS_AND_TABLES.char_indices() {
            markdown.append(character.encode_utf8(&mut [0; 4]));
            let (start, _) = LISTS_AND_TABLES.split_at(index + character.len_utf8());
            let mut complete = Markdown::new(start, MarkdownTheme::default());
            assert_eq!(markdown.render(width), complete.render(width), "{start:?}");
        }
    }
}

/// Returns how many bytes are parsed again when a word is appended after `count` repetitions of
/// `part`.
fn bytes_parsed_again(head: &str, part: &str, count: usize) -> usize {
    let mut markdown = Markdown::new(&(head.to_owned() + &part.repeat(count)), theme());
    markdown.render(60);
    parse::BYTES_PARSED.set(0);
    markdown.append("more ");
    markdown.render(60);
    parse::BYTES_PARSED.get()
}

fn theme() -> MarkdownTheme {
    MarkdownTheme::default()
}

#[test]
fn a_delta_parses_only_the_last_item_or_row() {
    for (head, part) in [
        ("", "- an item\n"),
        ("", "7. an item\n\n   with a second paragraph\n\n"),
        ("|a|b|\n|-|-|\n", "| a | row |\n"),
        ("", "a paragraph\n\n"),
        ("```rust\n", "let code;\n"),
    ] {
        let few = bytes_parsed_again(head, part, 10);
        let many = bytes_parsed_again(head, part, 2000);
        assert_eq!(few, many, "{part:?}");
        assert!(many < 200, "{many} bytes for {part:?}");
    }
}

#[test]
fn diagrams_are_drawn_according_to_the_option() {
    let source = "a\n\n```mermaid\ngraph LR\n A-->B\n```\n\nb\n";
    let is_box_drawn = |mermaid: MermaidRendering, text: &str| {
        let options = MarkdownOptions {
            mermaid,
            ..MarkdownOptions::default()
        };
        let mut markdown = Markdown::new("", theme()).options(options);
        for character in text.chars() {
            markdown.append(character.encode_utf8(&mut [0; 4]));
            markdown.render(40);
        }
        let mut complete = Markdown::new(text, theme()).options(options);
        let lines = complete.render(40);
        assert_eq!(markdown.render(40), lines, "{text:?}");
        lines.iter().any(|line| line.contains("│ A ├──▶│ B │"))
    };
    let (open, _) = source.split_at(source.find("```\n\nb").unwrap());
    for (mermaid, while_open, when_complete) in [
        (MermaidRendering::Off, false, false),
        (MermaidRendering::Final, false, true),
        (MermaidRendering::Streaming, true, true),
    ] {
        assert_eq!(is_box_drawn(mermaid, open), while_open, "{mermaid:?}");
        assert_eq!(is_box_drawn(mermaid, source), when_complete, "{mermaid:?}");
    }
    assert!(plain(source, 8).contains("A-->B"), "too narrow to draw");
}

#[test]
fn transform_changes_the_rendered_text() {
    let mut markdown = Markdown::new("one", theme())
        .transform(|text, columns| format!("{text} in \x1b[1m{columns}\x1b[22m"));
    assert_eq!(strip_ansi(&markdown.render(12)[0]).trim_end(), "one in 12");
    markdown.append(" two");
    let lines = markdown.render(20);
    assert!(lines[0].starts_with("one two in \x1b[1m20"), "{lines:?}");
    assert_eq!(markdown.text(), "one two");
}

#[test]
fn finished_blocks_are_cached() {
    let mut markdown = Markdown::new("# a\n\nb\n\nc\n", MarkdownTheme::default());
    let before = markdown.render(20);
    markdown.append("d\n\ne");
    let after = markdown.render(20);
    assert!(
        before[0].ptr_eq(&after[0]),
        "a finished line is the same line"
    );
    assert!(
        markdown.render(20).ptr_eq(&after),
        "nothing new is the same frame"
    );
    markdown.set_text("# a\n\nb\n\nc\nd\n\ne f");
    assert!(
        before[0].ptr_eq(&markdown.render(20)[0]),
        "growing text is known"
    );
    markdown.set_text("other");
    assert_eq!(markdown.render(5).as_ref(), ["other"]);
}

#[test]
fn deep_nesting_and_long_lines_fit_the_width() {
    let pathological_inputs = [
        ">".repeat(100) + " deep",
        "> ".repeat(20_000),
        "- ".repeat(2_000) + "x",
        "*".repeat(20_000) + "x",
        "[".repeat(20_000),
        "`".repeat(20_000),
        "$".repeat(20_000),
        "|a".repeat(500) + "|\n" + &"|-".repeat(500) + "|\n",
        format!("```\n{}\n```", "x".repeat(1_000_000)),
        "word ".repeat(200_000),
    ];
    for input in pathological_inputs {
        for width in [1, 7, 40, 300] {
            let mut markdown = Markdown::new(&input, MarkdownTheme::default());
            for line in &markdown.render(width) {
                assert!(visible_width(line) <= width);
            }
        }
    }
}

fn snippets() -> impl Strategy<Value = String> {
    let pieces = prop::sample::select(vec![
        "word",
        " ",
        "\n",
        "\n\n",
        "- ",
        "1. ",
        "> ",
        "# ",
        "```",
        "~~~",
        "rust\n",
        "`",
        "*",
        "**",
        "_",
        "~~",
        "[a](b)",
        "|",
        "|-|-|\n",
        "| x | 漢字 |\n",
        "- item\n",
        "2. item\n\n",
        "  more\n",
        "|a|b|\n|-|-|\n",
        "<div>",
        "$",
        "$$",
        "$$\n",
        "\\(",
        "\\)",
        "\\[\n",
        "\\]",
        "--|:",
        "---\n",
        "===\n",
        "    ",
        "👨‍👩‍👧",
        "e\u{301}",
        "\\",
        "http://a.b",
        "[r]: c\n",
        "[r]",
        "\t",
        "\x1b[1m",
        "longlonglonglonglonglongword",
    ]);
    prop::collection::vec(pieces, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn no_line_exceeds_the_width(text in snippets(), width in 1_usize..300) {
        let mut markdown = Markdown::new(&text, MarkdownTheme::default()).padding(1, 0);
        for line in &markdown.render(width) {
            prop_assert!(visible_width(line) <= width, "{line:?}");
        }
    }

    #[test]
    fn streamed_text_matches_a_full_render(text in snippets(), length in 1_usize..20) {
        // Definitions may come after their use, which only the complete text shows.
        prop_assume!(!text.contains("[r]:"));
        let characters: Vec<char> = text.chars().collect();
        let pieces: Vec<String> = characters.chunks(length).map(|it| it.iter().collect()).collect();
        let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
        prop_assert_eq!(streamed(&pieces, 40), streamed(&[&text], 40));
    }
}

#[test]
fn a_delimiter_row_with_too_many_columns_is_not_a_table() {
    for text in ["| x | 漢字 |\n|`- - ---\n|-|-|\n", "1. |\n||\n    -|-"] {
        let pieces: Vec<String> = text.chars().map(String::from).collect();
        let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
        assert_eq!(streamed(&pieces, 40), streamed(&[text], 40), "{text:?}");
    }
}

#[test]
fn a_fence_followed_by_text_does_not_close_a_block() {
    let expected = ["```", "  ```\u{a0}", "```"].map(|line| format!("{line:<9}"));
    let text = "```\n```\u{a0}\n";
    assert_eq!(streamed(&[text], 9), expected);
    let pieces: Vec<String> = text.chars().map(String::from).collect();
    let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
    assert_eq!(streamed(&pieces, 9), expected);
}

#[test]
fn tasks_render_alike_in_tight_and_loose_lists() {
    let tight = streamed(&["- [ ] open\nmore\n- [x] done\n"], 40);
    let loose = streamed(&["- [ ] open\nmore\n\n- [x] done\n"], 40);
    let filled = |lines: Vec<String>| -> Vec<String> {
        let lines = lines.into_iter();
        lines.filter(|line| !line.trim().is_empty()).collect()
    };
    assert_eq!(filled(tight), filled(loose));
}

#[test]
fn streamed_formulas_match_a_full_render() {
    for text in [
        "``` a`b\n\n$$\nx = \\frac`\n",
        "- ```\n  code\n  ```\n\n$$\nx\n$$\n",
        "```\ncode\n``` not closed\n```\n\n\\[\n- x\n\\]\n",
        "$$\nx\n```\ny\n```\n$$\n- z",
        "1. ~~~\n\n$$\n+ x\n+ y",
        "$$\n- x\n y\n",
        "$$\n--|:\n$$\n--|:-$$\n",
        "- a\n\n$$\n|x|\n$$\n|-|\n|\n$$\n|y\n$$\n|z|\n",
        " ```\n$$\n $$\n```\n",
    ] {
        let pieces: Vec<String> = text.chars().map(String::from).collect();
        let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
        assert_eq!(streamed(&pieces, 40), streamed(&[text], 40), "{text:?}");
    }
}

#[test]
fn streamed_loose_items_match_a_full_render() {
    for text in [
        "+ x\n+ \n\n+ \n\nend",
        "- x\n- # b\n\n- # c\n",
        "> - x\n> -\n>\n> -\n",
        "- # a\n- # b\n\n- # c\n",
        "1. a\n   - other\n- [x] done\n-     1. c\n\n   - d\n2. e\n",
        "   - b\n   - - b\n     1. c\n\n  ~ -e\n",
    ] {
        let pieces: Vec<String> = text.chars().map(String::from).collect();
        let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
        assert_eq!(streamed(&pieces, 40), streamed(&[text], 40), "{text:?}");
    }
}

#[test]
fn emphasis_works_next_to_east_asian_text() {
    let bold = |text: &str| {
        let mut markdown = Markdown::new(text, MarkdownTheme::default());
        let lines = markdown.render(80);
        let line = lines.iter().next().map(ToString::to_string);
        let line = line.unwrap_or_default();
        let (_, rest) = line.split_once("\x1b[1m").unwrap_or_default();
        let (inside, _) = rest.split_once("\x1b[22m").unwrap_or_default();
        (inside.to_owned(), strip_ansi(&line).trim_end().to_owned())
    };
    for (text, inside, shown) in [
        ("**「重要」**です", "「重要」", "「重要」です"),
        ("これは**“強調”**です", "“強調”", "これは“強調”です"),
        ("**重要。**然后", "重要。", "重要。然后"),
        ("text**（x）**text", "（x）", "text（x）text"),
        (
            "**该函数(x)**是**重要**的",
            "该函数(x)",
            "该函数(x)是重要的",
        ),
        ("**강조(x)**는", "강조(x)", "강조(x)는"),
        // As before without such text.
        ("**“a”**b", "", "**“a”**b"),
        ("a **b** c", "b", "a b c"),
    ] {
        let expected = (inside.to_owned(), shown.to_owned());
        assert_eq!(bold(text), expected, "{text}");
    }
    // Code, links and definitions keep their text.
    let text = "`**（x）**`\n\n    **（y）**\n\n[**（a）**b](u**（c）**) [r]\n\n[r]: v**（d）**";
    let shown = plain(text, 80);
    for part in [
        "**（x）**",
        "**（y）**",
        "（a）b (u**（c）**)",
        "r (v**（d）**)",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
}

#[test]
fn unclosed_display_math_changes_nothing_after_it() {
    let table = "| a | b |\n|---|---|\n| 1 | 2 |";
    for start in ["$$\nx\n\n", "$$\nx\n"] {
        let shown = plain(&format!("{start}{table}"), 40);
        assert!(shown.contains("$$"), "{shown}");
        assert!(shown.ends_with(&plain(table, 40)), "{shown}");
    }
}

#[test]
fn a_formula_that_is_too_wide_stays_latex() {
    let formula = r"\frac{a+b+c+d}{e+f+g+h}";
    let text = format!("$$\n{formula}\n$$");
    assert_eq!(plain(&text, 40).lines().count(), 3);
    let narrow = plain(&text, 6).replace('\n', "");
    assert_eq!(narrow, format!("$${formula}$$"));
}

#[test]
fn nested_quotes_end_at_the_width() {
    let text = format!("{} deep text", ">".repeat(40));
    let shown = plain(&text, 12);
    assert!(shown.lines().count() < 12, "{shown}");
    assert!(shown.contains("deep"), "{shown}");
}
