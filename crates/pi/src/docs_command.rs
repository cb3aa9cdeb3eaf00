//! `pi docs`: the manual included in the binary.
//!
//! `docs_command/topics.rs` lists the pages, `docs_command/page.rs` renders them on a terminal. A pipe gets plain
//! Markdown, for scripts and models.

mod page;
mod pager;
#[cfg(test)]
mod tables;
mod topics;

pub(crate) use page::joined;
pub(crate) use topics::TOPICS;

use std::fmt::Write as _;
use std::io::{self, IsTerminal as _};

use pi_env::Env;

use crate::manual_page;
use crate::output::{Exit, Failure, StyledText, print, print_styled};
use topics::{Topic, find, suggestions};

const HELP: &str = "\
Usage:
  pi docs           List the pages of the manual
  pi docs TOPIC     Show a page by name or unique prefix
  pi docs --all     Show all pages
  pi docs --man     Print the page of `man pi`

On a terminal a page opens in PAGER (default: less); a pipe gets Markdown.
";

/// Runs `pi docs …`; `words` follow `docs`.
pub(crate) fn run(words: &[String], env: &Env) -> Exit {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        [] => print(&list()),
        ["-h" | "--help"] => print(HELP),
        ["--all"] => show(
            &TOPICS
                .iter()
                .copied()
                .map(Topic::text)
                .collect::<Vec<_>>()
                .join("\n"),
            env,
        ),
        ["--man"] => print(&manual_page::text()),
        [option, ..] if option.starts_with('-') => {
            let cause = format!("unknown option {option}");
            Failure::new(cause)
                .hint("run pi docs --help for usage")
                .report()
        }
        [name] => match find(name) {
            Some(topic) => show(&topic.text(), env),
            None => unknown(name).report(),
        },
        [_, extra, ..] => Failure::new(format!(
            "only one topic can be shown at a time: unexpected \"{extra}\""
        ))
        .hint("pi docs --all shows every page")
        .report(),
    }
}

fn list() -> String {
    let width = TOPICS.iter().map(|topic| topic.name.len()).max();
    let width = width.unwrap_or_default();
    let mut text = "Run `pi docs TOPIC` to open a page.\n".to_owned();
    let mut section = None;
    for topic in TOPICS {
        // Writing to a string cannot fail.
        if section != Some(topic.section) {
            section = Some(topic.section);
            writeln!(text, "\n{}:", topic.section.title()).ok();
        }
        writeln!(text, "  {:width$}  {}", topic.name, topic.about).ok();
    }
    text
}

fn unknown(name: &str) -> Failure {
    let failure = Failure::new(format!("unknown topic \"{name}\""));
    let near = suggestions(name);
    let failure = if near.is_empty() {
        failure
    } else {
        failure.hint(format!("did you mean {}?", near.join(", ")))
    };
    failure.hint("run pi docs to list all pages")
}

fn show(text: &str, env: &Env) -> Exit {
    if !io::stdout().is_terminal() {
        return print(text);
    }
    let rendered = page::render(text, env);
    if pager::show(&rendered, env) {
        Exit::Success
    } else {
        print_styled(StyledText(&rendered))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_has_a_line_for_every_page() {
        let list = list();
        for topic in TOPICS {
            let line = list
                .lines()
                .find(|line| line.trim().starts_with(topic.name));
            assert!(
                line.is_some_and(|line| line.ends_with(topic.about)),
                "{}",
                topic.name
            );
            assert!(line.is_some_and(|line| line.len() <= 80), "{}", topic.name);
        }
    }

    #[test]
    fn an_unknown_topic_gets_suggestions() {
        for (name, near) in [
            ("sesion", "sessions"),
            ("provider-keys", "providers"),
            ("hotkey", "keybindings"),
        ] {
            let failure = unknown(name);
            assert!(
                failure.hints.iter().any(|hint| hint.contains(near)),
                "{name}: {failure:?}"
            );
        }
        assert_eq!(unknown("zzzzqqqq").hints, ["run pi docs to list all pages"]);
    }
}
