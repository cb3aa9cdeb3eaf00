//! The scenario for the screenshots: a small project with a failing test, and a model that fixes it.

use pi_test_support::PtyTerminal;
use serde_json::{Value, json};

use crate::fake_model::FakeReply;

pub(super) const MODEL: &str = "scripted-model";
pub(super) const CONTEXT_WINDOW: u64 = 200_000;
pub(super) const PROJECT_NAME: &str = "wordcount";

const PROGRAM: &str = "\
#!/bin/sh
# Counts the words of each file.
for file in \"$@\"; do
    printf '%s: %s\\n' \"$file\" \"$(tr ' ' '\\n' < \"$file\" | wc -l)\"
done
";

const TEST: &str = "\
#!/bin/sh
printf 'one two  three\\n' > sample.txt
actual=$(sh wordcount.sh sample.txt)
if [ \"$actual\" = 'sample.txt: 3' ]; then
    echo 'ok: repeated spaces'
else
    echo \"FAIL: expected 3 words, got: $actual\"
    exit 1
fi
";

/// Files of the project, by path.
pub(super) const PROJECT: [(&str, &str); 2] = [("wordcount.sh", PROGRAM), ("test.sh", TEST)];

const PROMPT: &str = "sh test.sh fails. Find the bug and fix it.";
const SECOND_PROMPT: &str = "Add a --lines option that counts lines instead.";
const THIRD_PROMPT: &str = "Write a README.md for it.";
const PICTURE_PROMPT: &str = "Draw a small hut on a meadow for the README.";

/// Settings for a run with a theme: no first-run dialogs, a plain scrollback.
pub(super) fn settings(theme: &str) -> String {
    json!({
        "theme": theme,
        "defaultProvider": "demo",
        "defaultModel": MODEL,
        "quietStartup": true,
        "enableInstallTelemetry": false,
        "extensions": ["builtin:image"],
    })
    .to_string()
}

/// The model that draws.
pub(super) fn image_models() -> String {
    json!({"providers": {"demo": {"models": [{"id": "painter"}]}}}).to_string()
}

/// Replies by the number of tool results and prompts in the request.
pub(super) fn reply(messages: &[Value]) -> FakeReply {
    let count = |role: &str| messages.iter().filter(|it| it["role"] == role).count();
    let text = |text: &'static str| FakeReply {
        text: text.into(),
        tool_call: None,
        ..FakeReply::default()
    };
    let call = |text: &'static str, name: &'static str, arguments| FakeReply {
        text: text.into(),
        tool_call: Some((name.into(), arguments)),
        ..FakeReply::default()
    };
    let last_prompt = messages.iter().rfind(|it| it["role"] == "user");
    let is_prompt = |prompt: &str| last_prompt.is_some_and(|it| it.to_string().contains(prompt));
    if is_prompt(SECOND_PROMPT) {
        return text("Added `--lines`: it counts with `wc -l` and prints the same format.");
    }
    if is_prompt(THIRD_PROMPT) {
        return text("Wrote `README.md` with the usage and two examples.");
    }
    if is_prompt(PICTURE_PROMPT) {
        let is_drawn = messages.last().is_some_and(|it| it["role"] == "tool");
        let arguments = json!({"prompt": "A small hut on a meadow", "path": "hut.png"});
        return if is_drawn {
            text("The picture is in `hut.png`.")
        } else {
            call("", "image", arguments)
        };
    }
    match count("tool") {
        0 => call(
            "I'll run the test first.",
            "bash",
            json!({"command": "sh test.sh"}),
        ),
        1 => call(
            "The script turns every space into a line break and counts lines, so a repeated space counts as a word. \
             `wc -w` counts words.",
            "edit",
            json!({"path": "wordcount.sh", "edits": [{
                "oldText": "\"$(tr ' ' '\\n' < \"$file\" | wc -l)\"",
                "newText": "\"$(wc -w < \"$file\" | tr -d ' ')\"",
            }]}),
        ),
        2 => call("", "bash", json!({"command": "sh test.sh"})),
        _ => text(
            "Fixed. `wordcount.sh` now counts with `wc -w`, which ignores repeated spaces. The test passes.",
        ),
    }
}

/// Drives the terminal through the scenario; `capture` takes a screenshot.
pub(super) fn play(terminal: &PtyTerminal, mut capture: impl FnMut(&'static str)) {
    terminal.wait(MODEL);
    terminal.submit(PROMPT);
    terminal.wait("The test passes.");
    capture("interactive");

    terminal.submit("/settings");
    terminal.wait("Auto-compact");
    capture("settings");
    terminal.send("\x1b");
    terminal.wait_gone("Auto-compact");

    terminal.submit(SECOND_PROMPT);
    terminal.wait("prints the same format.");
    terminal.submit("/tree");
    terminal.wait("Session tree");
    // Go back to before the second prompt and take another direction.
    terminal.send("\x1b[A\r");
    terminal.wait("No summary");
    terminal.send("\r");
    terminal.wait("Moved to the selected entry");
    // The editor contains the second prompt now.
    terminal.send("\x03");
    terminal.wait_gone(SECOND_PROMPT);
    terminal.submit(THIRD_PROMPT);
    terminal.wait("two examples.");

    terminal.submit("/tree");
    terminal.wait("Session tree");
    capture("tree");
    terminal.send("\x1b");
    terminal.wait_gone("Session tree");

    terminal.submit(PICTURE_PROMPT);
    terminal.wait("The picture is in");
    terminal.wait("▀▀▀▀");
    capture("image");
}
