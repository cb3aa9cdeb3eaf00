//! Decodes the event stream of `streamGenerateContent` into message events.
//!
//! A chunk is a complete response with only the new parts. Parts of one kind continue a block; a
//! function call is always complete and may lack an ID.

use std::borrow::Cow;

use pi_env::Env;
use pi_http::SseParser;
use pi_protocol::json::{JsonObject, lenient_u64};
use pi_protocol::{
    AssistantBlock, ErrorClass, MessageBuilder, ProviderError, StopReason, ToolCall, Usage,
};
use serde::Deserialize;

use super::error::GoogleStatus;
use crate::options::ModelRequest;
use crate::wire::{DecodeStatus, Decoder};

/// Limit for the start of a body that is kept in case it is not an event stream.
const MAX_HEAD: usize = 16 * 1024;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct GenerateContentChunk<'a> {
    #[serde(borrow)]
    candidates: Option<Vec<Candidate<'a>>>,
    usage_metadata: Option<UsageMetadata>,
    #[serde(borrow)]
    response_id: Option<ChunkText<'a>>,
    #[serde(borrow)]
    prompt_feedback: Option<PromptFeedback<'a>>,
    error: Option<GoogleStatus>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Candidate<'a> {
    #[serde(borrow)]
    content: Option<CandidateContent<'a>>,
    #[serde(borrow)]
    finish_reason: Option<ChunkText<'a>>,
    #[serde(borrow)]
    finish_message: Option<ChunkText<'a>>,
}

#[derive(Deserialize)]
struct CandidateContent<'a> {
    #[serde(borrow)]
    parts: Option<Vec<ResponsePart<'a>>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ResponsePart<'a> {
    thought: Option<bool>,
    #[serde(borrow)]
    text: Option<ChunkText<'a>>,
    function_call: Option<ResponseFunctionCall>,
    #[serde(borrow)]
    thought_signature: Option<ChunkText<'a>>,
}

#[derive(Deserialize)]
struct ResponseFunctionCall {
    id: Option<String>,
    name: Option<String>,
    args: Option<JsonObject>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PromptFeedback<'a> {
    #[serde(borrow)]
    block_reason: Option<ChunkText<'a>>,
    #[serde(borrow)]
    block_reason_message: Option<ChunkText<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[expect(clippy::struct_field_names, reason = "the field names of the JSON")]
struct UsageMetadata {
    #[serde(deserialize_with = "lenient_u64")]
    prompt_token_count: u64,
    #[serde(deserialize_with = "lenient_u64")]
    cached_content_token_count: u64,
    #[serde(deserialize_with = "lenient_u64")]
    candidates_token_count: u64,
    #[serde(deserialize_with = "lenient_u64")]
    thoughts_token_count: u64,
    #[serde(deserialize_with = "lenient_u64")]
    total_token_count: u64,
}

/// A string that is borrowed from the chunk unless it contains escapes.
#[derive(Deserialize)]
#[serde(transparent)]
struct ChunkText<'a>(#[serde(borrow)] Cow<'a, str>);

impl ChunkText<'_> {
    fn non_empty(&self) -> Option<&str> {
        Some(self.0.as_ref()).filter(|text| !text.is_empty())
    }
}

pub(crate) struct GenerateContentDecoder {
    parser: SseParser,
    state: GenerateContentState,
    /// The start of the body until the first event: a gateway may send plain JSON instead.
    head: Option<Vec<u8>>,
}

impl GenerateContentDecoder {
    pub(crate) fn new(request: &ModelRequest) -> Self {
        Self {
            parser: SseParser::new(),
            state: GenerateContentState {
                env: request.env.clone(),
                open: None,
                refusal: None,
            },
            head: Some(Vec::new()),
        }
    }

    /// Returns the error in a body without any event.
    fn plain_error(&self) -> Option<ProviderError> {
        let chunk: GenerateContentChunk<'_> = serde_json::from_slice(self.head.as_deref()?).ok()?;
        Some(chunk.error?.into_stream_error())
    }
}

