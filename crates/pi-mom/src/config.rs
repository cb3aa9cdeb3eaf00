//! `mom.json` in the workspace.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::str::FromStr;
use std::time::Duration;

use pi_protocol::ThinkingLevel;
use serde::Deserialize;
use thiserror::Error;

/// Size of attachments that are downloaded, unless configured otherwise.
const MAX_ATTACHMENT: u64 = 20 * 1024 * 1024;

/// Time after which a question is denied, unless configured otherwise.
const QUESTION_TIME: Duration = Duration::from_mins(10);

/// Name of the file.
pub(crate) const FILE_NAME: &str = "mom.json";

#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct MomConfig {
    pub service: ServiceKind,
    pub slack: SlackConfig,
    pub mattermost: Option<MattermostConfig>,
    /// IDs of the channels that the bot answers in; all if absent.
    pub channels: Option<Vec<String>>,
    /// IDs of the users whom the bot answers; all if absent.
    pub users: Option<Vec<String>>,
    /// IDs of the users who may answer questions of a run; those in `users` if absent.
    pub approvers: Option<Vec<String>>,
    /// Seconds until an unanswered question is denied.
    pub question_timeout: Option<u64>,
    /// The model of new channels.
    pub model: Option<String>,
    pub thinking: Option<String>,
    pub sandbox: Option<String>,
    /// US dollars for all channels.
    pub max_cost_per_day: Option<f64>,
    /// Bytes.
    pub max_attachment_size: Option<u64>,
    /// By channel ID.
    pub overrides: BTreeMap<String, ChannelConfig>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ServiceKind {
    #[default]
    Slack,
    Mattermost,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct SlackConfig {
    /// Base of the Web API, for other instances such as `GovSlack`.
    pub api_url: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MattermostConfig {
    /// Address of the server.
    pub url: String,
}

/// What differs in a channel.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ChannelConfig {
    pub model: Option<String>,
    pub thinking: Option<String>,
    pub sandbox: Option<String>,
    /// US dollars.
    pub max_cost_per_day: Option<f64>,
}

/// Where tools run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum SandboxChoice {
    /// Without restrictions.
    #[default]
    Host,
    /// In the sandbox of pi.
    Confined,
    /// In a running container.
    Docker(String),
}

#[derive(Debug, Error, PartialEq, Eq)]
#[error("unknown sandbox \"{0}\": use host, confined or docker:NAME")]
pub struct InvalidSandbox(String);

impl FromStr for SandboxChoice {
    type Err = InvalidSandbox;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "host" => Ok(Self::Host),
            "confined" => Ok(Self::Confined),
            _ => match text.strip_prefix("docker:") {
                // A name must not be taken for an option.
                Some(name) if !name.is_empty() && !name.starts_with('-') => {
                    Ok(Self::Docker(name.to_owned()))
                }
                _ => Err(InvalidSandbox(text.to_owned())),
            },
        }
    }
}

#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ConfigError {
    #[error("cannot read {path}: {source}")]
    Read {
        path: String,
        #[source]
        source: io::Error,
    },
    #[error("cannot read {path}: {source}")]
    Parse {
        path: String,
        #[source]
        source: serde_json::Error,
    },
    #[error("{path}: {source}")]
    Sandbox {
        path: String,
        #[source]
        source: InvalidSandbox,
    },
    #[error("{path}: unknown thinking level \"{level}\"")]
    Thinking { path: String, level: String },
    #[error("{path}: service \"mattermost\" needs mattermost.url")]
    MissingUrl { path: String },
}

