//! Splits a shell command into simple commands and their words.
//!
//! Understands what models write most: lists, pipelines, quotes, variables and redirections. Everything else, such as
//! substitutions, loops and functions, is reported as unclear, because its words are known only when it runs.

use std::iter::Peekable;
use std::str::Chars;

/// More commands than this in one call are not judged one by one.
const MAX_COMMANDS: usize = 50;

/// Reserved words that start a compound command or a part of one.
const CONTROL_WORDS: [&str; 18] = [
    "if", "then", "elif", "else", "fi", "for", "while", "until", "do", "done", "case", "esac",
    "select", "function", "coproc", "[[", "{", "}",
];

/// Why a command cannot be split; completes the sentence "it contains …".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Unclear(pub(crate) &'static str);

/// A word of a command, without its quotes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Word {
    pub(crate) text: String,
    /// Whether the shell replaces a part of the word, so that the text is not what the command receives.
    pub(crate) is_expanded: bool,
}

/// A command without operators.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct SimpleCommand {
    pub(crate) words: Vec<Word>,
    /// Whether variables are set for the command, or by it.
    pub(crate) sets_variables: bool,
    /// Files that the shell writes for the command.
    pub(crate) written_files: Vec<Word>,
}

/// Splits a command.
pub(crate) fn split(command: &str) -> Result<Vec<SimpleCommand>, Unclear> {
    let mut splitter = Splitter {
        rest: command.chars().peekable(),
        commands: Vec::new(),
        command: SimpleCommand::default(),
        word: None,
        redirection: None,
    };
    splitter.run()?;
    Ok(splitter.commands)
}

/// The word being read.
#[derive(Default)]
struct PartialWord {
    word: Word,
    /// A part was quoted or escaped: it is no reserved word, assignment or descriptor.
    is_quoted: bool,
    /// An unquoted brace was opened.
    has_brace: bool,
}

/// What follows a redirection operator.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Redirection {
    Read,
    Write,
    /// `>&`: a descriptor, or a file if it is no number.
    WriteOrDescriptor,
}

struct Splitter<'command> {
    rest: Peekable<Chars<'command>>,
    commands: Vec<SimpleCommand>,
    command: SimpleCommand,
    word: Option<PartialWord>,
    redirection: Option<Redirection>,
}

