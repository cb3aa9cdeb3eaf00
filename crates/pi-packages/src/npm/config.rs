//! The parts of the user's npm configuration that are needed for fetching: registries, credentials, proxy.
//!
//! Precedence as in npm: environment variables, the `.npmrc` of the install directory and of a trusted project,
//! the user's, the global one. If none sets a registry, the one set at build time is used,
//! then the one of an installed npm.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pi_env::Env;
use pi_http::HttpSettings;
use secrecy::{ExposeSecret as _, SecretString};
use url::Url;

use crate::error::PackageError;

/// The registry set at build time, if any.
const BUILT_IN_REGISTRY: Option<&str> = option_env!("PI_NPM_REGISTRY");

/// Override the registry of all files.
pub(crate) const REGISTRY_VARIABLES: [&str; 2] = ["npm_config_registry", "NPM_CONFIG_REGISTRY"];

/// Override the path of the user's `.npmrc`, by default `~/.npmrc`.
pub(crate) const USER_CONFIG_VARIABLES: [&str; 2] =
    ["NPM_CONFIG_USERCONFIG", "npm_config_userconfig"];

/// Override the path of the global `npmrc`.
pub(crate) const GLOBAL_CONFIG_VARIABLES: [&str; 2] =
    ["NPM_CONFIG_GLOBALCONFIG", "npm_config_globalconfig"];

/// Larger files are ignored.
const MAX_FILE_BYTES: u64 = 1024 * 1024;

#[derive(Debug, Clone, Default)]
pub(crate) struct NpmConfig {
    registry: Option<Url>,
    /// Keyed by scope, including the `@`.
    scopes: HashMap<String, Url>,
    /// Keyed by URL without its scheme, such as `//host/path/`.
    credentials: HashMap<String, Credentials>,
    proxy: Option<String>,
    /// Additional root certificates (DER).
    roots: Vec<Vec<u8>>,
}

#[derive(Debug, Clone, Default)]
struct Credentials {
    token: Option<SecretString>,
    /// `user:password` in base64.
    basic: Option<SecretString>,
    user: Option<String>,
    password: Option<SecretString>,
}

impl NpmConfig {
    /// Reads the configuration for packages installed into `root`. `project` is a trusted project
    /// whose `.npmrc` applies.
    pub(crate) async fn load(
        root: &Path,
        project: Option<&Path>,
        env: &Env,
    ) -> Result<Self, PackageError> {
        let mut values = HashMap::new();
        for file in files(root, project, env) {
            for (key, value) in read(&file, env)? {
                values.entry(key).or_insert(value);
            }
        }
        if let Some(registry) = first_variable(env, &REGISTRY_VARIABLES) {
            values.insert("registry".to_owned(), registry);
        }
        let mut config = Self::from_values(values)?;
        if config.registry.is_none() {
            config.registry = match BUILT_IN_REGISTRY {
                Some(address) => Some(parse_address("registry", address)?),
                None => query_npm_registry(env).await,
            };
        }
        Ok(config)
    }

    fn from_values(values: HashMap<String, String>) -> Result<Self, PackageError> {
        let mut config = Self::default();
        for (key, value) in values {
            if key == "registry" {
                config.registry = Some(parse_address(&key, &value)?);
            } else if let Some(scope) = key.strip_suffix(":registry") {
                let address = parse_address(&key, &value)?;
                config.scopes.insert(scope.to_owned(), address);
            } else if matches!(key.as_str(), "https-proxy" | "proxy") && value != "null" {
                // `https-proxy` takes precedence, regardless of the order.
                if key == "https-proxy" || config.proxy.is_none() {
                    config.proxy = Some(value);
                }
            } else if key == "cafile" {
                let path = PathBuf::from(value);
                let text = std::fs::read_to_string(&path).map_err(PackageError::disk(&path))?;
                config.roots.extend(certificates(&text));
            } else if key.starts_with("//")
                && let Some((prefix, name)) = key.rsplit_once(':')
            {
                config.add_credential(prefix, name, value);
            }
        }
        Ok(config)
    }

    fn add_credential(&mut self, prefix: &str, name: &str, value: String) {
        // An unset variable is not a secret.
        if value.contains("${") {
            return;
        }
        let prefix = format!("{}/", prefix.trim_end_matches('/'));
        let known = self.credentials.entry(prefix).or_default();
        match name {
            "_authToken" => known.token = Some(value.into()),
            "_auth" => known.basic = Some(value.into()),
            "username" => known.user = Some(value),
            "_password" => {
                let decoded = STANDARD.decode(value.trim()).unwrap_or_default();
                let text = String::from_utf8_lossy(&decoded).into_owned();
                known.password = Some(text.into());
            }
            _ => {}
        }
    }

    pub(crate) fn registry_of(&self, name: &str) -> Result<&Url, PackageError> {
        let scope = name.split_once('/').map(|(scope, _)| scope);
        scope
            .and_then(|scope| self.scopes.get(scope))
            .or(self.registry.as_ref())
            .ok_or(PackageError::NoRegistry)
    }

