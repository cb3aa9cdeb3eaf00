//! `pi search`: finds text in all stored sessions.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::{IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use pi_config::{AgentDir, SettingsStore};
use pi_env::Env;
use pi_host::{
    BackgroundIndexing, IndexFreshness, SessionSearch, SessionSearchError, SessionSearchOptions,
};
use pi_protocol::{
    IndexingProgress, ProjectAccess, SearchRole, SessionSearchHit, SessionSearchResults, timestamp,
};

use crate::output::{Exit, Failure, StyledText, print, print_styled, sanitize};
use crate::own_stdio;
use crate::startup::working_directory;

const HELP: &str = "\
Usage:
  pi search QUERY [OPTIONS]

Find text in the sessions of all projects. All words of QUERY must occur in one message; words in double
quotes and words such as retry_budget must follow each other; retr* matches the start of a word.

  --cwd [DIR]    Only sessions of this directory or below; the default is the current one
  --since TIME   Only entries since then: a date (2026-01-31) or an age (12h, 30d, 8w)
  --role ROLE    Only entries of user, assistant or tool
  --limit N      Show this many hits (default 20, at most 500)
  --json         Print JSON

Open a hit with `pi --session ID`. The exit code is 0 if there are hits, 1 if not, 2 for invalid arguments or
if the search fails.
";

/// No progress is shown for shorter updates.
const PROGRESS_AFTER: Duration = Duration::from_millis(500);

const DAY: i64 = 24 * 60 * 60 * 1000;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct SearchArguments {
    query: String,
    /// As given; empty for the current directory.
    cwd: Option<String>,
    since: Option<String>,
    role: Option<SearchRole>,
    limit: usize,
    json: bool,
}

/// Runs the command; `words` follow its name.
pub(crate) fn run(words: Vec<OsString>, env: &Env) -> Exit {
    let found = match parse(words) {
        Ok(None) => return print(HELP),
        Ok(Some(arguments)) => search(&arguments, env).map(|results| (arguments, results)),
        Err(failure) => Err(failure),
    };
    match found {
        Ok((arguments, results)) => show(&arguments, &results, env),
        Err(failure) => {
            failure.report();
            Exit::Code(2)
        }
    }
}

/// Parses the arguments; `None` means help.
fn parse(words: Vec<OsString>) -> Result<Option<SearchArguments>, Failure> {
    let mut arguments = SearchArguments::default();
    let mut query = Vec::new();
    let mut options_ended = false;
    let words = words.into_iter();
    let mut words = words
        .map(|word| word.to_string_lossy().into_owned())
        .peekable();
    while let Some(word) = words.next() {
        match word.as_str() {
            _ if options_ended => query.push(word),
            "--" => options_ended = true,
            "--help" | "-h" => return Ok(None),
            "--json" => arguments.json = true,
            "--cwd" => {
                let directory = words.next_if(|next| {
                    next.starts_with(['/', '~', '.']) || Path::new(next).is_absolute()
                });
                arguments.cwd = Some(directory.unwrap_or_default());
            }
            "--since" => arguments.since = Some(value(words.next(), "--since needs a time")?),
            "--limit" => {
                let limit = value(words.next(), "--limit needs a number")?;
                let limit = limit.parse().ok().filter(|limit| *limit > 0);
                arguments.limit = limit.ok_or_else(|| usage("--limit needs a number"))?;
            }
            "--role" => {
                arguments.role = Some(match words.next().as_deref() {
                    Some("user") => SearchRole::User,
                    Some("assistant") => SearchRole::Assistant,
                    Some("tool") => SearchRole::Tool,
                    _ => return Err(usage("--role needs user, assistant or tool")),
                });
            }
            option if option.starts_with("--") => {
                return Err(usage(format!("pi search has no option {option}")));
            }
            _ => query.push(word),
        }
    }
    arguments.query = query.join(" ");
    Ok((!arguments.query.trim().is_empty()).then_some(arguments))
}

