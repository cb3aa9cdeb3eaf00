//! Reports about a session as plain text, for terminals and editors.

use std::fmt::Write as _;

use pi_protocol::{CacheMissReport, CompactionPreview, ContextPart, ContextReport, timestamp};

use crate::turn_costs::TurnCost;

const BAR_WIDTH: usize = 40;

/// One for each part of the context, in the order of the parts.
const FILLS: [char; 8] = ['█', '▓', '▒', '░', '▚', '▞', '▤', '▥'];

const SPARKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Turns that a sparkline shows.
const MAX_TURNS: usize = 60;

/// Files that a preview names.
const MAX_FILES: usize = 8;

/// Returns a number with separators.
fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Describes cache misses, the last one first.
pub fn cache_text(misses: &[CacheMissReport]) -> String {
    if misses.is_empty() {
        return "No prompt cache misses in this session".to_owned();
    }
    let mut text = String::new();
    for miss in misses.iter().rev() {
        if !text.is_empty() {
            text.push('\n');
        }
        let when = timestamp::to_iso(miss.timestamp_ms);
        let when = when.get(..16).unwrap_or_default().replace('T', " ");
        // Writing to a string cannot fail.
        writeln!(
            text,
            "Cache miss: {} tokens re-sent uncached (~${:.2})",
            count(miss.tokens),
            miss.cost
        )
        .ok();
        writeln!(text, "  {when}  {}  {}", miss.model, miss.entry_id).ok();
        if miss.causes.is_empty() {
            let unknown = "unknown: a hook of an extension changed the request, or the provider dropped the cache";
            writeln!(text, "  Cause: {unknown}").ok();
        }
        for (position, cause) in miss.causes.iter().enumerate() {
            let label = if position == 0 { "Cause" } else { "Also" };
            writeln!(text, "  {label}: {cause}").ok();
        }
    }
    let total: f64 = misses.iter().map(|miss| miss.cost).sum();
    if misses.len() > 1 {
        write!(text, "\nTotal: {} misses, ~${total:.2}", misses.len()).ok();
    }
    text.trim_end().to_owned()
}

/// Describes what fills the context, with a stacked bar.
pub fn context_text(report: &ContextReport) -> String {
    let total = report.estimated_tokens;
    let scale = match report.context_window {
        0 => total,
        window => window.max(total),
    };
    let mut text = format!("Context: ~{} tokens", count(total));
    if let Some(tenths) = rounded_share(total, report.context_window, 1000) {
        let (percent, tenth) = (tenths / 10, tenths % 10);
        let window = count(report.context_window);
        write!(text, " of {window} ({percent}.{tenth}%)").ok();
    }
    text.push_str("\n[");
    let mut used = 0;
    let mut filled = 0;
    for share in &report.parts {
        used += share.tokens;
        // The smallest part is one cell wide, so that the legend explains every part.
        let end = cells(used, scale).max(filled + 1).min(BAR_WIDTH);
        text.extend(std::iter::repeat_n(
            fill(share.part),
            end.saturating_sub(filled),
        ));
        filled = filled.max(end);
    }
    text.extend(std::iter::repeat_n('·', BAR_WIDTH.saturating_sub(filled)));
    text.push_str("]\n");
    for share in &report.parts {
        let percent = rounded_share(share.tokens, total, 100).unwrap_or_default();
        writeln!(
            text,
            "  {} {:<18} {:>9}  {percent:>3}%",
            fill(share.part),
            share.part.title(),
            count(share.tokens)
        )
        .ok();
    }
    if !report.largest.is_empty() {
        text.push_str("\nLargest:\n");
    }
    for item in &report.largest {
        writeln!(
            text,
            "  {:>9}  {}  {}",
            count(item.tokens),
            item.entry_id,
            item.title
        )
        .ok();
    }
    text.trim_end().to_owned()
}

/// Returns the rounded share of `part` in `whole`, in units of 1 / `scale`; `None` without a whole.
fn rounded_share(part: u64, whole: u64, scale: u64) -> Option<u64> {
    (part * scale + whole / 2).checked_div(whole)
}

fn fill(part: ContextPart) -> char {
    let position = ContextPart::ALL.iter().position(|it| *it == part);
    position
        .and_then(|position| FILLS.get(position).copied())
        .unwrap_or('█')
}

fn cells(tokens: u64, scale: u64) -> usize {
    let cells = (tokens * BAR_WIDTH as u64).checked_div(scale);
    usize::try_from(cells.unwrap_or_default()).unwrap_or(BAR_WIDTH)
}

