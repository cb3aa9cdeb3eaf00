//! Which packages are made for this machine, in Node's words.

use std::path::Path;

use super::manifest::Manifest;

/// The machine packages are installed on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Platform {
    os: &'static str,
    cpu: &'static str,
    /// Which C library, on Linux.
    libc: Option<&'static str>,
}

impl Platform {
    /// Describes this machine.
    pub(crate) fn current() -> Self {
        let os = match std::env::consts::OS {
            "macos" => "darwin",
            "windows" => "win32",
            other => other,
        };
        let cpu = match std::env::consts::ARCH {
            "x86_64" => "x64",
            "x86" => "ia32",
            "aarch64" => "arm64",
            "powerpc64" => "ppc64",
            "loongarch64" => "loong64",
            other => other,
        };
        // Our own library says nothing: a static build runs everywhere.
        let libc = (os == "linux").then(|| {
            if Path::new("/etc/alpine-release").exists() {
                "musl"
            } else {
                "glibc"
            }
        });
        Self { os, cpu, libc }
    }

    /// Returns whether a package runs here.
    pub(crate) fn takes(&self, package: &Manifest) -> bool {
        allows(&package.os, self.os)
            && allows(&package.cpu, self.cpu)
            && self.libc.is_none_or(|libc| allows(&package.libc, libc))
    }
}

/// Reads a list such as `["linux", "darwin"]` or `["!win32"]`; an empty one allows everything.
fn allows(list: &[String], own: &str) -> bool {
    let (refused, wanted): (Vec<&String>, Vec<&String>) =
        list.iter().partition(|entry| entry.starts_with('!'));
    let is_refused = refused
        .iter()
        .any(|entry| entry.strip_prefix('!') == Some(own));
    let is_wanted =
        wanted.is_empty() || wanted.iter().any(|entry| *entry == own || *entry == "any");
    !is_refused && is_wanted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_allow_and_refuse() {
        for (list, expected) in [
            (&[][..], true),
            (&["linux"][..], true),
            (&["darwin", "win32"][..], false),
            (&["!win32"][..], true),
            (&["!linux"][..], false),
            (&["any"][..], true),
        ] {
            let list: Vec<String> = list.iter().map(ToString::to_string).collect();
            assert_eq!(allows(&list, "linux"), expected, "{list:?}");
        }
    }
}
