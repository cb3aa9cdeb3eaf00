//! `cargo xtask screenshots record`: the first minute of a new user as an animated SVG. In a new home directory, a shell
//! installs pi from a release and starts the demo.

use std::collections::HashMap;
use std::fs::File;
use std::io::Write as _;
use std::num::NonZeroU16;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use pi_test_support::{PtyCommand, PtyTerminal};
use tempfile::TempDir;

use super::svg::{self, ColorScheme};

const COLUMNS: u16 = 90;
const ROWS: u16 = 30;

const SAMPLE_INTERVAL: Duration = Duration::from_millis(120);
/// A person who types.
const KEY_INTERVAL: Duration = Duration::from_millis(30);
/// How long the last frame stays before the recording starts again.
const LAST_FRAME: Duration = Duration::from_secs(4);
const TIMEOUT: Duration = Duration::from_mins(2);

const INSTALL: &str = "curl -fsSL $PI_RELEASES/latest/download/install.sh | sh";
const DEMO: &str = "pi --demo";
/// The first change of a file, and the end of the demo.
const FIRST_CHANGE: &str = "✓ write";
const LAST_LINE: &str = "✓ 3s";

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct RecordOptions {
    releases: String,
    out: PathBuf,
}

impl RecordOptions {
    pub(crate) fn parse(arguments: &[&str]) -> Result<Self> {
        let mut out = PathBuf::from("docs/images/first-minute.svg");
        let mut releases = None;
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            let value = arguments
                .next()
                .with_context(|| format!("{argument} needs a value"))?;
            match *argument {
                "--releases" => releases = Some((*value).to_owned()),
                "--out" => out = PathBuf::from(value),
                _ => bail!("`screenshots record` has no option {argument}"),
            }
        }
        let releases = releases.context("--releases needs the address of a release page")?;
        Ok(Self { releases, out })
    }
}

/// Records, and returns how long the steps took.
pub(crate) fn run(options: &RecordOptions) -> Result<String> {
    let mut recorder = Recorder::start(options)?;
    recorder.watch("a prompt", |screen| last_line(screen) == "$")?;
    recorder.enter(INSTALL)?;
    recorder.watch("the end of the installation", |screen| {
        last_line(screen) == "$"
    })?;
    let installed = recorder.start.elapsed();
    recorder.enter(DEMO)?;
    recorder.watch("a change", |screen| screen.contains(FIRST_CHANGE))?;
    let changed = recorder.start.elapsed();
    recorder.watch("the end of the demo", |screen| {
        screen.contains("aligned now") && screen.contains(LAST_LINE)
    })?;
    let frames = recorder.frames.len();
    let svg = recorder.svg();
    File::create(&options.out)?.write_all(svg.as_bytes())?;
    Ok(format!(
        "{}: {frames} frames; installed after {:.1} s, first change after {:.1} s",
        options.out.display(),
        installed.as_secs_f64(),
        changed.as_secs_f64(),
    ))
}

fn last_line(screen: &str) -> &str {
    let mut lines = screen.lines().map(str::trim_end);
    lines.rfind(|line| !line.is_empty()).unwrap_or_default()
}

/// A picture of the terminal: for each row the number of its content.
struct Frame {
    at: Duration,
    rows: Vec<usize>,
}

struct Recorder {
    terminal: PtyTerminal,
    start: Instant,
    /// Contents of rows, which most frames share.
    contents: HashMap<String, usize>,
    frames: Vec<Frame>,
    _home: TempDir,
}

impl Recorder {
    fn start(options: &RecordOptions) -> Result<Self> {
        let home = TempDir::new()?;
        let mut command = PtyCommand::new("bash");
        command.args(["--norc", "--noprofile"]);
        command.cwd(home.path());
        command.env_clear();
        let path = home.path().display().to_string();
        for (name, value) in [
            ("HOME", path.as_str()),
            ("PATH", &format!("{path}/.local/bin:/usr/bin:/bin")),
            ("TERM", "xterm-256color"),
            ("COLORTERM", "truecolor"),
            ("LANG", "C.UTF-8"),
            ("PS1", "$ "),
            ("PI_RELEASES", &options.releases),
        ] {
            command.env(name, value);
        }
        Ok(Self {
            terminal: PtyTerminal::spawn(command, COLUMNS, ROWS),
            start: Instant::now(),
            contents: HashMap::new(),
            frames: Vec::new(),
            _home: home,
        })
    }

