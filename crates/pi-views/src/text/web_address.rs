//! Decides which addresses are web links; the same check applies to drawing and opening them.

pub fn is_web(address: &str) -> bool {
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
    fn only_http_urls_are_web_addresses() {
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
