//! Resolves imports to builtins, virtual modules or files.
//!
//! Implements Node's algorithm (`exports`, `imports`, conditions, `main`, index files) with the
//! leniency that extension authors expect: file extensions are optional, `.js` may refer to `.ts`,
//! and packages with only an `import` or only a `require` entry point work with both.

mod package_json;

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::path::{Component, Path, PathBuf};
use std::rc::Rc;

use package_json::PackageJson;

use crate::typescript::SourceFormat;

/// All module names reserved by Node, implemented or not.
const NODE_BUILTINS: [&str; 62] = [
    "assert",
    "assert/strict",
    "async_hooks",
    "buffer",
    "child_process",
    "cluster",
    "console",
    "constants",
    "crypto",
    "dgram",
    "diagnostics_channel",
    "dns",
    "dns/promises",
    "domain",
    "events",
    "fs",
    "fs/promises",
    "http",
    "http2",
    "https",
    "inspector",
    "inspector/promises",
    "module",
    "net",
    "os",
    "path",
    "path/posix",
    "path/win32",
    "perf_hooks",
    "process",
    "punycode",
    "querystring",
    "readline",
    "readline/promises",
    "repl",
    "sea",
    "sqlite",
    "stream",
    "stream/consumers",
    "stream/promises",
    "stream/web",
    "string_decoder",
    "sys",
    "test",
    "test/reporters",
    "timers",
    "timers/promises",
    "tls",
    "trace_events",
    "tty",
    "url",
    "util",
    "util/types",
    "v8",
    "vm",
    "wasi",
    "worker_threads",
    "zlib",
    "_http_agent",
    "_http_common",
    "_stream_wrap",
    "_tls_wrap",
];

/// Builtins that require the `node:` prefix.
const PREFIX_ONLY: [&str; 4] = ["sea", "sqlite", "test", "test/reporters"];

/// File extensions tried after the exact name, in order.
const EXTENSIONS: [&str; 8] = ["ts", "tsx", "mts", "cts", "js", "mjs", "cjs", "json"];

/// TypeScript file extensions that an import of a JavaScript file may refer to.
const TYPESCRIPT_COUNTERPARTS: [(&str, &[&str]); 4] = [
    ("js", &["ts", "tsx"]),
    ("mjs", &["mts"]),
    ("cjs", &["cts"]),
    ("jsx", &["tsx"]),
];

/// The result of resolving an import.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ResolvedModule {
    /// A Node builtin, with the `node:` prefix.
    Builtin(String),
    Virtual(String),
    File(PathBuf),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImportKind {
    Import,
    Require,
}

impl ImportKind {
    fn conditions(self) -> &'static [&'static str] {
        match self {
            Self::Import => &["node", "import", "module-sync", "default"],
            Self::Require => &["node", "require", "module-sync", "default"],
        }
    }

    fn other(self) -> Self {
        match self {
            Self::Import => Self::Require,
            Self::Require => Self::Import,
        }
    }
}

/// Why an import could not be resolved.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ResolveError {
    #[error("Cannot find module '{specifier}' imported from {importer}")]
    NotFound { specifier: String, importer: String },
    /// No `node_modules` directory above the importer contains the package.
    #[error(
        "Cannot find package '{package}' imported from {importer}; \
         if it is a dependency of the extension, run `npm install` in the extension's directory"
    )]
    NoPackage { package: String, importer: String },
    /// The package exists but does not export this path.
    #[error(
        "Package '{package}' has no entry for '{subpath}' in its exports, imported from {importer}"
    )]
    NotExported {
        package: String,
        subpath: String,
        importer: String,
    },
    /// The specifier is a URL other than `file:`.
    #[error("Cannot import {specifier} from {importer}: only files and packages can be imported")]
    UnsupportedScheme { specifier: String, importer: String },
}

/// Resolves imports for one engine. Each `package.json` is read once.
#[derive(Debug, Default)]
pub struct ModuleResolver {
    virtual_names: HashSet<String>,
    manifests: RefCell<HashMap<PathBuf, Option<Rc<PackageJson>>>>,
}

impl ModuleResolver {
    /// Creates a resolver with the names of the virtual modules.
    pub fn new(virtual_names: impl IntoIterator<Item = String>) -> Self {
        Self {
            virtual_names: virtual_names.into_iter().collect(),
            manifests: RefCell::default(),
        }
    }

