//! Rendering of all blocks in different states and widths.

mod tool_rows;

use std::sync::Arc;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures_util::FutureExt as _;
use pi_markdown::MermaidRendering;
use pi_protocol::settings::ToolRows;
use pi_protocol::{
    AssistantBlock, AssistantMessage, BashExecutionMessage, ImageContent, InputBlock,
    MessageContent, StopReason, ThinkingContent,
};
use pi_tui::{
    ColorMode, ColorScheme, ColorToken, Component as _, ImageProtocol, MouseButton, MouseEvent,
    MouseEventKind, TerminalCapabilities, TerminalColors, Theme, strip_ansi, visible_width,
};
use pi_views::theme::image_converter::ImageConversion;
use pi_views::theme::selector::built_in;
use pi_views::theme::ui_theme::{RenderContext, UiTheme};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::*;
use crate::blocks::block::{BlockView, TranscriptBlock};
use crate::blocks::user::FOLDED_ROWS as FOLDED_USER_ROWS;
use crate::transcript::{BashOutcome, Notice, NoticeLevel};

/// Returns the rows of a block without colors and trailing padding.
fn shown_with(block: &mut impl TranscriptBlock, width: usize, ctx: &RenderContext) -> Vec<String> {
    let lines = block.lines(width, ctx);
    for line in &lines {
        assert!(
            visible_width(line) <= width,
            "{line:?} is wider than {width}"
        );
    }
    lines
        .iter()
        .map(|line| strip_ansi(line).trim_end().to_owned())
        .collect()
}

/// Tool calls are panels, as in the TypeScript pi.
fn panels() -> RenderContext {
    RenderContext {
        tool_rows: ToolRows::Panel,
        ..RenderContext::for_tests()
    }
}

fn shown(block: &mut impl TranscriptBlock) -> Vec<String> {
    shown_with(block, 60, &panels())
}

fn call(name: &str, arguments: &Value) -> ToolCallBlock {
    ToolCallBlock::new(name, arguments.as_object().unwrap())
}

fn result(text: &str) -> Vec<InputBlock> {
    vec![InputBlock::text(text)]
}

fn done(name: &str, arguments: &Value, text: &str) -> ToolCallBlock {
    let mut block = call(name, arguments);
    block.end(&result(text), None, false);
    block
}

fn numbered(count: usize) -> String {
    let lines: Vec<String> = (1..=count).map(|line| format!("line {line}")).collect();
    lines.join("\n")
}

#[test]
fn a_long_prompt_is_folded_until_it_is_clicked() {
    let lines: Vec<String> = (1..=100).map(|line| format!("line {line}\n")).collect();
    let mut block = UserBlock::of_text(&lines.join("\n")).unwrap();
    let folded = shown(&mut block);
    assert_eq!(folded.len(), 1 + 2 + FOLDED_USER_ROWS + 1, "{folded:?}");
    assert!(
        folded
            .iter()
            .any(|row| row.contains("more lines (ctrl+o to expand)"))
    );
    assert!(block.mouse(&click(3)).handled);
    assert!(shown(&mut block).iter().any(|row| row.contains("line 100")));
    block.set_expanded(false);
    assert_eq!(shown(&mut block), folded);
    let mut short = UserBlock::of_text("short").unwrap();
    shown(&mut short);
    assert!(!short.mouse(&click(3)).handled);
}

#[test]
fn a_prompt_differs_from_a_response_without_colors() {
    let mut block = UserBlock::of_text("fix the parser\n\n- and its tests").unwrap();
    let plain = |theme: Theme| RenderContext {
        theme: Arc::new(theme),
        ..RenderContext::for_tests()
    };
    let colors = TerminalColors::default();
    for theme in [
        built_in("dark", ColorMode::Plain).unwrap(),
        Theme::system(&colors, ColorScheme::Dark, ColorMode::Basic),
    ] {
        let ctx = plain(theme);
        let rows = shown_with(&mut block, 40, &ctx);
        let expected = ["", "▌ fix the parser", "▌", "▌ - and its tests"];
        assert_eq!(rows, expected);
        for width in 1..10 {
            shown_with(&mut block, width, &ctx);
        }
        let unpadded = RenderContext {
            output_padding: 0,
            ..ctx
        };
        let rows = shown_with(&mut block, 40, &unpadded);
        assert_eq!(rows[1], "▌fix the parser");
    }
    let rows = shown_with(&mut block, 40, &RenderContext::for_tests());
    assert!(!rows.concat().contains('▌'), "{rows:?}");
}

