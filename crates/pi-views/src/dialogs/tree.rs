//! The session tree: search, navigate, label and copy entries.
//!
//! Entries are read when they are shown or searched, through a function the application provides. Each row has columns
//! with what it changed, took and cost; those of a prompt are the totals of its turn.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Instant;

use jiff::tz::TimeZone;
use pi_protocol::settings::TreeFilterMode;
use pi_protocol::{Entry, EntryId, EntryKind, MessageRole, NodeLabel, SessionTree};
use pi_tui::{ColorToken, Component, Input};

use super::field::prefilled;
use super::frame::{DialogBody, DialogFrame};
use super::intent_sink::IntentSink;
use super::picker::{EdgeBehavior, Picker, PickerEvent};
use super::plain_text::one_line;
use super::question::{QuestionDialog, QuestionOptions};
use super::text_editor::EditorDialog;
use crate::dialogs::intent::{Intent, QuestionAnswer, Summarize};
use crate::theme::ui_theme::UiTheme;

mod entries;
mod entry_summary;
mod input;
mod label_time;
mod node_facts;
mod outline;
mod preview;
mod search_scan;
mod turn_totals;
mod view;

use entries::TreeEntries;
use entry_summary::copy_text;
use outline::Outline;
use search_scan::SearchScan;

/// Sessions with fewer entries are searched while a key is handled.
const SEARCHED_AT_ONCE: usize = 2_000;
/// Rows above and below the selection whose responses must have been read.
const KNOWN_ROWS: usize = 100;
/// Rows above and below the selection whose responses are read if one of them must be.
const READ_ROWS: usize = 400;
/// How often rows are read and hidden while a key is handled, and in each step afterwards.
const PASSES_PER_STEP: usize = 2;
const FILTERS: [TreeFilterMode; 5] = [
    TreeFilterMode::Default,
    TreeFilterMode::NoTools,
    TreeFilterMode::UserOnly,
    TreeFilterMode::LabeledOnly,
    TreeFilterMode::All,
];

pub type ReadEntry = Box<dyn Fn(&EntryId) -> Option<Arc<Entry>> + Send>;

/// Whether leaving a branch asks about a summary.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SummaryQuestion {
    #[default]
    Ask,
    /// Never summarize.
    Skip,
    /// Ask about leaving for the selected entry, before anything else.
    Now,
}

pub struct TreeDialogOptions {
    pub tree: SessionTree,
    /// The session's current entry.
    pub leaf: Option<EntryId>,
    /// The selected entry; defaults to the current one.
    pub selected: Option<EntryId>,
    pub filter: TreeFilterMode,
    pub summary: SummaryQuestion,
    pub read: ReadEntry,
    /// Current time, for the age of labels.
    pub now_ms: i64,
    pub zone: TimeZone,
}

enum TreeMode {
    Choosing,
    Labeling {
        node: usize,
        field: Input,
    },
    Summary {
        node: usize,
        question: QuestionDialog,
    },
    Instructions {
        node: usize,
        editor: EditorDialog,
    },
}

pub(crate) struct TreeDialog {
    ui: UiTheme,
    entries: TreeEntries,
    leaf: Option<usize>,
    /// All entries in tree order, and those on the path to the leaf.
    order: Vec<usize>,
    active: HashSet<usize>,
    filter: TreeFilterMode,
    query: String,
    /// `None` without a query.
    search: Option<SearchScan>,
    folded: HashSet<usize>,
    outline: Outline,
    picker: Picker,
    /// The selected entry, remembered while a filter hides it.
    selected: Option<usize>,
    show_label_times: bool,
    summary: SummaryQuestion,
    now_ms: i64,
    zone: TimeZone,
    mode: TreeMode,
    message: Option<(ColorToken, String)>,
    opened: Instant,
    /// Width of the list when last painted; what is to its right is no row.
    list_width: usize,
}

