//! Lists the functions that starts run, for the linker to place next to each other.
//!
//! A start runs a few thousand functions. Scattered over the binary, they load half of it, since the system reads code
//! in blocks of 64 KiB; next to each other they fill a few blocks.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The binary in the profiles; functions of shared libraries cannot be placed.
const PROGRAM: &str = "pi";

/// The functions in a set of callgrind profiles, one per kind of start.
#[derive(Debug, Default)]
pub(super) struct FunctionOrder {
    /// Number of profiles that contain each function.
    profiles: BTreeMap<String, usize>,
}

impl FunctionOrder {
    /// Adds the functions of one profile.
    pub(super) fn add(&mut self, profile: &str) {
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

    /// Returns the names, those in most profiles first, so that the code of every start is contiguous.
    pub(super) fn into_names(self) -> Vec<String> {
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
        let mut functions = FunctionOrder::default();
        functions.add("ob=(9) /build/pi\nfn=(4) _ZN2pi5helloE\n");
        functions.add(START);
        assert_eq!(functions.into_names(), ["_ZN2pi5helloE", "_ZN2pi4main17hE"]);
    }
}
