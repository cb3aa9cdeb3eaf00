//! Path formatting.

use std::path::Path;

/// Returns a path with the home directory shown as `~`.
pub fn with_tilde(path: &Path, home: Option<&Path>) -> String {
    let below = home
        .filter(|home| !home.as_os_str().is_empty())
        .and_then(|home| path.strip_prefix(home).ok());
    match below {
        Some(below) if below.as_os_str().is_empty() => "~".to_owned(),
        Some(below) => format!("~{}{}", std::path::MAIN_SEPARATOR, below.display()),
        None => path.display().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_paths_below_home_are_shortened() {
        let home = Some(Path::new("/home/user"));
        assert_eq!(with_tilde(Path::new("/home/user"), home), "~");
        assert_eq!(with_tilde(Path::new("/home/user/x"), home), "~/x");
        assert_eq!(
            with_tilde(Path::new("/home/username"), home),
            "/home/username"
        );
        assert_eq!(with_tilde(Path::new("/x"), None), "/x");
    }
}
