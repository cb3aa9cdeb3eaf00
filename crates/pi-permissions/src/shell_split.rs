//! Splits a shell command into simple commands and their words.
//!
//! Understands what models write most: lists, pipelines, quotes, variables and redirections. Everything else, such as
//! substitutions, loops and functions, is reported as unclear, because its words are known only when it runs. The commands
//! in it are found as far as possible all the same, so that a rule that denies them applies.

mod expansions;
mod here_documents;

use here_documents::PendingDocument;

/// More commands than this in one call are not judged one by one.
const MAX_COMMANDS: usize = 50;

/// No further commands are searched for rules that deny them.
const MAX_SEARCHED_COMMANDS: usize = 1000;

/// Substitutions, groups and scripts in arguments are followed up to this depth.
const MAX_DEPTH: usize = 20;

/// Reserved words that start a compound command or a part of one.
const CONTROL_WORDS: [&str; 18] = [
    "if", "then", "elif", "else", "fi", "for", "while", "until", "do", "done", "case", "esac",
    "select", "function", "coproc", "[[", "{", "}",
];

/// What is not understood; completes the sentence "it contains …".
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
    /// Names of variables that are set for the command, or by it.
    pub(crate) variables: Vec<String>,
    /// Files that the shell writes for the command.
    pub(crate) written_files: Vec<Word>,
}

/// A split command.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Script {
    pub(crate) commands: Vec<SimpleCommand>,
    /// The first part that is not understood. The commands are incomplete then.
    pub(crate) unclear: Option<Unclear>,
    /// Here-documents and here-strings, which are scripts if a shell reads them.
    pub(crate) documents: Vec<String>,
}

/// Splits a command.
pub(crate) fn split(command: &str) -> Script {
    split_nested(command, 0)
}

fn split_nested(command: &str, depth: usize) -> Script {
    let mut splitter = Splitter {
        characters: command.chars().collect(),
        depth,
        ..Splitter::default()
    };
    splitter.run(None);
    splitter.script
}

/// The word being read.
#[derive(Default)]
struct PartialWord {
    word: Word,
    /// A part was quoted or escaped: it is no reserved word or descriptor.
    is_quoted: bool,
    /// An unquoted brace was opened.
    has_brace: bool,
    /// The word sets the variable with this name.
    variable: Option<String>,
}

/// What follows a redirection operator.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Redirection {
    Read,
    Write,
    /// `>&`: a descriptor, or a file if it is no number.
    WriteOrDescriptor,
    /// `<<<`: the input itself.
    Text,
}

#[derive(Default)]
struct Splitter {
    characters: Vec<char>,
    position: usize,
    depth: usize,
    script: Script,
    command: SimpleCommand,
    word: Option<PartialWord>,
    redirection: Option<Redirection>,
    /// The next word is the name of a function.
    names_function: bool,
    /// The words are only the reserved word `time` and its options.
    is_timed: bool,
    pending_documents: Vec<PendingDocument>,
}

impl Splitter {
    /// Notes that something is not understood.
    fn note(&mut self, part: &'static str) {
        self.script.unclear.get_or_insert(Unclear(part));
    }

    /// Returns the next character, without those that continue a line.
    fn peek(&mut self) -> Option<char> {
        let continues = |next: &[char]| next == ['\\', '\n'];
        while self
            .characters
            .get(self.position..self.position + 2)
            .is_some_and(continues)
        {
            self.position += 2;
        }
        self.characters.get(self.position).copied()
    }

    fn next(&mut self) -> Option<char> {
        self.peek()?;
        self.next_literal()
    }

    /// Returns the next character where a backslash does not continue the line.
    fn next_literal(&mut self) -> Option<char> {
        let next = self.characters.get(self.position).copied();
        self.position += usize::from(next.is_some());
        next
    }

    fn skip_if(&mut self, expected: char) -> bool {
        let is_next = self.peek() == Some(expected);
        self.position += usize::from(is_next);
        is_next
    }