impl Decoder for GenerateContentDecoder {
    fn push(
        &mut self,
        bytes: &[u8],
        message: &mut MessageBuilder,
    ) -> Result<DecodeStatus, ProviderError> {
        let Self {
            parser,
            state,
            head,
        } = self;
        if let Some(head) = head {
            let remaining = MAX_HEAD.saturating_sub(head.len());
            head.extend(bytes.iter().take(remaining));
        }
        parser.push(bytes, |event| {
            *head = None;
            let chunk = serde_json::from_str(event.data).map_err(|error| {
                ProviderError::protocol(format!("The service sent a malformed chunk: {error}"))
            });
            state.handle_chunk(chunk?, message)
        })?;
        Ok(DecodeStatus::More)
    }

    fn finish(&mut self, message: &mut MessageBuilder) -> Result<(), ProviderError> {
        let Self { parser, state, .. } = self;
        let mut has_event = false;
        parser.finish(|event| {
            // A last chunk that cannot be parsed was truncated; the missing finish reason is reported below.
            serde_json::from_str(event.data).map_or(Ok(()), |chunk| {
                has_event = true;
                state.handle_chunk(chunk, message)
            })
        })?;
        state.close_block(message);
        if !has_event && let Some(error) = self.plain_error() {
            return Err(error);
        }
        self.state.finish_response(message)
    }
}

/// The block that text parts continue.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OpenBlock {
    Text(usize),
    Thinking(usize),
}

/// Decoder state besides the message itself.
struct GenerateContentState {
    env: Env,
    open: Option<OpenBlock>,
    /// Why the response is unusable; reported at the end of the stream.
    refusal: Option<ProviderError>,
}

impl GenerateContentState {
    fn handle_chunk(
        &mut self,
        chunk: GenerateContentChunk<'_>,
        message: &mut MessageBuilder,
    ) -> Result<(), ProviderError> {
        if let Some(error) = chunk.error {
            self.close_block(message);
            return Err(error.into_stream_error());
        }
        if let Some(id) = chunk.response_id.as_ref().and_then(ChunkText::non_empty) {
            message.update(|message| {
                message.response_id.get_or_insert_with(|| id.to_owned());
            });
        }
        if let Some(usage) = chunk.usage_metadata {
            message.set_usage(usage.into());
        }
        if let Some(feedback) = chunk.prompt_feedback {
            self.handle_feedback(&feedback);
        }
        if let Some(candidate) = chunk.candidates.into_iter().flatten().next() {
            self.handle_candidate(candidate, message);
        }
        Ok(())
    }

    fn handle_candidate(&mut self, candidate: Candidate<'_>, message: &mut MessageBuilder) {
        let parts = candidate.content.and_then(|content| content.parts);
        for part in parts.into_iter().flatten() {
            let signature = part
                .thought_signature
                .as_ref()
                .and_then(ChunkText::non_empty);
            if let Some(text) = &part.text {
                let is_thought = part.thought == Some(true);
                self.handle_text(is_thought, &text.0, signature, message);
            }
            if let Some(call) = part.function_call {
                self.handle_call(call, signature, message);
            }
        }
        let Some(reason) = candidate
            .finish_reason
            .as_ref()
            .and_then(ChunkText::non_empty)
        else {
            return;
        };
        self.refusal = None;
        let stop = match reason {
            "STOP" => StopReason::Stop,
            "MAX_TOKENS" => StopReason::Length,
            _ => {
                let detail = candidate
                    .finish_message
                    .as_ref()
                    .and_then(ChunkText::non_empty);
                self.refusal = Some(refusal_error("The model stopped with", reason, detail));
                StopReason::Error
            }
        };
        message.stop(stop, Some(reason));
    }

    fn handle_text(
        &mut self,
        is_thought: bool,
        text: &str,
        signature: Option<&str>,
        message: &mut MessageBuilder,
    ) {
        match self.block_for(is_thought, message) {
            OpenBlock::Thinking(index) => {
                if let Some(signature) = signature {
                    message.with_thinking(index, |block| {
                        block.thinking_signature = Some(signature.to_owned());
                    });
                }
                message.append_thinking_or_empty(index, text);
            }
            OpenBlock::Text(index) => {
                if let Some(signature) = signature {
                    message.with_text(index, |block| {
                        block.text_signature = Some(signature.to_owned());
                    });
                }
                message.append_text_or_empty(index, text);
            }
        }
    }

