//! Tests of how events and entries become blocks, and when blocks are laid out.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use pi_protocol::{
    AgentEvent, AgentMessage, AssistantBlock, AssistantMessage, AssistantMessageEvent, Entry,
    EntryId, EntryKind, InputBlock, MessageBuilder, MessageContent, SessionEvent, SharedMessage,
    StopReason, ToolCall, ToolOutput, ToolResultMessage, UserMessage,
};
use pi_providers::FauxProvider;
use pi_session::{NewSession, Session};
use pi_tui::{
    Keybindings, Platform, RenderOptions, ScreenMode, Size, TUI_ACTIONS, Tui, TuiOptions,
    UserKeybindings,
};
use pretty_assertions::assert_eq;
use serde_json::json;

use super::missing::TranscriptGap;
use super::*;
use crate::blocks::{AssistantMessageBlock, UserBlock};

impl SessionHistory for Session {
    fn branch(&self) -> Vec<EntryId> {
        self.current_branch().ids()
    }

    fn kind(&self, id: &EntryId) -> Option<EntryKind> {
        self.entries().kind(id.as_str())
    }

    fn entry(&self, id: &EntryId) -> Option<Arc<Entry>> {
        self.entries().read(id.as_str()).ok()
    }
}

struct TranscriptTester {
    transcript: Transcript,
    tui: Tui,
    ui: UiTheme,
}

impl TranscriptTester {
    fn new() -> Self {
        let ui = UiTheme::for_tests();
        let mut tui = Tui::new(TuiOptions {
            mode: ScreenMode::Full,
            render: RenderOptions::default(),
            keybindings: Keybindings::new(
                TUI_ACTIONS,
                Platform::Linux,
                &UserKeybindings::default(),
            ),
            wheel: pi_tui::WheelSpeed::Lines(3),
            copy_on_select: false,
        });
        tui.set_size(Size {
            columns: 60,
            rows: 24,
        });
        Self {
            transcript: Transcript::new(ui.clone(), crate::ExtensionUiBridge::default()),
            tui,
            ui,
        }
    }

    fn with<R>(&mut self, change: impl FnOnce(&mut Transcript, &mut Document) -> R) -> R {
        change(&mut self.transcript, self.tui.transcript_mut())
    }

    fn follow(&mut self, step: AgentEvent, now: Instant) {
        self.with(|transcript, document| {
            transcript.on_event(document, &SessionEvent::Agent(step), now);
        });
    }

    fn frame(&mut self) {
        self.tui.frame().unwrap();
    }

    /// Returns the document text without colors and empty lines.
    fn shown(&mut self) -> Vec<String> {
        self.frame();
        let document = self.tui.transcript();
        document
            .lines(0..document.line_count())
            .map(|line| pi_tui::strip_ansi(line).trim().to_owned())
            .filter(|line| !line.is_empty())
            .collect()
    }

    fn layouts<B: TranscriptBlock>(&self, id: BlockId) -> usize {
        let component = self.tui.transcript().get(id).unwrap();
        let view = (component as &dyn Any).downcast_ref::<BlockView<B>>();
        view.unwrap().layouts()
    }

    fn ids(&self) -> Vec<BlockId> {
        self.tui.transcript().ids().collect()
    }
}

fn user(text: &str) -> AgentMessage {
    AgentMessage::from(UserMessage {
        content: MessageContent::Text(text.to_owned()),
        ..UserMessage::default()
    })
}

fn shared(message: AgentMessage) -> SharedMessage {
    SharedMessage::new(message)
}

fn answer(content: Vec<AssistantBlock>, stop_reason: StopReason) -> AssistantMessage {
    AssistantMessage {
        content,
        stop_reason,
        ..AssistantMessage::default()
    }
}

fn bash(id: &str, command: &str) -> ToolCall {
    ToolCall {
        id: id.to_owned(),
        name: "bash".to_owned(),
        arguments: json!({ "command": command }).as_object().cloned().unwrap(),
        ..ToolCall::default()
    }
}

fn tool_result(id: &str, text: &str) -> AgentMessage {
    AgentMessage::from(ToolResultMessage {
        tool_call_id: id.to_owned(),
        tool_name: "bash".to_owned(),
        content: vec![InputBlock::text(text)],
        ..ToolResultMessage::default()
    })
}

/// Sends the builder's pending events.
fn stream(tester: &mut TranscriptTester, builder: &mut MessageBuilder) {
    let message = builder.live();
    for event in builder.take_events() {
        let step = AgentEvent::message_update(message.clone(), event);
        tester.follow(step, Instant::now());
    }
}

