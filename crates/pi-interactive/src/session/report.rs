//! The `/session` report.

use std::fmt::Write as _;

use pi_host::AgentSession;
use pi_views::text::thousands::group_thousands;

/// Returns the report, one fact per line.
pub(crate) fn session_report(session: &AgentSession, version: &str) -> Result<String, String> {
    let history = session.history();
    let usage = history.precompute_stats();
    let usage = usage.and_then(|()| Ok((history.stats()?, history.totals()?)));
    let (stats, totals) = usage.map_err(|error| pi_host::describe_error(&error))?;
    let mut report = String::from("Session\n");
    let mut add_row = |label: &str, value: String| {
        // Writing to a string cannot fail.
        writeln!(report, "  {label:<10} {value}").unwrap_or_default();
    };
    let name = session.session_name();
    add_row(
        "name",
        name.unwrap_or_else(|| "none (set one with /name)".to_owned()),
    );
    let file = stats.session_file.as_ref();
    add_row(
        "file",
        file.map_or("in memory".to_owned(), |path| path.display().to_string()),
    );
    add_row("id", stats.session_id.clone());
    add_row("pi", version.to_owned());
    add_row(
        "messages",
        format!(
            "{} ({} user, {} assistant, {}, {})",
            group_thousands(stats.total_messages),
            group_thousands(stats.user_messages),
            group_thousands(stats.assistant_messages),
            counted(stats.tool_calls, "tool call"),
            counted(stats.tool_results, "tool result"),
        ),
    );
    let tokens = &stats.tokens;
    add_row(
        "tokens",
        format!(
            "{} ({} input, {} output, {} cache read, {} cache write)",
            group_thousands(tokens.total),
            group_thousands(tokens.input),
            group_thousands(tokens.output),
            group_thousands(tokens.cache_read),
            group_thousands(tokens.cache_write),
        ),
    );
    if let Some(context) = stats.context_usage {
        let used = context.tokens.map_or("unknown".to_owned(), group_thousands);
        let percent = context
            .percent
            .map_or(String::new(), |share| format!(" ({share:.1}%)"));
        add_row(
            "context",
            format!(
                "{used} of {}{percent}",
                group_thousands(context.context_window)
            ),
        );
    }
    let cached = tokens.cache_read > 0 || tokens.cache_write > 0;
    if let Some(share) = stats.cache_hit_share.filter(|_| cached) {
        add_row("cache", format!("{share:.1}% of the last prompt"));
    }
    if stats.cost > 0.0 {
        add_row("cost", format!("${:.4}", stats.cost));
        for model in totals.by_model() {
            add_row(
                "",
                format!(
                    "{}: {} tokens, ${:.4}",
                    model.name,
                    group_thousands(model.tokens),
                    model.cost
                ),
            );
        }
    }
    Ok(report.trim_end().to_owned())
}

/// Formats a count with its noun.
fn counted(number: u64, what: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {what}{plural}", group_thousands(number))
}