    /// Resolves `specifier` as imported by the file `importer`.
    pub fn resolve(
        &self,
        specifier: &str,
        importer: &str,
        kind: ImportKind,
    ) -> Result<ResolvedModule, ResolveError> {
        if self.virtual_names.contains(specifier) {
            return Ok(ResolvedModule::Virtual(specifier.to_owned()));
        }
        if let Some(name) = builtin_name(specifier) {
            return Ok(ResolvedModule::Builtin(name));
        }
        let not_found = || ResolveError::NotFound {
            specifier: specifier.to_owned(),
            importer: importer.to_owned(),
        };
        if specifier.contains(':') && !Path::new(specifier).is_absolute() {
            let path = specifier
                .starts_with("file:")
                .then(|| url::Url::parse(specifier).ok()?.to_file_path().ok())
                .flatten()
                .ok_or_else(|| ResolveError::UnsupportedScheme {
                    specifier: specifier.to_owned(),
                    importer: importer.to_owned(),
                })?;
            return self
                .resolve_file_or_directory(&path, kind)
                .map(ResolvedModule::File)
                .ok_or_else(not_found);
        }
        let directory = Path::new(importer).parent().unwrap_or(Path::new("/"));
        let is_relative = matches!(specifier, "." | "..")
            || specifier.starts_with("./")
            || specifier.starts_with("../");
        if is_relative || Path::new(specifier).is_absolute() {
            let path = normalize(&directory.join(specifier));
            return self
                .resolve_file_or_directory(&path, kind)
                .map(ResolvedModule::File)
                .ok_or_else(not_found);
        }
        if specifier.starts_with('#') {
            return self.resolve_private_import(specifier, importer, kind);
        }
        self.resolve_package(specifier, importer, kind)
    }

    /// Returns the format for files without module syntax, from the `type` of their package.
    pub fn preferred_format(&self, path: &Path) -> SourceFormat {
        match self.package_of(path) {
            Some((_, manifest)) if manifest.is_module => SourceFormat::Module,
            _ => SourceFormat::CommonJs,
        }
    }

    fn resolve_private_import(
        &self,
        specifier: &str,
        importer: &str,
        kind: ImportKind,
    ) -> Result<ResolvedModule, ResolveError> {
        let Some((root, manifest)) = self.package_of(Path::new(importer)) else {
            return Err(ResolveError::NotFound {
                specifier: specifier.to_owned(),
                importer: importer.to_owned(),
            });
        };
        let target = manifest
            .import_target(specifier, kind.conditions())
            .or_else(|| manifest.import_target(specifier, kind.other().conditions()));
        match target {
            Some(target) if target.starts_with("./") => self
                .resolve_file_or_directory(&root.join(target), kind)
                .map(ResolvedModule::File),
            // `#` targets are not followed, since they could form a cycle.
            Some(target) if target.starts_with('#') => None,
            Some(target) => return self.resolve(&target, importer, kind),
            None => None,
        }
        .ok_or_else(|| ResolveError::NotExported {
            package: manifest.name.clone().unwrap_or_default(),
            subpath: specifier.to_owned(),
            importer: importer.to_owned(),
        })
    }

    fn resolve_package(
        &self,
        specifier: &str,
        importer: &str,
        kind: ImportKind,
    ) -> Result<ResolvedModule, ResolveError> {
        let (package, subpath) = split_package(specifier);
        let not_exported = || ResolveError::NotExported {
            package: package.to_owned(),
            subpath: subpath.clone(),
            importer: importer.to_owned(),
        };
        if let Some((root, manifest)) = self.package_of(Path::new(importer))
            && manifest.name.as_deref() == Some(package)
            && manifest.has_exports()
        {
            return self
                .resolve_in_package(&root, Some(&manifest), &subpath, kind)
                .map(ResolvedModule::File)
                .ok_or_else(not_exported);
        }
        for directory in Path::new(importer).ancestors().skip(1) {
            if directory
                .file_name()
                .is_some_and(|name| name == "node_modules")
            {
                continue;
            }
            let root = directory.join("node_modules").join(package);
            if !root.is_dir() {
                continue;
            }
            let manifest = self.manifest(&root);
            return self
                .resolve_in_package(&root, manifest.as_deref(), &subpath, kind)
                .map(ResolvedModule::File)
                .ok_or_else(not_exported);
        }
        Err(ResolveError::NoPackage {
            package: package.to_owned(),
            importer: importer.to_owned(),
        })
    }

    fn resolve_in_package(
        &self,
        root: &Path,
        manifest: Option<&PackageJson>,
        subpath: &str,
        kind: ImportKind,
    ) -> Option<PathBuf> {
        if let Some(manifest) = manifest.filter(|manifest| manifest.has_exports()) {
            let target = manifest
                .export_target(subpath, kind.conditions())
                .or_else(|| manifest.export_target(subpath, kind.other().conditions()))?;
            // `..` would escape the package.
            let target = target
                .strip_prefix("./")
                .filter(|target| !has_parent_component(target))?;
            return self.resolve_file_or_directory(&root.join(target), kind);
        }
        match subpath.strip_prefix("./") {
            Some(inner) => self.resolve_file_or_directory(&normalize(&root.join(inner)), kind),
            None => self.resolve_directory(root, kind),
        }
    }

