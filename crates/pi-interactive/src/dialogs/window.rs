//! A dialog on the screen: a pane with its borders, caching, and the contract of dialogs.

use std::time::Instant;

use pi_tui::{
    ColorToken, Component, InputContext, InputEvent, InputOutcome, Lines, MouseEvent, MouseOutcome,
};

use super::outbox::Outbox;
use super::sheet::{Hit, Painted, Sheet};
use crate::dialog::{Dialog, DialogNews};
use crate::intent::Intent;
use crate::look::Look;

/// Rows of the footer, which stays below a dialog.
const ROWS_BELOW: usize = 3;
/// No dialog is made lower than this; a lower terminal scrolls.
const LEAST_ROWS: usize = 3;
/// Assumed until the terminal's height is known.
const USUAL_ROWS: usize = 24;

/// The inside of a dialog.
pub(crate) trait Pane: Send + 'static {
    /// Paints everything between the borders.
    fn paint(&mut self, sheet: &mut Sheet);

    /// Handles a key or a paste.
    fn handle(
        &mut self,
        event: &InputEvent,
        context: &InputContext<'_>,
        outbox: &mut Outbox,
    ) -> InputOutcome;

    /// Handles the mouse; `hit` is what is under the pointer. Returns whether it was used.
    fn mouse(
        &mut self,
        event: &MouseEvent,
        hit: Option<Hit>,
        context: &InputContext<'_>,
        outbox: &mut Outbox,
    ) -> bool;

    /// Tells that the pane gained or lost the keyboard.
    fn set_focused(&mut self, _focused: bool) {}

    /// Drops what depends on the theme.
    fn restyle(&mut self) {}

    /// See [`Dialog::next_tick`].
    fn next_tick(&self) -> Option<Instant> {
        None
    }

    /// See [`Dialog::tick`].
    fn tick(&mut self, _now: Instant, _outbox: &mut Outbox) {}

    /// See [`Dialog::feed`].
    fn feed(&mut self, _news: DialogNews, _outbox: &mut Outbox) {}
}

struct Cache {
    width: usize,
    rows: usize,
    generation: u64,
    lines: Lines,
}

/// A pane in the place of the editor.
pub(crate) struct Window<P> {
    pane: P,
    look: Look,
    rows: usize,
    outbox: Outbox,
    cache: Option<Cache>,
    hits: Vec<Option<Hit>>,
}

impl<P: Pane> Window<P> {
    pub(super) fn new(look: Look, pane: P) -> Self {
        Self {
            pane,
            look,
            rows: USUAL_ROWS,
            outbox: Outbox::default(),
            cache: None,
            hits: Vec::new(),
        }
    }

    /// Asks for something as soon as the dialog opens.
    pub(super) fn asking(mut self, intent: Intent) -> Self {
        self.outbox.send(intent);
        self
    }

    fn paint(&mut self, width: usize) -> Painted {
        let height = self.rows.saturating_sub(ROWS_BELOW).max(LEAST_ROWS);
        let mut sheet = Sheet::new(self.look.appearance(), width, height);
        sheet.rule(ColorToken::Border);
        self.pane.paint(&mut sheet);
        sheet.rule(ColorToken::Border);
        sheet.finish()
    }

    fn see_rows(&mut self, context: &InputContext<'_>) {
        if context.rows > 0 {
            self.rows = context.rows;
        }
    }
}

impl<P: Pane> Component for Window<P> {
    fn render(&mut self, width: usize) -> Lines {
        let generation = self.look.generation();
        let stale = self
            .cache
            .as_ref()
            .is_some_and(|cache| cache.generation != generation);
        if stale {
            self.pane.restyle();
        }
        if let Some(cache) = &self.cache
            && (cache.width, cache.rows, cache.generation) == (width, self.rows, generation)
        {
            return cache.lines.clone();
        }
        let Painted { lines, hits } = self.paint(width);
        self.hits = hits;
        self.cache = Some(Cache {
            width,
            rows: self.rows,
            generation,
            lines: lines.clone(),
        });
        lines
    }

    fn handle_input(&mut self, event: &InputEvent, context: &InputContext<'_>) -> InputOutcome {
        self.see_rows(context);
        if event.is_key_release() || self.outbox.is_closed() {
            return InputOutcome::Ignored;
        }
        self.cache = None;
        self.pane.handle(event, context, &mut self.outbox)
    }

    fn handle_mouse(&mut self, event: &MouseEvent, context: &InputContext<'_>) -> MouseOutcome {
        self.see_rows(context);
        if self.outbox.is_closed() {
            return MouseOutcome::default();
        }
        let hit = self.hits.get(event.row).copied().flatten();
        if !self.pane.mouse(event, hit, context, &mut self.outbox) {
            return MouseOutcome::default();
        }
        self.cache = None;
        MouseOutcome {
            render: Some(true),
            ..MouseOutcome::handled()
        }
    }

    fn invalidate(&mut self) {
        self.cache = None;
        self.pane.restyle();
    }

    fn set_focused(&mut self, focused: bool) {
        self.cache = None;
        self.pane.set_focused(focused);
    }
}

impl<P: Pane> Dialog for Window<P> {
    fn take_intents(&mut self) -> Vec<Intent> {
        self.outbox.take()
    }

    fn is_done(&self) -> bool {
        self.outbox.is_closed()
    }

    fn set_rows(&mut self, rows: usize) {
        self.rows = rows;
    }

    fn next_tick(&self) -> Option<Instant> {
        if self.outbox.is_closed() {
            return None;
        }
        self.pane.next_tick()
    }

    fn tick(&mut self, now: Instant) {
        if !self.outbox.is_closed() {
            self.cache = None;
            self.pane.tick(now, &mut self.outbox);
        }
    }

    fn feed(&mut self, news: DialogNews) {
        if !self.outbox.is_closed() {
            self.cache = None;
            self.pane.feed(news, &mut self.outbox);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialogs::ForkDialog;

    #[test]
    fn what_did_not_change_is_not_painted_again() {
        let look = Look::for_tests();
        let mut dialog = ForkDialog::open(look.clone(), Vec::new());
        let first = dialog.render(40);
        assert!(first.ptr_eq(&dialog.render(40)));
        assert!(!first.ptr_eq(&dialog.render(41)));
        let first = dialog.render(40);
        look.change(|appearance| appearance.show_images = false);
        assert!(!first.ptr_eq(&dialog.render(40)));
    }
}
