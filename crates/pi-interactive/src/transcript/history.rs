//! Builds blocks from session entries: the recent part first, older parts on demand.

use std::collections::HashMap;
use std::sync::Arc;

use pi_host::ComponentId;
use pi_protocol::{
    AgentMessage, AssistantMessage, Entry, EntryBody, EntryId, EntryKind, InputBlock, MessageRole,
};
use pi_tui::Component;
use pi_views::theme::ui_theme::UiTheme;

use super::assistant::ended_early;
use super::costs::CostTracker;
use super::extension_rendering;
use crate::blocks::block::{BlockView, TranscriptBlock};
use crate::blocks::{
    AssistantMessageBlock, BashExecutionBlock, CallRenderer, CostBlock, CostNotice, CustomBlock,
    SkillBlock, SkillCall, StoredEntry, Summarized, SummaryBlock, TextTransform, ToolCallBlock,
    UserBlock,
};
use crate::extensions::bridge::ExtensionUiBridge;
use crate::session::history::SessionHistory;

/// Splits off the last `count` IDs and returns them.
///
/// Tool results stay with their calls.
pub(super) fn take_recent(
    ids: &mut Vec<EntryId>,
    count: usize,
    session: &dyn SessionHistory,
) -> Vec<EntryId> {
    let mut start = ids.len().saturating_sub(count);
    while start > 0 && ids.get(start).is_some_and(|id| is_result(id, session)) {
        start -= 1;
    }
    ids.split_off(start)
}

/// Splits off the first `count` IDs and returns them.
///
/// Tool results stay with their calls.
pub(super) fn take_first(
    ids: &mut Vec<EntryId>,
    count: usize,
    session: &dyn SessionHistory,
) -> Vec<EntryId> {
    let mut end = count.min(ids.len());
    while ids.get(end).is_some_and(|id| is_result(id, session)) {
        end += 1;
    }
    ids.drain(..end).collect()
}

fn is_result(id: &EntryId, session: &dyn SessionHistory) -> bool {
    session.kind(id) == Some(EntryKind::Message(MessageRole::ToolResult))
}

/// Reads entries; unreadable ones are skipped here and reported by the session.
pub(super) fn read(ids: &[EntryId], session: &dyn SessionHistory) -> Vec<Arc<Entry>> {
    ids.iter().filter_map(|id| session.entry(id)).collect()
}

/// Blocks that are not on screen yet.
pub(super) struct HistoryBuilder {
    ui: UiTheme,
    bridge: ExtensionUiBridge,
    blocks: Vec<HistoryBlock>,
    /// Calls without a result, by ID.
    open: HashMap<String, usize>,
    /// Blocks drawn by extensions, by component ID.
    rows: Vec<(ComponentId, usize)>,
    /// The entry of the message that is being added; live messages have none.
    stored: Option<StoredEntry>,
}

pub(super) struct HistoryBlocks {
    pub(super) components: Vec<Box<dyn Component>>,
    /// Indices of calls without a result.
    pub(super) open: HashMap<String, usize>,
    /// Indices of blocks drawn by extensions.
    pub(super) rows: Vec<(ComponentId, usize)>,
}

enum HistoryBlock {
    Call(ToolCallBlock),
    Other(Box<dyn Component>),
}

impl HistoryBuilder {
    /// Builds the blocks of entries; records them in `costs`.
    pub(super) fn of(
        entries: &[Arc<Entry>],
        ui: &UiTheme,
        bridge: &ExtensionUiBridge,
        costs: &mut CostTracker,
    ) -> Self {
        let mut history = Self::new(ui, bridge);
        for entry in entries {
            history.add_entry(entry);
            history.add_costs(entry, costs);
        }
        history
    }

    fn add_costs(&mut self, entry: &Entry, costs: &mut CostTracker) {
        let notices: Vec<CostNotice> = match &entry.body {
            EntryBody::Message(message) => costs.on_message(message),
            EntryBody::Compaction(compaction) => {
                let tokens_before = compaction.tokens_before;
                let summarized = Summarized::Compaction { tokens_before };
                let notice = costs.on_summary(summarized, compaction.usage.as_ref());
                notice.into_iter().collect()
            }
            EntryBody::BranchSummary(branch) => {
                let notice = costs.on_summary(Summarized::Branch, branch.usage.as_ref());
                notice.into_iter().collect()
            }
            EntryBody::Usage(usage) => costs.on_cache_warm(entry, usage).into_iter().collect(),
            _ => {
                costs.on_entry(entry);
                return;
            }
        };
        for notice in notices {
            self.add(CostBlock::new(notice));
        }
    }

    pub(super) fn new(ui: &UiTheme, bridge: &ExtensionUiBridge) -> Self {
        Self {
            ui: ui.clone(),
            bridge: bridge.clone(),
            blocks: Vec::new(),
            open: HashMap::new(),
            rows: Vec::new(),
            stored: None,
        }
    }

    fn transform(&self) -> Option<TextTransform> {
        extension_rendering::for_texts(&self.bridge, self.stored.as_ref())
    }

