//! What a run has done so far: time, tools, changed files, tokens per second, cost.
//!
//! The numbers are shown next to the working indicator, and once more when the run has ended.

use std::collections::{BTreeSet, HashMap};
use std::time::{Duration, Instant};

use crate::file_change::{FileCall, FileChange};
use crate::text::thousands::group_thousands;
use crate::theme::ui_theme::RenderContext;
use pi_protocol::{
    AgentEvent, AgentMessage, AssistantMessage, AssistantMessageEvent, SessionEvent, StopReason,
};
use pi_tui::ColorToken;

/// A rate of less time than this is a guess.
const SHORTEST_RATED: Duration = Duration::from_millis(500);
/// Estimated bytes of a token, until the provider reports the number.
const BYTES_PER_TOKEN: f64 = 4.0;
/// Cells of the bar that shows how full the context is.
const BAR: usize = 8;
/// The separator of the numbers.
const DOT: &str = " · ";

/// How a run has ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum RunOutcome {
    #[default]
    Done,
    Failed,
    Interrupted,
}

/// Counts what happens between the start and the end of a run.
#[derive(Debug, Default)]
pub struct RunTally {
    started: Option<Instant>,
    ended: Option<(Instant, RunOutcome)>,
    /// How long the run has waited for the user, and since when it does.
    waited: Duration,
    waiting_since: Option<Instant>,
    outcome: RunOutcome,
    tools: usize,
    failed_tools: usize,
    /// Paths of the calls that write files, by call.
    writes: HashMap<String, FileCall>,
    files: BTreeSet<String>,
    added: usize,
    removed: usize,
    /// In US dollars.
    cost: f64,
    /// Bytes of the response that is arriving, and since when.
    arriving: Option<(Instant, usize)>,
    /// Tokens per second of the last complete response.
    rate: Option<f64>,
}

impl RunTally {
    pub fn follow(&mut self, event: &SessionEvent, now: Instant) {
        match event {
            SessionEvent::Agent(event) => self.follow_agent(event, now),
            SessionEvent::AgentSettled { aborted } if self.ended.is_none() => {
                let outcome = if *aborted {
                    RunOutcome::Interrupted
                } else {
                    self.outcome
                };
                self.ended = self.started.map(|_| (now, outcome));
            }
            _ => {}
        }
    }

    /// Sets whether the run waits for the user, which is not counted as its time.
    pub fn set_waiting(&mut self, waiting: bool, now: Instant) {
        if waiting {
            self.waiting_since.get_or_insert(now);
        } else if let Some(since) = self.waiting_since.take() {
            self.waited += now.saturating_duration_since(since);
        }
    }

    /// Returns how long the run has worked.
    fn worked(&self, now: Instant) -> Option<Duration> {
        let now = self.waiting_since.map_or(now, |since| since.min(now));
        let elapsed = now.saturating_duration_since(self.started?);
        Some(elapsed.saturating_sub(self.waited))
    }

    /// Forgets the run, for another session.
    pub fn reset(&mut self) {
        *self = Self::default();
    }

    fn follow_agent(&mut self, event: &AgentEvent, now: Instant) {
        match event {
            // A retry or a queued message starts again before the run has settled.
            AgentEvent::AgentStart if self.started.is_none() || self.ended.is_some() => {
                *self = Self {
                    started: Some(now),
                    ..Self::default()
                };
            }
            AgentEvent::MessageUpdate {
                assistant_message_event,
                ..
            } => {
                let bytes = delta_bytes(assistant_message_event);
                let (_, sum) = self.arriving.get_or_insert((now, 0));
                *sum += bytes;
            }
            AgentEvent::MessageEnd { message } => {
                if let AgentMessage::Assistant(answer) = &**message {
                    self.answered(answer, now);
                }
            }
            AgentEvent::ToolExecutionStart {
                tool_call_id,
                tool_name,
                args,
                parent_tool_call_id: None,
            } => {
                let arguments = args.as_object();
                let write = arguments.and_then(|arguments| FileCall::new(tool_name, arguments));
                if let Some(write) = write {
                    self.writes.insert(tool_call_id.clone(), write);
                }
            }
            AgentEvent::ToolExecutionEnd {
                tool_call_id,
                result,
                is_error,
                parent_tool_call_id: None,
                ..
            } => {
                self.tools += 1;
                let write = self.writes.remove(tool_call_id);
                if *is_error {
                    self.failed_tools += 1;
                } else if let Some(write) = write {
                    self.written(write.change(result.details.as_ref()));
                }
            }
            _ => {}
        }
    }

