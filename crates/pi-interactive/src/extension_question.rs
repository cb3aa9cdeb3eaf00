//! What extensions ask, as dialogs of ours, and the answers in the extensions' terms.

use std::time::Instant;

use pi_runtime::{DialogResponse, DialogPrompt, ExtensionDialog};

use crate::dialog::Dialog;
use crate::dialogs::{EditorDialog, PromptDialog, Question, QuestionDialog};
use crate::intent::Answer;
use crate::look::Look;

/// Makes the dialog of a question that was asked at this time.
pub(crate) fn dialog(asked: &ExtensionDialog, look: Look, since: Instant) -> Box<dyn Dialog> {
    let question = |title: &str, details: Option<&str>| Question {
        title: title.to_owned(),
        details: details
            .filter(|details| !details.is_empty())
            .map(str::to_owned),
        timeout: asked.timeout,
    };
    match &asked.prompt {
        DialogPrompt::Select { title, options } => Box::new(QuestionDialog::choose(
            look,
            question(title, None),
            options,
            since,
        )),
        DialogPrompt::Confirm { title, message } => {
            let question = question(title, Some(message));
            Box::new(QuestionDialog::confirm(look, question, since))
        }
        DialogPrompt::Input { title, placeholder } => {
            let (question, example) = (question(title, None), placeholder.as_deref());
            Box::new(PromptDialog::open(look, question, example, since))
        }
        DialogPrompt::Editor { title, prefill } => {
            let text = prefill.as_deref().unwrap_or_default();
            Box::new(EditorDialog::open(look, question(title, None), text))
        }
    }
}

/// Returns what an answer means to the extension: its options are known by their text.
pub(crate) fn given(question: &DialogPrompt, answer: Answer) -> DialogResponse {
    match (answer, question) {
        (Answer::Text(text), _) => DialogResponse::Text(text),
        (Answer::Confirmed(yes), _) => DialogResponse::Confirmed(yes),
        (Answer::Chosen(place), DialogPrompt::Select { options, .. }) => options
            .get(place)
            .map_or(DialogResponse::Cancelled, |it| DialogResponse::Text(it.clone())),
        (Answer::Chosen(_) | Answer::Dismissed, _) => DialogResponse::Cancelled,
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
        let answers = [Answer::Chosen(1), Answer::Chosen(2), Answer::Dismissed];
        assert_eq!(
            answers.map(|answer| given(&question, answer)),
            [
                DialogResponse::Text("b".to_owned()),
                DialogResponse::Cancelled,
                DialogResponse::Cancelled,
            ]
        );
    }
}