impl Splitter<'_> {
    fn run(&mut self) -> Result<(), Unclear> {
        while let Some(character) = self.rest.next() {
            match character {
                ' ' | '\t' => self.finish_word()?,
                ';' if self.rest.peek() == Some(&';') => return Err(Unclear("`case`")),
                ';' | '\n' => self.finish_command()?,
                '&' | '|' => self.operator(character)?,
                '<' => self.read_redirection()?,
                '>' => self.write_redirection()?,
                '(' | ')' => return Err(Unclear("parentheses")),
                '`' => return Err(Unclear("a command substitution")),
                '$' => self.expansion()?,
                '\\' => self.escape()?,
                '\'' => self.single_quotes()?,
                '"' => self.double_quotes()?,
                '#' if self.word.is_none() => self.comment(),
                '{' => self.unquoted('{').has_brace = true,
                ',' if self.is_in_brace() => return Err(Unclear("a list in braces")),
                '.' if self.is_in_brace() && self.rest.peek() == Some(&'.') => {
                    return Err(Unclear("a sequence in braces"));
                }
                '*' | '?' | '[' => self.unquoted(character).word.is_expanded = true,
                _ if character.is_control() => return Err(Unclear("control characters")),
                _ => {
                    self.unquoted(character);
                }
            }
        }
        self.finish_command()
    }

    fn partial(&mut self) -> &mut PartialWord {
        self.word.get_or_insert_default()
    }

    fn unquoted(&mut self, character: char) -> &mut PartialWord {
        let partial = self.partial();
        partial.word.text.push(character);
        partial
    }

    fn quoted(&mut self, character: char) {
        let partial = self.partial();
        partial.is_quoted = true;
        partial.word.text.push(character);
    }

    fn is_in_brace(&self) -> bool {
        self.word.as_ref().is_some_and(|word| word.has_brace)
    }

    /// `&`, `&&`, `|`, `||` and `|&` end a command; `&>` redirects its output.
    fn operator(&mut self, first: char) -> Result<(), Unclear> {
        match (first, self.rest.peek()) {
            ('&', Some('>')) => {
                self.rest.next();
                return self.write_redirection();
            }
            ('&', Some('&')) | ('|', Some('|' | '&')) => {
                self.rest.next();
            }
            _ => {}
        }
        self.finish_command()
    }

    fn read_redirection(&mut self) -> Result<(), Unclear> {
        self.finish_redirected_word()?;
        let redirection = match self.rest.peek() {
            Some('<') => return Err(Unclear("a here-document")),
            Some('(') => return Err(Unclear("a process substitution")),
            // Opens the file for reading and writing.
            Some('>') => Redirection::Write,
            Some('&') => Redirection::Read,
            _ => return self.expect_target(Redirection::Read),
        };
        self.rest.next();
        self.expect_target(redirection)
    }

    fn write_redirection(&mut self) -> Result<(), Unclear> {
        self.finish_redirected_word()?;
        let redirection = match self.rest.peek() {
            Some('(') => return Err(Unclear("a process substitution")),
            Some('&') => Redirection::WriteOrDescriptor,
            Some('>' | '|') => Redirection::Write,
            _ => return self.expect_target(Redirection::Write),
        };
        self.rest.next();
        self.expect_target(redirection)
    }

    fn expect_target(&mut self, redirection: Redirection) -> Result<(), Unclear> {
        if self.redirection.replace(redirection).is_some() {
            return Err(Unclear("a redirection without a target"));
        }
        Ok(())
    }

    /// Ends the word in front of a redirection operator, which may be the number of a descriptor.
    fn finish_redirected_word(&mut self) -> Result<(), Unclear> {
        let is_descriptor = self.word.as_ref().is_some_and(|partial| {
            let text = &partial.word.text;
            !partial.is_quoted && text.bytes().all(|byte| byte.is_ascii_digit())
        });
        if is_descriptor {
            self.word = None;
        }
        self.finish_word()
    }

    /// A `$` outside of single quotes.
    fn expansion(&mut self) -> Result<(), Unclear> {
        match self.rest.peek() {
            Some('(') => Err(Unclear("a substitution")),
            Some('{') => Err(Unclear("a parameter expansion")),
            Some('\'' | '"') => Err(Unclear("a translated string")),
            Some(next) if next.is_ascii_alphanumeric() || "_?!#@*$-".contains(*next) => {
                self.unquoted('$').word.is_expanded = true;
                Ok(())
            }
            _ => {
                self.unquoted('$');
                Ok(())
            }
        }
    }

    fn escape(&mut self) -> Result<(), Unclear> {
        match self.rest.next() {
            // Continues the line.
            Some('\n') => Ok(()),
            Some(character) if !character.is_control() => {
                self.quoted(character);
                Ok(())
            }
            _ => Err(Unclear("an incomplete escape")),
        }
    }

    fn single_quotes(&mut self) -> Result<(), Unclear> {
        self.partial().is_quoted = true;
        loop {
            match self.rest.next() {
                Some('\'') => return Ok(()),
                Some(character) => self.quoted(character),
                None => return Err(Unclear("an unclosed quote")),
            }
        }
    }

    fn double_quotes(&mut self) -> Result<(), Unclear> {
        self.partial().is_quoted = true;
        loop {
            match self.rest.next() {
                Some('"') => return Ok(()),
                Some('`') => return Err(Unclear("a command substitution")),
                // In double quotes, `$"` and `$'` are plain text.
                Some('$') if !matches!(self.rest.peek(), Some('"' | '\'')) => self.expansion()?,
                Some('\\') => match self.rest.peek() {
                    Some('\n') => {
                        self.rest.next();
                    }
                    Some(&escaped @ ('$' | '`' | '"' | '\\')) => {
                        self.rest.next();
                        self.quoted(escaped);
                    }
                    _ => self.quoted('\\'),
                },
                Some(character) => self.quoted(character),
                None => return Err(Unclear("an unclosed quote")),
            }
        }
    }

    fn comment(&mut self) {
        while self.rest.next_if(|character| *character != '\n').is_some() {}
    }

    fn finish_word(&mut self) -> Result<(), Unclear> {
        let Some(partial) = self.word.take() else {
            return Ok(());
        };
        let PartialWord {
            word, is_quoted, ..
        } = partial;
        match self.redirection.take() {
            Some(Redirection::Read) => return Ok(()),
            Some(Redirection::WriteOrDescriptor) if is_descriptor(&word.text) => return Ok(()),
            Some(Redirection::Write | Redirection::WriteOrDescriptor) => {
                self.command.written_files.push(word);
                return Ok(());
            }
            None => {}
        }
        if self.command.words.is_empty() && !is_quoted {
            match word.text.as_str() {
                // Negates the exit code.
                "!" => return Ok(()),
                text if CONTROL_WORDS.contains(&text) => {
                    return Err(Unclear("a control structure"));
                }
                text if is_assignment(text) => {
                    self.command.sets_variables = true;
                    return Ok(());
                }
                _ => {}
            }
        }
        self.command.words.push(word);
        Ok(())
    }

    fn finish_command(&mut self) -> Result<(), Unclear> {
        self.finish_word()?;
        if self.redirection.is_some() {
            return Err(Unclear("a redirection without a target"));
        }
        let command = std::mem::take(&mut self.command);
        if command != SimpleCommand::default() {
            if self.commands.len() == MAX_COMMANDS {
                return Err(Unclear("more than 50 commands"));
            }
            self.commands.push(command);
        }
        Ok(())
    }
}

