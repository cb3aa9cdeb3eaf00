//! The screen below the transcript: queue, working indicator, widgets, prompt or dialog, footer.
//!
//! From top to bottom: queued messages, working indicator, widgets, a dialog or the prompt, more widgets, the
//! footer.

mod extensions;
pub(crate) mod footer;
pub(crate) mod git_branch;
pub(crate) mod header;
pub(crate) mod title;
pub(crate) mod widgets;
pub(crate) mod working;

use std::any::Any;
use std::time::Instant;

use pi_tui::{
    BlockId, Component, Document, FocusTarget, InputContext, InputEvent, InputOutcome, Lines,
    Liveness, MouseEvent, MouseOutcome, Runner, Tui,
};

use self::footer::Footer;
use self::widgets::Widgets;
use self::working::WorkingIndicator;
use crate::dialogs::dialog::Dialog;
use crate::prompt::editor_area::EditorArea;
use crate::prompt::queue_view::QueueView;
use crate::theme::ui_theme::UiTheme;
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
    dialog: Option<BlockId>,
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
        tui.set_focus(Some(FocusTarget::Dock(slots.editor)));
        Self(slots)
    }
}

impl AppScreen {
    pub(crate) fn new(runner: Runner, dock: &Dock) -> Self {
        Self {
            runner,
            slots: dock.0,
            dialog: None,
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

    /// Shows a dialog in place of the prompt; closes an open one.
    pub(crate) fn open_dialog(&mut self, mut dialog: Box<dyn Dialog>) {
        self.close_dialog();
        dialog.set_rows(self.peek().size().rows);
        let tui = self.runner.tui_mut();
        let before = self.slots.editor;
        let frame = Box::new(DialogSlot(dialog));
        let id = tui
            .dock_mut()
            .insert_before(before, frame, Liveness::Settled);
        self.dialog = Some(id);
        self.update_front();
    }

    /// Closes the dialog and restores the prompt and the focus.
    pub(crate) fn close_dialog(&mut self) {
        let Some(id) = self.dialog.take() else {
            return;
        };
        self.runner.tui_mut().dock_mut().remove(id);
        self.update_front();
    }

    pub(crate) fn has_dialog(&self) -> bool {
        self.dialog.is_some()
    }

    pub(crate) fn dialog(&self) -> Option<&dyn Dialog> {
        let component = self.peek().dock().get(self.dialog?)?;
        let frame = (component as &dyn Any).downcast_ref::<DialogSlot>()?;
        Some(frame.0.as_ref())
    }

    pub(crate) fn with_dialog<R: Default>(
        &mut self,
        change: impl FnOnce(&mut dyn Dialog) -> R,
    ) -> R {
        let Some(id) = self.dialog else {
            return R::default();
        };
        self.with(id, |frame: &mut DialogSlot| change(frame.0.as_mut()))
    }
}

/// A dialog as a component of the dock.
pub(crate) struct DialogSlot(pub(crate) Box<dyn Dialog>);

impl Component for DialogSlot {
    fn render(&mut self, width: usize) -> Lines {
        self.0.render(width)
    }

    fn handle_input(&mut self, event: &InputEvent, context: &InputContext<'_>) -> InputOutcome {
        // Keys the dialog does not use must not reach anything behind it.
        self.0.handle_input(event, context);
        InputOutcome::Consumed
    }

    fn handle_mouse(&mut self, event: &MouseEvent, context: &InputContext<'_>) -> MouseOutcome {
        self.0.handle_mouse(event, context)
    }

    fn invalidate(&mut self) {
        self.0.invalidate();
    }

    fn set_focused(&mut self, focused: bool) {
        self.0.set_focused(focused);
    }

    fn wants_key_release(&self) -> bool {
        self.0.wants_key_release()
    }
}
