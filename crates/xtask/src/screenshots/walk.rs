//! `cargo xtask screenshots walk`: the screens that a user meets between the first start and the exit, in several sizes
//! and colors, to be reviewed before a release. They are not stored in the repository.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use pi_test_support::{PtyCommand, PtyTerminal};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::captures::{parse_size, to_png};
use super::scenario::{CONTEXT_WINDOW, MODEL, PROJECT, PROJECT_NAME};
use super::svg::{self, ColorScheme};
use crate::fake_model::{FakeModel, FakeReply, ReplyEnding};

const SIZES: [(u16, u16); 3] = [(80, 24), (120, 40), (200, 50)];

const FIX_PROMPT: &str = "sh test.sh fails. Find the bug and fix it.";
const PUSH_PROMPT: &str = "Push it to origin.";
const KEY_PROMPT: &str = "Is the key still valid?";
const EXPLAIN_PROMPT: &str = "Explain how the counting works.";

const EXPLANATION: &str = "\
The script counts the words of each file:\n\n\
| Step | Command | Result |\n|---|---|---:|\n| read | `cat file` | text |\n| split | `tr ' ' '\\n'` | words |\n| count | `wc -l` | 4 |\n\n\
```sh\nfor file in \"$@\"; do\n    printf '%s: %s\\n' \"$file\" \"$(wc -w < \"$file\")\"  # words, not lines\ndone\n```\n\n\
- [x] repeated spaces\n- [ ] **tabs** and *line breaks* inside of quotes, which";

/// Theme and colors of the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ScreenStyle {
    Dark,
    Light,
    /// The 16 colors of a terminal.
    SixteenColors,
    NoColor,
}

impl ScreenStyle {
    const ALL: [Self; 4] = [Self::Dark, Self::Light, Self::SixteenColors, Self::NoColor];

    fn name(self) -> &'static str {
        match self {
            Self::Dark => "dark",
            Self::Light => "light",
            Self::SixteenColors => "16-colors",
            Self::NoColor => "no-color",
        }
    }

    fn scheme(self) -> ColorScheme {
        match self {
            Self::Light => ColorScheme::Light,
            _ => ColorScheme::Dark,
        }
    }

    fn environment(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Dark | Self::Light => &[("TERM", "xterm-256color"), ("COLORTERM", "truecolor")],
            Self::SixteenColors => &[("TERM", "xterm-16color")],
            Self::NoColor => &[("TERM", "xterm-256color"), ("NO_COLOR", "1")],
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct WalkOptions {
    binary: PathBuf,
    out: PathBuf,
    sizes: Vec<(u16, u16)>,
    styles: Vec<ScreenStyle>,
    /// Only write the screens whose name contains this.
    only: Option<String>,
    png: bool,
}

impl WalkOptions {
    pub(crate) fn parse(arguments: &[&str]) -> Result<Self> {
        let mut options = Self {
            binary: PathBuf::from("target/release/pi"),
            out: PathBuf::from("target/walk"),
            sizes: Vec::new(),
            styles: Vec::new(),
            only: None,
            png: false,
        };
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            let mut value = || {
                let value = arguments.next();
                value.with_context(|| format!("{argument} needs a value"))
            };
            match *argument {
                "--binary" => options.binary = PathBuf::from(value()?),
                "--out" => options.out = PathBuf::from(value()?),
                "--size" => options.sizes.push(parse_size(value()?)?),
                "--only" => options.only = Some((*value()?).to_owned()),
                "--style" => {
                    let name = value()?;
                    let style = ScreenStyle::ALL
                        .into_iter()
                        .find(|style| style.name() == *name);
                    options.styles.push(style.with_context(|| {
                        format!("unknown style {name}: use dark, light, 16-colors or no-color")
                    })?);
                }
                "--png" => options.png = true,
                _ => bail!("`screenshots walk` has no option {argument}"),
            }
        }
        Ok(options)
    }

    /// Returns what to draw: all sizes dark and light, and the smallest with fewer colors, unless something is chosen.
    fn variants(&self) -> Vec<((u16, u16), ScreenStyle)> {
        let is_chosen = !self.styles.is_empty();
        let sizes = if self.sizes.is_empty() {
            SIZES.to_vec()
        } else {
            self.sizes.clone()
        };
        let mut variants = Vec::new();
        for style in ScreenStyle::ALL {
            let is_wanted = |size: &&(u16, u16)| match style {
                _ if is_chosen => self.styles.contains(&style),
                ScreenStyle::Dark | ScreenStyle::Light => true,
                ScreenStyle::SixteenColors | ScreenStyle::NoColor => **size == SIZES[0],
            };
            variants.extend(sizes.iter().filter(is_wanted).map(|size| (*size, style)));
        }
        variants
    }
}

