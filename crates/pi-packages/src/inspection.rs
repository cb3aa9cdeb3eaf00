//! Inspects a package before any of its code runs.
//!
//! Code is parsed, never executed: the imports of each extension are followed through the package's
//! files, and external imports are compared with the modules of the extension host.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};

use pi_config::{
    AgentDir, ResourceFlags, ResourceRequest, Resources, SettingsStore, load_resources,
};
use pi_env::Env;
use pi_ext::{
    ImportKind, ModuleResolver, ModuleSupport, ResolvedModule, SourceFormat, module_support,
    prepare, virtual_module_names,
};
use pi_protocol::ProjectAccess;
use serde_json::Value;

use crate::error::PackageError;
use crate::npm::{NpmManifest, is_provided, read_manifest};

/// Maximum number of code files that are parsed.
const MAX_CODE_FILES: usize = 2_000;

/// Larger code files are skipped.
const MAX_CODE_BYTES: u64 = 8 * 1024 * 1024;

/// Counting stops at this many files.
const MAX_FILES: usize = 200_000;

/// The result of an inspection.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PackageInspection {
    /// From the manifest.
    pub name: Option<String>,
    pub version: Option<String>,
    pub license: Option<String>,
    /// Number of files.
    pub files: usize,
    /// Total size.
    pub bytes: u64,
    /// Paths relative to the package.
    pub extensions: Vec<String>,
    /// Names.
    pub skills: Vec<String>,
    /// Names.
    pub prompts: Vec<String>,
    /// Names.
    pub themes: Vec<String>,
    /// Version ranges by package name.
    pub dependencies: BTreeMap<String, String>,
    /// Host modules that the code imports.
    pub modules: BTreeMap<String, ModuleSupport>,
    /// Imported packages that are not declared as dependencies.
    pub undeclared: BTreeSet<String>,
    /// Files that the built-in engine cannot run: native libraries, their build files, and WebAssembly.
    pub native: Vec<String>,
    /// Install scripts: event and command.
    pub scripts: Vec<(String, String)>,
    pub problems: Vec<String>,
}

/// Inspects the package in a directory. `scratch` is an empty directory.
pub(crate) fn inspect(dir: &Path, scratch: &Path) -> Result<PackageInspection, PackageError> {
    let dir = &fs::canonicalize(dir).map_err(PackageError::disk(dir))?;
    let manifest = read_manifest(dir);
    let resources = resources_of(dir, scratch);
    let mut inspection = PackageInspection {
        extensions: resources
            .extensions
            .iter()
            .map(|extension| below(&extension.path, dir))
            .collect(),
        skills: resources
            .skills
            .iter()
            .map(|skill| skill.name.clone())
            .collect(),
        prompts: resources
            .prompt_templates
            .iter()
            .map(|template| template.name.clone())
            .collect(),
        themes: resources
            .themes
            .iter()
            .map(|theme| theme.name.clone())
            .collect(),
        problems: resources
            .diagnostics
            .iter()
            .chain(&resources.extension_errors)
            .map(|diagnostic| diagnostic.message.clone())
            .collect(),
        license: license_of(manifest.as_ref(), dir),
        ..PackageInspection::default()
    };
    count_files(dir, &mut inspection);
    if let Some(manifest) = &manifest {
        let text = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
        inspection.name = text(&manifest.name);
        inspection.version = text(&manifest.version);
        inspection.dependencies = manifest.dependencies.clone();
        inspection
            .dependencies
            .extend(manifest.optional_dependencies.clone());
        let scripts = manifest.install_scripts().into_iter();
        inspection.scripts = scripts
            .map(|(name, script)| (name.to_owned(), script))
            .collect();
    }
    let entries = resources
        .extensions
        .iter()
        .map(|extension| extension.path.clone());
    follow_imports(entries.collect(), dir, manifest.as_ref(), &mut inspection);
    Ok(inspection)
}

/// Loads the resources of a package as a session would, without any user resources.
fn resources_of(dir: &Path, scratch: &Path) -> Resources {
    let agent_dir = AgentDir::at(scratch);
    let settings = SettingsStore::open(&agent_dir, scratch, ProjectAccess::Denied);
    load_resources(&ResourceRequest {
        agent_dir,
        cwd: scratch.to_owned(),
        env: Env::fixed([("HOME", scratch.to_string_lossy())]),
        settings,
        project: ProjectAccess::Denied,
        flags: ResourceFlags {
            extensions: vec![dir.to_string_lossy().into_owned()],
            no_context_files: true,
            ..ResourceFlags::default()
        },
    })
}

fn below(path: &Path, dir: &Path) -> String {
    let inside = path.strip_prefix(dir).unwrap_or(path);
    inside.to_string_lossy().into_owned()
}

