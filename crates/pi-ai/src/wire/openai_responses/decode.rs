//! Decodes a response that arrives as server-sent events.
//!
//! Only the framing is here; the events mean what [`super::reader`] makes of them.

use serde::de::IgnoredAny;

use super::reader::{EventReader, ReaderSettings};
use crate::error::ProviderError;
use crate::live_message::MessageBuilder;
use crate::transport::sse::SseParser;
use crate::wire::{Decoder, Progress};

/// Decodes a response that arrives as server-sent events.
#[derive(Debug)]
pub(crate) struct ResponsesDecoder {
    parser: SseParser,
    reader: EventReader,
}

impl ResponsesDecoder {
    /// Creates a decoder for one response.
    pub(crate) fn new(settings: ReaderSettings) -> Self {
        Self {
            parser: SseParser::new(),
            reader: EventReader::new(settings),
        }
    }

    fn progress(&self) -> Progress {
        if self.reader.is_complete() {
            Progress::Complete
        } else {
            Progress::More
        }
    }
}

impl Decoder for ResponsesDecoder {
    fn push(
        &mut self,
        bytes: &[u8],
        message: &mut MessageBuilder,
    ) -> Result<Progress, ProviderError> {
        let reader = &mut self.reader;
        self.parser
            .push(bytes, |event| read_data(reader, event.data, message))?;
        Ok(self.progress())
    }

    fn finish(&mut self, message: &mut MessageBuilder) -> Result<(), ProviderError> {
        let reader = &mut self.reader;
        self.parser.finish(|event| {
            // The last event may be cut off in its middle, and half an object is no JSON.
            match serde_json::from_str::<IgnoredAny>(event.data) {
                Ok(IgnoredAny) => read_data(reader, event.data, message),
                Err(_cut) => Ok(()),
            }
        })?;
        self.reader.finish()
    }
}

fn read_data(
    reader: &mut EventReader,
    data: &str,
    message: &mut MessageBuilder,
) -> Result<(), ProviderError> {
    if reader.is_complete() || data.trim().is_empty() || data.starts_with("[DONE]") {
        return Ok(());
    }
    reader.read(data, message).map(|_| ())
}
