//! Patterns of shell commands: words, compared one by one.

use globset::{Glob, GlobMatcher};

use crate::launchers::base_name;
use crate::rule::RuleError;
use crate::shell_split::{Word, split};

/// A pattern such as `git push *`. A `*` at the end matches any further words, one inside a word any characters.
#[derive(Debug, Clone)]
pub(crate) struct CommandPattern {
    words: Vec<WordPattern>,
    /// Further words may follow.
    is_open: bool,
}

#[derive(Debug, Clone)]
enum WordPattern {
    Text(String),
    Glob(GlobMatcher),
}

/// Whether a command matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Match {
    No,
    /// It depends on the value of a variable.
    Possible,
    Yes,
}

impl CommandPattern {
    pub(crate) fn parse(text: &str) -> Result<Self, RuleError> {
        let script = split(text);
        if let Some(unclear) = script.unclear {
            return Err(RuleError::Command(unclear.0));
        }
        let [command] = script.commands.as_slice() else {
            return Err(RuleError::OneCommand);
        };
        // `!` is not a part of the command.
        if text.trim_start().starts_with("! ")
            || !command.variables.is_empty()
            || !command.written_files.is_empty()
        {
            return Err(RuleError::OneCommand);
        }
        let mut words = command.words.as_slice();
        let mut is_open = false;
        if let [before @ .., last] = words
            && last.is_expanded
            && last.text == "*"
        {
            (words, is_open) = (before, true);
        }
        let words: Result<_, RuleError> = words.iter().map(WordPattern::new).collect();
        Ok(Self {
            words: words?,
            is_open,
        })
    }

    /// Whether the pattern is a command without wildcards.
    pub(crate) fn is_exact(&self) -> bool {
        let is_text = |word: &WordPattern| matches!(word, WordPattern::Text(_));
        !self.is_open && self.words.iter().all(is_text)
    }

    /// Compares the words as they are.
    pub(crate) fn matches(&self, words: &[Word]) -> Match {
        self.compare(words, |program, pattern| pattern.matches(&program.text))
    }

    /// Compares the words; the directory of the program is ignored, and options may precede its command.
    pub(crate) fn matches_any_directory(&self, words: &[Word]) -> Match {
        let result = self.compare(words, |program, pattern| {
            pattern.matches(&program.text) || pattern.matches(&base_name(&program.text))
        });
        if result == Match::No && self.may_match_after_options(words) {
            return Match::Possible;
        }
        result
    }

    fn compare(
        &self,
        words: &[Word],
        program_matches: impl Fn(&Word, &WordPattern) -> bool,
    ) -> Match {
        let compared = self.words.iter().zip(words).enumerate();
        for (index, (pattern, word)) in compared {
            if word.is_expanded {
                let (patterns, words) = (self.words.get(index..), words.get(index..));
                return self.may_match(patterns.unwrap_or_default(), words.unwrap_or_default());
            }
            let is_match = match index {
                0 => program_matches(word, pattern),
                _ => pattern.matches(&word.text),
            };
            if !is_match {
                return Match::No;
            }
        }
        if words.len() < self.words.len() {
            return Match::No;
        }
        let rest = words.get(self.words.len()..).unwrap_or_default();
        if self.is_open || rest.is_empty() {
            Match::Yes
        } else {
            self.may_match(&[], rest)
        }
    }

    /// Compares words of which some stand for any number of words.
    fn may_match(&self, patterns: &[WordPattern], words: &[Word]) -> Match {
        // For every number of patterns, whether the words before can be them.
        let mut reached = vec![false; patterns.len() + 1];
        reached[0] = true;
        for word in words {
            let before = reached.clone();
            for (index, is_reached) in reached.iter_mut().enumerate() {
                let is_last = index == patterns.len();
                *is_reached = if word.is_expanded {
                    before.iter().take(index + 1).any(|before| *before)
                } else {
                    let matches = index.checked_sub(1).is_some_and(|previous| {
                        before[previous] && patterns[previous].matches(&word.text)
                    });
                    matches || (is_last && self.is_open && before[index])
                };
            }
        }
        if reached.last() == Some(&true) {
            Match::Possible
        } else {
            Match::No
        }
    }

