//! Tokens of the chat services, which no child process may see.
//!
//! A process cannot remove variables from the environment that others can read, so the program starts itself again
//! without them and receives them through a pipe.

use std::collections::BTreeMap;
use std::io;

use pi_auth::{Credential, CredentialStore as _};
use pi_config::{AgentDir, AuthFile};
use secrecy::{ExposeSecret as _, SecretString};

/// Environment variables with tokens.
const VARIABLES: [&str; 3] = [
    "MOM_SLACK_APP_TOKEN",
    "MOM_SLACK_BOT_TOKEN",
    "MOM_MATTERMOST_TOKEN",
];

/// First argument of a process that receives its tokens on standard input; not for users.
pub(crate) const RECEIVES: &str = "__tokens-on-stdin";

/// Tokens by variable.
#[derive(Default)]
pub(crate) struct Tokens(BTreeMap<String, SecretString>);

impl Tokens {
    /// Returns a token from the environment, or from `auth.json` under the same name.
    pub(crate) async fn get(
        &self,
        name: &str,
        agent_dir: &AgentDir,
    ) -> Result<SecretString, String> {
        if let Some(token) = self.0.get(name) {
            return Ok(token.clone());
        }
        let stored = AuthFile::new(agent_dir.auth_file()).read(name).await;
        match stored.map_err(|error| error.to_string())? {
            Some(Credential::ApiKey(credential)) if credential.key.is_some() => {
                Ok(credential.key.unwrap_or_default())
            }
            _ => Err(format!(
                "{name} is not set\nhint: set it, or add an API key with this name to auth.json"
            )),
        }
    }
}

/// Returns the tokens. May replace this process by one whose environment does not have them.
#[cfg(unix)]
pub(crate) fn take_from_environment(receives: bool) -> io::Result<Tokens> {
    use std::io::{BufRead as _, Write as _};
    use std::os::unix::process::CommandExt as _;
    use std::process::{Command, Stdio};

    if receives {
        let mut tokens = BTreeMap::new();
        for line in io::stdin().lock().lines() {
            if let Some((name, token)) = line?.split_once('=') {
                tokens.insert(name.to_owned(), SecretString::from(token.to_owned()));
            }
        }
        return Ok(Tokens(tokens));
    }
    let found = VARIABLES.iter().filter_map(|name| {
        let token = std::env::var(name).ok().filter(|token| !token.is_empty())?;
        Some((*name, SecretString::from(token)))
    });
    let found: Vec<(&str, SecretString)> = found.collect();
    if found.is_empty() {
        return Ok(Tokens::default());
    }
    let (reader, mut writer) = io::pipe()?;
    for (name, token) in &found {
        // Far below the size of the pipe's buffer.
        writeln!(writer, "{name}={}", token.expose_secret())?;
    }
    drop(writer);
    let mut command = Command::new(std::env::current_exe()?);
    command
        .arg(RECEIVES)
        .args(std::env::args_os().skip(1))
        .stdin(Stdio::from(reader));
    for name in VARIABLES {
        command.env_remove(name);
    }
    Err(command.exec())
}

/// Returns no tokens: without `exec`, child processes would inherit them. `auth.json` has them.
#[cfg(not(unix))]
pub(crate) fn take_from_environment(_receives: bool) -> io::Result<Tokens> {
    if VARIABLES
        .iter()
        .any(|name| std::env::var_os(name).is_some())
    {
        let reason = "this system needs the tokens in auth.json, not in the environment";
        return Err(io::Error::other(reason));
    }
    Ok(Tokens::default())
}
