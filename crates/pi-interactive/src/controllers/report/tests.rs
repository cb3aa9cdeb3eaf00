//! Tests of the questions before a report.

use pretty_assertions::assert_eq;

use super::*;
use crate::app::command::listed;

fn answer(report: &mut ReportController, answer: QuestionAnswer) -> Vec<AppCommand> {
    report.update(ReportMsg::Answered(answer))
}

fn title(commands: &[AppCommand]) -> String {
    let line = listed(commands).join("\n");
    let (_, rest) = line.split_once("title: \"").unwrap();
    rest.split('"').next().unwrap().to_owned()
}

#[test]
fn a_report_asks_for_a_description_and_for_the_contents() {
    let mut report = ReportController::default();
    let commands = report.update(ReportMsg::Start(" ".to_owned()));
    assert_eq!(title(&commands), "What went wrong?");
    let commands = answer(&mut report, QuestionAnswer::Text(" it hangs ".to_owned()));
    assert_eq!(title(&commands), "Include the conversation?");
    let commands = answer(&mut report, QuestionAnswer::Chosen(1));
    assert!(matches!(
        &commands[..],
        [AppCommand::WriteReport {
            description: Some(description),
            with_conversation: false,
        }] if description == "it hangs"
    ));
}

#[test]
fn a_given_description_is_not_asked_for() {
    let mut report = ReportController::default();
    let commands = report.update(ReportMsg::Start("it hangs".to_owned()));
    assert_eq!(title(&commands), "Include the conversation?");
}

#[test]
fn dismissing_a_question_writes_nothing() {
    let mut report = ReportController::default();
    for description in ["", "it hangs"] {
        report.update(ReportMsg::Start(description.to_owned()));
        let commands = answer(&mut report, QuestionAnswer::Dismissed);
        assert_eq!(listed(&commands), ["Status: No report written"]);
    }
}

#[test]
fn a_crash_of_the_previous_run_is_reported() {
    let mut report = ReportController::default();
    assert!(report.update(ReportMsg::CrashFound(None)).is_empty());
    let record = Some(PathBuf::from("crash.txt"));
    let commands = report.update(ReportMsg::CrashFound(record));
    assert_eq!(
        listed(&commands),
        ["Warning: pi crashed in the previous run; the session was saved. Crash record: crash.txt"]
    );
}

#[test]
fn a_report_that_cannot_be_written_is_an_error() {
    let mut report = ReportController::default();
    let failed = || "disk full".to_owned();
    for message in [
        ReportMsg::Written(Err(failed())),
        ReportMsg::SessionDescribed(Err(failed())),
    ] {
        assert_eq!(listed(&report.update(message)), ["Error: disk full"]);
    }
    assert_eq!(
        listed(&report.update(ReportMsg::DebugRecordWritten(Err(failed())))),
        ["Error: Cannot write the debug dump: disk full"]
    );
}

#[test]
fn an_answer_without_a_question_writes_nothing() {
    let mut report = ReportController::default();
    let commands = answer(&mut report, QuestionAnswer::Chosen(0));
    assert_eq!(listed(&commands), ["Status: No report written"]);
}
