//! The programs that runs need. A batch does not start without them: each of its runs would fail.

use std::path::{Path, PathBuf};

use super::words::Failure;

/// The pi program.
#[derive(Debug)]
pub(super) struct PiProgram {
    pub(super) path: PathBuf,
    /// The version of the release.
    pub(super) version: String,
}

/// Finds the programs of runs, and starts each of them once.
pub(super) async fn required(chosen: Option<&str>) -> Result<PiProgram, Failure> {
    git()
        .await
        .map_err(|cause| Failure::new(cause).hint("install Git; runs work in its worktrees"))?;
    let path = find_pi(chosen)?;
    let version = pi_version(&path)
        .await
        .map_err(|cause| Failure::new(cause).hint("pass --pi PROGRAM"))?;
    Ok(PiProgram { path, version })
}

/// Returns the pi program: the chosen one, or the one next to this program.
pub(super) fn find_pi(chosen: Option<&str>) -> Result<PathBuf, Failure> {
    if let Some(program) = chosen {
        return super::absolute(program);
    }
    let this = std::env::current_exe().ok();
    let directory = this.as_deref().and_then(Path::parent);
    let name = if cfg!(windows) { "pi.exe" } else { "pi" };
    let next = directory.map(|directory| directory.join(name));
    next.filter(|path| path.is_file()).ok_or_else(|| {
        Failure::new("cannot find pi next to this program").hint("pass --pi PROGRAM")
    })
}

pub(super) async fn git() -> Result<String, String> {
    Ok(first_line(&output("git", &["--version"]).await?))
}

pub(super) async fn pi_version(path: &Path) -> Result<String, String> {
    let text = output(&path.to_string_lossy(), &["--version", "--verbose"]).await?;
    let release = text.lines().find_map(|line| line.strip_prefix("release "));
    Ok(release.map_or_else(|| first_line(&text), str::to_owned))
}

/// Returns the first line of what a program prints about its version.
pub(super) async fn version(program: &str) -> Result<String, String> {
    Ok(first_line(&output(program, &["--version"]).await?))
}

async fn output(program: &str, arguments: &[&str]) -> Result<String, String> {
    let output = tokio::process::Command::new(program)
        .args(arguments)
        .stdin(std::process::Stdio::null())
        .output()
        .await;
    match output {
        Ok(output) if output.status.success() => {
            Ok(String::from_utf8_lossy(&output.stdout).into_owned())
        }
        Ok(output) => Err(format!("{program} exited with {}", output.status)),
        Err(error) => Err(format!("cannot start {program}: {error}")),
    }
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}