    /// Types a command.
    fn enter(&mut self, command: &str) -> Result<()> {
        for key in command.chars() {
            self.terminal.send(key.to_string());
            thread::sleep(KEY_INTERVAL);
        }
        self.watch("the command", |screen| {
            let joined: String = screen.lines().map(str::trim_end).collect();
            joined.ends_with(command)
        })?;
        self.terminal.send("\r");
        thread::sleep(SAMPLE_INTERVAL);
        Ok(())
    }

    /// Records until a screen appears.
    fn watch(&mut self, expected: &str, is_reached: impl Fn(&str) -> bool) -> Result<()> {
        let start = Instant::now();
        loop {
            self.sample();
            let screen = self.terminal.screen();
            if is_reached(&screen) {
                return Ok(());
            }
            ensure!(
                start.elapsed() < TIMEOUT,
                "{expected} did not appear:\n{screen}"
            );
            thread::sleep(SAMPLE_INTERVAL);
        }
    }

    /// Adds a frame if the screen has changed.
    fn sample(&mut self) {
        let rows: Vec<String> = self.terminal.with_screen(|screen| {
            let rows = 0..ROWS;
            rows.map(|row| svg::row(screen, row, ColorScheme::Dark))
                .collect()
        });
        let rows = rows.into_iter().map(|row| {
            let next = self.contents.len();
            *self.contents.entry(row).or_insert(next)
        });
        let rows: Vec<usize> = rows.collect();
        if self.frames.last().is_none_or(|last| last.rows != rows) {
            let at = self.start.elapsed();
            self.frames.push(Frame { at, rows });
        }
    }

    /// Returns the recording. Programs that show no animations draw the last frame.
    fn svg(&self) -> String {
        let size = [ROWS, COLUMNS].map(|size| NonZeroU16::new(size).unwrap_or(NonZeroU16::MIN));
        let mut svg = svg::window(size, ColorScheme::Dark);
        let mut contents: Vec<(&String, &usize)> = self.contents.iter().collect();
        contents.sort_unstable_by_key(|(_, number)| **number);
        svg.push_str("<defs>\n");
        for (row, number) in contents.iter().filter(|(row, _)| !row.is_empty()) {
            svg::line(&mut svg, format_args!("<g id=\"r{number}\">\n{row}</g>"));
        }
        svg.push_str("</defs>\n");
        let total = self.frames.last().map(|last| last.at).unwrap_or_default() + LAST_FRAME;
        let empty = self.contents.get("");
        for (index, frame) in self.frames.iter().enumerate() {
            let next = self.frames.get(index + 1).map(|next| next.at);
            let hidden = next.map_or("", |_| " visibility=\"hidden\"");
            let visibility = visibility(frame.at, next.unwrap_or(total), total);
            svg::line(&mut svg, format_args!("<g{hidden}>{visibility}"));
            let rows = frame.rows.iter().enumerate();
            for (row, number) in rows.filter(|(_, number)| Some(*number) != empty) {
                let top = svg::top(row);
                svg::line(
                    &mut svg,
                    format_args!("<use href=\"#r{number}\" y=\"{top}\"/>"),
                );
            }
            svg.push_str("</g>\n");
        }
        svg.push_str("</svg>\n");
        svg
    }
}

/// Shows a frame for a part of each repetition.
fn visibility(from: Duration, to: Duration, total: Duration) -> String {
    let part = |moment: Duration| moment.as_secs_f64() / total.as_secs_f64();
    format!(
        "<animate attributeName=\"visibility\" calcMode=\"discrete\" repeatCount=\"indefinite\" dur=\"{:.1}s\" \
         values=\"hidden;visible;hidden\" keyTimes=\"0;{:.4};{:.4}\"/>",
        total.as_secs_f64(),
        part(from),
        part(to),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_of_a_release_is_required() {
        let options = RecordOptions::parse(&["--releases", "http://127.0.0.1:1"]).unwrap();
        assert_eq!(options.releases, "http://127.0.0.1:1");
        for wrong in [&[][..], &["--releases"], &["--size", "9"]] {
            assert!(RecordOptions::parse(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn a_frame_is_visible_until_the_next_one() {
        let [one, two, four] = [1, 2, 4].map(Duration::from_secs);
        let animation = visibility(one, two, four);
        assert!(
            animation.contains("keyTimes=\"0;0.2500;0.5000\""),
            "{animation}"
        );
    }
}