    /// Reads commands until the end, or until a character that closes a substitution or group.
    fn run(&mut self, end: Option<char>) {
        while let Some(character) = self.next() {
            match character {
                _ if Some(character) == end => break,
                ' ' | '\t' => self.finish_word(),
                ';' => {
                    if self.peek() == Some(';') {
                        self.note("`case`");
                    }
                    self.finish_command();
                }
                '\n' => {
                    self.finish_command();
                    self.read_documents();
                }
                '&' | '|' => self.operator(character),
                '<' => self.read_redirection(),
                '>' => self.write_redirection(),
                '(' => {
                    self.note("parentheses");
                    self.finish_command();
                    self.nested(')');
                }
                ')' => {
                    self.note("parentheses");
                    self.finish_command();
                }
                '`' => self.backticks(),
                '$' => self.expansion(),
                '\\' => self.escape(),
                '\'' => self.single_quotes(),
                '"' => self.double_quotes(),
                '#' if self.word.is_none() => self.comment(),
                '{' => self.unquoted('{').has_brace = true,
                ',' if self.is_in_brace() => {
                    self.note("a list in braces");
                    self.unquoted(',').word.is_expanded = true;
                }
                '.' if self.is_in_brace() && self.peek() == Some('.') => {
                    self.note("a sequence in braces");
                    self.unquoted('.').word.is_expanded = true;
                }
                '*' | '?' | '[' => self.unquoted(character).word.is_expanded = true,
                '~' if self.word.is_none() => {
                    // `~name`, `~+` and `~-` are other directories.
                    let next = self.peek();
                    let is_other =
                        next.is_some_and(|next| next.is_alphanumeric() || "_+-.".contains(next));
                    self.unquoted('~').word.is_expanded = is_other;
                }
                '=' => self.equals_sign(),
                '\r' => {
                    self.note("control characters");
                    self.finish_command();
                }
                _ if character.is_control() => {
                    self.note("control characters");
                    self.finish_word();
                }
                _ if is_invisible(character) => {
                    self.note("invisible characters");
                    self.unquoted(character);
                }
                _ => {
                    self.unquoted(character);
                }
            }
        }
        self.finish_command();
    }

    /// Reads the commands of a substitution or group, then continues with the command around it.
    fn nested(&mut self, end: char) {
        if self.depth >= MAX_DEPTH {
            self.note("too many nested commands");
            self.position = self.characters.len();
            return;
        }
        let command = std::mem::take(&mut self.command);
        let word = self.word.take();
        let redirection = self.redirection.take();
        let is_timed = std::mem::take(&mut self.is_timed);
        self.depth += 1;
        self.run(Some(end));
        self.depth -= 1;
        self.command = command;
        self.word = word;
        self.redirection = redirection;
        self.is_timed = is_timed;
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
        if character == '\0' {
            self.note("control characters");
        }
        let partial = self.partial();
        partial.is_quoted = true;
        partial.word.text.push(character);
    }

    fn is_in_brace(&self) -> bool {
        self.word.as_ref().is_some_and(|word| word.has_brace)
    }

    /// `NAME=` without quotes sets a variable, whatever follows.
    fn equals_sign(&mut self) {
        let partial = self.unquoted('=');
        let is_array = partial.word.is_expanded && partial.word.text.contains('[');
        if (!partial.is_quoted || is_array) && partial.variable.is_none() {
            partial.variable = assigned_variable(&partial.word.text).map(str::to_owned);
        }
    }

    /// `&`, `&&`, `|`, `||` and `|&` end a command; `&>` redirects its output.
    fn operator(&mut self, first: char) {
        match (first, self.peek()) {
            ('&', Some('>')) => {
                self.position += 1;
                return self.write_redirection();
            }
            ('&', Some('&')) | ('|', Some('|' | '&')) => self.position += 1,
            _ => {}
        }
        self.finish_command();
    }

    fn read_redirection(&mut self) {
        self.finish_redirected_word();
        let redirection = match self.peek() {
            Some('<') => {
                self.position += 1;
                self.note("a here-document");
                if !self.skip_if('<') {
                    return self.expect_document();
                }
                Redirection::Text
            }
            Some('(') => return self.process_substitution(),
            Some('>') => {
                // Opens the file for reading and writing.
                self.position += 1;
                Redirection::Write
            }
            _ => {
                self.skip_if('&');
                Redirection::Read
            }
        };
        self.expect_target(redirection);
    }

