//! The working indicator: waiting, thinking, running tools, compacting, retrying.

use std::time::{Duration, Instant};

use pi_protocol::{AgentEvent, AgentMessage, AssistantMessageEvent, SessionEvent, StreamPhase};
use pi_tui::{
    ColorToken, Component, Lines, TruncateOptions, styled_line, truncate_to_width, visible_width,
};

/// Spinner frames.
pub const FRAMES: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
/// Time per spinner frame.
pub const INTERVAL: Duration = Duration::from_millis(80);
/// Waits longer than this show the elapsed seconds.
const SHOW_ELAPSED_AFTER: Duration = Duration::from_secs(3);
/// Minimum columns between the indicator and the numbers of the run.
const MIN_GAP: usize = 2;
/// A stream is reported as stalled after this long without an event.
const STALLED_AFTER: Duration = Duration::from_secs(10);

use crate::canvas::clean_line;
use crate::keys;
use crate::run_tally::RunTally;
use crate::theme::ui_theme::{RenderContext, UiTheme};

#[derive(Clone, Debug, Default, PartialEq)]
pub enum Activity {
    #[default]
    Idle,
    Working,
    Compacting {
        /// Whether it was started automatically.
        automatic: bool,
    },
    Summarizing,
    /// A failed request is retried after a delay.
    Retrying {
        /// Starts at 1.
        attempt: u32,
        max_attempts: u32,
        until: Instant,
    },
}

/// What a run is doing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum RunStep {
    #[default]
    Preparing,
    /// The request was sent; no response yet.
    Waiting,
    Thinking,
    Responding,
    /// The model is writing the arguments of this tool.
    Calling(String),
    /// Running tools: call ID and tool name.
    Running(Vec<(String, String)>),
}

#[derive(Debug)]
pub struct WorkingIndicator {
    ui: UiTheme,
    activity: Activity,
    step: RunStep,
    /// Phase of the current request, and since when.
    request: Option<(StreamPhase, Instant)>,
    /// Time of the last stream event, or of the request.
    last_event: Instant,
    since: Instant,
    now: Instant,
    overrides: WorkingOverrides,
    /// Whether the run waits for an answer of the user.
    blocked: bool,
    tally: RunTally,
    /// Share of the context window in use, in percent.
    context: Option<f64>,
    drawn: Option<DrawnRows>,
}

/// What was drawn last. The deltas of a response do not draw it again: numbers that change with each of them are unreadable.
#[derive(Debug)]
struct DrawnRows {
    width: usize,
    /// Generation of the theme.
    theme: u64,
    /// Intervals since the activity began.
    steps: u128,
    rows: Lines,
}

/// Overrides by extensions while the model works.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkingOverrides {
    pub message: Option<String>,
    pub hidden: bool,
    /// Spinner frames and the time per frame; an empty list shows none.
    pub indicator: Option<(Vec<String>, Duration)>,
}

impl WorkingIndicator {
    pub fn new(ui: UiTheme, now: Instant) -> Self {
        Self {
            ui,
            activity: Activity::Idle,
            step: RunStep::default(),
            request: None,
            last_event: now,
            since: now,
            now,
            overrides: WorkingOverrides::default(),
            blocked: false,
            tally: RunTally::default(),
            context: None,
            drawn: None,
        }
    }

    /// Sets whether the run waits for an answer of the user.
    pub fn set_blocked(&mut self, blocked: bool, now: Instant) {
        self.tally.set_waiting(blocked, now);
        self.blocked = blocked;
        self.drawn = None;
    }

    pub fn is_blocked(&self) -> bool {
        self.blocked
    }

    /// Sets the share of the context window in use, in percent.
    pub fn set_context(&mut self, percent: Option<f64>) {
        self.context = percent;
        self.drawn = None;
    }

    /// Forgets the last run, for another session.
    pub fn forget_run(&mut self) {
        self.tally.reset();
        self.drawn = None;
    }

    pub fn update_overrides(&mut self, change: impl FnOnce(&mut WorkingOverrides)) {
        change(&mut self.overrides);
        self.drawn = None;
    }

