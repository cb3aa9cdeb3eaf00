//! Checks the settings that restrict the model. A file that does not say clearly what they are is an error:
//! ignoring a restriction would allow more.

use std::path::{Path, PathBuf};

use pi_protocol::ConfigScope;
use pi_protocol::settings::SETTING_REFERENCE;
use serde_json::{Map, Value};

use super::decode::{DecodedSettings, RejectedValue};
use crate::regular_file::{self, MAX_BYTES, ReadFileError};

/// The groups of settings that restrict the model.
const GROUPS: [&str; 2] = ["sandbox", "permissions"];

/// A file whose `sandbox` or `permissions` cannot be applied. No session is started with it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: {problem}", file.display())]
pub struct InvalidRestriction {
    pub file: PathBuf,
    problem: String,
}

/// Checks the settings of a file that was read.
pub(super) fn check(file: &Path, decoded: &DecodedSettings) -> Option<InvalidRestriction> {
    let rejected = decoded.rejected.iter().find_map(describe_rejected);
    let problem = rejected.or_else(|| find_unknown_key(&decoded.object))?;
    Some(InvalidRestriction {
        file: file.to_owned(),
        problem,
    })
}

/// Checks a file that is not a JSON object: whether it contains one of the keys as text. A file of the user whose text cannot
/// be read may contain one.
pub(super) fn check_unreadable(
    scope: ConfigScope,
    file: &Path,
    problem: &ReadFileError,
) -> Option<InvalidRestriction> {
    let reason = match problem {
        ReadFileError::Malformed(_) | ReadFileError::NotUtf8 => {
            let bytes = regular_file::read_bytes(file, MAX_BYTES).ok()??;
            let group = find_group(&bytes)?;
            format!("the file contains `{group}`, which must not be ignored")
        }
        ReadFileError::TooLarge { .. } | ReadFileError::Denied(_) | ReadFileError::Io(_)
            if scope == ConfigScope::User =>
        {
            "the file may contain `sandbox` or `permissions`, which must not be ignored".to_owned()
        }
        // A pipe or a device contains no settings.
        ReadFileError::NotRegular
        | ReadFileError::TooLarge { .. }
        | ReadFileError::Denied(_)
        | ReadFileError::Io(_) => return None,
    };
    Some(InvalidRestriction {
        file: file.to_owned(),
        problem: format!("{problem}, and {reason}"),
    })
}

/// Checks settings that do not come from a file: returns what is wrong.
pub fn check_restrictions(object: &Map<String, Value>) -> Result<(), String> {
    find_unknown_key(object).map_or(Ok(()), Err)
}

