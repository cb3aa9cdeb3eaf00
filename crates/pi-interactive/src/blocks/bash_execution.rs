//! A user's shell command, while it runs and afterwards.

use std::time::{Duration, Instant};

use pi_protocol::BashExecutionMessage;
use pi_tui::{ColorToken, Line, Lines, MouseEvent, MouseOutcome, Sanitizer};
use pi_views::keys;
use pi_views::theme::ui_theme::RenderContext;

use crate::blocks::block::TranscriptBlock;
use crate::transcript::BashOutcome;
use pi_views::canvas::{BlockCanvas, clean, is_click, without_tabs};
use pi_views::working_indicator::{FRAMES, INTERVAL};

/// Rows of output in the collapsed form.
const COLLAPSED_LINES: usize = 20;
/// Maximum bytes of output kept for display while a command runs.
const KEPT_BYTES: usize = 64 * 1024;

#[derive(Debug)]
pub(crate) struct BashExecutionBlock {
    command: String,
    /// Whether it is excluded from the model's context.
    excluded: bool,
    output: String,
    /// Whether the start of the output was dropped here.
    beginning_dropped: bool,
    sanitizer: Sanitizer,
    outcome: Option<BashOutcome>,
    started: Option<Instant>,
    now: Option<Instant>,
    expanded: bool,
    generation: u64,
}

impl BashExecutionBlock {
    pub(crate) fn running(command: &str, excluded: bool, now: Instant) -> Self {
        Self {
            started: Some(now),
            now: Some(now),
            ..Self::with(command, excluded)
        }
    }

    /// Creates a block for a finished command.
    pub(crate) fn of(message: &BashExecutionMessage) -> Self {
        Self {
            output: clean(&message.output).into_owned(),
            outcome: Some(BashOutcome {
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
            outcome: None,
            started: None,
            now: None,
            expanded: false,
            generation: 0,
        }
    }

    /// Appends output.
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

    pub(crate) fn finish(&mut self, outcome: &BashOutcome) {
        self.outcome = Some(outcome.clone());
        self.generation += 1;
    }

    fn color(&self) -> ColorToken {
        if self.excluded {
            ColorToken::Dim
        } else {
            ColorToken::BashMode
        }
    }

    fn draw_state(&self, canvas: &mut BlockCanvas<'_>) {
        let Some(outcome) = &self.outcome else {
            let elapsed = match (self.started, self.now) {
                (Some(started), Some(now)) => now.saturating_duration_since(started),
                _ => Duration::ZERO,
            };
            let frame = (elapsed.as_millis() / INTERVAL.as_millis()) as usize % FRAMES.len();
            let spinner = FRAMES.get(frame).copied().unwrap_or_default();
            let stop = canvas.ctx.key(keys::INTERRUPT);
            canvas.blank();
            canvas.styled(&format!(
                "{} {}",
                canvas.ctx.paint(self.color(), spinner),
                canvas
                    .ctx
                    .paint(ColorToken::Muted, &format!("Running… ({stop} to stop)"))
            ));
            return;
        };
        let mut notes: Vec<(ColorToken, String)> = Vec::new();
        match outcome {
            BashOutcome {
                error: Some(error), ..
            } => notes.push((ColorToken::Error, format!("({error})"))),
            BashOutcome {
                cancelled: true, ..
            } => notes.push((ColorToken::Warning, "(stopped)".to_owned())),
            BashOutcome {
                exit_code: Some(code),
                ..
            } if *code != 0 => notes.push((ColorToken::Error, format!("(exit {code})"))),
            _ => {}
        }
        if (outcome.truncated || self.beginning_dropped)
            && let Some(full) = &outcome.full_output_path
        {
            let note = format!("Output truncated. Full output: {full}");
            notes.push((ColorToken::Warning, note));
        }
        if !notes.is_empty() {
            canvas.blank();
        }
        for (token, note) in notes {
            canvas.untrusted(token, &note);
        }
    }
}

impl TranscriptBlock for BashExecutionBlock {
    fn lines(&mut self, width: usize, ctx: &RenderContext) -> Lines {
        let mut canvas = BlockCanvas::new(width, ctx.output_padding, ctx).expanded(self.expanded);
        let style = ctx.style(self.color());
        canvas.styled(&style.bold().apply(&format!("$ {}", self.command)));
        let output = self.output.trim_matches('\n').trim_end();
        if !output.is_empty() {
            canvas.blank();
            canvas.tail(ColorToken::Muted, output, COLLAPSED_LINES);
        }
        self.draw_state(&mut canvas);
        let border = Line::from(style.apply(&"─".repeat(width)));
        let mut lines = canvas.plain();
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
        self.outcome.is_some()
    }

    fn next_tick(&self) -> Option<Instant> {
        self.now
            .filter(|_| self.outcome.is_none())
            .map(|now| now + INTERVAL)
    }

    fn tick(&mut self, now: Instant) {
        if self.next_tick().is_some_and(|tick| tick <= now) {
            self.now = Some(now);
            self.generation += 1;
        }
    }

    fn links_files(&self) -> bool {
        true
    }

    fn mouse(&mut self, event: &MouseEvent) -> MouseOutcome {
        if !is_click(event) {
            return MouseOutcome::default();
        }
        self.set_expanded(!self.expanded);
        MouseOutcome::handled()
    }
}
