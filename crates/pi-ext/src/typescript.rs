//! Transpiles an extension's source file to code the engine can run.
//!
//! Types are stripped without checking, and unused imports are removed as TypeScript does. A file
//! is classified as ES module or CommonJS by its syntax, like the loaders that extensions are
//! written for. CommonJS variables used in an ES module are bound on its first line, to preserve
//! line numbers. Plain JavaScript is not reprinted.

use std::path::{Path, PathBuf};
use std::thread;

use oxc_allocator::Allocator;
use oxc_ast::AstKind;
use oxc_ast::ast::{Program, Statement};
use oxc_codegen::{Codegen, CodegenOptions};
use oxc_parser::{Parser, ParserReturn};
use oxc_semantic::{AstNodes, Scoping, SemanticBuilder};
use oxc_span::SourceType;
use oxc_syntax::module_record::{
    ExportExportName, ExportImportName, ExportLocalName, ImportImportName, ModuleRecord,
};
use oxc_transformer::{TransformOptions, Transformer};
use serde::{Deserialize, Serialize};

use crate::commonjs_exports::{self, CommonJsExports};

/// CommonJS variables that are also available in ES modules.
const COMMONJS_NAMES: [&str; 5] = ["require", "module", "exports", "__filename", "__dirname"];

/// Base stack size of the parser thread.
const MIN_STACK: usize = 4 * 1024 * 1024;

/// Additional stack per byte of source, each of which may open a nesting level.
const STACK_PER_BYTE: usize = 4 * 1024;

/// Maximum stack size of the parser thread.
const MAX_STACK: usize = 1024 * 1024 * 1024;

/// Entry in a list of imported names that means the entire module.
pub(crate) const ALL_EXPORTS: &str = "*";

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum SourceFormat {
    /// ES module.
    Module,
    CommonJs,
}

/// A transpiled source file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PreparedSource {
    pub format: SourceFormat,
    pub code: String,
    /// Source map (version 3) from `code` to the file. `None` if the lines are unchanged.
    pub map: Option<String>,
    /// Statically detected exports of a CommonJS file.
    pub exports: CommonJsExports,
    /// Names that an ES module imports, by specifier. Includes imports without names.
    pub imports: Vec<(String, Vec<String>)>,
    /// Whether an ES module has a top-level `await`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub awaits: bool,
}

/// A syntax error in a TypeScript or JavaScript file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}:{line}:{column}: {message}", path.display())]
pub struct SyntaxError {
    pub path: PathBuf,
    /// 1-based.
    pub line: usize,
    /// 1-based.
    pub column: usize,
    pub message: String,
}

/// Parses a file, strips its types and collects its imports and exports.
///
/// `preferred` is the format to use if the file has no module syntax.
pub fn prepare(
    path: &Path,
    source: &str,
    preferred: SourceFormat,
) -> Result<PreparedSource, SyntaxError> {
    let error_at_start = |message: &str| SyntaxError {
        path: path.to_owned(),
        line: 1,
        column: 1,
        message: message.to_owned(),
    };
    thread::scope(|scope| {
        let thread = thread::Builder::new()
            .name("pi-parser".to_owned())
            .stack_size(stack_for(source))
            .spawn_scoped(scope, || prepare_on_this_thread(path, source, preferred))
            .map_err(|error| error_at_start(&format!("cannot start the parser thread: {error}")))?;
        thread
            .join()
            .unwrap_or_else(|_panicked| Err(error_at_start("the parser panicked")))
    })
}

/// Returns the stack size for the parser, which recurses as deep as the code is nested and has no
/// limit. Unused stack costs nothing.
fn stack_for(source: &str) -> usize {
    (MIN_STACK + source.len().saturating_mul(STACK_PER_BYTE)).min(MAX_STACK)
}

