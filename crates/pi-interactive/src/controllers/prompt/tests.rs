//! Tests of submission, the queue, shell commands and interruption.

use pi_protocol::QueuedTexts;
use pretty_assertions::assert_eq;

use super::*;
use crate::app::command::listed;
use crate::app::context::TestContext;

struct PromptTester {
    prompt: PromptController,
    app: TestContext,
}

impl PromptTester {
    fn new() -> Self {
        Self {
            prompt: PromptController::default(),
            app: TestContext::default(),
        }
    }

    fn send(&mut self, message: PromptMsg) -> Vec<AppCommand> {
        self.prompt.update(message, &self.app.context())
    }

    fn submit(&mut self, text: &str) -> Vec<AppCommand> {
        self.send(PromptMsg::Submitted {
            text: text.to_owned(),
            delivery: Delivery::Steer,
        })
    }

    /// Types a text into the prompt.
    fn typed(&mut self, text: &str) -> Vec<AppCommand> {
        text.clone_into(&mut self.app.prompt);
        self.send(PromptMsg::Changed)
    }
}

fn shown_queue(commands: &[AppCommand]) -> Option<&QueuedTexts> {
    commands.iter().find_map(|command| match command {
        AppCommand::Display(DisplayCommand::SetQueue(queue)) => Some(queue),
        _ => None,
    })
}

fn set_text(commands: &[AppCommand]) -> Option<&str> {
    commands.iter().find_map(|command| match command {
        AppCommand::Display(DisplayCommand::SetPrompt(text)) => Some(text.as_str()),
        _ => None,
    })
}

fn no_model() -> PromptRefusal {
    PromptRefusal {
        reason: RefusalReason::NoModel,
        message: "no model".to_owned(),
    }
}

#[test]
fn text_is_remembered_and_sent() {
    let mut tester = PromptTester::new();
    let commands = tester.submit("  hello ");
    let [
        AppCommand::Send(_),
        AppCommand::Display(DisplayCommand::AddToHistory(remembered)),
        AppCommand::Session(SessionCommand::Prompt { text, delivery }),
    ] = &commands[..]
    else {
        panic!("{:?}", listed(&commands));
    };
    assert_eq!((remembered.as_str(), text.as_str()), ("hello", "hello"));
    assert_eq!(*delivery, Delivery::Steer);
    assert!(tester.submit(" \n ").is_empty());
}

#[test]
fn a_mistyped_command_is_sent_only_when_submitted_again() {
    let mut tester = PromptTester::new();
    let commands = tester.submit("/modle");
    assert_eq!(set_text(&commands), Some("/modle"));
    assert_eq!(
        listed(&commands).last().unwrap(),
        "Status: Unknown command: /modle. Did you mean /model? Press Enter again to send it as a message."
    );
    let commands = tester.submit("/modle");
    assert_eq!(listed(&commands).last().unwrap(), "session Prompt");
    let commands = tester.submit("/modle");
    assert!(
        set_text(&commands).is_some(),
        "it is asked about once per mistake"
    );
}

#[test]
fn prompts_of_stored_sessions_enter_the_history() {
    let mut tester = PromptTester::new();
    tester.app.session.file = Some("s.jsonl".into());
    let saved = |commands: &[AppCommand]| {
        let mut commands = commands.iter();
        commands.any(|command| matches!(command, AppCommand::SavePrompt(text) if text == "hello"))
    };
    assert!(saved(&tester.submit("hello")));
    tester.app.session.file = None;
    assert!(
        !saved(&tester.submit("hello")),
        "a session in memory leaves nothing behind"
    );
}

#[test]
fn drafts_are_stashed_and_restored_newest_first() {
    let mut tester = PromptTester::new();
    for draft in ["one", "two"] {
        let commands = tester.send(PromptMsg::Stash(draft.to_owned()));
        assert_eq!(set_text(&commands), Some(""));
    }
    for expected in [Some("two"), Some("one"), None] {
        let commands = tester.send(PromptMsg::Stash(String::new()));
        assert_eq!(set_text(&commands), expected);
    }
}

