//! Which addresses are links: what the program draws as a link is what it opens.

/// Returns whether an address is one for a browser.
pub(crate) fn is_web(address: &str) -> bool {
    ["https://", "http://"].iter().any(|scheme| {
        address
            .get(..scheme.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_of_the_web_are() {
        for (address, expected) in [
            ("https://example.com", true),
            ("HTTP://EXAMPLE.COM", true),
            ("https:/example.com", false),
            ("javascript:https://example.com", false),
            ("file:///etc/passwd", false),
            ("http:/é/", false),
            ("", false),
        ] {
            assert_eq!(is_web(address), expected, "{address}");
        }
    }
}
