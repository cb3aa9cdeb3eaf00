//! What a command line about packages asks for.

use crate::output::Failure;

/// A command about packages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PackageRequest {
    pub(super) task: PackageTask,
    /// Whether the project's settings are meant.
    pub(super) local: bool,
    /// Whether the project is trusted for this command; decided elsewhere if it is not said.
    pub(super) trust: Option<bool>,
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PackageTask {
    Install(String),
    Remove(String),
    List,
}

/// Reads a command line that begins with the command's name; none asks for help.
pub(super) fn parse(words: &[String]) -> Result<Option<PackageRequest>, Failure> {
    let usage = |cause: String| Failure::new(cause).hint("pi install --help explains the commands");
    let (command, rest) = match words.split_first() {
        Some((command, rest)) => (command.as_str(), rest),
        None => return Ok(None),
    };
    let (mut local, mut trust, mut sources) = (false, None, Vec::new());
    for word in rest {
        match word.as_str() {
            "-h" | "--help" => return Ok(None),
            "-l" | "--local" if command != "list" => local = true,
            "-a" | "--approve" => trust = Some(true),
            "-na" | "--no-approve" => trust = Some(false),
            _ if matches!(command, "update" | "config") => {}
            word if word.starts_with('-') => {
                return Err(usage(format!("pi {command} has no option {word}")));
            }
            word => sources.push(word.to_owned()),
        }
    }
    if matches!(command, "update" | "config") {
        return Err(usage(format!("pi {command} is not part of this build")));
    }
    let takes = usize::from(command != "list");
    if sources.len() > takes {
        let extra = sources.get(takes).cloned().unwrap_or_default();
        return Err(usage(format!("pi {command} has no use for {extra}")));
    }
    let missing = || usage(format!("pi {command} needs a package"));
    let task = match command {
        "list" => PackageTask::List,
        "install" => PackageTask::Install(sources.pop().ok_or_else(missing)?),
        _ => PackageTask::Remove(sources.pop().ok_or_else(missing)?),
    };
    Ok(Some(PackageRequest { task, local, trust }))
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn read(line: &str) -> Result<Option<PackageRequest>, Failure> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        parse(&words)
    }

    #[test]
    fn commands_and_their_flags() {
        let request = |task, local, trust| Some(PackageRequest { task, local, trust });
        let install = || PackageTask::Install("./pkg".to_owned());
        let remove = || PackageTask::Remove("./pkg".to_owned());
        for (line, expected) in [
            ("install ./pkg", request(install(), false, None)),
            ("install -l ./pkg -a", request(install(), true, Some(true))),
            ("remove ./pkg --local", request(remove(), true, None)),
            ("uninstall ./pkg", request(remove(), false, None)),
            ("list -na", request(PackageTask::List, false, Some(false))),
            ("install --help", None),
            ("update -h", None),
        ] {
            assert_eq!(read(line).unwrap(), expected, "{line}");
        }
        for line in [
            "install",
            "install a b",
            "install -z a",
            "list -l",
            "list x",
            "remove",
            "update",
            "config -l",
        ] {
            assert!(read(line).is_err(), "{line}");
        }
    }
}