    fn answered(&mut self, answer: &AssistantMessage, now: Instant) {
        self.outcome = match answer.stop_reason {
            StopReason::Error => RunOutcome::Failed,
            StopReason::Aborted => RunOutcome::Interrupted,
            _ => RunOutcome::Done,
        };
        self.cost += answer.usage.cost.total;
        if let Some((since, _)) = self.arriving.take() {
            let took = now.saturating_duration_since(since);
            self.rate = rate(answer.usage.output, took).or(self.rate);
        }
    }

    fn written(&mut self, change: FileChange) {
        self.added += change.added;
        self.removed += change.removed;
        self.files.insert(change.path);
    }

    /// Returns the numbers of a run in progress.
    pub fn live(&self, now: Instant, ctx: &RenderContext) -> Option<String> {
        let elapsed = self.worked(now).filter(|_| self.ended.is_none())?;
        if elapsed < Duration::from_secs(1) {
            return None;
        }
        let mut parts = vec![short_time(elapsed)];
        parts.extend(self.counted_tools());
        parts.extend(
            self.current_rate(now)
                .map(|rate| format!("{rate:.0} tok/s")),
        );
        parts.extend(self.paid());
        Some(ctx.paint(ColorToken::Muted, &parts.join(DOT)))
    }

    /// Returns the numbers of the last run. `context` is the share of the context window in use, in percent.
    pub fn summary(&self, context: Option<f64>, ctx: &RenderContext) -> Option<String> {
        let (ended, outcome) = self.ended?;
        let took = short_time(self.worked(ended)?);
        let muted = |text: &str| ctx.paint(ColorToken::Muted, text);
        let (token, mark, took) = match outcome {
            RunOutcome::Done => (ColorToken::Success, "✓", took),
            RunOutcome::Failed => (ColorToken::Error, "✗", format!("Failed after {took}")),
            RunOutcome::Interrupted => (
                ColorToken::Warning,
                "✗",
                format!("Interrupted after {took}"),
            ),
        };
        let mut parts = vec![muted(&took)];
        parts.extend(self.counted_tools().as_deref().map(muted));
        if !self.files.is_empty() {
            let count = self.files.len();
            let files = if count == 1 { "file" } else { "files" };
            let mut text = muted(&format!("{count} {files}"));
            for (count, sign, token) in [
                (self.added, '+', ColorToken::ToolDiffAdded),
                (self.removed, '−', ColorToken::ToolDiffRemoved),
            ] {
                if count > 0 {
                    let count = group_thousands(count as u64);
                    text.push(' ');
                    text.push_str(&ctx.paint(token, &format!("{sign}{count}")));
                }
            }
            parts.push(text);
        }
        parts.extend(context.map(|percent| muted(&context_bar(percent))));
        parts.extend(self.paid().as_deref().map(muted));
        let mark = ctx.paint(token, mark);
        Some(format!("{mark} {}", parts.join(&muted(DOT))))
    }

    fn counted_tools(&self) -> Option<String> {
        let tools = if self.tools == 1 { "tool" } else { "tools" };
        match (self.tools, self.failed_tools) {
            (0, _) => None,
            (count, 0) => Some(format!("{count} {tools}")),
            (count, failed) => Some(format!("{count} {tools} ({failed} failed)")),
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "responses are small")]
    fn current_rate(&self, now: Instant) -> Option<f64> {
        let Some((since, bytes)) = self.arriving else {
            return self.rate;
        };
        let took = now.saturating_duration_since(since);
        let tokens = bytes as f64 / BYTES_PER_TOKEN;
        if took < SHORTEST_RATED {
            return self.rate;
        }
        Some(tokens / took.as_secs_f64())
    }

    fn paid(&self) -> Option<String> {
        short_cost(self.cost)
    }
}

#[expect(clippy::cast_precision_loss, reason = "responses are small")]
fn rate(tokens: u64, took: Duration) -> Option<f64> {
    (tokens > 0 && took >= SHORTEST_RATED).then(|| tokens as f64 / took.as_secs_f64())
}

fn delta_bytes(event: &AssistantMessageEvent) -> usize {
    match event {
        AssistantMessageEvent::TextDelta { delta, .. }
        | AssistantMessageEvent::ThinkingDelta { delta, .. }
        | AssistantMessageEvent::ToolCallDelta { delta, .. } => delta.len(),
        _ => 0,
    }
}

/// Returns a share as a bar and a number, such as `▰▰▱▱▱▱▱▱ 16%`.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a share of eight cells"
)]
fn context_bar(percent: f64) -> String {
    let full = (percent.clamp(0.0, 100.0) / 100.0 * BAR as f64).ceil() as usize;
    let full = full.min(BAR);
    format!(
        "{}{} {percent:.0}%",
        "▰".repeat(full),
        "▱".repeat(BAR - full)
    )
}

