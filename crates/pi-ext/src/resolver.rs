//! Finds what an import means: a builtin, a virtual module or a file.
//!
//! Follows Node's algorithm (`exports`, `imports`, conditions, `main`, index files), and on top
//! of it what extension authors are used to: extensions may be left out, `.js` may mean `.ts`,
//! a package that offers only the other kind of entry point is taken all the same.

mod package_json;

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::path::{Component, Path, PathBuf};
use std::rc::Rc;

use package_json::PackageJson;

use crate::typescript::SourceFormat;

/// Every module name Node reserves, whether we have it or not.
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

/// Builtins that exist only with the `node:` prefix.
const PREFIX_ONLY: [&str; 4] = ["sea", "sqlite", "test", "test/reporters"];

/// What is tried after the exact name, in this order.
const EXTENSIONS: [&str; 8] = ["ts", "tsx", "mts", "cts", "js", "mjs", "cjs", "json"];

/// The TypeScript file that an import of a JavaScript file may mean.
const TYPESCRIPT_TWINS: [(&str, &[&str]); 4] = [
    ("js", &["ts", "tsx"]),
    ("mjs", &["mts"]),
    ("cjs", &["cts"]),
    ("jsx", &["tsx"]),
];

/// What an import leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// A module of Node's, by its name with `node:`.
    Builtin(String),
    Virtual(String),
    File(PathBuf),
}

/// How the importer asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImportKind {
    /// `import`.
    Import,
    /// `require`.
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

/// An import that leads nowhere.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ResolveError {
    #[error("Cannot find module '{specifier}' imported from {importer}")]
    NotFound {
        /// What was asked for.
        specifier: String,
        importer: String,
    },
    /// No such package in any `node_modules` above the importer.
    #[error(
        "Cannot find package '{package}' imported from {importer}; \
         run `npm install` in the extension's folder if it lists it as a dependency"
    )]
    NoPackage { package: String, importer: String },
    /// The package is there but does not offer this path.
    #[error(
        "Package '{package}' has no entry for '{subpath}' in its exports, imported from {importer}"
    )]
    NotExported {
        package: String,
        /// The path inside of it.
        subpath: String,
        importer: String,
    },
    /// An address that is no file.
    #[error("Cannot import {specifier} from {importer}: only files and packages can be imported")]
    UnsupportedScheme {
        /// What was asked for.
        specifier: String,
        importer: String,
    },
}

/// Resolves imports for one engine; manifests are read once.
#[derive(Debug, Default)]
pub struct Resolver {
    virtual_names: HashSet<String>,
    manifests: RefCell<HashMap<PathBuf, Option<Rc<PackageJson>>>>,
}

impl Resolver {
    /// Creates a resolver that knows these virtual modules.
    pub fn new(virtual_names: impl IntoIterator<Item = String>) -> Self {
        Self {
            virtual_names: virtual_names.into_iter().collect(),
            manifests: RefCell::default(),
        }
    }

    /// Finds what `specifier` means to the file `importer`.
    pub fn resolve(
        &self,
        specifier: &str,
        importer: &str,
        kind: ImportKind,
    ) -> Result<Target, ResolveError> {
        if self.virtual_names.contains(specifier) {
            return Ok(Target::Virtual(specifier.to_owned()));
        }
        if let Some(name) = builtin_name(specifier) {
            return Ok(Target::Builtin(name));
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
                .file_or_folder(&path, kind)
                .map(Target::File)
                .ok_or_else(not_found);
        }
        let folder = Path::new(importer).parent().unwrap_or(Path::new("/"));
        let is_relative = matches!(specifier, "." | "..")
            || specifier.starts_with("./")
            || specifier.starts_with("../");
        if is_relative || Path::new(specifier).is_absolute() {
            let path = normalize(&folder.join(specifier));
            return self
                .file_or_folder(&path, kind)
                .map(Target::File)
                .ok_or_else(not_found);
        }
        if specifier.starts_with('#') {
            return self.private_import(specifier, importer, kind);
        }
        self.package(specifier, importer, kind)
    }

    /// Returns the format of a file that shows none: what its package says.
    pub fn preferred_format(&self, path: &Path) -> SourceFormat {
        match self.package_of(path) {
            Some((_, manifest)) if manifest.is_module => SourceFormat::Module,
            _ => SourceFormat::CommonJs,
        }
    }

