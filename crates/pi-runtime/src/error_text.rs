//! Errors as one line for people: each front end says the same of the same failure.

use std::error::Error;

/// Returns an error and its causes in one line.
pub fn describe_error(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let told = cause.to_string();
        // Some errors repeat what caused them.
        if !text.contains(&told) {
            text.push_str(": ");
            text.push_str(&told);
        }
        source = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("{0}")]
    struct Step(&'static str, #[source] Option<Box<Self>>);

    #[test]
    fn causes_are_told_once_each() {
        let disk = Step("the disk is full", None);
        let write = Step("cannot write: the disk is full", Some(Box::new(disk)));
        let save = Step("the session is not saved", Some(Box::new(write)));
        assert_eq!(
            describe_error(&save),
            "the session is not saved: cannot write: the disk is full"
        );
    }
}
