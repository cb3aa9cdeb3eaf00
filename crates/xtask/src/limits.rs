//! Checks the size of what we write: lines per crate, methods per type, fields per struct. Also finds files that are not
//! compiled (`limits/source_module.rs`).
//!
//! `limits/measure.rs` counts, `limits/exceptions.rs` lists what exceeds a limit today. An exception that is no longer
//! needed fails like a violation, so the lists only shrink.

mod exceptions;
mod measure;
mod source_module;
mod type_table;

use std::collections::HashSet;
use std::fmt::Write as _;
use std::path::PathBuf;

use anyhow::Result;

use exceptions::{EXTERNAL_FORMATS, SizeException};
pub(crate) use source_module::CrateSource;

/// What is counted, each with its limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Metric {
    /// Lines of a crate reachable from its library and its binaries, blank lines and comments included, without
    /// test-only items.
    Lines,
    /// Associated functions in the inherent `impl` blocks of a type, or of a trait.
    Methods,
    /// Fields of a struct or of one enum variant.
    Fields,
}

const METRICS: [Metric; 3] = [Metric::Lines, Metric::Methods, Metric::Fields];

impl Metric {
    const fn limit(self) -> usize {
        match self {
            Self::Lines => 20_000,
            Self::Methods => 40,
            Self::Fields => 20,
        }
    }

    const fn title(self) -> &'static str {
        match self {
            Self::Lines => "Lines of production code per crate",
            Self::Methods => "Methods per type",
            Self::Fields => "Fields per struct",
        }
    }

    const fn unit(self) -> &'static str {
        match self {
            Self::Lines => "lines",
            Self::Methods => "methods",
            Self::Fields => "fields",
        }
    }
}

/// How many of the largest values the report shows per metric.
const SHOWN: usize = 5;

/// One measured value. The name of a crate's own value is the crate, of a type `crate::Type`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Size {
    metric: Metric,
    name: String,
    value: usize,
}

/// The largest values as text, and one sentence per violation.
#[derive(Debug)]
pub(crate) struct LimitReport {
    pub(crate) table: String,
    pub(crate) violations: Vec<String>,
}

/// Measures the crates of a workspace and compares them with the limits.
pub(crate) fn check(crates: &[CrateSource]) -> Result<LimitReport> {
    let mut sizes = Vec::new();
    for source in crates {
        sizes.extend(measure::measure(source)?);
    }
    Ok(LimitReport {
        table: format_table(&sizes, EXTERNAL_FORMATS),
        violations: find_violations(&sizes, EXTERNAL_FORMATS),
    })
}

/// Returns the source files that are not compiled, because no `mod` declares them.
pub(crate) fn undeclared_files(crates: &[CrateSource]) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for source in crates {
        files.extend(source.undeclared_files()?);
    }
    Ok(files)
}

fn find_violations(sizes: &[Size], exceptions: &[SizeException]) -> Vec<String> {
    let mut violations = Vec::new();
    let mut used = HashSet::new();
    for size in sizes {
        if size.value <= size.metric.limit() {
            continue;
        }
        let unit = size.metric.unit();
        match find_exception(exceptions, size) {
            Some(exception) => {
                used.insert((exception.metric, exception.name));
                if size.value > exception.at_most {
                    violations.push(format!(
                        "{} has {} {unit}, more than the {} its exception allows",
                        size.name, size.value, exception.at_most
                    ));
                }
            }
            None => violations.push(format!(
                "{} has {} {unit}, the limit is {}",
                size.name,
                size.value,
                size.metric.limit()
            )),
        }
    }
    let stale = exceptions
        .iter()
        .filter(|exception| !used.contains(&(exception.metric, exception.name)));
    violations.extend(stale.map(|exception| {
        format!(
            "{} needs no exception for its {}: remove it from limits/exceptions.rs",
            exception.name,
            exception.metric.unit()
        )
    }));
    violations
}

fn find_exception<'a>(exceptions: &'a [SizeException], size: &Size) -> Option<&'a SizeException> {
    exceptions
        .iter()
        .find(|exception| exception.metric == size.metric && exception.name == size.name)
}

fn format_table(sizes: &[Size], exceptions: &[SizeException]) -> String {
    let mut table = String::new();
    for metric in METRICS {
        let mut largest: Vec<&Size> = sizes.iter().filter(|size| size.metric == metric).collect();
        largest.sort_by(|a, b| b.value.cmp(&a.value).then_with(|| a.name.cmp(&b.name)));
        let over = largest
            .iter()
            .filter(|size| size.value > metric.limit())
            .count();
        // Writing to a string cannot fail.
        _ = writeln!(
            table,
            "{} (limit {}, {over} over)",
            metric.title(),
            metric.limit()
        );
        for size in largest.iter().take(SHOWN) {
            _ = write!(table, "  {:>6}  {}", size.value, size.name);
            if let Some(exception) = find_exception(exceptions, size) {
                _ = write!(table, " ({})", exception.reason);
            }
            table.push('\n');
        }
    }
    table
}

#[cfg(test)]
mod tests;
