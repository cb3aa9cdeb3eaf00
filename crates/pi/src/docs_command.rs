//! `pi docs`: the manual, which is part of the program.
//!
//! Which pages there are is in `docs_command/topics.rs`, how they look on a terminal in
//! `docs_command/page.rs`. To a pipe a page goes as plain Markdown, so that scripts and models read it as well.

mod page;
mod pager;
#[cfg(test)]
mod tables;
mod topics;

pub(crate) use page::joined;

use std::fmt::Write as _;
use std::io::{self, IsTerminal as _};

use pi_ai::Env;

use crate::output::{Exit, Failure, print};
use topics::{TOPICS, Topic, find, suggestions};

const HELP: &str = "\
Usage:
  pi docs           List the pages of the manual
  pi docs TOPIC     Read one; the beginning of its name is enough
  pi docs --all     Read all of them

On a terminal a page opens in PAGER (less, if it is not set); to a pipe it goes as Markdown.
";

/// Serves `pi docs …`; `words` are those after `docs`.
pub(crate) fn run(words: &[String], env: &Env) -> Exit {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        [] => print(&list()),
        ["-h" | "--help"] => print(HELP),
        ["--all"] => show(&TOPICS.map(Topic::text).join("\n"), env),
        [option, ..] if option.starts_with('-') => {
            let cause = format!("Unknown option {option}");
            Failure::new(cause)
                .hint("pi docs --help lists the options")
                .report()
        }
        [name] => match find(name) {
            Some(topic) => show(&topic.text(), env),
            None => unknown(name).report(),
        },
        [_, extra, ..] => Failure::new(format!("one topic at a time, not also \"{extra}\""))
            .hint("pi docs --all shows every page")
            .report(),
    }
}

fn list() -> String {
    let width = TOPICS.iter().map(|topic| topic.name.len()).max();
    let width = width.unwrap_or_default();
    let mut text = "The manual of pi. `pi docs TOPIC` opens a page.\n\n".to_owned();
    for topic in &TOPICS {
        // Writing to a string cannot fail.
        writeln!(text, "  {:width$}  {}", topic.name, topic.about).ok();
    }
    text
}

fn unknown(name: &str) -> Failure {
    let failure = Failure::new(format!("there is no page \"{name}\""));
    let near = suggestions(name);
    let failure = if near.is_empty() {
        failure
    } else {
        failure.hint(format!("did you mean {}?", near.join(", ")))
    };
    failure.hint("pi docs lists the pages")
}

fn show(text: &str, env: &Env) -> Exit {
    if !io::stdout().is_terminal() {
        return print(text);
    }
    let rendered = page::render(text, env);
    if pager::show(&rendered, env) {
        Exit::Success
    } else {
        print(&rendered)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_names_every_page_on_a_line_of_its_own() {
        let list = list();
        for topic in &TOPICS {
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
    fn a_name_that_is_none_gets_suggestions() {
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
        assert_eq!(unknown("zzzzqqqq").hints, ["pi docs lists the pages"]);
    }
}
