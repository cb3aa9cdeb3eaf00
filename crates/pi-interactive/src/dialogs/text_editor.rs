//! A question that is answered with a text of several lines.

use pi_tui::{
    ColorToken, Component, Editor, EditorEvent, EditorOptions, EditorTheme, InputContext,
    InputEvent, InputOutcome, MouseEvent, SelectTheme, action,
};

use super::hint::Hint;
use super::mailbox::Mailbox;
use super::outbox::Outbox;
use super::question::{Question, paint_question};
use super::sheet::{Hit, Sheet};
use super::window::{Pane, Window};
use crate::dialog::DialogNews;
use crate::intent::{Answer, Intent};
use crate::keys;
use crate::look::Look;

/// The dialog with an editor.
pub(crate) struct EditorDialog {
    question: Question,
    editor: Editor,
    events: Mailbox<EditorEvent>,
}

impl EditorDialog {
    /// Asks for a text, beginning with one; the question's time limit is not used.
    pub(crate) fn open(look: Look, question: Question, text: &str) -> Window<Self> {
        let pane = Self::part(&look, question, text);
        Window::new(look, pane)
    }

    /// Returns the inside alone, for dialogs that ask on their way.
    pub(super) fn part(look: &Look, question: Question, text: &str) -> Self {
        let theme = EditorTheme {
            border: look.painter(ColorToken::BorderMuted),
            popup: SelectTheme::default(),
        };
        let mut editor = Editor::new(theme, EditorOptions::default());
        editor.set_text(text);
        let events = Mailbox::default();
        let sender = events.clone();
        editor.on_event(move |event| sender.put(event));
        Self {
            question,
            editor,
            events,
        }
    }
}

impl Pane for EditorDialog {
    fn paint(&mut self, sheet: &mut Sheet) {
        paint_question(sheet, &self.question, None);
        let lines = self.editor.render(sheet.width());
        sheet.editor(&lines);
        sheet.blank();
        sheet.hints(&[
            Hint::key(action::INPUT_SUBMIT, "send"),
            Hint::key(action::INPUT_NEW_LINE, "new line"),
            Hint::leave("cancel"),
            Hint::key(keys::EDITOR_EXTERNAL, "open in your editor"),
        ]);
    }

    fn handle(
        &mut self,
        event: &InputEvent,
        context: &InputContext<'_>,
        outbox: &mut Outbox,
    ) -> InputOutcome {
        self.editor.set_rows(context.rows);
        if let InputEvent::Key(key) = event {
            if context.keybindings.matches(key, action::SELECT_CANCEL) {
                outbox.finish(Intent::Answer(Answer::Dismissed));
                return InputOutcome::Consumed;
            }
            if context.keybindings.matches(key, keys::EDITOR_EXTERNAL) {
                outbox.send(Intent::EditExternally(self.editor.expanded_text()));
                return InputOutcome::Consumed;
            }
        }
        let outcome = self.editor.handle_input(event, context);
        for event in self.events.take() {
            if let EditorEvent::Submitted(text) = event {
                outbox.finish(Intent::Answer(Answer::Text(text)));
            }
        }
        outcome
    }

    fn mouse(
        &mut self,
        event: &MouseEvent,
        hit: Option<Hit>,
        context: &InputContext<'_>,
        _outbox: &mut Outbox,
    ) -> bool {
        let Some(Hit::Part { row }) = hit else {
            return false;
        };
        let inside = MouseEvent { row, ..*event };
        self.editor.handle_mouse(&inside, context).stops_propagation()
    }

    fn set_focused(&mut self, focused: bool) {
        self.editor.set_focused(focused);
    }

    fn restyle(&mut self) {
        self.editor.invalidate();
    }

    fn feed(&mut self, news: DialogNews, _outbox: &mut Outbox) {
        if let DialogNews::Edited(text) = news {
            self.editor.set_text(&text);
        }
    }
}
