//! Hands modules to the engine: our own, virtual ones, and files of extensions.
//!
//! An ES module links by name before anything runs. So that one missing name does not stop a
//! whole extension, what importers ask for is remembered: a CommonJS file exports it, and a
//! builtin that lacks it gets a stand-in that throws an error naming itself when it is used.
//! A table belongs to one realm, so nothing survives a reload.

mod package;

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
use crate::resolver::{ImportKind, Resolver, Target};
use crate::source_map::SourceMaps;
use crate::typescript::{EVERYTHING, PreparedSource, SourceFormat};

/// A module with this prefix stands in for names a builtin lacks.
const STAND_IN: &str = "stand-in:";

/// What the modules of one realm share.
pub(crate) struct ModuleTable {
    pub(crate) resolver: Resolver,
    pub(crate) maps: RefCell<SourceMaps>,
    cache: SourceCache,
    watchdog: Rc<Watchdog>,
    virtual_modules: HashMap<String, String>,
    packages: HashMap<String, String>,
    prepared: RefCell<HashMap<PathBuf, Rc<PreparedSource>>>,
    /// What a module asks of a specifier.
    asked: RefCell<HashMap<(String, String), Vec<String>>>,
    /// What all modules so far ask of a CommonJS file.
    requested: RefCell<HashMap<String, BTreeSet<String>>>,
    /// Files whose code has run to its end.
    finished: RefCell<HashSet<PathBuf>>,
}

impl ModuleTable {
    pub(crate) fn new(options: &EngineOptions, watchdog: Rc<Watchdog>) -> Self {
        let virtual_modules: HashMap<String, String> =
            options.virtual_modules.iter().cloned().collect();
        let packages: HashMap<String, String> = options.packages.iter().cloned().collect();
        let names = virtual_modules.keys().chain(packages.keys());
        Self {
            resolver: Resolver::new(names.cloned()),
            maps: RefCell::default(),
            cache: options.cache.clone(),
            watchdog,
            virtual_modules,
            packages,
            prepared: RefCell::default(),
            asked: RefCell::default(),
            requested: RefCell::default(),
            finished: RefCell::default(),
        }
    }

    /// Notes that everything loaded so far has run.
    pub(crate) fn finish(&self) {
        self.finished
            .borrow_mut()
            .extend(self.prepared.borrow().keys().cloned());
    }

    /// Returns the file on the stack that `require` of an ES module would run again while it
    /// still runs: the engine cannot link a module in that state.
    pub(crate) fn cycle(&self, name: &str, stack: &str) -> Option<String> {
        let mut seen = HashSet::new();
        let mut open = vec![PathBuf::from(name)];
        while let Some(path) = open.pop() {
            if !seen.insert(path.clone()) || self.finished.borrow().contains(&path) {
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
                if let Ok(Target::File(target)) = target {
                    open.push(target);
                }
            }
        }
        None
    }