    pub(super) fn add_entry(&mut self, entry: &Entry) {
        match &entry.body {
            EntryBody::Message(message) => {
                self.stored = Some(StoredEntry {
                    id: entry.id.to_string(),
                    timestamp: entry.timestamp.clone(),
                });
                self.add_message(message);
                self.stored = None;
            }
            EntryBody::Compaction(compaction) => {
                let tokens_before = compaction.tokens_before;
                let summarized = Summarized::Compaction { tokens_before };
                self.add(SummaryBlock::new(summarized, &compaction.summary));
            }
            EntryBody::BranchSummary(branch) if !branch.summary.is_empty() => {
                self.add(SummaryBlock::new(Summarized::Branch, &branch.summary));
            }
            EntryBody::CustomMessage(custom) if custom.display => {
                let renderer = extension_rendering::for_message_entry(&self.bridge, entry, custom);
                let block = CustomBlock::new(&custom.custom_type, &custom.content);
                self.add(block.rendered_by(renderer));
            }
            EntryBody::Custom(custom) => {
                if let Some(renderer) = extension_rendering::for_entry(&self.bridge, entry, custom)
                {
                    self.add(CustomBlock::drawn(renderer));
                }
            }
            _ => {}
        }
    }

    pub(super) fn add_message(&mut self, message: &AgentMessage) {
        match message {
            AgentMessage::User(user) => self.add_user(&user.content),
            AgentMessage::Assistant(answer) => self.add_answer(answer),
            AgentMessage::ToolResult(result) => {
                let call = self.open.remove(&result.tool_call_id);
                if let Some(HistoryBlock::Call(call)) =
                    call.and_then(|index| self.blocks.get_mut(index))
                {
                    call.end(&result.content, result.details.as_ref(), result.is_error);
                    call.set_duration(result.duration_ms);
                }
            }
            AgentMessage::BashExecution(bash) => self.add(BashExecutionBlock::of(bash)),
            AgentMessage::Custom(custom) if custom.display => {
                let renderer =
                    extension_rendering::for_message(&self.bridge, &custom.custom_type, message);
                let block = CustomBlock::new(&custom.custom_type, &custom.content);
                self.add(block.rendered_by(renderer));
            }
            AgentMessage::BranchSummary(branch) => {
                self.add(SummaryBlock::new(Summarized::Branch, &branch.summary));
            }
            AgentMessage::CompactionSummary(compaction) => {
                let tokens_before = compaction.tokens_before;
                let summarized = Summarized::Compaction { tokens_before };
                self.add(SummaryBlock::new(summarized, &compaction.summary));
            }
            _ => {}
        }
    }

    fn add_user(&mut self, content: &pi_protocol::MessageContent) {
        let text = content.joined_text();
        let Some(call) = SkillCall::parse(&text) else {
            if let Some(block) = UserBlock::new(content) {
                self.add(block.transformed_by(self.transform()));
            }
            return;
        };
        self.add(SkillBlock::new(&call));
        if let Some(block) = UserBlock::of_text(call.message) {
            self.add(block.transformed_by(self.transform()));
        }
    }

    fn add_answer(&mut self, answer: &AssistantMessage) {
        let block = AssistantMessageBlock::of(answer);
        if !block.is_blank() {
            self.add(block.transformed_by(self.transform()));
        }
        let cancel_reason = ended_early(answer);
        for call in answer.tool_calls() {
            let renderer = extension_rendering::for_call(&self.bridge, &call.name, &call.id);
            let row = renderer.as_ref().map(CallRenderer::id);
            self.rows.extend(row.map(|row| (row, self.blocks.len())));
            let mut block = ToolCallBlock::new(&call.name, &call.arguments).rendered_by(renderer);
            match &cancel_reason {
                Some(why) => block.cancel(why),
                None => {
                    self.open.insert(call.id.clone(), self.blocks.len());
                }
            }
            block.set_follows_call(matches!(self.blocks.last(), Some(HistoryBlock::Call(_))));
            self.blocks.push(HistoryBlock::Call(block));
        }
    }

    fn add(&mut self, block: impl TranscriptBlock) {
        let row = block.row();
        self.rows.extend(row.map(|row| (row, self.blocks.len())));
        let view = BlockView::new(block, self.ui.clone());
        self.blocks.push(HistoryBlock::Other(Box::new(view)));
    }

    /// Fails the calls without a result, because whatever ran them is gone.
    pub(super) fn fail_open_calls(&mut self) {
        for (_, index) in self.open.drain() {
            if let Some(HistoryBlock::Call(call)) = self.blocks.get_mut(index) {
                call.end(&[InputBlock::text("No result recorded.")], None, true);
            }
        }
    }

    pub(super) fn finish(self) -> HistoryBlocks {
        let ui = self.ui;
        let components = self
            .blocks
            .into_iter()
            .map(|made| match made {
                HistoryBlock::Call(call) => Box::new(BlockView::new(call, ui.clone())),
                HistoryBlock::Other(component) => component,
            })
            .collect();
        HistoryBlocks {
            components,
            open: self.open,
            rows: self.rows,
        }
    }
}
