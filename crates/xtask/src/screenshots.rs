//! `cargo xtask screenshots`: screenshots for the README and the manual, captured from the real program.
//!
//! pi runs in a pseudo-terminal against a scripted model; the emulated screen is written as SVG, once with the
//! dark and once with the light theme. The screenshot of an exported session is taken with headless Chromium.

mod captures;
mod recording;
mod scenario;
mod svg;
mod walk;

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail, ensure};
use pi_test_support::{PtyCommand, PtyTerminal};
use tempfile::TempDir;

use crate::fake_model::FakeModel;

pub(crate) use captures::{RenderOptions, run as render_captures};
pub(crate) use recording::{RecordOptions, run as record};
pub(crate) use svg::ColorScheme;
pub(crate) use walk::{WalkOptions, run as walk};

const COLUMNS: u16 = 100;
const ROWS: u16 = 48;

/// Output directory, relative to the repository.
const IMAGES: &str = "docs/images";

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ScreenshotOptions {
    binary: PathBuf,
    chromium: String,
}

impl ScreenshotOptions {
    pub(crate) fn parse(arguments: &[&str]) -> Result<Self> {
        let mut options = Self {
            binary: PathBuf::from("target/release/pi"),
            chromium: "chromium".to_owned(),
        };
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            let value = arguments
                .next()
                .with_context(|| format!("{argument} needs a value"))?;
            match *argument {
                "--binary" => options.binary = PathBuf::from(value),
                "--chromium" => (*value).clone_into(&mut options.chromium),
                _ => bail!("`screenshots` has no option {argument}"),
            }
        }
        Ok(options)
    }
}

/// Captures all screenshots and returns the list of written files.
pub(crate) fn run(options: &ScreenshotOptions) -> Result<String> {
    let binary = fs::canonicalize(&options.binary).with_context(|| {
        format!(
            "cannot find {}\nhint: run `cargo build --release --package pi` first",
            options.binary.display()
        )
    })?;
    fs::create_dir_all(IMAGES)?;
    let mut written = Vec::new();
    for scheme in [ColorScheme::Dark, ColorScheme::Light] {
        let capture = Capture::new(&binary, scheme)?;
        for (name, svg) in capture.record() {
            let path = Path::new(IMAGES).join(format!("{name}-{}.svg", scheme.name()));
            File::create(&path)?.write_all(svg.as_bytes())?;
            written.push(path.display().to_string());
        }
        if scheme == ColorScheme::Dark {
            let path = Path::new(IMAGES).join("export.png");
            capture.capture_export(&options.chromium, &path)?;
            written.push(path.display().to_string());
        }
    }
    Ok(written.join("\n"))
}

/// A home and a project in which pi runs for one color scheme.
struct Capture {
    binary: PathBuf,
    home: TempDir,
    scheme: ColorScheme,
}

impl Capture {
    fn new(binary: &Path, scheme: ColorScheme) -> Result<Self> {
        let home = TempDir::new()?;
        let model = FakeModel::start(scenario::reply)?;
        let write = |path: &str, text: &str| -> Result<()> {
            let path = home.path().join(path);
            if let Some(parent) = path.parent() {
                fs::create_dir_all(parent)?;
            }
            Ok(File::create(path)?.write_all(text.as_bytes())?)
        };
        write(
            ".pi/agent/models.json",
            &model.models_json("demo", scenario::MODEL, scenario::CONTEXT_WINDOW),
        )?;
        write(".pi/agent/image-models.json", &scenario::image_models())?;
        let settings = scenario::settings(scheme.name());
        write(".pi/agent/settings.json", &settings)?;
        for (path, text) in scenario::PROJECT {
            write(&format!("{}/{path}", scenario::PROJECT_NAME), text)?;
        }
        Ok(Self {
            binary: binary.to_owned(),
            home,
            scheme,
        })
    }

    fn project(&self) -> PathBuf {
        self.home.path().join(scenario::PROJECT_NAME)
    }

    /// Runs the scenario in a terminal and returns the screenshots by name.
    fn record(&self) -> Vec<(&'static str, String)> {
        let mut command = PtyCommand::new(&self.binary);
        command.cwd(self.project());
        command.env_clear();
        for (name, value) in self.environment() {
            command.env(name, value);
        }
        let terminal = PtyTerminal::spawn(command, COLUMNS, ROWS);
        let mut screenshots = Vec::new();
        scenario::play(&terminal, |name| {
            walk::wait_until_still(&terminal);
            screenshots.push((
                name,
                terminal.with_screen(|screen| svg::render(screen, self.scheme)),
            ));
        });
        terminal.quit();
        screenshots
    }

    fn environment(&self) -> [(&'static str, String); 7] {
        [
            ("HOME", self.home.path().to_string_lossy().into_owned()),
            ("PATH", std::env::var("PATH").unwrap_or_default()),
            ("TERM", "xterm-256color".to_owned()),
            ("COLORTERM", "truecolor".to_owned()),
            ("LANG", "C.UTF-8".to_owned()),
            ("PI_OFFLINE", "1".to_owned()),
            ("SHELL", "/bin/sh".to_owned()),
        ]
    }

    /// Exports the recorded session as HTML and takes a screenshot of the page.
    fn capture_export(&self, chromium: &str, screenshot: &Path) -> Result<()> {
        let page = self.home.path().join("session.html");
        let exported = Command::new(&self.binary)
            .args(["--export", &self.session_file()?.to_string_lossy()])
            .arg(&page)
            .current_dir(self.project())
            .env_clear()
            .envs(self.environment())
            .stdin(Stdio::null())
            .output()?;
        ensure!(
            exported.status.success(),
            "pi --export failed: {}",
            String::from_utf8_lossy(&exported.stderr)
        );
        let profile = TempDir::new()?;
        let taken = Command::new(chromium)
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--hide-scrollbars",
            ])
            .args(["--no-first-run", "--disable-background-networking"])
            .args(["--disable-component-update", "--disable-sync"])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg("--window-size=1200,800")
            .arg(format!("--screenshot={}", screenshot.display()))
            .arg(format!("file://{}", page.display()))
            .output()
            .with_context(|| {
                format!(
                    "cannot run {chromium}\nhint: install Chromium, or set its path with --chromium"
                )
            })?;
        ensure!(
            taken.status.success() && screenshot.is_file(),
            "{chromium} did not write a screenshot: {}",
            String::from_utf8_lossy(&taken.stderr)
        );
        Ok(())
    }

    /// Returns the only session file below the agent directory.
    fn session_file(&self) -> Result<PathBuf> {
        let sessions = self.home.path().join(".pi/agent/sessions");
        let directory = fs::read_dir(&sessions)?
            .next()
            .context("no session was stored")??;
        let files = fs::read_dir(directory.path())?.flatten();
        let mut paths = files.map(|file| file.path());
        let session = paths.find(|path| path.extension().is_some_and(|it| it == "jsonl"));
        session.context("no session was stored")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_name_the_programs() {
        let options = ScreenshotOptions::parse(&["--binary", "pi"]).unwrap();
        assert_eq!(options.binary, Path::new("pi"));
        assert_eq!(options.chromium, "chromium");
        for wrong in [&["--binary"][..], &["--size", "9"]] {
            assert!(ScreenshotOptions::parse(wrong).is_err(), "{wrong:?}");
        }
    }
}
