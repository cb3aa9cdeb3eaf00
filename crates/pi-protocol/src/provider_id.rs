//! Provider IDs that changed. Files and sessions written with a former ID stay readable.

/// Former and current IDs.
const RENAMED: [(&str, &str); 1] = [("azure-openai-responses", "azure")];

/// Returns the current ID of a provider.
pub fn current(id: &str) -> &str {
    RENAMED
        .iter()
        .find(|(former, _)| *former == id)
        .map_or(id, |(_, current)| *current)
}

/// Returns the former ID of a provider that was renamed.
pub fn former(id: &str) -> Option<&'static str> {
    RENAMED
        .iter()
        .find(|(_, current)| *current == id)
        .map(|(former, _)| *former)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_former_id_becomes_the_current_one() {
        assert_eq!(current("azure-openai-responses"), "azure");
        assert_eq!(current("azure"), "azure");
        assert_eq!(current("openai"), "openai");
        assert_eq!(former("azure"), Some("azure-openai-responses"));
        assert_eq!(former("openai"), None);
    }
}
