//! Injectable environment variables and clock.
//!
//! Code that needs environment variables or the wall clock takes an [`Env`], so tests can supply
//! their own and requests can carry provider-scoped overrides.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

/// Access to environment variables and the clock.
#[derive(Clone)]
pub struct Env {
    variables: Variables,
    overrides: Arc<BTreeMap<String, String>>,
    now: Arc<dyn Fn() -> i64 + Send + Sync>,
}

#[derive(Clone)]
enum Variables {
    Process,
    Fixed(Arc<BTreeMap<String, String>>),
}

impl std::fmt::Debug for Env {
    // Values may be secrets; only their number is shown.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Env")
            .field("overrides", &self.overrides.len())
            .finish_non_exhaustive()
    }
}

impl Default for Env {
    fn default() -> Self {
        Self::process()
    }
}

impl Env {
    /// Uses the environment and clock of this process.
    pub fn process() -> Self {
        Self {
            variables: Variables::Process,
            overrides: Arc::default(),
            now: Arc::new(system_time_ms),
        }
    }

    /// Uses exactly these variables, with the process clock.
    pub fn fixed<Name, Value>(variables: impl IntoIterator<Item = (Name, Value)>) -> Self
    where
        Name: Into<String>,
        Value: Into<String>,
    {
        let variables = variables
            .into_iter()
            .map(|(name, value)| (name.into(), value.into()))
            .collect();
        Self {
            variables: Variables::Fixed(Arc::new(variables)),
            ..Self::process()
        }
    }

    /// Replaces the clock, which returns milliseconds since the Unix epoch.
    #[must_use]
    pub fn with_clock(mut self, now: impl Fn() -> i64 + Send + Sync + 'static) -> Self {
        self.now = Arc::new(now);
        self
    }

    /// Returns a copy with some variables replaced.
    #[must_use]
    pub fn with_overrides(&self, overrides: &BTreeMap<String, String>) -> Self {
        if overrides.is_empty() {
            return self.clone();
        }
        let mut merged = (*self.overrides).clone();
        merged.extend(
            overrides
                .iter()
                .map(|(name, value)| (name.clone(), value.clone())),
        );
        Self {
            overrides: Arc::new(merged),
            ..self.clone()
        }
    }

    /// Returns a variable; empty values count as unset.
    pub fn var(&self, name: &str) -> Option<String> {
        let value = match self.overrides.get(name) {
            Some(value) => Some(value.clone()),
            None => match &self.variables {
                Variables::Process => std::env::var(name).ok(),
                Variables::Fixed(variables) => variables.get(name).cloned(),
            },
        };
        value.filter(|value| !value.is_empty())
    }

    /// Returns all variables that are set and valid UTF-8.
    pub fn variables(&self) -> BTreeMap<String, String> {
        let mut variables = match &self.variables {
            Variables::Process => std::env::vars_os()
                .filter_map(|(name, value)| {
                    Some((name.into_string().ok()?, value.into_string().ok()?))
                })
                .collect(),
            Variables::Fixed(variables) => (**variables).clone(),
        };
        variables.extend(
            self.overrides
                .iter()
                .map(|(name, value)| (name.clone(), value.clone())),
        );
        variables.retain(|_, value| !value.is_empty());
        variables
    }

    pub fn home_dir(&self) -> Option<PathBuf> {
        match &self.variables {
            Variables::Process => std::env::home_dir(),
            Variables::Fixed(_) => self.var("HOME").map(PathBuf::from),
        }
    }

    /// Returns the current time in milliseconds since the Unix epoch.
    pub fn now_ms(&self) -> i64 {
        (self.now)()
    }
}

/// Returns the system time in milliseconds since the Unix epoch; negative before it.
fn system_time_ms() -> i64 {
    let milliseconds =
        |duration: std::time::Duration| i64::try_from(duration.as_millis()).unwrap_or(i64::MAX);
    match SystemTime::now().duration_since(UNIX_EPOCH) {
        Ok(since) => milliseconds(since),
        Err(before) => -milliseconds(before.duration()),
    }
}
