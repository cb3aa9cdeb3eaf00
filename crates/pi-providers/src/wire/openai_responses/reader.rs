//! Converts the service's stream events into message events, one at a time, for both transports:
//! server-sent events in [`super::decode`], WebSocket messages in Codex.

use pi_protocol::json::value_to_string;
use pi_protocol::{MessageBuilder, ProviderError, StopReason, ToolCall};
use serde_json::Value;
use serde_json::value::RawValue;

use super::call_ids;
use super::compat::ResponsesCompat;
use super::completion::{self, UnknownStatus};
use super::error;
use super::events::{OutputItem, ResponseObject, ServiceError, StreamEvent};
use super::pricing::TierPricing;
use super::signature::TextSignature;
use super::tools::{GrammarProperties, grammar_properties};
use crate::constrained_sampling::GrammarInput;
use crate::options::ModelRequest;
use crate::wire::DecodeStatus;

/// The argument of a grammar tool that the transcript does not declare.
const DEFAULT_GRAMMAR_PROPERTY: &str = "input";

/// The parts of the request that affect decoding.
#[derive(Debug, Default)]
pub(crate) struct ReaderSettings {
    /// The grammar tools of the transcript.
    pub grammar_properties: GrammarProperties,
    pub pricing: TierPricing,
    pub unknown_status: UnknownStatus,
    /// The effort to record in the message, if the history has efforts.
    pub effort: Option<String>,
}

impl ReaderSettings {
    /// Returns the settings of a request to a service without tiers.
    pub(crate) fn for_request(request: &ModelRequest, compat: &ResponsesCompat) -> Self {
        Self {
            // A grammar that cannot be declared has already failed the request.
            grammar_properties: grammar_properties(&request.messages, compat).unwrap_or_default(),
            ..Self::default()
        }
    }
}

/// Reads the events of one response.
#[derive(Debug)]
pub(crate) struct EventReader {
    settings: ReaderSettings,
    open_items: Vec<OpenItem>,
    /// Completed reasoning items: their IDs and blocks.
    reasoning: Vec<(String, usize)>,
    complete: bool,
    error_code: Option<String>,
}

/// An output item that is not complete.
#[derive(Debug)]
struct OpenItem {
    output_index: Option<u64>,
    content_index: usize,
    kind: ItemKind,
}

#[derive(Debug)]
enum ItemKind {
    ReasoningConfig,
    Message,
    FunctionCall,
    CustomToolCall(GrammarInput),
}

impl EventReader {
    pub(crate) fn new(settings: ReaderSettings) -> Self {
        Self {
            settings,
            open_items: Vec::new(),
            reasoning: Vec::new(),
            complete: false,
            error_code: None,
        }
    }

    /// Returns the code of the error that ended the response.
    pub(crate) fn error_code(&self) -> Option<&str> {
        self.error_code.as_deref()
    }

    /// Rejects a response whose calls would be executed although one was cut off.
    fn check_calls_are_complete(&self, message: &MessageBuilder) -> Result<(), ProviderError> {
        let runs_calls = message.read(|message| message.stop_reason == StopReason::ToolUse);
        let has_open_call = self.open_items.iter().any(|item| {
            matches!(
                item.kind,
                ItemKind::FunctionCall | ItemKind::CustomToolCall(_)
            )
        });
        if runs_calls && has_open_call {
            return Err(ProviderError::protocol(
                "The response ended with an incomplete tool call",
            ));
        }
        Ok(())
    }

