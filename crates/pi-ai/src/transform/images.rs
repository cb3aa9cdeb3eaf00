//! Images on their way to models that only read text, and blocks nobody can read.

use std::borrow::Cow;

use crate::content::InputBlock;

/// Stands for an image of the user that the model cannot see.
const USER_IMAGE_LEFT_OUT: &str = "[image left out: this model reads text only]";
/// Stands for an image of a tool that the model cannot see.
const TOOL_IMAGE_LEFT_OUT: &str = "[tool image left out: this model reads text only]";

/// Where blocks come from, which decides how a missing image is worded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    User,
    Tool,
}

/// Returns the blocks a model can read, or nothing when it can read them all.
///
/// Blocks of unknown types are dropped. For a model without vision a run of images becomes one
/// line of text that says so.
pub(super) fn readable_blocks(
    blocks: &[InputBlock],
    accepts_images: bool,
    origin: Origin,
) -> Option<Vec<InputBlock>> {
    let stays = |block: &InputBlock| match block {
        InputBlock::Text(_) => true,
        InputBlock::Image(_) => accepts_images,
        InputBlock::Unknown(_) => false,
    };
    if blocks.iter().all(stays) {
        return None;
    }
    let placeholder = match origin {
        Origin::User => USER_IMAGE_LEFT_OUT,
        Origin::Tool => TOOL_IMAGE_LEFT_OUT,
    };
    let mut readable: Vec<Cow<'_, InputBlock>> = Vec::with_capacity(blocks.len());
    for block in blocks {
        if stays(block) {
            readable.push(Cow::Borrowed(block));
        } else if matches!(block, InputBlock::Image(_))
            && readable.last().and_then(|last| last.as_text()) != Some(placeholder)
        {
            readable.push(Cow::Owned(InputBlock::text(placeholder)));
        }
    }
    Some(readable.into_iter().map(Cow::into_owned).collect())
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::content::ImageContent;
    use crate::json::JsonObject;

    fn image() -> InputBlock {
        InputBlock::Image(ImageContent::new("AA==", "image/png"))
    }

    #[test]
    fn a_run_of_images_becomes_one_line_for_a_text_model() {
        let unknown = InputBlock::Unknown(JsonObject::new());
        let blocks = [
            image(),
            unknown.clone(),
            image(),
            InputBlock::text("between"),
            image(),
        ];
        assert_eq!(
            readable_blocks(&blocks, false, Origin::User),
            Some(vec![
                InputBlock::text(USER_IMAGE_LEFT_OUT),
                InputBlock::text("between"),
                InputBlock::text(USER_IMAGE_LEFT_OUT),
            ])
        );
        assert_eq!(
            readable_blocks(&[image(), unknown], true, Origin::Tool),
            Some(vec![image()])
        );
    }

    #[test]
    fn readable_blocks_are_left_alone() {
        let blocks = [image(), InputBlock::text("a")];
        assert_eq!(readable_blocks(&blocks, true, Origin::User), None);
        assert_eq!(readable_blocks(&blocks[1..], false, Origin::Tool), None);
    }
}