    /// Returns the open block if it has the right kind, else opens a new one.
    fn block_for(&mut self, is_thought: bool, message: &mut MessageBuilder) -> OpenBlock {
        match self.open {
            Some(block @ OpenBlock::Thinking(_)) if is_thought => return block,
            Some(block @ OpenBlock::Text(_)) if !is_thought => return block,
            Some(_) | None => {}
        }
        self.close_block(message);
        let block = if is_thought {
            OpenBlock::Thinking(message.open_thinking())
        } else {
            OpenBlock::Text(message.open_text())
        };
        self.open = Some(block);
        block
    }

    fn close_block(&mut self, message: &mut MessageBuilder) {
        match self.open.take() {
            Some(OpenBlock::Text(index)) => message.close_text(index),
            Some(OpenBlock::Thinking(index)) => message.close_thinking(index),
            None => {}
        }
    }

    fn handle_call(
        &mut self,
        call: ResponseFunctionCall,
        signature: Option<&str>,
        message: &mut MessageBuilder,
    ) {
        self.close_block(message);
        let name = call.name.unwrap_or_default();
        let arguments = call.args.unwrap_or_default();
        let text = pi_protocol::json::to_string(&arguments).unwrap_or_default();
        let index = message.open_tool_call(ToolCall {
            id: self.call_id(call.id, &name, message),
            name,
            thought_signature: signature.map(str::to_owned),
            ..ToolCall::default()
        });
        message.append_arguments(index, &text);
        message.close_tool_call_with(index, arguments);
    }

    /// Returns the call's ID, or a generated one if it is missing or a duplicate.
    fn call_id(&self, given: Option<String>, name: &str, message: &MessageBuilder) -> String {
        message.read(|message| {
            let is_taken = |id: &str| message.tool_calls().any(|call| call.id == id);
            given
                .filter(|id| !id.is_empty() && !is_taken(id))
                .unwrap_or_else(|| {
                    let count = message
                        .content
                        .iter()
                        .filter_map(AssistantBlock::as_tool_call)
                        .count();
                    format!("{name}_{}_{}", self.env.now_ms(), count + 1)
                })
        })
    }

    fn handle_feedback(&mut self, feedback: &PromptFeedback<'_>) {
        if let Some(reason) = feedback
            .block_reason
            .as_ref()
            .and_then(ChunkText::non_empty)
        {
            let detail = feedback
                .block_reason_message
                .as_ref()
                .and_then(ChunkText::non_empty);
            self.refusal = Some(refusal_error("The prompt was blocked with", reason, detail));
        }
    }

    fn finish_response(&mut self, message: &mut MessageBuilder) -> Result<(), ProviderError> {
        if let Some(refusal) = self.refusal.take() {
            return Err(refusal);
        }
        match message.stop_reason() {
            None => Err(ProviderError::network(
                "The stream ended without a finish reason",
            )),
            Some(StopReason::Stop) if message.has_tool_calls() => {
                let raw = message.read(|message| message.raw_stop_reason.clone());
                message.stop(StopReason::ToolUse, raw.as_deref());
                Ok(())
            }
            Some(_) => Ok(()),
        }
    }
}

fn refusal_error(what: &str, reason: &str, detail: Option<&str>) -> ProviderError {
    let message = match detail {
        Some(detail) => format!("{what} {reason}: {detail}"),
        None => format!("{what} {reason}"),
    };
    ProviderError::new(ErrorClass::Refused, message)
}

impl From<UsageMetadata> for Usage {
    fn from(usage: UsageMetadata) -> Self {
        Self {
            input: usage
                .prompt_token_count
                .saturating_sub(usage.cached_content_token_count),
            output: usage
                .candidates_token_count
                .saturating_add(usage.thoughts_token_count),
            cache_read: usage.cached_content_token_count,
            reasoning: Some(usage.thoughts_token_count),
            total_tokens: usage.total_token_count,
            ..Self::default()
        }
    }
}
