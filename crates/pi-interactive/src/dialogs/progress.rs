//! Work under way: what it does, how far it is, and a way to give it up.

use pi_tui::{ColorToken, InputContext, InputEvent, InputOutcome, MouseEvent, action};

use super::hint::Hint;
use super::outbox::Outbox;
use super::plain::lines_of;
use super::sheet::{Hit, Sheet, Weight};
use super::window::{Pane, Window};
use crate::dialog::DialogNews;
use crate::intent::{Answer, Intent};
use crate::look::Look;

/// The widest bar.
const WIDEST_BAR: usize = 40;

/// How far some work is.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Progress {
    /// What is being done.
    pub(crate) message: String,
    /// How much of it is done, from 0 to 1, where that is known.
    pub(crate) share: Option<f64>,
}

/// The dialog of work under way. Giving up is [`Answer::Dismissed`].
#[derive(Debug)]
pub(crate) struct ProgressDialog {
    title: String,
    subject: String,
    progress: Progress,
}

impl ProgressDialog {
    /// Opens the dialog; `subject` is what the work is about.
    pub(crate) fn open(look: Look, title: &str, subject: &str) -> Window<Self> {
        Window::new(
            look,
            Self {
                title: lines_of(title),
                subject: lines_of(subject),
                progress: Progress::default(),
            },
        )
    }
}

impl Pane for ProgressDialog {
    fn paint(&mut self, sheet: &mut Sheet) {
        sheet.blank();
        sheet.title(&self.title);
        if !self.subject.is_empty() {
            sheet.text(Weight::Detail, ColorToken::Text, &self.subject);
        }
        sheet.blank();
        let message = match self.progress.message.as_str() {
            "" => "One moment…",
            message => message,
        };
        sheet.text(Weight::Content, ColorToken::Muted, message);
        if let Some(share) = self.progress.share {
            let line = bar(sheet, share);
            sheet.row(Weight::Focus, &line);
        }
        sheet.blank();
        sheet.hints(&[Hint::leave("give up")]);
    }

    fn handle(
        &mut self,
        event: &InputEvent,
        context: &InputContext<'_>,
        outbox: &mut Outbox,
    ) -> InputOutcome {
        if let InputEvent::Key(key) = event
            && context.keybindings.matches(key, action::SELECT_CANCEL)
        {
            outbox.finish(Intent::Answer(Answer::Dismissed));
            return InputOutcome::Consumed;
        }
        InputOutcome::Ignored
    }

    fn mouse(
        &mut self,
        _event: &MouseEvent,
        _hit: Option<Hit>,
        _context: &InputContext<'_>,
        _outbox: &mut Outbox,
    ) -> bool {
        false
    }

    fn feed(&mut self, news: DialogNews, _outbox: &mut Outbox) {
        if let DialogNews::Progress(progress) = news {
            self.progress = Progress {
                message: lines_of(&progress.message),
                share: progress.share,
            };
        }
    }
}

fn bar(sheet: &Sheet, share: f64) -> String {
    let share = share.clamp(0.0, 1.0);
    let width = sheet.width().saturating_sub(8).clamp(1, WIDEST_BAR);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a share of a few columns"
    )]
    let (filled, percent) = ((share * width as f64) as usize, (share * 100.0) as usize);
    let done = sheet.paint(ColorToken::Accent, &"█".repeat(filled));
    let left = sheet.paint(ColorToken::Dim, &"░".repeat(width - filled.min(width)));
    format!(" {done}{left} {percent:>3}%")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialogs::testing::{Stage as Terminal, survives_every_size, withstands_anything};

    #[test]
    fn it_says_how_far_the_work_is() {
        let look = Look::for_tests();
        let dialog = ProgressDialog::open(look.clone(), "Loading", "a\u{1b}[31m model");
        let mut stage = Terminal::new(&look, dialog);
        assert!(stage.screen().contains("One moment…"));
        stage.feed(DialogNews::Progress(Progress {
            message: "halfway".to_owned(),
            share: Some(0.5),
        }));
        insta::assert_snapshot!(stage.screen());
        stage.press("escape");
        assert_eq!(stage.intents(), [Intent::Answer(Answer::Dismissed)]);
        assert!(stage.is_done());
    }

    #[test]
    fn it_fits_any_terminal_and_takes_any_key() {
        let look = Look::for_tests();
        survives_every_size(ProgressDialog::open(look.clone(), "Loading", "a model"));
        withstands_anything(&look, || {
            ProgressDialog::open(look.clone(), "Loading", "a model")
        });
    }
}