impl TreeDialog {
    pub(crate) fn open(ui: UiTheme, options: TreeDialogOptions) -> DialogFrame<Self> {
        let position = |id: &EntryId| options.tree.nodes.iter().position(|node| node.id == *id);
        let leaf = options.leaf.as_ref().and_then(position);
        let selected = options.selected.as_ref().and_then(position).or(leaf);
        let (order, active) = outline::ordered(&options.tree, leaf);
        let mut body = Self {
            ui: ui.clone(),
            entries: TreeEntries::new(options.tree, options.read),
            leaf,
            order,
            active,
            filter: options.filter,
            query: String::new(),
            search: None,
            folded: HashSet::new(),
            outline: Outline::default(),
            picker: Picker::new(0, EdgeBehavior::Wrap),
            selected,
            show_label_times: false,
            summary: options.summary,
            now_ms: options.now_ms,
            zone: options.zone,
            mode: TreeMode::Choosing,
            message: None,
            opened: Instant::now(),
            list_width: usize::MAX,
        };
        body.rebuild_outline();
        if body.summary == SummaryQuestion::Now {
            body.summary = SummaryQuestion::Ask;
            body.ask_summary();
        }
        DialogFrame::new(ui, body)
    }

    /// Applies filter, search and folds; keeps the selection on its entry or the nearest visible ancestor.
    fn rebuild_outline(&mut self) {
        self.build_rows();
        self.settle();
    }

    fn build_rows(&mut self) {
        let mut shown = vec![false; self.entries.tree().nodes.len()];
        for node in &self.order {
            if let Some(shown) = shown.get_mut(*node) {
                *shown = self.shows(*node);
            }
        }
        self.outline = Outline::new(self.entries.tree(), &self.order, &self.folded, |node| {
            shown.get(node).copied().unwrap_or(false)
        });
        self.picker.set_count(self.outline.len());
        let position = self.selected.and_then(|node| self.outline.nearest(node));
        self.picker.select(position.unwrap_or(usize::MAX));
    }

    /// Hides the responses around the selection that only call tools. Those elsewhere in a long session have not been
    /// read. What takes longer is continued by the next tick.
    fn settle(&mut self) {
        self.outline.is_settled = (0..PASSES_PER_STEP).any(|_| !self.hide_tool_responses());
    }

    /// Reads and hides responses around the selection; returns whether there may be more.
    fn hide_tool_responses(&mut self) -> bool {
        if self.entries.has_read_responses() {
            return false;
        }
        let selected = self.picker.selected();
        let node = |row: usize| Some(self.outline.get(row)?.node);
        let mut near = selected.saturating_sub(KNOWN_ROWS)..selected + KNOWN_ROWS;
        if !near.any(|row| node(row).is_some_and(|node| self.entries.is_unread(node))) {
            return false;
        }
        // More than is needed now, because the rows of a long session take time to rebuild.
        let around = selected.saturating_sub(READ_ROWS)..selected + READ_ROWS;
        let hidden: HashSet<usize> = around
            .filter_map(node)
            .filter(|node| self.entries.only_calls_tools(*node) && self.leaf != Some(*node))
            .collect();
        if hidden.is_empty() {
            return false;
        }
        let is_shown = |row: &usize| {
            let node = self.outline.get(*row).map(|row| row.node);
            node.is_some_and(|node| !hidden.contains(&node))
        };
        let below = (selected..self.outline.len()).find(is_shown);
        let nearest = below.or_else(|| (0..selected).rev().find(is_shown));
        let hides_selection = self
            .outline
            .get(selected)
            .is_some_and(|row| hidden.contains(&row.node));
        if hides_selection && let Some(row) = nearest {
            self.selected = self.outline.get(row).map(|row| row.node);
        }
        self.build_rows();
        true
    }

