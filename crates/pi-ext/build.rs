//! Compiles the embedded JavaScript (`js/`) to bytecode and generates the table for
//! `src/embedded.rs`.
//!
//! `js/internal/x.js` becomes the module `pi:x`, `js/web/x.js` becomes `pi:web/x`,
//! `js/node/a/b.js` becomes `node:a/b`. A syntax error in any of them fails the build. The module
//! `pi:pi/version` has the version of this package.
//!
//! `js/modules/x.js` implements a package that extensions import. `data/exports/x.txt` lists all
//! exports of the real package; names that the file does not implement become stubs that throw when
//! used, since one missing name would prevent an extension from linking. Re-exports of the file are
//! recorded with their origin, and its own code becomes the module `pi:modules/x/own`, so that an
//! extension loads only the modules that the names it imports need.
//!
//! `js/node_host/x.js` replaces the module `pi:x` when extensions run on Node, which cannot read the
//! bytecode. These files and the modules shared by both hosts are therefore stored as source text,
//! compressed because few users run that host.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use rquickjs::loader::{ImportAttributes, Loader, Resolver};
use rquickjs::{CatchResultExt as _, Context, Ctx, Module, Runtime, WriteOptions};

/// Prefix of the modules that run only on Node.
const NODE_HOST: &str = "pi:node_host/";

/// Prefixes of the modules that run on both hosts.
const SHARED_WITH_NODE: [&str; 6] = [
    "pi:pi/",
    "pi:tui/",
    "pi:modules/",
    "pi:intrinsics",
    "pi:missing",
    "pi:standalone",
];

fn main() {
    let root = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default()).join("js");
    let output = PathBuf::from(std::env::var_os("OUT_DIR").unwrap_or_default());
    let exports = root.with_file_name("data").join("exports");
    println!("cargo::rerun-if-changed=js");
    println!("cargo::rerun-if-changed=data/exports");
    println!("cargo::rerun-if-changed=build.rs");
    let mut sources = BTreeMap::new();
    if let Err(error) = collect(&root, &root, &mut sources) {
        println!("cargo::error=cannot read js/: {error}");
        return;
    }
    let version = std::env::var("CARGO_PKG_VERSION").unwrap_or_default();
    sources.insert(
        "pi:pi/version".to_owned(),
        format!("// The version of pi.\nexport const VERSION = {version:?};\n"),
    );
    let node_host = take_node_host(&mut sources);
    let mut reexports = BTreeMap::new();
    for (name, own, origins) in split_packages(&sources) {
        if let Some(package_source) = sources.get_mut(&name) {
            let package = name.trim_start_matches("pi:modules/");
            let list = exports.join(package).with_extension("txt");
            match std::fs::read_to_string(list) {
                Ok(list) => {
                    *package_source = package_module(&name, &origins, &list);
                    add_stubs(package, &list, &exported_names(&own), package_source);
                }
                Err(error) => println!("cargo::error=data/exports/{package}.txt: {error}"),
            }
        }
        sources.insert(format!("{name}/own"), own);
        reexports.insert(name, origins);
    }
    if let Err(error) = pack_for_node(&sources, &node_host, &output) {
        println!("cargo::error=cannot write the modules for Node: {error}");
    }
    let mut table = String::from("&[\n");
    for (name, source) in &sources {
        match compile(name, source, &sources) {
            Ok(bytecode) => {
                let file = format!("{}.deflate", name.replace([':', '/'], "_"));
                if let Err(error) = pi_packed::pack(&bytecode, &output.join(&file)) {
                    println!("cargo::error=cannot write {file}: {error}");
                }
                let exports = exported_names(source);
                let origins = reexports.get(name).map(Vec::as_slice).unwrap_or_default();
                writeln!(
                    table,
                    "EmbeddedModule {{ name: {name:?}, exports: &{exports:?}, origins: &{origins:?}, \
                     packed: include_bytes!(concat!(env!(\"OUT_DIR\"), \"/{file}\")) }},"
                )
                .unwrap_or_default();
            }
            Err(error) => println!("cargo::error={name}: {error}"),
        }
    }
    table.push_str("]\n");
    if let Err(error) = write(&output.join("embedded.rs"), table.as_bytes()) {
        println!("cargo::error=cannot write the module table: {error}");
    }
}

