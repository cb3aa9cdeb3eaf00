//! Keyboard input of the session tree.

use pi_protocol::settings::TreeFilterMode;
use pi_tui::{Component, InputContext, InputEvent, InputOutcome, action};

use super::super::frame::DialogBody;
use super::super::intent_sink::IntentSink;
use super::super::plain_text::one_line;
use super::{FILTERS, TreeDialog, TreeMode};
use crate::keys;

impl TreeDialog {
    /// Handles an event while a question or field is open; returns whether one is.
    pub(super) fn handle_mode(
        &mut self,
        event: &InputEvent,
        context: &InputContext<'_>,
        sink: &mut IntentSink,
    ) -> bool {
        let mut inner = IntentSink::default();
        match &mut self.mode {
            TreeMode::Choosing => return false,
            TreeMode::Summary { question, .. } => {
                question.handle(event, context, &mut inner);
            }
            TreeMode::Instructions { editor, .. } => {
                editor.handle(event, context, &mut inner);
            }
            TreeMode::Labeling { node, field } => {
                let pressed = |action| matches!(event, InputEvent::Key(key) if context.keybindings.matches(key, action));
                if pressed(action::SELECT_CONFIRM) {
                    let (node, name) = (*node, field.value().to_owned());
                    self.mode = TreeMode::Choosing;
                    self.set_label(node, &name, sink);
                } else if pressed(action::SELECT_CANCEL) {
                    self.mode = TreeMode::Choosing;
                } else {
                    field.handle_input(event, context);
                }
                return true;
            }
        }
        self.handle_answers(&mut inner, sink);
        true
    }

    /// Handles the keys of the tree; returns whether one was pressed.
    pub(super) fn handle_tree(
        &mut self,
        event: &InputEvent,
        context: &InputContext<'_>,
        sink: &mut IntentSink,
    ) -> bool {
        let InputEvent::Key(key) = event else {
            return false;
        };
        let pressed = |action| context.keybindings.matches(key, action);
        if pressed(keys::TREE_FOLD_OR_UP) {
            self.fold_or_up();
        } else if pressed(keys::TREE_UNFOLD_OR_DOWN) {
            self.unfold_or_down();
        } else if pressed(action::EDITOR_CURSOR_LEFT) {
            self.picker.page_up();
        } else if pressed(action::EDITOR_CURSOR_RIGHT) {
            self.picker.page_down();
        } else if pressed(keys::MESSAGE_COPY) {
            self.copy(sink);
        } else if pressed(keys::TREE_FILTER_DEFAULT) {
            self.show(TreeFilterMode::Default);
        } else if pressed(keys::TREE_FILTER_NO_TOOLS) {
            self.toggle(TreeFilterMode::NoTools);
        } else if pressed(keys::TREE_FILTER_USER_ONLY) {
            self.toggle(TreeFilterMode::UserOnly);
        } else if pressed(keys::TREE_FILTER_LABELED_ONLY) {
            self.toggle(TreeFilterMode::LabeledOnly);
        } else if pressed(keys::TREE_FILTER_ALL) {
            self.toggle(TreeFilterMode::All);
        } else if pressed(keys::TREE_FILTER_CYCLE_BACKWARD) {
            self.cycle(FILTERS.len() - 1);
        } else if pressed(keys::TREE_FILTER_CYCLE_FORWARD) {
            self.cycle(1);
        } else if pressed(keys::TREE_EDIT_LABEL) {
            self.start_labeling();
        } else if pressed(keys::TREE_TOGGLE_LABEL_TIMESTAMP) {
            self.show_label_times = !self.show_label_times;
        } else {
            return false;
        }
        true
    }

    /// Handles typed text, which searches.
    pub(super) fn handle_typing(
        &mut self,
        event: &InputEvent,
        context: &InputContext<'_>,
    ) -> InputOutcome {
        let typed = match event {
            InputEvent::Paste(paste) => one_line(&paste.text),
            InputEvent::Key(key) => {
                if context
                    .keybindings
                    .matches(key, action::EDITOR_DELETE_CHAR_BACKWARD)
                {
                    let mut query = self.query.clone();
                    if query.pop().is_some() {
                        self.search_for(query);
                    }
                    return InputOutcome::Consumed;
                }
                match key.text().filter(|character| !character.is_control()) {
                    Some(character) => character.to_string(),
                    None => return InputOutcome::Ignored,
                }
            }
            _ => return InputOutcome::Ignored,
        };
        let query = format!("{}{typed}", self.query);
        self.search_for(query);
        InputOutcome::Consumed
    }
}
