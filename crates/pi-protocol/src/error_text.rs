//! Formats errors on one line, so that every front end shows the same text.

use std::error::Error;

/// Formats an error and its causes on one line.
pub fn describe_error(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        // Some errors already contain the text of their cause.
        if !text.contains(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        source = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct TestError(&'static str, Option<Box<Self>>);

    impl std::fmt::Display for TestError {
        fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            formatter.write_str(self.0)
        }
    }

    impl Error for TestError {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            self.1.as_deref().map(|cause| cause as _)
        }
    }

    #[test]
    fn each_cause_appears_once() {
        let disk = TestError("the disk is full", None);
        let write = TestError("cannot write: the disk is full", Some(Box::new(disk)));
        let save = TestError("the session is not saved", Some(Box::new(write)));
        assert_eq!(
            describe_error(&save),
            "the session is not saved: cannot write: the disk is full"
        );
    }
}