#[test]
fn a_finished_block_is_laid_out_once() {
    let mut tester = TranscriptTester::new();
    let message = shared(user("tell me"));
    tester.follow(AgentEvent::MessageStart { message }, Instant::now());
    let mut builder = MessageBuilder::new(&FauxProvider::echo().model(), 0);
    builder.start();
    let text = builder.open_text();
    for word in 0..50 {
        // Several deltas arrive between two frames.
        for piece in ["word ", "by ", "word "] {
            builder.append_text(text, &format!("{piece}{word} "));
            stream(&mut tester, &mut builder);
        }
        tester.frame();
    }
    let ids = tester.ids();
    let liveness = |tester: &TranscriptTester| tester.tui.transcript().liveness(ids[1]);
    assert_eq!(liveness(&tester), Some(Liveness::Live));
    assert_eq!(tester.layouts::<UserBlock>(ids[0]), 1);
    assert_eq!(tester.layouts::<AssistantMessageBlock>(ids[1]), 50);
    builder.close_text(text);
    let complete = builder.live().snapshot();
    let complete = AssistantMessage {
        stop_reason: StopReason::Stop,
        ..complete
    };
    let message = shared(AgentMessage::from(complete));
    tester.follow(AgentEvent::MessageEnd { message }, Instant::now());
    let rows = tester.shown();
    assert!(rows.last().unwrap().ends_with("word 49"));
    assert_eq!(liveness(&tester), Some(Liveness::Settled));
    let before = tester.layouts::<AssistantMessageBlock>(ids[1]);
    for _ in 0..20 {
        tester.with(|transcript, document| {
            let notice = Notice {
                level: NoticeLevel::Status,
                text: "again".to_owned(),
            };
            transcript.add_notice(document, &notice);
        });
        tester.frame();
    }
    assert_eq!(tester.layouts::<AssistantMessageBlock>(ids[1]), before);
    assert_eq!(tester.ids().len(), 3);
}

#[test]
fn a_call_is_shown_from_first_argument_to_result() {
    let mut tester = TranscriptTester::new();
    let now = Instant::now();
    let live = MessageBuilder::new(&FauxProvider::echo().model(), 0).live();
    let update = |event| AgentEvent::message_update(live.clone(), event);
    tester.follow(
        update(AssistantMessageEvent::ToolCallStart {
            content_index: 0,
            id: "1".to_owned(),
            tool_name: "bash".to_owned(),
        }),
        now,
    );
    for delta in ["{\"comm", "and\":\"echo ", "hi"] {
        tester.follow(
            update(AssistantMessageEvent::ToolCallDelta {
                content_index: 0,
                delta: delta.to_owned(),
            }),
            now,
        );
    }
    assert_eq!(tester.shown(), ["◦ $ echo hi"]);
    assert_eq!(tester.layouts::<ToolCallBlock>(tester.ids()[0]), 1);
    let message = answer(
        vec![AssistantBlock::ToolCall(bash("1", "echo hi there"))],
        StopReason::ToolUse,
    );
    let message = shared(AgentMessage::from(message));
    tester.follow(AgentEvent::MessageEnd { message }, now);
    tester.follow(
        AgentEvent::ToolExecutionStart {
            tool_call_id: "1".to_owned(),
            tool_name: "bash".to_owned(),
            args: json!({}),
            parent_tool_call_id: None,
        },
        now,
    );
    assert_eq!(tester.shown(), ["▸ $ echo hi there"]);
    let tick = now + Duration::from_secs(1);
    assert_eq!(tester.transcript.next_tick(), Some(tick));
    tester.with(|transcript, document| transcript.tick(document, tick));
    assert_eq!(tester.shown(), ["▸ $ echo hi there  1s"]);
    tester.follow(
        AgentEvent::ToolExecutionEnd {
            tool_call_id: "1".to_owned(),
            tool_name: "bash".to_owned(),
            result: Box::new(ToolOutput::text("hi")),
            is_error: false,
            duration_ms: Some(1_500),
            parent_tool_call_id: None,
        },
        now + Duration::from_secs(4),
    );
    assert_eq!(tester.shown(), ["✓ $ echo hi there  1.5s", "hi"]);
    assert_eq!(tester.transcript.next_tick(), None);
}

