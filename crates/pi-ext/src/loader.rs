//! Module loader of the engine: embedded modules, virtual modules and extension files.
//!
//! ES modules link by name before any code runs, so a single missing export would prevent an
//! extension from loading. The loader therefore records the names that importers request:
//! CommonJS files export them, and builtins that lack them get a stub that throws a descriptive
//! error when used. The table belongs to one realm, so nothing survives a reload.

mod package;

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use rquickjs::loader::{ImportAttributes, Loader, Resolver as EngineResolver};
use rquickjs::{Ctx, Error, Exception, Module, Result};
use serde_json::Value as Json;

use crate::cache::SourceCache;
use crate::embedded;
use crate::engine::{EngineOptions, NativeModule, TerminalModule, Watchdog};
use crate::resolver::{ImportKind, ModuleResolver, ResolvedModule};
use crate::source_map::SourceMaps;
use crate::typescript::{ALL_EXPORTS, PreparedSource, SourceFormat};

/// Prefix of modules that add stubs for exports a builtin lacks.
const STUB_PREFIX: &str = "stub:";

/// Prefix of modules that add names, which are undefined, to the exports of a file.
const PARTIAL_PREFIX: &str = "partial:";

/// Module state of one realm.
pub(crate) struct ModuleTable {
    pub(crate) resolver: ModuleResolver,
    pub(crate) maps: RefCell<SourceMaps>,
    cache: SourceCache,
    watchdog: Rc<Watchdog>,
    virtual_modules: HashMap<String, String>,
    packages: HashMap<String, String>,
    prepared: RefCell<HashMap<PathBuf, Rc<PreparedSource>>>,
    /// Names imported, by importer and specifier.
    imported_names: RefCell<HashMap<(String, String), Vec<String>>>,
    /// Names that any module so far imports from a CommonJS file.
    requested_exports: RefCell<HashMap<String, BTreeSet<String>>>,
    /// Files whose evaluation has completed.
    evaluated: RefCell<HashSet<PathBuf>>,
    /// Whether files import, directly or not, a module with a top-level `await`.
    waiting: RefCell<HashMap<PathBuf, bool>>,
}

impl ModuleTable {
    pub(crate) fn new(options: &EngineOptions, watchdog: Rc<Watchdog>) -> Self {
        let virtual_modules: HashMap<String, String> =
            options.virtual_modules.iter().cloned().collect();
        let packages: HashMap<String, String> = options.packages.iter().cloned().collect();
        let names = virtual_modules.keys().chain(packages.keys());
        Self {
            resolver: ModuleResolver::new(names.cloned()),
            maps: RefCell::default(),
            cache: options.cache.clone(),
            watchdog,
            virtual_modules,
            packages,
            prepared: RefCell::default(),
            imported_names: RefCell::default(),
            requested_exports: RefCell::default(),
            evaluated: RefCell::default(),
            waiting: RefCell::default(),
        }
    }

    /// Marks all files loaded so far as evaluated.
    pub(crate) fn mark_evaluated(&self) {
        self.evaluated
            .borrow_mut()
            .extend(self.prepared.borrow().keys().cloned());
    }

    /// Returns a file in `stack` that `require` of this ES module depends on while it is still
    /// being evaluated. The engine cannot link a module in that state.
    pub(crate) fn find_cycle(&self, name: &str, stack: &str) -> Option<String> {
        let mut seen = HashSet::new();
        let mut pending = vec![PathBuf::from(name)];
        while let Some(path) = pending.pop() {
            if !seen.insert(path.clone()) || self.evaluated.borrow().contains(&path) {
                continue;
            }
            let file = path.to_string_lossy();
            if stack.contains(&format!("{file}:")) {
                return Some(file.into_owned());
            }
            let Ok(prepared) = self.prepare(&path) else {
                continue;
            };
            for (specifier, _) in &prepared.imports {
                let target = self.resolver.resolve(specifier, &file, ImportKind::Import);
                if let Ok(ResolvedModule::File(target)) = target {
                    pending.push(target);
                }
            }
        }
        None
    }

    /// Whether a module waits for one that it imports, directly or not.
    fn waits_for_imports(&self, path: &Path) -> bool {
        let mut seen = HashSet::new();
        let mut pending = vec![path.to_path_buf()];
        while let Some(file) = pending.pop() {
            let is_waiting = self.waiting.borrow().get(&file).copied();
            if is_waiting == Some(false) || !seen.insert(file.clone()) {
                continue;
            }
            let Ok(prepared) = self.prepare(&file) else {
                continue;
            };
            if is_waiting == Some(true) || (prepared.awaits && file != path) {
                self.waiting.borrow_mut().insert(path.to_owned(), true);
                return true;
            }
            let importer = file.to_string_lossy();
            for (specifier, _) in &prepared.imports {
                let target = self
                    .resolver
                    .resolve(specifier, &importer, ImportKind::Import);
                if let Ok(ResolvedModule::File(target)) = target
                    && !is_data(&target)
                {
                    pending.push(target);
                }
            }
        }
        let mut waiting = self.waiting.borrow_mut();
        waiting.extend(seen.into_iter().map(|file| (file, false)));
        false
    }