/// Draws the screens and returns the list of written files.
pub(crate) fn run(options: &WalkOptions) -> Result<String> {
    let binary = fs::canonicalize(&options.binary)
        .with_context(|| format!("cannot find {}", options.binary.display()))?;
    let mut written = Vec::new();
    for ((columns, rows), style) in options.variants() {
        let directory = options
            .out
            .join(format!("{columns}x{rows}-{}", style.name()));
        fs::create_dir_all(&directory)?;
        let mut drawn = Vec::new();
        let walk = Walk {
            binary: &binary,
            size: (columns, rows),
            style,
        };
        walk.run(|name, svg| drawn.push((name, svg)))?;
        for (number, (name, svg)) in drawn.into_iter().enumerate() {
            let name = format!("{:02}-{name}", number + 1);
            if options
                .only
                .as_ref()
                .is_some_and(|only| !name.contains(only))
            {
                continue;
            }
            let path = directory.join(name).with_extension("svg");
            File::create(&path)?.write_all(svg.as_bytes())?;
            if options.png {
                to_png(&path)?;
            }
            written.push(path.display().to_string());
        }
    }
    Ok(written.join("\n"))
}

/// One walk in one kind of terminal.
struct Walk<'a> {
    binary: &'a Path,
    size: (u16, u16),
    style: ScreenStyle,
}

impl Walk<'_> {
    fn run(&self, mut draw: impl FnMut(&'static str, String)) -> Result<()> {
        let fresh = TempDir::new()?;
        fs::create_dir_all(fresh.path().join(PROJECT_NAME))?;
        let terminal = self.spawn(fresh.path());
        let mut capture = |terminal: &PtyTerminal, name| {
            let scheme = self.style.scheme();
            wait_until_still(terminal);
            draw(
                name,
                terminal.with_screen(|screen| svg::render(screen, scheme)),
            );
        };
        first_start(&terminal, |name| capture(&terminal, name));
        terminal.quit();

        let home = self.prepared_home()?;
        let mut terminal = self.spawn(home.path());
        daily_use(&terminal, |name| capture(&terminal, name));
        terminal.send("\x04");
        terminal.exit_code();
        capture(&terminal, "exit");
        Ok(())
    }

    /// Returns a home with a model, a project and an earlier session.
    fn prepared_home(&self) -> Result<TempDir> {
        let home = TempDir::new()?;
        let model = FakeModel::start(reply)?;
        let write = |path: &str, text: &str| -> Result<()> {
            let path = home.path().join(path);
            if let Some(parent) = path.parent() {
                fs::create_dir_all(parent)?;
            }
            Ok(File::create(path)?.write_all(text.as_bytes())?)
        };
        write(
            ".pi/agent/models.json",
            &model.models_json("demo", MODEL, CONTEXT_WINDOW),
        )?;
        let settings = json!({
            "theme": self.style.scheme().name(),
            "defaultProvider": "demo",
            "defaultModel": MODEL,
            "enableInstallTelemetry": false,
            "fileHistory": "edits",
            "permissions": { "ask": ["bash(git push *)"] },
            "compaction": { "keepRecentTokens": 40 },
        });
        write(".pi/agent/settings.json", &settings.to_string())?;
        for (path, text) in PROJECT {
            write(&format!("{PROJECT_NAME}/{path}"), text)?;
        }
        Ok(home)
    }

    fn spawn(&self, home: &Path) -> PtyTerminal {
        let mut command = PtyCommand::new(self.binary);
        command.cwd(home.join(PROJECT_NAME));
        command.env_clear();
        let home = home.to_string_lossy().into_owned();
        let path = std::env::var("PATH").unwrap_or_default();
        for (name, value) in [
            ("HOME", home.as_str()),
            ("PATH", path.as_str()),
            ("LANG", "C.UTF-8"),
            ("PI_OFFLINE", "1"),
            ("SHELL", "/bin/sh"),
        ] {
            command.env(name, value);
        }
        for (name, value) in self.style.environment() {
            command.env(name, value);
        }
        PtyTerminal::spawn(command, self.size.0, self.size.1)
    }
}

