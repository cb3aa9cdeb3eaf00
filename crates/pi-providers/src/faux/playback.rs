//! Streams a scripted response: blocks in chunks of random size, at a given speed, until it ends or
//! fails.

use std::ops::RangeInclusive;
use std::time::Duration;

use pi_http::ResponseHead;
use pi_protocol::estimate::text_tokens;
use pi_protocol::{
    AssistantBlock, ErrorClass, ProviderError, StopReason, StreamPhase, ThinkingContent, ToolCall,
    Usage,
};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::FauxProvider;
use super::response::{FauxCall, FauxResponse, ResponseEnd, ResponseStep};
use super::usage::with_output;
use pi_stream::{AssistantStream, StreamWriter};

/// Speed and chunk size of a response.
#[derive(Debug, Clone)]
pub(super) struct PlaybackSpeed {
    /// Characters per delta.
    pub chunk_size: RangeInclusive<usize>,
    pub seed: u64,
    pub tokens_per_second: Option<f64>,
}

impl Default for PlaybackSpeed {
    fn default() -> Self {
        Self {
            chunk_size: 12..=20,
            seed: 0,
            tokens_per_second: None,
        }
    }
}

pub(super) fn stream(
    response: Option<FauxResponse>,
    call: FauxCall,
    speed: PlaybackSpeed,
    provider: FauxProvider,
) -> AssistantStream {
    let model = call.request.model.clone();
    let timestamp = call.request.env.now_ms();
    AssistantStream::produce(&model, timestamp, |mut writer| async move {
        let cancel = call.request.options.cancel.clone();
        let mut player = ResponsePlayer {
            writer: &mut writer,
            random: StdRng::seed_from_u64(speed.seed.wrapping_add(call.number as u64)),
            speed,
            usage: Usage::default(),
            open: None,
            call,
        };
        let outcome = cancel
            .run_until_cancelled(player.play(response, &provider))
            .await;
        match outcome {
            Some(Ok(())) => writer.complete().await,
            Some(Err(cause)) => writer.fail(cause).await,
            None => writer.fail(ProviderError::aborted()).await,
        }
    })
}

/// A block that was started but not ended.
#[derive(Clone, Copy)]
enum OpenBlock {
    Text(usize),
    Thinking(usize),
    ToolCall(usize),
}

struct ResponsePlayer<'stream> {
    writer: &'stream mut StreamWriter,
    call: FauxCall,
    speed: PlaybackSpeed,
    random: StdRng,
    /// Usage of the prompt.
    usage: Usage,
    open: Option<OpenBlock>,
}