    /// Resolves an import to the engine's module name.
    pub(crate) fn resolve(
        &self,
        specifier: &str,
        importer: &str,
        kind: ImportKind,
    ) -> std::result::Result<String, String> {
        let is_embedded = specifier.starts_with("pi:") && embedded::find(specifier).is_some();
        if is_embedded || (is_internal(importer) && !specifier.starts_with('.')) {
            return Ok(specifier.to_owned());
        }
        let target = self
            .resolver
            .resolve(specifier, importer, kind)
            .map_err(|error| error.to_string())?;
        let mut names = self
            .imported_names
            .borrow()
            .get(&(importer.to_owned(), specifier.to_owned()))
            .cloned()
            .unwrap_or_default();
        if let ResolvedModule::Virtual(name) = &target
            && let Some(module) = self.packages.get(name)
        {
            return Ok(match kind {
                ImportKind::Import => package::module_name(module, names),
                ImportKind::Require => package::module_name(module, Vec::new()),
            });
        }
        // Every module provides these.
        names.retain(|name| name != ALL_EXPORTS && name != "default");
        Ok(match target {
            ResolvedModule::Virtual(name) => name,
            ResolvedModule::Builtin(name) => stub_for(&name, names),
            ResolvedModule::File(path) => {
                let name = path.to_string_lossy().into_owned();
                if let Some(missing) = self.missing_names(&path, &names) {
                    return Ok(format!("{PARTIAL_PREFIX}{name}?{}", missing.join(",")));
                }
                if !names.is_empty() {
                    self.requested_exports
                        .borrow_mut()
                        .entry(name.clone())
                        .or_default()
                        .extend(names);
                }
                name
            }
        })
    }

    /// Returns the names that an ES module does not export, if any. Importers of types that are not marked as such
    /// request them, too.
    fn missing_names(&self, path: &Path, names: &[String]) -> Option<Vec<String>> {
        if names.is_empty() {
            return None;
        }
        let known = self.module_names(path)?;
        let missing = names.iter().filter(|name| !known.contains(*name));
        let missing: BTreeSet<String> = missing.cloned().collect();
        (!missing.is_empty()).then(|| missing.into_iter().collect())
    }

    /// Returns the exports of an ES module; `None` if they cannot be known without running code.
    fn module_names(&self, path: &Path) -> Option<HashSet<String>> {
        let mut names = HashSet::new();
        let mut seen = HashSet::new();
        let mut pending = vec![path.to_path_buf()];
        while let Some(path) = pending.pop() {
            if !seen.insert(path.clone()) {
                continue;
            }
            if is_data(&path) {
                return None;
            }
            let prepared = self.prepare(&path).ok()?;
            if prepared.format != SourceFormat::Module {
                return None;
            }
            names.extend(prepared.exports.names.iter().cloned());
            let importer = path.to_string_lossy();
            for specifier in &prepared.exports.reexports {
                let target = self
                    .resolver
                    .resolve(specifier, &importer, ImportKind::Import);
                match target {
                    Ok(ResolvedModule::File(file)) => pending.push(file),
                    _ => return None,
                }
            }
        }
        Some(names)
    }

    /// Reads and prepares a file.
    pub(crate) fn prepare(&self, path: &Path) -> std::result::Result<Rc<PreparedSource>, String> {
        if let Some(known) = self.prepared.borrow().get(path) {
            return Ok(Rc::clone(known));
        }
        if path
            .extension()
            .is_some_and(|extension| extension == "node")
        {
            return Err(format!(
                "{} is a native Node addon, which the embedded engine cannot load; \
                 set `extensionHost` to `node` to run this extension on Node",
                path.display()
            ));
        }
        let source = std::fs::read_to_string(path)
            .map_err(|error| format!("Cannot read {}: {error}", path.display()))?;
        let preferred = self.resolver.preferred_format(path);
        // Transpiling is work of the host: a large package must not use up its time slice.
        let prepared = self
            .watchdog
            .pause(|| self.cache.prepare(path, &source, preferred))
            .map_err(|error| error.to_string())?;
        let prepared = Rc::new(prepared);
        self.record(path, &prepared);
        Ok(prepared)
    }

