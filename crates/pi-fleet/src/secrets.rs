//! Secrets of runs: tasks have names, workers have values. Values reach the environment of a run and nothing else.

mod mask;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use pi_env::Env;
use serde_json::Value;
use tokio::process::Command;

pub(crate) use mask::SecretMask;

/// Endings of variables whose values are hidden in what leaves the machine.
const SECRET_ENDINGS: [&str; 6] = [
    "KEY",
    "TOKEN",
    "SECRET",
    "PASSWORD",
    "PASSWD",
    "CREDENTIALS",
];

/// How long a command may take that prints a secret.
const COMMAND_TIMEOUT: Duration = Duration::from_mins(1);

/// Parts of the names of values in a file of credentials that are secret.
const CREDENTIAL_NAMES: [&str; 6] = ["key", "token", "secret", "password", "access", "refresh"];

/// Where the value of a secret is.
#[derive(Debug, Clone, PartialEq, Eq)]
enum SecretSource {
    /// An environment variable of the worker.
    Variable(String),
    /// A shell command that prints the value.
    Command(String),
    /// A file with the value, as Kubernetes mounts them.
    File(PathBuf),
}

/// Why a secret cannot be used. Messages have names, never values.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SecretError {
    #[error("invalid name of a secret: `{0}`; use letters, digits and `_`")]
    InvalidName(String),
    #[error(
        "invalid source of the secret `{0}`: use $VARIABLE, !COMMAND or the absolute path of a file"
    )]
    InvalidSource(String),
    #[error("this worker does not offer the secret `{0}`")]
    NotOffered(String),
    #[error("the secret `{name}` has no value: {reason}")]
    NoValue { name: String, reason: String },
}

/// The secrets that a worker offers.
#[derive(Clone)]
pub struct SecretStore {
    sources: BTreeMap<String, SecretSource>,
    /// Values of the worker's environment that are secret by their name.
    known: Vec<String>,
    /// The file with the credentials of providers, which pi changes when it refreshes them.
    credentials: Option<PathBuf>,
    env: Env,
}

impl Default for SecretStore {
    /// Offers nothing.
    fn default() -> Self {
        Self {
            sources: BTreeMap::new(),
            known: Vec::new(),
            credentials: None,
            env: Env::fixed::<String, String>([]),
        }
    }
}

impl SecretStore {
    /// Creates a store from names and sources.
    pub fn new<'a>(
        sources: impl IntoIterator<Item = (&'a str, &'a str)>,
        env: &Env,
    ) -> Result<Self, SecretError> {
        let mut parsed = BTreeMap::new();
        for (name, source) in sources {
            if !is_secret_name(name) {
                return Err(SecretError::InvalidName(name.to_owned()));
            }
            let invalid = || SecretError::InvalidSource(name.to_owned());
            let source = parse_source(source).ok_or_else(invalid)?;
            parsed.insert(name.to_owned(), source);
        }
        let known = env.variables().into_iter().filter(|(name, _)| {
            let name = name.to_ascii_uppercase();
            SECRET_ENDINGS.iter().any(|ending| name.ends_with(ending))
        });
        Ok(Self {
            sources: parsed,
            known: known.map(|(_, value)| value).collect(),
            credentials: None,
            env: env.clone(),
        })
    }

    /// Also hides the values in a file of credentials.
    pub(crate) fn with_credentials(mut self, file: PathBuf) -> Self {
        self.credentials = Some(file);
        self
    }

    /// Returns the variables of a run that may use these secrets: their values, and nothing for the variables of the
    /// other secrets.
    pub(crate) async fn variables(
        &self,
        names: &[String],
    ) -> Result<Vec<(String, String)>, SecretError> {
        let hidden = self.sources.values().filter_map(|source| match source {
            SecretSource::Variable(variable) => Some((variable.clone(), String::new())),
            SecretSource::Command(_) | SecretSource::File(_) => None,
        });
        let mut variables: Vec<_> = hidden.collect();
        for name in names {
            let source = self.sources.get(name);
            let source = source.ok_or_else(|| SecretError::NotOffered(name.clone()))?;
            let value = self.value(source).await;
            let value = value.map_err(|reason| SecretError::NoValue {
                name: name.clone(),
                reason,
            })?;
            let variable = name.to_ascii_uppercase();
            variables.retain(|(hidden, _)| *hidden != variable);
            variables.push((variable, value));
        }
        Ok(variables)
    }

    /// Returns what hides these values, the token in the URL of a repository, the values of the worker's environment and the
    /// credentials of providers.
    pub(crate) fn mask(
        &self,
        variables: &[(String, String)],
        repository: Option<&str>,
    ) -> SecretMask {
        let values = variables.iter().map(|(_, value)| value.as_str());
        let known = self.known.iter().map(String::as_str);
        let credentials = self.credentials.as_deref().map(read_credentials);
        let credentials = credentials.unwrap_or_default();
        let credentials = credentials.iter().map(String::as_str);
        let values = values.chain(repository.and_then(token));
        SecretMask::new(values.chain(known).chain(credentials))
    }

    async fn value(&self, source: &SecretSource) -> Result<String, String> {
        let value = match source {
            SecretSource::Variable(variable) => {
                let value = self.env.var(variable);
                value.ok_or_else(|| format!("{variable} is not set"))?
            }
            SecretSource::File(path) => std::fs::read_to_string(path)
                .map_err(|error| format!("cannot read {}: {error}", path.display()))?,
            SecretSource::Command(command) => {
                let mut shell = Command::new("sh");
                shell.args(["-c", command]).stdin(Stdio::null());
                let output = shell.kill_on_drop(true).output();
                let output = tokio::time::timeout(COMMAND_TIMEOUT, output).await;
                let output = output.map_err(|_elapsed| {
                    let seconds = COMMAND_TIMEOUT.as_secs();
                    format!("its command has not ended after {seconds} s")
                })?;
                let output =
                    output.map_err(|error| format!("cannot start its command: {error}"))?;
                if !output.status.success() {
                    return Err(format!("its command ended with {}", output.status));
                }
                String::from_utf8(output.stdout).map_err(|error| error.utf8_error().to_string())?
            }
        };
        match value.trim_end_matches(['\r', '\n']) {
            "" => Err("it is empty".to_owned()),
            value => Ok(value.to_owned()),
        }
    }
}

