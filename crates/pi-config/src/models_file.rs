//! `models.json`: providers and models that the user adds or changes.
//!
//! JSON with `//` comments and trailing commas. The file is used only if all of it is valid: an error lists
//! every invalid value by line, column and path. `pi` never writes the file; other programs of the family add and remove
//! providers with [`edit`]. `pi-providers` interprets the entries.

mod edit;
mod schema;
mod shape;

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use jsonc_parser::ast::{Comment, ObjectProp, Value as Node};
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, CommentCollectionStrategy, ParseOptions, parse_to_ast};
use pi_auth::FilePosition;
use pi_protocol::provider_id;
use serde::de::DeserializeOwned;

pub use self::edit::{
    ModelsFileChangeError, put_models_file_provider, remove_models_file_provider,
};
use self::shape::Fault;
use crate::regular_file::{MAX_STORED_BYTES, read_bytes};

/// What the TypeScript pi accepts.
const PARSE_OPTIONS: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

#[derive(Debug, thiserror::Error)]
pub enum ModelsFileError {
    #[error("cannot read models: {}: {source}", file.display())]
    Io {
        file: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error(
        "cannot load models: {} has errors and is ignored:{}",
        file.display(),
        format_problems(problems)
    )]
    Invalid {
        file: PathBuf,
        /// In file order.
        problems: Vec<ModelsFileProblem>,
    },
}

/// An invalid value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelsFileProblem {
    pub position: FilePosition,
    /// The path of the value, such as `providers.local.models[0].id`; empty for the whole file.
    pub path: String,
    pub message: String,
}

fn format_problems(problems: &[ModelsFileProblem]) -> String {
    problems.iter().fold(String::new(), |list, problem| {
        format!("{list}\n  {problem}")
    })
}

impl fmt::Display for ModelsFileProblem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let FilePosition { line, column } = self.position;
        write!(formatter, "{line}:{column}: ")?;
        if !self.path.is_empty() {
            write!(formatter, "{}: ", self.path)?;
        }
        formatter.write_str(&self.message)
    }
}

/// Reads the providers of a `models.json`, in file order; none if the file does not exist.
///
/// Every field is validated before a provider is deserialized into `P`.
pub fn read_models_file<P: DeserializeOwned>(
    file: &Path,
) -> Result<Vec<(String, P)>, ModelsFileError> {
    let read = read_bytes(file, MAX_STORED_BYTES).map_err(io::Error::from);
    let text = read.and_then(|bytes| {
        let text = bytes.map(String::from_utf8).transpose();
        text.map_err(io::Error::other)
    });
    match text {
        Ok(Some(text)) => parse_models_file(file, &text),
        Ok(None) => Ok(Vec::new()),
        Err(source) => Err(ModelsFileError::Io {
            file: file.to_owned(),
            source,
        }),
    }
}

/// Like [`read_models_file`], from text.
pub fn parse_models_file<P: DeserializeOwned>(
    file: &Path,
    text: &str,
) -> Result<Vec<(String, P)>, ModelsFileError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let invalid = |problems| ModelsFileError::Invalid {
        file: file.to_owned(),
        problems,
    };
    let root = parse(text).map_err(|problem| invalid(vec![problem]))?;
    let mut faults = Vec::new();
    schema::MODELS_FILE.check(&root, &mut Vec::new(), &mut faults);
    let mut providers = Vec::new();
    if faults.is_empty() {
        for property in provider_properties(root) {
            let offset = property.start();
            let id = property.name.into_string();
            match pi_protocol::json::from_value(&property.value.into()) {
                Ok(provider) => providers.push((id, provider)),
                Err(error) => faults.push(Fault {
                    offset,
                    path: format!("providers.{id}"),
                    problem: error.to_string(),
                }),
            }
        }
    }
    if faults.is_empty() {
        return Ok(with_current_ids(providers));
    }
    let mut problems: Vec<ModelsFileProblem> = faults
        .into_iter()
        .map(|fault| locate(text, fault))
        .collect();
    pi_protocol::sort_by_key(&mut problems, |problem| {
        (problem.position.line, problem.position.column)
    });
    Err(invalid(problems))
}

/// Renames providers with a former ID, unless the file has an entry for the current one too.
fn with_current_ids<P>(mut providers: Vec<(String, P)>) -> Vec<(String, P)> {
    let ids: Vec<String> = providers.iter().map(|(id, _)| id.clone()).collect();
    providers.retain_mut(|(id, _)| {
        let current = provider_id::current(id);
        if current == id {
            return true;
        }
        if ids.iter().any(|other| other == current) {
            return false;
        }
        *id = current.to_owned();
        true
    });
    providers
}

fn provider_properties(root: Node<'_>) -> Vec<ObjectProp<'_>> {
    let Node::Object(root) = root else {
        return Vec::new();
    };
    // The last of duplicate keys wins, as in other JSON parsers.
    let mut properties = root.properties.into_iter().rev();
    let providers = properties.find(|property| property.name.as_str() == "providers");
    match providers.map(|property| property.value) {
        Some(Node::Object(providers)) => providers.properties,
        _ => Vec::new(),
    }
}

fn parse(text: &str) -> Result<Node<'_>, ModelsFileProblem> {
    let collect = CollectOptions {
        comments: CommentCollectionStrategy::Separate,
        tokens: false,
    };
    let parsed =
        parse_to_ast(text, &collect, &PARSE_OPTIONS).map_err(|error| ModelsFileProblem {
            position: position(text, error.range().start),
            path: String::new(),
            message: format!("invalid JSON: {}", error.kind()),
        })?;
    // The TypeScript pi would reject the file.
    let block = parsed
        .comments
        .iter()
        .flat_map(|comments| comments.values())
        .flat_map(|comments| comments.iter())
        .filter(|comment| matches!(comment, Comment::Block(_)))
        .map(Ranged::start)
        .min();
    if let Some(start) = block {
        return Err(ModelsFileProblem {
            position: position(text, start),
            path: String::new(),
            message: "block comments are not supported; use //".to_owned(),
        });
    }
    parsed.value.ok_or_else(|| ModelsFileProblem {
        position: FilePosition { line: 1, column: 1 },
        path: String::new(),
        message: "empty file; expected {\"providers\": {}}".to_owned(),
    })
}

fn locate(text: &str, fault: Fault) -> ModelsFileProblem {
    ModelsFileProblem {
        position: position(text, fault.offset),
        path: fault.path,
        message: fault.problem,
    }
}

/// Returns line and column, in characters, of a byte.
fn position(text: &str, offset: usize) -> FilePosition {
    let before = text.get(..offset).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    FilePosition {
        line: before.matches('\n').count() + 1,
        column: before.get(line_start..).unwrap_or_default().chars().count() + 1,
    }
}

#[cfg(test)]
mod tests;