    /// Returns the `authorization` header for a URL: the credentials with the longest matching
    /// prefix, or those of its registry if both have the same origin.
    pub(crate) fn authorization(&self, target: &Url, registry: &Url) -> Option<SecretString> {
        self.credentials_for(target).or_else(|| {
            (target.origin() == registry.origin())
                .then(|| self.credentials_for(registry))
                .flatten()
        })
    }

    fn credentials_for(&self, target: &Url) -> Option<SecretString> {
        let host = target.host_str()?;
        let host = match target.port() {
            Some(port) => format!("{host}:{port}"),
            None => host.to_owned(),
        };
        let mut path = target.path();
        loop {
            let prefix = format!("//{host}{}/", path.trim_end_matches('/'));
            if let Some(header) = self.credentials.get(&prefix).and_then(Credentials::header) {
                return Some(header);
            }
            path = match path.trim_end_matches('/').rsplit_once('/') {
                Some((above, _)) => above,
                None => return None,
            };
        }
    }

    pub(crate) fn http_settings(&self, proxy: Option<&str>) -> HttpSettings {
        let mut settings = HttpSettings::default();
        if let Some(proxy) = self.proxy.as_deref().or(proxy) {
            settings = settings.with_proxy(proxy);
        }
        for root in &self.roots {
            settings = settings.with_root(root.clone());
        }
        settings
    }
}

impl Credentials {
    fn header(&self) -> Option<SecretString> {
        if let Some(token) = &self.token {
            return Some(format!("Bearer {}", token.expose_secret()).into());
        }
        if let Some(basic) = &self.basic {
            return Some(format!("Basic {}", basic.expose_secret()).into());
        }
        let (user, password) = (self.user.as_deref()?, self.password.as_ref()?);
        let pair = STANDARD.encode(format!("{user}:{}", password.expose_secret()));
        Some(format!("Basic {pair}").into())
    }
}

fn parse_address(key: &str, value: &str) -> Result<Url, PackageError> {
    let with_slash = format!("{}/", value.trim().trim_end_matches('/'));
    let parsed = Url::parse(&with_slash).ok();
    parsed
        .filter(|address| matches!(address.scheme(), "http" | "https") && address.has_host())
        .ok_or_else(|| {
            PackageError::malformed(
                format!("npm setting {key}"),
                format!("{value:?} is not a valid registry URL"),
            )
        })
}

fn first_variable(env: &Env, names: &[&str]) -> Option<String> {
    names.iter().find_map(|name| env.var(name))
}

/// Lists the configuration files in order of precedence.
/// Returns the user's `.npmrc`.
fn user_file(env: &Env) -> Option<PathBuf> {
    let file = first_variable(env, &USER_CONFIG_VARIABLES).map(PathBuf::from);
    file.or_else(|| Some(env.home_dir()?.join(".npmrc")))
}

/// Adds a registry to the user's `.npmrc` and returns the file. Other lines are kept.
pub fn save_registry(address: &str, env: &Env) -> Result<PathBuf, PackageError> {
    let address = parse_address("registry", address.trim())?;
    let file = user_file(env).ok_or(PackageError::NoRegistry)?;
    let mut text = match std::fs::read_to_string(&file) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(PackageError::disk(&file)(error)),
    };
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text.extend(["registry=", address.as_str(), "\n"]);
    // The file may have tokens.
    pi_fs::atomic_file::write(&file, text.as_bytes(), pi_fs::NewFileMode::Private)
        .map_err(PackageError::disk(&file))?;
    Ok(file)
}

fn files(root: &Path, project: Option<&Path>, env: &Env) -> Vec<PathBuf> {
    let mut files = vec![root.join(".npmrc")];
    files.extend(project.map(|project| project.join(".npmrc")));
    files.extend(user_file(env));
    files.extend(global_file(env));
    files
}

/// Finds the global file: relative to an installed npm, or at the default location.
fn global_file(env: &Env) -> Option<PathBuf> {
    if let Some(file) = first_variable(env, &GLOBAL_CONFIG_VARIABLES) {
        return Some(PathBuf::from(file));
    }
    let npm = find_npm(env)?;
    Some(npm.parent()?.parent()?.join("etc").join("npmrc"))
}

fn find_npm(env: &Env) -> Option<PathBuf> {
    let path = env.var("PATH")?;
    which::which_in("npm", Some(path), Path::new("/")).ok()
}

/// Queries the registry of an installed npm, which may have a built-in one.
async fn query_npm_registry(env: &Env) -> Option<Url> {
    let mut command = tokio::process::Command::new(find_npm(env)?);
    command
        .args(["config", "get", "registry"])
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true);
    let limit = std::time::Duration::from_secs(10);
    let output = tokio::time::timeout(limit, command.output())
        .await
        .ok()?
        .ok()?;
    let answer = String::from_utf8_lossy(&output.stdout);
    parse_address("registry", answer.trim()).ok()
}

