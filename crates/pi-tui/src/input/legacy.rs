//! Keys in the forms terminals used before the Kitty protocol: control bytes, ESC prefixes, SS3, rxvt.
