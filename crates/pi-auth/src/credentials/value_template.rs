//! Values in `auth.json` and `models.json` that refer to environment variables or commands.
//!
//! A leading `!` runs the rest as a shell command and uses its output. Anything else is text in
//! which `$NAME` and `${NAME}` expand to environment variables, `$$` to `$` and `$!` to `!`.

mod command;

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;
use pi_env::Env;
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use tokio::sync::OnceCell;

use super::error::ValueTemplateError;

/// A value as written by the user. It may be the secret itself, so `Debug` does not show it.
#[derive(Clone)]
pub struct ValueTemplate(SecretString);

/// Whether a command's earlier output may be reused.
#[derive(Debug, Clone, Copy)]
pub enum CommandReuse<'a> {
    /// Runs the command every time.
    Fresh,
    /// Runs the command until it has succeeded once in this process.
    Cached(&'a CommandCache),
}

/// Outputs of value-template commands in this process. Cheap to clone.
///
/// Failures are not cached: a locked keyring may be unlocked by the next request. Concurrent
/// requests for the same command share one run.
#[derive(Clone, Default)]
pub struct CommandCache(Arc<Mutex<HashMap<String, CachedOutput>>>);

type CachedOutput = Arc<OnceCell<SecretString>>;

#[derive(Debug, PartialEq, Eq)]
enum TemplatePart<'a> {
    Text(&'a str),
    Variable(&'a str),
}

impl ValueTemplate {
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
                TemplatePart::Text(text) => value.push_str(text),
                TemplatePart::Variable(name) => match env.var(name) {
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

    /// Returns whether the template is expected to resolve. Commands are assumed to succeed.
    pub fn is_configured(&self, env: &Env) -> bool {
        if self.command().is_some() {
            return true;
        }
        !self.0.expose_secret().is_empty()
            && self.variables().iter().all(|name| env.var(name).is_some())
    }

    /// Returns the variables that the template references, each once.
    pub fn variables(&self) -> Vec<String> {
        if self.command().is_some() {
            return Vec::new();
        }
        let mut names = Vec::new();
        for part in parse(self.0.expose_secret()) {
            if let TemplatePart::Variable(name) = part
                && !names.iter().any(|known| known == name)
            {
                names.push(name.to_owned());
            }
        }
        names
    }

    pub fn is_command(&self) -> bool {
        self.command().is_some()
    }

    fn command(&self) -> Option<&str> {
        self.0.expose_secret().strip_prefix('!')
    }
}

impl CommandCache {
    /// Returns the outputs of all commands run so far.
    pub(super) fn outputs(&self) -> Vec<SecretString> {
        let cells = self.0.lock();
        cells
            .values()
            .filter_map(|cell| cell.get().cloned())
            .collect()
    }

    fn cell(&self, script: &str) -> CachedOutput {
        let mut cells = self.0.lock();
        Arc::clone(cells.entry(script.to_owned()).or_default())
    }
}

fn parse(template: &str) -> Vec<TemplatePart<'_>> {
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
                parts.push(TemplatePart::Variable(name));
            } else {
                push_text(&mut parts, "${");
                push_text(&mut parts, name);
                push_text(&mut parts, "}");
            }
            rest = tail;
        } else if let Some((name, tail)) = after.split_at_checked(name_length(after))
            && !name.is_empty()
        {
            parts.push(TemplatePart::Variable(name));
            rest = tail;
        } else {
            push_text(&mut parts, "$");
            rest = after;
        }
    }
    push_text(&mut parts, rest);
    parts
}

fn push_text<'a>(parts: &mut Vec<TemplatePart<'a>>, text: &'a str) {
    if !text.is_empty() {
        parts.push(TemplatePart::Text(text));
    }
}

/// Returns the length in bytes of the variable name at the start of `text`.
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
    /// Serializes the template as written, for configuration files.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0.expose_secret())
    }
}

#[cfg(test)]
mod tests;
