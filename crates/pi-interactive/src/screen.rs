//! The screen below the transcript: queue, working indicator, widgets, prompt or dialog, footer.
//!
//! From top to bottom: queued messages, working indicator, widgets, a dialog or the prompt, more widgets, the
//! footer.

mod extensions;
pub(crate) mod footer;
pub(crate) mod git_branch;
pub(crate) mod header;
pub(crate) mod run_status;
pub(crate) mod title;
pub(crate) mod widgets;

use std::any::Any;
use std::time::Instant;

use pi_tui::{
    BlockId, Component, Document, FocusTarget, InputContext, InputEvent, InputOutcome, Lines,
    Liveness, MouseEvent, MouseOutcome, Runner, Tui,
};
use pi_views::dialogs::dialog::{Dialog, DialogKey};
use pi_views::dialogs::intent::Intent;
use pi_views::theme::ui_theme::UiTheme;
use pi_views::working_indicator::WorkingIndicator;

use self::footer::Footer;
use self::widgets::Widgets;
use crate::prompt::editor_area::EditorArea;
use crate::prompt::queue_view::QueueView;
use extensions::ExtensionSlots;

pub(crate) use extensions::WidgetSide;

/// Blocks of the dock.
#[derive(Clone, Copy, Debug)]
struct DockSlots {
    queue: BlockId,
    working: BlockId,
    above: BlockId,
    editor: BlockId,
    below: BlockId,
    footer: BlockId,
}

#[derive(Debug)]
pub(crate) struct AppScreen {
    runner: Runner,
    slots: DockSlots,
    /// The open dialogs; the last one is shown.
    dialogs: Vec<(DialogKey, BlockId)>,
    extensions: ExtensionSlots,
}

/// The dock of a new UI.
#[derive(Debug)]
pub(crate) struct Dock(DockSlots);

impl Dock {
    pub(crate) fn build(tui: &mut Tui, ui: &UiTheme, editor: EditorArea) -> Self {
        let dock = tui.dock_mut();
        let slots = DockSlots {
            queue: dock.push(QueueView::new(ui.clone())),
            working: dock.push(WorkingIndicator::new(ui.clone(), Instant::now())),
            above: dock.push(Widgets::new(ui.clone())),
            editor: dock.push(editor),
            below: dock.push(Widgets::new(ui.clone())),
            footer: dock.push(Footer::new(ui.clone())),
        };
        tui.scene_mut()
            .set_focus(Some(FocusTarget::Dock(slots.editor)));
        Self(slots)
    }
}

impl AppScreen {
    pub(crate) fn new(runner: Runner, dock: &Dock) -> Self {
        Self {
            runner,
            slots: dock.0,
            dialogs: Vec::new(),
            extensions: ExtensionSlots::default(),
        }
    }

    pub(crate) fn runner(&mut self) -> &mut Runner {
        &mut self.runner
    }

    /// Consumes the screen, to restore the terminal.
    pub(crate) fn into_runner(self) -> Runner {
        self.runner
    }

    pub(crate) fn peek(&self) -> &Tui {
        self.runner.tui()
    }

    /// Returns the transcript's document; a frame follows.
    pub(crate) fn document(&mut self) -> &mut Document {
        self.runner.tui_mut().transcript_mut()
    }

    /// Runs a closure on the prompt.
    pub(crate) fn with_editor<R: Default>(
        &mut self,
        change: impl FnOnce(&mut EditorArea) -> R,
    ) -> R {
        let id = self.slots.editor;
        self.with(id, change)
    }

    pub(crate) fn editor(&self) -> Option<&EditorArea> {
        let component = self.peek().dock().get(self.slots.editor)?;
        (component as &dyn Any).downcast_ref()
    }

    pub(crate) fn with_footer(&mut self, change: impl FnOnce(&mut Footer)) {
        let id = self.slots.footer;
        self.with(id, change);
    }

    pub(crate) fn with_working(&mut self, change: impl FnOnce(&mut WorkingIndicator)) {
        let id = self.slots.working;
        self.with(id, change);
    }

    /// Whether the run waits for an answer of the user.
    pub(crate) fn is_blocked(&self) -> bool {
        self.working().is_some_and(WorkingIndicator::is_blocked)
    }

    pub(crate) fn working(&self) -> Option<&WorkingIndicator> {
        let component = self.peek().dock().get(self.slots.working)?;
        (component as &dyn Any).downcast_ref()
    }

    /// Runs a closure on the widgets on one side of the prompt.
    pub(crate) fn with_widgets<R: Default>(
        &mut self,
        side: WidgetSide,
        change: impl FnOnce(&mut Widgets) -> R,
    ) -> R {
        let id = match side {
            WidgetSide::Above => self.slots.above,
            WidgetSide::Below => self.slots.below,
        };
        self.with(id, change)
    }