fn describe_rejected(rejected: &RejectedValue) -> Option<String> {
    let key = rejected.key.split('[').next().unwrap_or_default();
    let group = key.split('.').next().unwrap_or_default();
    if !GROUPS.contains(&group) || is_null(rejected) {
        return None;
    }
    let expected = match key {
        "sandbox" => r#"an object, such as {"mode": "read-only"}"#.to_owned(),
        "permissions" => r#"an object, such as {"deny": ["bash"]}"#.to_owned(),
        _ => match SETTING_REFERENCE.iter().find(|row| row.key == key) {
            Some(row) if row.values == "list of rules" => {
                r#"a list of rules, such as ["bash(git push *)"]"#.to_owned()
            }
            Some(row) if row.values.starts_with("list of ") => {
                format!(r#"a {}, such as ["~/go/bin"]"#, row.values)
            }
            Some(row) => row.values.replace(", ", " or "),
            None => return Some(format!("`{}`: {}", rejected.key, rejected.problem)),
        },
    };
    Some(format!("`{key}` must be {expected}"))
}

/// Whether a group is null, like one that is not set.
fn is_null(rejected: &RejectedValue) -> bool {
    GROUPS.contains(&rejected.key.as_str()) && rejected.problem.contains("null")
}

fn find_unknown_key(object: &Map<String, Value>) -> Option<String> {
    GROUPS.into_iter().find_map(|group| {
        let known = || {
            let keys = SETTING_REFERENCE.iter().map(|row| row.key);
            keys.filter_map(|key| key.strip_prefix(group)?.strip_prefix('.'))
        };
        let keys = object.get(group)?.as_object()?.keys();
        let unknown = keys
            .into_iter()
            .find(|key| !known().any(|known| known == *key))?;
        let unknown: String = unknown.escape_debug().take(80).collect();
        let known = known().collect::<Vec<_>>().join(", ");
        Some(format!(
            "unknown key `{group}.{unknown}`; `{group}` has the keys {known}"
        ))
    })
}

/// Returns the group that a text contains as a key: quoted, or before a colon.
fn find_group(bytes: &[u8]) -> Option<&'static str> {
    // Without NUL, text in UTF-16 is readable, too.
    let text: Vec<u8> = bytes.iter().copied().filter(|byte| *byte != 0).collect();
    let text = String::from_utf8_lossy(&text).to_ascii_lowercase();
    let is_quote = |text: &str| text.starts_with(['"', '\'']);
    GROUPS.into_iter().find(|group| {
        text.match_indices(group).any(|(start, _)| {
            let before = text.get(..start).unwrap_or_default();
            let after = text.get(start + group.len()..).unwrap_or_default();
            let is_word = before.ends_with(|it: char| it.is_alphanumeric());
            let is_quoted = before.ends_with(['"', '\'']) && is_quote(after);
            is_quoted
                || !is_word
                    && after
                        .trim_start_matches(['"', '\''])
                        .trim_start()
                        .starts_with(':')
        })
    })
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::super::decode::decode;
    use super::*;

    fn problem(settings: Value) -> Option<String> {
        let Value::Object(object) = settings else {
            panic!("an object is expected");
        };
        check(Path::new("f"), &decode(object)).map(|invalid| invalid.to_string())
    }

    #[test]
    fn restrictions_that_are_not_understood_are_found() {
        for (settings, expected) in [
            (
                json!({"sandbox": "read-only"}),
                r#"f: `sandbox` must be an object, such as {"mode": "read-only"}"#,
            ),
            (
                json!({"permissions": ["bash"]}),
                r#"f: `permissions` must be an object, such as {"deny": ["bash"]}"#,
            ),
            (
                json!({"permissions": {"deny": "bash"}}),
                r#"f: `permissions.deny` must be a list of rules, such as ["bash(git push *)"]"#,
            ),
            (
                json!({"sandbox": {"writable": [1]}}),
                r#"f: `sandbox.writable` must be a list of paths, such as ["~/go/bin"]"#,
            ),
            (
                json!({"sandbox": {"keepTried": "yes"}}),
                "f: `sandbox.keepTried` must be true or false",
            ),
            (
                json!({"permissions": {"denied": []}}),
                "f: unknown key `permissions.denied`; `permissions` has the keys deny, ask, try, allow",
            ),
        ] {
            assert_eq!(problem(settings).as_deref(), Some(expected));
        }
        let unknown = problem(json!({"sandbox": {"Mode": "read-only"}, "theme": 1})).unwrap();
        assert!(
            unknown.starts_with("f: unknown key `sandbox.Mode`; `sandbox` has the keys mode, ")
        );
    }

    #[test]
    fn other_settings_are_not_restrictions() {
        for settings in [
            json!({}),
            json!({"sandbox": null, "permissions": null}),
            json!({"sandbox": {"mode": null, "denyRead": []}, "permissions": {"try": []}}),
            json!({"theme": 1, "sandboxes": 1, "other": {"sandbox": 1}}),
            // The session reports these.
            json!({"sandbox": {"mode": "zz"}, "permissions": {"deny": [1]}}),
        ] {
            assert_eq!(problem(settings), None);
        }
    }

    #[test]
    fn keys_are_found_in_malformed_text() {
        let utf16: Vec<u8> = r#"{"sandbox":"#.encode_utf16().flat_map(u16::to_le_bytes).collect();
        for text in [
            br#"{"sandbox":{"mode":"read-only"},}"#.as_slice(),
            br#"{"permissions" {}"#,
            b"{sandbox: {}}",
            b"{'Permissions': {}}",
            br#"{"sandbox: {}}"#,
            b"\xff{\"sandbox\": {}}",
            &utf16,
        ] {
            assert!(
                find_group(text).is_some(),
                "{}",
                String::from_utf8_lossy(text)
            );
        }
        for text in [
            br#"{"theme": "a sandbox","#.as_slice(),
            br#"{"mysandbox": 1,"#,
            b"{\"a\": 1,} // permissions",
        ] {
            assert_eq!(find_group(text), None, "{}", String::from_utf8_lossy(text));
        }
    }
}