fn license_of(manifest: Option<&NpmManifest>, dir: &Path) -> Option<String> {
    let declared = manifest.and_then(|manifest| match manifest.json.get("license")? {
        Value::String(name) => Some(name.clone()),
        Value::Object(about) => Some(about.get("type")?.as_str()?.to_owned()),
        _ => None,
    });
    declared.or_else(|| {
        let files = ["LICENSE", "LICENSE.md", "LICENCE", "COPYING"];
        let file = files.into_iter().find(|name| dir.join(name).is_file())?;
        let text = fs::read_to_string(dir.join(file)).ok()?;
        let first = text.lines().find(|line| !line.trim().is_empty())?;
        Some(format!("{} ({file})", first.trim()))
    })
}

/// Counts the files and collects native ones.
fn count_files(dir: &Path, inspection: &mut PackageInspection) {
    let mut pending = vec![dir.to_owned()];
    while let Some(current) = pending.pop() {
        for entry in fs::read_dir(&current).into_iter().flatten().flatten() {
            let Ok(metadata) = fs::symlink_metadata(entry.path()) else {
                continue;
            };
            let name = entry.file_name();
            if metadata.is_dir() {
                if name != ".git" {
                    pending.push(entry.path());
                }
                continue;
            }
            inspection.files += 1;
            inspection.bytes += metadata.len();
            let is_native = name == "binding.gyp"
                || entry
                    .path()
                    .extension()
                    .is_some_and(|extension| extension == "node" || extension == "wasm");
            if is_native {
                inspection.native.push(below(&entry.path(), dir));
            }
            if inspection.files >= MAX_FILES {
                return;
            }
        }
    }
    inspection.native.sort();
}

/// Follows the imports of extensions through the files of the package.
fn follow_imports(
    entries: Vec<PathBuf>,
    dir: &Path,
    manifest: Option<&NpmManifest>,
    inspection: &mut PackageInspection,
) {
    let resolver = ModuleResolver::new(virtual_module_names());
    let mut seen: BTreeSet<PathBuf> = entries.iter().cloned().collect();
    let mut pending: VecDeque<PathBuf> = entries.into();
    while let Some(file) = pending.pop_front() {
        let is_small = fs::metadata(&file).is_ok_and(|file| file.len() <= MAX_CODE_BYTES);
        let Some(source) = is_small.then(|| fs::read_to_string(&file).ok()).flatten() else {
            continue;
        };
        let prepared = match prepare(&file, &source, SourceFormat::Module) {
            Ok(prepared) => prepared,
            Err(error) => {
                inspection.problems.push(error.to_string());
                continue;
            }
        };
        let mut imports = prepared.imports;
        imports.extend(required(&prepared.code).map(|name| (name, Vec::new())));
        for (specifier, names) in imports {
            let support = module_support(&specifier, &names);
            if support != ModuleSupport::Package {
                merge(&mut inspection.modules, &specifier, support);
                continue;
            }
            let importer = file.to_string_lossy();
            let is_own = specifier.starts_with('.') || specifier.starts_with('#');
            match resolver.resolve(&specifier, &importer, ImportKind::Import) {
                Ok(ResolvedModule::File(target)) if is_own && target.starts_with(dir) => {
                    if seen.len() < MAX_CODE_FILES && seen.insert(target.clone()) {
                        pending.push_back(target);
                    }
                }
                Err(error) if is_own => inspection.problems.push(error.to_string()),
                Ok(_) | Err(_) if !is_own => {
                    let package = package_of(&specifier);
                    let is_known = is_provided(&package)
                        || manifest.is_some_and(|manifest| names_dependency(manifest, &package));
                    if !is_known {
                        inspection.undeclared.insert(package);
                    }
                }
                Ok(_) | Err(_) => {}
            }
        }
    }
}

fn names_dependency(manifest: &NpmManifest, package: &str) -> bool {
    manifest.name == package
        || manifest.dependencies.contains_key(package)
        || manifest.optional_dependencies.contains_key(package)
        || manifest.peer_dependencies.contains_key(package)
        || manifest.bundled.contains(package)
}

fn merge(modules: &mut BTreeMap<String, ModuleSupport>, name: &str, new: ModuleSupport) {
    let known = modules
        .entry(name.to_owned())
        .or_insert(ModuleSupport::Full);
    match (&mut *known, new) {
        (ModuleSupport::Partial(missing), ModuleSupport::Partial(more)) => {
            missing.extend(more);
            missing.sort();
            missing.dedup();
        }
        (_, ModuleSupport::Full) => {}
        (known, new) => *known = new,
    }
}

/// Returns the package name of an import such as `@s/a/deep` or `a/deep`.
fn package_of(specifier: &str) -> String {
    let parts = if specifier.starts_with('@') { 2 } else { 1 };
    let parts: Vec<&str> = specifier.split('/').take(parts).collect();
    parts.join("/")
}

/// Finds `require` calls with a string literal.
fn required(code: &str) -> impl Iterator<Item = String> + '_ {
    code.split("require(").skip(1).filter_map(|rest| {
        let mut characters = rest.chars();
        let quote = characters
            .next()
            .filter(|quote| matches!(quote, '"' | '\''))?;
        let (name, _) = characters.as_str().split_once(quote)?;
        let is_plain = !name.is_empty() && name.len() < 200 && !name.contains(char::is_whitespace);
        is_plain.then(|| name.to_owned())
    })
}
