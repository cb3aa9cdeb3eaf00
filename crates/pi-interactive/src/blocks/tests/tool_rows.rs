//! Collapsed tool calls: one row each, and the output that matters.

use pi_protocol::settings::ToolRows;
use pretty_assertions::assert_eq;

use super::*;

fn rows(block: &mut ToolCallBlock, width: usize) -> Vec<String> {
    shown_with(block, width, &RenderContext::for_tests())
}

fn finished(name: &str, arguments: &Value, text: &str, millis: u64) -> ToolCallBlock {
    let mut block = done(name, arguments, text);
    block.set_duration(Some(millis));
    block
}

fn failed(name: &str, arguments: &Value, text: &str) -> ToolCallBlock {
    let mut block = call(name, arguments);
    block.end(&result(text), None, true);
    block
}

#[test]
fn calls_are_one_row_with_status_result_and_time() {
    let diff = json!({"diff": " 2 kept\n-3 let b = 2;\n+3 let b = 22;\n+4 let c = 3;"});
    let mut edit = call("edit", &json!({"path": "src/retry.py"}));
    edit.end(&result("ok"), Some(&diff), false);
    let content = "def f():\n    return 1\n";
    let table = [
        (
            finished("read", &json!({"path": "a.rs"}), &numbered(40), 3),
            "✓ read a.rs  40 lines",
        ),
        (
            done(
                "read",
                &json!({"path": "a.rs", "limit": 1}),
                "x\n\n[9 more lines in file. Use offset=2 to continue]",
            ),
            "✓ read a.rs:1-1  1 line",
        ),
        (edit, "✓ edit src/retry.py  +2 −1"),
        (
            done(
                "write",
                &json!({"path": "f.py", "content": content}),
                "Wrote f.py",
            ),
            "✓ write f.py  2 lines",
        ),
        (
            done(
                "grep",
                &json!({"pattern": "x"}),
                "a.rs:3: x\na.rs-4- y\nb/c.rs:17: x",
            ),
            "✓ grep /x/ in .  2 matches",
        ),
        (
            done("find", &json!({"pattern": "*.q"}), "(no files found)"),
            "✓ find *.q in .  0 files",
        ),
        (
            done("ls", &json!({"path": "a"}), "one.txt"),
            "✓ ls a  1 entry",
        ),
        (
            finished("bash", &json!({"command": "true"}), "(no output)", 40),
            "✓ $ true",
        ),
        (
            finished(
                "bash",
                &json!({"command": "seq 9\necho x"}),
                &numbered(9),
                1_640,
            ),
            "✓ $ seq 9 …  9 lines  1.6s",
        ),
        (
            failed(
                "bash",
                &json!({"command": "make"}),
                "no rule\n\nCommand exited with code 2",
            ),
            "✗ $ make  exit 2",
        ),
        (
            failed(
                "bash",
                &json!({"command": "make"}),
                "Command timed out after 5 seconds",
            ),
            "✗ $ make  timed out after 5s",
        ),
    ];
    for (mut block, expected) in table {
        let shown = rows(&mut block, 60);
        assert_eq!(shown.get(1).unwrap().trim_start(), expected, "{shown:?}");
    }
}

#[test]
fn only_output_that_matters_is_below_a_row() {
    let mut bash = done("bash", &json!({"command": "seq 9"}), &numbered(9));
    let tail = ["   line 7", "   line 8", "   line 9"];
    assert_eq!(rows(&mut bash, 60).get(2..).unwrap(), tail);
    let mut make = failed(
        "bash",
        &json!({"command": "make"}),
        "cc x.c\nx.c:1: error\n\nCommand exited with code 2",
    );
    assert_eq!(
        rows(&mut make, 60).get(2..).unwrap(),
        ["   cc x.c", "   x.c:1: error"]
    );
    let mut read = done("read", &json!({"path": "a.rs"}), &numbered(9));
    assert_eq!(rows(&mut read, 60).len(), 2);
    let mut missing = failed("read", &json!({"path": "a.rs"}), "no such file");
    assert_eq!(
        rows(&mut missing, 60).get(2..).unwrap(),
        ["   no such file"]
    );
    let line = RenderContext {
        tool_rows: ToolRows::Line,
        ..RenderContext::for_tests()
    };
    assert_eq!(shown_with(&mut bash, 60, &line).len(), 2);
    assert_eq!(
        shown_with(&mut missing, 60, &line).len(),
        3,
        "failures stay visible"
    );
}

#[test]
fn a_running_call_shows_its_time_and_the_end_of_its_output() {
    let mut block = call("bash", &json!({"command": "make"}));
    assert_eq!(rows(&mut block, 60), ["", " ◦ $ make"]);
    let start = Instant::now();
    block.begin(start);
    block.update(&result(&numbered(2)), None);
    assert_eq!(
        rows(&mut block, 60),
        ["", " ▸ $ make", "   line 1", "   line 2"]
    );
    block.tick(start + Duration::from_secs(1));
    assert_eq!(rows(&mut block, 60).get(1).unwrap(), " ▸ $ make  1s");
}

#[test]
fn a_call_that_did_not_run_has_no_time() {
    let mut block = call("bash", &json!({"command": "git push"}));
    let start = Instant::now();
    block.begin(start);
    block.tick(start + Duration::from_secs(9));
    block.end(&result("The user denied this tool call"), None, true);
    block.set_duration(None);
    assert_eq!(
        rows(&mut block, 60),
        ["", " ✗ $ git push", "   The user denied this tool call"]
    );
}

#[test]
fn rows_of_a_group_have_no_gap_and_a_click_opens_the_panel() {
    let mut block = done("read", &json!({"path": "a.rs"}), "x");
    block.set_follows_call(true);
    assert_eq!(rows(&mut block, 60), [" ✓ read a.rs  1 line"]);
    assert!(block.mouse(&click(0)).handled);
    assert_eq!(rows(&mut block, 60), ["", "", " read a.rs", "", " x", ""]);
}

#[test]
fn long_titles_are_cut_before_the_result() {
    let mut block = failed(
        "bash",
        &json!({"command": "a".repeat(80)}),
        "Command exited with code 101",
    );
    let shown = rows(&mut block, 40);
    let row = shown.get(1).unwrap();
    assert!(
        row.ends_with("…  exit 101") && visible_width(row) <= 40,
        "{row}"
    );
    assert!(rows(&mut block, 12).get(1).unwrap().starts_with(" ✗ $ aa"));
}