/// Formats US dollars; `None` for less than half a cent.
pub(crate) fn short_cost(cost: f64) -> Option<String> {
    (cost >= 0.005).then(|| format!("${cost:.2}"))
}

/// Formats a duration, such as `8s` or `1m12s`.
pub(crate) fn short_time(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3600 => format!("{}m{:02}s", seconds / 60, seconds % 60),
        _ => format!("{}h{:02}m", seconds / 3600, seconds / 60 % 60),
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::{Value, json};

    use super::*;

    fn shown(text: Option<String>) -> String {
        pi_tui::strip_ansi(&text.unwrap_or_default()).into_owned()
    }

    fn follow(tally: &mut RunTally, events: &[Value], now: Instant) {
        for event in events {
            let event: SessionEvent = serde_json::from_value(event.clone()).unwrap();
            tally.follow(&event, now);
        }
    }

    fn answer(stop: &str) -> Value {
        json!({"type": "message_end", "message": {"role": "assistant", "content": [], "api": "x",
            "provider": "p", "model": "m", "stopReason": stop, "timestamp": 0,
            "usage": {"input": 1, "output": 90, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 91,
                "cost": {"input": 0, "output": 0.05, "cacheRead": 0, "cacheWrite": 0, "total": 0.05}}}})
    }

    fn call(id: &str, tool: &str, args: &Value) -> Value {
        json!({"type": "tool_execution_start", "toolCallId": id, "toolName": tool, "args": args})
    }

    fn end(id: &str, tool: &str, failed: bool, details: &Value) -> Value {
        json!({"type": "tool_execution_end", "toolCallId": id, "toolName": tool, "isError": failed,
            "result": {"content": [], "details": details}})
    }

    #[test]
    fn the_clock_stands_still_while_the_run_waits_for_the_user() {
        let ctx = RenderContext::for_tests();
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut tally = RunTally::default();
        follow(&mut tally, &[json!({"type": "agent_start"})], start);
        tally.set_waiting(true, at(3));
        assert_eq!(shown(tally.live(at(60), &ctx)), "3s");
        tally.set_waiting(false, at(60));
        assert_eq!(shown(tally.live(at(62), &ctx)), "5s");
    }

    #[test]
    fn a_run_is_summed_up() {
        let ctx = RenderContext::for_tests();
        let start = Instant::now();
        let mut tally = RunTally::default();
        assert_eq!(tally.summary(None, &ctx), None);
        let events = [
            json!({"type": "agent_start"}),
            call("1", "edit", &json!({"path": "a.rs"})),
            end(
                "1",
                "edit",
                false,
                &json!({"diff": " 1 x\n-2 old\n+2 new\n+3 more"}),
            ),
            call("2", "write", &json!({"path": "b.rs", "content": "1\n2\n"})),
            end("2", "write", false, &Value::Null),
            call("3", "bash", &json!({"command": "false"})),
            end("3", "bash", true, &Value::Null),
        ];
        follow(&mut tally, &events, start);
        let later = start + Duration::from_secs(72);
        follow(&mut tally, &[answer("stop")], later);
        assert_eq!(
            shown(tally.live(later, &ctx)),
            "1m12s · 3 tools (1 failed) · $0.05"
        );
        follow(
            &mut tally,
            &[json!({"type": "agent_settled", "aborted": false})],
            later,
        );
        assert_eq!(tally.live(later, &ctx), None);
        assert_eq!(
            shown(tally.summary(Some(16.2), &ctx)),
            "✓ 1m12s · 3 tools (1 failed) · 2 files +4 −1 · ▰▰▱▱▱▱▱▱ 16% · $0.05"
        );
        follow(&mut tally, &[json!({"type": "agent_start"})], later);
        assert_eq!(
            tally.summary(None, &ctx),
            None,
            "the next run starts at zero"
        );
    }

    #[test]
    fn the_outcome_needs_no_color() {
        let ctx = RenderContext::for_tests();
        let start = Instant::now();
        for (stop, aborted, expected) in [
            ("error", false, "✗ Failed after 3s"),
            ("aborted", true, "✗ Interrupted after 3s"),
        ] {
            let mut tally = RunTally::default();
            follow(&mut tally, &[json!({"type": "agent_start"})], start);
            let later = start + Duration::from_secs(3);
            let settled = json!({"type": "agent_settled", "aborted": aborted});
            follow(&mut tally, &[answer(stop), settled], later);
            assert!(shown(tally.summary(None, &ctx)).starts_with(expected));
        }
    }
}
