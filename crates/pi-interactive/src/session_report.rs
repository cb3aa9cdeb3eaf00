//! Facts about a session, as `/session` lists them.

use std::fmt::Write as _;

use pi_runtime::AgentSession;
use pi_session::SessionError;

use crate::grouped::grouped;

/// Returns the facts, one a line.
pub(crate) fn session_report(
    session: &AgentSession,
    version: &str,
) -> Result<String, SessionError> {
    session.precompute_stats()?;
    let stats = session.stats()?;
    let totals = session.totals()?;
    let mut report = String::from("Session\n");
    let mut fact = |label: &str, value: String| {
        // Writing to a string cannot fail.
        writeln!(report, "  {label:<10} {value}").unwrap_or_default();
    };
    let name = session.session_name();
    fact(
        "name",
        name.unwrap_or_else(|| "none, /name gives it one".to_owned()),
    );
    let file = stats.session_file.as_ref();
    fact(
        "file",
        file.map_or("in memory".to_owned(), |path| path.display().to_string()),
    );
    fact("id", stats.session_id.clone());
    fact("pi", version.to_owned());
    fact(
        "messages",
        format!(
            "{} ({} from you, {}, {}, {})",
            grouped(stats.total_messages),
            grouped(stats.user_messages),
            counted(stats.assistant_messages, "answer"),
            counted(stats.tool_calls, "tool call"),
            counted(stats.tool_results, "result"),
        ),
    );
    let tokens = &stats.tokens;
    fact(
        "tokens",
        format!(
            "{} ({} input, {} output, {} cache read, {} cache write)",
            grouped(tokens.total),
            grouped(tokens.input),
            grouped(tokens.output),
            grouped(tokens.cache_read),
            grouped(tokens.cache_write),
        ),
    );
    if let Some(context) = stats.context_usage {
        let used = context.tokens.map_or("unknown".to_owned(), grouped);
        let percent = context
            .percent
            .map_or(String::new(), |share| format!(" ({share:.1}%)"));
        fact(
            "context",
            format!("{used} of {}{percent}", grouped(context.context_window)),
        );
    }
    let cached = tokens.cache_read > 0 || tokens.cache_write > 0;
    if let Some(share) = stats.cache_hit_share.filter(|_| cached) {
        fact("cache", format!("{share:.1}% of the last prompt"));
    }
    if stats.cost > 0.0 {
        fact("cost", format!("${:.4}", stats.cost));
        for model in totals.by_model() {
            fact(
                "",
                format!(
                    "{}: {} tokens, ${:.4}",
                    model.name,
                    grouped(model.tokens),
                    model.cost
                ),
            );
        }
    }
    Ok(report.trim_end().to_owned())
}

/// Returns a number and what it counts.
fn counted(number: u64, what: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {what}{plural}", grouped(number))
}
