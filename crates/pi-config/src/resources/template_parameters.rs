//! Prompt templates with named parameters, for clients that ask for values instead of a line of arguments.
//!
//! A template knows its arguments by position. Their names come from its argument hint: `<file> [focus]` names two, the
//! first of which is required.

use super::prompt_templates::PromptTemplate;
use super::template_arguments::{UsedArguments, substitute};

/// More positions than this are not offered; text such as `$100` is rarely an argument.
const MAX_POSITION: usize = 16;

/// A parameter of a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TemplateParameter {
    pub name: String,
    /// The argument hint, if it does not name this parameter.
    pub description: Option<String>,
    pub is_required: bool,
    slot: Slot,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Slot {
    /// Counted from 1.
    Position(usize),
    /// All arguments after the last position.
    Rest,
}

impl PromptTemplate {
    /// Returns the parameters that the placeholders of the template use.
    pub fn parameters(&self) -> Vec<TemplateParameter> {
        let used = UsedArguments::of(&self.content);
        let hint = self.argument_hint.as_deref().unwrap_or_default();
        let description = Some(hint).filter(|hint| !hint.is_empty());
        let words = hint_words(hint);
        let mut parameters: Vec<TemplateParameter> = Vec::new();
        let positions = used.positions.range(1..=MAX_POSITION).copied();
        for position in positions {
            let word = words.get(position - 1);
            let word = word.filter(|word| parameters.iter().all(|it| it.name != word.name));
            parameters.push(TemplateParameter {
                name: word.map_or_else(|| format!("argument{position}"), |it| it.name.to_owned()),
                description: description.filter(|_| word.is_none()).map(str::to_owned),
                is_required: word.is_some_and(|word| word.is_required),
                slot: Slot::Position(position),
            });
        }
        if used.has_all {
            let rest = words.get(last_position(&parameters)..).unwrap_or_default();
            let name = match rest {
                [only] if parameters.iter().all(|it| it.name != only.name) => Some(only.name),
                _ => None,
            };
            parameters.push(TemplateParameter {
                name: name.unwrap_or("arguments").to_owned(),
                description: description.filter(|_| name.is_none()).map(str::to_owned),
                is_required: rest.iter().any(|word| word.is_required),
                slot: Slot::Rest,
            });
        }
        parameters
    }

    /// Returns the text of the template. `value` returns the value of a parameter, if there is one.
    pub fn fill<'a>(&self, value: impl Fn(&TemplateParameter) -> Option<&'a str>) -> String {
        let parameters = self.parameters();
        let mut arguments: Vec<String> = Vec::new();
        for parameter in &parameters {
            let Some(value) = value(parameter) else {
                continue;
            };
            let before = match parameter.slot {
                Slot::Position(position) => position - 1,
                Slot::Rest => last_position(&parameters),
            };
            arguments.resize(before, String::new());
            arguments.push(value.to_owned());
        }
        substitute(&self.content, &arguments)
    }
}

fn last_position(parameters: &[TemplateParameter]) -> usize {
    let positions = parameters.iter().map(|parameter| match parameter.slot {
        Slot::Position(position) => position,
        Slot::Rest => 0,
    });
    positions.max().unwrap_or_default()
}

/// A name in an argument hint.
struct HintWord<'a> {
    name: &'a str,
    is_required: bool,
}

/// Returns the names in brackets: `<required>` and `[optional]`. Other words are prose.
fn hint_words(hint: &str) -> Vec<HintWord<'_>> {
    let mut words = Vec::new();
    let mut rest = hint;
    while let Some((_, after)) = rest.split_once(['<', '[']) {
        let is_required = rest.chars().find(|it| "<[".contains(*it)) == Some('<');
        let end = if is_required { '>' } else { ']' };
        let Some((name, after)) = after.split_once(end) else {
            break;
        };
        let name = name.trim_matches(|it: char| it.is_whitespace() || "<>[].…".contains(it));
        if !name.is_empty() {
            words.push(HintWord { name, is_required });
        }
        rest = after;
    }
    words
}

#[cfg(test)]
mod tests {
    use pi_protocol::{SourceInfo, SourceOrigin, SourceScope};
    use pretty_assertions::assert_eq;

    use super::*;

    fn template(hint: Option<&str>, content: &str) -> PromptTemplate {
        PromptTemplate {
            name: "t".to_owned(),
            description: String::new(),
            argument_hint: hint.map(str::to_owned),
            content: content.to_owned(),
            file_path: "t.md".into(),
            source_info: SourceInfo {
                path: "t.md".into(),
                source: "auto".to_owned(),
                scope: SourceScope::User,
                origin: SourceOrigin::TopLevel,
                base_dir: None,
            },
        }
    }

    #[test]
    fn parameters_are_named_by_the_hint() {
        for (hint, content, expected) in [
            (None, "no arguments", &[][..]),
            (
                None,
                "$1 and ${3:-x}",
                &[("argument1", false), ("argument3", false)],
            ),
            (None, "$@", &[("arguments", false)]),
            (
                Some("<file> [focus area]"),
                "$1 $2",
                &[("file", true), ("focus area", false)],
            ),
            (
                Some("<file> [notes...]"),
                "$1: ${@:2}",
                &[("file", true), ("notes", false)],
            ),
            (
                Some("<instructions>"),
                "$ARGUMENTS",
                &[("instructions", true)],
            ),
            (Some("<a> [b]"), "$@", &[("arguments", true)]),
            (Some("what to do"), "$@", &[("arguments", false)]),
            (
                Some("<a> <a>"),
                "$1 $2",
                &[("a", true), ("argument2", false)],
            ),
            (Some("<open"), "$1", &[("argument1", false)]),
            (None, "costs $0 or $2000", &[]),
        ] {
            let parameters = template(hint, content).parameters();
            let named: Vec<_> = parameters
                .iter()
                .map(|it| (it.name.as_str(), it.is_required))
                .collect();
            assert_eq!(named, expected, "{hint:?} {content}");
        }
        let parameters = template(Some("what to do"), "$@").parameters();
        assert_eq!(parameters[0].description.as_deref(), Some("what to do"));
    }

    #[test]
    fn values_fill_their_positions() {
        let template = template(Some("<file> [notes]"), "$1|${2:-none}|${@:3}|$@");
        let fill = |values: &[(&str, &'static str)]| {
            template.fill(|parameter| {
                let mut values = values.iter();
                let value = values.find(|(name, _)| *name == parameter.name)?;
                Some(value.1)
            })
        };
        assert_eq!(fill(&[]), "|none||");
        assert_eq!(fill(&[("file", "a b")]), "a b|none||a b");
        assert_eq!(
            fill(&[("file", "a"), ("notes", "n"), ("arguments", "x  'y'")]),
            "a|n|x  'y'|a n x  'y'"
        );
        assert_eq!(fill(&[("arguments", "$1")]), "|none|$1|  $1");
    }
}