fn prepare_on_this_thread(
    path: &Path,
    source: &str,
    preferred: SourceFormat,
) -> Result<PreparedSource, SyntaxError> {
    let allocator = Allocator::default();
    let source_type = SourceType::from_path(path)
        .unwrap_or_else(|_| SourceType::mjs())
        .with_module(true);
    let extension = path.extension().and_then(|extension| extension.to_str());
    let parsed = Parser::new(&allocator, source, source_type).parse();
    let has_module_syntax = parsed.module_record.has_module_syntax;
    let mut statements = parsed.program.body.iter();
    let has_export_assignment =
        statements.any(|statement| matches!(statement, Statement::TSExportAssignment(_)));
    let format = match extension {
        Some("mjs" | "mts") => SourceFormat::Module,
        Some("cts") if has_module_syntax && !has_export_assignment => SourceFormat::Module,
        Some("cjs" | "cts") => SourceFormat::CommonJs,
        _ if has_module_syntax => SourceFormat::Module,
        _ => preferred,
    };
    if format == SourceFormat::CommonJs && !source_type.is_typescript() {
        return prepare_script(path, source, source_type);
    }
    fail_on_error(path, source, &parsed)?;
    let imports = requested_names(&parsed);
    let mut program = parsed.program;
    let semantic = SemanticBuilder::new()
        .with_excess_capacity(if source_type.is_typescript() {
            2.0
        } else {
            0.0
        })
        .with_enum_eval(true)
        .with_build_nodes(source.contains("await"))
        .build(&program);
    let awaits = format == SourceFormat::Module && has_top_level_await(semantic.semantic.nodes());
    let scoping = semantic.semantic.into_scoping();
    let exports = match format {
        SourceFormat::CommonJs => commonjs_exports::find(&program),
        SourceFormat::Module => module_exports(&parsed.module_record, &scoping),
    };
    let prologue = match format {
        SourceFormat::Module => commonjs_prologue(&scoping, &program),
        SourceFormat::CommonJs => String::new(),
    };
    if !source_type.is_typescript() && !source_type.is_jsx() {
        let code = format!("{prologue}{}", without_hashbang(source));
        return Ok(PreparedSource {
            format,
            code,
            map: None,
            exports,
            imports,
            awaits,
        });
    }
    let (code, map) = strip_types(path, source, &allocator, scoping, &mut program)?;
    Ok(PreparedSource {
        format,
        code: format!("{prologue}{code}"),
        map,
        exports,
        imports,
        awaits,
    })
}

/// Prepares plain CommonJS, which is sloppy-mode code and may not parse as a module.
fn prepare_script(
    path: &Path,
    source: &str,
    source_type: SourceType,
) -> Result<PreparedSource, SyntaxError> {
    let allocator = Allocator::default();
    let script = source_type.with_module(false).with_commonjs(true);
    let parsed = Parser::new(&allocator, source, script).parse();
    fail_on_error(path, source, &parsed)?;
    Ok(PreparedSource {
        format: SourceFormat::CommonJs,
        code: without_hashbang(source),
        map: None,
        exports: commonjs_exports::find(&parsed.program),
        imports: Vec::new(),
        awaits: false,
    })
}

fn strip_types<'a>(
    path: &Path,
    source: &str,
    allocator: &'a Allocator,
    scoping: Scoping,
    program: &mut Program<'a>,
) -> Result<(String, Option<String>), SyntaxError> {
    let options = TransformOptions::default();
    let transformed =
        Transformer::new(allocator, path, &options).build_with_scoping(scoping, program);
    if let Some(error) = transformed.diagnostics.errors().next() {
        return Err(syntax_error(path, source, error));
    }
    // Only the shell needs the hashbang.
    program.hashbang = None;
    let printed = Codegen::new()
        .with_options(CodegenOptions {
            source_map_path: Some(path.to_path_buf()),
            ..CodegenOptions::default()
        })
        .build(program);
    let map = printed.map.map(|mut map| {
        map.set_source_contents(Vec::new());
        map.to_json_string()
    });
    Ok((printed.code, map))
}

fn fail_on_error(path: &Path, source: &str, parsed: &ParserReturn<'_>) -> Result<(), SyntaxError> {
    match parsed.diagnostics.errors().next() {
        Some(error) => Err(syntax_error(path, source, error)),
        None => Ok(()),
    }
}

fn syntax_error(
    path: &Path,
    source: &str,
    diagnostic: &oxc_diagnostics::OxcDiagnostic,
) -> SyntaxError {
    let offset = diagnostic
        .labels
        .iter()
        .next()
        .map_or(0, |label| label.offset() as usize);
    let before = source.get(..offset).unwrap_or(source);
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    SyntaxError {
        path: path.to_path_buf(),
        line: before.matches('\n').count() + 1,
        column: before
            .get(line_start..)
            .map_or(0, |text| text.chars().count())
            + 1,
        message: diagnostic.message.to_string(),
    }
}

