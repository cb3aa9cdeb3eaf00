//! Keys in the Kitty keyboard protocol's form and in xterm's modifyOtherKeys form.