    fn record(&self, path: &Path, prepared: &Rc<PreparedSource>) {
        let name = path.to_string_lossy();
        if let Some(map) = &prepared.map {
            self.maps.borrow_mut().add(&name, map.clone());
        }
        let mut imported_names = self.imported_names.borrow_mut();
        for (specifier, names) in &prepared.imports {
            imported_names.insert(
                (name.clone().into_owned(), specifier.clone()),
                names.clone(),
            );
        }
        self.prepared
            .borrow_mut()
            .insert(path.to_path_buf(), Rc::clone(prepared));
    }

    /// Adds the exports of a CommonJS file, including those of files it re-exports.
    fn add_commonjs_names(&self, path: &Path, names: &mut BTreeSet<String>) {
        let mut seen = HashSet::new();
        let mut pending = vec![path.to_path_buf()];
        while let Some(path) = pending.pop() {
            if !seen.insert(path.clone()) {
                continue;
            }
            let Ok(prepared) = self.prepare(&path) else {
                continue;
            };
            names.extend(prepared.exports.names.iter().cloned());
            let importer = path.to_string_lossy();
            for specifier in &prepared.exports.reexports {
                let target = self
                    .resolver
                    .resolve(specifier, &importer, ImportKind::Require);
                if let Ok(ResolvedModule::File(file)) = target {
                    pending.push(file);
                }
            }
        }
    }

    /// Returns the file and the source of a module that adds names to its exports.
    fn partial_source<'rest>(&self, rest: &'rest str) -> (&'rest str, String) {
        let (file, names) = rest.rsplit_once('?').unwrap_or((rest, ""));
        let mut source = format!("export * from {};\n", quoted(file));
        let known = self.module_names(Path::new(file));
        if known.is_some_and(|known| known.contains("default")) {
            append(
                &mut source,
                format_args!("export {{ default }} from {};\n", quoted(file)),
            );
        }
        for (index, name) in names.split(',').enumerate() {
            append(
                &mut source,
                format_args!(
                    "const name{index} = undefined;\nexport {{ name{index} as {} }};\n",
                    quoted(name)
                ),
            );
        }
        (file, source)
    }

    fn declare<'js>(&self, ctx: &Ctx<'js>, name: &str) -> Result<Module<'js>> {
        if name == NativeModule::NAME {
            return Module::declare_def::<NativeModule, _>(ctx.clone(), name);
        }
        if name == TerminalModule::NAME {
            return Module::declare_def::<TerminalModule, _>(ctx.clone(), name);
        }
        if let Some(module) = embedded::find(name) {
            return module.declare(ctx);
        }
        if let Some(source) = self.virtual_modules.get(name) {
            return Module::declare(ctx.clone(), name, source.as_str());
        }
        if let Some(rest) = name.strip_prefix(package::PREFIX) {
            return Module::declare(ctx.clone(), name, package::source(rest));
        }
        if let Some(rest) = name.strip_prefix(STUB_PREFIX) {
            return Module::declare(ctx.clone(), name, stub_source(rest));
        }
        if let Some(rest) = name.strip_prefix(PARTIAL_PREFIX) {
            let (file, source) = self.partial_source(rest);
            let path = Path::new(file);
            let awaits = self.prepare(path).is_ok_and(|prepared| prepared.awaits);
            let source = with_await(&source, awaits || self.waits_for_imports(path));
            return Module::declare(ctx.clone(), name, &*source);
        }
        let path = Path::new(name);
        if path
            .extension()
            .is_some_and(|extension| extension == "json")
        {
            return declare_json(ctx, name, path);
        }
        let prepared = self
            .prepare(path)
            .map_err(|message| Exception::throw_syntax(ctx, &message))?;
        match prepared.format {
            SourceFormat::CommonJs => {
                let mut names = self
                    .requested_exports
                    .borrow()
                    .get(name)
                    .cloned()
                    .unwrap_or_default();
                self.add_commonjs_names(path, &mut names);
                Module::declare(ctx.clone(), name, commonjs_wrapper(name, &names))
            }
            SourceFormat::Module => {
                let is_waiting = !prepared.awaits && self.waits_for_imports(path);
                let code = with_await(&prepared.code, is_waiting);
                let module = Module::declare(ctx.clone(), name, &*code)?;
                crate::engine::set_import_meta(ctx, &module, path)?;
                Ok(module)
            }
        }
    }
}

/// Makes a module that waits for its imports wait itself. The engine never completes the evaluation of other ones, so
/// that a later `import()` of a module that imports them would never end.
fn with_await(code: &str, is_waiting: bool) -> Cow<'_, str> {
    if is_waiting {
        Cow::Owned(format!("{code}\n;await undefined;"))
    } else {
        Cow::Borrowed(code)
    }
}

/// Whether the file is no module, but data or native code.
fn is_data(path: &Path) -> bool {
    path.extension()
        .is_some_and(|extension| extension == "json" || extension == "node")
}

