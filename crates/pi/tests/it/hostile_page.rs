//! The page about hostile input names its proofs; they must exist.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Collects the sources of a crate.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|it| it == "rs") {
            found.push(path);
        }
    }
}

/// Returns whether a file of the crate, below the named modules, has the test.
fn exists(crate_name: &str, modules: &[&str], test: &str) -> bool {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("..")
        .join(crate_name);
    let mut files = Vec::new();
    for part in ["src", "tests"] {
        if folder.join(part).is_dir() {
            sources(&folder.join(part), &mut files);
        }
    }
    let is_module = |file: &PathBuf| {
        let place = file.strip_prefix(&folder).unwrap().with_extension("");
        let parts: Vec<_> = place.iter().filter_map(|part| part.to_str()).collect();
        modules.iter().all(|module| parts.contains(module))
    };
    let head = format!("fn {test}(");
    let mut files = files.iter().filter(|file| is_module(file));
    files.any(|file| std::fs::read_to_string(file).unwrap().contains(&head))
}

#[test]
fn every_test_of_the_page_exists() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/hostile-input.md");
    let page = std::fs::read_to_string(page).unwrap();
    let names: BTreeSet<&str> = page
        .split('`')
        .skip(1)
        .step_by(2)
        .filter(|word| word.contains("::") && word.starts_with("pi"))
        .collect();
    assert!(names.len() > 100, "the page is read: {}", names.len());
    let missing: Vec<&&str> = names
        .iter()
        .filter(|name| {
            let parts: Vec<&str> = name.split("::").collect();
            let [crate_name, modules @ .., test] = &parts[..] else {
                return true;
            };
            !exists(crate_name, modules, test)
        })
        .collect();
    assert!(missing.is_empty(), "no such tests: {missing:#?}");
}

#[test]
fn every_attack_of_the_page_has_a_proof_or_a_reason() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/hostile-input.md");
    let page = std::fs::read_to_string(page).unwrap();
    let mut numbers = BTreeSet::new();
    for row in page.lines().filter(|line| line.starts_with("| ")) {
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").map(str::trim).collect();
        if let Ok(number) = cells[0].parse::<usize>() {
            numbers.insert(number);
            let (what, proof) = (cells[2], cells.get(3).copied().unwrap_or_default());
            // A reason takes more words than a deed.
            assert!(proof.contains("::") || what.len() > 60, "{row}");
        }
    }
    assert_eq!(numbers, (1..=35).collect());
}
