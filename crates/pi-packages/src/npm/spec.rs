//! Dependency specifications: a range, a tag, an alias, or a source that is not
//! a registry.

use pi_config::{NpmRange, NpmVersion};

/// The value of an entry in `dependencies`.
#[derive(Debug, Clone)]
pub(crate) enum DependencySpec {
    Range(NpmRange),
    /// Such as `latest`.
    Tag(String),
    /// `npm:name@range`: another package installed under this name.
    Alias {
        name: String,
        target: Box<Self>,
    },
    /// A directory, an archive or a repository.
    External,
}

impl DependencySpec {
    /// Parses a spec as written in `package.json`.
    pub(crate) fn parse(text: &str) -> Self {
        let text = text.trim();
        if let Some(alias) = text.strip_prefix("npm:") {
            return Self::alias(alias);
        }
        if let Some(range) = NpmRange::parse(text) {
            return Self::Range(range);
        }
        if text.contains([':', '/']) || text.starts_with('.') {
            return Self::External;
        }
        Self::Tag(text.to_owned())
    }

    fn alias(text: &str) -> Self {
        // The first character may be the `@` of a scope.
        let split = text
            .char_indices()
            .skip(1)
            .find(|(_, character)| *character == '@')
            .map(|(position, _)| position);
        let (name, target) = match split.and_then(|position| text.split_at_checked(position)) {
            Some((name, target)) => (name, target.trim_start_matches('@')),
            None => (text, ""),
        };
        if !is_package_name(name) {
            return Self::External;
        }
        Self::Alias {
            name: name.to_owned(),
            target: Box::new(Self::parse(if target.is_empty() { "*" } else { target })),
        }
    }

    /// Returns the actual package name of a dependency with this name.
    pub(crate) fn package<'a>(&'a self, name: &'a str) -> &'a str {
        match self {
            Self::Alias { name, .. } => name,
            Self::Range(_) | Self::Tag(_) | Self::External => name,
        }
    }

    /// Returns the spec for that package.
    pub(crate) fn target(&self) -> &Self {
        match self {
            Self::Alias { target, .. } => target,
            Self::Range(_) | Self::Tag(_) | Self::External => self,
        }
    }

    /// Returns whether an installed package satisfies the spec. A tag or an external source is satisfied by any
    /// version.
    pub(crate) fn accepts(&self, dependency: &str, package: &str, version: &str) -> bool {
        match self.target() {
            Self::Range(range) => {
                package == self.package(dependency)
                    && NpmVersion::parse(version).is_some_and(|version| range.contains(&version))
            }
            Self::Tag(_) => package == self.package(dependency),
            Self::External | Self::Alias { .. } => true,
        }
    }
}

/// Returns whether a name is safe as a directory below `node_modules`.
pub(crate) fn is_package_name(name: &str) -> bool {
    let is_part = |part: &str| {
        !part.is_empty()
            && !part.starts_with(['.', '-'])
            && part.chars().all(|character| {
                character.is_ascii_alphanumeric() || "-_.~!*'()".contains(character)
            })
    };
    match name.strip_prefix('@') {
        Some(scoped) => scoped
            .split_once('/')
            .is_some_and(|(scope, name)| is_part(scope) && is_part(name)),
        None => is_part(name) && name != "node_modules" && name != "favicon.ico",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn specs_accept_matching_packages() {
        for (spec, dependency, package, version, expected) in [
            ("^1.2.0", "a", "a", "1.3.0", true),
            ("^1.2.0", "a", "a", "2.0.0", false),
            ("", "a", "a", "9.0.0", true),
            ("^1", "a", "b", "1.0.0", false),
            ("latest", "a", "a", "0.1.0", true),
            ("npm:b@^2", "a", "b", "2.1.0", true),
            ("npm:b@^2", "a", "a", "2.1.0", false),
            ("npm:@s/b@1.x", "a", "@s/b", "1.9.0", true),
            ("npm:@s/b", "a", "@s/b", "7.0.0", true),
            ("git+ssh://h/x", "a", "a", "1.0.0", true),
        ] {
            let accepts = DependencySpec::parse(spec).accepts(dependency, package, version);
            assert_eq!(accepts, expected, "{spec} {package}@{version}");
        }
    }

    #[test]
    fn non_registry_sources_are_external() {
        for spec in [
            "file:../x",
            "github:o/r",
            "o/r",
            "https://h/x.tgz",
            "workspace:*",
            "./x",
            "npm:../x",
        ] {
            assert!(
                matches!(DependencySpec::parse(spec), DependencySpec::External),
                "{spec}"
            );
        }
    }

    #[test]
    fn names_stay_below_node_modules() {
        for (name, expected) in [
            ("a", true),
            ("@s/a", true),
            ("a.b-c_d", true),
            ("..", false),
            ("../a", false),
            ("@s/../a", false),
            ("@s", false),
            ("a/b", false),
            ("", false),
            (".bin", false),
            ("node_modules", false),
            ("a\\b", false),
        ] {
            assert_eq!(is_package_name(name), expected, "{name}");
        }
    }
}
