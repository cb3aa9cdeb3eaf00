//! Decodes a response that arrives as server-sent events.
//!
//! This file only handles the framing; [`super::reader`] interprets the events.

use pi_http::SseParser;
use pi_protocol::{MessageBuilder, ProviderError};
use serde::de::IgnoredAny;

use super::reader::{EventReader, ReaderSettings};
use crate::wire::{DecodeStatus, Decoder};

#[derive(Debug)]
pub(crate) struct ResponsesDecoder {
    parser: SseParser,
    reader: EventReader,
}

impl ResponsesDecoder {
    pub(crate) fn new(settings: ReaderSettings) -> Self {
        Self {
            parser: SseParser::new(),
            reader: EventReader::new(settings),
        }
    }

    fn status(&self) -> DecodeStatus {
        if self.reader.is_complete() {
            DecodeStatus::Complete
        } else {
            DecodeStatus::More
        }
    }
}

impl Decoder for ResponsesDecoder {
    fn push(
        &mut self,
        bytes: &[u8],
        message: &mut MessageBuilder,
    ) -> Result<DecodeStatus, ProviderError> {
        let reader = &mut self.reader;
        self.parser
            .push(bytes, |event| handle_data(reader, event.data, message))?;
        Ok(self.status())
    }

    fn finish(&mut self, message: &mut MessageBuilder) -> Result<(), ProviderError> {
        let reader = &mut self.reader;
        self.parser.finish(|event| {
            // The last event may be truncated by a lost connection.
            match serde_json::from_str::<IgnoredAny>(event.data) {
                Ok(IgnoredAny) => handle_data(reader, event.data, message),
                Err(_cut) => Ok(()),
            }
        })?;
        self.reader.finish()
    }
}

fn handle_data(
    reader: &mut EventReader,
    data: &str,
    message: &mut MessageBuilder,
) -> Result<(), ProviderError> {
    if reader.is_complete() || data.trim().is_empty() || data.starts_with("[DONE]") {
        return Ok(());
    }
    reader.handle_event(data, message).map(|_| ())
}
