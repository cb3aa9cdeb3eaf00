//! Models as clients see them. A base URL may contain a password, which belongs to requests only.

use std::borrow::Cow;

use crate::Model;

/// Shown instead of a password.
const HIDDEN: &str = "***";

impl Model {
    /// Returns the model without the password of its base URL.
    pub fn without_password(&self) -> Cow<'_, Self> {
        match hide_password(&self.base_url) {
            Some(base_url) => Cow::Owned(Self {
                base_url,
                ..self.clone()
            }),
            None => Cow::Borrowed(self),
        }
    }
}

/// Returns the URL with its password replaced; `None` if it has none.
fn hide_password(url: &str) -> Option<String> {
    let (scheme, rest) = url.split_once("://")?;
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at_checked(end)?;
    let (credentials, host) = authority.rsplit_once('@')?;
    let (user, _) = credentials.split_once(':')?;
    Some(format!("{scheme}://{user}:{HIDDEN}@{host}{path}"))
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn only_a_password_is_hidden() {
        for (url, shown) in [
            ("https://me:secret@host/v1", "https://me:***@host/v1"),
            ("http://me:se@cret:x@host:80", "http://me:***@host:80"),
            ("https://:key@host?x=@", "https://:***@host?x=@"),
        ] {
            assert_eq!(hide_password(url).as_deref(), Some(shown));
        }
        for url in ["https://host/v1", "https://me@host/a:b@c", "", "host:80"] {
            assert_eq!(hide_password(url), None, "{url}");
        }
    }
}
