//! Checks that the tests named in `docs/hostile-input.md` exist.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Collects the Rust files below a directory.
fn rust_files(directory: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            rust_files(&path, files);
        } else if path.extension().is_some_and(|it| it == "rs") {
            files.push(path);
        }
    }
}

/// Whether a file of the crate whose path contains all `modules` defines the test.
fn test_exists(crate_name: &str, modules: &[&str], test: &str) -> bool {
    let crate_dir = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("..")
        .join(crate_name);
    let mut files = Vec::new();
    for part in ["src", "tests"] {
        if crate_dir.join(part).is_dir() {
            rust_files(&crate_dir.join(part), &mut files);
        }
    }
    let is_module = |file: &PathBuf| {
        let path = file.strip_prefix(&crate_dir).unwrap().with_extension("");
        let parts: Vec<_> = path.iter().filter_map(|part| part.to_str()).collect();
        modules.iter().all(|module| parts.contains(module))
    };
    let signature = format!("fn {test}(");
    let mut files = files.iter().filter(|file| is_module(file));
    files.any(|file| std::fs::read_to_string(file).unwrap().contains(&signature))
}

#[test]
fn every_listed_test_exists() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/hostile-input.md");
    let page = std::fs::read_to_string(page).unwrap();
    let names: BTreeSet<&str> = page
        .split('`')
        .skip(1)
        .step_by(2)
        .filter(|word| word.contains("::") && word.starts_with("pi"))
        .collect();
    assert!(names.len() > 100, "only {} tests found", names.len());
    let missing: Vec<&&str> = names
        .iter()
        .filter(|name| {
            let parts: Vec<&str> = name.split("::").collect();
            let [crate_name, modules @ .., test] = &parts[..] else {
                return true;
            };
            !test_exists(crate_name, modules, test)
        })
        .collect();
    assert!(missing.is_empty(), "no such tests: {missing:#?}");
}

#[test]
fn the_summary_counts_attacks_and_tests() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/hostile-input.md");
    let page = std::fs::read_to_string(page).unwrap();
    let mut sections = page.split("\n## ").skip(1);
    let summary = sections.next().unwrap();
    assert!(summary.starts_with("Summary"));
    for section in sections {
        let name = section.lines().next().unwrap();
        let rows = section.lines().filter(|line| line.starts_with("| "));
        // Without the heading.
        let attacks = rows.count() - 1;
        let words = section.split('`').skip(1).step_by(2);
        let tests = words.filter(|word| word.contains("::") && word.starts_with("pi"));
        let tests: BTreeSet<&str> = tests.collect();
        let row = format!("| {name} | {attacks} | {} |", tests.len());
        assert!(summary.contains(&row), "expected in the summary: {row}");
    }
}

#[test]
fn every_attack_has_a_test_or_an_explanation() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/hostile-input.md");
    let page = std::fs::read_to_string(page).unwrap();
    let mut numbers = BTreeSet::new();
    for row in page.lines().filter(|line| line.starts_with("| ")) {
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").map(str::trim).collect();
        if let Ok(number) = cells[0].parse::<usize>() {
            numbers.insert(number);
            let (defense, tests) = (cells[2], cells.get(3).copied().unwrap_or_default());
            // An attack without a test needs a longer explanation.
            assert!(tests.contains("::") || defense.len() > 60, "{row}");
        }
    }
    assert_eq!(numbers, (1..=35).collect());
}
