//! `--list-models`: a table of the available models.

use std::fmt::Write as _;
use std::sync::Arc;

use pi_env::Env;
use pi_host::fetch_local_models;
use pi_protocol::{DiagnosticLevel, Modality, Model};
use pi_tui::FuzzyQuery;

use crate::args::{Args, ListModels};
use crate::output::{Exit, print, warn};
use crate::startup::{inspect, no_model};

const HEADINGS: [&str; 6] = [
    "provider", "model", "context", "max-out", "thinking", "images",
];

pub(crate) async fn run(args: &Args, filter: &ListModels, env: Env) -> Exit {
    let runtime = match inspect(args, &env).await {
        Ok(runtime) => runtime,
        Err(failure) => return failure.report(),
    };
    let workspace = runtime.workspace();
    let trouble = fetch_local_models(&workspace.models).await;
    for diagnostic in runtime.diagnostics().iter().chain(&trouble) {
        if diagnostic.level > DiagnosticLevel::Info {
            warn(&diagnostic.message_with_path());
        }
    }
    let models = workspace.models.available();
    runtime.shutdown().await;
    if models.is_empty() {
        // An empty list is not a failure.
        no_model().warn();
        return Exit::Success;
    }
    print(&table(models, filter))
}

/// Returns the table of matching models, or a message if there are none.
pub(crate) fn table(mut models: Vec<Arc<Model>>, filter: &ListModels) -> String {
    if let ListModels::Matching(search) = filter {
        let query = FuzzyQuery::new(search);
        models.retain(|model| {
            query
                .score(&format!("{} {}", model.provider, model.id))
                .is_some()
        });
        if models.is_empty() {
            return format!("No models matching \"{search}\"\n");
        }
    }
    pi_protocol::sort_by(&mut models, |left, right| {
        pi_host::compare_ids(&left.provider, &right.provider)
            .then_with(|| pi_host::compare_ids(&left.id, &right.id))
    });
    let rows: Vec<[String; 6]> = std::iter::once(HEADINGS.map(str::to_owned))
        .chain(models.iter().map(|model| row(model)))
        .collect();
    let widths: [usize; 6] = std::array::from_fn(|column| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    });
    let mut table = String::new();
    for row in &rows {
        for (column, (cell, width)) in row.iter().zip(widths).enumerate() {
            let gap = if column == 0 { "" } else { "  " };
            // Writing to a string cannot fail.
            write!(table, "{gap}{cell:width$}").ok();
        }
        table.push('\n');
    }
    table
}

fn row(model: &Model) -> [String; 6] {
    let yes_or_no = |yes: bool| if yes { "yes" } else { "no" }.to_owned();
    [
        model.provider.clone(),
        model.id.clone(),
        format_tokens(model.context_window),
        format_tokens(model.max_tokens),
        yes_or_no(model.reasoning),
        yes_or_no(model.input.contains(&Modality::Image)),
    ]
}

/// Formats a token count: `200K`, `8.2K`, `1M`.
fn format_tokens(tokens: u64) -> String {
    let (unit, letter) = match tokens {
        1_000_000.. => (1_000_000, "M"),
        1_000.. => (1_000, "K"),
        _ => return tokens.to_string(),
    };
    if tokens.is_multiple_of(unit) {
        return format!("{}{letter}", tokens / unit);
    }
    #[expect(
        clippy::cast_precision_loss,
        reason = "token counts are far below 2^53"
    )]
    let number = tokens as f64 / unit as f64;
    format!("{number:.1}{letter}")
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;

    fn model(provider: &str, id: &str, context: u64, input: &[&str]) -> Arc<Model> {
        let model = json!({
            "id": id, "name": id, "provider": provider, "api": "anthropic-messages",
            "baseUrl": "http://127.0.0.1", "reasoning": input.len() > 1, "input": input,
            "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0},
            "contextWindow": context, "maxTokens": 8192,
        });
        serde_json::from_value(model).unwrap()
    }

    fn models() -> Vec<Arc<Model>> {
        vec![
            model("mock", "beta", 64_000, &["text"]),
            model("local", "Zulu", 1_048_576, &["text"]),
            model("local", "alpha", 200_000, &["text", "image"]),
        ]
    }

    #[test]
    fn models_are_sorted_and_aligned() {
        assert_eq!(
            table(models(), &ListModels::All),
            "provider  model  context  max-out  thinking  images\n\
             local     alpha  200K     8.2K     yes       yes   \n\
             local     Zulu   1.0M     8.2K     no        no    \n\
             mock      beta   64K      8.2K     no        no    \n"
        );
    }

    #[test]
    fn a_search_matches_provider_and_id() {
        let ids = |search: &str| {
            let table = table(models(), &ListModels::Matching(search.to_owned()));
            table
                .lines()
                .skip(1)
                .map(|line| line.split_whitespace().nth(1).unwrap().to_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(ids("bet"), ["beta"]);
        assert_eq!(ids("local/a"), ["alpha", "Zulu"]);
        assert_eq!(
            table(models(), &ListModels::Matching("zzz".to_owned())),
            "No models matching \"zzz\"\n"
        );
    }

    #[test]
    fn token_counts_are_short() {
        for (tokens, expected) in [
            (0, "0"),
            (999, "999"),
            (1_000, "1K"),
            (131_072, "131.1K"),
            (1_000_000, "1M"),
            (2_097_152, "2.1M"),
        ] {
            assert_eq!(format_tokens(tokens), expected);
        }
    }
}
