//! The `pi` binary.

fn main() {}
