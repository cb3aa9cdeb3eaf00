//! Commands that do not exist: a typing error must not become a request that costs money.

use pi_tui::fuzzy_score;

use super::COMMANDS;

/// Commands that other programs have, and ours that does the same.
const OTHER_NAMES: [(&str, &str); 12] = [
    ("exit", "quit"),
    ("q", "quit"),
    ("help", "hotkeys"),
    ("keys", "hotkeys"),
    ("theme", "settings"),
    ("config", "settings"),
    ("clear", "new"),
    ("reset", "new"),
    ("continue", "resume"),
    ("sessions", "resume"),
    ("models", "model"),
    ("stats", "session"),
];

/// Words that start a command in most programs, without a slash.
const BARE_WORDS: [&str; 3] = ["quit", "exit", "help"];

/// Names shorter than this share their first letters with too many others.
const SHARED_LETTERS: usize = 3;

const MAX_SUGGESTIONS: usize = 3;

/// Returns what to say about text that looks like a command but is none. `known` are the names of extensions,
/// skills and templates.
pub(crate) fn explain(text: &str, known: impl FnOnce() -> Vec<String>) -> Option<String> {
    if BARE_WORDS.contains(&text) {
        let command = other_name(text).unwrap_or(text);
        return Some(format!("Did you mean /{command}?"));
    }
    let name = command_name(text)?;
    if COMMANDS.iter().any(|command| command.name == name) {
        return Some(format!("/{name} takes no argument."));
    }
    let known = known();
    if known.iter().any(|known| known == name) {
        return None;
    }
    let own = COMMANDS
        .iter()
        .filter(|command| !command.description.is_empty());
    let mut near: Vec<&str> = other_name(name).into_iter().collect();
    let names = own.map(|command| command.name);
    for candidate in names.chain(known.iter().map(String::as_str)) {
        if is_near(name, candidate) && !near.contains(&candidate) {
            near.push(candidate);
        }
    }
    near.truncate(MAX_SUGGESTIONS);
    let near: Vec<String> = near.iter().map(|name| format!("/{name}")).collect();
    Some(match near.as_slice() {
        [] => format!("Unknown command: /{name}."),
        near => format!(
            "Unknown command: /{name}. Did you mean {}?",
            near.join(", ")
        ),
    })
}

/// Returns the name in text that can only be meant as a command: a path has further slashes.
fn command_name(text: &str) -> Option<&str> {
    let typed = text.strip_prefix('/')?;
    let name = typed.split([' ', '\n']).next()?;
    let is_name = |letter: char| letter.is_ascii_alphanumeric() || "-_:".contains(letter);
    let is_command = name.starts_with(|letter: char| letter.is_ascii_alphabetic());
    (is_command && name.chars().all(is_name)).then_some(name)
}

fn other_name(name: &str) -> Option<&'static str> {
    let found = OTHER_NAMES.iter().find(|(other, _)| *other == name);
    found.map(|(_, own)| *own)
}

/// Whether a name is the other with letters missing, added, exchanged, or different at the end.
fn is_near(typed: &str, name: &str) -> bool {
    let letters = |word: &str| {
        let mut letters: Vec<char> = word.chars().collect();
        letters.sort_unstable();
        letters
    };
    let shared = typed.chars().zip(name.chars()).take_while(|(a, b)| a == b);
    fuzzy_score(typed, name).is_some()
        || (name.len() > SHARED_LETTERS && fuzzy_score(name, typed).is_some())
        || letters(typed) == letters(name)
        || shared.count() >= SHARED_LETTERS
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn explained(text: &str) -> Option<String> {
        explain(text, || {
            vec!["deploy".to_owned(), "skill:review".to_owned()]
        })
    }

    #[test]
    fn typing_errors_are_explained() {
        let table = [
            ("/modle", "Unknown command: /modle. Did you mean /model?"),
            (
                "/deplyo now",
                "Unknown command: /deplyo. Did you mean /deploy?",
            ),
            ("/theme", "Unknown command: /theme. Did you mean /settings?"),
            ("/zzz", "Unknown command: /zzz."),
            ("/new now", "/new takes no argument."),
            ("exit", "Did you mean /quit?"),
        ];
        for (text, expected) in table {
            assert_eq!(explained(text).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn prompts_paths_and_known_commands_are_sent() {
        for text in [
            "/usr/bin/env is missing",
            "/deploy now",
            "/skill:review",
            "/",
            "// a comment",
            "/2 is a half",
            "exit the loop",
        ] {
            assert_eq!(explained(text), None, "{text}");
        }
    }
}
