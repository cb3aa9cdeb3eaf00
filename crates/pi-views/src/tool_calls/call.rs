//! What is known about a call while it is drawn.

use std::time::{Duration, Instant};

use pi_protocol::InputBlock;
use pi_protocol::json::JsonObject;
use serde_json::Value;

use super::EditPreviews;
use super::streaming_code::StreamingCode;
use crate::canvas::clean;
use crate::image_preview::ImagePreview;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallProgress {
    /// The arguments are streaming, or the call is queued.
    Waiting,
    /// Running since.
    Running(Instant),
    /// Finished; the duration, if the call ran in this process.
    Done(Option<Duration>),
}

/// A tool's final or partial result.
#[derive(Debug, Default)]
pub struct CallOutput {
    pub text: String,
    pub images: Vec<ImagePreview>,
    /// Tool-specific data.
    pub details: Option<Value>,
}

impl CallOutput {
    pub fn new(content: &[InputBlock], details: Option<&Value>) -> Self {
        let mut output = Self {
            details: details.cloned(),
            ..Self::default()
        };
        let mut texts = Vec::new();
        for block in content {
            match block {
                InputBlock::Text(text) => texts.push(clean(&text.text)),
                InputBlock::Image(image) => output.images.push(ImagePreview::new(image.clone())),
                InputBlock::Unknown(_) => {}
            }
        }
        output.text = texts.join("\n");
        output
    }
}

/// The part of a call that a tool renders.
#[derive(Debug)]
pub struct CallView<'block> {
    pub name: &'block str,
    /// The arguments parsed so far.
    pub arguments: &'block JsonObject,
    /// The output so far.
    pub output: Option<&'block CallOutput>,
    pub failed: bool,
    pub progress: CallProgress,
    /// The current time, for elapsed times.
    pub now: Option<Instant>,
    /// Highlighted code of the arguments.
    pub code: &'block mut StreamingCode,
    /// Previews of the edits in the arguments.
    pub previews: &'block mut EditPreviews,
}
