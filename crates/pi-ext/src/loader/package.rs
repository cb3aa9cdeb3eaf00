//! Partial loading of embedded packages.
//!
//! `@earendil-works/pi-coding-agent` has hundreds of exports, and most extensions use two or three.
//! A named import gets a generated module that re-exports each name from the module that defines
//! it, so that nothing else is loaded.

use super::{append, quoted};
use crate::embedded;
use crate::typescript::ALL_EXPORTS;

/// Prefix of modules that export a subset of an embedded package.
pub(super) const PREFIX: &str = "package:";

/// Returns the name of a module that exports the requested names of a package, or the entire
/// package if the names are not known.
pub(super) fn module_name(module: &str, mut names: Vec<String>) -> String {
    names.sort_unstable();
    names.dedup();
    let is_plain = |name: &str| {
        name.chars()
            .all(|it| it.is_alphanumeric() || "_$".contains(it))
    };
    let needs_all = names
        .iter()
        .any(|name| name == ALL_EXPORTS || name == "default" || !is_plain(name));
    if names.is_empty() || needs_all {
        return format!("{PREFIX}{module}");
    }
    format!("{PREFIX}{module}?{}", names.join(","))
}

/// Returns the source of a module that re-exports each name from the module that defines it.
pub(super) fn source(rest: &str) -> String {
    let Some((module, names)) = rest.split_once('?') else {
        return format!(
            "export * from \"{rest}\";\nimport * as all from \"{rest}\";\n\
             export default all.default ?? all;\n"
        );
    };
    let mut source = String::new();
    for (index, name) in names.split(',').enumerate() {
        match origin(module, name) {
            Some((origin, original)) => append(
                &mut source,
                format_args!("export {{ {original} as {name} }} from \"{origin}\";\n"),
            ),
            None if embedded::find(module).is_some_and(|it| it.exports.contains(&name)) => {
                let package = quoted(module.trim_start_matches("pi:modules/"));
                append(
                    &mut source,
                    format_args!(
                        "import {{ missing as missing{index} }} from \"pi:missing\";\n\
                         const name{index} = missing{index}({package}, {});\n\
                         export {{ name{index} as {name} }};\n",
                        quoted(name)
                    ),
                );
            }
            // A type, or a name that the real package does not export either.
            None => append(
                &mut source,
                format_args!(
                    "const name{index} = undefined;\nexport {{ name{index} as {name} }};\n"
                ),
            ),
        }
    }
    source
}

/// Finds the module that defines an export of a package, and its name in that module.
fn origin(module: &str, name: &str) -> Option<(String, String)> {
    let mut location = (module.to_owned(), name.to_owned());
    // Packages re-export from each other; more steps than packages would be a cycle.
    for _ in 0..8 {
        let (module, name) = &location;
        let own = format!("{module}/own");
        if embedded::find(&own).is_some_and(|it| it.exports.contains(&name.as_str())) {
            return Some((own, name.clone()));
        }
        let mut origins = embedded::find(module)?.origins.iter();
        let (_, origin, original) = origins.find(|(exported, _, _)| exported == name)?;
        location = ((*origin).to_owned(), (*original).to_owned());
        if !origin.starts_with("pi:modules/") {
            return Some(location);
        }
    }
    None
}
