use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use pi_protocol::EntryBody;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::*;
use crate::dialogs::dialog::Dialog as _;
use crate::dialogs::testing::{DialogTester, HOSTILE, fits_every_size, survives_random_input};

const NOW: i64 = 1_772_700_000_000;

/// A tree of entries: ID, parent, and the entry's fields.
struct TestTree {
    entries: Vec<Entry>,
}

impl TestTree {
    fn new() -> Self {
        Self {
            entries: Vec::new(),
        }
    }

    fn add(mut self, id: &str, parent: Option<&str>, fields: &Value) -> Self {
        let mut entry = json!({
            "id": id, "parentId": parent, "timestamp": "2026-03-05T09:00:00.000Z",
        });
        let object = entry.as_object_mut().unwrap();
        object.extend(fields.as_object().unwrap().clone());
        self.entries.push(serde_json::from_value(entry).unwrap());
        self
    }

    fn user(self, id: &str, parent: Option<&str>, text: &str) -> Self {
        let message = json!({"role": "user", "content": text, "timestamp": 0});
        self.add(id, parent, &json!({"type": "message", "message": message}))
    }

    fn assistant(self, id: &str, parent: &str, content: &Value) -> Self {
        let message = json!({"role": "assistant", "content": content, "stopReason": "stop"});
        self.add(
            id,
            Some(parent),
            &json!({"type": "message", "message": message}),
        )
    }

    fn assistant_text(self, id: &str, parent: &str, text: &str) -> Self {
        self.assistant(id, parent, &json!([{"type": "text", "text": text}]))
    }

    fn tree(&self) -> SessionTree {
        let indices: HashMap<&str, usize> = self
            .entries
            .iter()
            .enumerate()
            .map(|(index, entry)| (entry.id.as_str(), index))
            .collect();
        let parent = |entry: &Entry| {
            let parent = entry.parent_id.as_ref()?;
            indices.get(parent.as_str()).copied()
        };
        let mut nodes: Vec<pi_protocol::TreeNode> = self
            .entries
            .iter()
            .map(|entry| pi_protocol::TreeNode {
                id: entry.id.clone(),
                kind: entry.body.kind(),
                timestamp_ms: entry
                    .timestamp
                    .parse::<jiff::Timestamp>()
                    .unwrap()
                    .as_millisecond(),
                parent: parent(entry),
                children: Vec::new(),
                label: None,
            })
            .collect();
        let mut roots = Vec::new();
        for (index, entry) in self.entries.iter().enumerate() {
            match parent(entry) {
                Some(parent) => nodes[parent].children.push(index),
                None => roots.push(index),
            }
            if let EntryBody::Label(label) = &entry.body {
                let target = indices[label.target_id.as_str()];
                nodes[target].label = label.label.clone().map(|text| NodeLabel {
                    text,
                    timestamp: entry.timestamp.clone(),
                });
            }
        }
        SessionTree { nodes, roots }
    }

    fn choices(self, leaf: &str) -> TreeDialogOptions {
        let tree = self.tree();
        let entries: HashMap<EntryId, Arc<Entry>> = self
            .entries
            .into_iter()
            .map(|entry| (entry.id.clone(), Arc::new(entry)))
            .collect();
        TreeDialogOptions {
            tree,
            leaf: Some(EntryId::from(leaf)),
            selected: None,
            filter: TreeFilterMode::Default,
            summary: SummaryQuestion::Ask,
            read: Box::new(move |id| entries.get(id).cloned()),
            now_ms: NOW,
            zone: TimeZone::UTC,
        }
    }
}

