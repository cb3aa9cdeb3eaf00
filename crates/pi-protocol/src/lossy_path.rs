//! Serializes paths for clients, which show them. JSON is text: bytes that are not UTF-8 become `U+FFFD`, where the default
//! of serde is an error, and so a panic in `json!`.

use std::path::{Path, PathBuf};

use serde::{Serialize as _, Serializer};

pub(crate) fn path<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    path.to_string_lossy().serialize(serializer)
}

#[expect(clippy::ref_option, reason = "serde passes a reference to the field")]
pub(crate) fn optional<S: Serializer>(
    path: &Option<PathBuf>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let text = path.as_ref().map(|path| path.to_string_lossy());
    text.serialize(serializer)
}

#[cfg(all(test, unix))]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;
    use std::path::PathBuf;

    use pretty_assertions::assert_eq;
    use serde_json::json;

    use crate::{SourceInfo, SourceOrigin, SourceScope};

    #[test]
    fn a_path_that_is_not_utf8_is_serialized() {
        let path = PathBuf::from(OsStr::from_bytes(b"/a\xff"));
        let source = SourceInfo {
            path: path.clone(),
            source: "auto".to_owned(),
            scope: SourceScope::User,
            origin: SourceOrigin::TopLevel,
            base_dir: Some(path),
        };
        let serialized = json!(source);
        assert_eq!(serialized["path"], "/a\u{fffd}");
        assert_eq!(serialized["baseDir"], "/a\u{fffd}");
    }
}