impl MomConfig {
    /// Reads the configuration of a workspace; a missing file is an empty one.
    pub fn load(workspace: &Path) -> Result<Self, ConfigError> {
        let file = workspace.join(FILE_NAME);
        let path = file.display().to_string();
        let text = match std::fs::read(&file) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(source) => return Err(ConfigError::Read { path, source }),
        };
        let config: Self = serde_json::from_slice(&text).map_err(|source| ConfigError::Parse {
            path: path.clone(),
            source,
        })?;
        config.check(path)?;
        Ok(config)
    }

    fn check(&self, path: String) -> Result<(), ConfigError> {
        let overrides = self.overrides.values();
        let sandboxes = overrides.clone().filter_map(|it| it.sandbox.as_ref());
        for text in self.sandbox.iter().chain(sandboxes) {
            if let Err(source) = text.parse::<SandboxChoice>() {
                return Err(ConfigError::Sandbox { path, source });
            }
        }
        let levels = overrides.filter_map(|it| it.thinking.as_ref());
        for level in self.thinking.iter().chain(levels) {
            if ThinkingLevel::from_name(level).is_none() {
                return Err(ConfigError::Thinking {
                    path,
                    level: level.clone(),
                });
            }
        }
        if self.service == ServiceKind::Mattermost && self.mattermost.is_none() {
            return Err(ConfigError::MissingUrl { path });
        }
        Ok(())
    }

    pub fn allows_channel(&self, id: &str) -> bool {
        contains(self.channels.as_ref(), id)
    }

    pub fn allows_user(&self, id: &str) -> bool {
        contains(self.users.as_ref(), id)
    }

    /// Whether a user may answer questions of runs. Unlisted users never may.
    pub fn may_approve(&self, user: &str) -> bool {
        let listed = self.approvers.as_ref().or(self.users.as_ref());
        listed.is_some_and(|users| users.iter().any(|listed| listed == user))
    }

    pub fn question_time(&self) -> Duration {
        self.question_timeout
            .map_or(QUESTION_TIME, Duration::from_secs)
    }

    pub fn max_attachment(&self) -> u64 {
        self.max_attachment_size.unwrap_or(MAX_ATTACHMENT)
    }

    pub fn model_of(&self, channel: &str) -> Option<&str> {
        let own = self
            .overrides
            .get(channel)
            .and_then(|it| it.model.as_deref());
        own.or(self.model.as_deref())
    }

    pub fn thinking_of(&self, channel: &str) -> Option<ThinkingLevel> {
        let own = self
            .overrides
            .get(channel)
            .and_then(|it| it.thinking.as_deref());
        ThinkingLevel::from_name(own.or(self.thinking.as_deref())?)
    }

    /// Returns the sandbox of a channel: its own, or the one of the command line, or that of the file.
    pub fn sandbox_of(&self, channel: &str, flag: Option<&SandboxChoice>) -> SandboxChoice {
        let own = self
            .overrides
            .get(channel)
            .and_then(|it| it.sandbox.as_deref());
        if let Some(own) = own.and_then(|text| text.parse().ok()) {
            return own;
        }
        let general = || self.sandbox.as_deref().and_then(|text| text.parse().ok());
        flag.cloned().or_else(general).unwrap_or_default()
    }
}

fn contains(list: Option<&Vec<String>>, id: &str) -> bool {
    list.is_none_or(|list| list.iter().any(|listed| listed == id))
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;

    fn load(value: &serde_json::Value) -> Result<MomConfig, String> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(FILE_NAME);
        pi_fs::private::write_new_file(&path, value.to_string().as_bytes()).unwrap();
        let loaded = MomConfig::load(directory.path()).map_err(|error| error.to_string());
        loaded.map_err(|error| error.replace(&directory.path().display().to_string(), "DIR"))
    }

    #[test]
    fn a_channel_overrides_the_rest() {
        let config = load(&json!({
            "model": "a", "sandbox": "confined",
            "overrides": {"C1": {"model": "b", "sandbox": "docker:box"}},
        }))
        .unwrap();
        assert_eq!(config.model_of("C1"), Some("b"));
        assert_eq!(config.model_of("C2"), Some("a"));
        let docker = SandboxChoice::Docker("box".to_owned());
        assert_eq!(config.sandbox_of("C1", Some(&SandboxChoice::Host)), docker);
        assert_eq!(
            config.sandbox_of("C2", Some(&SandboxChoice::Host)),
            SandboxChoice::Host
        );
        assert_eq!(config.sandbox_of("C2", None), SandboxChoice::Confined);
    }

    #[test]
    fn only_listed_users_may_approve() {
        let unlisted = load(&json!({})).unwrap();
        assert!(unlisted.allows_user("U1") && !unlisted.may_approve("U1"));
        let users = load(&json!({"users": ["U1"]})).unwrap();
        assert!(users.may_approve("U1") && !users.may_approve("U2") && !users.allows_user("U2"));
        let approvers = load(&json!({"users": ["U1", "U2"], "approvers": ["U2"]})).unwrap();
        assert!(!approvers.may_approve("U1") && approvers.may_approve("U2"));
    }

    #[test]
    fn invalid_values_are_errors() {
        for (value, error) in [
            (
                json!({"sandbox": "docker:--privileged"}),
                "DIR/mom.json: unknown sandbox \"docker:--privileged\": use host, confined or docker:NAME",
            ),
            (
                json!({"thinking": "very"}),
                "DIR/mom.json: unknown thinking level \"very\"",
            ),
            (
                json!({"service": "mattermost"}),
                "DIR/mom.json: service \"mattermost\" needs mattermost.url",
            ),
        ] {
            assert_eq!(load(&value).unwrap_err(), error);
        }
        assert!(load(&json!({"rooms": []})).unwrap_err().contains("rooms"));
    }
}