    fn resolve_file_or_directory(&self, path: &Path, kind: ImportKind) -> Option<PathBuf> {
        resolve_file(path).or_else(|| self.resolve_directory(path, kind))
    }

    fn resolve_directory(&self, path: &Path, kind: ImportKind) -> Option<PathBuf> {
        if !path.is_dir() {
            return None;
        }
        if let Some(manifest) = self.manifest(path) {
            if manifest.has_exports()
                && let Some(target) = manifest.export_target(".", kind.conditions())
                && let Some(found) = resolve_file(&normalize(&path.join(target)))
            {
                return Some(found);
            }
            let entry = match kind {
                ImportKind::Import => manifest.main.as_ref().or(manifest.module.as_ref()),
                ImportKind::Require => manifest.main.as_ref(),
            };
            if let Some(entry) = entry {
                let entry = normalize(&path.join(entry));
                if let Some(found) = resolve_file(&entry).or_else(|| resolve_index(&entry)) {
                    return Some(found);
                }
            }
        }
        resolve_index(path)
    }

    /// Returns the nearest package that contains a file.
    fn package_of(&self, path: &Path) -> Option<(PathBuf, Rc<PackageJson>)> {
        path.ancestors()
            .skip(1)
            .take_while(|directory| !directory.ends_with("node_modules"))
            .find_map(|directory| Some((directory.to_path_buf(), self.manifest(directory)?)))
    }

    fn manifest(&self, directory: &Path) -> Option<Rc<PackageJson>> {
        if let Some(known) = self.manifests.borrow().get(directory) {
            return known.clone();
        }
        let manifest = PackageJson::read(&directory.join("package.json")).map(Rc::new);
        self.manifests
            .borrow_mut()
            .insert(directory.to_path_buf(), manifest.clone());
        manifest
    }
}

/// Returns the `node:` name of a builtin.
pub(crate) fn builtin_name(specifier: &str) -> Option<String> {
    let (name, is_prefixed) = match specifier.strip_prefix("node:") {
        Some(name) => (name, true),
        None => (specifier, false),
    };
    let known = NODE_BUILTINS.contains(&name) && (is_prefixed || !PREFIX_ONLY.contains(&name));
    (known || is_prefixed).then(|| format!("node:{name}"))
}

/// Returns the names for `module.builtinModules`.
pub(crate) fn builtin_names() -> impl Iterator<Item = &'static str> {
    NODE_BUILTINS.into_iter()
}

fn resolve_file(path: &Path) -> Option<PathBuf> {
    if path.is_file() {
        return canonicalize(path);
    }
    let extension = path.extension().and_then(|extension| extension.to_str());
    let counterparts = TYPESCRIPT_COUNTERPARTS
        .iter()
        .find(|(from, _)| Some(*from) == extension);
    if let Some((_, counterparts)) = counterparts {
        let counterpart = counterparts
            .iter()
            .map(|counterpart| path.with_extension(counterpart))
            .find(|counterpart| counterpart.is_file());
        if let Some(counterpart) = counterpart {
            return canonicalize(&counterpart);
        }
    }
    let name = path.file_name()?.to_str()?;
    EXTENSIONS
        .iter()
        .map(|extension| path.with_file_name(format!("{name}.{extension}")))
        .find(|candidate| candidate.is_file())
        .and_then(|found| canonicalize(&found))
}

fn resolve_index(directory: &Path) -> Option<PathBuf> {
    EXTENSIONS
        .iter()
        .map(|extension| directory.join(format!("index.{extension}")))
        .find(|candidate| candidate.is_file())
        .and_then(|found| canonicalize(&found))
}

fn canonicalize(path: &Path) -> Option<PathBuf> {
    std::fs::canonicalize(path).ok()
}

fn has_parent_component(path: &str) -> bool {
    Path::new(path)
        .components()
        .any(|part| matches!(part, Component::ParentDir))
}

/// Removes `.` and `..` lexically.
fn normalize(path: &Path) -> PathBuf {
    let mut result = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                result.pop();
            }
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => result.push(part),
        }
    }
    result
}

/// Splits `@scope/name/sub/path` into the package and `./sub/path` (`.` for the package itself).
fn split_package(specifier: &str) -> (&str, String) {
    let slashes = if specifier.starts_with('@') { 2 } else { 1 };
    let end = specifier
        .match_indices('/')
        .nth(slashes - 1)
        .map_or(specifier.len(), |(position, _)| position);
    let (package, rest) = specifier.split_at(end);
    let subpath = if rest.is_empty() {
        ".".to_owned()
    } else {
        format!(".{rest}")
    };
    (package, subpath)
}

#[cfg(test)]
mod tests;
