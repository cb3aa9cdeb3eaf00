//! The prompt, and the application keys that take precedence over its own.
//!
//! The component only records events; the application takes them after every input.

use std::sync::mpsc::{self, Receiver};

use pi_tui::{
    ColorToken, Component, Editor, EditorEvent, EditorOptions, EditorTheme, InputContext,
    InputEvent, InputOutcome, KeyEvent, KeyId, Lines, MouseEvent, MouseOutcome, SelectTheme,
    action,
};
use pi_views::keys;
use pi_views::theme::ui_theme::UiTheme;

/// Actions available wherever the cursor is, in matching order.
pub(crate) const ACTIONS: [&str; 21] = [
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
    keys::PROMPT_HISTORY,
    keys::PROMPT_STASH,
    keys::PALETTE,
    keys::SESSION_NEW,
    keys::SESSION_TREE,
    keys::SESSION_FORK,
    keys::SESSION_RESUME,
    keys::INTERRUPT,
];

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PromptEvent {
    /// The user submitted text.
    Submitted(String),
    Changed,
    /// An application key was pressed; the action's ID.
    Action(&'static str),
    /// An extension's key was pressed.
    Shortcut(KeyId),
}

/// The prompt component.
#[derive(Debug)]
pub(crate) struct EditorArea {
    editor: Editor,
    events: Receiver<EditorEvent>,
    recorded: Vec<PromptEvent>,
    /// Extension keys, which take precedence over application keys.
    shortcuts: Vec<KeyId>,
    /// A dialog is shown instead.
    hidden: bool,
}

impl EditorArea {
    pub(crate) fn new(ui: &UiTheme, options: EditorOptions) -> Self {
        let (sender, events) = mpsc::channel();
        let mut editor = Editor::new(theme(ui), options);
        editor.on_event(move |event| {
            if sender.send(event).is_err() {
                tracing::debug!("prompt events are no longer received");
            }
        });
        Self {
            editor,
            events,
            recorded: Vec::new(),
            shortcuts: Vec::new(),
            hidden: false,
        }
    }

    pub(crate) fn editor(&mut self) -> &mut Editor {
        &mut self.editor
    }

    pub(crate) fn peek(&self) -> &Editor {
        &self.editor
    }

    pub(crate) fn set_shortcuts(&mut self, shortcuts: Vec<KeyId>) {
        self.shortcuts = shortcuts;
    }

    /// Hides the prompt while a dialog is shown.
    pub(crate) fn set_hidden(&mut self, hidden: bool) {
        self.hidden = hidden;
    }

    /// Takes the events since the last call.
    pub(crate) fn take_events(&mut self) -> Vec<PromptEvent> {
        let mut events = std::mem::take(&mut self.recorded);
        events.extend(self.events.try_iter().map(|event| match event {
            EditorEvent::Submitted(text) => PromptEvent::Submitted(text),
            EditorEvent::Changed => PromptEvent::Changed,
        }));
        events
    }

    /// Returns the application action bound to a key, if it applies in the current state.
    fn action_of(&self, key: &KeyEvent, context: &InputContext<'_>) -> Option<&'static str> {
        let matches = |action: &str| context.keybindings.matches(key, action);
        if matches(keys::EXIT) && self.editor.is_empty() {
            return Some(keys::EXIT);
        }
        // Paging has no effect in an empty prompt.
        if matches(action::EDITOR_PAGE_UP) && self.editor.is_empty() {
            return Some(action::EDITOR_PAGE_UP);
        }
        // Escape closes the completion popup first.
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
            self.recorded.push(PromptEvent::Shortcut(*shortcut));
            return InputOutcome::Consumed;
        }
        if let InputEvent::Key(key) = event
            && !key.is_release()
            && let Some(action) = self.action_of(key, context)
        {
            self.recorded.push(PromptEvent::Action(action));
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

    fn captures_viewport_input(&self) -> bool {
        self.editor.captures_viewport_input()
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
