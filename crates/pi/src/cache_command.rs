//! `pi cache`: explains prompt cache misses of a session.

use std::ffi::OsString;
use std::path::PathBuf;

use pi_env::Env;
use pi_host::{cache_misses, cache_text};
use pi_protocol::CacheMissReport;
use pi_providers::{Models, ModelsOptions};
use pi_session::{AccessMode, OpenSession, Session};

use crate::output::{Exit, Failure, print};
use crate::session_locations::SessionLocations;

const HELP: &str = "\
Usage:
  pi cache why [SESSION] [--all] [--json] [--session-dir DIR]

Explain the last prompt cache miss: which part of the request changed, how many tokens were re-sent uncached and
what that cost. SESSION is a file, an ID or an ID prefix; the default is the latest session of this project.

  --all              Show all misses of the session
  --json             Print JSON: one object with a list of misses
  --session-dir DIR  Use this session directory

Changes made by hooks of extensions to single requests are not in the session file; such a miss has no cause. The
exit code is 0, or 2 for invalid arguments or a session that cannot be read.
";

#[derive(Debug, Default, PartialEq, Eq)]
struct CacheArguments {
    session: Option<String>,
    all: bool,
    json: bool,
    session_dir: Option<String>,
}

/// Runs the command; `words` follow its name.
pub(crate) fn run(words: Vec<OsString>, env: &Env) -> Exit {
    let found = match parse(words) {
        Ok(None) => return print(HELP),
        Ok(Some(arguments)) => read(&arguments, env).map(|misses| (arguments, misses)),
        Err(failure) => Err(failure),
    };
    match found {
        Ok((arguments, misses)) => print(&text(&arguments, misses)),
        Err(failure) => {
            failure.report();
            Exit::Code(2)
        }
    }
}

/// Parses the arguments; `None` means help.
fn parse(words: Vec<OsString>) -> Result<Option<CacheArguments>, Failure> {
    let mut arguments = CacheArguments::default();
    let mut names = Vec::new();
    let mut words = words
        .into_iter()
        .map(|word| word.to_string_lossy().into_owned());
    while let Some(word) = words.next() {
        match word.as_str() {
            "--help" | "-h" => return Ok(None),
            "--all" => arguments.all = true,
            "--json" => arguments.json = true,
            "--session-dir" => {
                let directory = words.next();
                let directory =
                    directory.ok_or_else(|| usage("--session-dir needs a directory"))?;
                arguments.session_dir = Some(directory);
            }
            option if option.starts_with('-') => {
                return Err(usage(format!("pi cache has no option {option}")));
            }
            _ => names.push(word),
        }
    }
    let mut names = names.into_iter();
    match names.next().as_deref() {
        None => return Ok(None),
        Some("why") => {}
        Some(other) => return Err(usage(format!("pi cache has no command {other}"))),
    }
    arguments.session = names.next();
    match names.next() {
        None => Ok(Some(arguments)),
        Some(_) => Err(usage("too many arguments")),
    }
}

fn usage(cause: impl Into<String>) -> Failure {
    Failure::new(cause).hint("run pi cache --help for usage")
}

fn read(arguments: &CacheArguments, env: &Env) -> Result<Vec<CacheMissReport>, Failure> {
    let locations = SessionLocations::of(arguments.session_dir.as_deref(), env)?;
    let file: PathBuf = match &arguments.session {
        Some(name) => locations.find(name)?,
        None => locations.store.find_most_recent().ok_or_else(|| {
            Failure::new("this project has no sessions")
                .hint("name a session: pi cache why SESSION")
        })?,
    };
    let options = OpenSession {
        access: AccessMode::Read,
        env: env.clone(),
        ..OpenSession::default()
    };
    let session = Session::open(&file, options).map_err(|error| Failure::from_chain(&error))?;
    // For prices only; nothing is requested.
    let models = Models::new(ModelsOptions {
        env: env.clone(),
        ..ModelsOptions::default()
    });
    cache_misses(&session, &models).map_err(|error| Failure::from_chain(&error))
}

fn text(arguments: &CacheArguments, mut misses: Vec<CacheMissReport>) -> String {
    if !arguments.all {
        misses.drain(..misses.len().saturating_sub(1));
    }
    if arguments.json {
        let report = serde_json::json!({ "misses": misses });
        return format!("{report}\n");
    }
    format!("{}\n", cache_text(&misses))
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn arguments_are_parsed() {
        let parsed = |line: &str| {
            let words = line.split_whitespace().map(OsString::from).collect();
            parse(words).map_err(|failure| failure.cause)
        };
        assert_eq!(parsed(""), Ok(None));
        assert_eq!(
            parsed("why abc --all --session-dir d").unwrap().unwrap(),
            CacheArguments {
                session: Some("abc".to_owned()),
                all: true,
                json: false,
                session_dir: Some("d".to_owned()),
            }
        );
        for (line, expected) in [
            ("clear", "pi cache has no command clear"),
            ("why a b", "too many arguments"),
            ("why --x", "pi cache has no option --x"),
            ("why --session-dir", "--session-dir needs a directory"),
        ] {
            assert_eq!(parsed(line), Err(expected.to_owned()), "{line}");
        }
    }
}