fn click(row: usize) -> MouseEvent {
    MouseEvent {
        kind: MouseEventKind::Click { count: 1 },
        button: MouseButton::Left,
        modifiers: pi_tui::Modifiers::default(),
        column: 2,
        row,
        screen_column: 2,
        screen_row: row,
        width: 60,
        height: 10,
    }
}

fn thinking(text: &str) -> AssistantBlock {
    AssistantBlock::Thinking(ThinkingContent {
        thinking: text.to_owned(),
        ..ThinkingContent::default()
    })
}

fn answer(content: Vec<AssistantBlock>, stop_reason: StopReason) -> AssistantMessage {
    AssistantMessage {
        content,
        stop_reason,
        ..AssistantMessage::default()
    }
}

#[test]
fn user_messages_keep_list_markers() {
    let mut block =
        UserBlock::new(&MessageContent::Text("7. seven\n8. eight \\*".to_owned())).unwrap();
    assert_eq!(
        shown(&mut block),
        ["", "", " 7. seven", " 8. eight \\*", ""]
    );
    let lines = block.lines(60, &RenderContext::for_tests());
    assert!(lines.get(1).unwrap().starts_with("\x1b]133;A"));
    assert!(UserBlock::of_text(" \n").is_none());
}

#[test]
fn user_images_are_described() {
    let content = MessageContent::Blocks(vec![
        InputBlock::text("see"),
        InputBlock::Image(ImageContent::new("AAAA", "image/png")),
    ]);
    let mut block = UserBlock::new(&content).unwrap();
    assert_eq!(
        shown(&mut block),
        ["", "", " see", " [Image: [image/png]]", ""]
    );
}

#[test]
fn a_message_shows_text_and_thinking_in_order() {
    let content = vec![
        thinking("First I consider."),
        thinking("Then both."),
        AssistantBlock::text("\nRoses **it** is.\n"),
    ];
    let mut block = AssistantMessageBlock::of(&answer(content, StopReason::Stop));
    assert_eq!(
        shown(&mut block),
        [
            "",
            " First I consider.",
            "",
            " Then both.",
            "",
            " Roses it is."
        ]
    );
    let hidden = RenderContext {
        hide_thinking: true,
        ..RenderContext::for_tests()
    };
    assert_eq!(
        shown_with(&mut block, 60, &hidden),
        ["", " Thinking…", "", " Roses it is."]
    );
    assert!(block.mouse(&click(1)).handled);
    assert_eq!(shown_with(&mut block, 60, &hidden).len(), 6);
    assert!(!block.mouse(&click(5)).handled);
}

#[test]
fn a_streaming_message_renders_like_the_complete_one() {
    let text = "Here is code:\n\n```python\ndef half(x):\n    return x / 2\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nThe **bold** end.";
    let mut growing = AssistantMessageBlock::arriving();
    for end in 0..=text.len() {
        let part = text.get(..end).unwrap();
        growing.grow(&answer(
            vec![thinking("hm"), AssistantBlock::text(part)],
            StopReason::Pending,
        ));
        let mut complete = AssistantMessageBlock::arriving();
        complete.grow(&answer(
            vec![thinking("hm"), AssistantBlock::text(part)],
            StopReason::Pending,
        ));
        assert_eq!(shown(&mut growing), shown(&mut complete), "{part:?}");
    }
    assert!(!growing.is_finished());
    growing.finish(&answer(
        vec![thinking("hm"), AssistantBlock::text(text)],
        StopReason::Stop,
    ));
    assert!(growing.is_finished());
}

#[test]
fn a_message_shows_how_it_failed() {
    let text = || vec![AssistantBlock::text("The beginning")];
    let mut aborted = AssistantMessageBlock::of(&answer(text(), StopReason::Aborted));
    assert_eq!(
        shown(&mut aborted),
        ["", " The beginning", "", " Interrupted."]
    );
    let mut failed = AssistantMessageBlock::of(&AssistantMessage {
        error_message: Some("529 \x1b[2Joverloaded".to_owned()),
        ..answer(Vec::new(), StopReason::Error)
    });
    assert_eq!(shown(&mut failed), ["", " Error: 529 overloaded"]);
    let mut cut = AssistantMessageBlock::of(&answer(text(), StopReason::Length));
    assert!(shown(&mut cut).concat().contains("limit reached"));
    assert!(AssistantMessageBlock::of(&answer(vec![thinking(" ")], StopReason::Stop)).is_blank());
}

