//! `cargo xtask start-order`: lists the functions a start runs, for the linker to place next to each other.
//!
//! The profiles come from callgrind, one per kind of start. Functions that more starts run come first, so that the
//! code every start needs is contiguous.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::Write as _;
use std::path::Path;

use anyhow::{Context as _, Result, bail};

/// Passed to the linker by the build script of `pi`.
const ORDER: &str = "../pi/start.order";

/// The binary in the profiles; functions of shared libraries cannot be placed.
const PROGRAM: &str = "pi";

pub(crate) fn run(profiles: &[&str]) -> Result<String> {
    if profiles.is_empty() {
        bail!(
            "`start-order` needs callgrind profiles\nhint: record one per kind of start: \
             valgrind --tool=callgrind --demangle=no --callgrind-out-file=FILE target/release/pi …, \
             with a binary that has symbols (cargo rustc --release -p pi -- -C strip=none)"
        );
    }
    let mut functions = Functions::default();
    for profile in profiles {
        let text = std::fs::read_to_string(profile)
            .with_context(|| format!("cannot read profile {profile}"))?;
        functions.add(&text);
    }
    let names = functions.ordered();
    if names.is_empty() {
        bail!("the profiles contain no function of `{PROGRAM}`: was the binary stripped?");
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(ORDER);
    std::fs::File::create(&path)
        .and_then(|mut file| writeln!(file, "{}", names.join("\n")))
        .with_context(|| format!("cannot write {}", path.display()))?;
    Ok(format!(
        "crates/pi/start.order lists {} functions",
        names.len()
    ))
}

#[derive(Debug, Default)]
struct Functions {
    /// Number of profiles that contain each function.
    profiles: BTreeMap<String, usize>,
}

impl Functions {
    /// Adds the functions of one profile.
    fn add(&mut self, profile: &str) {
        let mut objects = CompressedNames::default();
        let mut functions = CompressedNames::default();
        let mut is_ours = false;
        let mut run = BTreeSet::new();
        for line in profile.lines() {
            let Some((field, value)) = line.split_once('=') else {
                continue;
            };
            match field {
                "ob" => is_ours = objects.resolve(value).rsplit('/').next() == Some(PROGRAM),
                "cob" => {
                    objects.resolve(value);
                }
                "cfn" => {
                    functions.resolve(value);
                }
                // A recursive function appears once per level.
                "fn" => {
                    let name = functions.resolve(value);
                    let name = name.split('\'').next().unwrap_or(name);
                    if is_ours && is_symbol(name) {
                        run.insert(name);
                    }
                }
                _ => {}
            }
        }
        for name in run {
            *self.profiles.entry(name.to_owned()).or_default() += 1;
        }
    }

    /// Returns the names, those in most profiles first.
    fn ordered(self) -> Vec<String> {
        let mut names: Vec<_> = self.profiles.into_iter().collect();
        names.sort_by_key(|(_, profiles)| Reverse(*profiles));
        names.into_iter().map(|(name, _)| name).collect()
    }
}

/// Returns whether `name` is a symbol and not an address or a callgrind placeholder.
fn is_symbol(name: &str) -> bool {
    !name.starts_with("0x") && !name.contains([' ', '?'])
}

/// Compressed names: a profile defines `(12) name` once and then refers to it as `(12)`.
#[derive(Debug, Default)]
struct CompressedNames<'profile>(HashMap<&'profile str, &'profile str>);

impl<'profile> CompressedNames<'profile> {
    fn resolve(&mut self, text: &'profile str) -> &'profile str {
        let numbered = text.strip_prefix('(').and_then(|text| text.split_once(')'));
        let Some((number, name)) = numbered else {
            return text;
        };
        match name.trim() {
            "" => self.0.get(number).copied().unwrap_or_default(),
            name => {
                self.0.insert(number, name);
                name
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    const START: &str = "\
# callgrind format
ob=(1) /usr/lib/libc.so.6
fn=(1) malloc
12 3
cob=(2) /build/pi
cfn=(2) _ZN2pi4main17hE
calls=1 0

ob=(2)
fn=(2)
1 2
fn=(3) _ZN2pi5helloE'2
1 2
fn=(4) 0x0000000000c9d930
fn=(5) (below main)
";

    #[test]
    fn functions_of_the_binary_are_sorted_by_number_of_profiles() {
        let mut functions = Functions::default();
        functions.add("ob=(9) /build/pi\nfn=(4) _ZN2pi5helloE\n");
        functions.add(START);
        assert_eq!(functions.ordered(), ["_ZN2pi5helloE", "_ZN2pi4main17hE"]);
    }
}
