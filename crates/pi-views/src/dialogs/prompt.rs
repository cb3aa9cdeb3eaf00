//! A question answered with a line of text.

use std::time::Instant;

use pi_tui::{
    ColorToken, Component, Input, InputContext, InputEvent, InputOptions, InputOutcome, MouseEvent,
    action,
};

use super::canvas::{DialogCanvas, HitTarget};
use super::countdown::Countdown;
use super::field::point_at_field;
use super::frame::{DialogBody, DialogFrame};
use super::hint::Hint;
use super::intent_sink::IntentSink;
use super::plain_text::one_line;
use super::question::{QuestionOptions, paint_question};
use crate::dialogs::intent::{Intent, QuestionAnswer};
use crate::theme::ui_theme::UiTheme;

pub(crate) struct PromptDialog {
    question: QuestionOptions,
    field: Input,
    countdown: Option<Countdown>,
}

impl PromptDialog {
    /// Asks for a line; `example` is the placeholder.
    pub(crate) fn open(
        ui: UiTheme,
        question: QuestionOptions,
        example: Option<&str>,
        now: Instant,
    ) -> DialogFrame<Self> {
        let field = Input::new(InputOptions {
            placeholder: example.map(one_line).unwrap_or_default(),
            placeholder_style: ui.painter(ColorToken::Dim),
            ..InputOptions::default()
        });
        let countdown = Countdown::start(question.timeout, now);
        DialogFrame::new(
            ui,
            Self {
                question,
                field,
                countdown,
            },
        )
    }
}

impl DialogBody for PromptDialog {
    fn paint(&mut self, canvas: &mut DialogCanvas) {
        paint_question(canvas, &self.question, self.countdown.as_ref());
        canvas.field(&mut self.field);
        canvas.blank();
        canvas.hints(&[
            Hint::key(action::SELECT_CONFIRM, "submit"),
            Hint::leave("cancel"),
        ]);
    }

    fn handle(
        &mut self,
        event: &InputEvent,
        context: &InputContext<'_>,
        sink: &mut IntentSink,
    ) -> InputOutcome {
        if let InputEvent::Key(key) = event {
            if context.keybindings.matches(key, action::SELECT_CONFIRM) || key.raw() == b"\n" {
                let text = self.field.value().to_owned();
                sink.finish(Intent::Answer(QuestionAnswer::Text(text)));
                return InputOutcome::Consumed;
            }
            if context.keybindings.matches(key, action::SELECT_CANCEL) {
                sink.finish(Intent::Answer(QuestionAnswer::Dismissed));
                return InputOutcome::Consumed;
            }
        }
        self.field.handle_input(event, context)
    }

    fn mouse(
        &mut self,
        event: &MouseEvent,
        hit: Option<HitTarget>,
        context: &InputContext<'_>,
        _outbox: &mut IntentSink,
    ) -> bool {
        point_at_field(&mut self.field, event, hit, context)
    }

    fn set_focused(&mut self, focused: bool) {
        self.field.set_focused(focused);
    }

    fn next_tick(&self) -> Option<Instant> {
        self.countdown.map(|countdown| countdown.next_tick())
    }

    fn tick(&mut self, now: Instant, sink: &mut IntentSink) {
        if self
            .countdown
            .as_mut()
            .is_some_and(|countdown| countdown.advance(now))
        {
            sink.finish(Intent::Answer(QuestionAnswer::Dismissed));
        }
    }
}
