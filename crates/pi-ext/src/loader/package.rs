//! Packages of ours, as far as an extension asks for them.
//!
//! `@earendil-works/pi-coding-agent` has hundreds of names, and most extensions use two or three. An import that
//! names what it wants gets a module that takes each name from where it is made; nothing else is loaded.

use super::{append, quoted};
use crate::embedded;
use crate::typescript::EVERYTHING;

/// A module with this prefix has some names of a package of ours.
pub(super) const PREFIX: &str = "package:";

/// Returns the name of a module with what is asked of a package of ours; all of it where no names are known.
pub(super) fn part(module: &str, mut asked: Vec<String>) -> String {
    asked.sort_unstable();
    asked.dedup();
    let is_plain = |name: &str| {
        name.chars()
            .all(|it| it.is_alphanumeric() || "_$".contains(it))
    };
    let needs_all = asked
        .iter()
        .any(|name| name == EVERYTHING || name == "default" || !is_plain(name));
    if asked.is_empty() || needs_all {
        return format!("{PREFIX}{module}");
    }
    format!("{PREFIX}{module}?{}", asked.join(","))
}

/// A module that takes every name from where it is made, so that nothing else of the package is loaded.
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
            Some((origin, there)) => append(
                &mut source,
                format_args!("export {{ {there} as {name} }} from \"{origin}\";\n"),
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
            // A type, or a name the real package has not either.
            None => {}
        }
    }
    source
}

/// Finds the module in which a name of a package is made, and its name there.
fn origin(module: &str, name: &str) -> Option<(String, String)> {
    let mut place = (module.to_owned(), name.to_owned());
    // Packages pass on names of each other; more steps than packages would be a circle.
    for _ in 0..8 {
        let (module, name) = &place;
        let own = format!("{module}/own");
        if embedded::find(&own).is_some_and(|it| it.exports.contains(&name.as_str())) {
            return Some((own, name.clone()));
        }
        let mut origins = embedded::find(module)?.origins.iter();
        let (_, origin, there) = origins.find(|(here, _, _)| here == name)?;
        place = ((*origin).to_owned(), (*there).to_owned());
        if !origin.starts_with("pi:modules/") {
            return Some(place);
        }
    }
    None
}
