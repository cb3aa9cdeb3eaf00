//! The glob dialect of resource patterns and package manifests.
//!
//! `*` and `?` match within a path segment, `**` spans segments, `{a,b}` and `[abc]` are alternatives, and no
//! wildcard matches a segment that starts with a dot: an exclusion such as `!**/agent/**` must not
//! match everything below `~/.pi/agent`. Matching takes time proportional to pattern length times path length.

use globset::{GlobBuilder, GlobMatcher};

/// Maximum number of alternatives that the braces of a pattern may expand to.
const MAX_ALTERNATIVES: usize = 64;
/// Longer patterns match nothing.
const MAX_PATTERN_BYTES: usize = 4096;

#[derive(Debug, Clone)]
pub(crate) struct PathGlob {
    alternatives: Vec<Vec<GlobSegment>>,
}

/// A segment of a pattern, between slashes.
#[derive(Debug, Clone)]
pub(crate) enum GlobSegment {
    /// `**`: any number of segments.
    AnyDepth,
    Literal(String),
    Wildcard {
        matcher: GlobMatcher,
        dotted: bool,
    },
}

impl GlobSegment {
    /// Compiles a segment; `None` if it is invalid.
    pub(crate) fn new(text: &str) -> Option<Self> {
        if text == "**" {
            return Some(Self::AnyDepth);
        }
        if !text.contains(['*', '?', '[', '\\']) {
            return Some(Self::Literal(text.to_owned()));
        }
        let glob = GlobBuilder::new(text)
            .literal_separator(true)
            .backslash_escape(true)
            .build()
            .ok()?;
        Some(Self::Wildcard {
            matcher: glob.compile_matcher(),
            dotted: text.starts_with('.'),
        })
    }

    /// Returns whether a path component matches.
    pub(crate) fn matches(&self, name: &str) -> bool {
        match self {
            Self::AnyDepth => !name.starts_with('.'),
            Self::Literal(literal) => literal == name,
            Self::Wildcard { matcher, dotted } => {
                !name.is_empty() && (*dotted || !name.starts_with('.')) && matcher.is_match(name)
            }
        }
    }
}

impl PathGlob {
    /// Compiles a pattern; an invalid pattern matches nothing.
    pub(crate) fn new(pattern: &str) -> Self {
        let alternatives = if pattern.len() > MAX_PATTERN_BYTES {
            Vec::new()
        } else {
            expand_braces(pattern)
                .iter()
                .filter_map(|alternative| alternative.split('/').map(GlobSegment::new).collect())
                .collect()
        };
        Self { alternatives }
    }

    /// Returns the brace alternatives, each as a list of segments.
    pub(crate) fn alternatives(&self) -> &[Vec<GlobSegment>] {
        &self.alternatives
    }

    /// Returns whether a path with forward slashes matches.
    pub(crate) fn matches(&self, path: &str) -> bool {
        let names: Vec<&str> = path.split('/').collect();
        self.alternatives
            .iter()
            .any(|segments| segments_match(segments, &names))
    }
}

/// Matches with dynamic programming: `row[n]` is whether the segments so far
/// match exactly the first `n` names.
fn segments_match(segments: &[GlobSegment], names: &[&str]) -> bool {
    let mut row = vec![false; names.len() + 1];
    if let Some(start) = row.first_mut() {
        *start = true;
    }
    for (index, segment) in segments.iter().enumerate() {
        let is_last = index + 1 == segments.len();
        let mut next = vec![false; row.len()];
        let mut reached = false;
        for position in 0..row.len() {
            let here = row.get(position).copied().unwrap_or(false);
            let before = position.checked_sub(1);
            let matches_name = before
                .and_then(|at| names.get(at))
                .is_some_and(|name| segment.matches(name));
            let value = match segment {
                GlobSegment::AnyDepth => {
                    // `reached` carries "some start at or before this name, no dot since".
                    let spans = reached && matches_name;
                    reached = spans || here;
                    // A trailing `**` matches at least one segment.
                    spans || (here && !is_last)
                }
                GlobSegment::Literal(_) | GlobSegment::Wildcard { .. } => {
                    matches_name && before.is_some_and(|at| row.get(at).copied().unwrap_or(false))
                }
            };
            if let Some(cell) = next.get_mut(position) {
                *cell = value;
            }
        }
        row = next;
    }
    row.last().copied().unwrap_or(false)
}