fn value(word: Option<String>, missing: &str) -> Result<String, Failure> {
    word.ok_or_else(|| usage(missing))
}

fn usage(cause: impl Into<String>) -> Failure {
    Failure::new(cause).hint("run pi search --help for usage")
}

/// Returns the time that `--since` names.
fn parse_since(text: &str, now_ms: i64) -> Option<i64> {
    if let Some(at) = timestamp::parse_iso(text) {
        return Some(at);
    }
    if let Some(at) = timestamp::parse_iso(&format!("{text}T00:00:00.000Z")) {
        return Some(at);
    }
    let digits = text.trim_end_matches(|last: char| last.is_ascii_alphabetic());
    let unit = match text.strip_prefix(digits)? {
        "h" => DAY / 24,
        "d" => DAY,
        "w" => DAY * 7,
        _ => return None,
    };
    let count: i64 = digits.parse().ok().filter(|count| *count >= 0)?;
    Some(now_ms.saturating_sub(count.checked_mul(unit)?))
}

fn search(arguments: &SearchArguments, env: &Env) -> Result<SessionSearchResults, Failure> {
    let cwd = working_directory()?;
    let since_ms = match &arguments.since {
        None => None,
        Some(text) => Some(
            parse_since(text, env.now_ms())
                .ok_or_else(|| usage(format!("--since needs a date or an age, not \"{text}\"")))?,
        ),
    };
    let folder = arguments.cwd.as_deref().map(|folder| match folder {
        "" => cwd.clone(),
        folder => cwd.join(pi_config::expand_home(folder, env)),
    });
    let options = SessionSearchOptions {
        query: arguments.query.clone(),
        is_incomplete: false,
        cwd: folder.map(|folder| resolved(&folder)),
        since_ms,
        role: arguments.role,
        limit: arguments.limit,
    };
    let agent_dir = AgentDir::from_env(env);
    // Ignore project settings, since trust was not decided.
    let settings = SettingsStore::open(&agent_dir, &cwd, ProjectAccess::Denied);
    let background = BackgroundIndexing::default();
    let settings = settings.settings();
    let search = SessionSearch::new(agent_dir.path(), &cwd, &settings, env, background);
    let progress = ProgressLine::new();
    let found = search.search(&options, IndexFreshness::Complete(&|it| progress.show(it)));
    progress.clear();
    found.map_err(|error| {
        let failure = Failure::from_chain(&error);
        match error {
            SessionSearchError::Index(_) => {
                failure.hint("remove the directory `search` in the agent directory to rebuild it")
            }
            _ => failure,
        }
    })
}

/// Sessions have the working directory without links and dots.
fn resolved(folder: &Path) -> PathBuf {
    std::fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned())
}

/// A line on stderr for updates that take long.
struct ProgressLine {
    started: Instant,
    is_terminal: bool,
    shown: std::cell::Cell<bool>,
}

impl ProgressLine {
    fn new() -> Self {
        Self {
            started: Instant::now(),
            is_terminal: std::io::stderr().is_terminal(),
            shown: std::cell::Cell::new(false),
        }
    }

    fn show(&self, progress: IndexingProgress) {
        if self.is_terminal && self.started.elapsed() > PROGRESS_AFTER {
            self.shown.set(true);
            let percent = (progress.done * 100)
                .checked_div(progress.total)
                .unwrap_or(100);
            self.write(&format!("\r\u{1b}[KIndexing sessions: {percent} %"));
        }
    }

    fn clear(&self) {
        if self.shown.get() {
            self.write("\r\u{1b}[K");
        }
    }

    #[expect(clippy::unused_self, reason = "only a progress line writes")]
    fn write(&self, text: &str) {
        // Progress is not worth a failure.
        std::io::stderr().write_all(text.as_bytes()).ok();
    }
}

