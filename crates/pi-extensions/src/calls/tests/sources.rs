//! Finds the calls in the JavaScript sources of the extension host.

use std::path::Path;

/// Functions that make a call, with its mode. The name is the first argument, or the second after
/// `"host"`.
const FUNCTIONS: [(&str, &str); 6] = [
    ("requestWithCallbacks(", "request"),
    ("startAbortable(\"host\",", "request"),
    ("#request(", "request"),
    ("#call(", "call"),
    ("request(", "request"),
    ("call(", "call"),
];

/// A call in the JavaScript sources.
pub(super) struct MadeCall {
    pub(super) file: String,
    pub(super) name: String,
    pub(super) mode: &'static str,
    pub(super) parameters: Vec<String>,
    /// Whether it passes more parameters than its text shows.
    pub(super) is_open: bool,
}

/// Returns the sources that call the program.
pub(super) fn sources() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../pi-ext/js");
    let mut sources = Vec::new();
    for folder in ["pi", "tui", "modules"] {
        for entry in std::fs::read_dir(root.join(folder)).unwrap() {
            let path = entry.unwrap().path();
            let source = std::fs::read_to_string(&path).unwrap();
            let mut imports = source.lines().filter(|line| line.starts_with("import "));
            let calls = imports.any(|line| {
                let makes_calls = line.contains(" call") || line.contains(" request");
                (makes_calls && (line.contains("pi:host") || line.contains("pi:pi/callbacks")))
                    || line.contains("pi:pi/scope")
                    || line.contains("createEventBus")
                    || line.contains(" register ")
                    || line.contains("pi:pi/tool_operations")
            });
            if calls {
                sources.push((path.display().to_string(), source));
            }
        }
    }
    sources
}

pub(super) fn made_calls() -> Vec<MadeCall> {
    let sources = sources();
    let calls = sources
        .iter()
        .flat_map(|(file, source)| calls_of(file, source));
    calls.collect()
}

fn calls_of(file: &str, source: &str) -> Vec<MadeCall> {
    let source: String = source
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .flat_map(|line| [line, "\n"])
        .collect();
    // A class adds the number of its session or agent to all its calls.
    let added = source.split_once("...args, ").map(|(_, rest)| word(rest));
    let mut calls = Vec::new();
    let mut rest = source.as_str();
    while let Some((position, function, mode)) = next_function(rest) {
        let (before, found) = rest.split_at(position);
        let is_method = before.ends_with(['.', '#']) && !function.starts_with('#');
        let is_part = before.ends_with(|last: char| last.is_alphanumeric() || last == '_');
        rest = found.split_at(function.len()).1;
        // The name is a variable where a helper is defined.
        let Some((name, arguments)) = string_literal(rest).filter(|_| !is_method && !is_part)
        else {
            let text = rest.trim_start();
            let is_definition = text.starts_with("method") || text.starts_with(')');
            assert!(
                is_method || is_part || is_definition,
                "{file}: cannot read the call {function}{}",
                text.lines().next().unwrap_or_default()
            );
            continue;
        };
        let (mut parameters, is_open) = members(arguments);
        parameters.extend(match function {
            "#call(" | "#request(" => added.map(str::to_owned),
            "requestWithCallbacks(" => Some("number".to_owned()),
            _ => None,
        });
        calls.push(MadeCall {
            file: file.to_owned(),
            name: name.to_owned(),
            mode,
            parameters,
            is_open,
        });
    }
    calls
}

fn next_function(source: &str) -> Option<(usize, &'static str, &'static str)> {
    let found = FUNCTIONS
        .iter()
        .filter_map(|(function, mode)| Some((source.find(function)?, *function, *mode)));
    // The longest match wins where several end at the same place.
    found.min_by_key(|(position, function, _)| (position + function.len(), *position))
}

fn word(text: &str) -> &str {
    let end = text.find(|next: char| !next.is_alphanumeric() && next != '_');
    text.split_at(end.unwrap_or(text.len())).0
}

/// Splits a string literal from the front.
fn string_literal(text: &str) -> Option<(&str, &str)> {
    text.trim_start().strip_prefix('"')?.split_once('"')
}

/// Returns the member names of the object literal that follows a call's name, and whether there
/// may be more.
fn members(arguments: &str) -> (Vec<String>, bool) {
    let Some(arguments) = arguments.trim_start().strip_prefix(',') else {
        return (Vec::new(), false);
    };
    let Some(object) = arguments.trim_start().strip_prefix('{') else {
        return (Vec::new(), true);
    };
    let mut names = Vec::new();
    let mut is_open = false;
    for member in split_members(object) {
        let member = member.trim();
        if member.starts_with("...") {
            is_open = true;
        } else if !member.is_empty() {
            names.push(word(member).to_owned());
        }
    }
    (names, is_open)
}

/// Splits the text of an object literal at its commas, up to its closing brace.
fn split_members(object: &str) -> Vec<&str> {
    let mut members = Vec::new();
    let (mut depth, mut start, mut quote) = (0_usize, 0, None);
    for (position, character) in object.char_indices() {
        match (quote, character) {
            (Some(open), _) if open == character => quote = None,
            (None, '"' | '\'' | '`') => quote = Some(character),
            (None, '(' | '[' | '{') => depth += 1,
            (None, '}') if depth == 0 => {
                members.push(object.get(start..position).unwrap_or_default());
                return members;
            }
            (None, ')' | ']' | '}') => depth -= 1,
            (None, ',') if depth == 0 => {
                members.push(object.get(start..position).unwrap_or_default());
                start = position + 1;
            }
            _ => {}
        }
    }
    members
}
