//! npm versions and version ranges.
//!
//! The `semver` crate follows Cargo, where `1.2.3` means a caret range; in npm it is exact.

use std::cmp::Ordering;

/// A version with three numbers and an optional prerelease; build metadata is discarded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NpmVersion {
    numbers: [u64; 3],
    prerelease: Vec<Identifier>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Identifier {
    // The variant order matters: numbers sort below words.
    Number(u64),
    Word(String),
}

impl NpmVersion {
    /// Parses a complete version, with an optional leading `v`.
    pub fn parse(text: &str) -> Option<Self> {
        if text.trim().starts_with('=') {
            return None;
        }
        let partial = Partial::parse(text)?;
        let [Some(major), Some(minor), Some(patch)] = partial.numbers else {
            return None;
        };
        Some(Self {
            numbers: [major, minor, patch],
            prerelease: partial.prerelease,
        })
    }
}

impl PartialOrd for NpmVersion {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for NpmVersion {
    fn cmp(&self, other: &Self) -> Ordering {
        self.numbers.cmp(&other.numbers).then_with(|| {
            match (self.prerelease.is_empty(), other.prerelease.is_empty()) {
                (true, true) => Ordering::Equal,
                (true, false) => Ordering::Greater,
                (false, true) => Ordering::Less,
                (false, false) => self.prerelease.cmp(&other.prerelease),
            }
        })
    }
}

/// A version whose numbers may be missing or `x`.
struct Partial {
    numbers: [Option<u64>; 3],
    prerelease: Vec<Identifier>,
}

impl Partial {
    fn parse(text: &str) -> Option<Self> {
        let text = text.trim().trim_start_matches(['=', 'v']);
        let text = text.split_once('+').map_or(text, |(version, _)| version);
        let (core, prerelease) = match text.split_once('-') {
            Some((core, prerelease)) => (core, prerelease),
            None => (text, ""),
        };
        let mut numbers = [None; 3];
        let mut parts = core.split('.');
        for (slot, part) in numbers.iter_mut().zip(parts.by_ref()) {
            *slot = match part {
                "x" | "X" | "*" => None,
                digits if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
                    Some(digits.parse().ok()?)
                }
                _ => return None,
            };
        }
        if parts.next().is_some() || core.is_empty() {
            return None;
        }
        let prerelease = if prerelease.is_empty() {
            Vec::new()
        } else {
            prerelease
                .split('.')
                .map(identifier)
                .collect::<Option<_>>()?
        };
        Some(Self {
            numbers,
            prerelease,
        })
    }

    /// The lowest matching version.
    fn lowest(&self) -> NpmVersion {
        NpmVersion {
            numbers: self.numbers.map(Option::unwrap_or_default),
            prerelease: self.prerelease.clone(),
        }
    }

    /// The first version after all versions that share the first `kept` numbers.
    fn after(&self, kept: usize) -> NpmVersion {
        let mut numbers = [0; 3];
        for (index, slot) in numbers.iter_mut().enumerate().take(kept) {
            *slot = self
                .numbers
                .get(index)
                .copied()
                .flatten()
                .unwrap_or_default();
        }
        if let Some(last) = kept.checked_sub(1).and_then(|last| numbers.get_mut(last)) {
            *last = last.saturating_add(1);
        }
        // `-0` is the lowest prerelease, so prereleases of the next version are excluded.
        NpmVersion {
            numbers,
            prerelease: vec![Identifier::Number(0)],
        }
    }

    /// The number of leading components that are given.
    fn given(&self) -> usize {
        self.numbers
            .iter()
            .take_while(|number| number.is_some())
            .count()
    }
}

fn identifier(text: &str) -> Option<Identifier> {
    if text.is_empty()
        || !text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    {
        return None;
    }
    Some(match text.parse() {
        Ok(number) => Identifier::Number(number),
        Err(_) => Identifier::Word(text.to_owned()),
    })
}

/// A range: a version must satisfy all bounds of any one set.
#[derive(Debug, Clone)]
pub struct NpmRange(Vec<Vec<Bound>>);

#[derive(Debug, Clone)]
enum Bound {
    AtLeast(NpmVersion),
    Above(NpmVersion),
    AtMost(NpmVersion),
    Below(NpmVersion),
    Nothing,
}

impl NpmRange {
    /// Parses a range; returns `None` for a tag such as `latest`.
    pub fn parse(text: &str) -> Option<Self> {
        text.split("||")
            .map(bounds)
            .collect::<Option<_>>()
            .map(Self)
    }

    /// Returns whether a version is in the range. A prerelease is only if a bound names a
    /// prerelease of the same three numbers.
    pub fn contains(&self, version: &NpmVersion) -> bool {
        self.0.iter().any(|bounds| {
            bounds.iter().all(|bound| bound.holds(version))
                && (version.prerelease.is_empty()
                    || bounds
                        .iter()
                        .any(|bound| bound.names_prerelease_of(version)))
        })
    }
}

impl Bound {
    fn holds(&self, version: &NpmVersion) -> bool {
        match self {
            Self::AtLeast(bound) => version >= bound,
            Self::Above(bound) => version > bound,
            Self::AtMost(bound) => version <= bound,
            Self::Below(bound) => version < bound,
            Self::Nothing => false,
        }
    }

