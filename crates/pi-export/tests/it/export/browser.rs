//! Renders a page in a real browser, if one is installed.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use pi_protocol::EntryId;
use tempfile::TempDir;

const BROWSERS: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chrome"];

/// Returns the document after its script ran, opened at an entry. `None` if no browser is
/// installed.
pub(crate) fn rendered(page: &Path, entry: &EntryId) -> Option<String> {
    let Some(browser) = BROWSERS.iter().find_map(|name| which::which(name).ok()) else {
        let message = "skipped: no Chromium on this machine\n";
        std::io::stderr().write_all(message.as_bytes()).unwrap();
        return None;
    };
    let profile = TempDir::new().unwrap();
    let output = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"])
        .args(["--window-size=1200,800", "--virtual-time-budget=1000"])
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .arg(format!("file://{}#e-{entry}", page.display()))
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .unwrap();
    Some(String::from_utf8(output.stdout).unwrap())
}
