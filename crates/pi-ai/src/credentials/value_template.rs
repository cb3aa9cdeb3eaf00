//! Values of `auth.json` and `models.json` that say where to find the value.
//!
//! A leading `!` runs the rest in a shell and takes what it prints. Anything else is text in which
//! `$NAME` and `${NAME}` stand for environment variables, `$$` for `$` and `$!` for `!`.

mod command;

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use tokio::sync::OnceCell;

use super::error::ValueTemplateError;
use crate::env::Env;

/// A value as the user wrote it. It may be the secret itself, so `Debug` does not show it.
#[derive(Clone)]
pub struct ValueTemplate(SecretString);

/// Whether a command's earlier answer will do.
#[derive(Debug, Clone, Copy)]
pub enum CommandReuse<'a> {
    /// Runs the command every time.
    Fresh,
    /// Runs the command until it has succeeded once in this process.
    Cached(&'a CommandCache),
}

/// What the commands of value templates have printed in this process; cheap to clone.
///
/// A failure is not kept: a locked key ring may be open at the next request. Requests that want
/// the same command at the same time share one run of it.
#[derive(Clone, Default)]
pub struct CommandCache(Arc<Mutex<HashMap<String, CachedOutput>>>);

type CachedOutput = Arc<OnceCell<SecretString>>;

#[derive(Debug, PartialEq, Eq)]
enum Part<'a> {
    Text(&'a str),
    Variable(&'a str),
}

impl ValueTemplate {
    /// Turns the template into its value.
    pub async fn resolve(
        &self,
        env: &Env,
        reuse: CommandReuse<'_>,
    ) -> Result<SecretString, ValueTemplateError> {
        if let Some(script) = self.command() {
            return match reuse {
                CommandReuse::Fresh => command::run(script).await,
                CommandReuse::Cached(cache) => {
                    let cell = cache.cell(script);
                    cell.get_or_try_init(|| command::run(script)).await.cloned()
                }
            };
        }
        let mut missing = Vec::new();
        let mut value = String::new();
        for part in parse(self.0.expose_secret()) {
            match part {
                Part::Text(text) => value.push_str(text),
                Part::Variable(name) => match env.var(name) {
                    Some(text) => value.push_str(&text),
                    None if missing.iter().any(|known| known == name) => {}
                    None => missing.push(name.to_owned()),
                },
            }
        }
        if !missing.is_empty() {
            return Err(ValueTemplateError::MissingVariables { names: missing });
        }
        if value.is_empty() {
            return Err(ValueTemplateError::Empty);
        }
        Ok(value.into())
    }

    /// Returns whether the template can be expected to have a value; a command is taken on trust.
    pub fn is_configured(&self, env: &Env) -> bool {
        if self.command().is_some() {
            return true;
        }
        !self.0.expose_secret().is_empty()
            && self.variables().iter().all(|name| env.var(name).is_some())
    }

    /// Returns the variables the template names, each once.
    pub fn variables(&self) -> Vec<String> {
        if self.command().is_some() {
            return Vec::new();
        }
        let mut names = Vec::new();
        for part in parse(self.0.expose_secret()) {
            if let Part::Variable(name) = part
                && !names.iter().any(|known| known == name)
            {
                names.push(name.to_owned());
            }
        }
        names
    }

    /// Returns whether the value is what a command prints.
    pub fn is_command(&self) -> bool {
        self.command().is_some()
    }

    fn command(&self) -> Option<&str> {
        self.0.expose_secret().strip_prefix('!')
    }
}

impl CommandCache {
    /// Returns what commands have printed so far.
    pub(super) fn outputs(&self) -> Vec<SecretString> {
        let cells = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        cells
            .values()
            .filter_map(|cell| cell.get().cloned())
            .collect()
    }

    fn cell(&self, script: &str) -> CachedOutput {
        let mut cells = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(cells.entry(script.to_owned()).or_default())
    }
}

fn parse(template: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let mut rest = template;
    while let Some((text, after)) = rest.split_once('$') {
        push_text(&mut parts, text);
        if let Some(tail) = after.strip_prefix(['$', '!']) {
            push_text(&mut parts, after.strip_suffix(tail).unwrap_or_default());
            rest = tail;
        } else if let Some((name, tail)) = after
            .strip_prefix('{')
            .and_then(|braced| braced.split_once('}'))
        {
            if name_length(name) == name.len() && !name.is_empty() {
                parts.push(Part::Variable(name));
            } else {
                push_text(&mut parts, "${");
                push_text(&mut parts, name);
                push_text(&mut parts, "}");
            }
            rest = tail;
        } else if let Some((name, tail)) = after.split_at_checked(name_length(after))
            && !name.is_empty()
        {
            parts.push(Part::Variable(name));
            rest = tail;
        } else {
            push_text(&mut parts, "$");
            rest = after;
        }
    }
    push_text(&mut parts, rest);
    parts
}

fn push_text<'a>(parts: &mut Vec<Part<'a>>, text: &'a str) {
    if !text.is_empty() {
        parts.push(Part::Text(text));
    }
}

/// Returns how many leading bytes form a variable name.
fn name_length(text: &str) -> usize {
    if text.starts_with(|first: char| first.is_ascii_digit()) {
        return 0;
    }
    text.find(|character: char| !character.is_ascii_alphanumeric() && character != '_')
        .unwrap_or(text.len())
}

impl From<String> for ValueTemplate {
    fn from(text: String) -> Self {
        Self(text.into())
    }
}

impl From<&str> for ValueTemplate {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

impl From<SecretString> for ValueTemplate {
    fn from(text: SecretString) -> Self {
        Self(text)
    }
}

impl PartialEq for ValueTemplate {
    fn eq(&self, other: &Self) -> bool {
        self.0.expose_secret() == other.0.expose_secret()
    }
}

impl fmt::Debug for ValueTemplate {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("ValueTemplate([REDACTED])")
    }
}

impl fmt::Debug for CommandCache {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("CommandCache")
    }
}

impl<'de> Deserialize<'de> for ValueTemplate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self::from)
    }
}

impl Serialize for ValueTemplate {
    /// Writes the template as the user wrote it, for configuration files.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0.expose_secret())
    }
}

#[cfg(test)]
mod tests;
