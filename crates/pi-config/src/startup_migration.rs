//! Files of earlier versions, brought to where this one looks for them.
//!
//! Several processes may start at once, and any of them may die half-way. Every step therefore
//! writes the new before it gives up the old, moves only to places that are free, and does nothing
//! the second time. One look at the directory decides whether there is anything to do.

mod credentials;
mod sessions;

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;

use crate::atomic_file::{self, NewFileMode};
use crate::keybindings_file::rename_legacy;
use crate::object_file::{Ending, LockedObject};
use crate::{AgentDir, ConfigDiagnostic, DiagnosticLevel, object_file};

/// Search programs that earlier versions kept among the user's tools.
const MANAGED_PROGRAMS: [&str; 4] = ["fd", "rg", "fd.exe", "rg.exe"];

/// Brings the user's files to today's places. Call it before anything creates `auth.json`.
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

/// Brings a project's files to today's places. The project must be trusted.
pub fn run_project_migrations(cwd: &Path) -> Vec<ConfigDiagnostic> {
    let mut report = Vec::new();
    let dir = cwd.join(".pi");
    if let Some(names) = names_in(&dir) {
        resources(&dir, &names, &mut report);
    }
    report
}

/// Returns the names in a directory; `None` when there is no such directory.
fn names_in(dir: &Path) -> Option<BTreeSet<String>> {
    let entries = fs::read_dir(dir).ok()?;
    // Nothing that is migrated has a name that is not UTF-8.
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    Some(names.collect())
}

/// Prompt templates were called commands; hooks and custom tools became extensions.
fn resources(dir: &Path, names: &BTreeSet<String>, report: &mut Vec<ConfigDiagnostic>) {
    if names.contains("commands") && !names.contains("prompts") {
        let from = dir.join("commands");
        let to = dir.join("prompts");
        match atomic_file::rename_without_replacing(&from, &to) {
            Ok(()) => report.push(info(
                format!("{} is now {}", from.display(), to.display()),
                &to,
            )),
            Err(error) if is_settled(&error) => {}
            Err(error) => report.push(ConfigDiagnostic::warning(
                format!("{} should be called prompts: {error}", from.display()),
                from,
            )),
        }
    }
    if names.contains("hooks") {
        let hooks = dir.join("hooks");
        report.push(ConfigDiagnostic::warning(
            format!(
                "{} is not read: move your hooks to extensions",
                hooks.display()
            ),
            hooks,
        ));
    }
    let tools = dir.join("tools");
    if names.contains("tools") && has_custom_tools(&tools) {
        report.push(ConfigDiagnostic::warning(
            format!(
                "{} is not read: move your tools to extensions",
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

/// Moves the search programs out of the user's tools, unless there are newer ones.
fn move_programs(agent_dir: &AgentDir, report: &mut Vec<ConfigDiagnostic>) {
    let tools = agent_dir.path().join("tools");
    for name in MANAGED_PROGRAMS {
        let from = tools.join(name);
        if !from.is_file() {
            continue;
        }
        let to = agent_dir.bin().join(name);
        let moved = fs::create_dir_all(agent_dir.bin())
            .and_then(|()| atomic_file::rename_without_replacing(&from, &to));
        match moved {
            Ok(()) => report.push(info(format!("{name} is now {}", to.display()), &to)),
            Err(error) if is_settled(&error) => {}
            Err(error) => report.push(ConfigDiagnostic::warning(
                format!("{} could not be moved: {error}", from.display()),
                from,
            )),
        }
    }
}

/// Writes the file again if it has earlier names of actions.
fn rename_keybindings(file: &Path, report: &mut Vec<ConfigDiagnostic>) {
    // What is wrong with the file is told when it is read for its keys.
    let Ok(Some(mut object)) = object_file::read(file) else {
        return;
    };
    if !rename_legacy(&mut object) {
        return;
    }
    let rewritten = LockedObject::open(file, NewFileMode::Private).and_then(|mut locked| {
        if rename_legacy(&mut locked.object) {
            locked.write(Ending::Newline)
        } else {
            Ok(())
        }
    });
    match rewritten {
        Ok(()) => report.push(info(
            format!("{} has today's names of actions", file.display()),
            file,
        )),
        // The names are understood as they are; the next start tries again.
        Err(error) => tracing::warn!(%error, "keybindings keep their earlier names"),
    }
}

/// Returns whether somebody else has just done it, or the place is taken.
fn is_settled(error: &io::Error) -> bool {
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
