//! Marks work that starts on the thread of an extension.

use std::cell::Cell;

thread_local! {
    static IS_STARTING: Cell<bool> = const { Cell::new(false) };
}

/// Returns whether the caller runs on the thread of an extension that has started it. No task of the program waits for
/// this thread, so it may block.
pub fn is_on_extension_thread() -> bool {
    IS_STARTING.get()
}

/// Runs a function that may ask where it runs.
pub(crate) fn on_extension_thread<R>(run: impl FnOnce() -> R) -> R {
    /// Restores the mark, also if the function panics.
    struct Restore(bool);
    impl Drop for Restore {
        fn drop(&mut self) {
            IS_STARTING.set(self.0);
        }
    }
    let _restore = Restore(IS_STARTING.replace(true));
    run()
}