/// Waits until nothing has changed on the screen for a moment, so that no half-drawn frame is captured. A spinner never
/// stops, so the wait has a limit.
pub(super) fn wait_until_still(terminal: &PtyTerminal) {
    const STILL: Duration = Duration::from_millis(300);
    const LIMIT: Duration = Duration::from_secs(2);
    let start = Instant::now();
    let mut changed = start;
    let mut screen = terminal.screen();
    while changed.elapsed() < STILL && start.elapsed() < LIMIT {
        thread::sleep(Duration::from_millis(30));
        let now = terminal.screen();
        if now != screen {
            screen = now;
            changed = Instant::now();
        }
    }
}

/// Replies to the prompts of the walk.
fn reply(messages: &[Value]) -> FakeReply {
    let last_prompt = messages.iter().rposition(|it| it["role"] == "user");
    let prompt = last_prompt.and_then(|position| messages.get(position));
    let prompt = prompt.map(Value::to_string).unwrap_or_default();
    let since_prompt = messages.iter().skip(last_prompt.unwrap_or_default());
    let results = since_prompt.filter(|it| it["role"] == "tool").count();
    let text = |text: &'static str| FakeReply {
        text: text.into(),
        ..FakeReply::default()
    };
    let call = |text: &'static str, name: &'static str, arguments| FakeReply {
        text: text.into(),
        tool_call: Some((name.into(), arguments)),
        ..FakeReply::default()
    };
    if prompt.contains(KEY_PROMPT) {
        return FakeReply {
            ending: ReplyEnding::Unauthorized,
            ..FakeReply::default()
        };
    }
    if prompt.contains(EXPLAIN_PROMPT) {
        return FakeReply {
            text: EXPLANATION.into(),
            ending: ReplyEnding::Stalled,
            ..FakeReply::default()
        };
    }
    if prompt.contains(PUSH_PROMPT) {
        return match results {
            0 => call("", "bash", json!({"command": "git push origin main"})),
            _ => text("I did not push, because you declined."),
        };
    }
    match results {
        0 => call(
            "I'll look at the script and run the test.",
            "read",
            json!({"path": "wordcount.sh"}),
        ),
        1 => call(
            "",
            "bash",
            json!({"command": "wc -w wordcount.sh missing.txt"}),
        ),
        2 => call(
            "The script turns every space into a line break, so a repeated space counts as a word.",
            "edit",
            json!({"path": "wordcount.sh", "edits": [{
                "oldText": "\"$(tr ' ' '\\n' < \"$file\" | wc -l)\"",
                "newText": "\"$(wc -w < \"$file\" | tr -d ' ')\"",
            }]}),
        ),
        3 => call("", "bash", json!({"command": "wc -w wordcount.sh"})),
        _ => text("Fixed: `wordcount.sh` counts with `wc -w`, which ignores repeated spaces."),
    }
}