    /// Processes one event as JSON text.
    pub(crate) fn handle_event(
        &mut self,
        text: &str,
        message: &mut MessageBuilder,
    ) -> Result<DecodeStatus, ProviderError> {
        if let Some(effort) = self.settings.effort.take() {
            message.update(|message| message.provider_thinking_level = Some(effort));
        }
        let event = StreamEvent::scan(text).map_err(|cause| error::invalid_event(&cause))?;
        match event.kind.as_ref() {
            "response.output_text.delta" | "response.refusal.delta" => {
                self.append_text(&event, message);
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                let delta = event.delta().unwrap_or_default();
                self.append_thinking(&event, &delta, message);
            }
            "response.reasoning_summary_part.done" => {
                self.append_thinking(&event, "\n\n", message);
            }
            "response.function_call_arguments.delta" => self.append_arguments(&event, message),
            "response.function_call_arguments.done" => self.end_arguments(&event, message),
            "response.custom_tool_call_input.delta" => self.append_input(&event, message)?,
            "response.custom_tool_call_input.done" => self.end_input(&event, message)?,
            "response.output_item.added" => {
                if let Some(raw) = event.item() {
                    let item =
                        OutputItem::parse(raw).map_err(|cause| error::invalid_event(&cause))?;
                    self.begin_item(event.output_index(), &item, message)?;
                }
            }
            "response.output_item.done" => {
                if let Some(raw) = event.item() {
                    self.end_item(event.output_index(), raw, message)?;
                }
            }
            "response.created" => {
                if let Ok(Some(ResponseObject { id: Some(id), .. })) = event.response() {
                    message.update(|message| message.response_id = Some(id));
                }
            }
            "response.completed" | "response.incomplete" | "response.done" => {
                let response = event
                    .response()
                    .map_err(|cause| error::invalid_event(&cause))?;
                let response = response.unwrap_or_default();
                completion::restore_encrypted_reasoning(&response, &self.reasoning, message);
                completion::complete_response(&response, &self.settings, message)?;
                self.check_calls_are_complete(message)?;
                self.complete = true;
                return Ok(DecodeStatus::Complete);
            }
            "response.failed" => {
                let response = event.response().ok().flatten().unwrap_or_default();
                message.update(|message| message.raw_stop_reason.clone_from(&response.status));
                self.error_code = response.error.as_ref().and_then(ServiceError::code);
                return Err(error::failed(&response));
            }
            kind if kind == "error" || event.is_bare_error() => {
                let service_error = event.service_error();
                self.error_code = service_error.code();
                return Err(error::reported(&service_error));
            }
            _ => {}
        }
        Ok(DecodeStatus::More)
    }

    pub(crate) fn is_complete(&self) -> bool {
        self.complete
    }

    /// Ends the stream.
    pub(crate) fn finish(&self) -> Result<(), ProviderError> {
        if self.complete {
            Ok(())
        } else {
            Err(error::ended_early())
        }
    }

    fn open_item(&mut self, output_index: Option<u64>) -> Option<&mut OpenItem> {
        self.open_items
            .iter_mut()
            .rfind(|item| item.output_index == output_index)
    }

    fn append_text(&mut self, event: &StreamEvent<'_>, message: &mut MessageBuilder) {
        if let Some(item) = self.open_item(event.output_index())
            && matches!(item.kind, ItemKind::Message)
        {
            message.append_text(item.content_index, &event.delta().unwrap_or_default());
        }
    }

    fn append_thinking(
        &mut self,
        event: &StreamEvent<'_>,
        delta: &str,
        message: &mut MessageBuilder,
    ) {
        if let Some(item) = self.open_item(event.output_index())
            && matches!(item.kind, ItemKind::ReasoningConfig)
        {
            message.append_thinking(item.content_index, delta);
        }
    }

    fn append_arguments(&mut self, event: &StreamEvent<'_>, message: &mut MessageBuilder) {
        if let Some(item) = self.open_item(event.output_index())
            && matches!(item.kind, ItemKind::FunctionCall)
        {
            message.append_arguments(item.content_index, &event.delta().unwrap_or_default());
        }
    }

    fn end_arguments(&mut self, event: &StreamEvent<'_>, message: &mut MessageBuilder) {
        let Some(item) = self.open_item(event.output_index()) else {
            return;
        };
        let Some(complete_arguments) = event.arguments() else {
            return;
        };
        if !matches!(item.kind, ItemKind::FunctionCall) {
            return;
        }
        let collected = message
            .arguments_text(item.content_index)
            .unwrap_or_default();
        match complete_arguments.strip_prefix(collected.as_str()) {
            Some(rest) => message.append_arguments(item.content_index, rest),
            None => message.replace_arguments(item.content_index, &complete_arguments),
        }
    }

    fn append_input(
        &mut self,
        event: &StreamEvent<'_>,
        message: &mut MessageBuilder,
    ) -> Result<(), ProviderError> {
        if let Some(item) = self.open_item(event.output_index())
            && let ItemKind::CustomToolCall(input) = &mut item.kind
        {
            let json = input.push(&event.delta().unwrap_or_default())?;
            message.append_arguments(item.content_index, &json);
        }
        Ok(())
    }

    fn end_input(
        &mut self,
        event: &StreamEvent<'_>,
        message: &mut MessageBuilder,
    ) -> Result<(), ProviderError> {
        if let Some(item) = self.open_item(event.output_index())
            && let ItemKind::CustomToolCall(input) = &mut item.kind
        {
            let json = input.close(event.input().as_deref())?;
            message.append_arguments(item.content_index, &json);
        }
        Ok(())
    }

