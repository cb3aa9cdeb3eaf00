//! A question answered with multi-line text.

use pi_tui::{
    ColorToken, Component, Editor, EditorEvent, EditorOptions, EditorTheme, InputContext,
    InputEvent, InputOutcome, MouseEvent, SelectTheme, action,
};

use super::canvas::{DialogCanvas, HitTarget};
use super::event_queue::EventQueue;
use super::frame::{DialogBody, DialogFrame};
use super::hint::Hint;
use super::intent_sink::IntentSink;
use super::question::{QuestionOptions, paint_question};
use crate::dialogs::dialog::DialogUpdate;
use crate::dialogs::intent::{Intent, QuestionAnswer};
use crate::keys;
use crate::theme::ui_theme::UiTheme;

pub(crate) struct EditorDialog {
    question: QuestionOptions,
    editor: Editor,
    events: EventQueue<EditorEvent>,
}

impl EditorDialog {
    /// Asks for text, with initial content; ignores the question's timeout.
    pub(crate) fn open(ui: UiTheme, question: QuestionOptions, text: &str) -> DialogFrame<Self> {
        let body = Self::embedded(&ui, question, text);
        DialogFrame::new(ui, body)
    }

    /// Returns only the body, for dialogs that embed it.
    pub(super) fn embedded(ui: &UiTheme, question: QuestionOptions, text: &str) -> Self {
        let theme = EditorTheme {
            border: ui.painter(ColorToken::BorderMuted),
            popup: SelectTheme::default(),
        };
        let mut editor = Editor::new(theme, EditorOptions::default());
        editor.set_text(text);
        let events = EventQueue::default();
        let sender = events.clone();
        editor.on_event(move |event| sender.push(event));
        Self {
            question,
            editor,
            events,
        }
    }
}

impl DialogBody for EditorDialog {
    fn paint(&mut self, canvas: &mut DialogCanvas) {
        paint_question(canvas, &self.question, None);
        let lines = self.editor.render(canvas.width());
        canvas.editor(&lines);
        canvas.blank();
        canvas.hints(&[
            Hint::key(action::INPUT_SUBMIT, "submit"),
            Hint::key(action::INPUT_NEW_LINE, "new line"),
            Hint::leave("cancel"),
            Hint::key(keys::EDITOR_EXTERNAL, "external editor"),
        ]);
    }

    fn handle(
        &mut self,
        event: &InputEvent,
        context: &InputContext<'_>,
        sink: &mut IntentSink,
    ) -> InputOutcome {
        self.editor.set_rows(context.rows);
        if let InputEvent::Key(key) = event {
            if context.keybindings.matches(key, action::SELECT_CANCEL) {
                sink.finish(Intent::Answer(QuestionAnswer::Dismissed));
                return InputOutcome::Consumed;
            }
            if context.keybindings.matches(key, keys::EDITOR_EXTERNAL) {
                sink.send(Intent::EditExternally(self.editor.expanded_text()));
                return InputOutcome::Consumed;
            }
        }
        let outcome = self.editor.handle_input(event, context);
        for event in self.events.take() {
            if let EditorEvent::Submitted(text) = event {
                sink.finish(Intent::Answer(QuestionAnswer::Text(text)));
            }
        }
        outcome
    }

    fn mouse(
        &mut self,
        event: &MouseEvent,
        hit: Option<HitTarget>,
        context: &InputContext<'_>,
        _outbox: &mut IntentSink,
    ) -> bool {
        let Some(HitTarget::Component { row }) = hit else {
            return false;
        };
        let inside = MouseEvent { row, ..*event };
        self.editor
            .handle_mouse(&inside, context)
            .stops_propagation()
    }

    fn set_focused(&mut self, focused: bool) {
        self.editor.set_focused(focused);
    }

    fn restyle(&mut self) {
        self.editor.invalidate();
    }

    fn on_update(&mut self, update: DialogUpdate, _outbox: &mut IntentSink) {
        if let DialogUpdate::Edited(text) = update {
            self.editor.set_text(&text);
        }
    }
}
