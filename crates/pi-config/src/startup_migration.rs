//! Migrates files of earlier versions at startup.
//!
//! Several processes may start at once, and any of them may be killed midway. Each step therefore
//! writes the new file before it removes the old one, never overwrites, and is idempotent. A single
//! directory listing decides whether there is anything to do.

mod credentials;
mod sessions;

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;

use pi_fs::NewFileMode;
use pi_protocol::{ConfigDiagnostic, DiagnosticLevel};

use crate::keybindings_file::rename_legacy;
use crate::object_file::{FileEnding, LockedObject};
use crate::{AgentDir, object_file};

/// Search programs that earlier versions installed into `tools`.
const MANAGED_PROGRAMS: [&str; 4] = ["fd", "rg", "fd.exe", "rg.exe"];

/// Migrates the user's files. Must be called before anything creates `auth.json`.
pub fn run_startup_migrations(agent_dir: &AgentDir) -> Vec<ConfigDiagnostic> {
    let mut report = Vec::new();
    let Some(names) = names_in(agent_dir.path()) else {
        return report;
    };
    credentials::migrate(agent_dir, &names, &mut report);
    sessions::migrate(agent_dir, &names, &mut report);
    if names.contains("tools") {
        move_programs(agent_dir, &mut report);
    }
    if names.contains("keybindings.json") {
        rename_keybindings(&agent_dir.keybindings_file(), &mut report);
    }
    resources(agent_dir.path(), &names, &mut report);
    report
}

/// Migrates a project's files. The project must be trusted.
pub fn run_project_migrations(cwd: &Path) -> Vec<ConfigDiagnostic> {
    let mut report = Vec::new();
    let dir = cwd.join(".pi");
    if let Some(names) = names_in(&dir) {
        resources(&dir, &names, &mut report);
    }
    report
}

/// Returns the names in a directory; `None` if it does not exist.
fn names_in(dir: &Path) -> Option<BTreeSet<String>> {
    let entries = fs::read_dir(dir).ok()?;
    // All migrated files have UTF-8 names.
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    Some(names.collect())
}

/// `commands` was renamed to `prompts`; hooks and custom tools became extensions.
fn resources(dir: &Path, names: &BTreeSet<String>, report: &mut Vec<ConfigDiagnostic>) {
    if names.contains("commands") && !names.contains("prompts") {
        let from = dir.join("commands");
        let to = dir.join("prompts");
        match pi_fs::rename_without_replacing(&from, &to) {
            Ok(()) => report.push(info(
                format!("renamed {} to {}", from.display(), to.display()),
                &to,
            )),
            Err(error) if is_already_migrated(&error) => {}
            Err(error) => report.push(ConfigDiagnostic::warning(
                format!("cannot rename {} to prompts: {error}", from.display()),
                from,
            )),
        }
    }
    if names.contains("hooks") {
        let hooks = dir.join("hooks");
        report.push(ConfigDiagnostic::warning(
            format!(
                "{} is ignored; move your hooks to extensions",
                hooks.display()
            ),
            hooks,
        ));
    }
    let tools = dir.join("tools");
    if names.contains("tools") && has_custom_tools(&tools) {
        report.push(ConfigDiagnostic::warning(
            format!(
                "{} is ignored; move your tools to extensions",
                tools.display()
            ),
            tools,
        ));
    }
}

fn has_custom_tools(tools: &Path) -> bool {
    names_in(tools).is_some_and(|names| {
        names.iter().any(|name| {
            !name.starts_with('.')
                && !MANAGED_PROGRAMS.contains(&name.to_ascii_lowercase().as_str())
        })
    })
}

/// Moves the search programs out of `tools`, unless the target exists.
fn move_programs(agent_dir: &AgentDir, report: &mut Vec<ConfigDiagnostic>) {
    let tools = agent_dir.path().join("tools");
    for name in MANAGED_PROGRAMS {
        let from = tools.join(name);
        if !from.is_file() {
            continue;
        }
        let to = agent_dir.bin().join(name);
        let moved = fs::create_dir_all(agent_dir.bin())
            .and_then(|()| pi_fs::rename_without_replacing(&from, &to));
        match moved {
            Ok(()) => report.push(info(format!("moved {name} to {}", to.display()), &to)),
            Err(error) if is_already_migrated(&error) => {}
            Err(error) => report.push(ConfigDiagnostic::warning(
                format!("cannot move {}: {error}", from.display()),
                from,
            )),
        }
    }
}

/// Rewrites the file if it contains legacy action names.
fn rename_keybindings(file: &Path, report: &mut Vec<ConfigDiagnostic>) {
    // Errors are reported when the key bindings are loaded.
    let Ok(Some(mut object)) = object_file::read(file) else {
        return;
    };
    if !rename_legacy(&mut object) {
        return;
    }
    let rewritten = LockedObject::open(file, NewFileMode::Private).and_then(|mut locked| {
        if rename_legacy(&mut locked.object) {
            locked.write(FileEnding::Newline)
        } else {
            Ok(())
        }
    });
    match rewritten {
        Ok(()) => report.push(info(
            format!("renamed legacy actions in {}", file.display()),
            file,
        )),
        // Legacy names still work; the next start tries again.
        Err(error) => tracing::warn!(%error, "cannot migrate legacy keybindings"),
    }
}

/// Returns whether another process has already migrated the file, or the target exists.
fn is_already_migrated(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::AlreadyExists
    )
}

fn info(message: String, path: &Path) -> ConfigDiagnostic {
    ConfigDiagnostic {
        level: DiagnosticLevel::Info,
        message,
        path: Some(path.to_owned()),
    }
}
