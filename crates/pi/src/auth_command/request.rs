//! Arguments of `pi auth`.

use std::time::Duration;

use crate::args::{Args, Flag};
use crate::output::{Exit, Failure};

/// Minimum remaining lifetime of a bearer token without `--min-expiry`.
const DEFAULT_MIN_VALIDITY: Duration = Duration::from_mins(30);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct AuthRequest {
    pub(super) task: Task,
    /// If not set, the provider of `model`.
    pub(super) provider: Option<String>,
    pub(super) model: Option<String>,
}

impl AuthRequest {
    /// Returns the provider if given, else the model.
    pub(super) fn subject(&self) -> &str {
        let named = self.provider.as_deref().or(self.model.as_deref());
        named.unwrap_or_default()
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Task {
    Check(Check),
    Print(Secret),
}

/// `auth check` and its flags.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Check {
    pub(super) json: bool,
    pub(super) credentials: bool,
    pub(super) refresh: bool,
}

/// The secret to print.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Secret {
    ApiKey,
    BearerToken { minimum_validity: Duration },
}

impl Task {
    /// Returns the exit code if the task fails.
    pub(super) fn failure_exit(&self) -> Exit {
        match self {
            Self::Check(_) => Exit::Code(2),
            Self::Print(_) => Exit::Failure,
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct AuthUsageError {
    pub(super) failure: Failure,
    pub(super) exit: Exit,
}

/// Parses the arguments after `auth`.
pub(super) fn parse(words: Vec<String>) -> Result<AuthRequest, AuthUsageError> {
    let mut words = words.into_iter();
    let command = words.next().unwrap_or_default();
    let mut task = match command.as_str() {
        "check" => Task::Check(Check {
            json: false,
            credentials: false,
            refresh: true,
        }),
        "print-api-key" => Task::Print(Secret::ApiKey),
        "print-bearer-token" => Task::Print(Secret::BearerToken {
            minimum_validity: DEFAULT_MIN_VALIDITY,
        }),
        other => {
            return Err(usage(
                format!("unknown command \"auth {other}\""),
                Exit::Failure,
            ));
        }
    };
    let mut rest = Vec::new();
    while let Some(word) = words.next() {
        match (word.as_str(), &mut task) {
            ("--json", Task::Check(check)) => check.json = true,
            ("--credentials", Task::Check(check)) => check.credentials = true,
            ("--no-refresh", Task::Check(check)) => check.refresh = false,
            ("--min-expiry", Task::Print(Secret::BearerToken { minimum_validity })) => {
                let value = words.next().unwrap_or_default();
                *minimum_validity = duration(&value).ok_or_else(|| {
                    let cause =
                        format!("invalid duration \"{value}\"; use a value like 90s, 30m or 1h");
                    usage(cause, Exit::Failure)
                })?;
            }
            ("--json" | "--credentials" | "--no-refresh" | "--min-expiry", _) => {
                let cause = format!("auth {command} has no option {word}");
                return Err(usage(cause, Exit::Failure));
            }
            _ => rest.push(word.into()),
        }
    }
    let exit = task.failure_exit();
    let args = Args::parse(rest);
    if let Some(flag) = args.unknown.first() {
        let cause = match Flag::find(&format!("--{}", flag.name)) {
            Some(_) => flag.error_message(),
            None => format!("auth {command} has no option --{}", flag.name),
        };
        return Err(usage(cause, Exit::Failure));
    }
    let only_names = Args {
        model: args.model.clone(),
        ..Args::default()
    };
    if args != only_names || args.model.api_key.is_some() {
        let cause = format!("auth {command} takes only --provider and --model");
        return Err(usage(cause, exit));
    }
    let named = |name: Option<String>| name.filter(|name| !name.trim().is_empty());
    let request = AuthRequest {
        task,
        provider: named(args.model.provider),
        model: named(args.model.model),
    };
    if request.subject().is_empty() {
        let cause = format!("auth {command} needs --provider or --model");
        return Err(usage(cause, exit));
    }
    Ok(request)
}

fn usage(cause: String, exit: Exit) -> AuthUsageError {
    AuthUsageError {
        failure: Failure::new(cause).hint("run pi auth --help for usage"),
        exit,
    }
}

/// Parses a duration: a number and `ms`, `s`, `m` or `h`.
fn duration(text: &str) -> Option<Duration> {
    let digits = text.find(|character: char| !character.is_ascii_digit())?;
    let (number, unit) = text.split_at_checked(digits)?;
    let number: u64 = number.parse().ok()?;
    let milliseconds = match unit.to_ascii_lowercase().as_str() {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        _ => return None,
    };
    Some(Duration::from_millis(number.checked_mul(milliseconds)?))
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn read(line: &str) -> Result<AuthRequest, AuthUsageError> {
        parse(line.split_whitespace().map(str::to_owned).collect())
    }

    #[test]
    fn commands_and_their_flags() {
        let check = |json, credentials, refresh| {
            Task::Check(Check {
                json,
                credentials,
                refresh,
            })
        };
        let token = |seconds| {
            Task::Print(Secret::BearerToken {
                minimum_validity: Duration::from_secs(seconds),
            })
        };
        for (line, task) in [
            ("check --provider p", check(false, false, true)),
            (
                "check --json --provider p --no-refresh",
                check(true, false, false),
            ),
            ("check --credentials --provider p", check(false, true, true)),
            ("print-api-key --provider p", Task::Print(Secret::ApiKey)),
            ("print-bearer-token --provider p", token(1800)),
            (
                "print-bearer-token --min-expiry 2h --provider p",
                token(7200),
            ),
            (
                "print-bearer-token --min-expiry 90S --provider p",
                token(90),
            ),
            (
                "print-bearer-token --min-expiry 5000ms --provider p",
                token(5),
            ),
        ] {
            let request = read(line).unwrap();
            assert_eq!(request.task, task, "{line}");
            assert_eq!(request.provider.as_deref(), Some("p"), "{line}");
        }
        assert_eq!(read("check --model m").unwrap().subject(), "m");
    }

    #[test]
    fn invalid_arguments_have_the_right_exit_code() {
        for (line, exit) in [
            ("frobnicate", Exit::Failure),
            ("check", Exit::Code(2)),
            ("check --provider", Exit::Failure),
            ("check hello --provider p", Exit::Code(2)),
            ("check --provider p --api-key k", Exit::Code(2)),
            ("check --provider p -z", Exit::Code(2)),
            ("check --provider p --min-expiry 1h", Exit::Failure),
            ("check --provider p --frobnicate", Exit::Failure),
            ("print-api-key", Exit::Failure),
            ("print-api-key --json --provider p", Exit::Failure),
            (
                "print-bearer-token --provider p --min-expiry soon",
                Exit::Failure,
            ),
            (
                "print-bearer-token --provider p --min-expiry 99999999999999999999h",
                Exit::Failure,
            ),
        ] {
            assert_eq!(read(line).unwrap_err().exit, exit, "{line}");
        }
    }
}
