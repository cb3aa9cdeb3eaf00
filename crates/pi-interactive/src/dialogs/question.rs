//! A question with a few answers to choose from: confirmations, and the choices of extensions.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use pi_tui::{ColorToken, InputContext, InputEvent, InputOutcome, MouseEvent, action};

use super::countdown::Countdown;
use super::hint::Hint;
use super::list_pane::ListPane;
use super::outbox::Outbox;
use super::picker::{Edge, Picked, Picker};
use super::plain::{lines_of, one_line, path_line};
use super::sheet::{Hit, Sheet, Weight};
use super::window::{Pane, Window};
use crate::intent::{Answer, Intent};
use crate::look::Look;

const MOST_CHOICES: usize = 12;

/// What is asked.
#[derive(Clone, Debug, Default)]
pub(crate) struct Question {
    /// In a few words.
    pub(crate) title: String,
    pub(crate) details: Option<String>,
    /// How long to wait for an answer.
    pub(crate) timeout: Option<Duration>,
}

/// What becomes of the answer.
#[derive(Clone, Debug)]
enum Purpose {
    Choose,
    Confirm,
    Import(PathBuf),
}

/// The dialog of a question.
#[derive(Debug)]
pub(crate) struct QuestionDialog {
    question: Question,
    choices: Vec<String>,
    picker: Picker,
    countdown: Option<Countdown>,
    purpose: Purpose,
}

impl QuestionDialog {
    /// Asks which of the choices it shall be; the answer is [`Answer::Chosen`] or a dismissal.
    pub(crate) fn choose(
        look: Look,
        question: Question,
        choices: &[String],
        now: Instant,
    ) -> Window<Self> {
        Window::new(look, Self::new(question, choices, Purpose::Choose, now))
    }

    /// Asks yes or no; leaving the question, or letting its time pass, is a no.
    pub(crate) fn confirm(look: Look, question: Question, now: Instant) -> Window<Self> {
        let choices = vec!["Yes".to_owned(), "No".to_owned()];
        Window::new(look, Self::new(question, &choices, Purpose::Confirm, now))
    }

    /// Asks whether a session file shall replace the session; yes is [`Intent::Import`].
    pub(crate) fn import(look: Look, path: PathBuf, now: Instant) -> Window<Self> {
        let file = path_line(&path, &look.appearance());
        let question = Question {
            title: "Import this session?".to_owned(),
            details: Some(format!(
                "{file} is copied to this project's sessions and opened in place of the current one."
            )),
            timeout: None,
        };
        let choices = vec!["Import and open it".to_owned(), "Stay here".to_owned()];
        Window::new(
            look,
            Self::new(question, &choices, Purpose::Import(path), now),
        )
    }

    /// Returns the inside alone, for dialogs that ask on their way.
    pub(super) fn part(question: Question, choices: &[String]) -> Self {
        Self::new(question, choices, Purpose::Choose, Instant::now())
    }

    fn new(question: Question, choices: &[String], purpose: Purpose, now: Instant) -> Self {
        let choices: Vec<String> = choices.iter().map(|choice| one_line(choice)).collect();
        Self {
            picker: Picker::new(choices.len(), Edge::Stop),
            countdown: Countdown::start(question.timeout, now),
            question,
            choices,
            purpose,
        }
    }

    fn answer(&self, outbox: &mut Outbox) {
        let chosen = self.picker.selected();
        match &self.purpose {
            Purpose::Choose => outbox.finish(Intent::Answer(Answer::Chosen(chosen))),
            Purpose::Confirm => outbox.finish(Intent::Answer(Answer::Confirmed(chosen == 0))),
            Purpose::Import(path) if chosen == 0 => outbox.finish(Intent::Import(path.clone())),
            Purpose::Import(_) => self.dismiss(outbox),
        }
    }

    fn dismiss(&self, outbox: &mut Outbox) {
        let answer = match self.purpose {
            Purpose::Confirm => Answer::Confirmed(false),
            Purpose::Choose | Purpose::Import(_) => Answer::Dismissed,
        };
        outbox.finish(Intent::Answer(answer));
    }
}

/// Paints what is asked, with the time that is left.
pub(super) fn paint_question(
    sheet: &mut Sheet,
    question: &Question,
    countdown: Option<&Countdown>,
) {
    let mut title = lines_of(&question.title);
    if let Some(countdown) = countdown {
        title = format!("{title} ({} s left)", countdown.seconds_left());
    }
    sheet.blank();
    sheet.title(&title);
    if let Some(details) = &question.details {
        sheet.text(Weight::Detail, ColorToken::Text, &lines_of(details));
    }
    sheet.blank();
}

impl ListPane for QuestionDialog {
    fn picker(&mut self) -> &mut Picker {
        &mut self.picker
    }

    fn settle(&mut self, picked: Picked, outbox: &mut Outbox) {
        match picked {
            Picked::Moved => {}
            Picked::Confirmed if self.choices.is_empty() => self.dismiss(outbox),
            Picked::Confirmed => self.answer(outbox),
            Picked::Cancelled => self.dismiss(outbox),
        }
    }
}

impl Pane for QuestionDialog {
    fn paint(&mut self, sheet: &mut Sheet) {
        paint_question(sheet, &self.question, self.countdown.as_ref());
        let visible = self.picker.window(sheet.list_rows(MOST_CHOICES, 1, 2));
        let cut = visible.len() < self.choices.len();
        for index in visible {
            let label = self.choices.get(index).map_or("", String::as_str);
            sheet.choice(index, index == self.picker.selected(), label, "");
        }
        if cut {
            sheet.position(self.picker.selected(), self.choices.len(), "");
        }
        sheet.blank();
        sheet.hints(&[
            Hint::movement(),
            Hint::key(action::SELECT_CONFIRM, "choose"),
            Hint::leave("cancel"),
        ]);
    }

    fn handle(
        &mut self,
        event: &InputEvent,
        context: &InputContext<'_>,
        outbox: &mut Outbox,
    ) -> InputOutcome {
        self.pick(event, context, outbox)
    }

    fn mouse(
        &mut self,
        event: &MouseEvent,
        hit: Option<Hit>,
        _context: &InputContext<'_>,
        outbox: &mut Outbox,
    ) -> bool {
        self.point(event, hit, outbox)
    }

    fn next_tick(&self) -> Option<Instant> {
        self.countdown.map(|countdown| countdown.next_tick())
    }

    fn tick(&mut self, now: Instant, outbox: &mut Outbox) {
        if self
            .countdown
            .as_mut()
            .is_some_and(|countdown| countdown.advance(now))
        {
            self.dismiss(outbox);
        }
    }
}

#[cfg(test)]
mod tests;