/// Whether the importer is an embedded or generated module, which imports by full name.
fn is_internal(importer: &str) -> bool {
    [
        "pi:",
        "node:",
        "bridge:",
        package::PREFIX,
        STUB_PREFIX,
        PARTIAL_PREFIX,
    ]
    .iter()
    .any(|prefix| importer.starts_with(prefix))
}

/// Returns the builtin, or a stub module if it lacks a requested export.
fn stub_for(name: &str, mut names: Vec<String>) -> String {
    let known = embedded::find(name);
    if let Some(module) = known {
        names.retain(|name| !module.exports.contains(&name.as_str()));
        if names.is_empty() {
            return name.to_owned();
        }
    }
    names.sort_unstable();
    names.dedup();
    format!("{STUB_PREFIX}{name}?{}", names.join(","))
}

fn stub_source(rest: &str) -> String {
    let (module, names) = rest.split_once('?').unwrap_or((rest, ""));
    let mut source = String::from("import { missing } from \"pi:missing\";\n");
    if embedded::find(module).is_some() {
        append(
            &mut source,
            format_args!(
                "export * from {0};\nexport {{ default }} from {0};\n",
                quoted(module)
            ),
        );
    } else {
        append(
            &mut source,
            format_args!("export default missing({});\n", quoted(module)),
        );
    }
    for (index, name) in names.split(',').filter(|name| !name.is_empty()).enumerate() {
        append(
            &mut source,
            format_args!(
                "const name{index} = missing({}, {1});\nexport {{ name{index} as {1} }};\n",
                quoted(module),
                quoted(name)
            ),
        );
    }
    source
}

/// Returns the source of an ES module that wraps a CommonJS file, with the usual compiler interop.
fn commonjs_wrapper(name: &str, names: &BTreeSet<String>) -> String {
    let mut source = format!(
        "import {{ requireFile, defaultOf }} from \"pi:commonjs\";\n\
         const exports = requireFile({});\nexport default defaultOf(exports);\n\
         const object = Object(exports);\n",
        quoted(name)
    );
    for (index, export) in names.iter().filter(|name| *name != "default").enumerate() {
        append(
            &mut source,
            format_args!(
                "const name{index} = object[{0}];\nexport {{ name{index} as {0} }};\n",
                quoted(export)
            ),
        );
    }
    source
}

/// Appends formatted text; writing to a string cannot fail.
fn append(source: &mut String, text: std::fmt::Arguments<'_>) {
    source.write_fmt(text).unwrap_or_default();
}

fn quoted(text: &str) -> String {
    Json::String(text.to_owned()).to_string()
}

fn declare_json<'js>(ctx: &Ctx<'js>, name: &str, path: &Path) -> Result<Module<'js>> {
    let text = std::fs::read_to_string(path).map_err(|error| {
        Exception::throw_message(ctx, &format!("Cannot read {}: {error}", path.display()))
    })?;
    let json: Json = serde_json::from_str(text.trim_start_matches('\u{feff}'))
        .map_err(|error| Exception::throw_syntax(ctx, &format!("{}: {error}", path.display())))?;
    let text = quoted(&json.to_string());
    Module::declare(
        ctx.clone(),
        name,
        format!("export default JSON.parse({text});"),
    )
}

/// The engine's module resolver.
pub(crate) struct ExtensionResolver(Rc<ModuleTable>);

impl ExtensionResolver {
    pub(crate) fn new(table: Rc<ModuleTable>) -> Self {
        Self(table)
    }
}

impl EngineResolver for ExtensionResolver {
    fn resolve<'js>(
        &mut self,
        ctx: &Ctx<'js>,
        base: &str,
        name: &str,
        _: Option<ImportAttributes<'js>>,
    ) -> Result<String> {
        self.0
            .resolve(name, base, ImportKind::Import)
            .map_err(|message| throw_with_code(ctx, &message, "ERR_MODULE_NOT_FOUND"))
    }
}

/// Throws an error with a `code` property.
pub(crate) fn throw_with_code(ctx: &Ctx<'_>, message: &str, code: &str) -> Error {
    let exception = Exception::from_message(ctx.clone(), message)
        .and_then(|exception| exception.as_object().set("code", code).map(|()| exception));
    match exception {
        Ok(exception) => exception.throw(),
        Err(error) => error,
    }
}

/// The engine's module loader.
pub(crate) struct ExtensionLoader(Rc<ModuleTable>);

impl ExtensionLoader {
    pub(crate) fn new(table: Rc<ModuleTable>) -> Self {
        Self(table)
    }
}

impl Loader for ExtensionLoader {
    fn load<'js>(
        &mut self,
        ctx: &Ctx<'js>,
        name: &str,
        _: Option<ImportAttributes<'js>>,
    ) -> Result<Module<'js>> {
        self.0.declare(ctx, name)
    }
}
