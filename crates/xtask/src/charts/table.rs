//! Tables of measurements in Markdown: a column of names, and one column per program.

use anyhow::{Context as _, Result, ensure};

/// Columns that compare the programs.
const COMPARISONS: [&str; 2] = ["Ratio", "Required"];

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Table {
    pub(super) programs: Vec<String>,
    pub(super) rows: Vec<Row>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Row {
    pub(super) name: String,
    /// By program; none if it was not measured.
    pub(super) values: Vec<Option<Value>>,
}

/// A cell such as `1,091 ms`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Value {
    pub(super) text: String,
    /// In the smallest unit of its kind, so that cells of a row can be compared.
    pub(super) amount: f64,
}

impl Table {
    /// Reads the first table of a text.
    pub(super) fn first_in(text: &str) -> Result<Self> {
        let mut lines = text
            .lines()
            .skip_while(|line| !line.starts_with('|'))
            .take_while(|line| line.starts_with('|'))
            .map(cells);
        let header = lines.next().context("there is no table")?;
        let is_program = |title: &&str| !COMPARISONS.contains(title);
        let programs: Vec<&str> = header.into_iter().skip(1).take_while(is_program).collect();
        ensure!(programs.len() > 1, "the table has no columns to compare");
        let rows = lines.skip(1).map(|cells| row(&cells, programs.len()));
        // Ranges and the like cannot be drawn.
        let rows: Vec<Row> = rows
            .filter(|row| row.values.iter().flatten().count() > 1)
            .collect();
        ensure!(!rows.is_empty(), "the table has no rows with numbers");
        Ok(Self {
            programs: programs.into_iter().map(str::to_owned).collect(),
            rows,
        })
    }
}

fn cells(line: &str) -> Vec<&str> {
    line.trim_matches('|').split('|').map(str::trim).collect()
}

fn row(cells: &[&str], programs: usize) -> Row {
    let name = cells.first().copied().unwrap_or_default();
    let values = cells.iter().skip(1).take(programs);
    let mut values: Vec<_> = values.map(|cell| value(cell)).collect();
    values.resize(programs, None);
    Row {
        name: name.replace('`', ""),
        values,
    }
}

fn value(cell: &str) -> Option<Value> {
    let (number, unit) = cell.split_once(' ').unwrap_or((cell, ""));
    let factor = match unit {
        "s" | "GiB" | "GB" => 1000.0,
        _ => 1.0,
    };
    let amount: f64 = number.replace(',', "").parse().ok()?;
    Some(Value {
        text: cell.to_owned(),
        amount: amount * factor,
    })
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn rows_with_numbers_of_all_units_are_read() {
        let table = Table::first_in(
            "Text.\n\n| What | pi | other | Ratio |\n|---|---:|---:|---:|\n\
             | `open` | 161 ms | 4.1 s | 25 |\n| search | 2–3 ms | 4 ms | |\n| turns | 1,200 | 3 | |\n\nEnd.\n",
        )
        .unwrap();
        assert_eq!(table.programs, ["pi", "other"]);
        let names: Vec<&str> = table.rows.iter().map(|row| row.name.as_str()).collect();
        assert_eq!(names, ["open", "turns"]);
        let amounts: Vec<f64> = table.rows[0]
            .values
            .iter()
            .flatten()
            .map(|value| value.amount)
            .collect();
        assert_eq!(amounts, [161.0, 4100.0]);
        assert_eq!(table.rows[1].values[0].as_ref().unwrap().amount, 1200.0);
    }
}
