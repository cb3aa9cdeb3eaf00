//! Compiles our JavaScript (`js/`) to bytecode and lists it for `src/embedded.rs`.
//!
//! `js/internal/x.js` becomes the module `pi:x`, `js/web/x.js` becomes `pi:web/x`,
//! `js/node/a/b.js` becomes `node:a/b`. A syntax error in one of them fails the build.
//!
//! `js/modules/x.js` is what extensions import under a package's name. `data/exports/x.txt` lists
//! every name such a package exports; those the file does not bring itself are added as stand-ins
//! that throw when used, since one missing name would keep a whole extension from linking.
//!
//! `js/node_host/x.js` stands for the module `pi:x` where extensions run on Node. That host is given text, since
//! Node reads no bytecode of ours: those files, and the modules that are the same wherever they run. Few start that
//! host, so the text is packed.
//!
//! What such a file only passes on is listed by its origin, and what it brings itself becomes a module
//! of its own (`pi:modules/x/own`): an extension that asks for some names loads what those need.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use rquickjs::loader::{ImportAttributes, Loader, Resolver};
use rquickjs::{CatchResultExt as _, Context, Ctx, Module, Runtime, WriteOptions};

/// Where the files that run on Node alone are.
const NODE_HOST: &str = "pi:node_host/";

/// What runs on Node as it does here.
const FOR_NODE: [&str; 5] = [
    "pi:pi/",
    "pi:tui/",
    "pi:modules/",
    "pi:intrinsics",
    "pi:missing",
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
        println!("cargo::error=reading js/: {error}");
        return;
    }
    let node_host = take_node_host(&mut sources);
    let mut passed_on = BTreeMap::new();
    for (name, own, origins) in split_packages(&sources) {
        if let Some(whole) = sources.get_mut(&name) {
            *whole = whole_package(&name, &origins);
            let package = name.trim_start_matches("pi:modules/");
            let list = exports.join(package).with_extension("txt");
            match std::fs::read_to_string(list) {
                Ok(list) => add_stand_ins(package, &list, &exported_names(&own), whole),
                Err(error) => println!("cargo::error=data/exports/{package}.txt: {error}"),
            }
        }
        sources.insert(format!("{name}/own"), own);
        passed_on.insert(name, origins);
    }
    if let Err(error) = pack_for_node(&sources, &node_host, &output) {
        println!("cargo::error=writing the modules for Node: {error}");
    }
    let mut table = String::from("&[\n");
    for (name, source) in &sources {
        match compile(name, source, &sources) {
            Ok(bytecode) => {
                let file = format!("{}.bin", name.replace([':', '/'], "_"));
                if let Err(error) = write(&output.join(&file), &bytecode) {
                    println!("cargo::error=writing {file}: {error}");
                }
                let exports = exported_names(source);
                let origins = passed_on.get(name).map(Vec::as_slice).unwrap_or_default();
                writeln!(
                    table,
                    "Embedded {{ name: {name:?}, exports: &{exports:?}, origins: &{origins:?}, \
                     bytecode: include_bytes!(concat!(env!(\"OUT_DIR\"), \"/{file}\")) }},"
                )
                .unwrap_or_default();
            }
            Err(error) => println!("cargo::error={name}: {error}"),
        }
    }
    table.push_str("]\n");
    if let Err(error) = write(&output.join("embedded.rs"), table.as_bytes()) {
        println!("cargo::error=writing the table of modules: {error}");
    }
}

/// Takes out the files that run on Node alone; each stands for the module it is named after.
fn take_node_host(sources: &mut BTreeMap<String, String>) -> BTreeMap<String, String> {
    let (theirs, rest) = std::mem::take(sources)
        .into_iter()
        .partition(|(name, _)| name.starts_with(NODE_HOST));
    *sources = rest;
    let theirs: BTreeMap<String, String> = theirs;
    let renamed = theirs.into_iter();
    renamed
        .map(|(name, source)| (name.replace(NODE_HOST, "pi:"), source))
        .collect()
}

/// Packs the text of the modules that are given to Node.
fn pack_for_node(
    sources: &BTreeMap<String, String>,
    node_host: &BTreeMap<String, String>,
    output: &Path,
) -> std::io::Result<()> {
    let shared = sources
        .iter()
        .filter(|(name, _)| FOR_NODE.iter().any(|prefix| name.starts_with(prefix)));
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
    folder: &Path,
    sources: &mut BTreeMap<String, String>,
) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
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

/// What a package passes on: the name, the module it comes from, and its name there.
type Origin = (String, String, String);

/// Takes the files of packages apart: what each brings itself, and what it passes on.
fn split_packages(sources: &BTreeMap<String, String>) -> Vec<(String, String, Vec<Origin>)> {
    let packages = sources
        .iter()
        .filter(|(name, _)| name.starts_with("pi:modules/"));
    packages
        .map(|(name, source)| {
            let mut own = String::new();
            let mut origins = Vec::new();
            let mut rest = source.as_str();
            while let Some((before, list, module, after)) = next_passed_on(rest) {
                own.push_str(before);
                for item in list.split(',').map(str::trim).filter(|it| !it.is_empty()) {
                    let (there, here) = item.split_once(" as ").unwrap_or((item, item));
                    origins.push((here.to_owned(), module.to_owned(), there.to_owned()));
                }
                rest = after;
            }
            own.push_str(rest);
            (name.clone(), own, origins)
        })
        .collect()
}

/// Finds the next `export { … } from "…";`: what stands before it, its names, its module, and what follows.
fn next_passed_on(source: &str) -> Option<(&str, &str, &str, &str)> {
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

/// The module of a whole package: its own part and what it passes on.
fn whole_package(name: &str, origins: &[Origin]) -> String {
    let mut source = format!("// {name}\nexport * from \"{name}/own\";\n");
    for (here, module, there) in origins {
        writeln!(source, "export {{ {there} as {here} }} from {module:?};").unwrap_or_default();
    }
    source
}

/// Adds what a package exports and neither its own part nor what it passes on brings.
fn add_stand_ins(package: &str, list: &str, own: &[String], source: &mut String) {
    let mut known = exported_names(source);
    known.extend_from_slice(own);
    // `export *` leaves the default out.
    if own.iter().any(|name| name == "default") {
        writeln!(
            source,
            "export {{ default }} from \"pi:modules/{package}/own\";"
        )
        .unwrap_or_default();
    }
    source.push_str("\nimport { missing as standIn } from \"pi:missing\";\n");
    for name in list
        .lines()
        .filter(|name| !known.iter().any(|it| it == name))
    {
        let line = match name {
            "default" => format!("export default standIn({package:?}, \"default\");\n"),
            // Some names are words that cannot be declared.
            _ => format!(
                "const standIn_{name} = standIn({package:?}, {name:?});\nexport {{ standIn_{name} as {name} }};\n"
            ),
        };
        source.push_str(&line);
    }
}

/// Knows our own modules; everything else is an empty one, since nothing is run or linked here.
struct Sources(BTreeMap<String, String>);

impl Resolver for Sources {
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

impl Loader for Sources {
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
    runtime.set_loader(Sources(sources.clone()), Sources(sources.clone()));
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

/// Reads the names a module of ours exports; our files write them in these forms only.
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
