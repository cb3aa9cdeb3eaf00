//! Arguments of the package commands.

use crate::output::Failure;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PackageRequest {
    pub(super) task: PackageTask,
    /// Whether to use the project settings.
    pub(super) local: bool,
    /// `--approve` or `--no-approve`.
    pub(super) trust: Option<bool>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PackageTask {
    Install {
        source: String,
        /// Packages whose install scripts may run.
        scripts: Vec<String>,
    },
    Check(String),
    Remove(String),
    Update(UpdateTarget),
    List,
    Config,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum UpdateTarget {
    /// `force` reinstalls the latest release.
    Pi {
        force: bool,
        is_chosen: bool,
    },
    /// All packages, or one.
    Packages(Option<String>),
    /// The model catalogs.
    Models,
    Everything {
        force: bool,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CommandName {
    Install,
    Remove,
    Update,
    List,
    Config,
}

impl CommandName {
    /// Parses the command name; `uninstall` is an alias of `remove`.
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

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ParsedCommand {
    Help(CommandName),
    Request(PackageRequest),
}

#[derive(Debug, Default)]
struct PackageArgs {
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

/// Parses the arguments, which start with the command name.
pub(super) fn parse(words: &[String]) -> Result<ParsedCommand, Failure> {
    let (first, rest) = match words.split_first() {
        Some((first, rest)) => (first.as_str(), rest),
        None => return Ok(ParsedCommand::Help(CommandName::List)),
    };
    let command = CommandName::parse(first).unwrap_or(CommandName::List);
    let usage = |cause: String| {
        Failure::new(cause).hint(format!("run pi {} --help for usage", command.word()))
    };
    let Some(read) = scan(command, rest).map_err(usage)? else {
        return Ok(ParsedCommand::Help(command));
    };
    let (local, trust) = (read.local, read.trust);
    let task = task(command, read).map_err(usage)?;
    Ok(ParsedCommand::Request(PackageRequest {
        task,
        local,
        trust,
    }))
}

/// Splits the arguments; `None` means help.
fn scan(command: CommandName, rest: &[String]) -> Result<Option<PackageArgs>, String> {
    use CommandName::{Config, Install, Remove, Update};

    let mut read = PackageArgs::default();
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
                    return Err("--extension can be given only once".to_owned());
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

fn task(command: CommandName, read: PackageArgs) -> Result<PackageTask, String> {
    let takes = usize::from(!matches!(command, CommandName::List | CommandName::Config));
    if let Some(extra) = read.sources.get(takes) {
        return Err(format!(
            "pi {}: unexpected argument {extra}",
            command.word()
        ));
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

/// Determines what to update; conflicting options are an error.
fn target(read: &PackageArgs, source: Option<String>) -> Result<UpdateTarget, String> {
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
            return Err(format!("{first} and {other} cannot be combined"));
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

    fn read(line: &str) -> Result<ParsedCommand, Failure> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        parse(&words)
    }

    #[test]
    fn commands_and_their_flags() {
        let request =
            |task, local, trust| ParsedCommand::Request(PackageRequest { task, local, trust });
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
            ("install --help", ParsedCommand::Help(CommandName::Install)),
            ("update -h", ParsedCommand::Help(CommandName::Update)),
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
    fn update_targets() {
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
            let ParsedCommand::Request(request) = read(line).unwrap() else {
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
