//! Builds the prompts from piped input, attached files and messages.
//!
//! Piped input and files are prepended to the first message; every other message is a separate prompt.

use std::io::Read as _;

use pi_protocol::ImageContent;

use crate::output::Failure;

/// Larger input is a mistake, not a prompt.
const MAX_PIPE_BYTES: u64 = 256 * 1024 * 1024;

/// The prompts of a run, in order.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Prompts {
    /// The first prompt with its images.
    pub(crate) first: Option<(String, Vec<ImageContent>)>,
    pub(crate) rest: Vec<String>,
}

impl Prompts {
    pub(crate) fn assemble(
        piped: Option<&str>,
        files: &str,
        images: Vec<ImageContent>,
        messages: Vec<String>,
    ) -> Self {
        let mut messages = messages.into_iter();
        let message = messages.next().unwrap_or_default();
        let first = [piped.unwrap_or_default(), files, &message].concat();
        Self {
            first: (!first.is_empty()).then_some((first, images)),
            rest: messages.collect(),
        }
    }
}

/// Reads stdin to the end; `None` if it is blank.
pub(crate) async fn read_pipe() -> Result<Option<String>, Failure> {
    let reading = tokio::task::spawn_blocking(|| {
        let mut bytes = Vec::new();
        let mut stdin = std::io::stdin().lock().take(MAX_PIPE_BYTES + 1);
        stdin.read_to_end(&mut bytes).map(|_| bytes)
    });
    let cannot_read = |error: std::io::Error| Failure::new(format!("cannot read stdin: {error}"));
    let bytes = reading
        .await
        .map_err(std::io::Error::from)
        .and_then(|read| read)
        .map_err(cannot_read)?;
    if bytes.len() as u64 > MAX_PIPE_BYTES {
        let megabytes = MAX_PIPE_BYTES / (1024 * 1024);
        return Err(
            Failure::new(format!("stdin is larger than {megabytes} MiB"))
                .hint("mention the file in the message instead; the model reads what it needs"),
        );
    }
    let text = String::from_utf8_lossy(&bytes);
    let text =
        text.trim_matches(|character: char| character.is_whitespace() || character == '\u{feff}');
    Ok((!text.is_empty()).then(|| text.to_owned()))
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn assemble(
        piped: Option<&str>,
        files: &str,
        messages: &[&str],
    ) -> (Option<String>, Vec<String>) {
        let messages = messages.iter().map(|text| (*text).to_owned()).collect();
        let prompts = Prompts::assemble(piped, files, Vec::new(), messages);
        (prompts.first.map(|(text, _)| text), prompts.rest)
    }

    #[test]
    fn pipe_files_and_first_message_form_one_prompt() {
        for (piped, files, messages, first, rest) in [
            (None, "", vec![], None, vec![]),
            (None, "", vec!["a"], Some("a"), vec![]),
            (None, "", vec!["a", "b", "c"], Some("a"), vec!["b", "c"]),
            (Some("pipe"), "", vec![], Some("pipe"), vec![]),
            (
                Some("pipe"),
                "<f>",
                vec!["a", "b"],
                Some("pipe<f>a"),
                vec!["b"],
            ),
            (None, "<f>", vec![], Some("<f>"), vec![]),
            (None, "", vec!["", "b"], None, vec!["b"]),
        ] {
            let rest: Vec<String> = rest.into_iter().map(str::to_owned).collect();
            let expected = (first.map(str::to_owned), rest);
            assert_eq!(assemble(piped, files, &messages), expected);
        }
    }
}
