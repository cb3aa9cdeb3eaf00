//! A progress dialog that can be canceled.

use pi_tui::{ColorToken, InputContext, InputEvent, InputOutcome, MouseEvent, action};

use super::canvas::{DialogCanvas, HitTarget, RowPriority};
use super::frame::{DialogBody, DialogFrame};
use super::hint::Hint;
use super::intent_sink::IntentSink;
use super::plain_text::sanitize_lines;
use crate::dialogs::dialog::DialogUpdate;
use crate::dialogs::intent::{Intent, QuestionAnswer};
use crate::theme::ui_theme::UiTheme;

const MAX_BAR_WIDTH: usize = 40;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProgressUpdate {
    pub message: String,
    /// Completed fraction from 0 to 1, if known.
    pub share: Option<f64>,
}

/// Shows work in progress. Canceling answers with [`QuestionAnswer::Dismissed`].
#[derive(Debug)]
pub(crate) struct ProgressDialog {
    title: String,
    subject: String,
    progress: ProgressUpdate,
}

impl ProgressDialog {
    /// Opens the dialog; `subject` is what is being processed.
    pub(crate) fn open(ui: UiTheme, title: &str, subject: &str) -> DialogFrame<Self> {
        DialogFrame::new(
            ui,
            Self {
                title: sanitize_lines(title),
                subject: sanitize_lines(subject),
                progress: ProgressUpdate::default(),
            },
        )
    }
}

impl DialogBody for ProgressDialog {
    fn paint(&mut self, canvas: &mut DialogCanvas) {
        canvas.blank();
        canvas.title(&self.title);
        if !self.subject.is_empty() {
            canvas.text(RowPriority::Detail, ColorToken::Text, &self.subject);
        }
        canvas.blank();
        let message = match self.progress.message.as_str() {
            "" => "Please wait…",
            message => message,
        };
        canvas.text(RowPriority::Content, ColorToken::Muted, message);
        if let Some(share) = self.progress.share {
            let line = bar(canvas, share);
            canvas.row(RowPriority::Focus, &line);
        }
        canvas.blank();
        canvas.hints(&[Hint::leave("cancel")]);
    }

    fn handle(
        &mut self,
        event: &InputEvent,
        context: &InputContext<'_>,
        sink: &mut IntentSink,
    ) -> InputOutcome {
        if let InputEvent::Key(key) = event
            && context.keybindings.matches(key, action::SELECT_CANCEL)
        {
            sink.finish(Intent::Answer(QuestionAnswer::Dismissed));
            return InputOutcome::Consumed;
        }
        InputOutcome::Ignored
    }

    fn mouse(
        &mut self,
        _event: &MouseEvent,
        _hit: Option<HitTarget>,
        _context: &InputContext<'_>,
        _outbox: &mut IntentSink,
    ) -> bool {
        false
    }

    fn on_update(&mut self, update: DialogUpdate, _outbox: &mut IntentSink) {
        if let DialogUpdate::Progress(progress) = update {
            self.progress = ProgressUpdate {
                message: sanitize_lines(&progress.message),
                share: progress.share,
            };
        }
    }
}

fn bar(canvas: &DialogCanvas, share: f64) -> String {
    let share = share.clamp(0.0, 1.0);
    let width = canvas.width().saturating_sub(8).clamp(1, MAX_BAR_WIDTH);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a share of a few columns"
    )]
    let (filled, percent) = ((share * width as f64) as usize, (share * 100.0) as usize);
    let done = canvas.paint(ColorToken::Accent, &"█".repeat(filled));
    let left = canvas.paint(ColorToken::Dim, &"░".repeat(width - filled.min(width)));
    format!(" {done}{left} {percent:>3}%")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialogs::testing::{DialogTester, fits_every_size, survives_random_input};

    #[test]
    fn shows_progress() {
        let ui = UiTheme::for_tests();
        let dialog = ProgressDialog::open(ui.clone(), "Loading", "a\u{1b}[31m model");
        let mut tester = DialogTester::new(&ui, dialog);
        assert!(tester.screen().contains("Please wait…"));
        tester.on_update(DialogUpdate::Progress(ProgressUpdate {
            message: "halfway".to_owned(),
            share: Some(0.5),
        }));
        insta::assert_snapshot!(tester.screen());
        tester.press("escape");
        assert_eq!(
            tester.intents(),
            [Intent::Answer(QuestionAnswer::Dismissed)]
        );
        assert!(tester.is_done());
    }

    #[test]
    fn fits_any_terminal_and_survives_any_input() {
        let ui = UiTheme::for_tests();
        fits_every_size(ProgressDialog::open(ui.clone(), "Loading", "a model"));
        survives_random_input(&ui, || {
            ProgressDialog::open(ui.clone(), "Loading", "a model")
        });
    }
}
