//! A dialog on screen: a body with borders, a line cache, and the [`Dialog`] contract.

use std::time::Instant;

use pi_tui::{
    ColorToken, Component, InputContext, InputEvent, InputOutcome, Lines, MouseEvent, MouseOutcome,
};

use super::canvas::{DialogCanvas, HitTarget, PaintedDialog};
use super::intent_sink::IntentSink;
use crate::dialogs::dialog::{Dialog, DialogUpdate};
use crate::dialogs::intent::Intent;
use crate::theme::ui_theme::UiTheme;

/// Rows of the footer, which stays below a dialog.
const ROWS_BELOW: usize = 3;
/// Minimum dialog height; a shorter terminal scrolls.
const MIN_ROWS: usize = 3;
/// Used until the terminal height is known.
const DEFAULT_ROWS: usize = 24;

/// The content of a dialog.
pub(crate) trait DialogBody: Send + 'static {
    /// Paints everything between the borders.
    fn paint(&mut self, canvas: &mut DialogCanvas);

    fn handle(
        &mut self,
        event: &InputEvent,
        context: &InputContext<'_>,
        sink: &mut IntentSink,
    ) -> InputOutcome;

    /// Handles the mouse; `hit` is the target under the pointer. Returns whether the event was used.
    fn mouse(
        &mut self,
        event: &MouseEvent,
        hit: Option<HitTarget>,
        context: &InputContext<'_>,
        sink: &mut IntentSink,
    ) -> bool;

    fn set_focused(&mut self, _focused: bool) {}

    /// Drops everything that depends on the theme.
    fn restyle(&mut self) {}

    /// See [`Dialog::next_tick`].
    fn next_tick(&self) -> Option<Instant> {
        None
    }

    /// See [`Dialog::tick`].
    fn tick(&mut self, _now: Instant, _outbox: &mut IntentSink) {}

    /// See [`Dialog::on_update`].
    fn on_update(&mut self, _news: DialogUpdate, _outbox: &mut IntentSink) {}
}

struct FrameCache {
    width: usize,
    rows: usize,
    generation: u64,
    lines: Lines,
}

/// A body shown in place of the editor.
pub(crate) struct DialogFrame<P> {
    body: P,
    ui: UiTheme,
    rows: usize,
    sink: IntentSink,
    cache: Option<FrameCache>,
    hits: Vec<Option<HitTarget>>,
}

impl<P: DialogBody> DialogFrame<P> {
    pub(super) fn new(ui: UiTheme, body: P) -> Self {
        Self {
            body,
            ui,
            rows: DEFAULT_ROWS,
            sink: IntentSink::default(),
            cache: None,
            hits: Vec::new(),
        }
    }

    /// Sends an intent as soon as the dialog opens.
    pub(super) fn with_intent(mut self, intent: Intent) -> Self {
        self.sink.send(intent);
        self
    }

    fn paint(&mut self, width: usize) -> PaintedDialog {
        let height = self.rows.saturating_sub(ROWS_BELOW).max(MIN_ROWS);
        let mut canvas = DialogCanvas::new(self.ui.context(), width, height);
        canvas.rule(ColorToken::Border);
        self.body.paint(&mut canvas);
        canvas.rule(ColorToken::Border);
        canvas.finish()
    }

    fn track_rows(&mut self, context: &InputContext<'_>) {
        if context.rows > 0 {
            self.rows = context.rows;
        }
    }
}

impl<P: DialogBody> Component for DialogFrame<P> {
    fn render(&mut self, width: usize) -> Lines {
        let generation = self.ui.generation();
        let stale = self
            .cache
            .as_ref()
            .is_some_and(|cache| cache.generation != generation);
        if stale {
            self.body.restyle();
        }
        if let Some(cache) = &self.cache
            && (cache.width, cache.rows, cache.generation) == (width, self.rows, generation)
        {
            return cache.lines.clone();
        }
        let PaintedDialog { lines, hits } = self.paint(width);
        self.hits = hits;
        self.cache = Some(FrameCache {
            width,
            rows: self.rows,
            generation,
            lines: lines.clone(),
        });
        lines
    }

    fn handle_input(&mut self, event: &InputEvent, context: &InputContext<'_>) -> InputOutcome {
        self.track_rows(context);
        if event.is_key_release() || self.sink.is_closed() {
            return InputOutcome::Ignored;
        }
        self.cache = None;
        self.body.handle(event, context, &mut self.sink)
    }

    fn handle_mouse(&mut self, event: &MouseEvent, context: &InputContext<'_>) -> MouseOutcome {
        self.track_rows(context);
        if self.sink.is_closed() {
            return MouseOutcome::default();
        }
        let hit = self.hits.get(event.row).copied().flatten();
        if !self.body.mouse(event, hit, context, &mut self.sink) {
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
        self.body.restyle();
    }

    fn set_focused(&mut self, focused: bool) {
        self.cache = None;
        self.body.set_focused(focused);
    }
}

impl<P: DialogBody> Dialog for DialogFrame<P> {
    fn take_intents(&mut self) -> Vec<Intent> {
        self.sink.take()
    }

    fn is_done(&self) -> bool {
        self.sink.is_closed()
    }

    fn set_rows(&mut self, rows: usize) {
        self.rows = rows;
    }

    fn next_tick(&self) -> Option<Instant> {
        if self.sink.is_closed() {
            return None;
        }
        self.body.next_tick()
    }

    fn tick(&mut self, now: Instant) {
        if !self.sink.is_closed() {
            self.cache = None;
            self.body.tick(now, &mut self.sink);
        }
    }

    fn on_update(&mut self, update: DialogUpdate) {
        if !self.sink.is_closed() {
            self.cache = None;
            self.body.on_update(update, &mut self.sink);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialogs::fork::ForkDialog;

    #[test]
    fn unchanged_dialogs_are_not_repainted() {
        let ui = UiTheme::for_tests();
        let mut dialog = ForkDialog::open(ui.clone(), Vec::new());
        let first = dialog.render(40);
        assert!(first.ptr_eq(&dialog.render(40)));
        assert!(!first.ptr_eq(&dialog.render(41)));
        let first = dialog.render(40);
        ui.update(|ctx| ctx.show_images = false);
        assert!(!first.ptr_eq(&dialog.render(40)));
    }
}
