//! Finds the text a model probably meant, for the message about a miss.
//!
//! Lines that agree but for blanks vote for the place where the whole would begin. When no line
//! agrees, the line most like the longest one wanted is taken, if it is like it at all. Both ways
//! are linear in the size of the file.

use std::collections::HashMap;

use super::fuzzy::comparable;

/// More lines than this are not worth quoting: the line number says the rest.
const MOST_LINES: usize = 12;

/// Characters quoted of one line.
const MOST_CHARACTERS: usize = 300;

/// Bytes of a file that are looked through; a miss in a larger one must not take long to tell.
const MOST_BYTES: usize = 8 * 1024 * 1024;

/// The share of letter pairs two lines must have in common to be called alike.
const LEAST_LIKENESS: f64 = 0.5;

/// A part of the file that resembles the text looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Nearest {
    /// The first line, counted from 1.
    pub(super) line: usize,
    /// The lines as they stand in the file.
    pub(super) text: String,
}

impl std::fmt::Display for Nearest {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "at line {}:\n{}", self.line, self.text)
    }
}

/// Returns the part of the text most like the one looked for.
pub(super) fn nearest(text: &str, wanted: &str) -> Option<Nearest> {
    if text.len() > MOST_BYTES {
        return None;
    }
    let lines: Vec<&str> = text.lines().collect();
    let wanted: Vec<String> = wanted.lines().map(essence).collect();
    let start = most_agreeing(&lines, &wanted).or_else(|| most_alike(&lines, &wanted))?;
    let quoted: Vec<String> = lines
        .iter()
        .skip(start)
        .take(wanted.len().min(MOST_LINES))
        .map(|line| quote(line))
        .collect();
    Some(Nearest {
        line: start + 1,
        text: quoted.join("\n"),
    })
}

fn quote(line: &str) -> String {
    let mut quoted: String = line.chars().take(MOST_CHARACTERS).collect();
    if quoted.len() < line.len() {
        quoted.push('…');
    }
    quoted
}

/// A line without what models get wrong most: its blanks.
fn essence(line: &str) -> String {
    comparable(line).split_whitespace().collect()
}

/// The place at which most lines agree.
fn most_agreeing(lines: &[&str], wanted: &[String]) -> Option<usize> {
    let mut places: HashMap<&str, Vec<usize>> = HashMap::new();
    for (offset, line) in wanted.iter().enumerate() {
        // Lone brackets agree everywhere and say nothing.
        if line.chars().any(char::is_alphanumeric) {
            places.entry(line).or_default().push(offset);
        }
    }
    let mut votes: HashMap<usize, usize> = HashMap::new();
    for (number, line) in lines.iter().enumerate() {
        for offset in places.get(essence(line).as_str()).into_iter().flatten() {
            *votes.entry(number.saturating_sub(*offset)).or_default() += 1;
        }
    }
    votes
        .into_iter()
        .max_by_key(|(start, count)| (*count, std::cmp::Reverse(*start)))
        .map(|(start, _)| start)
}

/// The place at which the longest wanted line finds the line most like it.
fn most_alike(lines: &[&str], wanted: &[String]) -> Option<usize> {
    let (offset, longest) = wanted
        .iter()
        .enumerate()
        .max_by_key(|(_, line)| line.len())?;
    let pairs = letter_pairs(longest);
    let likeness = |line: &str| {
        let found = essence(line);
        let size = pairs.values().sum::<usize>() + found.chars().count().saturating_sub(1);
        let mut left = pairs.clone();
        let common = pairs_of(&found)
            .filter(|pair| take(&mut left, *pair))
            .count();
        #[expect(
            clippy::cast_precision_loss,
            reason = "a ratio to compare with another"
        )]
        let share = (2 * common) as f64 / size.max(1) as f64;
        share
    };
    let (line, best) = lines
        .iter()
        .map(|line| likeness(line))
        .enumerate()
        .max_by(|(at, one), (place, other)| one.total_cmp(other).then(place.cmp(at)))?;
    (best >= LEAST_LIKENESS).then_some(line.saturating_sub(offset))
}

type Pairs = HashMap<(char, char), usize>;

fn pairs_of(line: &str) -> impl Iterator<Item = (char, char)> {
    line.chars().zip(line.chars().skip(1))
}

fn letter_pairs(line: &str) -> Pairs {
    let mut pairs = Pairs::new();
    for pair in pairs_of(line) {
        *pairs.entry(pair).or_default() += 1;
    }
    pairs
}

fn take(pairs: &mut Pairs, pair: (char, char)) -> bool {
    match pairs.get_mut(&pair) {
        Some(count) if *count > 0 => {
            *count -= 1;
            true
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn the_place_most_like_the_wanted_text_is_found() {
        let text = "fn one() {\n    let a = 1;\n}\n\nfn two() {\n    let b = compute(2);\n}\n";
        for (wanted, line, found) in [
            ("let a = 1;\n}", 2, "    let a = 1;\n}"),
            (
                "fn two() {\n  let b = compute(2);",
                5,
                "fn two() {\n    let b = compute(2);",
            ),
            ("    let b = compute(3);", 6, "    let b = compute(2);"),
            (
                "fn one() {\n    let a = 2;\n}",
                1,
                "fn one() {\n    let a = 1;\n}",
            ),
        ] {
            let nearest = nearest(text, wanted).unwrap();
            assert_eq!(
                (nearest.line, nearest.text.as_str()),
                (line, found),
                "{wanted:?}"
            );
        }
    }

    #[test]
    fn what_resembles_nothing_has_no_nearest_text() {
        assert_eq!(nearest("alpha\nbeta\n", "zzzz qqqq"), None);
        assert_eq!(nearest("", "x"), None);
        assert_eq!(nearest("}\n}\n", "}"), None);
    }

    #[test]
    fn long_quotes_are_cut() {
        let text = "x".repeat(1000);
        let nearest = nearest(&text, &"x".repeat(999)).unwrap();
        assert_eq!(nearest.text.chars().count(), MOST_CHARACTERS + 1);
    }
}