fn test_tree() -> TestTree {
    TestTree::new()
        .user("1", None, "plan a garden")
        .assistant_text("2", "1", "Should it have dahlias?")
        .user("3", Some("2"), "yes, dahlias")
        .assistant_text("4", "3", "Dahlias planned.")
        .user("5", Some("4"), "and a pond")
        .assistant_text("6", "5", "A pond it gets.")
        .user("7", Some("2"), "no,\tlupins")
        .assistant_text("8", "7", "Lupins planned.")
        .user("9", Some("8"), "how many lupins")
        .assistant(
            "10",
            "9",
            &json!([{"type": "toolCall", "id": "call-1", "name": "read",
                    "arguments": {"path": "beds.txt", "offset": 3, "limit": 2}}]),
        )
        .add(
            "11",
            Some("10"),
            &json!({"type": "message", "message": {"role": "toolResult", "toolCallId": "call-1",
                   "toolName": "read", "content": [{"type": "text", "text": "12"}], "timestamp": 0}}),
        )
        .assistant_text("12", "11", "Twelve lupins.")
        .add(
            "13",
            Some("12"),
            &json!({"type": "label", "targetId": "7", "label": "crossroads"}),
        )
}

fn tester() -> DialogTester<DialogFrame<TreeDialog>> {
    let ui = UiTheme::for_tests();
    DialogTester::new(&ui, TreeDialog::open(ui.clone(), test_tree().choices("12")))
}

#[test]
fn the_current_branch_comes_first() {
    insta::assert_snapshot!(tester().screen());
}

#[test]
fn filters_change_visible_entries() {
    let mut tester = tester();
    let count = |tester: &mut DialogTester<DialogFrame<TreeDialog>>| {
        let screen = tester.screen();
        let line = screen
            .lines()
            .find(|line| line.contains('/') && line.starts_with("   "));
        line.unwrap_or_default().trim().to_owned()
    };
    assert_eq!(count(&mut tester), "7/11");
    tester.press("ctrl+t");
    assert_eq!(count(&mut tester), "6/10 · no tools");
    tester.press("ctrl+t ctrl+u");
    assert_eq!(count(&mut tester), "3/5 · user messages");
    tester.press("ctrl+l");
    assert_eq!(count(&mut tester), "1/1 · labeled");
    tester.press("ctrl+a");
    assert_eq!(count(&mut tester), "3/12 · all");
    tester.press("ctrl+o");
    assert_eq!(count(&mut tester), "3/11");
    tester.press("shift+ctrl+o shift+ctrl+o");
    assert_eq!(count(&mut tester), "1/1 · labeled");
    tester.press("ctrl+d");
    assert_eq!(count(&mut tester), "3/11");
}

#[test]
fn typing_searches_and_escape_clears_the_search_first() {
    let mut tester = tester();
    tester.press("'pond");
    insta::assert_snapshot!(tester.screen());
    tester.press("escape");
    assert!(!tester.is_done());
    assert!(tester.screen().contains("plan a garden"));
    tester.press("escape");
    assert!(tester.is_done());
}

#[test]
fn branches_fold_and_can_be_jumped_to() {
    let mut tester = tester();
    tester.press("ctrl+left");
    assert!(
        tester
            .screen()
            .contains("→ ├⊟ • [crossroads] user: no, lupins")
    );
    tester.press("ctrl+left");
    let screen = tester.screen();
    assert!(screen.contains("→ ├⊞ • [crossroads]"), "{screen}");
    assert!(!screen.contains("Twelve lupins."), "{screen}");
    tester.press("ctrl+left");
    assert!(tester.screen().contains("→ • user: plan a garden"));
    tester.press("ctrl+left");
    insta::assert_snapshot!(tester.screen());
    tester.press("ctrl+right ctrl+right ctrl+right ctrl+right");
    assert!(tester.screen().contains("→ │"), "{}", tester.screen());
}

#[test]
fn an_entry_is_chosen_before_anything_is_asked() {
    let mut tester = tester();
    tester.press("up up enter");
    assert_eq!(
        tester.intents(),
        [Intent::NavigateTree {
            target: EntryId::from("9"),
            summarize: Summarize::Ask
        }]
    );
    assert!(tester.is_done());
}

/// The tree with the question about a summary.
fn asking() -> DialogTester<DialogFrame<TreeDialog>> {
    let ui = UiTheme::for_tests();
    let mut choices = test_tree().choices("12");
    choices.summary = SummaryQuestion::Now;
    choices.selected = Some(EntryId::from("9"));
    DialogTester::new(&ui, TreeDialog::open(ui.clone(), choices))
}

