//! The prompt and the keys that mean something to the application before they mean something to it.
//!
//! The component only notes what happened; the application asks for it after every event.

use std::sync::mpsc::{self, Receiver};

use pi_tui::{
    ColorToken, Component, Editor, EditorEvent, EditorOptions, EditorTheme, InputContext,
    InputEvent, InputOutcome, KeyEvent, KeyId, Lines, MouseEvent, MouseOutcome, SelectTheme,
    action,
};

use crate::keys;
use crate::ui_theme::UiTheme;

/// Actions that work wherever the cursor is, in the order in which they are tried.
pub(crate) const ACTIONS: [&str; 18] = [
    keys::CLIPBOARD_PASTE_IMAGE,
    keys::CLEAR,
    keys::SUSPEND,
    keys::THINKING_CYCLE,
    keys::MODEL_CYCLE_FORWARD,
    keys::MODEL_CYCLE_BACKWARD,
    keys::MODEL_SELECT,
    keys::TOOLS_EXPAND,
    keys::THINKING_TOGGLE,
    keys::EDITOR_EXTERNAL,
    keys::MESSAGE_COPY,
    keys::MESSAGE_FOLLOW_UP,
    keys::MESSAGE_DEQUEUE,
    keys::SESSION_NEW,
    keys::SESSION_TREE,
    keys::SESSION_FORK,
    keys::SESSION_RESUME,
    keys::INTERRUPT,
];

/// Something that happened at the prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PromptEvent {
    /// The user sent a text.
    Submitted(String),
    /// The text is another one.
    Changed,
    /// The user pressed a key of the application; the action's id.
    Action(&'static str),
    /// The user pressed a key of an extension.
    Shortcut(KeyId),
}

/// The prompt.
#[derive(Debug)]
pub(crate) struct EditorArea {
    editor: Editor,
    events: Receiver<EditorEvent>,
    noted: Vec<PromptEvent>,
    /// Keys of extensions, which come before those of the application.
    shortcuts: Vec<KeyId>,
    /// A dialog stands in its place.
    hidden: bool,
}

impl EditorArea {
    /// Makes an empty prompt.
    pub(crate) fn new(ui: &UiTheme, options: EditorOptions) -> Self {
        let (sender, events) = mpsc::channel();
        let mut editor = Editor::new(theme(ui), options);
        editor.on_event(move |event| {
            if sender.send(event).is_err() {
                tracing::debug!("nobody listens to the prompt any more");
            }
        });
        Self {
            editor,
            events,
            noted: Vec::new(),
            shortcuts: Vec::new(),
            hidden: false,
        }
    }

    /// Returns the text field.
    pub(crate) fn editor(&mut self) -> &mut Editor {
        &mut self.editor
    }

    /// Returns the text field, to look at it.
    pub(crate) fn peek(&self) -> &Editor {
        &self.editor
    }

    /// Takes the keys of extensions.
    pub(crate) fn set_shortcuts(&mut self, shortcuts: Vec<KeyId>) {
        self.shortcuts = shortcuts;
    }

    /// Makes room for a dialog, or comes back.
    pub(crate) fn set_hidden(&mut self, hidden: bool) {
        self.hidden = hidden;
    }

    /// Returns what happened since it was last asked.
    pub(crate) fn take_events(&mut self) -> Vec<PromptEvent> {
        let mut events = std::mem::take(&mut self.noted);
        events.extend(self.events.try_iter().map(|event| match event {
            EditorEvent::Submitted(text) => PromptEvent::Submitted(text),
            EditorEvent::Changed => PromptEvent::Changed,
        }));
        events
    }

    /// Returns the action of the application that a key means here.
    fn action_of(&self, key: &KeyEvent, context: &InputContext<'_>) -> Option<&'static str> {
        let matches = |action: &str| context.keybindings.matches(key, action);
        if matches(keys::EXIT) && self.editor.is_empty() {
            return Some(keys::EXIT);
        }
        // There is no page to turn in an empty prompt.
        if matches(action::EDITOR_PAGE_UP) && self.editor.is_empty() {
            return Some(action::EDITOR_PAGE_UP);
        }
        // Escape closes the popup first.
        let completing = self.editor.is_completing();
        let mut usable = ACTIONS
            .iter()
            .filter(|action| **action != keys::INTERRUPT || !completing);
        usable.find(|action| matches(action)).copied()
    }
}

impl Component for EditorArea {
    fn render(&mut self, width: usize) -> Lines {
        if self.hidden {
            return Lines::empty();
        }
        self.editor.render(width)
    }

    fn handle_input(&mut self, event: &InputEvent, context: &InputContext<'_>) -> InputOutcome {
        if let InputEvent::Key(key) = event
            && !key.is_release()
            && let Some(shortcut) = self.shortcuts.iter().find(|id| key.is(**id))
        {
            self.noted.push(PromptEvent::Shortcut(*shortcut));
            return InputOutcome::Consumed;
        }
        if let InputEvent::Key(key) = event
            && !key.is_release()
            && let Some(action) = self.action_of(key, context)
        {
            self.noted.push(PromptEvent::Action(action));
            return InputOutcome::Consumed;
        }
        self.editor.handle_input(event, context)
    }

    fn handle_mouse(&mut self, event: &MouseEvent, context: &InputContext<'_>) -> MouseOutcome {
        self.editor.handle_mouse(event, context)
    }

    fn invalidate(&mut self) {
        self.editor.invalidate();
    }

    fn set_focused(&mut self, focused: bool) {
        self.editor.set_focused(focused);
    }
}

fn theme(ui: &UiTheme) -> EditorTheme {
    EditorTheme {
        border: ui.painter(ColorToken::BorderMuted),
        popup: SelectTheme {
            selected: ui.painter(ColorToken::Accent),
            description: ui.painter(ColorToken::Muted),
            position: ui.painter(ColorToken::Dim),
            empty: ui.painter(ColorToken::Dim),
        },
    }
}
