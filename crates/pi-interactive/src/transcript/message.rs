//! Messages to the transcript.

use std::sync::Arc;
use std::time::Instant;

use pi_host::Models;
use pi_protocol::{EntryId, LiveMessage, SessionEvent};
use pi_tui::Document;

use super::{BashOutcome, Notice, Transcript};
use crate::app::command::AppCommand;
use crate::app::display_command::DisplayCommand;
use crate::blocks::LinksBlock;
use crate::session::history::SessionHistory;

/// A session to show.
pub(crate) struct TranscriptSource {
    pub(crate) history: Arc<dyn SessionHistory>,
    /// Whether nothing runs: tool calls without a result have been abandoned.
    pub(crate) is_idle: bool,
    /// Knows the prices.
    pub(crate) models: Models,
    /// The message that is being streamed.
    pub(crate) live: Option<LiveMessage>,
    /// An entry to show with those after it, before the recent part.
    pub(crate) first: Option<EntryId>,
}

impl std::fmt::Debug for TranscriptSource {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("TranscriptSource")
    }
}

#[derive(Debug)]
pub(crate) enum TranscriptMsg {
    Notice(Notice),
    Notices(Vec<Notice>),
    Event(Box<SessionEvent>),
    /// A shell command of the user.
    BashStarted {
        command: String,
        excluded: bool,
    },
    BashOutput(String),
    BashEnded(BashOutcome),
    /// Addresses with their labels.
    Links(Vec<(&'static str, String)>),
    /// Expands or collapses all blocks.
    SetExpanded(bool),
    ToggleExpanded,
    Show(TranscriptSource),
}

impl Transcript {
    /// Updates the blocks in the document.
    pub(crate) fn update(
        &mut self,
        message: TranscriptMsg,
        document: &mut Document,
        now: Instant,
    ) -> Vec<AppCommand> {
        match message {
            TranscriptMsg::Notice(notice) => self.add_notice(document, &notice),
            TranscriptMsg::Notices(notices) => {
                for notice in &notices {
                    self.add_notice(document, notice);
                }
            }
            TranscriptMsg::Event(event) => self.on_event(document, &event, now),
            TranscriptMsg::BashStarted { command, excluded } => {
                self.begin_bash(document, &command, excluded);
            }
            TranscriptMsg::BashOutput(delta) => self.append_bash_output(document, &delta),
            TranscriptMsg::BashEnded(outcome) => self.finish_bash(document, &outcome),
            TranscriptMsg::Links(links) => {
                self.push(document, LinksBlock::new(links));
            }
            TranscriptMsg::SetExpanded(expanded) => {
                self.set_expanded(document, expanded);
                return vec![AppCommand::Display(DisplayCommand::PublishExpanded(
                    expanded,
                ))];
            }
            TranscriptMsg::ToggleExpanded => {
                let expanded = !self.is_expanded();
                self.set_expanded(document, expanded);
                let status = if expanded {
                    // On the main screen, rows that have left the screen stay as they are.
                    let key = self.ui.context().key(pi_tui::action::EDITOR_PAGE_UP);
                    format!("Tool output expanded · {key} to scroll")
                } else {
                    "Tool output collapsed".to_owned()
                };
                return vec![
                    AppCommand::Display(DisplayCommand::PublishExpanded(expanded)),
                    AppCommand::status(status),
                ];
            }
            TranscriptMsg::Show(source) => self.show(document, &source),
        }
        Vec::new()
    }
}
