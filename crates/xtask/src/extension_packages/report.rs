//! The table of what was found.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use super::run::{Outcome, Registered};

/// What is known of one package.
pub(super) struct Row {
    package: String,
    version: String,
    ours: Option<Outcome>,
    reference: Option<Outcome>,
    why_not: String,
}

impl Row {
    /// A package npm cannot install.
    pub(super) fn not_installed(package: &str, error: &anyhow::Error) -> Self {
        Self {
            package: package.to_owned(),
            version: String::new(),
            ours: None,
            reference: None,
            why_not: format!("{error:#}"),
        }
    }

    /// A package that was tried.
    pub(super) fn tried(
        package: &str,
        folder: &Path,
        ours: Outcome,
        reference: Option<Outcome>,
    ) -> Self {
        let manifest = std::fs::read_to_string(folder.join("package.json")).unwrap_or_default();
        let manifest: serde_json::Value = serde_json::from_str(&manifest).unwrap_or_default();
        Self {
            package: package.to_owned(),
            version: manifest["version"].as_str().unwrap_or_default().to_owned(),
            ours: Some(ours),
            reference,
            why_not: String::new(),
        }
    }

    fn verdict(&self) -> String {
        match (&self.ours, &self.reference) {
            (None, _) => format!("not installed: {}", self.why_not),
            (Some(Outcome::Loaded(ours)), Some(Outcome::Loaded(theirs))) if ours == theirs => {
                "same".to_owned()
            }
            (Some(Outcome::Loaded(ours)), Some(Outcome::Loaded(theirs))) => {
                format!("differs: {}", difference(ours, theirs))
            }
            (Some(Outcome::Loaded(_)), Some(Outcome::Failed(why))) => {
                format!("loads here only; there: {why}")
            }
            (Some(Outcome::Loaded(_)), None) => "loads".to_owned(),
            (Some(Outcome::Failed(why)), Some(Outcome::Failed(there))) => {
                format!("fails in both: {why}; there: {there}")
            }
            (Some(Outcome::Failed(why)), _) => format!("fails: {why}"),
        }
    }

    fn registered(&self) -> String {
        match &self.ours {
            Some(Outcome::Loaded(found)) => listed(found),
            Some(Outcome::Failed(_)) | None => String::new(),
        }
    }
}

fn parts(found: &Registered) -> [(&'static str, &BTreeSet<String>); 4] {
    [
        ("tools", &found.tools),
        ("commands", &found.commands),
        ("flags", &found.flags),
        ("providers", &found.providers),
    ]
}

fn listed(found: &Registered) -> String {
    let parts = parts(found).into_iter();
    let parts = parts.filter(|(_, names)| !names.is_empty());
    let parts: Vec<String> = parts
        .map(|(kind, names)| {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            format!("{kind}: {}", names.join(", "))
        })
        .collect();
    parts.join("; ")
}

fn difference(ours: &Registered, theirs: &Registered) -> String {
    let mut said = Vec::new();
    for ((kind, ours), (_, theirs)) in parts(ours).into_iter().zip(parts(theirs)) {
        for name in theirs.difference(ours) {
            said.push(format!("{kind} lack {name}"));
        }
        for name in ours.difference(theirs) {
            said.push(format!("{kind} have {name} besides"));
        }
    }
    said.join(", ")
}

/// Writes the page.
pub(super) fn table(rows: &[Row]) -> String {
    let mut page = String::from(
        "# Extension packages that were tried\n\n\
         Written by `cargo xtask extension-packages`: each package is installed with its dependencies, and loaded by this\n\
         program and by the TypeScript pi. *same* means that tools, commands, flags and providers are the same in both.\n\n\
         | Package | Version | Compared | Registers |\n|---|---|---|---|\n",
    );
    for row in rows {
        let cell = |text: &str| text.replace('|', "\\|").replace('\n', " ");
        writeln!(
            page,
            "| {} | {} | {} | {} |",
            row.package,
            row.version,
            cell(&row.verdict()),
            cell(&row.registered())
        )
        .unwrap_or_default();
    }
    page
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn loaded(tools: &[&str], commands: &[&str]) -> Outcome {
        let set = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        Outcome::Loaded(Registered {
            tools: set(tools),
            commands: set(commands),
            ..Registered::default()
        })
    }

    #[test]
    fn a_row_says_what_differs() {
        let row = |ours, theirs| Row::tried("p", Path::new("/nowhere"), ours, Some(theirs));
        let same = row(loaded(&["a"], &["b"]), loaded(&["a"], &["b"]));
        assert_eq!(
            (same.verdict(), same.registered()),
            ("same".into(), "tools: a; commands: b".into())
        );
        let other = row(loaded(&["a", "c"], &[]), loaded(&["a"], &["b"]));
        assert_eq!(
            other.verdict(),
            "differs: tools have c besides, commands lack b"
        );
        let failed = row(Outcome::Failed("why".into()), loaded(&[], &[]));
        assert_eq!(failed.verdict(), "fails: why");
    }
}
