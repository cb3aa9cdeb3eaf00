//! Ends the program in order when a part of it panics.
//!
//! After a surprise nobody knows what still holds, and a screen whose terminal was given back is of no use.
//! What must happen first, parts add when they start: the terminal's modes, a record of the crash. Whatever
//! was acknowledged is on the disk by then.

use crate::output::notice;

/// What Rust's own programs end with after a panic.
const PANICKED: i32 = 101;

/// Makes a panic of any thread the end of the program.
pub(crate) fn end_the_program() {
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        report(panic);
        notice(
            "This is a defect of pi, which ends here. What was said is kept: `pi --continue` goes on with it.",
        );
        #[expect(
            clippy::disallowed_methods,
            reason = "a panic runs no destructors, whatever ends it"
        )]
        std::process::exit(PANICKED);
    }));
}