    fn begin_item(
        &mut self,
        output_index: Option<u64>,
        item: &OutputItem,
        message: &mut MessageBuilder,
    ) -> Result<(), ProviderError> {
        let (content_index, kind) = match item.kind.as_deref() {
            Some("reasoning") => (message.open_thinking(), ItemKind::ReasoningConfig),
            Some("message") => (message.open_text(), ItemKind::Message),
            Some("function_call") => {
                let content_index = message.open_tool_call(tool_call(item));
                let arguments = item.arguments.as_deref().unwrap_or_default();
                message.replace_arguments(content_index, arguments);
                (content_index, ItemKind::FunctionCall)
            }
            Some("custom_tool_call") => {
                let content_index = message.open_tool_call(tool_call(item));
                let property = item
                    .name
                    .as_ref()
                    .and_then(|name| self.settings.grammar_properties.get(name))
                    .map_or(DEFAULT_GRAMMAR_PROPERTY, String::as_str);
                let mut input = GrammarInput::new(property);
                let initial = input.push(item.input.as_deref().unwrap_or_default())?;
                message.append_arguments(content_index, &initial);
                (content_index, ItemKind::CustomToolCall(input))
            }
            // Items of server-side tools have no block.
            _ => return Ok(()),
        };
        self.open_items.push(OpenItem {
            output_index,
            content_index,
            kind,
        });
        Ok(())
    }

    fn end_item(
        &mut self,
        output_index: Option<u64>,
        raw: &RawValue,
        message: &mut MessageBuilder,
    ) -> Result<(), ProviderError> {
        let item = OutputItem::parse(raw).map_err(|cause| error::invalid_event(&cause))?;
        if self.open_item(output_index).is_none() {
            // Some services announce an item only when it is complete.
            self.begin_item(output_index, &item, message)?;
        }
        let Some(position) = self
            .open_items
            .iter()
            .rposition(|open| open.output_index == output_index && open.kind.is(&item))
        else {
            return Ok(());
        };
        let open = self.open_items.swap_remove(position);
        let content_index = open.content_index;
        match open.kind {
            ItemKind::ReasoningConfig => self.end_reasoning(content_index, item, raw, message),
            ItemKind::Message => end_message(content_index, &item, message),
            ItemKind::FunctionCall => {
                if let Some(arguments) = item.arguments.as_deref().filter(|text| !text.is_empty()) {
                    message.replace_arguments(content_index, arguments);
                }
                set_namespace(content_index, item.namespace, message);
                message.close_tool_call(content_index);
            }
            ItemKind::CustomToolCall(mut input) => {
                let json = input.close(item.input.as_deref())?;
                message.append_arguments(content_index, &json);
                set_namespace(content_index, item.namespace, message);
                message.close_tool_call(content_index);
            }
        }
        Ok(())
    }

    fn end_reasoning(
        &mut self,
        content_index: usize,
        item: OutputItem,
        raw: &RawValue,
        message: &mut MessageBuilder,
    ) {
        let text = item.reasoning_text();
        message.with_thinking(content_index, |block| {
            if !text.is_empty() {
                block.thinking = text;
            }
            block.thinking_signature = Some(compact(raw));
        });
        message.close_thinking(content_index);
        if let Some(id) = item.id {
            self.reasoning.push((id, content_index));
        }
    }
}

impl ItemKind {
    fn is(&self, item: &OutputItem) -> bool {
        let name = match self {
            Self::ReasoningConfig => "reasoning",
            Self::Message => "message",
            Self::FunctionCall => "function_call",
            Self::CustomToolCall(_) => "custom_tool_call",
        };
        item.kind.as_deref() == Some(name)
    }
}

fn tool_call(item: &OutputItem) -> ToolCall {
    let call_id = item.call_id.as_deref().unwrap_or_default();
    ToolCall {
        id: match item.id.as_deref() {
            Some(id) => call_ids::join(call_id, id),
            None => call_id.to_owned(),
        },
        name: item.name.clone().unwrap_or_default(),
        namespace: item.namespace.clone(),
        ..ToolCall::default()
    }
}

fn set_namespace(content_index: usize, namespace: Option<String>, message: &mut MessageBuilder) {
    if namespace.is_some() {
        message.with_tool_call(content_index, |call| call.namespace = namespace);
    }
}

fn end_message(content_index: usize, item: &OutputItem, message: &mut MessageBuilder) {
    let text = item.message_text();
    let signature = item
        .id
        .as_deref()
        .and_then(|id| TextSignature::new(id, item.phase.as_deref()).to_json());
    message.with_text(content_index, |block| {
        if !text.is_empty() {
            block.text = text;
        }
        block.text_signature = signature;
    });
    message.close_text(content_index);
}

/// Formats the item's JSON without whitespace.
fn compact(raw: &RawValue) -> String {
    match serde_json::from_str::<Value>(raw.get()) {
        Ok(value) => value_to_string(&value),
        Err(_) => raw.get().to_owned(),
    }
}