/// Removes the modules that run only on Node from `sources` and returns them under their final names.
fn take_node_host(sources: &mut BTreeMap<String, String>) -> BTreeMap<String, String> {
    let (node_modules, rest) = std::mem::take(sources)
        .into_iter()
        .partition(|(name, _)| name.starts_with(NODE_HOST));
    *sources = rest;
    let node_modules: BTreeMap<String, String> = node_modules;
    let renamed = node_modules.into_iter();
    renamed
        .map(|(name, source)| (name.replace(NODE_HOST, "pi:"), source))
        .collect()
}

/// Writes the compressed sources of the modules for Node.
fn pack_for_node(
    sources: &BTreeMap<String, String>,
    node_host: &BTreeMap<String, String>,
    output: &Path,
) -> std::io::Result<()> {
    let shared = sources.iter().filter(|(name, _)| {
        SHARED_WITH_NODE
            .iter()
            .any(|prefix| name.starts_with(prefix))
    });
    let all = shared.chain(node_host);
    let all = all
        .map(|(name, source)| (name.clone(), source.clone()))
        .collect();
    pi_packed::pack_texts(&all, &output.join("node_sources.deflate"))
}

fn write(path: &Path, content: &[u8]) -> std::io::Result<()> {
    std::io::Write::write_all(&mut std::fs::File::create(path)?, content)
}

fn collect(
    root: &Path,
    directory: &Path,
    sources: &mut BTreeMap<String, String>,
) -> std::io::Result<()> {
    for entry in std::fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(root, &path, sources)?;
            continue;
        }
        if path.extension().is_none_or(|extension| extension != "js") {
            continue;
        }
        let name = path.strip_prefix(root).unwrap_or(&path).with_extension("");
        let name = name.to_string_lossy().replace('\\', "/");
        let name = match name.split_once('/') {
            Some(("node", rest)) => format!("node:{rest}"),
            Some(("internal", rest)) => format!("pi:{rest}"),
            _ => format!("pi:{name}"),
        };
        sources.insert(name, std::fs::read_to_string(&path)?);
    }
    Ok(())
}

/// A re-export of a package: exported name, source module, name in that module.
type ReExport = (String, String, String);

/// Splits each package into its own code and its re-exports.
fn split_packages(sources: &BTreeMap<String, String>) -> Vec<(String, String, Vec<ReExport>)> {
    let packages = sources
        .iter()
        .filter(|(name, _)| name.starts_with("pi:modules/"));
    packages
        .map(|(name, source)| {
            let mut own = String::new();
            let mut origins = Vec::new();
            let mut rest = source.as_str();
            while let Some((before, list, module, after)) = next_reexport(rest) {
                own.push_str(before);
                for item in list.split(',').map(str::trim).filter(|it| !it.is_empty()) {
                    let (original, exported) = item.split_once(" as ").unwrap_or((item, item));
                    origins.push((exported.to_owned(), module.to_owned(), original.to_owned()));
                }
                rest = after;
            }
            own.push_str(rest);
            (name.clone(), own, origins)
        })
        .collect()
}

/// Finds the next `export { … } from "…";`. Returns the text before it, its names, its module and
/// the text after it.
fn next_reexport(source: &str) -> Option<(&str, &str, &str, &str)> {
    let mut from = 0;
    loop {
        let start = source.get(from..)?.find("\nexport {")? + from + 1;
        let (before, statement) = source.split_at_checked(start)?;
        let (list, tail) = statement.strip_prefix("export {")?.split_once('}')?;
        if let Some(origin) = tail.strip_prefix(" from \"") {
            let (module, after) = origin.split_once("\";")?;
            return Some((before, list, module, after));
        }
        from = start;
    }
}

/// Returns the source of a complete package: its own code and its re-exports. Re-exports that are not on the list are
/// those of earlier versions; they can be imported by name.
fn package_module(name: &str, origins: &[ReExport], list: &str) -> String {
    let mut source = format!("// {name}\nexport * from \"{name}/own\";\n");
    let listed = origins
        .iter()
        .filter(|(exported, ..)| list.lines().any(|name| name == exported));
    for (exported, module, original) in listed {
        writeln!(
            source,
            "export {{ {original} as {exported} }} from {module:?};"
        )
        .unwrap_or_default();
    }
    source
}

