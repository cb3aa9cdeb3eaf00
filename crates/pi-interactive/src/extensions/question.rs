//! Dialogs for extension questions, and their answers in the extensions' terms.

use std::time::Instant;

use pi_host::{DialogPrompt, DialogResponse, ExtensionDialog};
use pi_views::dialogs::intent::QuestionAnswer;
use pi_views::dialogs::{DialogContents, QuestionOptions};

/// Returns the dialog for a question; `asked_at` is when it was asked.
pub(crate) fn contents(request: ExtensionDialog, asked_at: Instant) -> DialogContents {
    let timeout = request.timeout;
    let question = |title: String, details: Option<String>| QuestionOptions {
        title,
        details: details.filter(|details| !details.is_empty()),
        timeout,
        ..QuestionOptions::default()
    };
    match request.prompt {
        DialogPrompt::Select { title, options } => DialogContents::Choose {
            question: question(title, None),
            choices: options,
            asked_at,
        },
        DialogPrompt::Confirm { title, message } => DialogContents::Confirm {
            question: question(title, Some(message)),
            asked_at,
        },
        DialogPrompt::Input { title, placeholder } => DialogContents::Line {
            question: question(title, None),
            example: placeholder,
            asked_at,
        },
        DialogPrompt::Editor { title, prefill } => DialogContents::Text {
            question: question(title, None),
            text: prefill.unwrap_or_default(),
        },
    }
}

/// Converts an answer for the extension, which identifies options by their text.
pub(crate) fn to_dialog_answer(question: &DialogPrompt, answer: QuestionAnswer) -> DialogResponse {
    match (answer, question) {
        (QuestionAnswer::Text(text), _) => DialogResponse::Text(text),
        (QuestionAnswer::Confirmed(yes), _) => DialogResponse::Confirmed(yes),
        (QuestionAnswer::Chosen(index), DialogPrompt::Select { options, .. }) => {
            options.get(index).map_or(DialogResponse::Cancelled, |it| {
                DialogResponse::Text(it.clone())
            })
        }
        (QuestionAnswer::Chosen(_) | QuestionAnswer::Dismissed, _) => DialogResponse::Cancelled,
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn a_choice_is_answered_with_its_text() {
        let question = DialogPrompt::Select {
            title: String::new(),
            options: vec!["a".to_owned(), "b".to_owned()],
        };
        let answers = [
            QuestionAnswer::Chosen(1),
            QuestionAnswer::Chosen(2),
            QuestionAnswer::Dismissed,
        ];
        assert_eq!(
            answers.map(|answer| to_dialog_answer(&question, answer)),
            [
                DialogResponse::Text("b".to_owned()),
                DialogResponse::Cancelled,
                DialogResponse::Cancelled,
            ]
        );
    }
}
