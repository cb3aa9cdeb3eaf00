//! A loader that can be canceled with Escape.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::handler::Handler;
use super::loader::{Loader, LoaderTheme};
use crate::component::{Component, InputContext, InputOutcome};
use crate::input::{InputEvent, action};
use crate::line::Lines;

/// A flag that signals cancellation to work on any thread.
#[derive(Clone, Debug, Default)]
pub struct CancellationFlag(Arc<AtomicBool>);

impl CancellationFlag {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn cancel(&self) {
        self.0.store(true, Ordering::Release);
    }

    pub fn is_canceled(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// A [`Loader`] that the user can cancel.
#[derive(Debug)]
pub struct CancellableLoader {
    loader: Loader,
    cancellation: CancellationFlag,
    canceled: Handler<()>,
}

impl CancellableLoader {
    pub fn new(theme: LoaderTheme, message: impl Into<String>) -> Self {
        Self {
            loader: Loader::new(theme, message),
            cancellation: CancellationFlag::new(),
            canceled: Handler::default(),
        }
    }

    /// Calls `handle` when the user cancels.
    pub fn on_cancel(&mut self, mut handle: impl FnMut() + Send + 'static) {
        self.canceled.set(move |()| handle());
    }

    /// Returns the flag that the work should poll.
    pub fn cancellation(&self) -> CancellationFlag {
        self.cancellation.clone()
    }

    /// Returns the inner loader, to change its message or animation.
    pub fn loader_mut(&mut self) -> &mut Loader {
        &mut self.loader
    }
}

impl Component for CancellableLoader {
    fn render(&mut self, width: usize) -> Lines {
        self.loader.render(width)
    }

    fn handle_input(&mut self, event: &InputEvent, context: &InputContext<'_>) -> InputOutcome {
        match event {
            InputEvent::Key(key) if context.keybindings.matches(key, action::SELECT_CANCEL) => {
                if !self.cancellation.is_canceled() {
                    self.cancellation.cancel();
                    self.canceled.emit(());
                }
                InputOutcome::Consumed
            }
            _ => InputOutcome::Ignored,
        }
    }

    fn invalidate(&mut self) {
        self.loader.invalidate();
    }
}
