//! What `benches/` needs of the inside. It is no part of the interface and may change at any time.

use std::sync::Arc;

use crate::env::Env;
use crate::error::ProviderError;
use crate::live_message::MessageBuilder;
use crate::model::{Model, api};
use crate::options::{ModelRequest, StreamOptions};
use crate::transport::sse::SseParser;
use crate::wire::anthropic_messages::AnthropicMessages;
use crate::wire::google_generative::GoogleGenerative;
use crate::wire::mistral::MistralConversations;
use crate::wire::openai_completions::OpenAiCompletions;
use crate::wire::openai_responses::OpenAiResponses;
use crate::wire::{Decoder, HttpProtocol};

/// Parses a body of server-sent events in pieces of the given size and returns how many events and
/// bytes of data it holds.
pub fn parse_events(body: &[u8], piece_size: usize) -> Result<(usize, usize), ProviderError> {
    let mut parser = SseParser::new();
    let (mut events, mut bytes) = (0, 0);
    for piece in body.chunks(piece_size) {
        parser.push(piece, |event| {
            events += 1;
            bytes += event.data.len();
            Ok(())
        })?;
    }
    Ok((events, bytes))
}

/// Decodes a whole answer in pieces of the given size, draining the events after each, and returns
/// how many there were.
pub fn decode_answer(
    model: &Model,
    body: &[u8],
    piece_size: usize,
) -> Result<usize, ProviderError> {
    let mut decoder = decoder(model)?;
    let mut message = MessageBuilder::new(model, 0);
    message.start();
    let mut events = 0;
    for piece in body.chunks(piece_size) {
        decoder.push(piece, &mut message)?;
        events += message.take_events().len();
    }
    message.complete();
    Ok(events + message.take_events().len())
}

fn decoder(model: &Model) -> Result<Box<dyn Decoder>, ProviderError> {
    let request = ModelRequest {
        model: Arc::new(model.clone()),
        messages: Arc::from([]),
        options: StreamOptions::default(),
        env: Env::fixed::<&str, &str>([]),
    };
    Ok(match model.api.as_str() {
        api::ANTHROPIC_MESSAGES => AnthropicMessages.decoder(&request),
        api::OPENAI_COMPLETIONS => OpenAiCompletions.decoder(&request),
        api::OPENAI_RESPONSES => OpenAiResponses.decoder(&request),
        api::GOOGLE_GENERATIVE_AI => GoogleGenerative.decoder(&request),
        api::MISTRAL_CONVERSATIONS => MistralConversations.decoder(&request),
        other => return Err(ProviderError::invalid(format!("no bench for {other}"))),
    })
}