#[test]
fn a_command_shows_the_end_of_its_output() {
    let mut block = call("bash", &json!({"command": "seq 300", "timeout": 5}));
    assert_eq!(shown(&mut block), ["", "", " $ seq 300 (timeout 5s)", ""]);
    let start = Instant::now();
    block.begin(start);
    block.update(&result(&numbered(7)), None);
    assert_eq!(
        shown(&mut block),
        [
            "",
            "",
            " $ seq 300 (timeout 5s)",
            "",
            " … 2 earlier lines (ctrl+o to expand)",
            " line 3",
            " line 4",
            " line 5",
            " line 6",
            " line 7",
            "",
            " Running for 0s",
            "",
        ]
    );
    assert_eq!(block.next_tick(), Some(start + Duration::from_secs(1)));
    block.tick(start + Duration::from_secs(1));
    assert!(shown(&mut block).concat().contains("Running for 1s"));
    block.end(&result(&numbered(7)), None, false);
    block.set_duration(Some(1_640));
    block.set_expanded(true);
    let rows = shown(&mut block);
    assert_eq!(rows.len(), 14);
    assert!(rows.contains(&" line 1".to_owned()) && rows.contains(&" Took 1.6s".to_owned()));
    assert_eq!((block.next_tick(), block.is_finished()), (None, true));
}

#[test]
fn truncated_output_names_the_full_output_once() {
    let mut block = call("bash", &json!({"command": "yes"}));
    let details = json!({
        "truncation": {"truncated": true, "truncatedBy": "lines", "outputLines": 2, "totalLines": 9},
        "fullOutputPath": "/tmp/full.log",
    });
    let text = "y\ny\n\n[Showing lines 8-9 of 9. Full output: /tmp/full.log]";
    block.end(&result(text), Some(&details), false);
    assert_eq!(
        shown(&mut block),
        [
            "",
            "",
            " $ yes",
            "",
            " y",
            " y",
            "",
            " [Truncated: showing 2 of 9 lines. Full output:",
            " /tmp/full.log]",
            "",
        ]
    );
}

#[test]
fn arguments_are_shown_while_streaming() {
    let mut block = ToolCallBlock::arriving("write");
    assert_eq!(shown(&mut block), ["", "", " write …", ""]);
    block.arguments_arrived("{\"path\":\"long.txt\",\"content\":\"");
    for row in 1..=12 {
        block.arguments_arrived(&format!("row {row}\\n"));
    }
    let rows = shown(&mut block);
    assert_eq!(rows.get(2).map(String::as_str), Some(" write long.txt"));
    assert_eq!(rows.get(13).map(String::as_str), Some(" row 10"));
    assert_eq!(
        rows.get(14).map(String::as_str),
        Some(" … 2 more lines, 12 total (ctrl+o to expand)")
    );
    block.cancel("Interrupted.");
    assert!(block.is_finished());
    assert_eq!(
        shown(&mut block).get(16).map(String::as_str),
        Some(" Interrupted.")
    );
}

#[test]
fn file_contents_are_shown_only_when_expanded() {
    let arguments = json!({"path": "/home/user/poem.rs", "offset": 10, "limit": 11});
    let mut block = done("read", &arguments, "fn main() {\n\tx();\n}\n");
    assert_eq!(shown(&mut block), ["", "", " read ~/poem.rs:10-20", ""]);
    block.set_expanded(true);
    assert_eq!(
        shown(&mut block),
        [
            "",
            "",
            " read ~/poem.rs:10-20",
            "",
            " fn main() {",
            "    x();",
            " }",
            ""
        ]
    );
    let mut failed = call("read", &json!({"path": "missing.txt"}));
    failed.end(&result("no such file"), None, true);
    assert_eq!(
        shown(&mut failed),
        ["", "", " read missing.txt", "", " no such file", ""]
    );
    let mut skill = done("read", &json!({"path": "/s/baking/SKILL.md"}), "text");
    assert_eq!(
        shown(&mut skill),
        ["", "", " [skill] baking (ctrl+o to expand)", ""]
    );
}

