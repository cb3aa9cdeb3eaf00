//! `cargo xtask charts`: draws the tables of measurements in the manual as bar charts.
//!
//! A page shows a chart with a picture `images/chart-NAME-light.svg` before the table it is drawn from, so both have the
//! same numbers. Each row of the table is a group with one bar per program.

mod svg;
mod table;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use pi_fs::{NewFileMode, atomic_file};

use crate::screenshots::ColorScheme;
use table::Table;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChartsMode {
    Write,
    Check,
}

pub(crate) fn run(mode: ChartsMode) -> Result<String> {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let charts = draw_all(&docs)?;
    for (path, picture) in &charts {
        match mode {
            ChartsMode::Write => {
                atomic_file::write(path, picture.as_bytes(), NewFileMode::Default)
                    .with_context(|| format!("cannot write {}", path.display()))?;
            }
            ChartsMode::Check => {
                let is_current = fs::read_to_string(path).is_ok_and(|current| current == *picture);
                if !is_current {
                    bail!(
                        "{} is out of date\nhint: run `cargo xtask charts`",
                        path.display()
                    );
                }
            }
        }
    }
    Ok(format!("{} charts are up to date", charts.len()))
}

/// Draws the charts of all pages in a directory, each in two color schemes.
fn draw_all(docs: &Path) -> Result<Vec<(PathBuf, String)>> {
    let mut pages = fs::read_dir(docs)
        .with_context(|| format!("cannot list {}", docs.display()))?
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<Vec<_>>>()?;
    pages.retain(|page| page.extension().is_some_and(|extension| extension == "md"));
    pages.sort();
    let mut charts = Vec::new();
    for page in pages {
        let text = fs::read_to_string(&page)?;
        for (name, table) in charts_of(&text).with_context(|| page.display().to_string())? {
            for scheme in [ColorScheme::Dark, ColorScheme::Light] {
                let file = format!("chart-{name}-{}.svg", scheme.name());
                charts.push((docs.join("images").join(file), svg::draw(&table, scheme)));
            }
        }
    }
    Ok(charts)
}

/// Returns the charts that a page shows, with the tables that follow them.
fn charts_of(page: &str) -> Result<Vec<(&str, Table)>> {
    let mut charts = Vec::new();
    let mut rest = page;
    while let Some((_, after)) = rest.split_once("src=\"images/chart-") {
        let (name, after) = after
            .split_once("-light.svg\"")
            .context("the source of a chart does not end in -light.svg")?;
        let table = Table::first_in(after).with_context(|| format!("the chart {name}"))?;
        charts.push((name, table));
        rest = after;
    }
    Ok(charts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn charts_show_the_numbers_of_the_pages() {
        run(ChartsMode::Check).unwrap();
    }

    #[test]
    fn the_readme_has_the_numbers_of_the_page() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let readme = fs::read_to_string(root.join("README.md")).unwrap();
        let page = fs::read_to_string(root.join("docs/performance.md")).unwrap();
        let measured = Table::first_in(&page).unwrap();
        for (title, measurement) in [
            ("Size on disk", "size on disk, including runtime"),
            (
                "Launch until the first key press is echoed",
                "launch until the first key press is echoed (best run)",
            ),
            (
                "Memory, idle in the terminal",
                "interactive mode after 5 s, resident memory",
            ),
            (
                "Key press in a session of 100,000 entries",
                "key press with 100,000 entries, CPU",
            ),
        ] {
            let start = format!("| {title} |");
            let shown = readme.lines().find_map(|line| line.strip_prefix(&start));
            let shown: Vec<&str> = shown.unwrap().split('|').collect();
            let row = measured.rows.iter().find(|row| row.name == measurement);
            for (cell, value) in shown.iter().zip(&row.unwrap().values) {
                let value = &value.as_ref().unwrap().text;
                assert!(
                    cell.contains(&format!(" {value} ")),
                    "{title}: {cell} is not {value}"
                );
            }
        }
    }

    #[test]
    fn a_chart_without_a_table_is_an_error() {
        let picture = "<img src=\"images/chart-speed-light.svg\">\n";
        assert!(charts_of(picture).is_err());
        let page =
            format!("{picture}\n| What | pi | other |\n|---|---:|---:|\n| Start | 2 ms | 4 ms |\n");
        let charts = charts_of(&page).unwrap();
        assert_eq!(charts.len(), 1);
        assert_eq!(charts[0].0, "speed");
    }
}
