//! A shell command of the user, while it runs and afterwards.

use std::time::{Duration, Instant};

use pi_ai::BashExecutionMessage;
use pi_tui::{ColorToken, Line, Lines, MouseEvent, MouseOutcome, Sanitizer};

use super::page::{Page, clean, is_click, without_tabs};
use crate::block::Block;
use crate::keys;
use crate::look::Appearance;
use crate::transcript::BashEnd;
use crate::working::{FRAMES, INTERVAL};

/// Rows of output in the short form.
const SHOWN: usize = 20;
/// How much of the output of a running command is kept to be shown.
const KEPT_BYTES: usize = 64 * 1024;

/// A command and what it printed.
#[derive(Debug)]
pub(crate) struct BashExecutionBlock {
    command: String,
    /// Whether the model does not see it.
    excluded: bool,
    output: String,
    /// Whether the beginning of the output is not kept here.
    beginning_dropped: bool,
    sanitizer: Sanitizer,
    end: Option<BashEnd>,
    began: Option<Instant>,
    now: Option<Instant>,
    expanded: bool,
    generation: u64,
}

impl BashExecutionBlock {
    /// Begins with a command that runs.
    pub(crate) fn running(command: &str, excluded: bool, now: Instant) -> Self {
        Self {
            began: Some(now),
            now: Some(now),
            ..Self::with(command, excluded)
        }
    }

    /// Makes a block of a command that has ended.
    pub(crate) fn of(message: &BashExecutionMessage) -> Self {
        Self {
            output: clean(&message.output).into_owned(),
            end: Some(BashEnd {
                exit_code: message.exit_code,
                cancelled: message.cancelled,
                truncated: message.truncated,
                full_output_path: message.full_output_path.clone(),
                error: None,
            }),
            ..Self::with(
                &message.command,
                message.exclude_from_context.unwrap_or_default(),
            )
        }
    }

    fn with(command: &str, excluded: bool) -> Self {
        Self {
            command: clean(command).into_owned(),
            excluded,
            output: String::new(),
            beginning_dropped: false,
            sanitizer: Sanitizer::new(),
            end: None,
            began: None,
            now: None,
            expanded: false,
            generation: 0,
        }
    }

    /// The command printed something.
    pub(crate) fn print(&mut self, piece: &str) {
        let start = self.output.len();
        self.sanitizer.push(piece, &mut self.output);
        if self
            .output
            .get(start..)
            .is_some_and(|new| new.contains('\t'))
        {
            let new = self.output.split_off(start);
            self.output.push_str(&without_tabs(&new));
        }
        if self.output.len() > 2 * KEPT_BYTES {
            self.drop_beginning();
        }
        self.generation += 1;
    }

    fn drop_beginning(&mut self) {
        let mut cut = self.output.len().saturating_sub(KEPT_BYTES);
        cut = self.output.ceil_char_boundary(cut);
        let line_end = self.output.get(cut..).and_then(|rest| rest.find('\n'));
        cut += line_end.map_or(0, |end| end + 1);
        self.output.drain(..cut);
        self.beginning_dropped = true;
    }

    /// The command is over.
    pub(crate) fn finish(&mut self, end: &BashEnd) {
        self.end = Some(end.clone());
        self.generation += 1;
    }

    fn color(&self) -> ColorToken {
        if self.excluded {
            ColorToken::Dim
        } else {
            ColorToken::BashMode
        }
    }

    fn draw_state(&self, page: &mut Page<'_>) {
        let Some(end) = &self.end else {
            let elapsed = match (self.began, self.now) {
                (Some(began), Some(now)) => now.saturating_duration_since(began),
                _ => Duration::ZERO,
            };
            let frame = (elapsed.as_millis() / INTERVAL.as_millis()) as usize % FRAMES.len();
            let picture = FRAMES.get(frame).copied().unwrap_or_default();
            let stop = page.appearance.key(keys::INTERRUPT);
            page.blank();
            page.styled(&format!(
                "{} {}",
                page.appearance.paint(self.color(), picture),
                page.appearance
                    .paint(ColorToken::Muted, &format!("Running… ({stop} to stop)"))
            ));
            return;
        };
        let mut remarks: Vec<(ColorToken, String)> = Vec::new();
        match end {
            BashEnd {
                error: Some(error), ..
            } => remarks.push((ColorToken::Error, format!("({error})"))),
            BashEnd {
                cancelled: true, ..
            } => remarks.push((ColorToken::Warning, "(stopped)".to_owned())),
            BashEnd {
                exit_code: Some(code),
                ..
            } if *code != 0 => remarks.push((ColorToken::Error, format!("(exit {code})"))),
            _ => {}
        }
        if (end.truncated || self.beginning_dropped)
            && let Some(full) = &end.full_output_path
        {
            let remark = format!("Only the end is kept. All of it: {full}");
            remarks.push((ColorToken::Warning, remark));
        }
        if !remarks.is_empty() {
            page.blank();
        }
        for (token, remark) in remarks {
            page.foreign(token, &remark);
        }
    }
}

impl Block for BashExecutionBlock {
    fn lines(&mut self, width: usize, appearance: &Appearance) -> Lines {
        let mut page = Page::new(width, 1, appearance).expanded(self.expanded);
        let style = appearance.style(self.color());
        page.styled(&style.bold().apply(&format!("$ {}", self.command)));
        let output = self.output.trim_matches('\n').trim_end();
        if !output.is_empty() {
            page.blank();
            page.end(ColorToken::Muted, output, SHOWN);
        }
        self.draw_state(&mut page);
        let border = Line::from(style.apply(&"─".repeat(width)));
        let mut lines = page.plain();
        lines.insert(1.min(lines.len()), border.clone());
        lines.push(border);
        lines.into()
    }

    fn generation(&self) -> u64 {
        self.generation
    }

    fn set_expanded(&mut self, expanded: bool) {
        if self.expanded != expanded {
            self.expanded = expanded;
            self.generation += 1;
        }
    }

    fn is_finished(&self) -> bool {
        self.end.is_some()
    }

    fn next_tick(&self) -> Option<Instant> {
        self.now
            .filter(|_| self.end.is_none())
            .map(|now| now + INTERVAL)
    }

    fn tick(&mut self, now: Instant) {
        if self.next_tick().is_some_and(|tick| tick <= now) {
            self.now = Some(now);
            self.generation += 1;
        }
    }

    fn mouse(&mut self, event: &MouseEvent) -> MouseOutcome {
        if !is_click(event) {
            return MouseOutcome::default();
        }
        self.set_expanded(!self.expanded);
        MouseOutcome::handled()
    }
}
