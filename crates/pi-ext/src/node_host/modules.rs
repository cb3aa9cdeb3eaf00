//! What the loader on Node asks for: our modules as text, and the files Node cannot find or read by itself.

use std::path::{Path, PathBuf};

use pi_packed::PackedTexts;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::cache::SourceCache;
use crate::engine::EngineOptions;
use crate::host::HostError;
use crate::resolver::{ImportKind, Resolver, Target};
use crate::typescript::SourceFormat;

/// Our modules by name. Whoever starts a host on Node needs most of them.
static SOURCES: PackedTexts = PackedTexts::new(include_bytes!(concat!(
    env!("OUT_DIR"),
    "/node_sources.deflate"
)));

/// A package that has types alone.
const NOTHING: &str = "pi:nothing";

/// Returns the text of a module of ours.
pub(super) fn source(name: &str) -> Option<&'static str> {
    SOURCES.get(name)
}

/// Answers the loader.
pub(super) struct Modules {
    packages: Vec<(String, String)>,
    program: PathBuf,
    resolver: Resolver,
    cache: SourceCache,
}

#[derive(Deserialize)]
struct Import {
    specifier: String,
    importer: String,
    kind: String,
}

impl Modules {
    pub(super) fn new(options: &EngineOptions) -> Self {
        let mut packages = options.packages.clone();
        let types_alone = options.virtual_modules.iter();
        packages.extend(types_alone.map(|(name, _)| (name.clone(), NOTHING.to_owned())));
        Self {
            packages,
            program: options.process.executable.clone(),
            resolver: Resolver::new(Vec::new()),
            cache: options.cache.clone(),
        }
    }

    pub(super) fn answer(&self, method: &str, arguments: Value) -> Result<Value, HostError> {
        let text = |name: &str| arguments.get(name).and_then(Value::as_str).unwrap_or("");
        match method {
            "packages" => {
                let names = self.packages.iter();
                let names = names.map(|(name, module)| (name.clone(), json!(module)));
                let names: serde_json::Map<_, _> = names.collect();
                Ok(json!({ "packages": names, "program": self.program }))
            }
            "source" => match text("name") {
                NOTHING => Ok(json!("export {};\n")),
                name => source(name)
                    .map(Value::from)
                    .ok_or_else(|| not_found(format!("Cannot find module '{name}'"))),
            },
            "prepare" => self.prepare(Path::new(text("path"))),
            "resolve" => {
                let import = serde_json::from_value(arguments);
                self.resolve(&import.map_err(|error| HostError::new(error.to_string()))?)
            }
            _ => Err(HostError::new(format!("the loader knows no {method}"))),
        }
    }

    fn resolve(&self, import: &Import) -> Result<Value, HostError> {
        let kind = match import.kind.as_str() {
            "require" => ImportKind::Require,
            _ => ImportKind::Import,
        };
        let target = self
            .resolver
            .resolve(&import.specifier, &import.importer, kind)
            .map_err(|error| not_found(error.to_string()))?;
        Ok(match target {
            Target::File(path) => json!(path.to_string_lossy()),
            Target::Builtin(name) | Target::Virtual(name) => json!(name),
        })
    }

    fn prepare(&self, path: &Path) -> Result<Value, HostError> {
        let source = std::fs::read_to_string(path)
            .map_err(|error| HostError::new(format!("Cannot read {}: {error}", path.display())))?;
        let preferred = self.resolver.preferred_format(path);
        let prepared = self
            .cache
            .prepare(path, &source, preferred)
            .map_err(|error| HostError::new(error.to_string()))?;
        let is_module = prepared.format == SourceFormat::Module;
        Ok(json!({ "isModule": is_module, "code": prepared.code, "map": prepared.map }))
    }
}

fn not_found(message: String) -> HostError {
    HostError {
        message,
        code: Some("MODULE_NOT_FOUND".to_owned()),
    }
}
