//! Replaces images for text-only models, and drops blocks of unknown types.

use std::borrow::Cow;

use pi_protocol::InputBlock;

/// Replaces a user's image for a text-only model.
const USER_IMAGE_PLACEHOLDER: &str = "[image omitted: this model does not support images]";
/// Replaces a tool's image for a text-only model.
const TOOL_IMAGE_PLACEHOLDER: &str = "[tool image omitted: this model does not support images]";

/// Where blocks come from, which selects the placeholder for an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ImageOrigin {
    User,
    Tool,
}

/// Returns the blocks that a model accepts, or `None` if it accepts all of them.
///
/// Blocks of unknown types are dropped. For a model without vision, consecutive images become one
/// placeholder.
pub(super) fn supported_blocks(
    blocks: &[InputBlock],
    accepts_images: bool,
    origin: ImageOrigin,
) -> Option<Vec<InputBlock>> {
    let is_supported = |block: &InputBlock| match block {
        InputBlock::Text(_) => true,
        InputBlock::Image(_) => accepts_images,
        InputBlock::Unknown(_) => false,
    };
    if blocks.iter().all(is_supported) {
        return None;
    }
    let placeholder = match origin {
        ImageOrigin::User => USER_IMAGE_PLACEHOLDER,
        ImageOrigin::Tool => TOOL_IMAGE_PLACEHOLDER,
    };
    let mut kept: Vec<Cow<'_, InputBlock>> = Vec::with_capacity(blocks.len());
    for block in blocks {
        if is_supported(block) {
            kept.push(Cow::Borrowed(block));
        } else if matches!(block, InputBlock::Image(_))
            && kept.last().and_then(|last| last.as_text()) != Some(placeholder)
        {
            kept.push(Cow::Owned(InputBlock::text(placeholder)));
        }
    }
    Some(kept.into_iter().map(Cow::into_owned).collect())
}

#[cfg(test)]
mod tests {
    use pi_protocol::ImageContent;
    use pi_protocol::json::JsonObject;
    use pretty_assertions::assert_eq;

    use super::*;

    fn image() -> InputBlock {
        InputBlock::Image(ImageContent::new("AA==", "image/png"))
    }

    #[test]
    fn consecutive_images_become_one_placeholder_for_a_text_model() {
        let unknown = InputBlock::Unknown(JsonObject::new());
        let blocks = [
            image(),
            unknown.clone(),
            image(),
            InputBlock::text("between"),
            image(),
        ];
        assert_eq!(
            supported_blocks(&blocks, false, ImageOrigin::User),
            Some(vec![
                InputBlock::text(USER_IMAGE_PLACEHOLDER),
                InputBlock::text("between"),
                InputBlock::text(USER_IMAGE_PLACEHOLDER),
            ])
        );
        assert_eq!(
            supported_blocks(&[image(), unknown], true, ImageOrigin::Tool),
            Some(vec![image()])
        );
    }

    #[test]
    fn accepted_blocks_are_unchanged() {
        let blocks = [image(), InputBlock::text("a")];
        assert_eq!(supported_blocks(&blocks, true, ImageOrigin::User), None);
        assert_eq!(
            supported_blocks(&blocks[1..], false, ImageOrigin::Tool),
            None
        );
    }
}