    /// Returns the name under which the engine knows what an import means.
    pub(crate) fn resolve(
        &self,
        specifier: &str,
        importer: &str,
        kind: ImportKind,
    ) -> std::result::Result<String, String> {
        let is_ours = specifier.starts_with("pi:") && embedded::find(specifier).is_some();
        if is_ours || (is_internal(importer) && !specifier.starts_with('.')) {
            return Ok(specifier.to_owned());
        }
        let target = self
            .resolver
            .resolve(specifier, importer, kind)
            .map_err(|error| error.to_string())?;
        let mut asked = self
            .asked
            .borrow()
            .get(&(importer.to_owned(), specifier.to_owned()))
            .cloned()
            .unwrap_or_default();
        if let Target::Virtual(name) = &target
            && let Some(module) = self.packages.get(name)
        {
            return Ok(match kind {
                ImportKind::Import => package::part(module, asked),
                ImportKind::Require => package::part(module, Vec::new()),
            });
        }
        // What every module has is not asked for by name.
        asked.retain(|name| name != EVERYTHING && name != "default");
        Ok(match target {
            Target::Virtual(name) => name,
            Target::Builtin(name) => stand_in_for(&name, asked),
            Target::File(path) => {
                let name = path.to_string_lossy().into_owned();
                if !asked.is_empty() {
                    self.requested
                        .borrow_mut()
                        .entry(name.clone())
                        .or_default()
                        .extend(asked);
                }
                name
            }
        })
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
                "{} is native code for Node, which extensions cannot load here",
                path.display()
            ));
        }
        let source = std::fs::read_to_string(path)
            .map_err(|error| format!("Cannot read {}: {error}", path.display()))?;
        let preferred = self.resolver.preferred_format(path);
        // Reading and transforming is our work: a large package must not use up its author's time.
        let prepared = self
            .watchdog
            .pause(|| self.cache.prepare(path, &source, preferred))
            .map_err(|error| error.to_string())?;
        let prepared = Rc::new(prepared);
        self.remember(path, &prepared);
        Ok(prepared)
    }

    fn remember(&self, path: &Path, prepared: &Rc<PreparedSource>) {
        let name = path.to_string_lossy();
        if let Some(map) = &prepared.map {
            self.maps.borrow_mut().add(&name, map.clone());
        }
        let mut asked = self.asked.borrow_mut();
        for (specifier, names) in &prepared.imports {
            asked.insert(
                (name.clone().into_owned(), specifier.clone()),
                names.clone(),
            );
        }
        self.prepared
            .borrow_mut()
            .insert(path.to_path_buf(), Rc::clone(prepared));
    }

    /// Adds the names a CommonJS file exports, those of files it passes on included.
    fn add_commonjs_names(&self, path: &Path, names: &mut BTreeSet<String>) {
        let mut seen = HashSet::new();
        let mut open = vec![path.to_path_buf()];
        while let Some(path) = open.pop() {
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
                if let Ok(Target::File(file)) = target {
                    open.push(file);
                }
            }
        }
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
        if let Some(rest) = name.strip_prefix(STAND_IN) {
            return Module::declare(ctx.clone(), name, stand_in_source(rest));
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
                    .requested
                    .borrow()
                    .get(name)
                    .cloned()
                    .unwrap_or_default();
                self.add_commonjs_names(path, &mut names);
                Module::declare(ctx.clone(), name, commonjs_wrapper(name, &names))
            }
            SourceFormat::Module => {
                let module = Module::declare(ctx.clone(), name, prepared.code.as_str())?;
                crate::engine::set_import_meta(ctx, &module, path)?;
                Ok(module)
            }
        }
    }
}

/// Our own modules import by full name.
fn is_internal(importer: &str) -> bool {
    ["pi:", "node:", "bridge:", package::PREFIX, STAND_IN]
        .iter()
        .any(|prefix| importer.starts_with(prefix))
}

/// Returns the builtin, or a stand-in where it lacks something that was asked for.
fn stand_in_for(name: &str, mut asked: Vec<String>) -> String {
    let known = embedded::find(name);
    if let Some(module) = known {
        asked.retain(|wanted| !module.exports.contains(&wanted.as_str()));
        if asked.is_empty() {
            return name.to_owned();
        }
    }
    asked.sort_unstable();
    asked.dedup();
    format!("{STAND_IN}{name}?{}", asked.join(","))
}

fn stand_in_source(rest: &str) -> String {
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

/// An ES module around a CommonJS file, with the interoperation that compilers agreed on.
fn commonjs_wrapper(name: &str, names: &BTreeSet<String>) -> String {
    let mut source = format!(
        "import {{ requireFile, defaultOf }} from \"pi:commonjs\";\n\
         const whole = requireFile({});\nexport default defaultOf(whole);\n\
         const object = Object(whole);\n",
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

/// The engine's question "what does this import mean?".
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

/// Throws an error with a `code`.
pub(crate) fn throw_with_code(ctx: &Ctx<'_>, message: &str, code: &str) -> Error {
    let exception = Exception::from_message(ctx.clone(), message)
        .and_then(|exception| exception.as_object().set("code", code).map(|()| exception));
    match exception {
        Ok(exception) => exception.throw(),
        Err(error) => error,
    }
}

/// The engine's question "what is in this module?".
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