#[test]
fn retries_are_one_line_that_changes() {
    let mut tester = TranscriptTester::new();
    let raw = r#"529: {"error":{"message":"Overloaded"}}"#.to_owned();
    let fail = |tester: &mut TranscriptTester| {
        let message = AssistantMessage {
            error_message: Some(raw.clone()),
            ..answer(Vec::new(), StopReason::Error)
        };
        let message = shared(AgentMessage::from(message));
        tester.follow(AgentEvent::MessageEnd { message }, Instant::now());
    };
    let send = |tester: &mut TranscriptTester, event: &SessionEvent| {
        tester.with(|transcript, document| transcript.on_event(document, event, Instant::now()));
    };
    for attempt in 1..=2 {
        fail(&mut tester);
        let event = SessionEvent::AutoRetryStart {
            attempt,
            max_attempts: 2,
            delay_ms: 0,
            error_message: raw.clone(),
        };
        send(&mut tester, &event);
        assert_eq!(
            tester.shown(),
            [format!("Attempt {attempt} failed: Overloaded (529)")]
        );
    }
    let event = SessionEvent::AutoRetryEnd {
        success: false,
        attempt: 2,
        final_error: None,
        canceled: true,
    };
    send(&mut tester, &event);
    assert_eq!(
        tester.shown(),
        ["Attempt 2 failed: Overloaded (529)", "Retry canceled."]
    );
    fail(&mut tester);
    let event = SessionEvent::AutoRetryEnd {
        success: false,
        attempt: 2,
        final_error: Some(raw.clone()),
        canceled: false,
    };
    send(&mut tester, &event);
    let rows = tester.shown();
    let rows = &rows[1..];
    assert_eq!(rows[0], "Error: Failed after 2 retries: Overloaded (529)");
    assert!(
        rows.concat().contains("/model") && rows.len() <= 3,
        "{rows:?}"
    );
}

#[test]
fn an_interrupted_message_cancels_its_calls() {
    let mut tester = TranscriptTester::new();
    let message = answer(
        vec![
            AssistantBlock::text("Let me see."),
            AssistantBlock::ToolCall(bash("1", "sleep 60")),
        ],
        StopReason::Aborted,
    );
    let message = shared(AgentMessage::from(message));
    tester.follow(AgentEvent::MessageEnd { message }, Instant::now());
    assert_eq!(
        tester.shown(),
        [
            "Let me see.",
            "✗ $ sleep 60",
            "Interrupted before it started."
        ]
    );
    assert!(tester.transcript.calls.is_empty());
}

#[test]
fn expanding_changes_only_expandable_blocks() {
    let mut tester = TranscriptTester::new();
    let mut session = Session::in_memory(Path::new("/project"), NewSession::default()).unwrap();
    session.append_message(user("read it")).unwrap();
    let call = AssistantBlock::ToolCall(bash("1", "seq 9"));
    let message = AgentMessage::from(answer(vec![call], StopReason::ToolUse));
    session.append_message(message).unwrap();
    session
        .append_message(tool_result("1", "1\n2\n3\n4\n5\n6\n7"))
        .unwrap();
    tester.with(|transcript, document| transcript.show_recent(document, &session, true, None));
    assert!(tester.shown().contains(&"✓ $ seq 9  7 lines".to_owned()));
    tester.with(|transcript, document| transcript.set_expanded(document, true));
    assert!(tester.shown().contains(&"1".to_owned()));
    let ids = tester.ids();
    assert_eq!(tester.layouts::<UserBlock>(ids[0]), 1);
    assert_eq!(tester.layouts::<ToolCallBlock>(ids[1]), 2);
    tester.ui.update(|ctx| ctx.output_padding = 0);
    tester.tui.invalidate();
    tester.frame();
    assert_eq!(tester.layouts::<UserBlock>(ids[0]), 2);
}

/// Returns a session with this many turns, four entries each.
fn long_session(turns: usize) -> Session {
    let mut session = Session::in_memory(Path::new("/project"), NewSession::default()).unwrap();
    for turn in 0..turns {
        session
            .append_message(user(&format!("ask {turn}")))
            .unwrap();
        let id = format!("call-{turn}");
        let call = AssistantBlock::ToolCall(bash(&id, "x"));
        let message = AgentMessage::from(answer(vec![call], StopReason::ToolUse));
        session.append_message(message).unwrap();
        session.append_message(tool_result(&id, "done")).unwrap();
        let text = vec![AssistantBlock::text(format!("said {turn}"))];
        let message = AgentMessage::from(answer(text, StopReason::Stop));
        session.append_message(message).unwrap();
    }
    session
}

