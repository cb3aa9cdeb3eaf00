//! The session tree: search, navigate, label and copy entries.
//!
//! Entries are read when they are shown or searched, through a function the application provides.

use std::collections::HashSet;
use std::sync::Arc;

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

mod entry_summary;
mod input;
mod label_time;
mod outline;
mod view;

use entry_summary::{EntrySummary, call_of, copy_text, summary_of};
use outline::Outline;

/// How far above a tool result its call is searched for.
const CALL_DISTANCE: usize = 64;
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
    tree: SessionTree,
    read: ReadEntry,
    leaf: Option<usize>,
    /// All entries in tree order, and those on the path to the leaf.
    order: Vec<usize>,
    active: HashSet<usize>,
    summaries: Vec<Option<Box<EntrySummary>>>,
    filter: TreeFilterMode,
    query: String,
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
}

impl TreeDialog {
    pub(crate) fn open(ui: UiTheme, options: TreeDialogOptions) -> DialogFrame<Self> {
        let position = |id: &EntryId| options.tree.nodes.iter().position(|node| node.id == *id);
        let leaf = options.leaf.as_ref().and_then(position);
        let selected = options.selected.as_ref().and_then(position).or(leaf);
        let (order, active) = outline::ordered(&options.tree, leaf);
        let mut body = Self {
            ui: ui.clone(),
            summaries: vec![None; options.tree.nodes.len()],
            tree: options.tree,
            read: options.read,
            leaf,
            order,
            active,
            filter: options.filter,
            query: String::new(),
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
        };
        body.rebuild_outline();
        DialogFrame::new(ui, body)
    }

    /// Applies filter, search and folds; keeps the selection on its entry or the nearest visible ancestor.
    fn rebuild_outline(&mut self) {
        let words: Vec<String> = self
            .query
            .split_whitespace()
            .map(str::to_lowercase)
            .collect();
        let order = std::mem::take(&mut self.order);
        let folded = std::mem::take(&mut self.folded);
        let mut shown = vec![false; self.tree.nodes.len()];
        for node in &order {
            if let Some(shown) = shown.get_mut(*node) {
                *shown = self.shows(*node, &words);
            }
        }
        self.outline = Outline::new(&self.tree, &order, &folded, |node| {
            shown.get(node).copied().unwrap_or(false)
        });
        (self.order, self.folded) = (order, folded);
        self.picker.set_count(self.outline.len());
        let position = self
            .selected
            .and_then(|node| self.outline.nearest(&self.tree, node));
        self.picker.select(position.unwrap_or(usize::MAX));
    }

    fn shows(&mut self, node: usize, words: &[String]) -> bool {
        let Some(entry) = self.tree.nodes.get(node) else {
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
        if !passes {
            return false;
        }
        // The current entry is always shown.
        if kind == EntryKind::Message(MessageRole::Assistant)
            && self.leaf != Some(node)
            && self.summary_of(node).only_calls_tools
        {
            return false;
        }
        words.is_empty() || {
            let label = self.label(node).map(|label| label.text.to_lowercase());
            let text = format!(
                "{} {}",
                label.unwrap_or_default(),
                self.summary_of(node).search_text()
            );
            words.iter().all(|word| text.contains(word.as_str()))
        }
    }

    fn label(&self, node: usize) -> Option<&NodeLabel> {
        self.tree.nodes.get(node)?.label.as_ref()
    }

    fn entry(&self, node: usize) -> Option<Arc<Entry>> {
        (self.read)(&self.tree.nodes.get(node)?.id)
    }

    fn summary_of(&mut self, node: usize) -> &EntrySummary {
        let known = self.summaries.get(node).is_some_and(Option::is_some);
        if !known && let Some(entry) = self.entry(node) {
            let summary = summary_of(&entry, |id| self.call(node, id));
            if let Some(slot) = self.summaries.get_mut(node) {
                *slot = Some(Box::new(summary));
            }
        }
        let known = self.summaries.get(node).and_then(Option::as_deref);
        known.unwrap_or(&entry_summary::UNREADABLE)
    }

    /// Finds the tool call of a result, a few entries above it.
    fn call(&self, node: usize, id: &str) -> Option<pi_protocol::ToolCall> {
        let mut next = self.tree.nodes.get(node)?.parent;
        for _ in 0..CALL_DISTANCE {
            let above = next?;
            let node = self.tree.nodes.get(above)?;
            if node.kind == EntryKind::Message(MessageRole::Assistant)
                && let Some(call) = self.entry(above).and_then(|entry| call_of(&entry, id))
            {
                return Some(call);
            }
            next = node.parent;
        }
        None
    }

    fn remember_selection(&mut self) {
        if let Some(row) = self.outline.get(self.picker.selected()) {
            self.selected = Some(row.node);
        }
    }

    fn search_for(&mut self, query: String) {
        self.query = query;
        self.folded.clear();
        self.rebuild_outline();
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
        let text = self.selected.and_then(|node| self.entry(node));
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
            let mut field = prefilled(self.label(node).map_or("", |label| label.text.as_str()));
            field.set_focused(true);
            self.mode = TreeMode::Labeling { node, field };
        }
    }

    fn set_label(&mut self, node: usize, name: &str, sink: &mut IntentSink) {
        let label = one_line(name);
        let label = (!label.is_empty()).then_some(label);
        let Some(entry) = self.tree.nodes.get_mut(node) else {
            return;
        };
        let now = jiff::Timestamp::from_millisecond(self.now_ms).unwrap_or_default();
        entry.label = label.clone().map(|text| NodeLabel {
            text,
            timestamp: now.to_string(),
        });
        let entry = entry.id.clone();
        sink.send(Intent::SetLabel { entry, label });
        self.rebuild_outline();
    }

    fn choose(&mut self, sink: &mut IntentSink) {
        let Some(node) = self.selected.filter(|_| self.outline.len() > 0) else {
            return;
        };
        if self.summary == SummaryQuestion::Skip || self.leaf == Some(node) {
            self.navigate(node, Summarize::No, sink);
        } else {
            self.mode = TreeMode::Summary {
                node,
                question: summary_question(),
            };
        }
    }

    fn navigate(&self, node: usize, summarize: Summarize, sink: &mut IntentSink) {
        if let Some(entry) = self.tree.nodes.get(node) {
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