#[test]
fn equal_queued_messages_are_shown_twice_and_restored_twice() {
    let mut tester = PromptTester::new();
    tester.app.session.queue.steering = vec!["again".to_owned(), "again".to_owned()];
    let commands = tester.send(PromptMsg::QueueChanged);
    assert_eq!(shown_queue(&commands).unwrap().steering, ["again", "again"]);

    tester.app.session.queue.steering.pop();
    let commands = tester.send(PromptMsg::QueueChanged);
    assert_eq!(shown_queue(&commands).unwrap().steering, ["again"]);

    tester.app.session.queue.steering.clear();
    "draft".clone_into(&mut tester.app.prompt);
    let texts = vec!["again".to_owned(), "again".to_owned()];
    let interrupted = false;
    let commands = tester.send(PromptMsg::QueueTaken { texts, interrupted });
    assert_eq!(set_text(&commands), Some("again\n\nagain\n\ndraft"));
    assert!(shown_queue(&commands).unwrap().steering.is_empty());
    assert_eq!(
        listed(&commands).last().unwrap(),
        "Status: 2 queued messages restored to the editor"
    );
}

#[test]
fn messages_are_held_during_a_compaction_and_sent_in_order() {
    let mut tester = PromptTester::new();
    tester.app.session.activity.compacting = true;
    tester.submit("first");
    let delivery = Delivery::FollowUp;
    let text = "second".to_owned();
    let commands = tester.send(PromptMsg::Submitted { text, delivery });
    let queue = shown_queue(&commands).unwrap();
    assert_eq!(queue.steering, ["first"]);
    assert_eq!(queue.follow_up, ["second"]);

    tester.app.session.activity.compacting = false;
    let commands = tester.send(PromptMsg::SendHeld);
    assert_eq!(shown_queue(&commands), Some(&QueuedTexts::default()));
    let Some(AppCommand::Session(SessionCommand::SendHeld(held))) = commands.last() else {
        panic!("{:?}", listed(&commands));
    };
    let held: Vec<&str> = held.iter().map(|(text, _)| text.as_str()).collect();
    assert_eq!(held, ["first", "second"]);
    assert!(tester.send(PromptMsg::SendHeld).is_empty());
}

#[test]
fn extension_commands_run_during_a_compaction() {
    let mut tester = PromptTester::new();
    tester.app.session.activity.compacting = true;
    tester.app.session.immediate_commands = vec!["deploy".to_owned()];
    let commands = tester.submit("/deploy now");
    assert_eq!(listed(&commands).last().unwrap(), "session Prompt");
}

#[test]
fn a_prompt_that_races_a_compaction_is_held() {
    let mut tester = PromptTester::new();
    let commands = tester.send(PromptMsg::Prompted {
        text: "late".to_owned(),
        delivery: Delivery::Steer,
        refusal: Some(PromptRefusal {
            reason: RefusalReason::Compacting,
            message: String::new(),
        }),
    });
    assert_eq!(shown_queue(&commands).unwrap().steering, ["late"]);
}

#[test]
fn interrupting_takes_held_messages_back() {
    let mut tester = PromptTester::new();
    tester.app.session.activity.compacting = true;
    tester.submit("held");
    tester.app.session.activity.compacting = false;
    tester.app.session.activity.streaming = true;
    let commands = tester.send(PromptMsg::Interrupt);
    let [AppCommand::Session(SessionCommand::TakeQueue { interrupt, held })] = &commands[..] else {
        panic!("{:?}", listed(&commands));
    };
    assert!(interrupt);
    assert_eq!(held[..], ["held"]);
    assert!(tester.send(PromptMsg::SendHeld).is_empty());
}