#[test]
fn an_edit_shows_a_preview_and_then_the_diff() {
    let mut block = ToolCallBlock::arriving("edit");
    block.arguments_arrived(
        "{\"path\":\"a.rs\",\"edits\":[{\"oldText\":\"let b = 2;\",\"newText\":\"let b = 2",
    );
    assert_eq!(
        shown(&mut block),
        [
            "",
            "",
            " edit a.rs",
            "",
            " - let b = 2;",
            " + let b = 2",
            ""
        ]
    );
    let diff = json!({"diff": " 2 kept\n-3 let b = 2;\n+3 let b = 22;"});
    block.end(&result("ok"), Some(&diff), false);
    assert_eq!(
        shown(&mut block),
        [
            "",
            "",
            " edit a.rs",
            "",
            "  2 kept",
            " -3 let b = 2;",
            " +3 let b = 22;",
            ""
        ]
    );
}

#[test]
fn searches_show_their_first_lines_and_limits() {
    let arguments = json!({"pattern": "needle", "glob": "*.rs", "limit": 20});
    let mut block = call("grep", &arguments);
    let details = json!({"matchLimitReached": 20, "linesTruncated": true});
    block.end(&result(&numbered(17)), Some(&details), false);
    let rows = shown(&mut block);
    assert_eq!(
        rows.get(2).map(String::as_str),
        Some(" grep /needle/ in . (*.rs) limit 20")
    );
    assert_eq!(
        rows.get(18..).unwrap(),
        [
            " line 15",
            " … 2 more lines (ctrl+o to expand)",
            " [Truncated: 20 matches limit, long lines truncated]",
            "",
        ]
    );
    let mut find = done("find", &json!({"pattern": "*.txt"}), &numbered(21));
    assert!(shown(&mut find).concat().contains("find *.txt in . line 1"));
    assert!(shown(&mut find).concat().contains("… 1 more lines"));
    let mut ls = done("ls", &json!({"path": "a"}), "one.txt");
    assert_eq!(shown(&mut ls), ["", "", " ls a", "", " one.txt", ""]);
}

#[test]
fn an_unknown_tool_shows_arguments_and_output() {
    let arguments = json!({"depth": 7, "name": "x\u{1b}[31my"});
    let mut block = call("dig", &arguments);
    assert_eq!(
        shown(&mut block),
        ["", "", " dig depth=7 name=\"x\\u001b[31my\"", ""]
    );
    block.end(&result("deep"), None, false);
    block.set_expanded(true);
    let rows = shown(&mut block);
    for row in [" dig", " depth=7", " name=\"x\\u001b[31my\"", " deep"] {
        assert!(rows.contains(&row.to_owned()), "{row:?}: {rows:?}");
    }
}

#[test]
fn a_tool_of_an_mcp_server_is_titled_by_server_and_shows_five_lines() {
    let arguments = json!({"seed": "rose"});
    let mut block = done("mcp__garden__plant", &arguments, &numbered(12));
    let rows = shown(&mut block);
    assert!(
        rows.contains(&" garden/plant seed=\"rose\"".to_owned()),
        "{rows:?}"
    );
    assert!(rows.contains(&" line 5".to_owned()) && !rows.contains(&" line 6".to_owned()));
}

#[test]
fn mistyped_arguments_are_handled() {
    let wrong = json!({
        "path": 7, "command": [1], "content": {}, "pattern": null, "edits": "x", "offset": "a",
        "limit": -1, "timeout": {}, "oldText": 5, "glob": 3,
    });
    for name in [
        "read", "write", "edit", "bash", "grep", "find", "ls", "other",
    ] {
        for width in [1, 2, 3, 20, 200] {
            let mut block = call(name, &wrong);
            shown_with(&mut block, width, &panels());
            shown_with(&mut block, width, &RenderContext::for_tests());
            block.end(
                &result("\u{1b}]0;evil\u{7}text\r\nmore"),
                Some(&wrong),
                true,
            );
            for ctx in [panels(), RenderContext::for_tests()] {
                shown_with(&mut block, width, &ctx);
                let lines = block.lines(width, &ctx);
                assert!(!lines.iter().any(|line| line.contains("]0;")));
            }
        }
    }
}

