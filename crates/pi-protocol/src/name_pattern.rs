//! Patterns for names of tools.

/// Whether a name matches a pattern, in which `*` matches any characters.
pub fn matches_name_pattern(pattern: &str, name: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else {
        return pattern == name;
    };
    let Some(mut name) = name.strip_prefix(first) else {
        return false;
    };
    let (middle, last) = rest.rsplit_once('*').unwrap_or(("", rest));
    // The earliest place of each part leaves most for the others.
    for part in middle.split('*') {
        let Some((_, after)) = name.split_once(part) else {
            return false;
        };
        name = after;
    }
    name.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_characters() {
        for (pattern, name, expected) in [
            ("read", "read", true),
            ("read", "reader", false),
            ("*", "", true),
            ("*", "read", true),
            ("r*", "read", true),
            ("*d", "read", true),
            ("*i*", "write", true),
            ("*i*", "read", false),
            ("a*b*c", "abc", true),
            ("a*b*c", "axxbxxc", true),
            ("a*b*c", "acb", false),
            ("ab*ba", "aba", false),
            ("a**c", "ac", true),
        ] {
            let matched = matches_name_pattern(pattern, name);
            assert_eq!(matched, expected, "{pattern} {name}");
        }
    }
}
