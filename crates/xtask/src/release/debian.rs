//! Debian packages, written without the tools of Debian so that every platform can make them.

use std::fmt::Write as _;
use std::io::Write as _;

use anyhow::Result;
use flate2::Compression;
use flate2::write::GzEncoder;

use super::files::{PackagedFile, archive};
use super::{ReleaseVersion, packaged};

/// Where the files of a package are installed.
const PLACES: [(&str, &str); 6] = [
    ("pi", "usr/bin/pi"),
    (
        "completions/pi.bash",
        "usr/share/bash-completion/completions/pi",
    ),
    ("completions/_pi", "usr/share/zsh/vendor-completions/_pi"),
    (
        "completions/pi.fish",
        "usr/share/fish/vendor_completions.d/pi.fish",
    ),
    ("man/pi.1", "usr/share/man/man1/pi.1.gz"),
    ("LICENSE", "usr/share/doc/pi-coding-agent/copyright"),
];

/// The version of glibc that the release job builds with.
const GLIBC: &str = "2.36";

/// Returns the file name of a Debian package.
pub(super) fn name(version: &ReleaseVersion, architecture: &str) -> String {
    format!("pi_{}_{architecture}.deb", version.tag())
}

/// Returns a Debian package of the files.
pub(super) fn package(
    files: &[PackagedFile],
    architecture: &str,
    version: &ReleaseVersion,
) -> Result<Vec<u8>> {
    let mut data = Vec::new();
    let mut sums = String::new();
    for (from, to) in PLACES {
        for file in files.iter().filter(|file| file.path == from) {
            let content = match to.rsplit_once('.') {
                Some((_, "gz")) => compressed(&file.content)?,
                _ => file.content.clone(),
            };
            writeln!(sums, "{}  {to}", md5(&content))?;
            data.push(packaged(to, file.mode, content));
        }
    }
    let bytes: usize = data.iter().map(|file| file.content.len()).sum();
    // `pi` is another program in Debian, which this one replaces.
    let control = format!(
        "Package: pi-coding-agent\n\
         Version: {version}\n\
         Architecture: {architecture}\n\
         Maintainer: pi maintainers <pi@localhost>\n\
         Installed-Size: {}\n\
         Depends: libc6 (>= {GLIBC}), libgcc-s1\n\
         Recommends: git, ca-certificates\n\
         Conflicts: pi\n\
         Section: devel\n\
         Priority: optional\n\
         Description: coding agent for the terminal\n \
         Reads code, edits files and runs commands in your project, with the models of\n \
         many providers or a local server.\n",
        bytes.div_ceil(1024),
        version = version.0,
    );
    let control = [
        packaged("control", 0o644, control.into_bytes()),
        packaged("md5sums", 0o644, sums.into_bytes()),
    ];
    let mut package = b"!<arch>\n".to_vec();
    for (name, content) in [
        ("debian-binary", b"2.0\n".to_vec()),
        ("control.tar.gz", archive("", &control)?),
        ("data.tar.gz", archive("", &data)?),
    ] {
        let length = content.len();
        writeln!(
            package,
            "{name:<16}{:<12}{:<6}{:<6}{:<8}{length:<10}`",
            0, 0, 0, 100_644
        )?;
        package.extend(content);
        if length % 2 == 1 {
            package.push(b'\n');
        }
    }
    Ok(package)
}

fn compressed(content: &[u8]) -> Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(content)?;
    Ok(encoder.finish()?)
}

fn md5(content: &[u8]) -> String {
    use md5::Digest as _;
    pi_protocol::hex(&md5::Md5::digest(content))
}
