//! IDs of sessions and entries.

use std::borrow::{Borrow, Cow};
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use serde::de::Visitor;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The longest ID that needs no allocation. A session of a million entries has as many IDs of eight characters.
const INLINE_BYTES: usize = 14;

/// The text of an ID. An ID that fits is always stored inline.
#[derive(Clone)]
enum IdText {
    Inline {
        length: u8,
        bytes: [u8; INLINE_BYTES],
    },
    /// Behind a thin pointer, so that an ID has the size of the inline form.
    Shared(Arc<Box<str>>),
}

impl IdText {
    fn new(text: Cow<'_, str>) -> Self {
        let mut bytes = [0; INLINE_BYTES];
        match (bytes.get_mut(..text.len()), u8::try_from(text.len())) {
            (Some(start), Ok(length)) => {
                start.copy_from_slice(text.as_bytes());
                Self::Inline { length, bytes }
            }
            _ => Self::Shared(Arc::new(text.into_owned().into_boxed_str())),
        }
    }

    fn as_str(&self) -> &str {
        match self {
            Self::Inline { length, bytes } => {
                let text = bytes.get(..usize::from(*length)).unwrap_or_default();
                // It was copied from a string.
                std::str::from_utf8(text).unwrap_or_default()
            }
            Self::Shared(text) => text,
        }
    }
}

/// Reads an ID without an allocation if it fits.
struct IdVisitor;

impl Visitor<'_> for IdVisitor {
    type Value = IdText;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a string")
    }

    fn visit_str<E>(self, text: &str) -> Result<IdText, E> {
        Ok(IdText::new(text.into()))
    }
}

macro_rules! shared_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(transparent))]
        pub struct $name(#[cfg_attr(feature = "schema", schemars(with = "String"))] IdText);

        impl $name {
            pub fn as_str(&self) -> &str {
                self.0.as_str()
            }
        }

        impl PartialEq for $name {
            fn eq(&self, other: &Self) -> bool {
                self.as_str() == other.as_str()
            }
        }

        impl Eq for $name {}

        impl PartialOrd for $name {
            fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
                Some(self.cmp(other))
            }
        }

        impl Ord for $name {
            fn cmp(&self, other: &Self) -> std::cmp::Ordering {
                self.as_str().cmp(other.as_str())
            }
        }

        impl Hash for $name {
            fn hash<H: Hasher>(&self, state: &mut H) {
                self.as_str().hash(state);
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_str(IdVisitor).map(Self)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(self.as_str(), formatter)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str(self.as_str())
            }
        }

        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                self.as_str()
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                self.as_str()
            }
        }

        impl From<&str> for $name {
            fn from(id: &str) -> Self {
                Self(IdText::new(id.into()))
            }
        }

        impl From<String> for $name {
            fn from(id: String) -> Self {
                Self(IdText::new(id.into()))
            }
        }

        impl PartialEq<str> for $name {
            fn eq(&self, other: &str) -> bool {
                self.as_str() == other
            }
        }

        impl PartialEq<&str> for $name {
            fn eq(&self, other: &&str) -> bool {
                self.as_str() == *other
            }
        }
    };
}

shared_id!(
    /// Identifies an entry within its session: usually eight hexadecimal digits.
    EntryId
);
shared_id!(
    /// Identifies a session among all sessions.
    SessionId
);

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    #[test]
    fn ids_of_any_length_behave_like_their_text() {
        let texts = [
            "",
            "a",
            "0123abcd",
            "fourteen-bytes",
            "fifteen-bytes-x",
            "äöüäöüä",
            "äöüäöüäö",
        ];
        let ids = texts.map(EntryId::from);
        let found: HashMap<EntryId, usize> = ids.iter().cloned().zip(0..).collect();
        for (index, (text, id)) in texts.iter().zip(&ids).enumerate() {
            assert_eq!((id.as_str(), id.to_string().as_str()), (*text, *text));
            assert_eq!(EntryId::from((*text).to_owned()), *id);
            assert_eq!(found.get(*text), Some(&index));
            let json = serde_json::to_string(id).unwrap();
            assert_eq!(json, format!("{text:?}"));
            assert_eq!(serde_json::from_str::<EntryId>(&json).unwrap(), *id);
            for (other_text, other) in texts.iter().zip(&ids) {
                assert_eq!(id.cmp(other), text.cmp(other_text));
            }
        }
        let escaped: EntryId = serde_json::from_str(r#""\u0061b""#).unwrap();
        assert_eq!(escaped, "ab");
    }

    #[test]
    fn an_id_is_small() {
        assert_eq!(size_of::<EntryId>(), 16);
        assert_eq!(size_of::<Option<EntryId>>(), 16);
    }
}