#[test]
fn leaving_a_branch_asks_about_a_summary() {
    let mut tester = asking();
    insta::assert_snapshot!(tester.screen());
    tester.press("enter");
    assert_eq!(
        tester.intents(),
        [Intent::NavigateTree {
            target: EntryId::from("9"),
            summarize: Summarize::No
        }]
    );
    assert!(tester.is_done());
    let mut tester = asking();
    tester.press("escape");
    assert!(tester.screen().contains("Session tree"));
    tester.press("enter");
    assert_eq!(
        tester.intents(),
        [Intent::NavigateTree {
            target: EntryId::from("9"),
            summarize: Summarize::Ask
        }]
    );
}

#[test]
fn a_summary_can_have_instructions() {
    let mut tester = asking();
    tester.press("down down enter");
    assert!(tester.screen().contains("Instructions for the summary"));
    tester.press("escape");
    assert!(
        tester
            .screen()
            .contains("Summarize the current branch before leaving it?")
    );
    tester.press("down down enter 'depths enter");
    assert_eq!(
        tester.intents(),
        [Intent::NavigateTree {
            target: EntryId::from("9"),
            summarize: Summarize::With("depths".to_owned())
        }]
    );
}

#[test]
fn the_question_can_be_skipped() {
    let ui = UiTheme::for_tests();
    let mut choices = test_tree().choices("12");
    choices.summary = SummaryQuestion::Skip;
    choices.selected = Some(EntryId::from("4"));
    let mut tester = DialogTester::new(&ui, TreeDialog::open(ui.clone(), choices));
    tester.press("enter");
    assert_eq!(
        tester.intents(),
        [Intent::NavigateTree {
            target: EntryId::from("4"),
            summarize: Summarize::Skip
        }]
    );
}

#[test]
fn a_label_is_set_and_removed() {
    let mut tester = tester();
    tester.press("shift+l 'here enter shift+t");
    assert_eq!(
        tester.intents(),
        [Intent::SetLabel {
            entry: EntryId::from("12"),
            label: Some("here".to_owned())
        }]
    );
    insta::assert_snapshot!(tester.screen());
    tester.press("shift+l ctrl+u enter");
    assert_eq!(
        tester.intents(),
        [Intent::SetLabel {
            entry: EntryId::from("12"),
            label: None
        }]
    );
}

#[test]
fn the_full_text_is_copied() {
    let mut tester = tester();
    tester.press("ctrl+x");
    assert_eq!(
        tester.intents(),
        [Intent::CopyText("Twelve lupins.".to_owned())]
    );
    assert!(!tester.is_done());
    assert!(tester.screen().contains("Copied."));
}

#[test]
fn a_click_chooses() {
    let mut tester = tester();
    tester.click("and a pond");
    assert!(tester.is_done());
}

#[test]
fn deep_branches_scroll_horizontally() {
    let mut test_tree = TestTree::new().user("0", None, "root");
    for level in 1..30 {
        let parent = (level - 1).to_string();
        test_tree = test_tree
            .user(&level.to_string(), Some(&parent), "deeper")
            .user(&format!("x{level}"), Some(&parent), "aside");
    }
    let ui = UiTheme::for_tests();
    let dialog = TreeDialog::open(ui.clone(), test_tree.choices("29"));
    let mut tester = DialogTester::sized(&ui, dialog, 40, 16);
    let screen = tester.screen();
    let selected = screen.lines().find(|line| line.contains('→')).unwrap();
    assert!(selected.contains("user: deeper"), "{screen}");
}

#[test]
fn a_long_conversation_stays_flat() {
    let mut test_tree = TestTree::new().user("0", None, "begin");
    for index in 1..3_000 {
        let parent = (index - 1).to_string();
        test_tree = test_tree.user(&index.to_string(), Some(&parent), "more");
    }
    let ui = UiTheme::for_tests();
    let mut tester =
        DialogTester::new(&ui, TreeDialog::open(ui.clone(), test_tree.choices("2999")));
    assert!(tester.screen().contains(" → • user: more"));
    tester.press("down");
    assert!(tester.screen().contains(" → • user: begin"));
}

