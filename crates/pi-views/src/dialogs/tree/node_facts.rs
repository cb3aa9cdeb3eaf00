//! The columns of a row: changed files, duration and cost.

use std::time::Duration;

use pi_protocol::{AgentMessage, Entry, EntryBody, ToolCall};
use pi_tui::{ColorToken, pad_to_width, visible_width};

use super::turn_totals::TurnTotals;
use crate::dialogs::canvas::DialogCanvas;
use crate::file_change::{FileCall, FileChange};
use crate::run_tally::{short_cost, short_time};
use crate::text::thousands::group_thousands;

/// Width of the list from which on changed lines are shown next to the number of files.
const WIDE: usize = 90;
/// Width of the list from which on there are columns.
const NARROW: usize = 56;
const TIME_WIDTH: usize = 6;
const COST_WIDTH: usize = 8;
/// Width of the first column in a narrow and in a wide list.
const CHANGES_WIDTHS: (usize, usize) = (9, 21);

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct NodeFacts {
    /// In US dollars.
    pub(super) cost: f64,
    pub(super) duration: Duration,
    pub(super) change: Option<FileChange>,
    /// Of a prompt.
    pub(super) turn: Option<Box<TurnTotals>>,
}

impl NodeFacts {
    /// Returns the facts of an entry that is no prompt; `call` finds the tool call of a result.
    pub(super) fn of(entry: &Entry, call: impl FnOnce(&str) -> Option<ToolCall>) -> Self {
        match &entry.body {
            EntryBody::Message(AgentMessage::Assistant(response)) => Self {
                cost: response.usage.cost.total,
                ..Self::default()
            },
            EntryBody::Message(AgentMessage::ToolResult(result)) => {
                let changes = matches!(result.tool_name.as_str(), "write" | "edit");
                let call = (changes && !result.is_error)
                    .then(|| call(&result.tool_call_id))
                    .flatten();
                let call = call.and_then(|call| FileCall::new(&call.name, &call.arguments));
                Self {
                    cost: result.usage.as_ref().map_or(0.0, |usage| usage.cost.total),
                    duration: Duration::from_millis(result.duration_ms.unwrap_or(0)),
                    change: call.map(|call| call.change(result.details.as_ref())),
                    turn: None,
                }
            }
            EntryBody::Usage(usage) => Self {
                cost: usage.usage.cost.total,
                ..Self::default()
            },
            _ => Self::default(),
        }
    }

    pub(super) fn of_turn(totals: TurnTotals) -> Self {
        Self {
            cost: totals.cost,
            duration: totals.duration,
            change: None,
            turn: Some(Box::new(totals)),
        }
    }

    /// Returns duration and cost as text.
    pub(super) fn time_and_cost(&self) -> [Option<String>; 2] {
        let time = (self.duration >= Duration::from_secs(1)).then(|| short_time(self.duration));
        [time, short_cost(self.cost)]
    }

    fn changes(&self, is_wide: bool, canvas: &DialogCanvas) -> String {
        let files = self.turn.as_ref().map_or(0, |turn| turn.files.len());
        if files == 0 {
            let change = self.change.as_ref();
            return change.map_or_else(String::new, |change| {
                painted_lines((change.added, change.removed), canvas)
            });
        }
        let mut text = canvas.paint(ColorToken::Muted, &counted_files(files));
        if is_wide && let Some(turn) = &self.turn {
            text.push(' ');
            text.push_str(&painted_lines(turn.lines(), canvas));
        }
        text
    }

    /// Returns the columns of a row from the first one that has a value, to be aligned to the right; empty if there is
    /// nothing to show.
    pub(super) fn columns(&self, list_width: usize, canvas: &DialogCanvas) -> String {
        let Some(widths) = column_widths(list_width) else {
            return String::new();
        };
        let changes = self.changes(list_width >= WIDE, canvas);
        let [time, cost] = self.time_and_cost();
        if changes.is_empty() && time.is_none() && cost.is_none() {
            return String::new();
        }
        let muted = |text: Option<String>| {
            text.map_or_else(String::new, |text| canvas.paint(ColorToken::Muted, &text))
        };
        let columns = aligned(&[changes, muted(time), muted(cost)], widths);
        columns.trim_start().to_owned()
    }
}

/// Returns the headings of the columns; empty if there is no room for columns.
pub(super) fn column_titles(list_width: usize, canvas: &DialogCanvas) -> String {
    let Some(widths) = column_widths(list_width) else {
        return String::new();
    };
    let titles = ["changes", "time", "cost"];
    aligned(
        &titles.map(|title| canvas.paint(ColorToken::Muted, title)),
        widths,
    )
}

fn column_widths(list_width: usize) -> Option<[usize; 3]> {
    let changes = match list_width {
        0..NARROW => return None,
        NARROW..WIDE => CHANGES_WIDTHS.0,
        _ => CHANGES_WIDTHS.1,
    };
    Some([changes, TIME_WIDTH, COST_WIDTH])
}

/// Joins the cells of a row; one that is too wide moves those before it to the left.
fn aligned(cells: &[String; 3], widths: [usize; 3]) -> String {
    let mut line = String::new();
    let mut end = 0;
    for (cell, width) in cells.iter().zip(widths) {
        end += width;
        let start = end.saturating_sub(visible_width(cell));
        line = pad_to_width(
            &line,
            start.max(visible_width(&line) + usize::from(!line.is_empty())),
        );
        line.push_str(cell);
    }
    line
}

pub(super) fn counted_files(count: usize) -> String {
    match count {
        1 => "1 file".to_owned(),
        count => format!("{count} files"),
    }
}

/// Returns changed lines as `+3 −1`.
pub(super) fn painted_lines((added, removed): (usize, usize), canvas: &DialogCanvas) -> String {
    let parts = [
        (added, '+', ColorToken::ToolDiffAdded),
        (removed, '−', ColorToken::ToolDiffRemoved),
    ];
    let parts = parts.into_iter().filter(|(count, ..)| *count > 0);
    let parts: Vec<String> = parts
        .map(|(count, sign, token)| {
            canvas.paint(token, &format!("{sign}{}", group_thousands(count as u64)))
        })
        .collect();
    parts.join(" ")
}
