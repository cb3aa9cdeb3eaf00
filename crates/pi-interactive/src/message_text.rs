//! The plain text of messages.

use pi_ai::{Content, InputBlock};

/// Returns the text blocks of a content, one below the other.
pub(crate) fn of_content(content: &Content) -> String {
    match content {
        Content::Text(text) => text.clone(),
        Content::Blocks(blocks) => of_blocks(blocks),
    }
}

/// Returns the text blocks, one below the other.
pub(crate) fn of_blocks(blocks: &[InputBlock]) -> String {
    let texts = blocks.iter().filter_map(|block| match block {
        InputBlock::Text(text) => Some(text.text.as_str()),
        InputBlock::Image(_) | InputBlock::Unknown(_) => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}