/// Describes the cost of the turns, with a sparkline.
pub fn cost_text(turns: &[TurnCost]) -> String {
    // An empty sum would be -0.
    let total = turns.iter().fold(0.0, |sum, turn| sum + turn.cost);
    let prompt: u64 = turns.iter().map(|turn| turn.prompt_tokens).sum();
    let cached: u64 = turns.iter().map(|turn| turn.cached_tokens).sum();
    let output: u64 = turns.iter().map(|turn| turn.output_tokens).sum();
    let requests: usize = turns.iter().map(|turn| turn.requests).sum();
    let mut text = format!(
        "Cost: ${total:.4} in {} turns and {requests} requests\n",
        turns.len()
    );
    let skipped = turns.len().saturating_sub(MAX_TURNS);
    let shown = turns.get(skipped..).unwrap_or_default();
    let most = shown.iter().map(|turn| turn.cost).fold(0.0, f64::max);
    if most > 0.0 {
        let line: String = shown.iter().map(|turn| spark(turn.cost / most)).collect();
        writeln!(text, "  {line}  up to ${most:.4} per turn").ok();
    }
    let share = rounded_share(cached, prompt, 100).unwrap_or_default();
    writeln!(
        text,
        "  Prompt tokens: {}, {share}% from the cache\n  Output tokens: {}",
        count(prompt),
        count(output)
    )
    .ok();
    let mut costly: Vec<(usize, &TurnCost)> = turns.iter().enumerate().collect();
    pi_protocol::sort_by(&mut costly, |(_, one), (_, other)| {
        other.cost.total_cmp(&one.cost)
    });
    for (position, turn) in costly.iter().take(3).filter(|(_, turn)| turn.cost > 0.0) {
        writeln!(
            text,
            "  Turn {}: ${:.4}, {} requests, {} prompt tokens",
            position + 1,
            turn.cost,
            turn.requests,
            count(turn.prompt_tokens)
        )
        .ok();
    }
    text.trim_end().to_owned()
}

/// Returns the character for a share of the maximum.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "`as` saturates, and the share is between 0 and 1"
)]
fn spark(share: f64) -> char {
    let position = (share * 7.0).round() as usize;
    SPARKS.get(position).copied().unwrap_or('█')
}

/// Describes what a compaction would do.
pub fn preview_text(preview: &CompactionPreview) -> String {
    let mut text = format!(
        "Compaction: ~{} tokens become ~{}\n",
        count(preview.tokens_before),
        count(preview.estimated_tokens_after)
    );
    writeln!(
        text,
        "  Summarized: {} messages, ~{} tokens{}",
        preview.summarized_messages,
        count(preview.summarized_tokens),
        if preview.updates_summary {
            ", with the earlier summary"
        } else {
            ""
        }
    )
    .ok();
    writeln!(
        text,
        "  Kept: {} messages, ~{} tokens, from entry {}",
        preview.kept_messages,
        count(preview.kept_tokens),
        preview.first_kept_entry_id
    )
    .ok();
    if preview.splits_turn {
        text.push_str("  The current turn is cut; its start is summarized, too\n");
    }
    for (label, files) in [
        ("Files changed", &preview.modified_files),
        ("Files read", &preview.read_files),
    ] {
        if files.is_empty() {
            continue;
        }
        let shown = files.iter().take(MAX_FILES).cloned().collect::<Vec<_>>();
        write!(text, "  {label}: {}", shown.join(", ")).ok();
        match files.len().saturating_sub(MAX_FILES) {
            0 => text.push('\n'),
            more => writeln!(text, " and {more} more").unwrap_or_default(),
        }
    }
    write!(
        text,
        "  Summary by {}: ~{} tokens, ~${:.4}",
        preview.model,
        count(preview.request_tokens),
        preview.estimated_cost
    )
    .ok();
    text
}

#[cfg(test)]
mod tests {
    use pi_protocol::{ContextItem, ContextShare};
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn the_context_is_a_stacked_bar() {
        let share = |part, tokens| ContextShare { part, tokens };
        let report = ContextReport {
            parts: vec![
                share(ContextPart::System, 25_000),
                share(ContextPart::User, 50_000),
            ],
            largest: vec![ContextItem {
                entry_id: "e1".into(),
                part: ContextPart::User,
                tokens: 50_000,
                title: "a long prompt".to_owned(),
            }],
            estimated_tokens: 75_000,
            context_window: 100_000,
        };
        let expected = "\
Context: ~75,000 tokens of 100,000 (75.0%)
[██████████▚▚▚▚▚▚▚▚▚▚▚▚▚▚▚▚▚▚▚▚··········]
  █ System prompt         25,000   33%
  ▚ Prompts               50,000   67%

Largest:
     50,000  e1  a long prompt";
        assert_eq!(context_text(&report), expected);
        let report = ContextReport {
            parts: vec![share(ContextPart::Tools, 100), share(ContextPart::User, 50)],
            context_window: 1_000_000,
            ..report
        };
        assert!(context_text(&report).contains("[▒▚··"));
        // Nothing is known, and more than fits.
        assert!(context_text(&ContextReport::default()).contains("~0 tokens"));
        let full = ContextReport {
            context_window: 10,
            ..report
        };
        assert!(context_text(&full).contains("(750000.0%)"));
    }

    #[test]
    fn cost_is_a_sparkline_with_the_most_expensive_turns() {
        let turn = |cost| TurnCost {
            cost,
            requests: 2,
            prompt_tokens: 1000,
            cached_tokens: 500,
            output_tokens: 10,
        };
        let text = cost_text(&[turn(0.1), turn(0.8), turn(0.0)]);
        let expected = "\
Cost: $0.9000 in 3 turns and 6 requests
  ▂█▁  up to $0.8000 per turn
  Prompt tokens: 3,000, 50% from the cache
  Output tokens: 30
  Turn 2: $0.8000, 2 requests, 1,000 prompt tokens
  Turn 1: $0.1000, 2 requests, 1,000 prompt tokens";
        assert_eq!(text, expected);
        assert!(cost_text(&[]).starts_with("Cost: $0.0000 in 0 turns"));
    }
}
