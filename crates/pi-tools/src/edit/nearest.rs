//! Finds the text that the model probably meant, for the error message if a text is not found.
//! Lines that are equal except for whitespace vote for the position where the text would start. If
//! no line is equal, the line most similar to the longest target line is used. Both searches are
//! linear in the size of the file.

use std::collections::HashMap;

use super::fuzzy::normalize;

/// Maximum number of quoted lines; the line number locates the rest.
const MAX_QUOTED_LINES: usize = 12;

/// Maximum number of quoted characters per line.
const MAX_QUOTED_CHARACTERS: usize = 300;

/// Larger files are not searched, so that an error is reported quickly.
const MAX_SEARCHED_BYTES: usize = 8 * 1024 * 1024;

/// Minimum share of common bigrams for two lines to be considered similar.
const MIN_SIMILARITY: f64 = 0.5;

/// A part of the file that is similar to the requested text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NearestText {
    /// Number of the first line, starting at 1.
    pub(super) line: usize,
    /// The lines as they are in the file.
    pub(super) text: String,
}

impl std::fmt::Display for NearestText {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "at line {}:\n{}", self.line, self.text)
    }
}

/// Returns the part of the text that is most similar to the target.
pub(super) fn nearest(text: &str, target: &str) -> Option<NearestText> {
    if text.len() > MAX_SEARCHED_BYTES {
        return None;
    }
    let lines: Vec<&str> = text.lines().collect();
    let target: Vec<String> = target.lines().map(without_whitespace).collect();
    let start =
        find_by_equal_lines(&lines, &target).or_else(|| find_by_similarity(&lines, &target))?;
    let quoted: Vec<String> = lines
        .iter()
        .skip(start)
        .take(target.len().min(MAX_QUOTED_LINES))
        .map(|line| quote(line))
        .collect();
    Some(NearestText {
        line: start + 1,
        text: quoted.join("\n"),
    })
}

fn quote(line: &str) -> String {
    let mut quoted: String = line.chars().take(MAX_QUOTED_CHARACTERS).collect();
    if quoted.len() < line.len() {
        quoted.push('…');
    }
    quoted
}

/// Returns a line without whitespace, which models get wrong most often.
fn without_whitespace(line: &str) -> String {
    normalize(line).split_whitespace().collect()
}

/// Returns the position at which the most lines are equal.
fn find_by_equal_lines(lines: &[&str], target: &[String]) -> Option<usize> {
    let mut offsets_by_line: HashMap<&str, Vec<usize>> = HashMap::new();
    for (offset, line) in target.iter().enumerate() {
        // Lines with only brackets occur everywhere and are not significant.
        if line.chars().any(char::is_alphanumeric) {
            offsets_by_line.entry(line).or_default().push(offset);
        }
    }
    let mut votes: HashMap<usize, usize> = HashMap::new();
    for (number, line) in lines.iter().enumerate() {
        for offset in offsets_by_line
            .get(without_whitespace(line).as_str())
            .into_iter()
            .flatten()
        {
            *votes.entry(number.saturating_sub(*offset)).or_default() += 1;
        }
    }
    votes
        .into_iter()
        .max_by_key(|(start, count)| (*count, std::cmp::Reverse(*start)))
        .map(|(start, _)| start)
}

/// Returns the position at which a line is most similar to the longest target line.
fn find_by_similarity(lines: &[&str], target: &[String]) -> Option<usize> {
    let (offset, longest) = target
        .iter()
        .enumerate()
        .max_by_key(|(_, line)| line.len())?;
    let pairs = count_bigrams(longest);
    let similarity = |line: &str| {
        let found = without_whitespace(line);
        let size = pairs.values().sum::<usize>() + found.chars().count().saturating_sub(1);
        let mut remaining = pairs.clone();
        let common = bigrams(&found)
            .filter(|pair| take_one(&mut remaining, *pair))
            .count();
        #[expect(
            clippy::cast_precision_loss,
            reason = "the ratio is only used for comparison"
        )]
        let share = (2 * common) as f64 / size.max(1) as f64;
        share
    };
    let (line, best) = lines
        .iter()
        .map(|line| similarity(line))
        .enumerate()
        .max_by(|(left, a), (right, b)| a.total_cmp(b).then(right.cmp(left)))?;
    (best >= MIN_SIMILARITY).then_some(line.saturating_sub(offset))
}

type BigramCounts = HashMap<(char, char), usize>;

fn bigrams(line: &str) -> impl Iterator<Item = (char, char)> {
    line.chars().zip(line.chars().skip(1))
}

fn count_bigrams(line: &str) -> BigramCounts {
    let mut pairs = BigramCounts::new();
    for pair in bigrams(line) {
        *pairs.entry(pair).or_default() += 1;
    }
    pairs
}

fn take_one(pairs: &mut BigramCounts, pair: (char, char)) -> bool {
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
    fn the_most_similar_position_is_found() {
        let text = "fn one() {\n    let a = 1;\n}\n\nfn two() {\n    let b = compute(2);\n}\n";
        for (target, line, found) in [
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
            let nearest = nearest(text, target).unwrap();
            assert_eq!(
                (nearest.line, nearest.text.as_str()),
                (line, found),
                "{target:?}"
            );
        }
    }

    #[test]
    fn dissimilar_text_has_no_nearest_text() {
        assert_eq!(nearest("alpha\nbeta\n", "zzzz qqqq"), None);
        assert_eq!(nearest("", "x"), None);
        assert_eq!(nearest("}\n}\n", "}"), None);
    }

    #[test]
    fn long_quotes_are_truncated() {
        let text = "x".repeat(1000);
        let nearest = nearest(&text, &"x".repeat(999)).unwrap();
        assert_eq!(nearest.text.chars().count(), MAX_QUOTED_CHARACTERS + 1);
    }
}