/// Two turns, the first one with two requests, an edited and a written file.
fn costly_tree() -> TestTree {
    let at = |seconds: u64| format!("2026-03-05T07:{:02}:{:02}.000Z", seconds / 60, seconds % 60);
    let usage = |cost: f64| {
        json!({"input": 1_200, "output": 80, "cacheRead": 800, "cacheWrite": 0, "totalTokens": 2_080,
            "cost": {"input": 0, "output": cost, "cacheRead": 0, "cacheWrite": 0, "total": cost}})
    };
    let response = |seconds, cost, content: Value| {
        json!({"type": "message", "timestamp": at(seconds), "message": {"role": "assistant",
            "content": content, "model": "m-1", "stopReason": "stop", "usage": usage(cost)}})
    };
    let result = |seconds, call: &str, tool: &str, details: Value, failed: bool| {
        json!({"type": "message", "timestamp": at(seconds), "message": {"role": "toolResult",
            "toolCallId": call, "toolName": tool, "content": [{"type": "text", "text": "ok"}],
            "details": details, "isError": failed, "durationMs": 2_500, "timestamp": 0}})
    };
    let prompt = |seconds, text: &str| {
        let message = json!({"role": "user", "content": text, "timestamp": 0});
        json!({"type": "message", "timestamp": at(seconds), "message": message})
    };
    let call = |id: &str, tool: &str, arguments: Value| json!({"type": "toolCall", "id": id, "name": tool, "arguments": arguments});
    let calls = json!([
        call("c1", "edit", json!({"path": "src/lib.rs"})),
        call(
            "c2",
            "write",
            json!({"path": "README.md", "content": "1\n2\n3\n"})
        ),
        call(
            "c3",
            "write",
            json!({"path": "/etc/passwd", "content": "1\n"})
        ),
    ]);
    let diff = json!({"diff": "-1 old\n+1 new\n+2 more"});
    TestTree::new()
        .add(
            "1",
            None,
            &prompt(0, "fix the parser and describe it in the README, please"),
        )
        .add("2", Some("1"), &response(20, 0.04, calls))
        .add("3", Some("2"), &result(23, "c1", "edit", diff, false))
        .add(
            "4",
            Some("3"),
            &result(26, "c2", "write", Value::Null, false),
        )
        .add(
            "5",
            Some("4"),
            &result(29, "c3", "write", Value::Null, true),
        )
        .add(
            "6",
            Some("5"),
            &response(
                72,
                0.01,
                json!([{"type": "text", "text": "Fixed and described."}]),
            ),
        )
        .add("7", Some("6"), &prompt(600, "and now a pond"))
        .add(
            "8",
            Some("7"),
            &response(
                603,
                0.002,
                json!([{"type": "text", "text": "A pond it gets."}]),
            ),
        )
}

#[test]
fn a_prompt_has_the_totals_of_its_turn() {
    let ui = UiTheme::for_tests();
    let dialog = TreeDialog::open(ui.clone(), costly_tree().choices("8"));
    let mut tester = DialogTester::sized(&ui, dialog, 80, 40);
    tester.press("ctrl+u up");
    insta::assert_snapshot!(tester.screen());
}

#[test]
fn a_wide_terminal_has_the_preview_next_to_the_tree() {
    let ui = UiTheme::for_tests();
    let dialog = TreeDialog::open(ui.clone(), costly_tree().choices("8"));
    let mut tester = DialogTester::sized(&ui, dialog, 150, 30);
    tester.press("up up up up");
    insta::assert_snapshot!(tester.screen());
    // The preview is no row.
    tester.click_at("README.md", 120);
    assert!(tester.screen().contains("Session tree"));
    tester.click_at("README.md", 20);
    assert!(tester.is_done());
}

