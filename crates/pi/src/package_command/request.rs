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
    Install {
        source: String,
        /// Packages whose install scripts may run this time.
        scripts: Vec<String>,
    },
    /// Tell what a package would bring.
    Check(String),
    Remove(String),
    Update(UpdateTarget),
    List,
    Config,
}

/// What is brought up to date.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum UpdateTarget {
    /// pi itself; `force` installs the newest release again.
    Pi { force: bool, is_chosen: bool },
    /// The packages, or one of them.
    Packages(Option<String>),
    /// The catalogs of models.
    Models,
    /// pi and the packages.
    Everything { force: bool },
}

/// The command a line begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CommandName {
    Install,
    Remove,
    Update,
    List,
    Config,
}

impl CommandName {
    /// Reads the first word; `uninstall` is another word for `remove`.
    pub(super) fn parse(word: &str) -> Option<Self> {
        match word {
            "install" => Some(Self::Install),
            "remove" | "uninstall" => Some(Self::Remove),
            "update" => Some(Self::Update),
            "list" => Some(Self::List),
            "config" => Some(Self::Config),
            _ => None,
        }
    }

    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Install => "install",
            Self::Remove => "remove",
            Self::Update => "update",
            Self::List => "list",
            Self::Config => "config",
        }
    }
}

/// What was asked for: help for a command, or a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Asked {
    Help(CommandName),
    Request(PackageRequest),
}

#[derive(Debug, Default)]
struct Words {
    local: bool,
    trust: Option<bool>,
    check: bool,
    force: bool,
    own: bool,
    packages: bool,
    models: bool,
    all: bool,
    one: Option<String>,
    scripts: Vec<String>,
    sources: Vec<String>,
}

/// Reads a command line that begins with the command's name.
pub(super) fn parse(words: &[String]) -> Result<Asked, Failure> {
    let (first, rest) = match words.split_first() {
        Some((first, rest)) => (first.as_str(), rest),
        None => return Ok(Asked::Help(CommandName::List)),
    };
    let command = CommandName::parse(first).unwrap_or(CommandName::List);
    let usage = |cause: String| {
        Failure::new(cause).hint(format!("pi {} --help explains it", command.word()))
    };
    let Some(read) = scan(command, rest).map_err(usage)? else {
        return Ok(Asked::Help(command));
    };
    let (local, trust) = (read.local, read.trust);
    let task = task(command, read).map_err(usage)?;
    Ok(Asked::Request(PackageRequest { task, local, trust }))
}

/// Sorts the words; none when help is asked for.
fn scan(command: CommandName, rest: &[String]) -> Result<Option<Words>, String> {
    use CommandName::{Config, Install, Remove, Update};

    let mut read = Words::default();
    let mut words = rest.iter();
    while let Some(word) = words.next() {
        let mut value = || match words.next() {
            Some(value) if !value.starts_with('-') => Ok(value.clone()),
            _ => Err(format!("{word} needs a value")),
        };
        match (word.as_str(), command) {
            ("-h" | "--help", _) => return Ok(None),
            ("-l" | "--local", Install | Remove | Config) => read.local = true,
            ("-a" | "--approve", _) => read.trust = Some(true),
            ("-na" | "--no-approve", _) => read.trust = Some(false),
            ("--check", Install) => read.check = true,
            ("--allow-scripts", Install) => read.scripts.push(value()?),
            ("--force", Update) => read.force = true,
            ("--self", Update) => read.own = true,
            ("--extensions", Update) => read.packages = true,
            ("--models", Update) => read.models = true,
            ("--all", Update) => read.all = true,
            ("--extension", Update) => {
                if read.one.replace(value()?).is_some() {
                    return Err("--extension can be given once".to_owned());
                }
            }
            (option, _) if option.starts_with('-') => {
                return Err(format!("pi {} has no option {option}", command.word()));
            }
            (source, _) => read.sources.push(source.to_owned()),
        }
    }
    Ok(Some(read))
}

fn task(command: CommandName, read: Words) -> Result<PackageTask, String> {
    let takes = usize::from(!matches!(command, CommandName::List | CommandName::Config));
    if let Some(extra) = read.sources.get(takes) {
        return Err(format!("pi {} has no use for {extra}", command.word()));
    }
    let source = read.sources.first().cloned();
    let missing = || format!("pi {} needs a package", command.word());
    Ok(match command {
        CommandName::List => PackageTask::List,
        CommandName::Config => PackageTask::Config,
        CommandName::Remove => PackageTask::Remove(source.ok_or_else(missing)?),
        CommandName::Install if read.check => PackageTask::Check(source.ok_or_else(missing)?),
        CommandName::Install => PackageTask::Install {
            source: source.ok_or_else(missing)?,
            scripts: read.scripts,
        },
        CommandName::Update => PackageTask::Update(target(&read, source)?),
    })
}

