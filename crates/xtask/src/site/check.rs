//! Checks a generated site: every link leads to a page and an anchor that exist, and nothing violates its policy.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use regex::Regex;

use anyhow::Result;

/// Returns one sentence per problem of a site, given as its files by path.
pub(super) fn problems(files: &BTreeMap<PathBuf, Vec<u8>>) -> Result<Vec<String>> {
    let reference = Regex::new(r#" (href|src)="([^"]*)""#)?;
    let id = Regex::new(r#" id="([^"]*)""#)?;
    let inline = Regex::new(r#"<script>|<style| style="| on[a-z]+=""#)?;
    let pages: BTreeMap<&Path, &str> = files
        .iter()
        .filter(|(path, _)| path.extension().is_some_and(|it| it == "html"))
        .filter_map(|(path, bytes)| Some((path.as_path(), std::str::from_utf8(bytes).ok()?)))
        .collect();
    let mut problems = Vec::new();
    let mut anchors: BTreeMap<&Path, BTreeSet<&str>> = BTreeMap::new();
    for (path, html) in &pages {
        let mut found = BTreeSet::new();
        for id in id.captures_iter(html).filter_map(|it| it.get(1)) {
            if !found.insert(id.as_str()) {
                problems.push(format!("{}: two elements #{}", path.display(), id.as_str()));
            }
        }
        anchors.insert(path, found);
        if let Some(found) = inline.find(html) {
            problems.push(format!(
                "{}: the policy forbids {}",
                path.display(),
                found.as_str()
            ));
        }
    }
    for (path, html) in &pages {
        for link in reference.captures_iter(html) {
            let target = link.get(2).map_or("", |it| it.as_str());
            let is_link = link.get(1).is_some_and(|it| it.as_str() == "href");
            let problem = match target.split_once("://") {
                Some(_) if is_link => None,
                Some(_) => Some("an image or script of another host"),
                None => problem_of(path, target, files, &anchors),
            };
            if let Some(problem) = problem {
                problems.push(format!("{}: {target}: {problem}", path.display()));
            }
        }
    }
    Ok(problems)
}

fn problem_of(
    page: &Path,
    target: &str,
    files: &BTreeMap<PathBuf, Vec<u8>>,
    anchors: &BTreeMap<&Path, BTreeSet<&str>>,
) -> Option<&'static str> {
    let (file, anchor) = match target.split_once('#') {
        Some((file, anchor)) => (file, Some(anchor)),
        None => (target, None),
    };
    if target.starts_with('/') {
        return Some("not relative");
    }
    let linked = if file.is_empty() {
        page.to_owned()
    } else {
        resolved(page, file)
    };
    if !files.contains_key(&linked) {
        return Some("no such file");
    }
    let is_there = anchor.is_none_or(|anchor| {
        anchors
            .get(linked.as_path())
            .is_some_and(|anchors| anchors.contains(anchor))
    });
    (!is_there).then_some("no such anchor")
}

/// Resolves a relative address like a browser.
fn resolved(page: &Path, file: &str) -> PathBuf {
    let mut path = page.parent().unwrap_or(Path::new("")).to_owned();
    for part in Path::new(file).components() {
        match part {
            Component::ParentDir => {
                path.pop();
            }
            other => path.push(other),
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn each_kind_of_problem_is_found() {
        let files: BTreeMap<PathBuf, Vec<u8>> = [
            (
                "index.html",
                r#"<p id="a"><p id="a"><a href="b.html#x">x</a><a href="b.html#y">y</a><a href="c.html">c</a>
                <a href="/b.html">root</a><a href="https://example.com">out</a><img src="https://example.com/i.png">
                <a href="sub/d.html">d</a><b style="x">"#,
            ),
            ("b.html", r#"<p id="x">"#),
            ("sub/d.html", r##"<a href="../index.html#a">up</a><a href="#gone">gone</a>"##),
        ]
        .into_iter()
        .map(|(path, html)| (PathBuf::from(path), html.as_bytes().to_vec()))
        .collect();
        assert_eq!(
            problems(&files).unwrap(),
            [
                "index.html: two elements #a",
                "index.html: the policy forbids  style=\"",
                "index.html: b.html#y: no such anchor",
                "index.html: c.html: no such file",
                "index.html: /b.html: not relative",
                "index.html: https://example.com/i.png: an image or script of another host",
                "sub/d.html: #gone: no such anchor",
            ]
        );
    }
}