    pub fn set(&mut self, activity: Activity, now: Instant) {
        if std::mem::discriminant(&self.activity) != std::mem::discriminant(&activity) {
            self.since = now;
            self.last_event = now;
        }
        self.activity = activity;
        self.now = now;
        self.drawn = None;
    }

    /// Sets the phase of the current request; `None` between requests.
    pub fn set_phase(&mut self, phase: Option<StreamPhase>, now: Instant) {
        self.request = phase.map(|phase| (phase, now));
        self.now = now;
        self.drawn = None;
    }

    /// Tracks what a run is doing. Does not change the activity.
    pub fn follow(&mut self, event: &SessionEvent, now: Instant) {
        self.tally.follow(event, now);
        let SessionEvent::Agent(step) = event else {
            self.drawn = None;
            return;
        };
        self.now = now;
        if !matches!(step, AgentEvent::MessageUpdate { .. }) {
            self.drawn = None;
        }
        match step {
            AgentEvent::TurnStart => self.set_step(RunStep::Waiting, now),
            AgentEvent::MessageUpdate {
                assistant_message_event,
                ..
            } => {
                self.last_event = now;
                self.on_stream_event(assistant_message_event);
            }
            AgentEvent::MessageEnd { message }
                if matches!(**message, AgentMessage::Assistant(_)) =>
            {
                self.set_step(RunStep::Preparing, now);
            }
            AgentEvent::ToolExecutionStart {
                tool_call_id,
                tool_name,
                ..
            } => {
                let call = (tool_call_id.clone(), tool_name.clone());
                match &mut self.step {
                    RunStep::Running(calls) => calls.push(call),
                    _ => self.set_step(RunStep::Running(vec![call]), now),
                }
            }
            AgentEvent::ToolExecutionEnd { tool_call_id, .. } => {
                if let RunStep::Running(calls) = &mut self.step {
                    calls.retain(|(id, _)| id != tool_call_id);
                    if calls.is_empty() {
                        self.set_step(RunStep::Preparing, now);
                    }
                }
            }
            _ => {}
        }
    }

    fn on_stream_event(&mut self, event: &AssistantMessageEvent) {
        let step = match event {
            AssistantMessageEvent::ThinkingStart { .. }
            | AssistantMessageEvent::ThinkingDelta { .. } => RunStep::Thinking,
            AssistantMessageEvent::TextStart { .. } | AssistantMessageEvent::TextDelta { .. } => {
                RunStep::Responding
            }
            AssistantMessageEvent::ToolCallStart { tool_name, .. } => {
                RunStep::Calling(tool_name.clone())
            }
            _ => return,
        };
        if self.step != step {
            self.step = step;
            self.drawn = None;
        }
    }

    fn set_step(&mut self, step: RunStep, now: Instant) {
        self.step = step;
        self.last_event = now;
    }

    /// Returns when the spinner frame changes; `None` while idle.
    pub fn next_tick(&self) -> Option<Instant> {
        (self.activity != Activity::Idle).then(|| self.now + self.interval())
    }

    /// Returns the time per frame of the spinner.
    fn interval(&self) -> Duration {
        match &self.overrides.indicator {
            Some((_, interval)) if self.is_working() => *interval,
            _ => INTERVAL,
        }
    }

    /// Returns how many intervals have passed since the activity began.
    fn steps(&self, interval: Duration) -> u128 {
        let elapsed = self.now.saturating_duration_since(self.since);
        elapsed.as_millis() / interval.as_millis().max(1)
    }

    pub fn tick(&mut self, now: Instant) {
        self.now = now;
    }

    fn is_working(&self) -> bool {
        matches!(self.activity, Activity::Working)
    }

    /// Returns the current spinner frame.
    fn spinner_frame(&self) -> &str {
        let steps = self.steps(self.interval()) as usize;
        match &self.overrides.indicator {
            Some((frames, _)) if self.is_working() => {
                let frame = frames.get(steps % frames.len().max(1));
                frame.map_or("", String::as_str)
            }
            _ => FRAMES
                .get(steps % FRAMES.len())
                .copied()
                .unwrap_or_default(),
        }
    }

