//! Reports which modules this host supports, without running any code.

use crate::resolver::builtin_name;
use crate::{embedded, manager};

/// How much of a module the host supports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModuleSupport {
    /// All requested names are available.
    Full,
    /// The listed names are missing.
    Partial(Vec<String>),
    /// Not implemented: the import succeeds, but using it throws.
    Absent,
    /// Not provided by the host: a package that must be installed.
    Package,
}

/// Returns how much of a module the host supports, given the names imported from it.
pub fn module_support(specifier: &str, names: &[String]) -> ModuleSupport {
    if manager::packages().any(|(name, _)| name == specifier) {
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
            // A namespace or default import gets whatever is available.
            let is_namespace = matches!(name.as_str(), "default" | "*");
            !is_namespace && !module.exports.contains(&name.as_str())
        })
        .cloned()
        .collect();
    if missing.is_empty() {
        ModuleSupport::Full
    } else {
        ModuleSupport::Partial(missing)
    }
}

/// Lists the package names that the host provides to extensions.
pub fn virtual_module_names() -> impl Iterator<Item = String> {
    manager::packages().map(|(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_modules_are_distinguished_from_packages() {
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
