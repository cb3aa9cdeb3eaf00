//! Tests of approvals.

use pretty_assertions::assert_eq;
use serde_json::json;

use super::*;
use crate::app::message::AppMsg;

fn request(id: &str, tool: &str, command: &str) -> Request {
    serde_json::from_value(json!({
        "id": id,
        "call": "call",
        "method": "approval",
        "toolName": tool,
        "args": {"command": command},
        "reason": "writes files"
    }))
    .unwrap()
}

/// What the commands do: questions with their details, answers, closed dialogs.
fn steps(commands: &[AppCommand]) -> Vec<String> {
    let steps = commands.iter().map(|command| match command {
        AppCommand::Send(AppMsg::Dialogs(DialogMsg::Ask { request, asker })) => {
            assert_eq!(*asker, Asker::Approval);
            let DialogRequest::Choose { question, choices } = request else {
                panic!("not a choice: {request:?}");
            };
            assert!(question.guards_type_ahead);
            assert_eq!(choices, &CHOICES);
            let details = question.details.as_deref().unwrap_or_default();
            format!("{} {details}", question.title)
        }
        AppCommand::Session(SessionCommand::Answer { request, answer }) => {
            format!("{request}: {answer:?}")
        }
        AppCommand::Send(AppMsg::Dialogs(DialogMsg::Finish(Asker::Approval))) => "close".to_owned(),
        other => panic!("unexpected: {other:?}"),
    });
    steps.collect()
}

#[test]
fn calls_are_asked_about_one_at_a_time() {
    let mut approvals = ApprovalController::default();
    let first = approvals.update(ApprovalMsg::Requested(request("1", "bash", "ls")));
    assert_eq!(steps(&first), ["Allow bash? writes files\nls"]);
    let second = approvals.update(ApprovalMsg::Requested(request("2", "write", "a")));
    assert!(second.is_empty());
    let allowed = approvals.update(ApprovalMsg::Answered(QuestionAnswer::Chosen(1)));
    assert_eq!(
        steps(&allowed),
        ["1: Allow", "Allow write? writes files\na"]
    );
    let denied = approvals.update(ApprovalMsg::Answered(QuestionAnswer::Chosen(0)));
    assert_eq!(steps(&denied), ["2: Deny { reason: None }"]);
}

#[test]
fn closing_the_question_denies_the_call() {
    let mut approvals = ApprovalController::default();
    approvals.update(ApprovalMsg::Requested(request("1", "bash", "ls")));
    let closed = approvals.update(ApprovalMsg::Answered(QuestionAnswer::Dismissed));
    assert_eq!(steps(&closed), ["1: Deny { reason: None }"]);
}

#[test]
fn an_answer_of_another_client_closes_the_question() {
    let mut approvals = ApprovalController::default();
    approvals.update(ApprovalMsg::Requested(request("1", "bash", "a")));
    approvals.update(ApprovalMsg::Requested(request("2", "bash", "b")));
    approvals.update(ApprovalMsg::Requested(request("3", "bash", "c")));
    let waiting = approvals.update(ApprovalMsg::Resolved(RequestId("2".to_owned())));
    assert!(waiting.is_empty());
    let open = approvals.update(ApprovalMsg::Resolved(RequestId("1".to_owned())));
    assert_eq!(steps(&open), ["close", "Allow bash? writes files\nc"]);
}

#[test]
fn long_arguments_are_shortened() {
    let mut approvals = ApprovalController::default();
    let long = "é".repeat(3000);
    let asked = approvals.update(ApprovalMsg::Requested(request("1", "bash", &long)));
    let text = steps(&asked).join("");
    assert!(text.ends_with("é… (2000 more bytes)"), "{text}");
}
