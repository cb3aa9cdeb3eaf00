//! The group `fleet` of `settings.json` in the agent directory. Settings of projects are ignored.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::time::Duration;

use serde::Deserialize;

use crate::limits::FleetLimits;

/// Defaults of the command line.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct FleetSettings {
    /// `local`, or the URL of a server.
    pub(crate) engine: Option<String>,
    /// URL of the store of sessions, patches and artifacts.
    pub(crate) artifacts: Option<String>,
    /// Number of agents at the same time.
    pub(crate) slots: Option<usize>,
    /// How long a run stays with a worker that is silent; for fleets that are created.
    #[serde(with = "crate::duration")]
    pub(crate) lease: Option<Duration>,
    /// The workspace of tasks that name none.
    pub(crate) workspace: DefaultWorkspace,
    /// The secrets that tasks may name, and where their values are.
    pub(crate) secrets: BTreeMap<String, String>,
    pub(crate) container: ContainerSettings,
    #[serde(flatten)]
    pub(crate) limits: FleetLimits,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum DefaultWorkspace {
    #[default]
    Worktree,
    Container,
}

/// Leases that the heartbeats of workers can keep, and that do not keep others from a run for hours.
const LEASES: std::ops::RangeInclusive<Duration> = Duration::from_secs(3)..=Duration::from_hours(1);

impl FleetSettings {
    fn check(&self) -> Result<(), &'static str> {
        if self.slots == Some(0) {
            return Err("fleet.slots is 0");
        }
        if self.lease.is_some_and(|lease| !LEASES.contains(&lease)) {
            return Err("fleet.lease is not between 3s and 1h");
        }
        // Agents, and those in containers, can read the file.
        if self.engine.as_deref().is_some_and(has_password) {
            return Err(
                "fleet.engine contains a password: name a file with it in PI_FLEET_CREDENTIALS",
            );
        }
        self.limits.check()
    }
}

/// Whether one of the servers of a URL has a password.
fn has_password(urls: &str) -> bool {
    let mut urls = urls.split(',');
    urls.any(|url| {
        let user = url.rsplit_once('@').map_or("", |(user, _)| user);
        let user = user.split_once("://").map_or(user, |(_, user)| user);
        user.contains(':')
    })
}

/// How workspaces of the kind `container` run.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ContainerSettings {
    /// `docker` or `podman`.
    pub(crate) program: Option<String>,
    /// Image of tasks that name none.
    pub(crate) image: Option<String>,
    /// More arguments of `run`.
    pub(crate) arguments: Vec<String>,
}

/// Reads the settings; the defaults if the file does not exist.
pub(crate) fn read(agent_directory: &Path) -> io::Result<FleetSettings> {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct SettingsFile {
        fleet: FleetSettings,
    }
    let text = match std::fs::read_to_string(agent_directory.join("settings.json")) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Ok(FleetSettings::default());
        }
        Err(error) => return Err(error),
    };
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    if text.trim().is_empty() {
        return Ok(FleetSettings::default());
    }
    let file: SettingsFile = serde_json::from_str(text).map_err(io::Error::other)?;
    file.fleet.check().map_err(io::Error::other)?;
    Ok(file.fleet)
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn only_the_group_of_fleets_is_read() {
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(read(directory.path()).unwrap(), FleetSettings::default());
        let path = directory.path().join("settings.json");
        std::fs::write(
            &path,
            r#"{"theme": 7, "fleet": {"engine": "local", "slots": 2, "secrets": {"github": "$TOKEN"}, "budget": {"perDay": 500}, "other": 1}}"#,
        )
        .unwrap();
        let settings = read(directory.path()).unwrap();
        assert_eq!(settings.engine.as_deref(), Some("local"));
        assert_eq!(settings.slots, Some(2));
        assert_eq!(settings.secrets["github"], "$TOKEN");
        assert_eq!(settings.limits.budget.per_day, Some(500.0));
        std::fs::write(
            &path,
            r#"{"fleet": {"engine": "nats://user@host:4222", "lease": "1m", "workspace": "container"}}"#,
        )
        .unwrap();
        let settings = read(directory.path()).unwrap();
        assert_eq!(settings.lease, Some(Duration::from_mins(1)));
        assert_eq!(settings.workspace, DefaultWorkspace::Container);
        for text in ["{}", "", "\u{feff}\n"] {
            std::fs::write(&path, text).unwrap();
            assert_eq!(read(directory.path()).unwrap(), FleetSettings::default());
        }
        for text in [
            "[",
            r#"{"fleet": {"slots": "many"}}"#,
            r#"{"fleet": {"slots": 0}}"#,
            r#"{"fleet": {"budget": {"perDay": -1}}}"#,
            r#"{"fleet": {"lease": "1s"}}"#,
            r#"{"fleet": {"lease": 30}}"#,
            r#"{"fleet": {"workspace": "vm"}}"#,
            r#"{"fleet": {"engine": "nats://user:password@host:4222"}}"#,
            r#"{"fleet": {"engine": "nats://a:4222,nats://user:password@b:4222"}}"#,
        ] {
            std::fs::write(&path, text).unwrap();
            assert!(read(directory.path()).is_err(), "{text}");
        }
    }
}
