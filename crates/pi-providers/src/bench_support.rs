//! Internals exposed for `benches/` and the fuzz checks. Not part of the public API; may change at
//! any time.

use std::sync::Arc;

use pi_env::Env;
use pi_http::{SseEvent, SseParser};
use pi_protocol::{MessageBuilder, Model, ProviderError, api};

use crate::options::{ModelRequest, StreamOptions};
use crate::wire::anthropic_messages::AnthropicMessages;
use crate::wire::google_generative::GoogleGenerative;
use crate::wire::mistral::MistralConversations;
use crate::wire::openai_completions::OpenAiCompletions;
use crate::wire::openai_responses::OpenAiResponses;
use crate::wire::{Decoder, HttpProtocol};

/// Parses server-sent events in chunks of `piece_size` bytes and returns the number of events and
/// the total size of their data.
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

/// Returns the names and data of the server-sent events in a body that arrives in pieces.
pub fn read_events<'a>(
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> Result<Vec<(Option<String>, String)>, ProviderError> {
    let mut parser = SseParser::new();
    let mut events = Vec::new();
    let mut keep = |event: SseEvent<'_>| {
        events.push((event.event.map(str::to_owned), event.data.to_owned()));
        Ok(())
    };
    for piece in pieces {
        parser.push(piece, &mut keep)?;
    }
    parser.finish(&mut keep)?;
    Ok(events)
}

/// Decodes a full response in chunks of `piece_size` bytes, draining the events after each chunk,
/// and returns the number of events.
pub fn decode_response(
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
        api::ANTHROPIC_MESSAGES => AnthropicMessages::default().decoder(&request),
        api::OPENAI_COMPLETIONS => OpenAiCompletions.decoder(&request),
        api::OPENAI_RESPONSES => OpenAiResponses.decoder(&request),
        api::GOOGLE_GENERATIVE_AI => GoogleGenerative.decoder(&request),
        api::MISTRAL_CONVERSATIONS => MistralConversations.decoder(&request),
        other => return Err(ProviderError::invalid(format!("no benchmark for {other}"))),
    })
}
