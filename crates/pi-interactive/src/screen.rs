//! The parts of the screen below the transcript, and the dialog that may stand among them.
//!
//! From top to bottom: what waits to be said, what is going on, widgets, a dialog or the prompt, more
//! widgets, the footer.

mod foreign;

use std::any::Any;
use std::time::Instant;

use pi_tui::{
    BlockId, Component, Document, FocusTarget, InputContext, InputEvent, InputOutcome, Lines,
    Liveness, MouseEvent, MouseOutcome, Runner, Tui,
};

use crate::dialog::Dialog;
use crate::editor_area::EditorArea;
use crate::footer::Footer;
use crate::look::Look;
use crate::queue_view::QueueView;
use crate::widgets::Widgets;
use crate::working::Working;
use foreign::ForeignPlaces;

pub(crate) use foreign::Side;

/// Where the parts of the dock are.
#[derive(Clone, Copy, Debug)]
struct Places {
    queue: BlockId,
    working: BlockId,
    above: BlockId,
    editor: BlockId,
    below: BlockId,
    footer: BlockId,
}

/// The screen with its parts.
#[derive(Debug)]
pub(crate) struct Screen {
    runner: Runner,
    places: Places,
    dialog: Option<BlockId>,
    foreign: ForeignPlaces,
}

/// Puts the parts into an empty UI.
#[derive(Debug)]
pub(crate) struct Dock(Places);

impl Dock {
    /// Builds the dock of a UI.
    pub(crate) fn build(tui: &mut Tui, look: &Look, editor: EditorArea) -> Self {
        let dock = tui.dock_mut();
        let places = Places {
            queue: dock.push(QueueView::new(look.clone())),
            working: dock.push(Working::new(look.clone(), Instant::now())),
            above: dock.push(Widgets::new(look.clone())),
            editor: dock.push(editor),
            below: dock.push(Widgets::new(look.clone())),
            footer: dock.push(Footer::new(look.clone())),
        };
        tui.set_focus(Some(FocusTarget::Dock(places.editor)));
        Self(places)
    }
}

impl Screen {
    /// Joins a running UI with its dock.
    pub(crate) fn new(runner: Runner, dock: &Dock) -> Self {
        Self {
            runner,
            places: dock.0,
            dialog: None,
            foreign: ForeignPlaces::default(),
        }
    }

    /// Returns the loop around the UI.
    pub(crate) fn runner(&mut self) -> &mut Runner {
        &mut self.runner
    }

    /// Returns the loop around the UI, to give the terminal back.
    pub(crate) fn into_runner(self) -> Runner {
        self.runner
    }

    /// Returns the UI, to look at it.
    pub(crate) fn peek(&self) -> &Tui {
        self.runner.tui()
    }

    /// Returns the transcript's blocks; a frame follows.
    pub(crate) fn document(&mut self) -> &mut Document {
        self.runner.tui_mut().transcript_mut()
    }

    /// Changes the prompt.
    pub(crate) fn with_editor<R: Default>(
        &mut self,
        change: impl FnOnce(&mut EditorArea) -> R,
    ) -> R {
        let id = self.places.editor;
        self.with(id, change)
    }

    /// Looks at the prompt.
    pub(crate) fn editor(&self) -> Option<&EditorArea> {
        let component = self.peek().dock().get(self.places.editor)?;
        (component as &dyn Any).downcast_ref()
    }

    /// Changes the footer.
    pub(crate) fn with_footer(&mut self, change: impl FnOnce(&mut Footer)) {
        let id = self.places.footer;
        self.with(id, change);
    }

    /// Changes the line that says what is going on.
    pub(crate) fn with_working(&mut self, change: impl FnOnce(&mut Working)) {
        let id = self.places.working;
        self.with(id, change);
    }

    /// Looks at the line that says what is going on.
    pub(crate) fn working(&self) -> Option<&Working> {
        let component = self.peek().dock().get(self.places.working)?;
        (component as &dyn Any).downcast_ref()
    }

    /// Changes the widgets of one side of the prompt.
    pub(crate) fn with_widgets<R: Default>(
        &mut self,
        side: Side,
        change: impl FnOnce(&mut Widgets) -> R,
    ) -> R {
        let id = match side {
            Side::Above => self.places.above,
            Side::Below => self.places.below,
        };
        self.with(id, change)
    }

    /// Changes the list of what waits.
    pub(crate) fn with_queue(&mut self, change: impl FnOnce(&mut QueueView)) {
        let id = self.places.queue;
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

    /// Shows a dialog in the place of the prompt; one that was open is closed.
    pub(crate) fn open_dialog(&mut self, mut dialog: Box<dyn Dialog>) {
        self.close_dialog();
        dialog.set_rows(self.peek().size().rows);
        let tui = self.runner.tui_mut();
        let before = self.places.editor;
        let frame = Box::new(DialogFrame(dialog));
        let id = tui
            .dock_mut()
            .insert_before(before, frame, Liveness::Settled);
        self.dialog = Some(id);
        self.settle_front();
    }

    /// Takes the dialog away and gives the place and the keyboard back.
    pub(crate) fn close_dialog(&mut self) {
        let Some(id) = self.dialog.take() else {
            return;
        };
        self.runner.tui_mut().dock_mut().remove(id);
        self.settle_front();
    }

    /// Returns whether a dialog is open.
    pub(crate) fn has_dialog(&self) -> bool {
        self.dialog.is_some()
    }

    /// Looks at the dialog.
    pub(crate) fn dialog(&self) -> Option<&dyn Dialog> {
        let component = self.peek().dock().get(self.dialog?)?;
        let frame = (component as &dyn Any).downcast_ref::<DialogFrame>()?;
        Some(frame.0.as_ref())
    }

    /// Changes the dialog.
    pub(crate) fn with_dialog<R: Default>(
        &mut self,
        change: impl FnOnce(&mut dyn Dialog) -> R,
    ) -> R {
        let Some(id) = self.dialog else {
            return R::default();
        };
        self.with(id, |frame: &mut DialogFrame| change(frame.0.as_mut()))
    }
}

/// A dialog as a component of the dock.
pub(crate) struct DialogFrame(pub(crate) Box<dyn Dialog>);

impl Component for DialogFrame {
    fn render(&mut self, width: usize) -> Lines {
        self.0.render(width)
    }

    fn handle_input(&mut self, event: &InputEvent, context: &InputContext<'_>) -> InputOutcome {
        // Keys without a meaning in the dialog must not reach anything behind it.
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