impl ResponsePlayer<'_> {
    async fn play(
        &mut self,
        response: Option<FauxResponse>,
        provider: &FauxProvider,
    ) -> Result<(), ProviderError> {
        self.usage = provider.state().prompts.prompt_usage(&self.call.request);
        let head = ResponseHead {
            status: 200,
            headers: std::collections::BTreeMap::new(),
        };
        if let Some(hooks) = self.call.request.options.hooks.clone() {
            hooks.on_response(&head, &self.call.request.model).await;
        }
        self.count_output();
        let Some(mut response) = response else {
            return Err(ProviderError::invalid(format!(
                "The faux provider has no scripted response for call {}",
                self.call.number
            )));
        };
        self.writer.set_phase(StreamPhase::Receiving);
        let mut steps = std::mem::take(&mut response.steps).into_iter();
        while let Some(step) = steps.next() {
            if let Some(made) = self.take(step).await? {
                response = made;
                steps = std::mem::take(&mut response.steps).into_iter();
            }
        }
        self.close_block();
        self.end(response.end)
    }

    /// Executes a step. A factory's response replaces the rest of the current one.
    async fn take(&mut self, step: ResponseStep) -> Result<Option<FauxResponse>, ProviderError> {
        match step {
            ResponseStep::Start => {
                self.writer.message().start();
                self.writer.flush().await;
            }
            ResponseStep::Block(block) => self.emit_block(block).await,
            ResponseStep::Wait(gate) => gate.pass().await,
            ResponseStep::Fail(error) => return Err(error),
            ResponseStep::Stall => std::future::pending().await,
            ResponseStep::ResponseFactory(make) => return Ok(Some(make(self.call.clone()).await)),
        }
        Ok(None)
    }

    async fn emit_block(&mut self, block: AssistantBlock) {
        self.close_block();
        match block {
            AssistantBlock::Text(block) => {
                let index = self.writer.message().open_text();
                self.writer.message().with_text(index, |open| {
                    open.text_signature = block.text_signature;
                });
                self.emit_chunks(OpenBlock::Text(index), &block.text).await;
            }
            AssistantBlock::Thinking(block) => {
                let text = block.thinking;
                let index = self.writer.message().open_thinking_with(ThinkingContent {
                    thinking: String::new(),
                    ..block
                });
                self.emit_chunks(OpenBlock::Thinking(index), &text).await;
            }
            AssistantBlock::ToolCall(call) => {
                let text = pi_protocol::json::to_string(&call.arguments).unwrap_or_default();
                let index = self.open_tool_call(call);
                self.emit_chunks(OpenBlock::ToolCall(index), &text).await;
            }
            AssistantBlock::Unknown(_) => {}
        }
        self.count_output();
    }

    fn open_tool_call(&mut self, mut call: ToolCall) -> usize {
        let index = self.writer.message().read(|message| message.content.len());
        if call.id.is_empty() {
            call.id = format!("faux_{}_{index}", self.call.number);
        }
        self.writer.message().open_tool_call(ToolCall {
            arguments: pi_protocol::json::JsonObject::new(),
            ..call
        })
    }

    async fn emit_chunks(&mut self, block: OpenBlock, text: &str) {
        self.open = Some(block);
        self.writer.flush().await;
        let mut rest = text;
        while !rest.is_empty() {
            let chunk = self.next_chunk(rest);
            rest = rest.get(chunk.len()..).unwrap_or_default();
            self.pause_for(chunk).await;
            let message = self.writer.message();
            match block {
                OpenBlock::Text(index) => message.append_text(index, chunk),
                OpenBlock::Thinking(index) => message.append_thinking(index, chunk),
                OpenBlock::ToolCall(index) => message.append_arguments(index, chunk),
            }
            self.writer.flush().await;
        }
    }

    fn next_chunk<'text>(&mut self, text: &'text str) -> &'text str {
        let (least, most) = self.speed.chunk_size.clone().into_inner();
        let least = least.max(1);
        let size = self.random.random_range(least..=most.max(least));
        let end = text.char_indices().nth(size).map(|(end, _)| end);
        end.and_then(|end| text.get(..end)).unwrap_or(text)
    }

    async fn pause_for(&self, chunk: &str) {
        let Some(speed) = self.speed.tokens_per_second.filter(|speed| *speed > 0.0) else {
            return;
        };
        #[expect(
            clippy::cast_precision_loss,
            reason = "a chunk has far less than 2^53 tokens"
        )]
        let seconds = text_tokens(chunk) as f64 / speed;
        if let Ok(pause) = Duration::try_from_secs_f64(seconds) {
            tokio::time::sleep(pause).await;
        }
    }

    fn close_block(&mut self) {
        let message = self.writer.message();
        match self.open.take() {
            Some(OpenBlock::Text(index)) => message.close_text(index),
            Some(OpenBlock::Thinking(index)) => message.close_thinking(index),
            Some(OpenBlock::ToolCall(index)) => message.close_tool_call(index),
            None => {}
        }
    }

    fn count_output(&mut self) {
        let message = self.writer.message();
        let usage = message.read(|message| with_output(self.usage.clone(), &message.content));
        message.set_usage(usage);
    }

    fn end(&mut self, end: ResponseEnd) -> Result<(), ProviderError> {
        self.count_output();
        let message = self.writer.message();
        message.update(|message| {
            message.response_id = end.response_id;
            message.deferred = end.deferred;
        });
        let natural = if message.has_tool_calls() {
            StopReason::ToolUse
        } else {
            StopReason::Stop
        };
        match end.stop_reason.unwrap_or(natural) {
            StopReason::Aborted => Err(ProviderError::aborted()),
            StopReason::Error => Err(ProviderError::new(
                ErrorClass::Refused,
                "The scripted response ends in an error",
            )),
            StopReason::Pending => Err(ProviderError::protocol(
                "The scripted response ended without a stop reason",
            )),
            reason @ (StopReason::Stop
            | StopReason::Length
            | StopReason::ToolUse
            | StopReason::Deferred) => {
                message.stop(reason, None);
                Ok(())
            }
        }
    }
}
