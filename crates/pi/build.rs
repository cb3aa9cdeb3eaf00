//! Tells the linker to lay out side by side what a start runs.
//!
//! A start runs a few thousand of the program's functions. Scattered all over it they bring half of it
//! into memory, since the system loads code in pieces of 64 KiB; side by side they are a few pieces.
//! `start.order` names them, and `cargo xtask start-order` writes it. The linker passes over a name that
//! is gone, and places a function without a name in the list after the others: the list may age.

use std::env;

const ORDER: &str = "start.order";

fn main() {
    println!("cargo::rerun-if-changed={ORDER}");
    if is_linked_by_lld() && env::var("OPT_LEVEL").is_ok_and(|level| level != "0") {
        let folder = env::var("CARGO_MANIFEST_DIR").unwrap_or_default();
        println!("cargo::rustc-link-arg-bins=-Wl,--symbol-ordering-file={folder}/{ORDER}");
        println!("cargo::rustc-link-arg-bins=-Wl,--no-warn-symbol-ordering");
    }
}

/// Tells whether the toolchain's own lld links, which alone knows the option: the default of one target,
/// unless somebody chose another linker.
fn is_linked_by_lld() -> bool {
    let target = |part: &str| env::var(format!("CARGO_CFG_TARGET_{part}")).unwrap_or_default();
    let flags = env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    let chosen = env::var_os("RUSTC_LINKER").is_some()
        || ["linker", "fuse-ld"]
            .iter()
            .any(|word| flags.contains(word));
    !chosen && target("OS") == "linux" && target("ARCH") == "x86_64" && target("ENV") == "gnu"
}
