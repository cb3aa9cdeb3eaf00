//! The page about packages and its explanations of differences.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::compare::{ComparedCall, Verdict};

/// Known differences: `PACKAGE | CALL | REASON`; a `*` at the end of CALL matches any rest. A REASON that starts with
/// `not compared: ` excludes the call.
const EXPLANATIONS: &str = include_str!("explanations.txt");

/// What became of a package.
pub(super) struct PackageRow {
    pub(super) package: String,
    pub(super) version: String,
    pub(super) tools: usize,
    pub(super) commands: usize,
    pub(super) calls: Vec<ComparedCall>,
    /// Why nothing could be compared.
    pub(super) note: Option<String>,
}

/// Counts of a row or of all rows.
#[derive(Debug, Default, PartialEq, Eq)]
struct Counts {
    compared: usize,
    same: usize,
}

impl PackageRow {
    /// Row for a package that could not be compared.
    pub(super) fn failed(package: &str, version: &str, note: String) -> Self {
        let (package, version) = (package.to_owned(), version.to_owned());
        Self {
            package,
            version,
            tools: 0,
            commands: 0,
            calls: Vec::new(),
            note: Some(note),
        }
    }

    fn counts(&self) -> Counts {
        let count =
            |is: &dyn Fn(&Verdict) -> bool| self.calls.iter().filter(|it| is(&it.verdict)).count();
        let same = count(&|it| *it == Verdict::Same);
        Counts {
            compared: same + count(&|it| matches!(it, Verdict::Differs(_))),
            same,
        }
    }

    /// Marks the differences that come from the installation of the reference.
    pub(super) fn mark_not_compared(&mut self) {
        for call in &mut self.calls {
            let reason = explanation(&self.package, &call.name);
            if let (Verdict::Differs(_), Some(reason)) = (&call.verdict, reason)
                && let Some(reason) = reason.strip_prefix(NOT_COMPARED)
            {
                call.verdict = Verdict::NotCompared(reason);
            }
        }
    }

    /// Returns what explains the row: a note, known reasons, the calls that differ without a known reason, and the
    /// number of those that vary.
    fn notes(&self) -> String {
        let mut notes: Vec<String> = self.note.iter().cloned().collect();
        let mut varying = 0;
        let mut excluded: BTreeMap<&str, usize> = BTreeMap::new();
        for call in &self.calls {
            let note_text = match &call.verdict {
                Verdict::Same => continue,
                Verdict::Varies => {
                    varying += 1;
                    continue;
                }
                Verdict::NotCompared(reason) => {
                    *excluded.entry(*reason).or_insert(0_usize) += 1;
                    continue;
                }
                Verdict::Differs(parts) => explanation(&self.package, &call.name).map_or_else(
                    || format!("`{}` differs in {}", call.name, parts.join(", ")),
                    str::to_owned,
                ),
            };
            if !notes.contains(&note_text) {
                notes.push(note_text);
            }
        }
        for (reason, count) in excluded {
            notes.push(format!("{count} not counted: {reason}"));
        }
        if varying > 0 {
            notes.push(format!(
                "{varying} not counted: the TypeScript pi gives no stable result"
            ));
        }
        notes.join("; ")
    }
}

/// Starts the reason of a difference that says nothing about the programs.
const NOT_COMPARED: &str = "not compared: ";

fn explanation(package: &str, call: &str) -> Option<&'static str> {
    EXPLANATIONS.lines().find_map(|line| {
        let mut fields = line.splitn(3, '|').map(str::trim);
        let (name, pattern, reason) = (fields.next()?, fields.next()?, fields.next()?);
        let matches = match pattern.strip_suffix('*') {
            Some(start) => call.starts_with(start),
            None => call == pattern,
        };
        (name == package && matches).then_some(reason)
    })
}

/// Returns the page.
pub(super) fn page(rows: &[PackageRow]) -> String {
    let mut total = Counts::default();
    let mut not_counted = 0;
    let mut table = String::new();
    for row in rows {
        let counts = row.counts();
        total.compared += counts.compared;
        total.same += counts.same;
        not_counted += row.calls.len() - counts.compared;
        let cell = |text: &str| text.replace('|', "\\|").replace('\n', " ");
        writeln!(
            table,
            "| {} | {} | {} | {} | {} | {} | {} |",
            row.package,
            row.version,
            row.tools,
            row.commands,
            counts.compared,
            counts.same,
            cell(&row.notes())
        )
        .unwrap_or_default();
    }
    let thousandths = (1000 * total.same)
        .checked_div(total.compared)
        .unwrap_or_default();
    let share = format!("{}.{}", thousandths / 10, thousandths % 10);
    format!(
        "# Extension packages\n\n\
         What third-party packages do in pi and in the TypeScript pi. Every tool and every command of a package is called in both,\n\
         in RPC mode with a scripted model, and the results, dialogs, notices, status lines, messages, model requests and changed files\n\
         are compared; times, identifiers, colors and the wording of pi's built-in tools are not. **{share} % of {} calls are the same**; {not_counted} more are not counted, see the notes. Try a package yourself:\n\n\
         ```sh\npi install npm:PACKAGE\n```\n\n\
         Generated by `cargo xtask extension-packages`. *Tools* and *Commands* are those that the package registers; a tool is called\n\
         with the required arguments, with all of them, and with each value of an enumeration.\n\n\
         | Package | Version | Tools | Commands | Calls | Same | Notes |\n|---|---|---:|---:|---:|---:|---|\n{table}",
        total.compared
    )
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn a_row_counts_calls_and_names_differences() {
        let call = |name: &str, verdict| ComparedCall {
            name: name.into(),
            verdict,
        };
        let row = PackageRow {
            calls: vec![
                call("a", Verdict::Same),
                call(
                    "b",
                    Verdict::Differs(vec!["results".into(), "files".into()]),
                ),
                call("c", Verdict::Varies),
            ],
            note: None,
            ..PackageRow::failed("p", "1", String::new())
        };
        assert_eq!(
            row.counts(),
            Counts {
                compared: 2,
                same: 1
            }
        );
        let expected = "`b` differs in results, files; 1 not counted: the TypeScript pi gives no stable result";
        assert_eq!(row.notes(), expected);
        assert!(page(&[row]).contains("**50.0 % of 2 calls are the same**; 1 more"));
    }

    #[test]
    fn every_explanation_names_a_listed_package() {
        for line in EXPLANATIONS.lines() {
            let fields: Vec<&str> = line.splitn(3, '|').map(str::trim).collect();
            assert_eq!(fields.len(), 3, "{line}");
            let listed = super::super::PACKAGES.lines().any(|it| {
                it.rsplit_once('@')
                    .is_some_and(|(name, _)| name == fields[0])
            });
            assert!(listed, "{line}");
        }
    }
}
