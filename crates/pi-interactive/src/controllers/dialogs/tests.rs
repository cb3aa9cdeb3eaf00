//! Tests of the dialog stack and of extension dialogs.

use pretty_assertions::assert_eq;

use super::*;
use crate::app::command::listed;
use crate::app::context::TestContext;

#[derive(Default)]
struct DialogTester {
    dialogs: DialogController,
    app: TestContext,
}

impl DialogTester {
    fn send(&mut self, message: DialogMsg) -> Vec<AppCommand> {
        self.dialogs.update(message, &self.app.context())
    }

    /// Opens a dialog and returns its key.
    fn open(&mut self, message: DialogMsg) -> DialogKey {
        let commands = self.send(message);
        opened(&commands).unwrap_or_else(|| panic!("{:?}", listed(&commands)))
    }

    fn ask(&mut self, asker: Asker) -> DialogKey {
        let request = DialogRequest::Hotkeys;
        self.open(DialogMsg::Ask { request, asker })
    }

    fn extension_asks(
        &mut self,
        id: DialogId,
    ) -> (Vec<AppCommand>, oneshot::Receiver<DialogResponse>) {
        let (answer, answered) = oneshot::channel();
        let dialog = ExtensionDialog {
            id: "request".to_owned(),
            prompt: DialogPrompt::Confirm {
                title: "Sure?".to_owned(),
                message: String::new(),
            },
            timeout: None,
        };
        let commands = self.send(DialogMsg::ExtensionAsked { id, dialog, answer });
        (commands, answered)
    }
}

fn opened(commands: &[AppCommand]) -> Option<DialogKey> {
    commands.iter().find_map(|command| match command {
        AppCommand::OpenDialog { key, .. } => Some(*key),
        _ => None,
    })
}

fn closed(commands: &[AppCommand]) -> Vec<DialogKey> {
    commands
        .iter()
        .filter_map(|command| match command {
            AppCommand::CloseDialog(key) => Some(*key),
            _ => None,
        })
        .collect()
}

fn dialog_ids() -> (DialogId, DialogId) {
    let first = DialogId::default().next();
    (first, first.next())
}

#[test]
fn dialogs_are_closed_independently_of_their_order() {
    let mut tester = DialogTester::default();
    let lower = tester.open(DialogMsg::Open(DialogRequest::Settings));
    let upper = tester.open(DialogMsg::Open(DialogRequest::Resume { search: None }));
    assert_ne!(lower, upper);
    assert_eq!(closed(&tester.send(DialogMsg::Done(lower))), [lower]);
    assert_eq!(closed(&tester.send(DialogMsg::Done(upper))), [upper]);
}

#[test]
fn the_answer_goes_to_the_controller_that_asked() {
    let mut tester = DialogTester::default();
    let share = tester.ask(Asker::Share);
    let llama = tester.ask(Asker::Llama);
    let answer = QuestionAnswer::Chosen(1);
    let commands = tester.send(DialogMsg::Answered {
        key: share,
        answer: answer.clone(),
    });
    assert_eq!(listed(&commands), ["Share(Answered(Chosen(1)))"]);
    let again = DialogMsg::Answered {
        key: share,
        answer: answer.clone(),
    };
    assert!(tester.send(again).is_empty(), "a question has one answer");
    let commands = tester.send(DialogMsg::Answered { key: llama, answer });
    assert_eq!(listed(&commands), ["Llama(Answered(Chosen(1)))"]);
}

#[test]
fn finished_work_closes_its_own_dialog_only() {
    let mut tester = DialogTester::default();
    let progress = tester.ask(Asker::Llama);
    tester.open(DialogMsg::Open(DialogRequest::Settings));
    let commands = tester.send(DialogMsg::Finish(Asker::Llama));
    assert_eq!(closed(&commands), [progress]);
    assert!(tester.send(DialogMsg::Finish(Asker::Llama)).is_empty());
}

