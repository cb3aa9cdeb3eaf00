//! `cargo xtask screenshots render`: pictures of captured screens, such as those of the reference harness.
//!
//! A capture is text with colors as `tmux capture-pane -e` prints it. Lines such as `== ours  80x24 …`, which the
//! harness writes above each screen, start another screen; without them, the size is given or that of the text.

use std::fs::{self, File};
use std::io::Write as _;
use std::num::NonZeroU16;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail, ensure};
use pi_test_support::vt100::Parser;

use super::svg::{self, ColorScheme};

/// Starts a screen in the files of the harness.
const HEADER: &str = "== ";

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct RenderOptions {
    files: Vec<PathBuf>,
    scheme: ColorScheme,
    /// Columns and rows of captures without a header.
    size: Option<(u16, u16)>,
    /// Where the pictures go; next to the captures if not set.
    out: Option<PathBuf>,
    png: bool,
}

impl RenderOptions {
    pub(crate) fn parse(arguments: &[&str]) -> Result<Self> {
        let mut options = Self {
            files: Vec::new(),
            scheme: ColorScheme::Dark,
            size: None,
            out: None,
            png: false,
        };
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            let mut value = || {
                let value = arguments.next();
                value.with_context(|| format!("{argument} needs a value"))
            };
            match *argument {
                "--light" => options.scheme = ColorScheme::Light,
                "--png" => options.png = true,
                "--size" => options.size = Some(parse_size(value()?)?),
                "--out" => options.out = Some(PathBuf::from(value()?)),
                option if option.starts_with('-') => {
                    bail!("`screenshots render` has no option {option}")
                }
                file => options.files.push(PathBuf::from(file)),
            }
        }
        ensure!(!options.files.is_empty(), "name the captures to render");
        Ok(options)
    }
}

pub(super) fn parse_size(text: &str) -> Result<(u16, u16)> {
    let parts = text.split_once('x');
    let parts = parts.and_then(|(columns, rows)| Some((columns.parse().ok()?, rows.parse().ok()?)));
    parts.with_context(|| format!("{text} is not a size such as 80x24"))
}

/// Writes the pictures and returns the list of written files.
pub(crate) fn run(options: &RenderOptions) -> Result<String> {
    let mut written = Vec::new();
    for file in &options.files {
        let text =
            fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
        let name = file.file_stem().unwrap_or_default().to_string_lossy();
        let directory = match &options.out {
            Some(out) => {
                fs::create_dir_all(out)?;
                out.as_path()
            }
            None => file.parent().unwrap_or(Path::new("")),
        };
        for screen in screens(&text, options.size) {
            let suffix = screen
                .label
                .map_or_else(String::new, |label| format!("-{label}"));
            let path = directory.join(format!("{name}{suffix}.svg"));
            let svg = screen.render(options.scheme);
            File::create(&path)?.write_all(svg.as_bytes())?;
            if options.png {
                to_png(&path)?;
            }
            written.push(path.display().to_string());
        }
    }
    Ok(written.join("\n"))
}

/// Converts a picture with rsvg-convert.
pub(super) fn to_png(svg: &Path) -> Result<()> {
    let status = Command::new("rsvg-convert")
        .arg(svg)
        .arg("--output")
        .arg(svg.with_extension("png"))
        .stdin(Stdio::null())
        .status()
        .context("cannot run rsvg-convert\nhint: install librsvg2-bin, or leave out --png")?;
    ensure!(status.success(), "rsvg-convert failed");
    Ok(())
}

/// A captured screen.
#[derive(Debug, PartialEq, Eq)]
struct CapturedScreen<'a> {
    /// Whose screen it is, from the header.
    label: Option<&'a str>,
    columns: u16,
    rows: u16,
    lines: Vec<&'a str>,
}

impl CapturedScreen<'_> {
    fn render(&self, scheme: ColorScheme) -> String {
        let size = |cells: u16| NonZeroU16::new(cells).unwrap_or(NonZeroU16::MIN);
        let mut parser = Parser::new(size(self.rows), size(self.columns), 0);
        for (row, line) in self.lines.iter().enumerate().take(usize::from(self.rows)) {
            let start = format!("\x1b[{};1H", row + 1);
            parser.process(start.as_bytes());
            parser.process(line.as_bytes());
            // tmux leaves out cells at the end of a row that have only a background.
            parser.process(b"\x1b[K");
        }
        svg::render(parser.screen(), scheme)
    }
}

/// Returns the screens of a capture.
fn screens(text: &str, size: Option<(u16, u16)>) -> Vec<CapturedScreen<'_>> {
    let mut screens: Vec<CapturedScreen<'_>> = Vec::new();
    for line in text.lines() {
        let plain = line.trim_start_matches("\x1b[0m");
        if let Some(header) = plain.strip_prefix(HEADER) {
            let mut words = header.split_whitespace();
            let label = words.next();
            if let Some(Ok((columns, rows))) = words.next().map(parse_size) {
                screens.push(CapturedScreen {
                    label,
                    columns,
                    rows,
                    lines: Vec::new(),
                });
                continue;
            }
        }
        match screens.last_mut() {
            Some(screen) => screen.lines.push(line),
            None => screens.push(CapturedScreen {
                label: None,
                columns: 0,
                rows: 0,
                lines: vec![line],
            }),
        }
    }
    for screen in &mut screens {
        if screen.columns == 0 {
            let rows = u16::try_from(screen.lines.len()).unwrap_or(u16::MAX);
            (screen.columns, screen.rows) = size.unwrap_or((DEFAULT_COLUMNS, rows));
        }
    }
    screens
}

const DEFAULT_COLUMNS: u16 = 80;

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn options_name_captures() {
        let options = RenderOptions::parse(&["a.ansi", "--size", "80x24", "--png"]).unwrap();
        assert_eq!((options.size, options.png), (Some((80, 24)), true));
        for wrong in [&["--png"][..], &["a", "--size", "8"], &["a", "--what"]] {
            assert!(RenderOptions::parse(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn the_screens_of_both_programs_are_found() {
        let text =
            "\x1b[0m== peer  20x2  cursor 0,0 ====\none\ntwo\n\x1b[0m== ours  30x1 ====\nthree\n";
        let found = screens(text, None);
        let facts: Vec<_> = found
            .iter()
            .map(|screen| {
                (
                    screen.label,
                    screen.columns,
                    screen.rows,
                    screen.lines.clone(),
                )
            })
            .collect();
        assert_eq!(
            facts,
            [
                (Some("peer"), 20, 2, vec!["one", "two"]),
                (Some("ours"), 30, 1, vec!["three"]),
            ]
        );
        let plain = screens("a\nb", Some((40, 5)));
        assert_eq!(
            (plain[0].columns, plain[0].rows, plain[0].label),
            (40, 5, None)
        );
    }

    #[test]
    fn a_background_reaches_the_end_of_its_row() {
        let found = screens("\x1b[48;2;1;2;3m user\nnext", Some((12, 2)));
        let svg = found[0].render(ColorScheme::Dark);
        assert!(
            svg.contains(r##"width="100.8" height="18.5" fill="#010203""##),
            "{svg}"
        );
    }
}