#[test]
fn background_shows_the_state_of_a_call() {
    let ctx = panels();
    let background = |block: &mut ToolCallBlock, token| {
        let open = ctx.style(token).open();
        let lines = block.lines(40, &ctx);
        lines.iter().skip(1).all(|line| line.contains(&open))
    };
    let mut block = call("ls", &json!({}));
    assert!(background(&mut block, ColorToken::ToolPendingBg));
    block.end(&result("x"), None, false);
    assert!(background(&mut block, ColorToken::ToolSuccessBg));
    let mut block = call("ls", &json!({}));
    block.cancel("no");
    assert!(background(&mut block, ColorToken::ToolErrorBg));
}

/// A 1×1 PNG.
const DOT: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

#[test]
fn images_are_drawn_if_supported_and_described_otherwise() {
    let content = vec![
        InputBlock::text("Read image file [image/png]"),
        InputBlock::Image(ImageContent::new(DOT, "image/png")),
    ];
    let mut block = call("read", &json!({"path": "dot.png"}));
    block.end(&content, None, false);
    assert_eq!(shown(&mut block), ["", "", " read dot.png", ""]);
    block.set_expanded(true);
    assert!(shown(&mut block).contains(&" [Image: [image/png] 1x1]".to_owned()));
    let ctx = RenderContext {
        capabilities: TerminalCapabilities {
            images: Some(ImageProtocol::Kitty),
            ..TerminalCapabilities::default()
        },
        image_width: 4,
        ..RenderContext::for_tests()
    };
    let lines = block.lines(60, &ctx);
    assert!(lines.iter().any(|line| line.contains("\x1b_G")));
    assert!(!lines.iter().any(|line| line.contains("[Image:")));
    let hidden = RenderContext {
        show_images: false,
        ..ctx
    };
    let lines = block.lines(60, &hidden);
    assert!(!lines.iter().any(|line| line.contains("\x1b_G")));
}

#[test]
fn other_image_formats_are_drawn_after_conversion() {
    let mut bytes = std::io::Cursor::new(Vec::new());
    ::image::DynamicImage::new_rgb8(2, 2)
        .write_to(&mut bytes, ::image::ImageFormat::Bmp)
        .unwrap();
    let data = STANDARD.encode(bytes.into_inner());
    let mut block = call("read", &json!({"path": "dot.bmp"}));
    let content = [InputBlock::Image(ImageContent::new(data, "image/bmp"))];
    block.end(&content, None, false);
    let ctx = RenderContext {
        capabilities: TerminalCapabilities {
            images: Some(ImageProtocol::Kitty),
            ..TerminalCapabilities::default()
        },
        ..RenderContext::for_tests()
    };
    let is_drawn = |block: &mut ToolCallBlock| {
        let lines = block.lines(60, &ctx);
        lines.iter().any(|line| line.contains("\x1b_G"))
    };
    assert!(!is_drawn(&mut block), "conversion runs on another thread");
    assert!(!is_drawn(&mut block));
    let left = ctx.image_converter.next_batch().now_or_never().unwrap();
    assert_eq!(left.len(), 1, "queued once");
    left.into_iter().for_each(ImageConversion::run);
    assert!(is_drawn(&mut block));
}

#[test]
fn images_are_drawn_with_blocks_if_there_are_enough_colors() {
    let content = vec![InputBlock::Image(ImageContent::new(DOT, "image/png"))];
    let mut call = call("read", &json!({"path": "dot.png"}));
    call.end(&content, None, false);
    let mut user = UserBlock::new(&MessageContent::Blocks(content)).unwrap();
    let colored = RenderContext {
        capabilities: TerminalCapabilities {
            block_images: true,
            ..TerminalCapabilities::default()
        },
        ..RenderContext::for_tests()
    };
    let is_drawn = |block: &mut dyn TranscriptBlock, ctx: &RenderContext| {
        let lines = block.lines(60, ctx);
        lines.iter().any(|line| line.contains('▀'))
    };
    assert!(!is_drawn(&mut call, &colored) && !is_drawn(&mut user, &colored));
    let queued = colored.image_converter.next_batch().now_or_never().unwrap();
    assert_eq!(queued.len(), 2);
    queued.into_iter().for_each(ImageConversion::run);
    assert!(is_drawn(&mut call, &colored) && is_drawn(&mut user, &colored));
    // The description replaces a picture that cannot be drawn.
    let is_described = |call: &mut ToolCallBlock, ctx: &RenderContext| {
        call.set_expanded(true);
        let lines = call.lines(60, ctx);
        lines.iter().any(|line| line.contains("[Image: "))
    };
    assert!(!is_described(&mut call, &colored));
    let theme = pi_views::theme::selector::built_in("dark", pi_tui::ColorMode::Plain);
    let plain = RenderContext {
        theme: Arc::new(theme.unwrap()),
        ..colored.clone()
    };
    assert!(!is_drawn(&mut call, &plain));
    assert!(is_described(&mut call, &plain));
    let hidden = RenderContext {
        show_images: false,
        ..colored
    };
    assert!(!is_drawn(&mut call, &hidden));
}

