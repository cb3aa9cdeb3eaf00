//! The conversation on the screen: which block shows what, and how events change them.
//!
//! Blocks live in the screen's document; this remembers which one belongs to which message and tool
//! call. How a block looks is its own business.

use std::collections::HashMap;
use std::time::Instant;

use pi_agent::AgentEvent;
use pi_ai::{AgentMessage, AssistantBlock, InputBlock, LiveMessage};
use pi_runtime::{AgentSession, SessionEvent};
use pi_session::EntryBody;
use pi_tui::{BlockId, ColorToken, Component, Document, Lines, Liveness, sanitize, wrap_text};

use crate::block::{Block, BlockView};
use crate::look::{Appearance, Look};

/// How loud a notice is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoticeLevel {
    /// Something was done; the next such line takes its place.
    Status,
    /// Something worth keeping.
    Info,
    /// Something to look at.
    Warning,
    /// Something failed.
    Error,
}

/// A remark of the program in the transcript.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Notice {
    /// How loud it is.
    pub(crate) level: NoticeLevel,
    /// What it says; foreign text in it is shown as text.
    pub(crate) text: String,
}

/// How a command of the user ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BashEnd {
    /// The exit code; none if it was killed or never ran.
    pub(crate) exit_code: Option<i64>,
    /// Whether the user stopped it.
    pub(crate) cancelled: bool,
    /// Whether only the end of the output is kept.
    pub(crate) truncated: bool,
    /// Where all of the output is.
    pub(crate) full_output_path: Option<String>,
    /// Why it could not run.
    pub(crate) error: Option<String>,
}

/// The blocks of a session.
#[derive(Debug)]
pub(crate) struct Transcript {
    look: Look,
    calls: HashMap<String, BlockId>,
    streaming: Option<BlockId>,
    bash: Option<BlockId>,
    status: Option<BlockId>,
    expanded: bool,
}

impl Transcript {
    /// Starts without blocks.
    pub(crate) fn new(look: Look) -> Self {
        Self {
            look,
            calls: HashMap::new(),
            streaming: None,
            bash: None,
            status: None,
            expanded: false,
        }
    }

    /// Forgets every block, for another session; the document is cleared too.
    pub(crate) fn clear(&mut self, document: &mut Document) {
        let (look, expanded) = (self.look.clone(), self.expanded);
        *self = Self::new(look);
        self.expanded = expanded;
        document.clear();
    }

    /// Shows what a session holds.
    pub(crate) fn show(&mut self, document: &mut Document, session: &AgentSession) {
        let entries = session.with_session(pi_session::Session::branch_entries);
        for entry in entries.unwrap_or_default() {
            if let EntryBody::Message(message) = &entry.body {
                self.add_message(document, message);
            }
        }
    }

    /// Loads entries before the first one shown; tells whether there were any.
    pub(crate) fn show_older(&mut self, _document: &mut Document, _session: &AgentSession) -> bool {
        false
    }

    /// Follows what happens in the session.
    pub(crate) fn follow(&mut self, document: &mut Document, event: &SessionEvent, _now: Instant) {
        let SessionEvent::Agent(event) = event else {
            return;
        };
        match event {
            AgentEvent::MessageStart { message } => match &**message {
                AgentMessage::Assistant(_) | AgentMessage::ToolResult(_) => {}
                other => self.add_message(document, other),
            },
            AgentEvent::MessageUpdate { message, .. } => self.stream(document, message),
            AgentEvent::MessageEnd { message } => {
                if let Some(id) = self.streaming.take() {
                    document.remove(id);
                }
                if matches!(**message, AgentMessage::Assistant(_)) {
                    self.add_message(document, message);
                }
            }
            AgentEvent::ToolExecutionEnd {
                tool_call_id,
                result,
                is_error,
                ..
            } => {
                let text = input_text(&result.content);
                self.finish_call(document, tool_call_id, &text, *is_error);
            }
            _ => {}
        }
    }

    /// Adds a remark. A status replaces a status that is still the last line.
    pub(crate) fn tell(&mut self, document: &mut Document, notice: &Notice) {
        let token = match notice.level {
            NoticeLevel::Status | NoticeLevel::Info => ColorToken::Dim,
            NoticeLevel::Warning => ColorToken::Warning,
            NoticeLevel::Error => ColorToken::Error,
        };
        let replaced = self.status.filter(|_| notice.level == NoticeLevel::Status);
        if let Some(id) = replaced
            && document.ids().last() == Some(id)
        {
            document.remove(id);
        }
        let id = self.push(document, PlainBlock::new(token, notice.text.clone()));
        self.status = (notice.level == NoticeLevel::Status).then_some(id);
    }

    /// Adds a block of the application's own.
    pub(crate) fn append(&mut self, document: &mut Document, component: impl Component) -> BlockId {
        document.push(component)
    }

    /// A command of the user begins.
    pub(crate) fn bash_begins(&mut self, document: &mut Document, command: &str, excluded: bool) {
        let token = if excluded {
            ColorToken::Dim
        } else {
            ColorToken::BashMode
        };
        let id = self.push(document, PlainBlock::new(token, format!("$ {command}\n")));
        self.bash = Some(id);
    }

    /// A command of the user printed something.
    pub(crate) fn bash_printed(&mut self, document: &mut Document, delta: &str) {
        self.change(document, self.bash, |block| block.text.push_str(delta));
    }

