//! A question that is answered with a line of text.

use std::time::Instant;

use pi_tui::{
    ColorToken, Component, Input, InputContext, InputEvent, InputOptions, InputOutcome, MouseEvent,
    action,
};

use super::countdown::Countdown;
use super::field::point_at_field;
use super::hint::Hint;
use super::outbox::Outbox;
use super::plain::one_line;
use super::question::{Question, paint_question};
use super::sheet::{Hit, Sheet};
use super::window::{Pane, Window};
use crate::intent::{Answer, Intent};
use crate::look::Look;

/// The dialog with one field.
pub(crate) struct PromptDialog {
    question: Question,
    field: Input,
    countdown: Option<Countdown>,
}

impl PromptDialog {
    /// Asks for a line; `example` shows while nothing is typed.
    pub(crate) fn open(
        look: Look,
        question: Question,
        example: Option<&str>,
        now: Instant,
    ) -> Window<Self> {
        let field = Input::new(InputOptions {
            placeholder: example.map(one_line).unwrap_or_default(),
            placeholder_style: look.painter(ColorToken::Dim),
            ..InputOptions::default()
        });
        let countdown = Countdown::start(question.timeout, now);
        Window::new(
            look,
            Self {
                question,
                field,
                countdown,
            },
        )
    }
}

impl Pane for PromptDialog {
    fn paint(&mut self, sheet: &mut Sheet) {
        paint_question(sheet, &self.question, self.countdown.as_ref());
        sheet.field(&mut self.field);
        sheet.blank();
        sheet.hints(&[
            Hint::key(action::SELECT_CONFIRM, "send"),
            Hint::leave("cancel"),
        ]);
    }

    fn handle(
        &mut self,
        event: &InputEvent,
        context: &InputContext<'_>,
        outbox: &mut Outbox,
    ) -> InputOutcome {
        if let InputEvent::Key(key) = event {
            if context.keybindings.matches(key, action::SELECT_CONFIRM) || key.raw() == b"\n" {
                let text = self.field.value().to_owned();
                outbox.finish(Intent::Answer(Answer::Text(text)));
                return InputOutcome::Consumed;
            }
            if context.keybindings.matches(key, action::SELECT_CANCEL) {
                outbox.finish(Intent::Answer(Answer::Dismissed));
                return InputOutcome::Consumed;
            }
        }
        self.field.handle_input(event, context)
    }

    fn mouse(
        &mut self,
        event: &MouseEvent,
        hit: Option<Hit>,
        context: &InputContext<'_>,
        _outbox: &mut Outbox,
    ) -> bool {
        point_at_field(&mut self.field, event, hit, context)
    }

    fn set_focused(&mut self, focused: bool) {
        self.field.set_focused(focused);
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
            outbox.finish(Intent::Answer(Answer::Dismissed));
        }
    }
}
