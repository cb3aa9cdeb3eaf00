//! Turns a source file of an extension into what the engine runs.
//!
//! Types are stripped (never checked), unused imports dropped as TypeScript drops them, and a
//! file is classed as ES module or CommonJS by what it says, since loaders that extensions are
//! written for do the same. What a file needs of CommonJS inside an ES module is bound in its
//! first line, so that line numbers stay. Plain JavaScript passes through unprinted.

use std::path::{Path, PathBuf};
use std::thread;

use oxc_allocator::Allocator;
use oxc_ast::ast::Program;
use oxc_codegen::{Codegen, CodegenOptions};
use oxc_parser::{Parser, ParserReturn};
use oxc_semantic::{Scoping, SemanticBuilder};
use oxc_span::SourceType;
use oxc_syntax::module_record::{ExportImportName, ImportImportName};
use oxc_transformer::{TransformOptions, Transformer};
use serde::{Deserialize, Serialize};

use crate::commonjs_exports::{self, CommonJsExports};

/// Names a CommonJS function has as parameters and an ES module may use all the same.
const COMMONJS_NAMES: [&str; 5] = ["require", "module", "exports", "__filename", "__dirname"];

/// Stack for code of any kind.
const LEAST_STACK: usize = 4 * 1024 * 1024;

/// Stack for a byte of code, each of which may open a level of its own.
const STACK_PER_BYTE: usize = 4 * 1024;

/// As much stack as is asked of a system at the most.
const MOST_STACK: usize = 1024 * 1024 * 1024;

/// Stands for all names of a module among those that are asked for.
pub(crate) const EVERYTHING: &str = "*";

/// Whether a file is an ES module or a CommonJS one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum SourceFormat {
    /// `import` and `export`.
    Module,
    /// `require` and `module.exports`.
    CommonJs,
}

/// A file that is ready for the engine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PreparedSource {
    /// How the engine is to run it.
    pub format: SourceFormat,
    pub code: String,
    /// The source map (version 3) from `code` to the file; `None` where the lines are the same.
    pub map: Option<String>,
    /// What a CommonJS file exports, as far as its text shows.
    pub exports: CommonJsExports,
    /// The names an ES module asks other modules for, by specifier; every import is listed.
    pub imports: Vec<(String, Vec<String>)>,
}

/// A file that is not valid TypeScript or JavaScript.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}:{line}:{column}: {message}", path.display())]
pub struct SyntaxError {
    pub path: PathBuf,
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1.
    pub column: usize,
    /// What is wrong there.
    pub message: String,
}

/// Parses a file, strips its types and finds out what it imports and exports.
///
/// `preferred` is the format of a file that shows none, by the package it lies in.
pub fn prepare(
    path: &Path,
    source: &str,
    preferred: SourceFormat,
) -> Result<PreparedSource, SyntaxError> {
    let failed = |message: &str| SyntaxError {
        path: path.to_owned(),
        line: 1,
        column: 1,
        message: message.to_owned(),
    };
    thread::scope(|scope| {
        let thread = thread::Builder::new()
            .name("pi-parser".to_owned())
            .stack_size(stack_for(source))
            .spawn_scoped(scope, || prepare_here(path, source, preferred))
            .map_err(|error| failed(&format!("there is no room to read it: {error}")))?;
        thread
            .join()
            .unwrap_or_else(|_panicked| Err(failed("it cannot be read")))
    })
}

/// Returns how much stack the compiler may need: it goes as deep as the code is nested, and knows no limit.
/// What is not used costs nothing.
fn stack_for(source: &str) -> usize {
    (LEAST_STACK + source.len().saturating_mul(STACK_PER_BYTE)).min(MOST_STACK)
}

fn prepare_here(
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
    let format = match extension {
        Some("mjs" | "mts") => SourceFormat::Module,
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
    let exports = match format {
        SourceFormat::CommonJs => commonjs_exports::find(&program),
        SourceFormat::Module => CommonJsExports::default(),
    };
    let semantic = SemanticBuilder::new()
        .with_excess_capacity(if source_type.is_typescript() {
            2.0
        } else {
            0.0
        })
        .with_enum_eval(true)
        .build(&program);
    let scoping = semantic.semantic.into_scoping();
    let prologue = match format {
        SourceFormat::Module => commonjs_prologue(&scoping),
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
        });
    }
    let (code, map) = strip_types(path, source, &allocator, scoping, &mut program)?;
    Ok(PreparedSource {
        format,
        code: format!("{prologue}{code}"),
        map,
        exports,
        imports,
    })
}

/// Prepares plain CommonJS. It is sloppy code: what the module grammar refuses may be fine.
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
    // The hashbang is a comment to everybody but the shell.
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

/// Returns what each `import` and `export … from` asks for, so that a CommonJS target can be
/// linked even when its text does not show the name. [`EVERYTHING`] stands for all of a module.
fn requested_names(parsed: &ParserReturn<'_>) -> Vec<(String, Vec<String>)> {
    let record = &parsed.module_record;
    let mut requested: Vec<(String, Vec<String>)> = Vec::new();
    for (specifier, requests) in &record.requested_modules {
        if requests.iter().any(|request| !request.is_type) {
            requested.push((specifier.to_string(), Vec::new()));
        }
    }
    requested.sort_unstable();
    // What `import()` takes is known only when it runs.
    if !record.dynamic_imports.is_empty() {
        for (_, names) in &mut requested {
            names.push(EVERYTHING.to_owned());
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
            ImportImportName::NamespaceObject => EVERYTHING,
            ImportImportName::Default(_) => "default",
        };
        add(&entry.module_request.name, name);
    }
    for entry in &record.star_export_entries {
        if let Some(request) = &entry.module_request {
            add(&request.name, EVERYTHING);
        }
    }
    for entry in &record.indirect_export_entries {
        if let Some(request) = &entry.module_request
            && !entry.is_type
        {
            match &entry.import_name {
                ExportImportName::Name(name) => add(&request.name, &name.name),
                ExportImportName::All | ExportImportName::AllButDefault => {
                    add(&request.name, EVERYTHING);
                }
                ExportImportName::Null => {}
            }
        }
    }
    requested
}

/// Binds the CommonJS names that nothing in the file declares.
fn commonjs_prologue(scoping: &Scoping) -> String {
    let unresolved = scoping.root_unresolved_references();
    let names: Vec<&str> = COMMONJS_NAMES
        .into_iter()
        .filter(|name| unresolved.keys().any(|known| known.as_str() == *name))
        .collect();
    if names.is_empty() {
        return String::new();
    }
    format!("const {{ {} }} = import.meta.commonjs; ", names.join(", "))
}

/// Blanks a `#!` line, keeping the line count.
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