    fn private_import(
        &self,
        specifier: &str,
        importer: &str,
        kind: ImportKind,
    ) -> Result<Target, ResolveError> {
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
                .file_or_folder(&root.join(target), kind)
                .map(Target::File),
            // One that leads to another could lead back to itself.
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

    fn package(
        &self,
        specifier: &str,
        importer: &str,
        kind: ImportKind,
    ) -> Result<Target, ResolveError> {
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
                .in_package(&root, Some(&manifest), &subpath, kind)
                .map(Target::File)
                .ok_or_else(not_exported);
        }
        for folder in Path::new(importer).ancestors().skip(1) {
            if folder
                .file_name()
                .is_some_and(|name| name == "node_modules")
            {
                continue;
            }
            let root = folder.join("node_modules").join(package);
            if !root.is_dir() {
                continue;
            }
            let manifest = self.manifest(&root);
            return self
                .in_package(&root, manifest.as_deref(), &subpath, kind)
                .map(Target::File)
                .ok_or_else(not_exported);
        }
        Err(ResolveError::NoPackage {
            package: package.to_owned(),
            importer: importer.to_owned(),
        })
    }

    fn in_package(
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
            // A package offers files of its own; `..` would lead out of it.
            let target = target.strip_prefix("./").filter(|target| !climbs(target))?;
            return self.file_or_folder(&root.join(target), kind);
        }
        match subpath.strip_prefix("./") {
            Some(inner) => self.file_or_folder(&normalize(&root.join(inner)), kind),
            None => self.folder(root, kind),
        }
    }

    fn file_or_folder(&self, path: &Path, kind: ImportKind) -> Option<PathBuf> {
        file(path).or_else(|| self.folder(path, kind))
    }

    fn folder(&self, path: &Path, kind: ImportKind) -> Option<PathBuf> {
        if !path.is_dir() {
            return None;
        }
        if let Some(manifest) = self.manifest(path) {
            if manifest.has_exports()
                && let Some(target) = manifest.export_target(".", kind.conditions())
                && let Some(found) = file(&normalize(&path.join(target)))
            {
                return Some(found);
            }
            let entry = match kind {
                ImportKind::Import => manifest.module.as_ref().or(manifest.main.as_ref()),
                ImportKind::Require => manifest.main.as_ref(),
            };
            if let Some(entry) = entry {
                let entry = normalize(&path.join(entry));
                if let Some(found) = file(&entry).or_else(|| index(&entry)) {
                    return Some(found);
                }
            }
        }
        index(path)
    }

    /// Returns the nearest package a file lies in.
    fn package_of(&self, path: &Path) -> Option<(PathBuf, Rc<PackageJson>)> {
        path.ancestors()
            .skip(1)
            .take_while(|folder| !folder.ends_with("node_modules"))
            .find_map(|folder| Some((folder.to_path_buf(), self.manifest(folder)?)))
    }

    fn manifest(&self, folder: &Path) -> Option<Rc<PackageJson>> {
        if let Some(known) = self.manifests.borrow().get(folder) {
            return known.clone();
        }
        let manifest = PackageJson::read(&folder.join("package.json")).map(Rc::new);
        self.manifests
            .borrow_mut()
            .insert(folder.to_path_buf(), manifest.clone());
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

/// Returns the names `module.builtinModules` lists.
pub(crate) fn builtin_names() -> impl Iterator<Item = &'static str> {
    NODE_BUILTINS.into_iter()
}

fn file(path: &Path) -> Option<PathBuf> {
    if path.is_file() {
        return real(path);
    }
    let extension = path.extension().and_then(|extension| extension.to_str());
    let twins = TYPESCRIPT_TWINS
        .iter()
        .find(|(from, _)| Some(*from) == extension);
    if let Some((_, twins)) = twins {
        let twin = twins
            .iter()
            .map(|twin| path.with_extension(twin))
            .find(|twin| twin.is_file());
        if let Some(twin) = twin {
            return real(&twin);
        }
    }
    let name = path.file_name()?.to_str()?;
    EXTENSIONS
        .iter()
        .map(|extension| path.with_file_name(format!("{name}.{extension}")))
        .find(|candidate| candidate.is_file())
        .and_then(|found| real(&found))
}

fn index(folder: &Path) -> Option<PathBuf> {
    EXTENSIONS
        .iter()
        .map(|extension| folder.join(format!("index.{extension}")))
        .find(|candidate| candidate.is_file())
        .and_then(|found| real(&found))
}

fn real(path: &Path) -> Option<PathBuf> {
    std::fs::canonicalize(path).ok()
}

fn climbs(path: &str) -> bool {
    Path::new(path)
        .components()
        .any(|part| matches!(part, Component::ParentDir))
}

/// Removes `.` and `..` by the text of the path.
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
