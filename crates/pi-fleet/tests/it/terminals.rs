//! What users see on a terminal, and what the programs of a pipe read.

use pi_test_support::{PtyCommand, PtyTerminal};
use serde_json::json;

use crate::fixture::{Fixture, describe};

/// Prepares a shell command in the home of a fixture.
fn shell(fixture: &Fixture, script: &str) -> PtyCommand {
    let mut command = PtyCommand::new("/bin/sh");
    command.args(["-c", script]);
    command.cwd(fixture.home.path());
    command.env_clear();
    for (name, value) in fixture.environment() {
        command.env(name, value);
    }
    command.env("TERM", "xterm-256color");
    command.env("FLEET", env!("CARGO_BIN_EXE_pi-fleet"));
    command.env("PI", &fixture.pi);
    command
}

#[tokio::test(flavor = "multi_thread")]
async fn the_table_fits_a_terminal_of_eighty_columns() {
    let Some(fixture) = Fixture::new().await else {
        return;
    };
    let names = [
        "a".to_owned(),
        format!("hold-{}", "long-name-".repeat(8) + "x"),
    ];
    fixture.tasks(&names, &json!({}));
    let batch =
        "a-name-of-a-batch-that-is-longer-than-the-line-of-a-terminal-with-80-columns-0f1e2d3c";
    let script =
        format!("\"$FLEET\" run tasks.jsonl --batch {batch} --pi \"$PI\"; echo \"exit $?\"");
    let command = shell(&fixture, &script);
    let terminal = PtyTerminal::spawn(command, 80, 24);
    terminal.wait("1/2  $0.08");
    terminal.wait("1 done  1 running");
    let screen = terminal.screen();
    // The line before the table is wrapped.
    let lines: Vec<&str> = screen.lines().skip(1).collect();
    assert!(
        lines.iter().all(|line| line.chars().count() <= 80),
        "{screen}"
    );
    let heading = lines
        .iter()
        .position(|line| line.starts_with("RUN "))
        .unwrap();
    assert!(
        lines[heading].ends_with("STATUS    TURNS     COST ATTEMPTS"),
        "{screen}"
    );
    assert!(lines[heading + 1].contains("done"), "{screen}");
    assert!(
        lines[heading + 2].starts_with("hold-long-name-"),
        "{screen}"
    );
    fixture.model.open_gate();
    terminal.wait("2/2 finished");
    terminal.wait("exit 0");
    // The table was replaced, not drawn again below.
    let screen = terminal.screen();
    assert_eq!(screen.matches("TURNS").count(), 1, "{screen}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pipe_gets_lines_also_from_a_terminal() {
    let Some(fixture) = Fixture::new().await else {
        return;
    };
    let tasks = fixture.tasks(&["a".to_owned()], &json!({}));
    let output = fixture.run(&tasks, &[]).output().await.unwrap();
    assert!(output.status.success(), "{}", describe(&output));
    let command = shell(&fixture, "\"$FLEET\" watch b | sed 's/^/piped: /'");
    let terminal = PtyTerminal::spawn(command, 80, 24);
    terminal.wait("piped: a done $0.08");
    terminal.wait("piped: b: 1/1 finished");
    terminal.assert_never_wrote(b"TURNS");
    // Without a terminal, `run` prints a line for each result.
    fixture.tasks(&["c".to_owned()], &json!({}));
    let pi = fixture.pi.to_str().unwrap();
    let words = ["run", tasks.to_str().unwrap(), "--batch", "c", "--pi", pi];
    let output = fixture.fleet(&words).output().await.unwrap();
    let text = describe(&output);
    assert!(text.contains("c done (4 turns, $0.08)\n"), "{text}");
    assert!(
        !text.contains('\u{1b}') && !text.contains("TURNS"),
        "{text}"
    );
}