#[test]
fn extension_dialogs_wait_for_the_users_dialog_and_stack() {
    let mut tester = DialogTester::default();
    let (first, second) = dialog_ids();
    let settings = tester.open(DialogMsg::Open(DialogRequest::Settings));
    let (commands, mut first_answer) = tester.extension_asks(first);
    assert!(commands.is_empty());

    let commands = tester.send(DialogMsg::Done(settings));
    let lower = opened(&commands).unwrap();
    let (commands, mut second_answer) = tester.extension_asks(second);
    let upper = opened(&commands).unwrap();
    for (key, answer) in [(upper, &mut second_answer), (lower, &mut first_answer)] {
        tester.send(DialogMsg::Answered {
            key,
            answer: QuestionAnswer::Confirmed(true),
        });
        answer.try_recv().unwrap();
        assert_eq!(closed(&tester.send(DialogMsg::Done(key))), [key]);
    }
}

#[test]
fn a_withdrawn_dialog_is_closed_below_another() {
    let mut tester = DialogTester::default();
    let (first, second) = dialog_ids();
    let (commands, _first_answer) = tester.extension_asks(first);
    let lower = opened(&commands).unwrap();
    let (_, mut second_answer) = tester.extension_asks(second);
    assert_eq!(tester.dialogs.extension_title(), Some("Sure?"));
    let commands = tester.send(DialogMsg::Withdrawn(first));
    assert_eq!(closed(&commands), [lower]);
    assert!(tester.send(DialogMsg::Withdrawn(first)).is_empty());
    assert!(second_answer.try_recv().is_err(), "still open");
}

#[test]
fn dialogs_of_unloaded_extensions_are_canceled() {
    let mut tester = DialogTester::default();
    let (first, second) = dialog_ids();
    let (_, mut first_answer) = tester.extension_asks(first);
    let (_, mut second_answer) = tester.extension_asks(second);
    let commands = tester.send(DialogMsg::ExtensionsGone);
    assert_eq!(closed(&commands).len(), 2);
    assert!(opened(&commands).is_none());
    assert!(first_answer.try_recv().is_err());
    assert!(second_answer.try_recv().is_err());
}

#[test]
fn replacing_the_session_closes_all_dialogs() {
    let mut tester = DialogTester::default();
    let lower = tester.open(DialogMsg::Open(DialogRequest::Settings));
    let upper = tester.ask(Asker::Share);
    let commands = tester.send(DialogMsg::SessionReplaced);
    assert_eq!(closed(&commands), [lower, upper]);
}

#[test]
fn a_trust_decision_is_returned_to_the_session_that_asked() {
    let mut tester = DialogTester::default();
    let (answer, mut answered) = oneshot::channel();
    let key = tester.open(DialogMsg::TrustAsked {
        cwd: PathBuf::from("/project"),
        choices: vec![TrustChoice::TrustOnce],
        changes: Vec::new(),
        answer,
    });
    let choice = TrustChoice::TrustOnce;
    let chosen = DialogMsg::TrustChosen { key, choice };
    assert!(tester.send(chosen).is_empty());
    assert!(matches!(
        answered.try_recv(),
        Ok(Some(TrustChoice::TrustOnce))
    ));

    let key = tester.open(DialogMsg::Open(DialogRequest::Trust));
    let choice = TrustChoice::DenyOnce;
    let commands = tester.send(DialogMsg::TrustChosen { key, choice });
    assert_eq!(listed(&commands), ["session SaveTrust"]);
}

#[test]
fn a_saved_trust_decision_says_when_it_applies() {
    let mut tester = DialogTester::default();
    let saved = tester.send(DialogMsg::TrustSaved(Ok(())));
    assert_eq!(
        listed(&saved),
        ["Status: Saved. Run /reload or restart to apply."]
    );
    let failed = tester.send(DialogMsg::TrustSaved(Err("read-only".to_owned())));
    assert_eq!(listed(&failed), ["Error: read-only"]);
}

#[test]
fn dismissing_a_trust_question_decides_nothing() {
    let mut tester = DialogTester::default();
    let (answer, mut answered) = oneshot::channel();
    let key = tester.open(DialogMsg::TrustAsked {
        cwd: PathBuf::from("/project"),
        choices: vec![TrustChoice::TrustOnce],
        changes: Vec::new(),
        answer,
    });
    tester.send(DialogMsg::Done(key));
    assert!(answered.try_recv().is_err(), "the session sees no choice");
}