    fn shows(&self, node: usize) -> bool {
        let Some(entry) = self.entries.node(node) else {
            return false;
        };
        let (kind, labeled) = (entry.kind, entry.label.is_some());
        let passes = match self.filter {
            TreeFilterMode::All => kind != EntryKind::Usage,
            TreeFilterMode::Default => is_conversation(kind),
            TreeFilterMode::NoTools => {
                is_conversation(kind) && kind != EntryKind::Message(MessageRole::ToolResult)
            }
            TreeFilterMode::UserOnly => kind == EntryKind::Message(MessageRole::User),
            TreeFilterMode::LabeledOnly => labeled,
        };
        // The current entry is always shown.
        let is_hidden = self.leaf != Some(node) && self.entries.is_known_to_only_call_tools(node);
        let matches = |search: &SearchScan| search.contains(node);
        passes && !is_hidden && self.search.as_ref().is_none_or(matches)
    }

    fn remember_selection(&mut self) {
        if let Some(row) = self.outline.get(self.picker.selected()) {
            self.selected = Some(row.node);
            self.settle();
        }
    }

    fn search_for(&mut self, query: String) {
        let previous = self.search.take();
        self.search = SearchScan::new(&query, self.order.len(), previous);
        self.query = query;
        self.folded.clear();
        self.continue_search();
        while self.order.len() <= SEARCHED_AT_ONCE && self.is_searching() {
            self.continue_search();
        }
        self.rebuild_outline();
    }

    fn is_searching(&self) -> bool {
        self.search.as_ref().is_some_and(|search| !search.is_done())
    }

    /// Searches the next entries; returns whether one of them matches.
    fn continue_search(&mut self) -> bool {
        match &mut self.search {
            Some(search) => search.step(&self.order, &mut self.entries),
            None => false,
        }
    }

    fn show(&mut self, filter: TreeFilterMode) {
        self.filter = filter;
        self.folded.clear();
        self.rebuild_outline();
    }

    /// Toggles between a filter and the default.
    fn toggle(&mut self, filter: TreeFilterMode) {
        let off = self.filter == filter;
        self.show(if off { TreeFilterMode::Default } else { filter });
    }

    fn cycle(&mut self, steps: usize) {
        let position = FILTERS.iter().position(|filter| *filter == self.filter);
        let next = (position.unwrap_or(0) + steps) % FILTERS.len();
        self.show(FILTERS.get(next).copied().unwrap_or_default());
    }

    fn fold_or_up(&mut self) {
        let row = self.picker.selected();
        let node = self.outline.get(row).map(|row| row.node);
        match node {
            Some(node) if self.outline.is_foldable(row) && !self.folded.contains(&node) => {
                self.folded.insert(node);
                self.rebuild_outline();
            }
            _ => self.picker.select(self.outline.branch_above(row)),
        }
    }

    fn unfold_or_down(&mut self) {
        let row = self.picker.selected();
        let node = self.outline.get(row).map(|row| row.node);
        match node {
            Some(node) if self.folded.remove(&node) => self.rebuild_outline(),
            _ => self.picker.select(self.outline.branch_below(row)),
        }
    }

    fn copy(&mut self, sink: &mut IntentSink) {
        let text = self.selected.and_then(|node| self.entries.read(node));
        match text.and_then(|entry| copy_text(&entry)) {
            Some(text) => {
                sink.send(Intent::CopyText(text));
                self.message = Some((ColorToken::Success, "Copied.".to_owned()));
            }
            None => {
                let text = "No text to copy.".to_owned();
                self.message = Some((ColorToken::Warning, text));
            }
        }
    }

    fn start_labeling(&mut self) {
        if let Some(node) = self.selected {
            let mut field = prefilled(
                self.entries
                    .label(node)
                    .map_or("", |label| label.text.as_str()),
            );
            field.set_focused(true);
            self.mode = TreeMode::Labeling { node, field };
        }
    }

    fn set_label(&mut self, node: usize, name: &str, sink: &mut IntentSink) {
        let label = one_line(name);
        let label = (!label.is_empty()).then_some(label);
        let Some(entry) = self.entries.node_mut(node) else {
            return;
        };
        let now = jiff::Timestamp::from_millisecond(self.now_ms).unwrap_or_default();
        entry.label = label.clone().map(|text| NodeLabel {
            text,
            timestamp: now.to_string(),
        });
        let entry = entry.id.clone();
        sink.send(Intent::SetLabel { entry, label });
        if self.query.is_empty() {
            self.rebuild_outline();
        } else {
            self.search = None;
            self.search_for(self.query.clone());
        }
    }