/// Returns the names requested by each `import` and `export … from`, so that a CommonJS target can
/// be linked even if static analysis misses the export. [`ALL_EXPORTS`] means the entire module.
fn requested_names(parsed: &ParserReturn<'_>) -> Vec<(String, Vec<String>)> {
    let record = &parsed.module_record;
    let mut requested: Vec<(String, Vec<String>)> = Vec::new();
    for (specifier, requests) in &record.requested_modules {
        if requests.iter().any(|request| !request.is_type) {
            requested.push((specifier.to_string(), Vec::new()));
        }
    }
    requested.sort_unstable();
    // The names used from `import()` are not known statically.
    if !record.dynamic_imports.is_empty() {
        for (_, names) in &mut requested {
            names.push(ALL_EXPORTS.to_owned());
        }
    }
    let mut add = |specifier: &str, name: &str| {
        let position = requested.iter().position(|(known, _)| known == specifier);
        if let Some((_, names)) = position.and_then(|position| requested.get_mut(position)) {
            names.push(name.to_owned());
        }
    };
    for entry in record.import_entries.iter().filter(|it| !it.is_type) {
        let name = match &entry.import_name {
            ImportImportName::Name(name) => name.name.as_str(),
            ImportImportName::NamespaceObject => ALL_EXPORTS,
            ImportImportName::Default(_) => "default",
        };
        add(&entry.module_request.name, name);
    }
    for entry in &record.star_export_entries {
        if let Some(request) = &entry.module_request {
            add(&request.name, ALL_EXPORTS);
        }
    }
    for entry in &record.indirect_export_entries {
        if let Some(request) = &entry.module_request
            && !entry.is_type
        {
            match &entry.import_name {
                ExportImportName::Name(name) => add(&request.name, &name.name),
                ExportImportName::All | ExportImportName::AllButDefault => {
                    add(&request.name, ALL_EXPORTS);
                }
                ExportImportName::Null => {}
            }
        }
    }
    requested
}

/// Returns the values that an ES module exports, and the modules whose exports it adds with `export *`.
fn module_exports(record: &ModuleRecord<'_>, scoping: &Scoping) -> CommonJsExports {
    let mut exports = CommonJsExports::default();
    let entries = record.local_export_entries.iter();
    for entry in entries.chain(&record.indirect_export_entries) {
        let is_type = match &entry.local_name {
            ExportLocalName::Name(local) => scoping
                .get_root_binding(local.name.as_str().into())
                .is_some_and(|symbol| {
                    !scoping
                        .symbol_flags(symbol)
                        .can_be_referenced_by_value_as_type()
                }),
            ExportLocalName::Default(_) | ExportLocalName::Null => false,
        };
        if entry.is_type || is_type {
            continue;
        }
        match &entry.export_name {
            ExportExportName::Name(name) => exports.names.push(name.name.to_string()),
            ExportExportName::Default(_) => exports.names.push("default".to_owned()),
            ExportExportName::Null => {}
        }
    }
    let stars = record.star_export_entries.iter();
    let stars = stars.filter_map(|entry| entry.module_request.as_ref());
    let stars = stars.map(|request| request.name.to_string());
    exports.reexports.extend(stars);
    exports
}

fn has_top_level_await(nodes: &AstNodes<'_>) -> bool {
    let is_function = |kind: AstKind<'_>| {
        let is_arrow = matches!(kind, AstKind::ArrowFunctionExpression(_));
        is_arrow || matches!(kind, AstKind::Function(_))
    };
    nodes.iter().any(|node| {
        let is_await = match node.kind() {
            AstKind::AwaitExpression(_) => true,
            AstKind::ForOfStatement(statement) => statement.r#await,
            AstKind::VariableDeclaration(variables) => variables.kind.is_await(),
            _ => false,
        };
        is_await && !nodes.ancestor_kinds(node.id()).any(is_function)
    })
}

/// Binds the CommonJS variables that the file uses but does not declare.
fn commonjs_prologue(scoping: &Scoping, program: &Program<'_>) -> String {
    let unresolved = scoping.root_unresolved_references();
    let mut statements = program.body.iter();
    // `import name = require("x")` becomes a call.
    let requires = statements.any(|it| matches!(it, Statement::TSImportEqualsDeclaration(_)));
    let names: Vec<&str> = COMMONJS_NAMES
        .into_iter()
        .filter(|name| {
            let is_used = unresolved.keys().any(|known| known.as_str() == *name);
            is_used || (requires && *name == "require")
        })
        .collect();
    if names.is_empty() {
        return String::new();
    }
    format!("const {{ {} }} = import.meta.commonjs; ", names.join(", "))
}

/// Blanks a `#!` line, preserving line numbers.
fn without_hashbang(source: &str) -> String {
    match source.strip_prefix("#!") {
        Some(rest) => rest
            .find('\n')
            .and_then(|newline| rest.get(newline..))
            .unwrap_or_default()
            .to_owned(),
        None => source.to_owned(),
    }
}

#[cfg(test)]
mod tests;
