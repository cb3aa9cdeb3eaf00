//! The distance between mistyped and known words.

/// Returns how many characters must be inserted, removed or replaced.
pub(crate) fn edit_distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (index, from) in from.chars().enumerate() {
        let mut diagonal = index;
        let mut left = index.saturating_add(1);
        if let Some(first) = row.first_mut() {
            *first = left;
        }
        for (cell, to) in row.iter_mut().skip(1).zip(&to) {
            let replaced = diagonal.saturating_add(usize::from(from != *to));
            diagonal = *cell;
            left = replaced.min(left.min(diagonal).saturating_add(1));
            *cell = left;
        }
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn distances_are_counted() {
        for (from, to, expected) in [
            ("", "", 0),
            ("try", "", 3),
            ("", "try", 3),
            ("try", "try", 0),
            ("workspace", "workspacee", 1),
            ("readonly", "raedonly", 2),
            ("off", "on", 2),
            ("kitten", "sitting", 3),
            ("café", "cafe", 1),
        ] {
            assert_eq!(edit_distance(from, to), expected, "{from} {to}");
        }
    }
}