/// Returns the secret values in a file of credentials; none if it cannot be read.
fn read_credentials(file: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let mut found = Vec::new();
    let mut left: Vec<(String, Value)> = Vec::new();
    left.extend(serde_json::from_str(&text).map(|value| (String::new(), value)));
    while let Some((name, value)) = left.pop() {
        match value {
            Value::Object(fields) => left.extend(fields),
            Value::Array(values) => {
                left.extend(values.into_iter().map(|value| (name.clone(), value)));
            }
            Value::String(text) => {
                let name = name.to_ascii_lowercase();
                let is_secret = CREDENTIAL_NAMES.iter().any(|part| name.contains(part));
                // Commands and variables are where a value is, not the value.
                if is_secret && !text.starts_with(['!', '$']) {
                    found.push(text);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
    found
}

/// Returns the URL of a repository without its token.
pub(crate) fn hide_token(repository: &str) -> String {
    let hidden = || {
        let token = token(repository)?;
        let (scheme, rest) = repository.split_once("://")?;
        let host = rest.find('/').unwrap_or(rest.len());
        let (authority, path) = rest.split_at_checked(host)?;
        let (user, host) = authority.rsplit_once('@')?;
        let user = user.strip_suffix(token)?;
        Some(format!("{scheme}://{user}***@{host}{path}"))
    };
    hidden().unwrap_or_else(|| repository.to_owned())
}

/// Returns the password in the URL of a repository, or a token instead of the user.
fn token(repository: &str) -> Option<&str> {
    /// Longer than names of users.
    const TOKEN_BYTES: usize = 20;
    let (_, rest) = repository.split_once("://")?;
    let (user, _) = rest.split('/').next()?.rsplit_once('@')?;
    match user.split_once(':') {
        Some((_, password)) => Some(password),
        None => (user.len() >= TOKEN_BYTES).then_some(user),
    }
}

/// Whether a name can become that of an environment variable.
pub(crate) fn is_secret_name(name: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let starts = name
        .bytes()
        .next()
        .is_some_and(|byte| byte.is_ascii_alphabetic());
    // Variables that decide what is executed, and those of pi and its fleets, are no secrets.
    let upper = name.to_ascii_uppercase();
    let is_reserved = upper == "PATH"
        || ["LD_", "DYLD_", "PI_", "GIT_"]
            .iter()
            .any(|start| upper.starts_with(start));
    starts && name.len() <= 64 && name.bytes().all(is_allowed) && !is_reserved
}

fn parse_source(text: &str) -> Option<SecretSource> {
    if let Some(variable) = text.strip_prefix('$').filter(|name| !name.is_empty()) {
        return Some(SecretSource::Variable(variable.to_owned()));
    }
    if let Some(command) = text
        .strip_prefix('!')
        .filter(|text| !text.trim().is_empty())
    {
        return Some(SecretSource::Command(command.to_owned()));
    }
    let path = PathBuf::from(text);
    path.is_absolute().then_some(SecretSource::File(path))
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn env() -> Env {
        Env::fixed([("TOKEN", "value-of-token"), ("OTHER", "value-of-other")])
    }

    #[tokio::test]
    async fn a_run_gets_the_secrets_it_names_and_no_others() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("secret");
        std::fs::write(&file, "from a file\n").unwrap();
        let sources = [
            ("token", "$TOKEN"),
            ("other", "$OTHER"),
            ("printed", "!printf printed"),
            ("mounted", file.to_str().unwrap()),
        ];
        let store = SecretStore::new(sources, &env()).unwrap();
        let names = ["token", "printed", "mounted"].map(str::to_owned);
        let variables = store.variables(&names).await.unwrap();
        let expected = [
            ("OTHER", ""),
            ("TOKEN", "value-of-token"),
            ("PRINTED", "printed"),
            ("MOUNTED", "from a file"),
        ];
        assert_eq!(
            variables,
            expected.map(|(name, value)| (name.to_owned(), value.to_owned()))
        );
    }

    #[tokio::test]
    async fn secrets_without_a_value_are_errors_without_values() {
        let sources = [
            ("a", "$MISSING"),
            ("b", "!exit 3"),
            ("c", "/missing"),
            ("d", "!true"),
        ];
        let store = SecretStore::new(sources, &env()).unwrap();
        for (name, expected) in [
            ("a", "MISSING is not set"),
            ("b", "exit status: 3"),
            ("c", "cannot read /missing"),
            ("d", "is empty"),
            ("e", "does not offer the secret `e`"),
        ] {
            let error = store.variables(&[name.to_owned()]).await.unwrap_err();
            assert!(error.to_string().contains(expected), "{error}");
        }
    }

    #[test]
    fn tokens_of_repositories_are_hidden() {
        let store = SecretStore::new([], &env()).unwrap();
        for (repository, text, expected) in [
            (
                "https://u:pass-word@git.example/r.git",
                "u:pass-word@git",
                "u:*********@git",
            ),
            (
                "https://token-of-twenty-bytes@git.example/r.git",
                "to token-of-twenty-bytes",
                "to *********************",
            ),
            ("ssh://deployer@git.example/r.git", "deployer", "deployer"),
            (
                "https://git.example/a:b-c-d-e-f@x",
                "b-c-d-e-f",
                "b-c-d-e-f",
            ),
            ("host:r.git", "host:r.git", "host:r.git"),
        ] {
            let mask = store.mask(&[], Some(repository));
            assert_eq!(mask.apply_to_text(text), expected);
        }
    }

    #[test]
    fn credentials_of_providers_are_hidden() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("auth.json");
        let store = SecretStore::new([], &env()).unwrap();
        let store = store.with_credentials(file.clone());
        let text = "key-of-one access-of-two refresh-two !print-key api_key expires-at";
        assert_eq!(store.mask(&[], None).apply_to_text(text), text);
        let credentials = r#"{"one":{"type":"api_key","key":"key-of-one"},"three":{"key":"!print-key"},
            "two":{"type":"oauth","access":"access-of-two","refresh":"refresh-two","expires":"expires-at"}}"#;
        std::fs::write(&file, credentials).unwrap();
        assert_eq!(
            store.mask(&[], None).apply_to_text(text),
            "********** ************* *********** !print-key api_key expires-at"
        );
    }

    #[test]
    fn urls_are_shown_without_their_token() {
        for (repository, expected) in [
            (
                "https://u:u@git.example/u@u",
                "https://u:***@git.example/u@u",
            ),
            (
                "https://token-of-twenty-bytes@git.example/r.git",
                "https://***@git.example/r.git",
            ),
            ("ssh://git@git.example/r.git", "ssh://git@git.example/r.git"),
            ("/path/of/r", "/path/of/r"),
        ] {
            assert_eq!(hide_token(repository), expected);
        }
    }

    #[test]
    fn names_and_sources_are_checked() {
        for name in [
            "",
            "a-b",
            "1a",
            "path",
            "ld_preload",
            "pi_fleet_engine",
            "a b",
        ] {
            let error = SecretStore::new([(name, "$X")], &env()).err().unwrap();
            assert_eq!(error, SecretError::InvalidName(name.to_owned()));
        }
        for source in ["", "$", "!", "literal", "relative/file"] {
            let error = SecretStore::new([("a", source)], &env()).err().unwrap();
            assert_eq!(error, SecretError::InvalidSource("a".to_owned()));
        }
    }
}
