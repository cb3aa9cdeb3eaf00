//! Task files of a fleet.

use std::collections::HashSet;
use std::path::{Component, Path};

use pi_fleet::{FleetTask, parse_tasks};
use pretty_assertions::assert_eq;

/// Checks that accepted tasks are unique, stay in their directories and survive being stored, and that an error names
/// the first line that is wrong.
pub fn fleet_tasks(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let lines: Vec<&str> = text.lines().collect();
    match parse_tasks(&text) {
        Ok(tasks) => accepted(&lines, &tasks),
        Err(error) => {
            let before = lines.get(..error.line - 1).unwrap();
            assert!(parse_tasks(&before.join("\n")).is_ok(), "{error}");
            let through = lines.get(..error.line).unwrap();
            assert_eq!(parse_tasks(&through.join("\n")), Err(error));
        }
    }
}

fn accepted(lines: &[&str], tasks: &[FleetTask]) {
    let lines = lines.iter().filter(|line| !line.trim().is_empty());
    assert_eq!(lines.clone().count(), tasks.len());
    let mut ids = HashSet::new();
    for (line, task) in lines.zip(tasks) {
        assert!(ids.insert(&task.id), "{} is not unique", task.id);
        for name in [task.id.clone(), format!("{}.jsonl", task.id)] {
            let components: Vec<Component<'_>> = Path::new(&name).components().collect();
            assert_eq!(components, [Component::Normal(name.as_ref())]);
            assert!(!name.starts_with(['.', '-']) && name.len() < 128, "{name}");
        }
        for path in &task.artifacts {
            let mut components = Path::new(path).components();
            let is_inside =
                components.all(|it| matches!(it, Component::Normal(_) | Component::CurDir));
            assert!(is_inside, "{path:?}");
        }
        let arguments = [&task.repo, &task.reference, &task.model, &task.thinking];
        let arguments = arguments.into_iter().flatten().chain(&task.tools);
        for argument in arguments {
            assert!(
                !argument.starts_with('-') && !argument.is_empty(),
                "{argument:?}"
            );
        }
        let stored = serde_json::to_string(task).unwrap();
        assert_eq!(
            parse_tasks(&stored).as_deref(),
            Ok(std::slice::from_ref(task))
        );
        // The same ID again.
        let error = parse_tasks(&format!("{line}\n\n{stored}\n")).unwrap_err();
        assert_eq!(error.line, 3, "{error}");
    }
}