    pub(crate) fn with_queue(&mut self, change: impl FnOnce(&mut QueueView)) {
        let id = self.slots.queue;
        self.with(id, change);
    }

    fn with<T: Component, R: Default>(
        &mut self,
        id: BlockId,
        change: impl FnOnce(&mut T) -> R,
    ) -> R {
        let component = self.runner.tui_mut().dock_mut().get_mut(id);
        let part = component.and_then(|component| (component as &mut dyn Any).downcast_mut::<T>());
        part.map(change).unwrap_or_default()
    }

    /// Shows a dialog in place of the prompt, above the open ones.
    pub(crate) fn open_dialog(&mut self, key: DialogKey, mut dialog: Box<dyn Dialog>) {
        dialog.set_rows(self.peek().size().rows);
        let tui = self.runner.tui_mut();
        let before = self.slots.editor;
        let slot = Box::new(DialogSlot::new(dialog));
        let id = tui
            .dock_mut()
            .insert_before(before, slot, Liveness::Settled);
        self.dialogs.push((key, id));
        self.update_front();
    }

    /// Closes a dialog; shows the one below it, or else the prompt.
    pub(crate) fn close_dialog(&mut self, key: DialogKey) {
        let Some(position) = self.dialogs.iter().position(|(known, _)| *known == key) else {
            return;
        };
        let (_, id) = self.dialogs.remove(position);
        self.runner.tui_mut().dock_mut().remove(id);
        self.update_front();
    }

    /// Returns the dialog that is shown.
    pub(crate) fn dialog(&self) -> Option<&dyn Dialog> {
        let (_, id) = self.dialogs.last()?;
        self.dialog_in(*id)
    }

    fn dialog_in(&self, id: BlockId) -> Option<&dyn Dialog> {
        let component = self.peek().dock().get(id)?;
        let slot = (component as &dyn Any).downcast_ref::<DialogSlot>()?;
        Some(slot.dialog.as_ref())
    }

    /// Runs a closure on the dialog that is shown.
    pub(crate) fn with_dialog<R: Default>(
        &mut self,
        change: impl FnOnce(&mut dyn Dialog) -> R,
    ) -> R {
        match self.dialogs.last().copied() {
            Some((_, id)) => self.with(id, |slot: &mut DialogSlot| change(slot.dialog.as_mut())),
            None => R::default(),
        }
    }

    /// Runs a closure on all open dialogs.
    pub(crate) fn with_dialogs(&mut self, change: impl Fn(&mut dyn Dialog)) {
        for (_, id) in self.dialogs.clone() {
            self.with(id, |slot: &mut DialogSlot| change(slot.dialog.as_mut()));
        }
    }

    /// Takes the intents of the dialog that is shown.
    pub(crate) fn take_intents(&mut self) -> Vec<(DialogKey, Intent)> {
        let Some((key, _)) = self.dialogs.last().copied() else {
            return Vec::new();
        };
        let intents = self.with_dialog(Dialog::take_intents).into_iter();
        intents.map(|intent| (key, intent)).collect()
    }

    /// Returns the dialogs that are finished.
    pub(crate) fn done_dialogs(&self) -> Vec<DialogKey> {
        let open = self.dialogs.iter();
        let done = open.filter(|(_, id)| self.dialog_in(*id).is_some_and(Dialog::is_done));
        done.map(|(key, _)| *key).collect()
    }
}

/// A dialog as a component of the dock.
pub(crate) struct DialogSlot {
    pub(crate) dialog: Box<dyn Dialog>,
    /// Another dialog is shown above it.
    hidden: bool,
}

impl DialogSlot {
    pub(crate) fn new(dialog: Box<dyn Dialog>) -> Self {
        Self {
            dialog,
            hidden: false,
        }
    }
}

impl Component for DialogSlot {
    fn render(&mut self, width: usize) -> Lines {
        if self.hidden {
            return Lines::empty();
        }
        self.dialog.render(width)
    }

    fn handle_input(&mut self, event: &InputEvent, context: &InputContext<'_>) -> InputOutcome {
        // Keys the dialog does not use must not reach anything behind it.
        self.dialog.handle_input(event, context);
        InputOutcome::Consumed
    }

    fn handle_mouse(&mut self, event: &MouseEvent, context: &InputContext<'_>) -> MouseOutcome {
        self.dialog.handle_mouse(event, context)
    }

    fn invalidate(&mut self) {
        self.dialog.invalidate();
    }

    fn set_focused(&mut self, focused: bool) {
        self.dialog.set_focused(focused);
    }

    fn wants_key_release(&self) -> bool {
        self.dialog.wants_key_release()
    }

    fn captures_viewport_input(&self) -> bool {
        true
    }
}