#[test]
fn the_style_of_a_cut_row_ends_before_the_preview() {
    let ui = UiTheme::for_tests();
    let dialog = TreeDialog::open(ui.clone(), costly_tree().choices("1"));
    let mut tester = DialogTester::sized(&ui, dialog, 150, 30);
    let screen = tester.screen();
    assert!(
        screen.contains("→ • user: fix the parser and describe it in the README, ple…"),
        "{screen}"
    );
    assert!(tester.is_bold("fix the parser"));
    assert!(!tester.is_bold("Prompt ·"));
}

#[test]
fn a_text_is_cut_where_the_first_value_starts() {
    let ui = UiTheme::for_tests();
    let text = "The script turns every space into a line break, so a word counts twice.";
    let usage = json!({"input": 1, "output": 1, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 2,
        "cost": {"input": 0, "output": 0.5, "cacheRead": 0, "cacheWrite": 0, "total": 0.5}});
    let response = json!({"type": "message", "message": {"role": "assistant", "usage": usage,
        "content": [{"type": "text", "text": text}], "model": "m-1", "stopReason": "stop"}});
    let tree = TestTree::new().add("1", None, &response);
    let dialog = TreeDialog::open(ui.clone(), tree.choices("1"));
    let screen = DialogTester::new(&ui, dialog).screen();
    let row = screen.lines().find(|line| line.contains('→')).unwrap();
    assert_eq!(
        row,
        " → • assistant: The script turns every space into a line break, so a wor…  $0.50"
    );
}

#[test]
fn a_narrow_terminal_has_no_columns() {
    let ui = UiTheme::for_tests();
    let dialog = TreeDialog::open(ui.clone(), costly_tree().choices("8"));
    let mut tester = DialogTester::sized(&ui, dialog, 50, 30);
    let screen = tester.screen();
    assert!(
        !screen.contains("changes") && !screen.contains("2 files"),
        "{screen}"
    );
    assert!(screen.contains("user: fix the parser"), "{screen}");
}

/// Turns of four entries: a prompt, a response that only calls a tool, its result, and a response.
fn long_tree(turns: usize) -> TestTree {
    let mut tree = TestTree::new();
    let mut parent: Option<String> = None;
    for turn in 0..turns {
        let ids = [0, 1, 2, 3].map(|part| (4 * turn + part).to_string());
        let call = format!("c{turn}");
        tree = tree
            .user(&ids[0], parent.as_deref(), &format!("prompt {turn}."))
            .assistant(
                &ids[1],
                &ids[0],
                &json!([{"type": "toolCall", "id": call, "name": "edit", "arguments": {"path": "a"}}]),
            )
            .add(
                &ids[2],
                Some(&ids[1]),
                &json!({"type": "message", "message": {"role": "toolResult", "toolCallId": call,
                    "toolName": "edit", "content": [], "details": {"diff": "+1 x"}, "timestamp": 0}}),
            )
            .assistant_text(&ids[3], &ids[2], &format!("answer {turn}."));
        parent = Some(ids[3].clone());
    }
    tree
}

/// Opens a tree and counts the entries that are read.
fn counted(turns: usize) -> (DialogTester<DialogFrame<TreeDialog>>, Arc<AtomicUsize>) {
    open_counted(long_tree(turns).choices(&(4 * turns - 1).to_string()))
}

fn open_counted(
    mut choices: TreeDialogOptions,
) -> (DialogTester<DialogFrame<TreeDialog>>, Arc<AtomicUsize>) {
    let ui = UiTheme::for_tests();
    let reads = Arc::new(AtomicUsize::new(0));
    let (count, read) = (Arc::clone(&reads), choices.read);
    choices.read = Box::new(move |id| {
        count.fetch_add(1, Ordering::Relaxed);
        read(id)
    });
    let dialog = TreeDialog::open(ui.clone(), choices);
    (DialogTester::sized(&ui, dialog, 100, 40), reads)
}