#[test]
fn the_innermost_operation_is_interrupted_first() {
    let mut tester = PromptTester::new();
    let activity = &mut tester.app.session.activity;
    (activity.shell, activity.streaming) = (true, true);
    (activity.compacting, activity.retrying) = (true, true);
    let interrupt = |tester: &mut PromptTester| listed(&tester.send(PromptMsg::Interrupt));
    assert_eq!(interrupt(&mut tester), ["change AbortRetry"]);
    tester.app.session.activity.retrying = false;
    assert_eq!(interrupt(&mut tester), ["change AbortCompaction"]);
    tester.app.session.activity.compacting = false;
    assert_eq!(interrupt(&mut tester), ["session TakeQueue"]);
    tester.app.session.activity.streaming = false;
    assert_eq!(interrupt(&mut tester), ["change AbortShell"]);
    tester.app.session.activity.shell = false;
    tester.typed("!ls");
    assert_eq!(interrupt(&mut tester), ["SetPrompt(\"\")"]);
}

#[test]
fn escape_twice_in_an_empty_prompt_opens_the_tree() {
    let mut tester = PromptTester::new();
    let commands = tester.send(PromptMsg::Interrupt);
    assert_eq!(listed(&commands), ["change InterruptHooks"]);
    let commands = tester.send(PromptMsg::Interrupt);
    assert_eq!(
        listed(&commands),
        ["Dialogs(Open(Tree { selected: None }))"]
    );
}

#[test]
fn a_shell_command_marks_the_border() {
    let mut tester = PromptTester::new();
    assert_eq!(listed(&tester.typed("!ls")), ["PaintBorder(BashMode)"]);
    assert!(tester.typed("!ls -l").is_empty());
    assert_eq!(listed(&tester.typed("ls")), ["PaintBorder(ThinkingOff)"]);
}

#[test]
fn one_shell_command_runs_at_a_time() {
    let mut tester = PromptTester::new();
    let commands = tester.submit("!!make");
    let Some(AppCommand::Session(SessionCommand::RunShell { command, excluded })) = commands.last()
    else {
        panic!("{:?}", listed(&commands));
    };
    assert_eq!((command.as_str(), *excluded), ("make", true));

    tester.app.session.activity.shell = true;
    let commands = tester.submit("!ls");
    assert_eq!(set_text(&commands), Some("!ls"));

    // The first command has ended, but its outcome has not arrived: the next one waits for it.
    tester.app.session.activity.shell = false;
    assert_eq!(listed(&tester.submit("!ls")).len(), 1);
    let ended = tester.send(PromptMsg::ShellEnded(BashOutcome {
        exit_code: Some(0),
        cancelled: false,
        truncated: false,
        full_output_path: None,
        error: None,
    }));
    assert_eq!(listed(&ended).last().unwrap(), "session RunShell");
}

#[test]
fn a_refused_prompt_returns_to_the_prompt_unless_something_was_typed() {
    let mut tester = PromptTester::new();
    let refused = |text: &str| PromptMsg::Prompted {
        text: text.to_owned(),
        delivery: Delivery::Steer,
        refusal: Some(PromptRefusal {
            reason: RefusalReason::Other,
            message: "closed".to_owned(),
        }),
    };
    assert_eq!(set_text(&tester.send(refused("a"))), Some("a"));
    "b".clone_into(&mut tester.app.prompt);
    assert_eq!(set_text(&tester.send(refused("a"))), None);
}

#[test]
fn a_prompt_without_a_model_is_restored_once_there_is_one() {
    let mut tester = PromptTester::new();
    let refused = Some(("hello".to_owned(), no_model()));
    let commands = tester.send(PromptMsg::PromptedInTurn { refused });
    assert_eq!(set_text(&commands), None);
    assert_eq!(set_text(&tester.send(PromptMsg::ModelReady)), Some("hello"));
    assert!(tester.send(PromptMsg::ModelReady).is_empty());
}