/// Returns where entries are missing.
fn gaps(tester: &TranscriptTester) -> Vec<TranscriptGap> {
    let document = tester.tui.transcript();
    tester.transcript.gaps(document).collect()
}

fn load(tester: &mut TranscriptTester, session: &Session, gap: usize, end: GapEnd) {
    let gap = gaps(tester)[gap];
    tester.with(|transcript, document| transcript.load(document, session, gap, end));
}

/// Returns the numbers of the turns whose answers are shown.
fn said(tester: &mut TranscriptTester) -> Vec<usize> {
    let rows = tester.shown();
    let said = rows.iter().filter_map(|row| row.strip_prefix("said "));
    said.map(|turn| turn.parse().unwrap()).collect()
}

#[test]
fn a_session_is_shown_from_an_entry_on() {
    let mut tester = TranscriptTester::new();
    let session = long_session(2_000);
    let branch = session.current_branch().ids();
    let chosen = branch[100].clone();
    tester.with(|transcript, document| {
        transcript.show_recent(document, &session, true, Some(&chosen));
    });
    let first = tester.transcript.first().unwrap();
    let rows = tester.shown();
    assert_eq!(rows[0], "… 100 earlier entries (pageUp at an empty prompt)");
    // The ones before it are loaded above, and it stays in view.
    load(&mut tester, &session, 0, GapEnd::Last);
    tester.tui.scroll_to_block(first);
    tester.frame();
    let above = tester.tui.lines_above().unwrap();
    let document = tester.tui.transcript();
    let text = document.lines(above..above + 3);
    let text: Vec<_> = text.map(|line| pi_tui::strip_ansi(line)).collect();
    assert!(text.join(" ").contains(&rows[1]), "{text:?} {}", rows[1]);
    assert!(above > 100);
}

#[test]
fn an_early_entry_of_a_long_session_is_shown_without_all_that_follow_it() {
    let mut tester = TranscriptTester::new();
    let session = long_session(5_000);
    // The result of a call of turn 250, which is shown with the call.
    let chosen = session.current_branch().ids()[1_002].clone();
    tester.with(|transcript, document| {
        transcript.show_recent(document, &session, true, Some(&chosen));
    });
    assert!(tester.ids().len() <= 2 * RECENT_ENTRIES + 2);
    let rows = tester.shown();
    assert_eq!(
        rows.get(..3).unwrap(),
        [
            "… 1,001 earlier entries (pageUp at an empty prompt)",
            "✓ $ x",
            "done"
        ]
    );
    let missing = "… 16,999 more entries, loaded while scrolling";
    let line = rows.iter().position(|row| row == missing).unwrap();
    assert_eq!(rows[line - 1], "ask 500");
    assert_eq!(rows[line + 1], "ask 4750");
    // Both gaps are filled from both sides, and what is shown stays in order.
    load(&mut tester, &session, 1, GapEnd::Last);
    load(&mut tester, &session, 1, GapEnd::First);
    load(&mut tester, &session, 0, GapEnd::Last);
    let missing = [
        "… 1 earlier entries (pageUp at an empty prompt)",
        "… 14,999 more entries, loaded while scrolling",
    ];
    let rows = tester.shown();
    let lines: Vec<&String> = rows.iter().filter(|row| row.starts_with('…')).collect();
    assert_eq!(lines, missing.iter().collect::<Vec<_>>());
    load(&mut tester, &session, 0, GapEnd::First);
    let shown: Vec<usize> = (0..750).chain(4_500..5_000).collect();
    assert_eq!(said(&mut tester), shown);
    assert_eq!(gaps(&tester).len(), 1);
    while !gaps(&tester).is_empty() {
        load(&mut tester, &session, 0, GapEnd::First);
    }
    assert_eq!(said(&mut tester), (0..5_000).collect::<Vec<_>>());
}

#[test]
fn an_entry_near_the_recent_part_leaves_no_gap_after_it() {
    for (position, blocks) in [(7_500, 500), (6_900, 1_100), (0, 2_000)] {
        let mut tester = TranscriptTester::new();
        let session = long_session(2_000);
        let chosen = session.current_branch().ids()[position].clone();
        tester.with(|transcript, document| {
            transcript.show_recent(document, &session, true, Some(&chosen));
        });
        let gaps = gaps(&tester);
        let expected: &[bool] = if position == 0 { &[true] } else { &[false] };
        let follows: Vec<bool> = gaps.iter().map(|gap| gap.follows_loaded).collect();
        assert_eq!(follows, expected, "{position}");
        assert!(tester.ids().len() <= blocks + 1, "{position}");
    }
}