    fn write_redirection(&mut self) {
        self.finish_redirected_word();
        let redirection = match self.peek() {
            Some('(') => return self.process_substitution(),
            Some('&') => Redirection::WriteOrDescriptor,
            Some('>' | '|') => Redirection::Write,
            _ => return self.expect_target(Redirection::Write),
        };
        self.position += 1;
        self.expect_target(redirection);
    }

    fn expect_target(&mut self, redirection: Redirection) {
        if self.redirection.replace(redirection).is_some() {
            self.note("a redirection without a target");
        }
    }

    /// Ends the word in front of a redirection operator, which may be the number of a descriptor or `{name}`.
    fn finish_redirected_word(&mut self) {
        if let Some(partial) = self.word.as_ref().filter(|partial| !partial.is_quoted) {
            let text = &partial.word.text;
            let is_named = text.starts_with('{') && text.ends_with('}');
            if is_named || text.bytes().all(|byte| byte.is_ascii_digit()) {
                self.word = None;
            }
            if is_named {
                self.note("a named descriptor");
            }
        }
        self.finish_word();
    }

    fn comment(&mut self) {
        while self
            .characters
            .get(self.position)
            .is_some_and(|next| *next != '\n')
        {
            self.position += 1;
        }
    }

    fn finish_word(&mut self) {
        let Some(partial) = self.word.take() else {
            return;
        };
        match self.redirection.take() {
            Some(Redirection::Read) => {}
            Some(Redirection::Text) => self.script.documents.push(partial.word.text),
            Some(Redirection::WriteOrDescriptor) if is_descriptor(&partial.word.text) => {}
            Some(Redirection::Write | Redirection::WriteOrDescriptor) => {
                self.command.written_files.push(partial.word);
            }
            None if self.command.words.is_empty() || self.is_timed => {
                self.finish_first_word(partial);
            }
            None => self.command.words.push(partial.word),
        }
    }

    /// The first word may be none of the command.
    fn finish_first_word(&mut self, partial: PartialWord) {
        if let Some(variable) = partial.variable {
            if partial
                .word
                .text
                .split('=')
                .next()
                .is_some_and(|name| name.contains('['))
            {
                // Its index is evaluated, even in quotes.
                self.note("an array");
            }
            self.command.variables.push(variable);
            return;
        }
        if std::mem::take(&mut self.names_function) {
            return;
        }
        if !partial.is_quoted {
            match partial.word.text.as_str() {
                // Negates the exit code.
                "!" => return,
                "time" if self.command.variables.is_empty() => {
                    self.is_timed = true;
                    return self.command.words.push(partial.word);
                }
                "-p" | "--" if self.is_timed => return self.command.words.push(partial.word),
                text if CONTROL_WORDS.contains(&text) => {
                    self.note("a control structure");
                    self.names_function = text == "function";
                    return;
                }
                _ => {}
            }
        }
        self.is_timed = false;
        self.command.words.push(partial.word);
    }

    fn finish_command(&mut self) {
        self.finish_word();
        if self.redirection.take().is_some() {
            self.note("a redirection without a target");
        }
        self.is_timed = false;
        let command = std::mem::take(&mut self.command);
        if command == SimpleCommand::default() {
            return;
        }
        if self.script.commands.len() == MAX_COMMANDS {
            self.note("more than 50 commands");
        }
        if self.script.commands.len() < MAX_SEARCHED_COMMANDS {
            self.script.commands.push(command);
        }
    }
}

fn is_descriptor(text: &str) -> bool {
    text == "-" || text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether a character looks like a space, or like nothing, but is part of a word.
fn is_invisible(character: char) -> bool {
    character.is_whitespace()
        || matches!(
            character,
            '\u{ad}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}'
        )
}

/// Returns the name of the variable that a word sets: `NAME=value`, `NAME+=value` or `NAME[0]=value`.
pub(crate) fn assigned_variable(text: &str) -> Option<&str> {
    let (name, _) = text.split_once('=')?;
    let name = name.strip_suffix('+').unwrap_or(name);
    let name = name.split('[').next().unwrap_or_default();
    let is_name = name
        .chars()
        .all(|character| character.is_ascii_alphanumeric() || character == '_');
    (is_name && !name.starts_with(|first: char| first.is_ascii_digit()) && !name.is_empty())
        .then_some(name)
}

#[cfg(test)]
mod tests;
