//! Here-documents: input in the lines after a command.

use super::{MAX_DEPTH, Splitter, split_nested};

/// A here-document whose lines follow.
pub(super) struct PendingDocument {
    delimiter: String,
    /// Tabs in front of its lines are removed.
    is_indented: bool,
    /// The shell performs substitutions in it.
    is_expanded: bool,
}

impl Splitter {
    /// What follows `<<`.
    pub(super) fn expect_document(&mut self) {
        let is_indented = self.skip_if('-');
        while self.skip_if(' ') || self.skip_if('\t') {}
        let mut document = PendingDocument {
            delimiter: String::new(),
            is_indented,
            is_expanded: true,
        };
        while let Some(character) = self.peek() {
            if character.is_whitespace() || ";&|<>()".contains(character) {
                break;
            }
            self.position += 1;
            if matches!(character, '\'' | '"' | '\\') {
                document.is_expanded = false;
            } else {
                document.delimiter.push(character);
            }
        }
        self.pending_documents.push(document);
    }

    /// Reads the here-documents of the line that has ended.
    pub(super) fn read_documents(&mut self) {
        for document in std::mem::take(&mut self.pending_documents) {
            let mut text = String::new();
            while self.position < self.characters.len() {
                let mut line = String::new();
                while let Some(character) = self.next_literal()
                    && character != '\n'
                {
                    line.push(character);
                }
                let line = if document.is_indented {
                    line.trim_start_matches('\t')
                } else {
                    &line
                };
                if line == document.delimiter {
                    break;
                }
                text.push_str(line);
                text.push('\n');
            }
            if document.is_expanded {
                self.substitutions_in(&text);
            }
            self.script.documents.push(text);
        }
    }

    /// Finds the commands that run while the shell reads a text.
    fn substitutions_in(&mut self, text: &str) {
        if self.depth >= MAX_DEPTH {
            return;
        }
        // In double quotes, the same characters have a meaning.
        let quoted = format!("\"{}\"", text.replace('"', " "));
        let substituted = split_nested(&quoted, self.depth + 1).commands;
        let last = substituted.len().saturating_sub(1);
        self.script
            .commands
            .extend(substituted.into_iter().take(last));
    }
}