/// Reads the values of a file; a missing file is empty.
fn read(file: &Path, env: &Env) -> Result<Vec<(String, String)>, PackageError> {
    match std::fs::metadata(file) {
        Ok(metadata) if metadata.is_file() && metadata.len() <= MAX_FILE_BYTES => {}
        Ok(_) | Err(_) => return Ok(Vec::new()),
    }
    let bytes = std::fs::read(file).map_err(PackageError::disk(file))?;
    Ok(parse(&String::from_utf8_lossy(&bytes), env))
}

/// Parses `key = value` lines; other syntax of npm's ini format is ignored.
fn parse(text: &str, env: &Env) -> Vec<(String, String)> {
    let lines = text.lines().map(str::trim);
    lines
        .filter(|line| !line.starts_with([';', '#', '[']))
        .filter_map(|line| line.split_once('='))
        .map(|(key, value)| {
            let value = value.trim();
            let quoted = value
                .strip_prefix('"')
                .and_then(|rest| rest.strip_suffix('"'));
            (
                expand(key.trim(), env),
                expand(quoted.unwrap_or(value), env),
            )
        })
        .collect()
}

/// Expands `${NAME}`; an unset variable is left as written, except `${NAME?}`, which becomes
/// empty.
fn expand(text: &str, env: &Env) -> String {
    let mut result = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        result.push_str(before);
        let Some((name, remainder)) = after.split_once('}') else {
            result.push_str("${");
            rest = after;
            continue;
        };
        let (name, is_optional) = match name.strip_suffix('?') {
            Some(name) => (name, true),
            None => (name, false),
        };
        match env.var(name) {
            Some(value) => result.push_str(&value),
            None if is_optional => {}
            None => {
                result.push_str("${");
                result.push_str(name);
                result.push('}');
            }
        }
        rest = remainder;
    }
    result.push_str(rest);
    result
}

/// Parses the certificates of a PEM file.
fn certificates(text: &str) -> Vec<Vec<u8>> {
    let blocks = text.split("-----BEGIN CERTIFICATE-----").skip(1);
    blocks
        .filter_map(|block| block.split_once("-----END CERTIFICATE-----"))
        .filter_map(|(body, _)| {
            let compact: String = body.split_whitespace().collect();
            STANDARD.decode(compact).ok()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn config(text: &str, env: &Env) -> NpmConfig {
        NpmConfig::from_values(parse(text, env).into_iter().collect()).unwrap()
    }

    fn header(config: &NpmConfig, target: &str) -> Option<String> {
        let target = Url::parse(target).unwrap();
        let registry = Url::parse("https://npm.example/team/").unwrap();
        let header = config.authorization(&target, &registry)?;
        Some(header.expose_secret().to_owned())
    }

    #[test]
    fn registries_by_scope() {
        let env = Env::fixed([("HOST", "own.example")]);
        let config = config(
            "; a comment\nregistry = https://npm.example/all\n@own:registry=\"https://${HOST}/npm/\"\n",
            &env,
        );
        let registry = |name| config.registry_of(name).unwrap().as_str().to_owned();
        assert_eq!(registry("left-pad"), "https://npm.example/all/");
        assert_eq!(registry("@else/x"), "https://npm.example/all/");
        assert_eq!(registry("@own/x"), "https://own.example/npm/");
        assert!(matches!(
            NpmConfig::default().registry_of("x"),
            Err(PackageError::NoRegistry)
        ));
    }

    #[test]
    fn credentials_with_the_longest_prefix_are_used() {
        let env = Env::fixed([("TOKEN", "s3cret")]);
        let config = config(
            "//npm.example/:_authToken=outer\n\
             //npm.example/team/:_authToken=${TOKEN}\n\
             //npm.example/none/:_authToken=${UNSET}\n\
             //basic.example:8443/:username=me\n\
             //basic.example:8443/:_password=cGFzcw==\n",
            &env,
        );
        for (target, expected) in [
            ("https://npm.example/team/pkg", Some("Bearer s3cret")),
            ("https://npm.example/other/pkg", Some("Bearer outer")),
            ("https://npm.example/none/pkg", Some("Bearer outer")),
            ("https://basic.example:8443/x", Some("Basic bWU6cGFzcw==")),
            ("https://basic.example/x", None),
            ("https://elsewhere.example/team/pkg", None),
        ] {
            assert_eq!(header(&config, target).as_deref(), expected, "{target}");
        }
    }

    #[test]
    fn invalid_registry_url_is_reported() {
        let values = HashMap::from([("registry".to_owned(), "npm.example".to_owned())]);
        let error = NpmConfig::from_values(values).unwrap_err();
        assert!(error.to_string().contains("npm.example"), "{error}");
    }

    #[test]
    fn unset_variables_are_not_expanded() {
        let env = Env::fixed([("A", "1")]);
        for (text, expected) in [
            ("${A}-${B}-${C?}", "1-${B}-"),
            ("${A", "${A"),
            ("plain", "plain"),
        ] {
            assert_eq!(expand(text, &env), expected);
        }
    }
}