    /// Whether the program matches, and the next words of the pattern follow after options, such as in `npm --silent publish`.
    fn may_match_after_options(&self, words: &[Word]) -> bool {
        let ([program, patterns @ ..], [name, arguments @ ..]) = (self.words.as_slice(), words)
        else {
            return false;
        };
        let is_option = |word: &Word| word.text.starts_with(['-', '+']);
        let expects_option = |pattern: &WordPattern| matches!(pattern, WordPattern::Text(text) if text.starts_with('-'));
        if !program.matches(&base_name(&name.text))
            || patterns.first().is_none_or(expects_option)
            || !arguments.first().is_some_and(is_option)
        {
            return false;
        }
        (0..arguments.len()).any(|start| {
            let rest = arguments.get(start..).unwrap_or_default();
            let after_option = start
                .checked_sub(1)
                .and_then(|before| arguments.get(before))
                .is_some_and(is_option);
            let after_value = start
                .checked_sub(2)
                .and_then(|before| arguments.get(before))
                .is_some_and(is_option);
            (after_option || after_value)
                && patterns.len() <= rest.len()
                && patterns
                    .iter()
                    .zip(rest)
                    .all(|(pattern, word)| pattern.matches(&word.text))
        })
    }
}

impl WordPattern {
    fn new(word: &Word) -> Result<Self, RuleError> {
        if !word.is_expanded {
            return Ok(Self::Text(word.text.clone()));
        }
        if word.text.contains('$') {
            return Err(RuleError::Command("a variable"));
        }
        let glob = Glob::new(&word.text).map_err(|error| RuleError::Glob(error.to_string()))?;
        Ok(Self::Glob(glob.compile_matcher()))
    }

    fn matches(&self, text: &str) -> bool {
        match self {
            Self::Text(expected) => expected == text,
            Self::Glob(glob) => glob.is_match(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn compare(pattern: &str, command: &str) -> Match {
        let pattern = CommandPattern::parse(pattern).unwrap();
        pattern.matches_any_directory(&split(command).commands[0].words)
    }

    #[test]
    fn words_are_compared_one_by_one() {
        for (pattern, command, expected) in [
            ("git push *", "git push", Match::Yes),
            ("git push *", "git push --force origin", Match::Yes),
            ("git push *", "git pushx", Match::No),
            ("git push *", "git", Match::No),
            ("git push", "git push -f", Match::No),
            ("npm run test*", "npm run test:unit", Match::Yes),
            ("npm run test*", "npm run build", Match::No),
            ("rm *", "/bin/rm -rf x", Match::Yes),
            ("rm -rf /", "rm -rf $X", Match::Possible),
            ("rm -rf /", "rm $X", Match::Possible),
            ("rm -rf /", "rm -rf / $X", Match::Possible),
            ("git push *", "git $X push -f", Match::Possible),
            ("git push *", "git $X pull", Match::Possible),
            ("git push -f", "git $X pull", Match::No),
            ("git push *", "git log $X", Match::No),
            ("git push *", "GIT.exe push", Match::Yes),
            ("npm publish *", "npm --silent publish", Match::Possible),
            ("npm publish *", "npm --prefix x publish", Match::Possible),
            (
                "npm publish *",
                "npm --silent test publish",
                Match::Possible,
            ),
            ("npm publish *", "npm run publish", Match::No),
            ("cargo publish *", "cargo +nightly publish", Match::Possible),
            ("rm *", "rm -f x", Match::Yes),
            ("rm -rf /", "rm -rf /tmp $X", Match::No),
            ("git commit -m *", "git commit -m 'a; rm x'", Match::Yes),
            ("*", "anything a b", Match::Yes),
        ] {
            assert_eq!(compare(pattern, command), expected, "{pattern}: {command}");
        }
    }

    #[test]
    fn the_directory_of_a_program_counts_for_exact_words() {
        let pattern = CommandPattern::parse("git status").unwrap();
        let command = split("/tmp/git status").commands;
        assert_eq!(pattern.matches(&command[0].words), Match::No);
    }

    #[test]
    fn a_pattern_is_one_command() {
        for pattern in ["! *", "a; b", "a > b", "A=1 b", "", "a $X", "$(a)", "a 'b"] {
            assert!(CommandPattern::parse(pattern).is_err(), "{pattern}");
        }
        assert!(CommandPattern::parse("git status").unwrap().is_exact());
        assert!(!CommandPattern::parse("git status *").unwrap().is_exact());
        assert!(!CommandPattern::parse("git stat*").unwrap().is_exact());
    }
}