/// Expands `{a,b}` groups, innermost last, up to a fixed number of alternatives.
fn expand_braces(pattern: &str) -> Vec<String> {
    let mut open = vec![pattern.to_owned()];
    let mut done = Vec::new();
    while let Some(text) = open.pop() {
        if done.len() + open.len() >= MAX_ALTERNATIVES {
            return Vec::new();
        }
        match first_group(&text) {
            None => done.push(text),
            Some((before, choices, after)) => {
                for choice in choices.iter().rev() {
                    open.push(format!("{before}{choice}{after}"));
                }
            }
        }
    }
    done
}

/// Splits a pattern around its first `{…,…}` group.
fn first_group(text: &str) -> Option<(&str, Vec<&str>, &str)> {
    let (before, rest) = text.split_once('{')?;
    let mut depth = 0_usize;
    let mut choices = Vec::new();
    let mut start = 0;
    for (index, character) in rest.char_indices() {
        match character {
            '{' => depth += 1,
            ',' if depth == 0 => {
                choices.push(rest.get(start..index)?);
                start = index + 1;
            }
            '}' if depth == 0 => {
                choices.push(rest.get(start..index)?);
                return (choices.len() > 1).then_some((before, choices, rest.get(index + 1..)?));
            }
            '}' => depth -= 1,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn glob_matching() {
        for (pattern, path, expected) in [
            ("*.md", "a.md", true),
            ("*.md", "x/a.md", false),
            ("*.md", ".a.md", false),
            (".*.md", ".a.md", true),
            ("**/no/**", "skills/no/SKILL.md", true),
            ("**/no/**", "no/SKILL.md", true),
            ("**/no/**", "skills/no", false),
            ("**/no", "skills/no", true),
            ("**/agent/**", "/home/u/.pi/agent/skills/x", false),
            ("**", "a/b/c", true),
            ("a/**/d", "a/d", true),
            ("a/**/d", "a/b/c/d", true),
            ("a/**/d", "a/.b/d", false),
            ("{a,b/c}/x", "b/c/x", true),
            ("{a,b/c}/x", "b/x", false),
            ("{a,{b,c}}", "c", true),
            ("{a}", "{a}", true),
            ("a?c", "abc", true),
            ("[ab].ts", "b.ts", true),
            ("[", "[", false),
            ("exact/path.md", "exact/path.md", true),
            ("**/**/**/x", "a/b/c/x", true),
        ] {
            assert_eq!(
                PathGlob::new(pattern).matches(path),
                expected,
                "{pattern} on {path}"
            );
        }
    }

    #[test]
    fn a_pattern_that_explodes_matches_nothing() {
        assert!(!PathGlob::new(&"{a,b}".repeat(40)).matches("a"));
        assert!(!PathGlob::new(&"*".repeat(10_000)).matches("a"));
    }

    proptest! {
        #[test]
        fn any_pattern_meets_any_path(pattern in "[a-c*?{},!./\\[\\]\\\\é-]{0,24}", path in "[a-c./é]{0,24}") {
            let _matched: bool = PathGlob::new(&pattern).matches(&path);
        }

        #[test]
        fn a_plain_path_matches_itself_alone(one in "[a-c/]{0,12}", other in "[a-c/]{0,12}") {
            prop_assert_eq!(PathGlob::new(&one).matches(&other), one == other);
        }

        #[test]
        fn any_depth_covers_whatever_has_no_dot(path in "[a-c]{1,3}(/[a-c]{1,3}){0,5}", dotted in "[a-c]{1,3}/[.][a-c]{1,3}") {
            prop_assert!(PathGlob::new("**").matches(&path));
            prop_assert!(!PathGlob::new("**").matches(&dotted));
        }
    }

    #[test]
    fn nested_wildcards_over_a_deep_path_take_no_time() {
        let pattern = "**/*a*/".repeat(200) + "end";
        assert!(!PathGlob::new(&pattern).matches(&"aaaa/".repeat(1000)));
    }
}