#[test]
fn a_long_session_is_read_where_it_is_shown() {
    let (mut tester, reads) = counted(5_000);
    let screen = tester.screen();
    assert!(screen.contains("→ • assistant: answer 4999."), "{screen}");
    assert!(screen.contains("1 file"), "{screen}");
    assert!(!screen.contains("(no text)"), "{screen}");
    let opened = reads.swap(0, Ordering::Relaxed);
    assert!(opened < 2_000, "{opened} of 20,000 entries");
    // Three rows for each turn: responses that only call tools are skipped.
    tester.press("up up up");
    let screen = tester.screen();
    assert!(screen.contains("→ • assistant: answer 4998."), "{screen}");
    tester.press("pageUp pageUp pageUp pageUp pageUp pageUp pageUp pageUp");
    let screen = tester.screen();
    assert!(!screen.contains("(no text)"), "{screen}");
    let moved = reads.load(Ordering::Relaxed);
    assert!(moved < 5_000, "{moved} of 20,000 entries");
}

#[test]
fn responses_that_only_call_tools_are_hidden_in_steps() {
    let mut tree = TestTree::new().user("0", None, "one prompt");
    let calls = 5_000;
    for call in 1..=calls {
        let content = json!([{"type": "toolCall", "id": "c", "name": "edit", "arguments": {}}]);
        tree = tree.assistant(&call.to_string(), &(call - 1).to_string(), &content);
    }
    let tree = tree.assistant_text("last", &calls.to_string(), "done");
    let mut choices = tree.choices("last");
    choices.filter = TreeFilterMode::NoTools;
    let (mut tester, reads) = open_counted(choices);
    let opened = reads.swap(0, Ordering::Relaxed);
    assert!(opened < 2_000, "{opened} of {calls}");
    let mut steps = 0;
    while tester.dialog().next_tick().is_some() {
        tester.dialog().tick(Instant::now());
        let read = reads.swap(0, Ordering::Relaxed);
        assert!(read < 2_000, "{read} of {calls} in step {steps}");
        steps += 1;
        assert!(steps < 20);
    }
    let screen = tester.screen();
    assert!(screen.contains("user: one prompt"), "{screen}");
    assert!(screen.contains("→ • assistant: done"), "{screen}");
    assert!(screen.contains("2/2"), "{screen}");
}

#[test]
fn a_long_session_is_searched_in_steps() {
    let (mut tester, reads) = counted(5_000);
    tester.screen();
    reads.store(0, Ordering::Relaxed);
    tester.press("'4321.");
    assert!(tester.screen().contains("searching"), "{}", tester.screen());
    let typed = reads.swap(0, Ordering::Relaxed);
    assert!(typed < 20_000, "{typed} entries for five keys");
    let mut steps = 0;
    while tester.dialog().next_tick().is_some() {
        tester.dialog().tick(Instant::now());
        steps += 1;
        assert!(steps < 200);
    }
    let screen = tester.screen();
    assert!(screen.contains("user: prompt 4321."), "{screen}");
    assert!(screen.contains("assistant: answer 4321."), "{screen}");
    assert!(screen.contains("/2"), "{screen}");
    tester.press("escape");
    let screen = tester.screen();
    assert!(screen.contains("prompt 4320."), "{screen}");
}

#[test]
fn entry_text_is_sanitized() {
    let test_tree = TestTree::new()
        .user("1", None, HOSTILE)
        .assistant_text("2", "1", HOSTILE)
        .add(
            "3",
            Some("2"),
            &json!({"type": "label", "targetId": "1", "label": HOSTILE}),
        );
    let ui = UiTheme::for_tests();
    let mut tester = DialogTester::new(&ui, TreeDialog::open(ui.clone(), test_tree.choices("2")));
    insta::assert_snapshot!(tester.screen());
}

#[test]
fn fits_any_terminal() {
    fits_every_size(TreeDialog::open(
        UiTheme::for_tests(),
        test_tree().choices("12"),
    ));
    fits_every_size(TreeDialog::open(
        UiTheme::for_tests(),
        TestTree::new().choices(""),
    ));
}

#[test]
fn survives_any_input() {
    let ui = UiTheme::for_tests();
    survives_random_input(&ui, || {
        TreeDialog::open(ui.clone(), test_tree().choices("12"))
    });
}
