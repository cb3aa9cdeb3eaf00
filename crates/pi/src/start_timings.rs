//! How long the parts of the start took, for `PI_TIMING=1`.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use pi_env::Env;

use crate::output::notice;

/// Enables the report.
const TIMING: &str = "PI_TIMING";

/// Ends the terminal application after its start.
const BENCHMARK: &str = "PI_STARTUP_BENCHMARK";

/// How long the application runs in a benchmark: terminals reply to its queries in this time.
pub(crate) const BENCHMARK_TIME: Duration = Duration::from_millis(150);

/// Whether the terminal application ends after its start.
pub(crate) fn is_benchmark(env: &Env) -> bool {
    let value = env.var(BENCHMARK).unwrap_or_default();
    matches!(value.to_ascii_lowercase().as_str(), "1" | "true" | "yes")
}

/// Measures the parts of the start; does nothing unless enabled.
#[derive(Debug)]
pub(crate) struct StartTimings {
    parts: Option<Vec<(&'static str, Duration)>>,
    last: Instant,
}

impl StartTimings {
    pub(crate) fn begin(env: &Env) -> Self {
        Self {
            parts: (env.var(TIMING).as_deref() == Some("1")).then(Vec::new),
            last: Instant::now(),
        }
    }

    /// Ends a part.
    pub(crate) fn end(&mut self, part: &'static str) {
        if let Some(parts) = &mut self.parts {
            let now = Instant::now();
            parts.push((part, now.duration_since(self.last)));
            self.last = now;
        }
    }

    /// Writes the report to stderr.
    pub(crate) fn report(&self) {
        if let Some(parts) = &self.parts {
            notice(&table(parts));
        }
    }
}

fn table(parts: &[(&str, Duration)]) -> String {
    let mut text = String::from("--- Startup Timings: main ---\n");
    let total: Duration = parts.iter().map(|(_, duration)| *duration).sum();
    for (part, duration) in parts.iter().chain([&("TOTAL", total)]) {
        // Writing to a string cannot fail.
        writeln!(text, "  {part}: {}ms", duration.as_millis()).ok();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_report_ends_with_the_total() {
        let parts = [
            ("a", Duration::from_millis(3)),
            ("b", Duration::from_millis(4)),
        ];
        assert_eq!(
            table(&parts),
            "--- Startup Timings: main ---\n  a: 3ms\n  b: 4ms\n  TOTAL: 7ms\n"
        );
    }
}