fn show(arguments: &SearchArguments, results: &SessionSearchResults, env: &Env) -> Exit {
    if arguments.json {
        let json = pi_protocol::json::to_string(results).unwrap_or_default();
        return print(&format!("{json}\n"));
    }
    if results.hits.is_empty() {
        crate::output::notice("No matches");
        return Exit::Failure;
    }
    let is_styled = own_stdio::stdout_is_terminal() && env.var("NO_COLOR").is_none();
    let mut text = String::new();
    for hit in &results.hits {
        push_hit(&mut text, hit, is_styled);
    }
    let more = results.total.saturating_sub(results.hits.len());
    if more > 0 {
        // Writing to a string cannot fail.
        writeln!(text, "{more} more; use --limit to show them").ok();
    }
    if is_styled {
        print_styled(StyledText(&text))
    } else {
        print(&text)
    }
}

fn push_hit(text: &mut String, hit: &SessionSearchHit, is_styled: bool) {
    let style = |code: &str, part: &str| {
        let part = sanitize(part);
        if is_styled {
            format!("\u{1b}[{code}m{part}\u{1b}[0m")
        } else {
            part.into_owned()
        }
    };
    let date = hit.timestamp_ms.map(timestamp::to_iso).unwrap_or_default();
    let date = date.get(..16).unwrap_or_default().replace('T', " ");
    let title = hit.title.as_deref().unwrap_or("(no title)");
    writeln!(
        text,
        "{}  {date}  {}  {}",
        style("1", &hit.session_id),
        style("2", &hit.cwd),
        sanitize(title)
    )
    .ok();
    write!(
        text,
        "  {}  {:9} ",
        style("2", &hit.entry_id),
        role_name(hit.role)
    )
    .ok();
    for part in &hit.snippet {
        let shown = if part.is_match {
            style("1;33", &part.text)
        } else {
            sanitize(&part.text).into_owned()
        };
        text.push_str(&shown);
    }
    text.push('\n');
}

const fn role_name(role: SearchRole) -> &'static str {
    match role {
        SearchRole::User => "user",
        SearchRole::Assistant => "assistant",
        SearchRole::Tool => "tool",
        SearchRole::Other => "other",
        SearchRole::Name => "name",
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn parsed(line: &str) -> Result<Option<SearchArguments>, String> {
        let words = line.split_whitespace().map(OsString::from).collect();
        parse(words).map_err(|failure| failure.cause)
    }

    #[test]
    fn arguments_are_parsed() {
        let all = parsed("retry --cwd /p budget --since 2d --role tool --limit 3 --json");
        assert_eq!(
            all.unwrap().unwrap(),
            SearchArguments {
                query: "retry budget".to_owned(),
                cwd: Some("/p".to_owned()),
                since: Some("2d".to_owned()),
                role: Some(SearchRole::Tool),
                limit: 3,
                json: true,
            }
        );
        let here = parsed("--cwd retry").unwrap().unwrap();
        assert_eq!(
            (here.cwd.as_deref(), here.query.as_str()),
            (Some(""), "retry")
        );
        assert_eq!(parsed("-- --json").unwrap().unwrap().query, "--json");
        assert_eq!(parsed(""), Ok(None));
        for (line, expected) in [
            ("x --role bot", "--role needs user, assistant or tool"),
            ("x --limit 0", "--limit needs a number"),
            ("x --what", "pi search has no option --what"),
        ] {
            assert_eq!(parsed(line), Err(expected.to_owned()));
        }
    }

    #[test]
    fn dates_and_ages_are_times() {
        let now = timestamp::parse_iso("2026-03-10T12:00:00.000Z").unwrap();
        for (text, expected) in [
            ("2026-01-31", Some("2026-01-31T00:00:00.000Z")),
            ("2026-01-31T10:00:00.000Z", Some("2026-01-31T10:00:00.000Z")),
            ("12h", Some("2026-03-10T00:00:00.000Z")),
            ("1w", Some("2026-03-03T12:00:00.000Z")),
            ("-1d", None),
            ("9999999999999999999d", None),
            ("soon", None),
        ] {
            let found = parse_since(text, now).map(timestamp::to_iso);
            assert_eq!(found.as_deref(), expected, "{text}");
        }
    }
}
