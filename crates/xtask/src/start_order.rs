//! `cargo xtask start-order`: which functions a start runs, for the linker to lay out side by side.
//!
//! The profiles come from callgrind, one for each way to start. What more starts run comes first, so that
//! the pieces every start needs lie at the beginning.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::Write as _;
use std::path::Path;

use anyhow::{Context as _, Result, bail};

/// The list, which the build script of `pi` hands to the linker.
const ORDER: &str = "../pi/start.order";

/// The name of the program in the profiles; functions of libraries are not its to place.
const PROGRAM: &str = "pi";

/// Writes the list from profiles.
pub(crate) fn run(profiles: &[&str]) -> Result<String> {
    if profiles.is_empty() {
        bail!(
            "name the profiles to take the functions from\nhint: record one for each way to start: \
             valgrind --tool=callgrind --demangle=no --callgrind-out-file=FILE target/release/pi …, \
             with a program that has its symbols (cargo rustc --release -p pi -- -C strip=none)"
        );
    }
    let mut functions = Functions::default();
    for profile in profiles {
        let text = std::fs::read_to_string(profile)
            .with_context(|| format!("cannot read the profile {profile}"))?;
        functions.add(&text);
    }
    let names = functions.ordered();
    if names.is_empty() {
        bail!("the profiles name no function of `{PROGRAM}`: was it stripped of its symbols?");
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(ORDER);
    std::fs::File::create(&path)
        .and_then(|mut file| writeln!(file, "{}", names.join("\n")))
        .with_context(|| format!("cannot write {}", path.display()))?;
    Ok(format!(
        "crates/pi/start.order names {} functions",
        names.len()
    ))
}

/// The functions that profiles name.
#[derive(Debug, Default)]
struct Functions {
    /// In how many profiles each function is.
    profiles: BTreeMap<String, usize>,
}

impl Functions {
    /// Takes the functions of one profile.
    fn add(&mut self, profile: &str) {
        let mut objects = Names::default();
        let mut functions = Names::default();
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
                // A function that calls itself is told once for each level.
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

    /// Returns the names in the order of the list.
    fn ordered(self) -> Vec<String> {
        let mut names: Vec<_> = self.profiles.into_iter().collect();
        names.sort_by_key(|(_, profiles)| Reverse(*profiles));
        names.into_iter().map(|(name, _)| name).collect()
    }
}

/// Returns whether a name is one of a function; where there is none, profiles tell an address or a remark.
fn is_symbol(name: &str) -> bool {
    !name.starts_with("0x") && !name.contains([' ', '?'])
}

/// Names that a profile tells once, with a number, and afterwards by the number: `(12) name`, `(12)`.
#[derive(Debug, Default)]
struct Names<'profile>(HashMap<&'profile str, &'profile str>);

impl<'profile> Names<'profile> {
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
    fn the_program_s_own_functions_are_taken_and_what_more_starts_run_leads() {
        let mut functions = Functions::default();
        functions.add("ob=(9) /build/pi\nfn=(4) _ZN2pi5helloE\n");
        functions.add(START);
        assert_eq!(functions.ordered(), ["_ZN2pi5helloE", "_ZN2pi4main17hE"]);
    }
}