/// Finds out what to update; ways to say it that contradict each other are refused.
fn target(read: &Words, source: Option<String>) -> Result<UpdateTarget, String> {
    let force = read.force;
    let names_pi = matches!(source.as_deref(), Some("self" | "pi"));
    let targets = [
        ("--all", read.all),
        ("--models", read.models),
        ("--extension", read.one.is_some()),
        ("a package", source.is_some() && !names_pi),
    ];
    let mut chosen = targets.iter().filter(|(_, is_given)| *is_given);
    if let Some((first, _)) = chosen.next() {
        let others = [
            ("--self", read.own),
            ("--extensions", read.packages),
            ("pi", names_pi),
        ];
        let other = chosen
            .chain(&others)
            .find(|(name, is_given)| *is_given && name != first);
        if let Some((other, _)) = other {
            return Err(format!("{first} and {other} cannot be asked for together"));
        }
    }
    Ok(match (&read.one, source) {
        _ if read.all => UpdateTarget::Everything { force },
        _ if read.models => UpdateTarget::Models,
        (Some(one), _) => UpdateTarget::Packages(Some(one.clone())),
        (None, Some(source)) if !names_pi => UpdateTarget::Packages(Some(source)),
        _ if read.packages && (read.own || names_pi) => UpdateTarget::Everything { force },
        _ if read.packages => UpdateTarget::Packages(None),
        _ => UpdateTarget::Pi {
            force,
            is_chosen: read.own || names_pi,
        },
    })
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn read(line: &str) -> Result<Asked, Failure> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        parse(&words)
    }

    #[test]
    fn commands_and_their_flags() {
        let request = |task, local, trust| Asked::Request(PackageRequest { task, local, trust });
        let install = |scripts: &[&str]| PackageTask::Install {
            source: "./pkg".to_owned(),
            scripts: scripts.iter().map(ToString::to_string).collect(),
        };
        let remove = || PackageTask::Remove("./pkg".to_owned());
        for (line, expected) in [
            ("install ./pkg", request(install(&[]), false, None)),
            (
                "install -l ./pkg -a",
                request(install(&[]), true, Some(true)),
            ),
            (
                "install --allow-scripts a ./pkg --allow-scripts @s/b",
                request(install(&["a", "@s/b"]), false, None),
            ),
            (
                "install --check ./pkg",
                request(PackageTask::Check("./pkg".to_owned()), false, None),
            ),
            ("remove ./pkg --local", request(remove(), true, None)),
            ("uninstall ./pkg", request(remove(), false, None)),
            ("list -na", request(PackageTask::List, false, Some(false))),
            ("config -l", request(PackageTask::Config, true, None)),
            ("install --help", Asked::Help(CommandName::Install)),
            ("update -h", Asked::Help(CommandName::Update)),
        ] {
            assert_eq!(read(line).unwrap(), expected, "{line}");
        }
        for line in [
            "install",
            "install a b",
            "install -z a",
            "install --force a",
            "install --allow-scripts",
            "list -l",
            "list x",
            "remove",
            "config x",
            "update --extension",
            "update --extension a --extension b",
        ] {
            assert!(read(line).is_err(), "{line}");
        }
    }

    #[test]
    fn what_an_update_is_about() {
        let one = |source: &str| UpdateTarget::Packages(Some(source.to_owned()));
        let pi = |force, is_chosen| UpdateTarget::Pi { force, is_chosen };
        for (line, expected) in [
            ("update", pi(false, false)),
            ("update pi", pi(false, true)),
            ("update self --force", pi(true, true)),
            ("update --self", pi(false, true)),
            ("update --extensions", UpdateTarget::Packages(None)),
            ("update --models", UpdateTarget::Models),
            ("update --all", UpdateTarget::Everything { force: false }),
            (
                "update --self --extensions",
                UpdateTarget::Everything { force: false },
            ),
            (
                "update pi --extensions",
                UpdateTarget::Everything { force: false },
            ),
            ("update npm:x", one("npm:x")),
            ("update --extension npm:x", one("npm:x")),
        ] {
            let Asked::Request(request) = read(line).unwrap() else {
                panic!("{line}");
            };
            assert_eq!(request.task, PackageTask::Update(expected), "{line}");
        }
        for line in [
            "update --all --self",
            "update --all npm:x",
            "update --models --all",
            "update --models npm:x",
            "update --models pi",
            "update --extension a b",
            "update npm:x --extensions",
        ] {
            assert!(read(line).is_err(), "{line}");
        }
    }
}
