//! The language of a file.

/// Returns the code-fence language of a file.
pub fn language_of(path: &str) -> &str {
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
    match name.rsplit_once('.') {
        Some((_, extension)) => extension,
        None => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_language_is_the_extension_or_the_name() {
        assert_eq!(language_of("/a/b.tar/c.rs"), "rs");
        assert_eq!(language_of("src/Makefile"), "Makefile");
    }
}
