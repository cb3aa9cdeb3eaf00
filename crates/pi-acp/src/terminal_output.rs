//! Output of a command as the changes of a growing text.

/// The end of the last text that is searched for in the next one.
const OVERLAP_BYTES: usize = 512;

/// The output that was sent so far.
#[derive(Debug, Default)]
pub(crate) struct SentOutput(String);

impl SentOutput {
    /// Returns what follows the output that was sent. The text may have lost its beginning since.
    pub(crate) fn advance(&mut self, text: &str) -> String {
        let sent = std::mem::replace(&mut self.0, text.to_owned());
        if let Some(more) = text.strip_prefix(&sent) {
            return more.to_owned();
        }
        let start = sent.len().saturating_sub(OVERLAP_BYTES);
        let start = (start..=sent.len()).find(|index| sent.is_char_boundary(*index));
        let end = start
            .and_then(|start| sent.get(start..))
            .unwrap_or_default();
        match text.rfind(end) {
            Some(found) if !end.is_empty() => {
                text.get(found + end.len()..).unwrap_or_default().to_owned()
            }
            _ => text.to_owned(),
        }
    }
}

/// Returns the exit code in the text of a failed command.
pub(crate) fn exit_code(text: &str) -> Option<i64> {
    let (_, code) = text.trim_end().rsplit_once("Command exited with code ")?;
    code.parse().ok()
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn only_new_output_is_sent() {
        let mut sent = SentOutput::default();
        assert_eq!(sent.advance("a\n"), "a\n");
        assert_eq!(sent.advance("a\nb\n"), "b\n");
        assert_eq!(sent.advance("b\nc\n"), "b\nc\n");
        let mut rolling = SentOutput::default();
        let long = "é".repeat(OVERLAP_BYTES);
        rolling.advance(&format!("first\n{long}end"));
        assert_eq!(rolling.advance(&format!("{long}end\nmore")), "\nmore");
    }

    #[test]
    fn the_exit_code_is_found() {
        assert_eq!(exit_code("x\n\nCommand exited with code 3"), Some(3));
        assert_eq!(exit_code("x"), None);
    }
}