    fn text(&self) -> Option<String> {
        Some(match &self.activity {
            Activity::Idle => return None,
            Activity::Working if self.overrides.hidden => return None,
            Activity::Working if self.overrides.message.is_some() => {
                let message = self.overrides.message.as_deref().unwrap_or_default();
                styled_line(message).into_owned()
            }
            Activity::Working if self.blocked => "Waiting for your decision".to_owned(),
            Activity::Working => self.working_text(),
            Activity::Compacting { automatic: true } => "Auto-compacting…".to_owned(),
            Activity::Compacting { automatic: false } => "Compacting…".to_owned(),
            Activity::Summarizing => "Summarizing branch…".to_owned(),
            Activity::Retrying {
                attempt,
                max_attempts,
                until,
            } => {
                let left = until.saturating_duration_since(self.now);
                let left = left.as_secs_f64().ceil();
                format!("Retrying in {left:.0}s (attempt {attempt} of {max_attempts})")
            }
        })
    }

    /// Returns the text for a request without a response yet.
    fn waiting_text(&self) -> Option<String> {
        let (phase, since) = self.request?;
        let waited = self.now.saturating_duration_since(since);
        Some(match phase {
            StreamPhase::Preparing => with_elapsed("Preparing request…", waited),
            StreamPhase::Connecting => with_elapsed("Connecting…", waited),
            StreamPhase::Waiting => with_elapsed("Waiting for response…", waited),
            StreamPhase::Retrying { attempt, delay } => {
                let left = delay.saturating_sub(waited).as_secs_f64().ceil();
                format!("Provider busy: retrying in {left:.0}s (retry {attempt})")
            }
            _ => return None,
        })
    }

    fn working_text(&self) -> String {
        if let Some(text) = self.waiting_text() {
            return text;
        }
        let silence = self.now.saturating_duration_since(self.last_event);
        let is_streaming = matches!(
            self.step,
            RunStep::Thinking | RunStep::Responding | RunStep::Calling(_)
        );
        if is_streaming && silence >= STALLED_AFTER {
            return format!("No response for {}s", silence.as_secs());
        }
        match &self.step {
            RunStep::Preparing => "Working…".to_owned(),
            RunStep::Waiting => with_elapsed("Waiting for response…", silence),
            RunStep::Thinking => "Thinking…".to_owned(),
            RunStep::Responding => "Responding…".to_owned(),
            RunStep::Calling(tool) => format!("Preparing {}…", clean_line(tool)),
            RunStep::Running(calls) => match calls.as_slice() {
                [(_, tool)] => format!("Running {}…", clean_line(tool)),
                calls => format!("Running {} tools…", calls.len()),
            },
        }
    }
}

/// Appends the elapsed seconds once they are worth showing.
fn with_elapsed(text: &str, waited: Duration) -> String {
    if waited < SHOW_ELAPSED_AFTER {
        return text.to_owned();
    }
    format!("{text} {}s", waited.as_secs())
}

impl WorkingIndicator {
    fn draw(&self, width: usize, ctx: &RenderContext) -> Lines {
        let cut = TruncateOptions { ellipsis: "…" };
        let Some(text) = self.text() else {
            // An empty row separates the conversation from the prompt. The summary keeps the row of the indicator,
            // so that the prompt does not move when a run ends.
            let summary = self.tally.summary(self.context, ctx);
            let summary = summary.filter(|_| self.activity == Activity::Idle);
            let rows = std::iter::once(String::new()).chain(
                summary.map(|line| truncate_to_width(&format!(" {line}"), width, cut).into_owned()),
            );
            return rows.collect();
        };
        let frame = self.spinner_frame();
        let is_custom = self.overrides.indicator.is_some() && self.is_working();
        let token = match self.activity {
            Activity::Retrying { .. } => ColorToken::Warning,
            _ => ColorToken::Accent,
        };
        let frame = match frame {
            "" => String::new(),
            // Extensions color their own frames.
            frame if is_custom => format!("{} ", styled_line(frame)),
            frame => format!("{} ", ctx.paint(token, frame)),
        };
        // While the user is asked, the key answers the question.
        let hint = if self.blocked {
            String::new()
        } else {
            format!(" ({} to stop)", ctx.key(keys::INTERRUPT))
        };
        let text = ctx.paint(ColorToken::Muted, &format!("{text}{hint}"));
        let mut line = format!(" {frame}{text}");
        let numbers = self.tally.live(self.now, ctx).filter(|_| self.is_working());
        if let Some(numbers) = numbers {
            let used = visible_width(&line) + visible_width(&numbers) + 1;
            if let Some(gap) = width.checked_sub(used).filter(|gap| *gap >= MIN_GAP) {
                line.push_str(&" ".repeat(gap));
                line.push_str(&numbers);
            }
        }
        let line = truncate_to_width(&line, width, cut);
        [String::new(), line.into_owned()].into_iter().collect()
    }
}

