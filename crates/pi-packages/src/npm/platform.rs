//! Platform checks, using Node's platform names.

use std::path::Path;

use super::manifest::NpmManifest;

/// The platform that packages are installed for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NpmPlatform {
    os: &'static str,
    cpu: &'static str,
    /// The C library, on Linux only.
    libc: Option<&'static str>,
}

impl NpmPlatform {
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
        // Our own C library is no indication: a static build runs anywhere.
        let libc = (os == "linux").then(|| {
            if Path::new("/etc/alpine-release").exists() {
                "musl"
            } else {
                "glibc"
            }
        });
        Self { os, cpu, libc }
    }

    /// Returns whether a package supports this platform.
    pub(crate) fn supports(&self, package: &NpmManifest) -> bool {
        allows(&package.os, self.os)
            && allows(&package.cpu, self.cpu)
            && self.libc.is_none_or(|libc| allows(&package.libc, libc))
    }
}

/// Evaluates a list such as `["linux", "darwin"]` or `["!win32"]`; an empty list allows everything.
fn allows(list: &[String], current: &str) -> bool {
    let (denied, allowed): (Vec<&String>, Vec<&String>) =
        list.iter().partition(|entry| entry.starts_with('!'));
    let is_refused = denied
        .iter()
        .any(|entry| entry.strip_prefix('!') == Some(current));
    let is_wanted = allowed.is_empty()
        || allowed
            .iter()
            .any(|entry| *entry == current || *entry == "any");
    !is_refused && is_wanted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_allow_and_deny() {
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
