//! Serves the module loader on Node: sources of embedded modules, and files that Node cannot
//! resolve or parse.

use std::path::{Path, PathBuf};

use pi_packed::PackedTexts;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::cache::SourceCache;
use crate::engine::EngineOptions;
use crate::host::HostError;
use crate::resolver::{ImportKind, ModuleResolver, ResolvedModule};
use crate::typescript::SourceFormat;

/// Sources of the embedded modules by name. Unpacked together, since a Node host needs most of them.
static SOURCES: PackedTexts = PackedTexts::new(include_bytes!(concat!(
    env!("OUT_DIR"),
    "/node_sources.deflate"
)));

/// Empty module for packages that contain only types.
const EMPTY_MODULE: &str = "pi:empty";

/// Returns the source of an embedded module.
pub(super) fn source(name: &str) -> Option<&'static str> {
    SOURCES.get(name)
}

/// Handles the requests of the loader.
pub(super) struct ModuleServer {
    packages: Vec<(String, String)>,
    executable: PathBuf,
    resolver: ModuleResolver,
    cache: SourceCache,
}

#[derive(Deserialize)]
struct ImportRequest {
    specifier: String,
    importer: String,
    kind: String,
}

impl ModuleServer {
    pub(super) fn new(options: &EngineOptions) -> Self {
        let mut packages = options.packages.clone();
        let types_only = options.virtual_modules.iter();
        packages.extend(types_only.map(|(name, _)| (name.clone(), EMPTY_MODULE.to_owned())));
        Self {
            packages,
            executable: options.process.executable.clone(),
            resolver: ModuleResolver::new(Vec::new()),
            cache: options.cache.clone(),
        }
    }

    pub(super) fn handle(&self, method: &str, arguments: &Value) -> Result<Value, HostError> {
        let text = |name: &str| arguments.get(name).and_then(Value::as_str).unwrap_or("");
        match method {
            "packages" => {
                let names = self.packages.iter();
                let names = names.map(|(name, module)| (name.clone(), json!(module)));
                let names: serde_json::Map<_, _> = names.collect();
                Ok(json!({ "packages": names, "executable": self.executable }))
            }
            "source" => match text("name") {
                EMPTY_MODULE => Ok(json!("export {};\n")),
                name => source(name)
                    .map(Value::from)
                    .ok_or_else(|| not_found(format!("Cannot find module '{name}'"))),
            },
            "prepare" => self.prepare(Path::new(text("path"))),
            "resolve" => {
                let import = ImportRequest::deserialize(arguments);
                self.resolve(&import.map_err(|error| HostError::new(error.to_string()))?)
            }
            _ => Err(HostError::new(format!("unknown loader method `{method}`"))),
        }
    }

    fn resolve(&self, import: &ImportRequest) -> Result<Value, HostError> {
        let kind = match import.kind.as_str() {
            "require" => ImportKind::Require,
            _ => ImportKind::Import,
        };
        let target = self
            .resolver
            .resolve(&import.specifier, &import.importer, kind)
            .map_err(|error| not_found(error.to_string()))?;
        Ok(match target {
            ResolvedModule::File(path) => json!(path.to_string_lossy()),
            ResolvedModule::Builtin(name) | ResolvedModule::Virtual(name) => json!(name),
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
