//! Which of the modules that extensions import this host has, for whoever wants to know before any code
//! runs.

use crate::resolver::builtin_name;
use crate::{api, embedded};

/// What the host has of a module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModuleSupport {
    /// All that is asked of it.
    Full,
    /// The module, without these of the names that are asked for.
    Partial(Vec<String>),
    /// Nothing: importing it works, using it throws.
    Absent,
    /// It is none of the host's: a package, which has to be installed.
    Package,
}

/// Tells what the host has of a module that some code imports names from.
pub fn module_support(specifier: &str, names: &[String]) -> ModuleSupport {
    if api::packages().any(|(name, _)| name == specifier) {
        return ModuleSupport::Full;
    }
    let Some(name) = builtin_name(specifier) else {
        return ModuleSupport::Package;
    };
    let Some(module) = embedded::find(&name) else {
        return ModuleSupport::Absent;
    };
    let missing: Vec<String> = names
        .iter()
        .filter(|name| {
            // Who takes the module as a whole finds what is there.
            let is_whole = matches!(name.as_str(), "default" | "*");
            !is_whole && !module.exports.contains(&name.as_str())
        })
        .cloned()
        .collect();
    if missing.is_empty() {
        ModuleSupport::Full
    } else {
        ModuleSupport::Partial(missing)
    }
}

/// Lists the modules that the host gives to extensions under the names of packages.
pub fn virtual_module_names() -> impl Iterator<Item = String> {
    api::packages().map(|(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_of_the_host_are_told_from_packages() {
        let support = |specifier: &str, names: &[&str]| {
            let names: Vec<String> = names.iter().map(ToString::to_string).collect();
            module_support(specifier, &names)
        };
        assert_eq!(
            support("node:fs", &["readFileSync", "default", "*"]),
            ModuleSupport::Full
        );
        assert_eq!(support("path", &["join"]), ModuleSupport::Full);
        assert_eq!(support("typebox", &["Type"]), ModuleSupport::Full);
        assert_eq!(
            support("@earendil-works/pi-coding-agent", &["anything"]),
            ModuleSupport::Full
        );
        assert_eq!(
            support("node:fs", &["readFileSync", "noSuchThing"]),
            ModuleSupport::Partial(vec!["noSuchThing".to_owned()])
        );
        assert_eq!(support("node:cluster", &[]), ModuleSupport::Absent);
        assert_eq!(support("left-pad", &[]), ModuleSupport::Package);
    }
}