#[test]
fn a_long_session_shows_its_recent_part_at_once() {
    let mut tester = TranscriptTester::new();
    let session = long_session(25_000);
    tester.with(|transcript, document| transcript.show_recent(document, &session, true, None));
    assert!(tester.ids().len() <= RECENT_ENTRIES + 2);
    let rows = tester.shown();
    assert_eq!(
        rows.first().unwrap(),
        "… 99,000 earlier entries (pageUp at an empty prompt)"
    );
    assert_eq!(rows.last().unwrap(), "said 24999");
    assert_eq!(gaps(&tester).len(), 1);
}

#[test]
fn the_start_of_a_long_session_is_shown_without_what_follows_it() {
    let mut tester = TranscriptTester::new();
    let session = long_session(2_000);
    tester.with(|transcript, document| transcript.show_recent(document, &session, true, None));
    tester.frame();
    assert!(!gaps(&tester)[0].follows_loaded);
    load(&mut tester, &session, 0, GapEnd::First);
    let rows = tester.shown();
    assert_eq!(rows.get(..4).unwrap(), ["ask 0", "✓ $ x", "done", "said 0"]);
    let missing = "… 6,800 more entries, loaded while scrolling";
    let line = rows.iter().position(|row| row == missing).unwrap();
    assert_eq!(rows[line - 1], "said 49");
    assert_eq!(rows[line + 1], "ask 1750");
    assert!(gaps(&tester)[0].follows_loaded && gaps(&tester)[0].line > 200);
    load(&mut tester, &session, 0, GapEnd::First);
    load(&mut tester, &session, 0, GapEnd::Last);
    let rows = tester.shown();
    let missing = "… 4,800 more entries, loaded while scrolling";
    let line = rows.iter().position(|row| row == missing).unwrap();
    assert_eq!(rows[line - 1], "said 299");
    assert_eq!(rows[line + 1], "ask 1500");
    while !gaps(&tester).is_empty() {
        load(&mut tester, &session, 0, GapEnd::First);
    }
    assert_eq!(said(&mut tester), (0..2_000).collect::<Vec<_>>());
}

#[test]
fn earlier_entries_are_loaded_in_order() {
    let mut tester = TranscriptTester::new();
    let turns = RECENT_ENTRIES;
    let session = long_session(turns);
    tester.with(|transcript, document| transcript.show_recent(document, &session, true, None));
    tester.frame();
    let shown_first = tester.ids()[1];
    let mut steps = 0;
    while !gaps(&tester).is_empty() {
        load(&mut tester, &session, 0, GapEnd::Last);
        steps += 1;
        tester.frame();
    }
    assert_eq!(steps, 3);
    assert_eq!(tester.layouts::<UserBlock>(shown_first), 1);
    assert_eq!(tester.ids().len(), turns * 3);
    let rows = tester.shown();
    assert_eq!(rows.get(..4).unwrap(), ["ask 0", "✓ $ x", "done", "said 0"]);
    assert_eq!(said(&mut tester), (0..turns).collect::<Vec<_>>());
    assert!(!rows.contains(&"No result recorded.".to_owned()));
}

#[test]
fn results_stay_with_their_calls() {
    let mut session = Session::in_memory(Path::new("/project"), NewSession::default()).unwrap();
    session.append_message(user("go")).unwrap();
    let calls = (0..3).map(|call| AssistantBlock::ToolCall(bash(&call.to_string(), "x")));
    let message = answer(calls.collect(), StopReason::ToolUse);
    session.append_message(AgentMessage::from(message)).unwrap();
    for call in 0..3 {
        session
            .append_message(tool_result(&call.to_string(), "done"))
            .unwrap();
    }
    let mut ids = session.current_branch().ids();
    assert_eq!(history::take_recent(&mut ids, 2, &session).len(), 4);
    assert_eq!(ids.len(), 1);
}

#[test]
fn a_status_replaces_the_previous_one_and_other_notices_stay() {
    let mut tester = TranscriptTester::new();
    for (level, text) in [
        (NoticeLevel::Status, "one"),
        (NoticeLevel::Status, "two"),
        (NoticeLevel::Error, "three"),
        (NoticeLevel::Status, "four"),
    ] {
        let text = text.to_owned();
        tester
            .with(|transcript, document| transcript.add_notice(document, &Notice { level, text }));
    }
    assert_eq!(tester.shown(), ["two", "Error: three", "four"]);
}