/// The first start without any configuration.
fn first_start(terminal: &PtyTerminal, mut capture: impl FnMut(&'static str)) {
    terminal.wait("/login");
    terminal.wait("Choose a theme");
    capture("first-start");
    terminal.send("\r");
    terminal.wait("Sign in now");
    terminal.send("\r");
    terminal.wait("Choose a sign-in method");
    terminal.send("\r");
    terminal.wait("Anthropic");
    capture("sign-in");
    terminal.send("\x1b");
    terminal.wait_gone("Anthropic");
    terminal.send("\x1b");
    terminal.wait_gone("Choose a sign-in method");
}

/// A session with a model.
fn daily_use(terminal: &PtyTerminal, mut capture: impl FnMut(&'static str)) {
    let close = |title: &str| {
        terminal.send("\x1b");
        terminal.wait_gone(title);
    };
    terminal.wait(MODEL);
    terminal.submit(EXPLAIN_PROMPT);
    terminal.wait("line breaks");
    capture("streaming");
    terminal.send("\x1b");
    terminal.wait("Interrupted");

    terminal.submit(FIX_PROMPT);
    terminal.wait("ignores repeated spaces");
    capture("tool-rows");
    // The failed test has scrolled away in a small terminal.
    terminal.send("\x1b[5~");
    capture("failed-tool");
    terminal.send("\x1b[1;5F");

    for (command, title, name) in [
        ("/diff", "Changes of the last turn", "diff"),
        ("/model", "Models of configured", "models"),
        ("/settings", "Auto-compact", "settings"),
        ("/tree", "Session tree", "tree"),
        ("/resume", "Sessions in this directory", "resume"),
        ("/search repeated", " matches", "search"),
        ("/hotkeys", "Lines 1", "hotkeys"),
    ] {
        terminal.submit(command);
        terminal.wait(title);
        capture(name);
        close(title);
    }
    rewind(terminal, &mut capture);
    terminal.send("\x1bx");
    terminal.wait("Open settings");
    capture("palette");
    close("Open settings");

    terminal.submit(PUSH_PROMPT);
    terminal.wait("Allow bash?");
    capture("approval");
    terminal.send("\x1b");
    terminal.wait("you declined");

    terminal.submit("/compact --preview");
    terminal.wait("Compact the conversation?");
    capture("compaction");
    close("Compact the conversation?");

    terminal.submit(KEY_PROMPT);
    terminal.wait("(401)");
    capture("error");

    for (command, text, name) in [
        ("/context", "Largest:", "context"),
        ("/cost", "Output tokens", "cost"),
    ] {
        terminal.submit(command);
        terminal.wait(text);
        capture(name);
    }
    terminal.submit("/settings");
    terminal.wait("Auto-compact");
    terminal.send("theme");
    terminal.wait("Color theme.");
    terminal.send("\r");
    terminal.wait("color-blind-light");
    capture("themes");
    close("color-blind-light");
    terminal.wait("Color theme.");
    close("Color theme.");
}

/// Selects a prompt in the tree, and goes back to it as far as the question about a summary.
fn rewind(terminal: &PtyTerminal, capture: &mut impl FnMut(&'static str)) {
    terminal.submit("/tree");
    terminal.wait("Session tree");
    terminal.send("sh test");
    terminal.wait("1/1");
    capture("tree-search");
    terminal.send("\r");
    terminal.wait("files or both?");
    capture("rewind");
    terminal.send("\r");
    terminal.wait("Summarize the current branch");
    capture("branch-summary");
    terminal.send("\x1b");
    terminal.wait("Session tree");
    terminal.send("\x1b");
    terminal.wait_gone("Session tree");
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn the_smallest_size_is_also_drawn_with_fewer_colors() {
        let all = WalkOptions::parse(&[]).unwrap().variants();
        assert_eq!(all.len(), 8);
        assert!(all.contains(&((80, 24), ScreenStyle::NoColor)));
        assert!(!all.contains(&((200, 50), ScreenStyle::SixteenColors)));
        let chosen = ["--size", "200x50", "--style", "16-colors", "--png"];
        let chosen = WalkOptions::parse(&chosen).unwrap();
        assert_eq!(chosen.variants(), [((200, 50), ScreenStyle::SixteenColors)]);
        for wrong in [&["--style", "pink"][..], &["--size"], &["--what", "x"]] {
            assert!(WalkOptions::parse(wrong).is_err(), "{wrong:?}");
        }
    }
}
