//! Converts completions between the editor and extensions, which count columns in UTF-16.

use std::sync::Arc;

use pi_host::{CompletionItem, ExtensionCompletionRequest};
use pi_tui::{CompletionRequest, CompletionTrigger, SelectItem};

pub(super) fn request(question: &ExtensionCompletionRequest) -> CompletionRequest {
    let lines: Vec<Arc<str>> = question
        .lines
        .iter()
        .map(|line| line.as_str().into())
        .collect();
    let line = lines.get(question.line).map_or("", |line| &**line);
    CompletionRequest {
        offset: byte_offset(line, question.column),
        line: question.line,
        trigger: if question.force {
            CompletionTrigger::Path
        } else {
            CompletionTrigger::Typing
        },
        lines,
    }
}

/// Converts a request to the columns JavaScript uses (UTF-16).
pub(crate) fn question(request: &CompletionRequest) -> ExtensionCompletionRequest {
    let line = request.lines.get(request.line).map_or("", |line| &**line);
    ExtensionCompletionRequest {
        column: utf16_column(line, request.offset),
        lines: request.lines.iter().map(ToString::to_string).collect(),
        line: request.line,
        force: request.trigger == CompletionTrigger::Path,
    }
}

pub(crate) fn select_item(item: CompletionItem) -> SelectItem {
    let label = if item.label.is_empty() {
        &item.value
    } else {
        &item.label
    };
    SelectItem {
        label: crate::blocks::clean_line(label),
        description: item
            .description
            .map(|description| crate::blocks::clean_line(&description)),
        value: item.value,
    }
}

pub(super) fn item_of(item: SelectItem) -> CompletionItem {
    CompletionItem {
        value: item.value,
        label: item.label,
        description: item.description,
    }
}

pub(super) fn byte_offset(line: &str, column: usize) -> usize {
    let mut units = 0;
    for (offset, character) in line.char_indices() {
        if units >= column {
            return offset;
        }
        units += character.len_utf16();
    }
    line.len()
}

pub(super) fn utf16_column(line: &str, offset: usize) -> usize {
    let before = line.get(..offset).unwrap_or(line);
    before.encode_utf16().count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_utf16_code_units() {
        let line = "a😀é";
        for (column, offset) in [(0, 0), (1, 1), (3, 5), (4, 7), (9, 7)] {
            assert_eq!(byte_offset(line, column), offset);
        }
        assert_eq!(utf16_column(line, 5), 3);
        assert_eq!(utf16_column(line, 7), 4);
    }
}
