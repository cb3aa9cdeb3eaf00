//! Packs the manual, and tells the linker how to make the program small to start and small on disk.
//!
//! `src/manual.rs` unpacks the manual and the changelog.
//!
//! A start runs a few thousand of the program's functions. Scattered all over it they bring half of it
//! into memory, since the system loads code in pieces of 64 KiB; side by side they are a few pieces.
//! `start.order` names them, and `cargo xtask start-order` writes it. The linker passes over a name that
//! is gone, and places a function without a name in the list after the others: the list may age.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

const ORDER: &str = "start.order";
const WITHOUT_UNWINDING: &str = "without-unwinding.ld";

fn main() {
    if let Err(error) = pack_manual() {
        println!("cargo::error=packing the manual: {error}");
    }
    tell_linker();
}

fn pack_manual() -> io::Result<()> {
    let folder = |variable: &str| PathBuf::from(env::var_os(variable).unwrap_or_default());
    let root = folder("CARGO_MANIFEST_DIR").join("../..");
    let (manual, changelog) = (root.join("docs"), root.join("CHANGELOG.md"));
    let mut texts = BTreeMap::new();
    for entry in fs::read_dir(&manual)? {
        let page = entry?.path();
        if page.extension().is_some_and(|extension| extension == "md") {
            texts.insert(name_of(&page), fs::read_to_string(&page)?);
        }
    }
    texts.insert(name_of(&changelog), fs::read_to_string(&changelog)?);
    for read in [manual, changelog] {
        println!("cargo::rerun-if-changed={}", read.display());
    }
    pi_packed::pack_texts(&texts, &folder("OUT_DIR").join("manual.deflate"))
}

fn name_of(file: &Path) -> String {
    let name = file.file_stem().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

fn tell_linker() {
    println!("cargo::rerun-if-changed={ORDER}");
    println!("cargo::rerun-if-changed={WITHOUT_UNWINDING}");
    if rustc_flags().contains("relro-level=partial") {
        // What this leaves out of full RELRO; see `.cargo/config.toml`.
        tell("-z,now");
    }
    if !is_linked_by_lld() || env::var("OPT_LEVEL").is_ok_and(|level| level == "0") {
        return;
    }
    let folder = env::var("CARGO_MANIFEST_DIR").unwrap_or_default();
    tell(&format!("--symbol-ordering-file={folder}/{ORDER}"));
    tell("--no-warn-symbol-ordering");
    // Functions that came out the same for several types are kept once.
    tell("--icf=all");
    // The hook of `panics.rs` ends the program before anything would be unwound.
    tell(&format!("-T,{folder}/{WITHOUT_UNWINDING}"));
    tell("--no-eh-frame-hdr");
    if loads_packed_relocations() {
        tell("-z,pack-relative-relocs");
    }
}

fn tell(option: &str) {
    println!("cargo::rustc-link-arg-bins=-Wl,{option}");
}

fn rustc_flags() -> String {
    env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default()
}

/// Returns whether the toolchain's own lld links, which alone knows the option: the default of one target,
/// unless somebody chose another linker.
fn is_linked_by_lld() -> bool {
    let target = |part: &str| env::var(format!("CARGO_CFG_TARGET_{part}")).unwrap_or_default();
    let flags = rustc_flags();
    let chosen = env::var_os("RUSTC_LINKER").is_some()
        || ["linker", "fuse-ld"]
            .iter()
            .any(|word| flags.contains(word));
    !chosen && target("OS") == "linux" && target("ARCH") == "x86_64" && target("ENV") == "gnu"
}

/// Returns whether the C library here loads relocations in their packed form, a hundredth of their size: glibc does
/// from 2.36. A program that shall run with an older one is built where that is installed, as for its symbols.
fn loads_packed_relocations() -> bool {
    let asked = Command::new("getconf").arg("GNU_LIBC_VERSION").output();
    let version = asked.map(|answer| String::from_utf8_lossy(&answer.stdout).into_owned());
    let Ok(version) = version else { return false };
    let mut numbers = version.trim().trim_start_matches("glibc ").split('.');
    let mut next = || numbers.next().and_then(|number| number.parse::<u32>().ok());
    let is_native = env::var("HOST") == env::var("TARGET");
    is_native && matches!((next(), next()), (Some(2), Some(36..)))
}
