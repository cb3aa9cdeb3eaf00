//! The costs of extensions as a table.

use std::fmt::Write as _;
use std::path::Path;

use pi_protocol::ExtensionCost;

const NAME_WIDTH: usize = 18;

/// Describes what the extensions of a session cost, those first that events waited for longest.
pub fn extension_costs_text(costs: &[ExtensionCost]) -> String {
    if costs.is_empty() {
        return "No extensions in this session".to_owned();
    }
    let mut costs: Vec<&ExtensionCost> = costs.iter().collect();
    pi_protocol::sort_by(&mut costs, |one, other| {
        (other.handler_ms + other.render_ms + other.start_ms)
            .total_cmp(&(one.handler_ms + one.render_ms + one.start_ms))
    });
    let mut text = format!(
        "{:NAME_WIDTH$} {:>6} {:>7} {:>7} {:>7} {:>5} {:>7} {:>7} {:>4}\n",
        "Extension", "Start", "Events", "Longest", "Render", "Late", "Heap", "Prompt", "Miss"
    );
    for cost in &costs {
        // Writing to a string cannot fail.
        writeln!(
            text,
            "{:NAME_WIDTH$} {:>6} {:>7} {:>7} {:>7} {:>5} {:>7} {:>7} {:>4}",
            short_name(&cost.path),
            time(cost.start_ms),
            time(cost.handler_ms),
            time(cost.longest_handler_ms),
            unless_on_node(cost, || time(cost.render_ms)),
            unless_on_node(cost, || cost.late_frames.to_string()),
            unless_on_node(cost, || size(cost.heap_bytes)),
            count(cost.prompt_tokens),
            cost.cache_misses,
        )
        .ok();
    }
    for cost in &costs {
        let notes = notes(cost);
        if !notes.is_empty() {
            write!(text, "\n{}: {}", short_name(&cost.path), notes.join(", ")).ok();
        }
    }
    let legend = "Start: loading. Events: time that the session waited for its handlers, without dialogs, and for the \
        longest one. Late: frames over 16 ms. Heap: approximate. Prompt: tokens added to each prompt. Miss: prompt \
        cache misses it caused.";
    write!(text, "\n{legend}").ok();
    text
}

/// What has no column.
fn notes(cost: &ExtensionCost) -> Vec<String> {
    let plural = |count: u64, one: &str, many: &str| match count {
        1 => format!("1 {one}"),
        _ => format!("{count} {many}"),
    };
    let mut notes = Vec::new();
    if cost.paused {
        notes.push("paused until /reload".to_owned());
    }
    if cost.on_node {
        notes.push("runs on Node".to_owned());
    }
    if cost.errors > 0 {
        notes.push(plural(cost.errors, "error", "errors"));
    }
    if cost.children > 0 {
        notes.push(plural(cost.children, "child process", "child processes"));
    }
    notes
}

fn unless_on_node(cost: &ExtensionCost, value: impl FnOnce() -> String) -> String {
    if cost.on_node {
        return "–".to_owned();
    }
    value()
}

/// The file name, or the directory of an `index` file, cut to its column.
fn short_name(path: &str) -> String {
    let path = Path::new(path);
    let stem = path.file_stem().unwrap_or_default();
    let name = match path.parent().and_then(Path::file_name) {
        Some(directory) if stem == "index" => directory,
        _ => stem,
    };
    let name = name.to_string_lossy();
    if name.chars().count() <= NAME_WIDTH {
        return name.into_owned();
    }
    let start: String = name.chars().take(NAME_WIDTH - 1).collect();
    start + "…"
}

fn time(milliseconds: f64) -> String {
    if milliseconds >= 10_000.0 {
        format!("{:.1}s", milliseconds / 1e3)
    } else if milliseconds >= 10.0 {
        format!("{milliseconds:.0}ms")
    } else {
        format!("{milliseconds:.1}ms")
    }
}

fn size(bytes: u64) -> String {
    let kib = bytes.div_ceil(1024);
    if kib >= 1024 {
        format!("{}M", kib.div_ceil(1024))
    } else {
        format!("{kib}K")
    }
}

fn count(number: u64) -> String {
    if number >= 10_000 {
        format!("{}k", number / 1_000)
    } else {
        number.to_string()
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn the_table_fits_80_columns_and_starts_with_the_slowest() {
        let costs = [
            ExtensionCost {
                path: "/p/quick.ts".to_owned(),
                start_ms: 3.25,
                errors: 1,
                ..ExtensionCost::default()
            },
            ExtensionCost {
                path: "/p/a-rather-long-extension-name/index.ts".to_owned(),
                handler_ms: 123_456.0,
                longest_handler_ms: 9_999.0,
                render_ms: 54.0,
                late_frames: 3,
                heap_bytes: 104_857_600,
                prompt_tokens: 51_234,
                cache_misses: 2,
                children: 2,
                ..ExtensionCost::default()
            },
            ExtensionCost {
                path: "/p/native.ts".to_owned(),
                on_node: true,
                paused: true,
                ..ExtensionCost::default()
            },
        ];
        let text = extension_costs_text(&costs);
        let rows: Vec<&str> = text.lines().take(7).collect();
        assert_eq!(
            rows,
            [
                "Extension           Start  Events Longest  Render  Late    Heap  Prompt Miss",
                "a-rather-long-ext…  0.0ms  123.5s  9999ms    54ms     3    100M     51k    2",
                "quick               3.2ms   0.0ms   0.0ms   0.0ms     0      0K       0    0",
                "native              0.0ms   0.0ms   0.0ms       –     –       –       0    0",
                "",
                "a-rather-long-ext…: 2 child processes",
                "quick: 1 error",
            ]
        );
        assert!(rows.iter().all(|row| row.chars().count() <= 78));
        assert!(text.contains("native: paused until /reload, runs on Node"));
        assert_eq!(extension_costs_text(&[]), "No extensions in this session");
    }
}