    fn choose(&mut self, sink: &mut IntentSink) {
        let Some(node) = self.selected.filter(|_| self.outline.len() > 0) else {
            return;
        };
        let is_skipped = self.summary == SummaryQuestion::Skip || self.leaf == Some(node);
        let summarize = if is_skipped {
            Summarize::Skip
        } else {
            Summarize::Ask
        };
        self.navigate(node, summarize, sink);
    }

    fn ask_summary(&mut self) {
        if let Some(node) = self.selected {
            self.mode = TreeMode::Summary {
                node,
                question: summary_question(),
            };
        }
    }

    fn navigate(&self, node: usize, summarize: Summarize, sink: &mut IntentSink) {
        if let Some(entry) = self.entries.node(node) {
            sink.finish(Intent::NavigateTree {
                target: entry.id.clone(),
                summarize,
            });
        }
    }

    fn on_pick(&mut self, picked: PickerEvent, sink: &mut IntentSink) {
        self.remember_selection();
        match picked {
            PickerEvent::Moved => {}
            PickerEvent::Confirmed => self.choose(sink),
            PickerEvent::Canceled if self.query.is_empty() => sink.close(),
            PickerEvent::Canceled => self.search_for(String::new()),
        }
    }

    /// Handles the answer to the summary question, or the entered instructions.
    fn handle_answers(&mut self, inner: &mut IntentSink, sink: &mut IntentSink) {
        for intent in inner.take() {
            let Intent::Answer(answer) = intent else {
                sink.send(intent);
                continue;
            };
            let mode = std::mem::replace(&mut self.mode, TreeMode::Choosing);
            match (mode, answer) {
                (TreeMode::Summary { node, .. }, QuestionAnswer::Chosen(0)) => {
                    self.navigate(node, Summarize::No, sink);
                }
                (TreeMode::Summary { node, .. }, QuestionAnswer::Chosen(1)) => {
                    self.navigate(node, Summarize::Plain, sink);
                }
                (TreeMode::Summary { node, .. }, QuestionAnswer::Chosen(_)) => {
                    let question = QuestionOptions {
                        title: "Instructions for the summary".to_owned(),
                        ..QuestionOptions::default()
                    };
                    let mut editor = EditorDialog::embedded(&self.ui, question, "");
                    editor.set_focused(true);
                    self.mode = TreeMode::Instructions { node, editor };
                }
                (TreeMode::Instructions { node, .. }, QuestionAnswer::Text(text)) => {
                    let summarize = if text.trim().is_empty() {
                        Summarize::Plain
                    } else {
                        Summarize::With(text)
                    };
                    self.navigate(node, summarize, sink);
                }
                (TreeMode::Instructions { node, .. }, _) => {
                    self.mode = TreeMode::Summary {
                        node,
                        question: summary_question(),
                    };
                }
                (TreeMode::Summary { .. } | TreeMode::Choosing | TreeMode::Labeling { .. }, _) => {}
            }
        }
    }
}

/// Returns whether an entry is part of the conversation rather than session metadata.
fn is_conversation(kind: EntryKind) -> bool {
    matches!(
        kind,
        EntryKind::Message(
            MessageRole::User
                | MessageRole::Assistant
                | MessageRole::ToolResult
                | MessageRole::BashExecution
                | MessageRole::Custom
        ) | EntryKind::Compaction
            | EntryKind::BranchSummary
            | EntryKind::CustomMessage
    )
}

fn summary_question() -> QuestionDialog {
    let question = QuestionOptions {
        title: "Summarize the current branch before leaving it?".to_owned(),
        details: Some("The summary is added to the context at the target entry.".to_owned()),
        ..QuestionOptions::default()
    };
    let choices = [
        "No summary",
        "Summarize",
        "Summarize with custom instructions",
    ];
    QuestionDialog::embedded(question, &choices.map(str::to_owned))
}

#[cfg(test)]
mod tests;