/// Adds stubs for the exports that the package does not implement.
fn add_stubs(package: &str, list: &str, own: &[String], source: &mut String) {
    let mut known = exported_names(source);
    known.extend_from_slice(own);
    // `export *` does not include the default export.
    if own.iter().any(|name| name == "default") {
        writeln!(
            source,
            "export {{ default }} from \"pi:modules/{package}/own\";"
        )
        .unwrap_or_default();
    }
    source.push_str("\nimport { missing as stub } from \"pi:missing\";\n");
    for name in list
        .lines()
        .filter(|name| !known.iter().any(|it| it == name))
    {
        let line = match name {
            "default" => format!("export default stub({package:?}, \"default\");\n"),
            // Some names are reserved words and cannot be declared directly.
            _ => format!(
                "const stub_{name} = stub({package:?}, {name:?});\nexport {{ stub_{name} as {name} }};\n"
            ),
        };
        source.push_str(&line);
    }
}

/// Resolves embedded modules. All others are empty, since nothing is linked or run here.
struct SourceTable(BTreeMap<String, String>);

impl Resolver for SourceTable {
    fn resolve<'js>(
        &mut self,
        _: &Ctx<'js>,
        _: &str,
        name: &str,
        _: Option<ImportAttributes<'js>>,
    ) -> rquickjs::Result<String> {
        Ok(name.to_owned())
    }
}

impl Loader for SourceTable {
    fn load<'js>(
        &mut self,
        ctx: &Ctx<'js>,
        name: &str,
        _: Option<ImportAttributes<'js>>,
    ) -> rquickjs::Result<Module<'js>> {
        let source = self.0.get(name).cloned().unwrap_or_default();
        Module::declare(ctx.clone(), name, source)
    }
}

fn compile(
    name: &str,
    source: &str,
    sources: &BTreeMap<String, String>,
) -> Result<Vec<u8>, String> {
    let runtime = Runtime::new().map_err(|error| error.to_string())?;
    runtime.set_max_stack_size(4 * 1024 * 1024);
    runtime.set_loader(SourceTable(sources.clone()), SourceTable(sources.clone()));
    let context = Context::full(&runtime).map_err(|error| error.to_string())?;
    context.with(|ctx| {
        Module::declare(ctx.clone(), name, source)
            .and_then(|module| {
                module.write(WriteOptions {
                    strip_source: true,
                    ..WriteOptions::default()
                })
            })
            .catch(&ctx)
            .map_err(|error| error.to_string().replace('\n', " "))
    })
}

/// Returns the exports of an embedded module. Supports only the syntax used in `js/`.
fn exported_names(source: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut rest = source;
    while let Some(position) = rest.find("\nexport ") {
        rest = rest.get(position + "\nexport ".len()..).unwrap_or_default();
        if let Some(list) = rest.strip_prefix('{') {
            let list = list.split('}').next().unwrap_or_default();
            for item in list.split(',') {
                let name = item.rsplit(" as ").next().unwrap_or_default().trim();
                if !name.is_empty() {
                    names.push(name.to_owned());
                }
            }
            continue;
        }
        let mut words = rest
            .split(|character: char| !(character.is_alphanumeric() || "_$".contains(character)))
            .filter(|word| !word.is_empty());
        match words.next() {
            Some("default") => names.push("default".to_owned()),
            Some("async") => names.extend(words.nth(1).map(str::to_owned)),
            Some("const") if rest.starts_with("const {") => {
                let list = rest.split(['{', '}']).nth(1).unwrap_or_default();
                let name = |item: &str| {
                    item.rsplit(':')
                        .next()
                        .unwrap_or_default()
                        .trim()
                        .to_owned()
                };
                names.extend(list.split(',').map(name).filter(|name| !name.is_empty()));
            }
            Some("const" | "let" | "var" | "function" | "class") => {
                names.extend(words.next().map(str::to_owned));
            }
            _ => {}
        }
    }
    names.sort_unstable();
    names.dedup();
    names
}
