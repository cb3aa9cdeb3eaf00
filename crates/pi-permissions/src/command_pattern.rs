//! Patterns of shell commands: words, compared one by one.

use globset::{Glob, GlobMatcher};

use crate::launchers::base_name;
use crate::rule::RuleError;
use crate::shell_split::{Word, split};

/// A pattern such as `git push *`. A `*` at the end stands for any further words, one inside a word for any characters.
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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Match {
    No,
    /// It depends on the value of a variable.
    Possible,
    Yes,
}

impl CommandPattern {
    pub(crate) fn parse(text: &str) -> Result<Self, RuleError> {
        let commands = split(text).map_err(|unclear| RuleError::Command(unclear.0))?;
        let [command] = commands.as_slice() else {
            return Err(RuleError::OneCommand);
        };
        if command.sets_variables || !command.written_files.is_empty() {
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

    /// Compares the words; the directory of the program is ignored.
    pub(crate) fn matches_any_directory(&self, words: &[Word]) -> Match {
        self.compare(words, |program, pattern| {
            pattern.matches(&program.text) || pattern.matches(base_name(&program.text))
        })
    }

    fn compare(
        &self,
        words: &[Word],
        program_matches: impl Fn(&Word, &WordPattern) -> bool,
    ) -> Match {
        let mut result = Match::Yes;
        for (index, pattern) in self.words.iter().enumerate() {
            let Some(word) = words.get(index) else {
                // A variable may contain the missing words.
                return match words.last() {
                    Some(last) if last.is_expanded => Match::Possible,
                    _ => Match::No,
                };
            };
            let is_match = match index {
                0 => program_matches(word, pattern),
                _ => pattern.matches(&word.text),
            };
            match (is_match, word.is_expanded) {
                (_, true) => result = Match::Possible,
                (false, false) => return Match::No,
                (true, false) => {}
            }
        }
        if words.len() > self.words.len() && !self.is_open {
            // A variable may be empty.
            let mut rest = words.iter().skip(self.words.len());
            return if rest.all(|word| word.is_expanded) {
                Match::Possible
            } else {
                Match::No
            };
        }
        result
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
        pattern.matches_any_directory(&split(command).unwrap()[0].words)
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
        let command = split("/tmp/git status").unwrap();
        assert_eq!(pattern.matches(&command[0].words), Match::No);
    }

    #[test]
    fn a_pattern_is_one_command() {
        for pattern in ["a; b", "a > b", "A=1 b", "", "a $X", "$(a)", "a 'b"] {
            assert!(CommandPattern::parse(pattern).is_err(), "{pattern}");
        }
        assert!(CommandPattern::parse("git status").unwrap().is_exact());
        assert!(!CommandPattern::parse("git status *").unwrap().is_exact());
        assert!(!CommandPattern::parse("git stat*").unwrap().is_exact());
    }
}
