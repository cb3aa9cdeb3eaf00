//! The files of a crate: which one a `mod` declaration names, and which ones none names.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use syn::{Attribute, Expr, ExprLit, Item, Lit, Meta};

use super::type_table::ModulePath;

/// A crate and the root files of its library and binaries.
#[derive(Debug, Clone)]
pub(crate) struct CrateSource {
    pub(super) name: String,
    pub(super) roots: Vec<PathBuf>,
}

impl CrateSource {
    pub(crate) fn new(name: String, roots: Vec<PathBuf>) -> Self {
        Self { name, roots }
    }

    /// Returns the files next to and below the roots that no build compiles, because no `mod` declares them.
    pub(super) fn undeclared_files(&self) -> Result<Vec<PathBuf>> {
        let mut files = BTreeSet::new();
        for root in &self.roots {
            collect_files(root.parent().unwrap_or(Path::new("")), &mut files)?;
        }
        let mut declared = BTreeSet::new();
        for root in &self.roots {
            SourceModule::root(root).collect_declared(&mut declared)?;
        }
        Ok(files.difference(&declared).cloned().collect())
    }
}

/// A module and where the files of its children are.
#[derive(Debug, Clone)]
pub(super) struct SourceModule {
    pub(super) path: ModulePath,
    pub(super) file: PathBuf,
    children: PathBuf,
}

impl SourceModule {
    /// The module of the root file of a library or binary.
    pub(super) fn root(file: &Path) -> Self {
        let stem = file.file_stem().unwrap_or_default().to_string_lossy();
        Self {
            path: vec![stem.into_owned()],
            file: file.to_owned(),
            children: file.parent().unwrap_or(Path::new("")).to_owned(),
        }
    }

    /// The module that `mod name;` with attributes declares in this one.
    pub(super) fn child(&self, name: &str, attributes: &[Attribute]) -> Self {
        let file = match path_attribute(attributes) {
            Some(path) => self.file.parent().unwrap_or(Path::new("")).join(path),
            None => self.children.join(format!("{name}.rs")),
        };
        Self {
            children: file.with_extension(""),
            file,
            ..self.inline_child(name)
        }
    }

    /// The module that `mod name { … }` defines in this one.
    pub(super) fn inline_child(&self, name: &str) -> Self {
        let mut path = self.path.clone();
        path.push(name.to_owned());
        Self {
            path,
            file: self.file.clone(),
            children: self.children.join(name),
        }
    }

    /// Adds the file of this module and those it declares for any build, tests included.
    fn collect_declared(&self, declared: &mut BTreeSet<PathBuf>) -> Result<()> {
        if !declared.insert(self.file.clone()) {
            return Ok(());
        }
        let name = self.file.display();
        let text = fs::read_to_string(&self.file).with_context(|| format!("cannot read {name}"))?;
        // Parsing takes long, and most files declare no others.
        let is_declaration = |line: &str| line.contains("mod ") && line.trim_end().ends_with(';');
        if !text.lines().any(is_declaration) {
            return Ok(());
        }
        let file = syn::parse_file(&text).with_context(|| format!("cannot parse {name}"))?;
        self.collect_declared_by(&file.items, declared)
    }

    fn collect_declared_by(&self, items: &[Item], declared: &mut BTreeSet<PathBuf>) -> Result<()> {
        for item in items {
            let Item::Mod(module) = item else { continue };
            let name = module.ident.to_string();
            match &module.content {
                Some((_, items)) => self
                    .inline_child(&name)
                    .collect_declared_by(items, declared)?,
                None => self
                    .child(&name, &module.attrs)
                    .collect_declared(declared)?,
            }
        }
        Ok(())
    }
}

/// Adds the Rust files of a directory and those below it.
fn collect_files(directory: &Path, files: &mut BTreeSet<PathBuf>) -> Result<()> {
    let entries =
        fs::read_dir(directory).with_context(|| format!("cannot list {}", directory.display()))?;
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() {
            collect_files(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.insert(path);
        }
    }
    Ok(())
}

fn path_attribute(attributes: &[Attribute]) -> Option<String> {
    attributes
        .iter()
        .find_map(|attribute| match &attribute.meta {
            Meta::NameValue(pair) if pair.path.is_ident("path") => match &pair.value {
                Expr::Lit(ExprLit {
                    lit: Lit::Str(text),
                    ..
                }) => Some(text.value()),
                _ => None,
            },
            _ => None,
        })
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    #[expect(
        clippy::disallowed_methods,
        reason = "temporary files need no atomic writes"
    )]
    fn files_without_a_declaration_are_found() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        for (name, text) in [
            ("src/lib.rs", "mod list;\n#[cfg(windows)]\nmod pipe;\n"),
            (
                "src/list.rs",
                "#[path = \"list/rows_unix.rs\"]\nmod rows;\nmod inline { mod nested; }\n",
            ),
            ("src/list/inline/nested.rs", "#[cfg(test)]\nmod tests;\n"),
            ("src/list/inline/nested/tests.rs", ""),
            ("src/list/rows_unix.rs", ""),
            ("src/list/tests.rs", ""),
            ("src/main.rs", ""),
            ("src/old.rs", "mod list;\n"),
            ("src/page.html", ""),
            ("src/pipe.rs", ""),
        ] {
            fs::create_dir_all(at(name).parent().unwrap()).unwrap();
            fs::write(at(name), text).unwrap();
        }
        let roots = vec![at("src/lib.rs"), at("src/main.rs")];
        let source = CrateSource::new("sample".to_owned(), roots);
        assert_eq!(
            source.undeclared_files().unwrap(),
            [at("src/list/tests.rs"), at("src/old.rs")]
        );
    }
}