#[test]
fn initial_prompts_are_sent_once() {
    let mut prompt = PromptController::new(vec![Prompt::text("go")]);
    let app = TestContext::default();
    let commands = prompt.update(PromptMsg::StartNotified, &app.context());
    assert_eq!(listed(&commands), ["session PromptInTurn"]);
    assert!(
        prompt
            .update(PromptMsg::StartNotified, &app.context())
            .is_empty()
    );
}

#[test]
fn the_clear_key_clears_and_then_quits() {
    let mut tester = PromptTester::new();
    assert_eq!(set_text(&tester.send(PromptMsg::Clear)), Some(""));
    assert!(matches!(
        tester.send(PromptMsg::Clear)[..],
        [AppCommand::Quit(ExitReason::Quit)]
    ));
}

#[test]
fn replacing_the_session_forgets_held_messages() {
    let mut tester = PromptTester::new();
    tester.app.session.activity.compacting = true;
    tester.submit("for the old session");
    tester.send(PromptMsg::SessionReplaced);
    assert!(tester.send(PromptMsg::SendHeld).is_empty());
}

#[test]
fn taking_the_queue_back_does_not_interrupt_the_run() {
    let mut tester = PromptTester::new();
    tester.app.session.activity.streaming = true;
    let commands = tester.send(PromptMsg::Dequeue);
    let [AppCommand::Session(SessionCommand::TakeQueue { interrupt, .. })] = &commands[..] else {
        panic!("{:?}", listed(&commands));
    };
    assert!(!interrupt);
    let commands = tester.send(PromptMsg::QueueTaken {
        texts: Vec::new(),
        interrupted: false,
    });
    assert_eq!(set_text(&commands), None, "the draft stays");
    assert_eq!(
        listed(&commands).last().unwrap(),
        "Status: No queued messages"
    );
}

#[test]
fn held_messages_that_are_refused_are_reported_and_restored() {
    let mut tester = PromptTester::new();
    let refusal = PromptRefusal {
        reason: RefusalReason::Other,
        message: "closed".to_owned(),
    };
    let refused = vec![("held".to_owned(), refusal)];
    let commands = tester.send(PromptMsg::HeldSent { refused });
    assert!(shown_queue(&commands).is_some());
    assert_eq!(
        listed(&commands)[1..],
        ["Error: closed", "SetPrompt(\"held\")"]
    );
}

#[test]
fn earlier_prompts_are_remembered_oldest_first() {
    let mut tester = PromptTester::new();
    let newest_first = vec!["second".to_owned(), "first".to_owned()];
    let commands = tester.send(PromptMsg::SessionShown(newest_first));
    assert_eq!(
        listed(&commands)[..2],
        ["AddToHistory(\"first\")", "AddToHistory(\"second\")"]
    );
}

#[test]
fn restored_text_does_not_replace_a_draft() {
    let mut tester = PromptTester::new();
    let restore = || PromptMsg::RestoreText("old".to_owned());
    assert_eq!(set_text(&tester.send(restore())), Some("old"));
    "draft".clone_into(&mut tester.app.prompt);
    assert!(tester.send(restore()).is_empty());
    let replaced = tester.send(PromptMsg::SetText("new".to_owned()));
    assert_eq!(set_text(&replaced), Some("new"));
}

#[test]
fn the_border_shows_the_thinking_level() {
    let mut tester = PromptTester::new();
    tester.app.session.thinking = ThinkingLevel::High;
    assert_eq!(
        listed(&tester.send(PromptMsg::PaintBorder)),
        ["PaintBorder(ThinkingHigh)"]
    );
}

#[test]
fn an_exclamation_mark_alone_is_a_prompt() {
    let mut tester = PromptTester::new();
    let commands = tester.submit("!! ");
    assert_eq!(listed(&commands).last().unwrap(), "session Prompt");
}

#[test]
fn a_command_runs_as_if_it_had_been_typed() {
    let mut tester = PromptTester::new();
    let commands = tester.send(PromptMsg::RunCommand("/tree"));
    assert_eq!(
        listed(&commands),
        ["Dialogs(Open(Tree { selected: None }))"]
    );
}