#[test]
fn files_of_the_directory_are_links_in_finished_blocks() {
    let root = tempfile::tempdir().unwrap();
    std::fs::File::create(root.path().join("a.rs")).unwrap();
    let ui = UiTheme::for_tests();
    ui.update(|ctx| ctx.cwd = root.path().to_owned());
    let message = AssistantMessage {
        content: vec![AssistantBlock::text("See `a.rs:7` and b.rs:7.")],
        stop_reason: StopReason::Stop,
        ..AssistantMessage::default()
    };
    let mut view = BlockView::new(AssistantMessageBlock::arriving(), ui);
    view.block_mut().grow(&message);
    let count = |view: &mut BlockView<AssistantMessageBlock>| {
        let lines = view.render(60);
        let text: String = lines.iter().map(pi_tui::Line::as_str).collect();
        text.matches("\x1b]8;;pi-file:").count()
    };
    assert_eq!(count(&mut view), 0);
    view.block_mut().finish(&message);
    assert_eq!(count(&mut view), 1);
    let lines = view.render(60);
    assert!(
        lines
            .iter()
            .any(|line| line.contains("pi-file:7:0:a.rs\x1b"))
    );
}

#[test]
fn cost_notices_are_shown_only_if_enabled() {
    let mut block = CostBlock::new(CostNotice {
        token: ColorToken::Warning,
        text: "Cache miss\x1b[2J".to_owned(),
    });
    assert!(block.lines(60, &RenderContext::for_tests()).is_empty());
    let ctx = RenderContext {
        show_cost_notices: true,
        ..RenderContext::for_tests()
    };
    assert_eq!(shown_with(&mut block, 60, &ctx), ["", " Cache miss"]);
}

#[test]
fn diagrams_are_drawn_if_enabled() {
    let text = "```mermaid\ngraph LR\nA-->B\n```";
    let message = AssistantMessage {
        content: vec![AssistantBlock::text(text)],
        stop_reason: StopReason::Stop,
        ..AssistantMessage::default()
    };
    for (mermaid, is_code) in [
        (MermaidRendering::Off, true),
        (MermaidRendering::Streaming, false),
    ] {
        let ctx = RenderContext {
            mermaid,
            ..RenderContext::for_tests()
        };
        let lines = shown_with(&mut AssistantMessageBlock::of(&message), 60, &ctx);
        let has_code = lines.iter().any(|line| line.contains("A-->B"));
        assert_eq!(has_code, is_code, "{lines:?}");
    }
}

#[test]
fn a_user_command_is_framed() {
    let border = "─".repeat(30);
    let start = Instant::now();
    let mut block = BashExecutionBlock::running("ls\tx", false, start);
    block.print("one\x1b[3");
    block.print("1m red\n\ttwo\n");
    assert_eq!(
        shown_with(&mut block, 30, &RenderContext::for_tests()),
        [
            "",
            &border,
            " $ ls   x",
            "",
            " one red",
            "    two",
            "",
            " ⠋ Running… (escape to stop)",
            &border,
        ]
    );
    assert!(block.next_tick().is_some());
    let end = BashOutcome {
        exit_code: Some(4),
        cancelled: false,
        truncated: false,
        full_output_path: None,
        error: None,
    };
    block.finish(&end);
    let rows = shown_with(&mut block, 30, &RenderContext::for_tests());
    assert_eq!(rows.get(7).map(String::as_str), Some(" (exit 4)"));
    assert_eq!(block.next_tick(), None);
}

