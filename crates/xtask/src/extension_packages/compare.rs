//! Compares the runs of a package in two programs.

use serde_json::Value;

use super::scenario::PackageRun;

/// One call in both programs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ComparedCall {
    pub(super) name: String,
    pub(super) verdict: Verdict,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Verdict {
    Same,
    /// The parts that differ.
    Differs(Vec<String>),
    /// Two runs of the reference differ in the same parts, or it does not finish in time.
    Varies,
    /// The reference cannot do this in the installation that is compared with, for this reason.
    NotCompared(&'static str),
}

/// Compares call by call. Calls that one of the programs had no time for are left out.
pub(super) fn compare(ours: &PackageRun, reference: &PackageRun) -> Vec<ComparedCall> {
    let calls = reference.calls.iter().filter_map(|(name, theirs)| {
        let (_, ours) = ours.calls.iter().find(|(it, _)| it == name)?;
        let parts = differing_parts(ours, theirs);
        // What the reference does not finish in time says nothing.
        let verdict = if theirs["end"] == "timeout" {
            Verdict::Varies
        } else if parts.is_empty() {
            Verdict::Same
        } else {
            Verdict::Differs(parts)
        };
        Some(ComparedCall {
            name: name.clone(),
            verdict,
        })
    });
    calls.collect()
}

/// Marks differences that also appear between two runs of the reference.
pub(super) fn mark_varying(calls: &mut [ComparedCall], first: &PackageRun, second: &PackageRun) {
    for call in calls {
        let Verdict::Differs(parts) = &mut call.verdict else {
            continue;
        };
        let find = |run: &PackageRun| {
            run.calls
                .iter()
                .find(|(name, _)| *name == call.name)
                .map(|(_, it)| it.clone())
        };
        let (Some(first), Some(second)) = (find(first), find(second)) else {
            continue;
        };
        let varying = differing_parts(&first, &second);
        parts.retain(|part| !varying.contains(part));
        if parts.is_empty() {
            call.verdict = Verdict::Varies;
        }
    }
}

fn differing_parts(ours: &Value, theirs: &Value) -> Vec<String> {
    let (Some(ours), Some(theirs)) = (ours.as_object(), theirs.as_object()) else {
        return Vec::new();
    };
    let differs = |name: &&String| ours.get(*name) != theirs.get(*name);
    theirs.keys().filter(differs).cloned().collect()
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;

    fn run(calls: &[(&str, Value)]) -> PackageRun {
        let calls = calls
            .iter()
            .map(|(name, value)| ((*name).to_owned(), value.clone()));
        PackageRun {
            calls: calls.collect(),
            ..PackageRun::default()
        }
    }

    #[test]
    fn a_difference_that_the_reference_has_with_itself_varies() {
        let ours = run(&[
            ("a", json!({"x": 1, "y": 1})),
            ("b", json!({"x": 1})),
            ("c", json!({"x": 1})),
            ("e", json!({"end": "idle"})),
            ("f", json!({"x": 1})),
        ]);
        let first = run(&[
            ("a", json!({"x": 1, "y": 2})),
            ("b", json!({"x": 2})),
            ("c", json!({"x": 1})),
            ("d", json!({})),
            ("e", json!({"end": "timeout"})),
            ("f", json!({"x": 2})),
        ]);
        let second = run(&[
            ("a", json!({"x": 1, "y": 2})),
            ("b", json!({"x": 3})),
            ("f", json!({"x": 2})),
        ]);
        let mut calls = compare(&ours, &first);
        mark_varying(&mut calls, &first, &second);
        let verdicts: Vec<(&str, Verdict)> = calls
            .iter()
            .map(|it| (it.name.as_str(), it.verdict.clone()))
            .collect();
        assert_eq!(
            verdicts,
            [
                ("a", Verdict::Differs(vec!["y".into()])),
                ("b", Verdict::Varies),
                ("c", Verdict::Same),
                ("e", Verdict::Varies),
                // A call after one that does not end is compared like any other.
                ("f", Verdict::Differs(vec!["x".into()])),
            ]
        );
    }
}