    fn names_prerelease_of(&self, version: &NpmVersion) -> bool {
        match self {
            Self::AtLeast(bound)
            | Self::Above(bound)
            | Self::AtMost(bound)
            | Self::Below(bound) => {
                !bound.prerelease.is_empty() && bound.numbers == version.numbers
            }
            Self::Nothing => false,
        }
    }
}

fn bounds(set: &str) -> Option<Vec<Bound>> {
    let set = set.trim();
    if let Some((low, high)) = set.split_once(" - ") {
        let low = Partial::parse(low)?;
        let high = Partial::parse(high)?;
        let upper = match high.given() {
            0 => None,
            3 => Some(Bound::AtMost(high.lowest())),
            given => Some(Bound::Below(high.after(given))),
        };
        return Some(
            [Some(Bound::AtLeast(low.lowest())), upper]
                .into_iter()
                .flatten()
                .collect(),
        );
    }
    let mut result = Vec::new();
    let mut words = set.split_whitespace();
    while let Some(word) = words.next() {
        let operator: String = word.chars().take_while(|c| "<>=~^".contains(*c)).collect();
        let version = word.get(operator.len()..).unwrap_or_default();
        // An operator may be separated by a space: `>= 1.2`.
        let version = if version.is_empty() {
            words.next()?
        } else {
            version
        };
        result.extend(comparator(&operator, &Partial::parse(version)?)?);
    }
    Some(result)
}

fn comparator(operator: &str, version: &Partial) -> Option<Vec<Bound>> {
    let given = version.given();
    let low = version.lowest();
    let everything = given == 0;
    Some(match operator {
        "" | "=" if given == 3 => vec![Bound::AtLeast(low.clone()), Bound::AtMost(low)],
        "" | "=" | "^" | "~" | "~>" | ">=" | "<=" if everything => Vec::new(),
        "<" | ">" if everything => vec![Bound::Nothing],
        "" | "=" => vec![Bound::AtLeast(low), Bound::Below(version.after(given))],
        ">=" => vec![Bound::AtLeast(low)],
        "<" => vec![Bound::Below(low)],
        ">" if given == 3 => vec![Bound::Above(low)],
        ">" => vec![Bound::AtLeast(NpmVersion {
            prerelease: Vec::new(),
            ..version.after(given)
        })],
        "<=" if given == 3 => vec![Bound::AtMost(low)],
        "<=" => vec![Bound::Below(version.after(given))],
        "~" | "~>" => vec![
            Bound::AtLeast(low),
            Bound::Below(version.after(given.min(2))),
        ],
        "^" => {
            // Everything up to the first nonzero number is fixed.
            let leading_zeros = version
                .numbers
                .iter()
                .take_while(|n| **n == Some(0))
                .count();
            let kept = (leading_zeros + 1).min(given);
            vec![Bound::AtLeast(low), Bound::Below(version.after(kept))]
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_match_npm() {
        for (range, version, expected) in [
            ("1.2.3", "1.2.3", true),
            ("1.2.3", "1.2.4", false),
            ("v1.2.3", "1.2.3", true),
            ("^1.2.3", "1.9.0", true),
            ("^1.2.3", "2.0.0", false),
            ("^1.2.3", "2.0.0-rc.1", false),
            ("^0.2.3", "0.2.9", true),
            ("^0.2.3", "0.3.0", false),
            ("^0.0.3", "0.0.4", false),
            ("^0", "0.9.0", true),
            ("~1.2.3", "1.2.9", true),
            ("~1.2.3", "1.3.0", false),
            ("~1", "1.9.0", true),
            ("1.x", "1.4.0", true),
            ("1", "2.0.0", false),
            ("*", "9.9.9", true),
            ("", "1.0.0", true),
            (">=1.2 <2", "1.5.0", true),
            (">= 1.2 < 2", "2.0.0", false),
            (">1.2", "1.2.9", false),
            (">1", "2.0.0-rc.1", false),
            (">1", "2.0.0", true),
            ("<=1.2", "1.2.9", true),
            ("1.0.0 - 1.2", "1.2.9", true),
            ("1.0.0 - 1.2.0", "1.2.1", false),
            ("^1.0.0 || ^3.0.0", "3.1.0", true),
            ("^1.0.0 || ^3.0.0", "2.1.0", false),
            ("^1.0.0-beta.2", "1.0.0-beta.11", true),
            ("^1.0.0-beta.2", "1.0.0-alpha", false),
            ("^1.0.0", "1.1.0-beta", false),
        ] {
            assert_eq!(
                NpmRange::parse(range)
                    .unwrap()
                    .contains(&NpmVersion::parse(version).unwrap()),
                expected,
                "{version} in {range}"
            );
        }
    }

    #[test]
    fn tags_and_invalid_text_are_not_ranges() {
        for text in ["latest", "1.2.3.4", "1..2", "^", "git+ssh", "1.a"] {
            assert!(NpmRange::parse(text).is_none(), "{text}");
        }
    }
}
