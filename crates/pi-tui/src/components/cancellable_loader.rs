//! A loader that Escape cancels.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::handler::Handler;
use super::loader::{Loader, LoaderTheme};
use crate::component::{Component, InputContext, InputOutcome};
use crate::input::{InputEvent, action};
use crate::line::Lines;

/// Tells work in progress, from any thread, that nobody waits for it any more.
#[derive(Clone, Debug, Default)]
pub struct CancellationFlag(Arc<AtomicBool>);

impl CancellationFlag {
    /// Returns one that is not canceled.
    pub fn new() -> Self {
        Self::default()
    }

    /// Cancels the work.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Release);
    }

    /// Returns whether the work was canceled.
    pub fn is_canceled(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// A [`Loader`] with a way out.
#[derive(Debug)]
pub struct CancellableLoader {
    loader: Loader,
    cancellation: CancellationFlag,
    canceled: Handler<()>,
}

impl CancellableLoader {
    /// Returns a loader whose work is not canceled.
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

    /// Returns the flag that the work shall watch.
    pub fn cancellation(&self) -> CancellationFlag {
        self.cancellation.clone()
    }

    /// Returns the loader inside, for its message and its animation.
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