    /// A command of the user is over.
    pub(crate) fn bash_ended(&mut self, document: &mut Document, end: &BashEnd) {
        let bash = self.bash.take();
        let remark = match end {
            BashEnd {
                error: Some(error), ..
            } => format!("\n({error})"),
            BashEnd {
                cancelled: true, ..
            } => "\n(cancelled)".to_owned(),
            BashEnd {
                exit_code: Some(code),
                ..
            } if *code != 0 => format!("\n(exit {code})"),
            _ => String::new(),
        };
        self.change(document, bash, |block| block.text.push_str(&remark));
    }

    /// Shows details of every block, or the short forms.
    pub(crate) fn set_expanded(&mut self, _document: &mut Document, expanded: bool) {
        self.expanded = expanded;
    }

    /// Tells whether details are shown.
    pub(crate) fn is_expanded(&self) -> bool {
        self.expanded
    }

    /// Returns when a block changes by itself next.
    pub(crate) fn next_tick(&self) -> Option<Instant> {
        None
    }

    /// Tells the blocks what time it is.
    pub(crate) fn tick(&mut self, _document: &mut Document, _now: Instant) {}

    fn add_message(&mut self, document: &mut Document, message: &AgentMessage) {
        match message {
            AgentMessage::User(user) => {
                let text = match &user.content {
                    pi_ai::Content::Text(text) => text.clone(),
                    pi_ai::Content::Blocks(blocks) => input_text(blocks),
                };
                self.push(document, PlainBlock::new(ColorToken::UserMessageText, text));
            }
            AgentMessage::Assistant(answer) => {
                for block in &answer.content {
                    match block {
                        AssistantBlock::Text(text) => {
                            self.push(
                                document,
                                PlainBlock::new(ColorToken::Text, text.text.clone()),
                            );
                        }
                        AssistantBlock::ToolCall(call) => {
                            let arguments = serde_json::to_string(&call.arguments);
                            let text = format!("{} {}", call.name, arguments.unwrap_or_default());
                            let block = PlainBlock::new(ColorToken::ToolTitle, text);
                            let id = self.push(document, block);
                            self.calls.insert(call.id.clone(), id);
                        }
                        AssistantBlock::Thinking(_) | AssistantBlock::Unknown(_) => {}
                    }
                }
                if let Some(error) = &answer.error_message {
                    self.push(document, PlainBlock::new(ColorToken::Error, error.clone()));
                }
            }
            AgentMessage::ToolResult(result) => {
                let text = input_text(&result.content);
                self.finish_call(document, &result.tool_call_id, &text, result.is_error);
            }
            AgentMessage::BashExecution(bash) => {
                let text = format!("$ {}\n{}", bash.command, bash.output);
                self.push(document, PlainBlock::new(ColorToken::BashMode, text));
            }
            _ => {}
        }
    }

    fn stream(&mut self, document: &mut Document, message: &LiveMessage) {
        let text = message.read(|message| {
            let texts = message.content.iter().filter_map(AssistantBlock::as_text);
            texts.collect::<String>()
        });
        match self.streaming {
            Some(_) => self.change(document, self.streaming, |block| block.text = text),
            None => {
                self.streaming = Some(self.push(document, PlainBlock::new(ColorToken::Text, text)))
            }
        }
    }

    fn finish_call(&mut self, document: &mut Document, call: &str, text: &str, is_error: bool) {
        let id = self.calls.get(call).copied();
        self.change(document, id, |block| {
            block.text.push('\n');
            block.text.push_str(text);
            if is_error {
                block.token = ColorToken::Error;
            }
        });
    }

    fn push(&self, document: &mut Document, block: PlainBlock) -> BlockId {
        let view = BlockView::new(block, self.look.clone());
        document.push_boxed(Box::new(view), Liveness::Settled)
    }

    fn change(
        &self,
        document: &mut Document,
        id: Option<BlockId>,
        change: impl FnOnce(&mut PlainBlock),
    ) {
        let component = id.and_then(|id| document.get_mut(id));
        let view = component.and_then(|component| {
            (component as &mut dyn std::any::Any).downcast_mut::<BlockView<PlainBlock>>()
        });
        if let Some(view) = view {
            let block = view.block_mut();
            change(block);
            block.generation += 1;
        }
    }
}

fn input_text(blocks: &[InputBlock]) -> String {
    let texts = blocks.iter().filter_map(|block| match block {
        InputBlock::Text(text) => Some(text.text.as_str()),
        InputBlock::Image(_) | InputBlock::Unknown(_) => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// A text in one colour.
#[derive(Debug)]
struct PlainBlock {
    token: ColorToken,
    text: String,
    generation: u64,
}

impl PlainBlock {
    fn new(token: ColorToken, text: String) -> Self {
        Self {
            token,
            text,
            generation: 0,
        }
    }
}

impl Block for PlainBlock {
    fn lines(&mut self, width: usize, appearance: &Appearance) -> Lines {
        let text = appearance.paint(self.token, &sanitize(&self.text));
        let inner = width.saturating_sub(2).max(1);
        let lines = wrap_text(&text, inner)
            .into_iter()
            .map(|line| format!(" {line}"));
        std::iter::once(String::new()).chain(lines).collect()
    }

    fn generation(&self) -> u64 {
        self.generation
    }
}
