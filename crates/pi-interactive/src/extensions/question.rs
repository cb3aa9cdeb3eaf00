//! Dialogs for extension questions, and their answers in the extensions' terms.

use std::time::Instant;

use pi_runtime::{DialogPrompt, DialogResponse, ExtensionDialog};

use crate::dialogs::dialog::Dialog;
use crate::dialogs::intent::QuestionAnswer;
use crate::dialogs::{EditorDialog, PromptDialog, QuestionDialog, QuestionOptions};
use crate::theme::ui_theme::UiTheme;

/// Creates the dialog for a question; `since` is when it was asked.
pub(crate) fn dialog(request: &ExtensionDialog, ui: UiTheme, since: Instant) -> Box<dyn Dialog> {
    let question = |title: &str, details: Option<&str>| QuestionOptions {
        title: title.to_owned(),
        details: details
            .filter(|details| !details.is_empty())
            .map(str::to_owned),
        timeout: request.timeout,
    };
    match &request.prompt {
        DialogPrompt::Select { title, options } => Box::new(QuestionDialog::choose(
            ui,
            question(title, None),
            options,
            since,
        )),
        DialogPrompt::Confirm { title, message } => {
            let question = question(title, Some(message));
            Box::new(QuestionDialog::confirm(ui, question, since))
        }
        DialogPrompt::Input { title, placeholder } => {
            let (question, example) = (question(title, None), placeholder.as_deref());
            Box::new(PromptDialog::open(ui, question, example, since))
        }
        DialogPrompt::Editor { title, prefill } => {
            let text = prefill.as_deref().unwrap_or_default();
            Box::new(EditorDialog::open(ui, question(title, None), text))
        }
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