#[test]
fn user_command_output_is_bounded() {
    let mut block = BashExecutionBlock::running("yes", true, Instant::now());
    for number in 0..40_000 {
        block.print(&format!("printed line {number}\n"));
    }
    let rows = shown(&mut block);
    assert_eq!(rows.len(), 28);
    assert!(rows.contains(&" printed line 39999".to_owned()));
    let mut stored = BashExecutionBlock::of(&BashExecutionMessage {
        command: "x".to_owned(),
        output: numbered(3),
        cancelled: true,
        truncated: true,
        full_output_path: Some("/tmp/all".to_owned()),
        ..BashExecutionMessage::default()
    });
    let text = shown(&mut stored).concat();
    assert!(text.contains("(stopped)") && text.contains("Full output: /tmp/all"));
}

#[test]
fn summaries_and_skills_are_collapsed_by_default() {
    let summarized = Summarized::Compaction {
        tokens_before: 1_030_010,
    };
    let mut block = SummaryBlock::new(summarized, "## Goal\n\nGrow hollyhocks.");
    let short = [
        "",
        "",
        " [compaction]",
        "",
        " Compacted 1,030,010 tokens (ctrl+o to expand)",
        "",
    ];
    assert_eq!(shown(&mut block), short);
    assert!(block.mouse(&click(2)).handled);
    assert!(shown(&mut block).contains(&" Grow hollyhocks.".to_owned()));
    let text = "<skill name=\"knit\" location=\"/s/SKILL.md\">\nUse wool.\n</skill>\n\na sock";
    let skill = SkillCall::parse(text).unwrap();
    assert_eq!((skill.name, skill.message), ("knit", "a sock"));
    let mut block = SkillBlock::new(&skill);
    assert_eq!(
        shown(&mut block),
        ["", "", " [skill] knit (ctrl+o to expand)", ""]
    );
    block.set_expanded(true);
    assert_eq!(
        shown(&mut block),
        ["", "", " [skill] knit", "", " Use wool.", ""]
    );
    assert_eq!(SkillCall::parse("<skill name=\"x\">"), None);
    assert_eq!(SkillCall::parse("about <skill name=\"knit\""), None);
}

#[test]
fn notices_and_custom_messages() {
    let mut notice = NoticeBlock::new(Notice {
        level: NoticeLevel::Warning,
        text: "look\x1b[2J here".to_owned(),
    });
    assert_eq!(shown(&mut notice), ["", " Warning: look here"]);
    let mut facts = NoticeBlock::new(Notice {
        level: NoticeLevel::Info,
        text: "Facts\n  file  /a/long/path and more words".to_owned(),
    });
    assert_eq!(
        shown_with(&mut facts, 24, &RenderContext::for_tests()),
        ["", " Facts", "   file  /a/long/path", "   and more words"]
    );
    let mut report = NoticeBlock::new(Notice {
        level: NoticeLevel::Report,
        text: "Context: 7\x1b[2J\n[██▚·]\n  █ Prompts".to_owned(),
    });
    assert_eq!(
        shown(&mut report),
        ["", " Context: 7", " [██▚·]", "   █ Prompts"]
    );
    let mut custom = CustomBlock::new(
        "other\nkind",
        &MessageContent::Text("a **bold** word".to_owned()),
    );
    assert_eq!(
        shown(&mut custom),
        ["", "", " [other kind]", "", " a bold word", ""]
    );
}

#[test]
fn lines_fit_the_terminal() {
    let wide = "日本語🎉 ".repeat(20);
    for width in 1..40 {
        let ctx = RenderContext::for_tests();
        let mut user = UserBlock::of_text(&wide).unwrap();
        shown_with(&mut user, width, &ctx);
        let content = vec![thinking(&wide), AssistantBlock::text(wide.as_str())];
        let mut answer = AssistantMessageBlock::of(&answer(content, StopReason::Aborted));
        shown_with(&mut answer, width, &ctx);
        let mut bash = done("bash", &json!({"command": wide}), &wide);
        shown_with(&mut bash, width, &ctx);
        let mut edit = call(
            "edit",
            &json!({"path": wide, "oldText": wide, "newText": "x"}),
        );
        shown_with(&mut edit, width, &ctx);
        let mut user_command = BashExecutionBlock::running(&wide, false, Instant::now());
        user_command.print(&wide);
        shown_with(&mut user_command, width, &ctx);
        let mut earlier = EarlierBlock::new(100_000);
        shown_with(&mut earlier, width, &ctx);
    }
}