impl Component for WorkingIndicator {
    fn render(&mut self, width: usize) -> Lines {
        let (theme, ctx) = self.ui.current();
        let steps = self.steps(self.interval().min(INTERVAL));
        let key = (width, theme, steps);
        if let Some(drawn) = &self.drawn
            && (drawn.width, drawn.theme, drawn.steps) == key
        {
            return drawn.rows.clone();
        }
        let rows = self.draw(width, &ctx);
        self.drawn = Some(DrawnRows {
            width,
            theme,
            steps,
            rows: rows.clone(),
        });
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pi_protocol::Usage;
    use pretty_assertions::assert_eq;
    use serde_json::json;

    #[test]
    fn deltas_do_not_draw_the_row_again() {
        let start = Instant::now();
        let after = |milliseconds| start + Duration::from_millis(milliseconds);
        let mut working = WorkingIndicator::new(UiTheme::for_tests(), start);
        working.set(Activity::Working, start);
        let event = |kind: &str| -> SessionEvent {
            let update = json!({"type": kind, "contentIndex": 0, "delta": "a"});
            let event = json!({"type": "message_update", "usage": Usage::default(), "assistantMessageEvent": update});
            serde_json::from_value(event).unwrap()
        };
        working.follow(&event("thinking_delta"), after(1));
        assert_eq!(shown(&mut working), " ⠋ Thinking… (escape to stop)");
        working.follow(&event("text_delta"), after(2));
        assert_eq!(shown(&mut working), " ⠋ Responding… (escape to stop)");
        let drawn = working.render(80);
        working.follow(&event("text_delta"), after(3));
        assert!(working.render(80).ptr_eq(&drawn));
        assert!(!working.render(70).ptr_eq(&drawn));
        working.follow(&event("text_delta"), after(80));
        assert_eq!(shown(&mut working), " ⠙ Responding… (escape to stop)");
        working.set_blocked(true, after(80));
        assert_eq!(shown(&mut working), " ⠙ Waiting for your decision");
    }

    fn shown(working: &mut WorkingIndicator) -> String {
        let lines = working.render(80);
        let line = lines.last().map(ToString::to_string).unwrap_or_default();
        pi_tui::strip_ansi(&line).into_owned()
    }

    #[test]
    fn a_run_shows_its_step_and_how_long_nothing_arrived() {
        let start = Instant::now();
        let after = |seconds| start + Duration::from_secs(seconds);
        let mut working = WorkingIndicator::new(UiTheme::for_tests(), start);
        assert_eq!(
            (shown(&mut working), working.next_tick()),
            (String::new(), None)
        );
        working.set(Activity::Working, start);
        assert_eq!(shown(&mut working), " ⠋ Working… (escape to stop)");
        let agent = |step| SessionEvent::Agent(step);
        working.follow(&agent(AgentEvent::TurnStart), after(1));
        working.tick(after(2));
        assert_eq!(
            shown(&mut working),
            " ⠴ Waiting for response… (escape to stop)"
        );
        working.tick(after(8));
        assert_eq!(
            shown(&mut working),
            " ⠋ Waiting for response… 7s (escape to stop)"
        );
        working.step = RunStep::Responding;
        working.tick(after(30));
        assert!(shown(&mut working).contains("No response for 29s"));
        for (id, tool) in [("1", "bash"), ("2", "read")] {
            let step = AgentEvent::ToolExecutionStart {
                tool_call_id: id.to_owned(),
                tool_name: tool.to_owned(),
                args: json!({}),
                parent_tool_call_id: None,
            };
            working.follow(&agent(step), after(31));
        }
        assert!(shown(&mut working).contains("Running 2 tools…"));
        let step = AgentEvent::ToolExecutionEnd {
            tool_call_id: "1".to_owned(),
            tool_name: "bash".to_owned(),
            result: Box::default(),
            is_error: false,
            duration_ms: None,
            parent_tool_call_id: None,
        };
        working.follow(&agent(step), after(90));
        assert!(shown(&mut working).contains("Running read…"));
    }

    #[test]
    fn a_request_shows_its_phase_until_the_response() {
        let start = Instant::now();
        let after = |seconds| start + Duration::from_secs(seconds);
        let mut working = WorkingIndicator::new(UiTheme::for_tests(), start);
        working.set(Activity::Working, start);
        working.follow(&SessionEvent::Agent(AgentEvent::TurnStart), start);
        let retrying = StreamPhase::Retrying {
            attempt: 2,
            delay: Duration::from_secs(9),
        };
        for (phase, waited, expected) in [
            (StreamPhase::Preparing, 0, "Preparing request…"),
            (StreamPhase::Connecting, 0, "Connecting…"),
            (StreamPhase::Connecting, 4, "Connecting… 4s"),
            (StreamPhase::Waiting, 2, "Waiting for response…"),
            (StreamPhase::Waiting, 61, "Waiting for response… 61s"),
            (retrying, 3, "Provider busy: retrying in 6s (retry 2)"),
        ] {
            working.set_phase(Some(phase), start);
            working.tick(after(waited));
            let line = shown(&mut working);
            assert!(line.contains(&format!(" {expected} (escape")), "{line}");
        }
        working.set_phase(Some(StreamPhase::Receiving), start);
        working.step = RunStep::Thinking;
        working.tick(after(1));
        assert!(shown(&mut working).contains("Thinking…"));
        working.set_phase(None, after(1));
        working.step = RunStep::Preparing;
        assert!(shown(&mut working).contains("Working…"));
    }

    #[test]
    fn a_question_stops_the_run_and_a_summary_keeps_its_row() {
        let start = Instant::now();
        let mut working = WorkingIndicator::new(UiTheme::for_tests(), start);
        assert_eq!(working.render(80).len(), 1);
        working.set(Activity::Working, start);
        working.follow(&SessionEvent::Agent(AgentEvent::AgentStart), start);
        working.set_blocked(true, start);
        assert!(shown(&mut working).contains("Waiting for your decision"));
        working.set_blocked(false, start + Duration::from_secs(5));
        let rows = working.render(80).len();
        let later = start + Duration::from_secs(12);
        working.follow(&SessionEvent::AgentSettled { aborted: false }, later);
        working.set(Activity::Idle, later);
        assert_eq!(shown(&mut working), " ✓ 7s");
        assert_eq!(working.render(80).len(), rows, "the prompt does not move");
        working.forget_run();
        assert_eq!(working.render(80).len(), 1);
    }

    #[test]
    fn a_retry_counts_down_and_narrow_lines_are_truncated() {
        let start = Instant::now();
        let mut working = WorkingIndicator::new(UiTheme::for_tests(), start);
        let retrying = Activity::Retrying {
            attempt: 1,
            max_attempts: 3,
            until: start + Duration::from_millis(3_500),
        };
        working.set(retrying, start);
        assert!(shown(&mut working).contains("Retrying in 4s (attempt 1 of 3) "));
        working.tick(start + Duration::from_secs(3));
        assert!(shown(&mut working).contains("in 1s"));
        let lines = working.render(12);
        assert!(lines.iter().all(|line| pi_tui::visible_width(line) <= 12));
    }
}
