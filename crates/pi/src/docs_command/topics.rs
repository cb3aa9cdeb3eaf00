//! The text of a page for a terminal, and the search for a page; `topics/table.rs` lists them.

mod table;

use crate::edit_distance::edit_distance;
use crate::manual;
pub(crate) use table::TOPICS;
pub(super) use table::Topic;

impl Topic {
    /// Returns the page for a terminal: without images and table markers, with links to other pages as commands.
    pub(super) fn text(self) -> String {
        let source = manual::text(self.name);
        let lines = source.lines().filter(|line| !is_markup(line));
        let mut text = String::with_capacity(source.len());
        for line in lines {
            match line.strip_prefix("```") {
                // The words after the language are for the tests.
                Some(info) => {
                    text.push_str("```");
                    text.push_str(info.split(' ').next().unwrap_or_default());
                }
                None => text.push_str(&with_commands(line)),
            }
            text.push('\n');
        }
        text
    }
}

/// Whether a line is a table marker or an image.
fn is_markup(line: &str) -> bool {
    ["<!--", "<picture>", "<img ", "!["]
        .iter()
        .any(|prefix| line.starts_with(prefix))
}

/// Turns `[text](page.md)` into `text (pi docs page)`.
fn with_commands(line: &str) -> String {
    let mut text = String::with_capacity(line.len());
    let mut rest = line;
    while let Some((before, after)) = rest.split_once("](") {
        let (Some((lead, label)), Some((target, behind))) =
            (before.rsplit_once('['), after.split_once(')'))
        else {
            break;
        };
        let page = target
            .split('#')
            .next()
            .and_then(|file| file.strip_suffix(".md"));
        match page.filter(|page| TOPICS.iter().any(|topic| topic.name == *page)) {
            Some(page) => {
                text.push_str(lead);
                text.push_str(label);
                text.push_str(" (`pi docs ");
                text.push_str(page);
                text.push_str("`)");
            }
            None => {
                text.push_str(before);
                text.push_str("](");
                text.push_str(target);
                text.push(')');
            }
        }
        rest = behind;
    }
    text.push_str(rest);
    text
}

/// Finds a page by name, unique name prefix, or keyword.
pub(super) fn find(name: &str) -> Option<Topic> {
    let name = name.to_lowercase();
    let name = name.strip_suffix(".md").unwrap_or(&name);
    let exact = TOPICS.iter().find(|topic| topic.name == name);
    let beginning = || {
        only(
            TOPICS
                .iter()
                .filter(|topic| !name.is_empty() && topic.name.starts_with(name)),
        )
    };
    let word = || only(TOPICS.iter().filter(|topic| topic.keywords.contains(&name)));
    exact.or_else(beginning).or_else(word).copied()
}

fn only<'a>(mut topics: impl Iterator<Item = &'a Topic>) -> Option<&'a Topic> {
    let first = topics.next()?;
    topics.next().is_none().then_some(first)
}

/// Returns the names of similar pages, most similar first.
pub(super) fn suggestions(name: &str) -> Vec<&'static str> {
    const MAX_SUGGESTIONS: usize = 3;
    let name = name.to_lowercase();
    let mut near: Vec<(usize, &'static str)> = TOPICS
        .iter()
        .filter_map(|topic| {
            let words = std::iter::once(&topic.name).chain(topic.keywords);
            let nearest = words.filter_map(|word| distance(&name, word)).min()?;
            Some((nearest, topic.name))
        })
        .collect();
    pi_protocol::sort_by_key(&mut near, |(distance, _)| *distance);
    near.into_iter()
        .map(|(_, name)| name)
        .take(MAX_SUGGESTIONS)
        .collect()
}

/// Returns the edit distance of two words, or `None` if they are too different.
fn distance(typed: &str, word: &str) -> Option<usize> {
    if typed.len() >= 3 && (word.contains(typed) || typed.contains(word)) {
        return Some(0);
    }
    let edits = edit_distance(typed, word);
    (edits <= word.len() / 3).then_some(edits)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn every_file_in_docs_is_a_topic() {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
        let files = std::fs::read_dir(directory)
            .unwrap()
            .map(|entry| entry.unwrap().path());
        let files: BTreeSet<String> = files
            .filter(|path| path.extension().is_some_and(|it| it == "md"))
            .map(|path| path.file_stem().unwrap().to_string_lossy().into_owned())
            .collect();
        let pages: BTreeSet<String> = TOPICS.iter().map(|topic| topic.name.to_owned()).collect();
        assert_eq!(
            files, pages,
            "each page needs a file in docs/ and a row in topics.rs"
        );
    }

    #[test]
    fn links_between_pages_resolve() {
        for topic in TOPICS {
            for target in manual::text(topic.name)
                .split("](")
                .skip(1)
                .filter_map(|rest| rest.split(')').next())
            {
                let Some((page, anchor)) = split_target(target) else {
                    continue;
                };
                let linked = TOPICS.iter().find(|other| other.name == page);
                let linked = linked.unwrap_or_else(|| panic!("{}: no page {target}", topic.name));
                let source = manual::text(linked.name);
                let headings = source.lines().filter(|line| line.starts_with('#'));
                let mut anchors = headings.map(|line| slug(line.trim_start_matches('#')));
                let is_there = anchor.is_none_or(|anchor| anchors.any(|it| it == anchor));
                assert!(is_there, "{}: no heading {target}", topic.name);
            }
        }
    }

    fn split_target(target: &str) -> Option<(&str, Option<&str>)> {
        let (file, anchor) = match target.split_once('#') {
            Some((file, anchor)) => (file, Some(anchor)),
            None => (target, None),
        };
        let page = file.strip_suffix(".md")?;
        (!page.contains('/')).then_some((page, anchor))
    }

    fn slug(heading: &str) -> String {
        let kept = heading
            .trim()
            .chars()
            .filter(|it| it.is_alphanumeric() || " -_".contains(*it));
        kept.collect::<String>().to_lowercase().replace(' ', "-")
    }

    #[test]
    fn pages_are_found_by_name_prefix_and_keyword() {
        for (name, page) in [
            ("models", Some("models")),
            ("Models.md", Some("models")),
            ("conf", Some("configuration")),
            ("settings", Some("configuration")),
            ("hotkeys", Some("keybindings")),
            ("s", None),
            ("", None),
            ("nothing-like-it", None),
        ] {
            assert_eq!(find(name).map(|topic| topic.name), page, "{name}");
        }
    }

    #[test]
    fn links_to_pages_become_commands() {
        for (line, expected) in [
            (
                "see [models](models.md), [keys](keybindings.md#file)",
                "see models (`pi docs models`), keys (`pi docs keybindings`)",
            ),
            (
                "[site](https://example.org) and [x](unknown.md)",
                "[site](https://example.org) and [x](unknown.md)",
            ),
            ("a](b", "a](b"),
            ("no link", "no link"),
        ] {
            assert_eq!(with_commands(line), expected);
        }
    }

    #[test]
    fn pages_contain_no_markup() {
        for topic in TOPICS {
            let text = topic.text();
            assert!(!text.is_empty(), "{}", topic.name);
            assert!(!text.contains("<!--"), "{}", topic.name);
            let mut fences = text.lines().filter(|line| line.starts_with("```"));
            assert!(fences.all(|line| !line.contains(' ')), "{}", topic.name);
        }
    }
}
