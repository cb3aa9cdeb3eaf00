//! Exits in order after a panic.
//!
//! State is unreliable after a panic, so the program exits in the panic hook, before the stack unwinds and destructors
//! run. Other parts chain their own hooks: restoring the terminal, writing a crash record. Everything acknowledged is on
//! disk already.

use crate::output::notice;

/// The exit code of Rust programs after a panic.
const PANIC_EXIT: i32 = 101;

/// Makes a panic on any thread exit the program.
pub(crate) fn install_exit_hook() {
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        report(panic);
        notice("This is a bug in pi. Your session is saved: run `pi --continue` to resume it.");
        #[expect(
            clippy::disallowed_methods,
            reason = "destructors must not run on unreliable state"
        )]
        std::process::exit(PANIC_EXIT);
    }));
}