fn is_descriptor(text: &str) -> bool {
    text == "-" || text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether a word sets a variable: `NAME=value`, `NAME+=value` or `NAME[0]=value`.
pub(crate) fn is_assignment(text: &str) -> bool {
    let Some((name, _)) = text.split_once('=') else {
        return false;
    };
    let name = name.strip_suffix('+').unwrap_or(name);
    let name = name.split('[').next().unwrap_or_default();
    let mut characters = name.chars();
    let first = characters.next();
    first.is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && characters.all(|character| character.is_ascii_alphanumeric() || character == '_')
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    /// Words joined by spaces; `$` marks expanded words, `>` written files, `=` variables.
    fn shown(command: &str) -> Vec<String> {
        let show = |word: &Word| {
            let mark = if word.is_expanded { "$" } else { "" };
            format!("{mark}[{}]", word.text)
        };
        let commands = split(command).unwrap();
        let commands = commands.iter().map(|command| {
            let mut parts: Vec<String> = command.words.iter().map(show).collect();
            if command.sets_variables {
                parts.insert(0, "=".to_owned());
            }
            let written = command.written_files.iter().map(show);
            parts.extend(written.map(|file| format!(">{file}")));
            parts.join(" ")
        });
        commands.collect()
    }

    #[test]
    fn lists_and_pipelines_are_separate_commands() {
        assert_eq!(
            shown("git status && cargo test -p x | tail -5; ls & pwd || true |& cat\nid"),
            [
                "[git] [status]",
                "[cargo] [test] [-p] [x]",
                "[tail] [-5]",
                "[ls]",
                "[pwd]",
                "[true]",
                "[cat]",
                "[id]"
            ]
        );
    }

    #[test]
    fn quotes_and_escapes_are_removed() {
        assert_eq!(
            shown(r#"r'm' "a b" c\ d "x\"y" '$HOME' "e\f" l\s"#),
            ["[rm] [a b] [c d] [x\"y] [$HOME] [e\\f] [ls]"]
        );
        assert_eq!(shown("ls \\\n  -l"), ["[ls] [-l]"]);
        assert_eq!(shown("echo '' # rm"), ["[echo] []"]);
        assert_eq!(shown("echo a#b"), ["[echo] [a#b]"]);
    }

    #[test]
    fn expanded_words_are_marked() {
        assert_eq!(
            shown("ls $HOME \"$A/b\" *.rs a? $ '*'"),
            ["[ls] $[$HOME] $[$A/b] $[*.rs] $[a?] [$] [*]"]
        );
        assert_eq!(
            shown("git show stash@{0} {}"),
            ["[git] [show] [stash@{0}] [{}]"]
        );
    }

    #[test]
    fn variables_and_redirections_are_not_words() {
        assert_eq!(shown("A=1 B+=2 make C=3"), ["= [make] [C=3]"]);
        assert_eq!(shown("A=1"), ["="]);
        assert_eq!(
            shown("cmd < in > out 2>> err 2>&1 &> all >| forced <> both >& file 3>&-"),
            ["[cmd] >[out] >[err] >[all] >[forced] >[both] >[file]"]
        );
        assert_eq!(
            shown("! grep x y 2>/dev/null"),
            ["[grep] [x] [y] >[/dev/null]"]
        );
    }

    #[test]
    fn what_is_known_only_when_it_runs_is_unclear() {
        for command in [
            "echo $(rm x)",
            "echo `rm x`",
            "echo \"$(rm x)\"",
            "echo \"`rm x`\"",
            "cat <(rm x)",
            "tee >(rm x)",
            "echo ${x}",
            "echo $((1))",
            "(rm x)",
            "{ rm x; }",
            "f() { rm x; }",
            "if true; then rm x; fi",
            "for x in a; do rm $x; done",
            "while true; do rm x; done",
            "case a in a) rm x;; esac",
            "[[ a ]]",
            "cat << E\nrm x\nE",
            "cat <<< x",
            "$'\\x72m' x",
            "{rm,-rf,x}",
            "echo {1..3}",
            "ls\rrm x",
            "echo \u{1b}[A",
            "echo 'a",
            "echo \"a",
            "echo \\",
            "echo >",
            "echo > > a",
        ] {
            assert!(split(command).is_err(), "{command}");
        }
    }

    #[test]
    fn many_commands_are_unclear() {
        assert_eq!(split(&"true;".repeat(50)).unwrap().len(), 50);
        assert_eq!(
            split(&"true;".repeat(51)),
            Err(Unclear("more than 50 commands"))
        );
    }
}
