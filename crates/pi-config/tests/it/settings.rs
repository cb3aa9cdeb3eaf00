//! Settings files: precedence, saving, and what is never written.

use std::fs;
use std::path::Path;

use pi_config::{AgentDir, SettingsError, SettingsOverrides, SettingsStore};
use pi_protocol::settings::{CacheWarming, PackageSource, ProjectTrustDefault, Settings};
use pi_protocol::{ConfigDiagnostic, ConfigScope, DiagnosticLevel, ProjectAccess, QueueMode};
use pi_test_support::TempHome;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

/// A user directory and a project.
struct SettingsTestEnv {
    home: TempHome,
    agent_dir: AgentDir,
}

impl SettingsTestEnv {
    fn new() -> Self {
        let home = TempHome::new();
        fs::create_dir_all(home.path().join("agent")).unwrap();
        fs::create_dir_all(home.path().join("project/.pi")).unwrap();
        let agent_dir = AgentDir::at(home.path().join("agent"));
        Self { home, agent_dir }
    }

    fn user(self, content: impl AsRef<[u8]>) -> Self {
        self.home.write("agent/settings.json", content);
        self
    }

    fn project(self, content: impl AsRef<[u8]>) -> Self {
        self.home.write("project/.pi/settings.json", content);
        self
    }

    fn open(&self, access: ProjectAccess) -> SettingsStore {
        SettingsStore::open(&self.agent_dir, &self.home.path().join("project"), access)
    }

    fn user_text(&self) -> String {
        self.home.read("agent/settings.json")
    }

    fn user_json(&self) -> Value {
        serde_json::from_str(&self.user_text()).unwrap()
    }

    fn names(&self, dir: &str) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(self.home.path().join(dir))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

fn problems(store: &SettingsStore) -> Vec<String> {
    store
        .take_diagnostics()
        .into_iter()
        .map(|it: ConfigDiagnostic| {
            let file = it.path.unwrap().display().to_string();
            it.message.replace(&file, "FILE")
        })
        .collect()
}

#[test]
fn trusted_project_overrides_user_and_lists_are_replaced() {
    let env = SettingsTestEnv::new()
        .user(
            json!({"theme": "dark", "skills": ["a"], "retry": {"enabled": false, "maxRetries": 9}})
                .to_string(),
        )
        .project(json!({"skills": ["b"], "retry": {"maxRetries": 1}}).to_string());
    let store = env.open(ProjectAccess::Trusted);
    let settings = store.settings();
    assert_eq!(settings.theme.as_deref(), Some("dark"));
    assert_eq!(settings.skills, Some(vec!["b".to_owned()]));
    assert!(!settings.retry_policy().enabled);
    assert_eq!(settings.retry_policy().max_retries, 1);
    assert_eq!(
        store.scope(ConfigScope::User).skills,
        Some(vec!["a".to_owned()])
    );
    assert_eq!(store.scope(ConfigScope::Project).theme, None);
    assert_eq!(problems(&store), [""; 0]);
}

#[test]
fn untrusted_project_is_neither_applied_nor_written() {
    let env = SettingsTestEnv::new()
        .user(json!({"theme": "dark"}).to_string())
        .project(json!({"theme": "evil", "sessionDir": "/tmp/evil"}).to_string());
    for access in [ProjectAccess::Denied, ProjectAccess::Undecided] {
        let store = env.open(access);
        assert_eq!(store.settings().theme.as_deref(), Some("dark"));
        assert_eq!(store.settings().session_dir, None);
        assert_eq!(*store.scope(ConfigScope::Project), Settings::default());
        let refused = store.update(ConfigScope::Project, |it| it.theme = None);
        assert!(matches!(refused, Err(SettingsError::ProjectNotTrusted)));
    }
    let store = env.open(ProjectAccess::Undecided);
    store.set_project_access(ProjectAccess::Trusted);
    assert_eq!(store.settings().theme.as_deref(), Some("evil"));
    store.set_project_access(ProjectAccess::Denied);
    assert_eq!(store.settings().theme.as_deref(), Some("dark"));
    assert_eq!(env.names("project/.pi"), ["settings.json"]);
}

#[test]
fn project_cannot_set_user_only_keys() {
    let env = SettingsTestEnv::new()
        .user(json!({"cacheWarming": "off"}).to_string())
        .project(
            json!({"cacheWarming": "idle", "httpProxy": "http://evil", "defaultProjectTrust": "always"})
                .to_string(),
        );
    let store = env.open(ProjectAccess::Trusted);
    let settings = store.settings();
    assert_eq!(settings.cache_warming(), CacheWarming::Off);
    assert_eq!(settings.http_proxy(), None);
    assert_eq!(settings.default_project_trust(), ProjectTrustDefault::Ask);
    let diagnostics = store.take_diagnostics();
    assert_eq!(diagnostics.len(), 3);
    assert!(
        diagnostics
            .iter()
            .all(|it| it.level == DiagnosticLevel::Info)
    );
}

#[test]
fn change_preserves_other_keys() {
    let env = SettingsTestEnv::new().user(
        "\u{feff}{\n\t\"zeta\": {\"b\": 1, \"a\": [1.50, null]},\n\t\"retry\": {\"later\": 1, \"enabled\": true},\n\t\"theme\": \"dark\"\n}\n",
    );
    let store = env.open(ProjectAccess::Trusted);
    store
        .update(ConfigScope::User, |settings| {
            settings.retry.enabled = Some(false);
            settings.steering_mode = Some(QueueMode::All);
        })
        .unwrap();
    assert_eq!(
        env.user_text(),
        r#"{
  "zeta": {
    "b": 1,
    "a": [
      1.5,
      null
    ]
  },
  "retry": {
    "later": 1,
    "enabled": false
  },
  "theme": "dark",
  "steeringMode": "all"
}"#
    );
    assert_eq!(store.settings().steering_mode(), QueueMode::All);
    store
        .update(ConfigScope::User, |settings| {
            settings.retry.enabled = None;
            settings.theme = None;
        })
        .unwrap();
    assert_eq!(
        env.user_json(),
        json!({"zeta": {"b": 1, "a": [1.5, null]}, "retry": {"later": 1}, "steeringMode": "all"})
    );
    assert_eq!(env.names("agent"), ["settings.json"]);
}

#[test]
fn change_is_applied_to_current_file_contents() {
    let env = SettingsTestEnv::new().user(json!({"packages": ["npm:a"]}).to_string());
    let store = env.open(ProjectAccess::Trusted);
    // Another program adds a package and changes the theme.
    env.home.write(
        "agent/settings.json",
        json!({"packages": ["npm:a", "npm:b"], "theme": "x"}).to_string(),
    );
    store
        .update(ConfigScope::User, |settings| {
            let packages = settings.packages.get_or_insert_default();
            packages.push(PackageSource::from("npm:c"));
        })
        .unwrap();
    assert_eq!(
        env.user_json(),
        json!({"packages": ["npm:a", "npm:b", "npm:c"], "theme": "x"})
    );
    assert_eq!(store.settings().theme.as_deref(), Some("x"));
}

#[test]
fn no_op_change_does_not_write() {
    let env = SettingsTestEnv::new().user("{ \"theme\":   \"dark\" }");
    let store = env.open(ProjectAccess::Trusted);
    store
        .update(ConfigScope::User, |settings| {
            settings.theme = Some("dark".to_owned());
        })
        .unwrap();
    assert_eq!(env.user_text(), "{ \"theme\":   \"dark\" }");
}

#[test]
fn legacy_names_are_accepted_and_replaced_on_write() {
    let env =
        SettingsTestEnv::new().user(json!({"queueMode": "all", "websockets": true}).to_string());
    let store = env.open(ProjectAccess::Trusted);
    assert_eq!(store.settings().steering_mode(), QueueMode::All);
    store
        .update(ConfigScope::User, |settings| {
            settings.theme = Some("x".to_owned());
        })
        .unwrap();
    assert_eq!(
        env.user_json(),
        json!({"steeringMode": "all", "transport": "websocket", "theme": "x"})
    );
}

#[test]
fn unknown_list_elements_are_preserved() {
    let env =
        SettingsTestEnv::new().user(json!({"packages": [{"from": "later"}, "npm:a"]}).to_string());
    let store = env.open(ProjectAccess::Trusted);
    assert_eq!(problems(&store).len(), 1);
    store
        .update(ConfigScope::User, |settings| {
            settings.packages = Some(vec!["npm:b".into()]);
        })
        .unwrap();
    assert_eq!(
        env.user_json(),
        json!({"packages": ["npm:b", {"from": "later"}]})
    );
}

#[test]
fn malformed_file_is_not_overwritten_but_change_applies() {
    for content in ["{ not json", "[1]", "{\"a\": 1}\0", "\u{1}", "{\"a\": 1,}"] {
        let env = SettingsTestEnv::new().user(content);
        let store = env.open(ProjectAccess::Trusted);
        let reported = problems(&store);
        assert!(
            matches!(reported.as_slice(), [one] if one.starts_with("cannot read settings: FILE: ") && one.contains(" at line ")),
            "{reported:?}"
        );
        let result = store.update(ConfigScope::User, |settings| {
            settings.theme = Some("x".to_owned());
        });
        assert!(
            matches!(&result, Err(SettingsError::Unreadable { .. })),
            "{content:?}"
        );
        assert!(
            result
                .unwrap_err()
                .to_string()
                .starts_with("cannot save settings: ")
        );
        assert_eq!(env.user_text(), content);
        assert_eq!(store.settings().theme.as_deref(), Some("x"));
        assert_eq!(env.names("agent"), ["settings.json"]);
    }
}

#[test]
fn read_only_file_is_not_replaced() {
    let env = SettingsTestEnv::new().user("{}");
    let file = env.agent_dir.settings_file();
    let mut permissions = fs::metadata(&file).unwrap().permissions();
    permissions.set_readonly(true);
    fs::set_permissions(&file, permissions).unwrap();
    let store = env.open(ProjectAccess::Trusted);
    let result = store.update(ConfigScope::User, |it| it.theme = Some("x".to_owned()));
    assert!(matches!(result, Err(SettingsError::Write { .. })));
    assert_eq!(env.user_text(), "{}");
    assert_eq!(store.settings().theme.as_deref(), Some("x"));
    assert_eq!(env.names("agent"), ["settings.json"]);
}

#[test]
fn reload_keeps_previous_settings_of_malformed_file() {
    let env = SettingsTestEnv::new().user(json!({"theme": "dark"}).to_string());
    let store = env.open(ProjectAccess::Trusted);
    env.home.write("agent/settings.json", "{");
    store.reload();
    assert_eq!(store.settings().theme.as_deref(), Some("dark"));
    assert_eq!(problems(&store).len(), 1);
    env.home
        .write("agent/settings.json", "{\"theme\": \"light\"}");
    store.reload();
    assert_eq!(store.settings().theme.as_deref(), Some("light"));
    assert_eq!(problems(&store), [""; 0]);
}

#[test]
fn overrides_take_precedence_and_are_never_saved() {
    let env = SettingsTestEnv::new()
        .user(json!({"theme": "dark"}).to_string())
        .project(json!({"theme": "light"}).to_string());
    let store = env.open(ProjectAccess::Trusted);
    let run = SettingsOverrides::new(&Settings {
        theme: Some("flag".to_owned()),
        hide_thinking_block: Some(true),
        ..Settings::default()
    });
    store.set_overrides(&run);
    store.reload();
    assert_eq!(store.settings().theme.as_deref(), Some("flag"));
    store
        .update(ConfigScope::Project, |settings| {
            settings.theme = Some("chosen".to_owned());
        })
        .unwrap();
    assert_eq!(store.settings().theme.as_deref(), Some("chosen"));
    assert!(store.settings().hide_thinking_block());
    let next = env.open(ProjectAccess::Trusted);
    next.set_overrides(&run);
    assert_eq!(next.settings().theme.as_deref(), Some("chosen"));
    assert!(next.settings().hide_thinking_block());
    assert_eq!(env.user_json(), json!({"theme": "dark"}));
    assert_eq!(
        env.home.read("project/.pi/settings.json"),
        "{\n  \"theme\": \"chosen\"\n}"
    );
}

#[test]
fn in_memory_store_needs_no_files() {
    let store = SettingsStore::in_memory(Settings {
        theme: Some("dark".to_owned()),
        ..Settings::default()
    });
    store
        .update(ConfigScope::User, |it| it.compaction.enabled = Some(false))
        .unwrap();
    store
        .update(ConfigScope::Project, |it| {
            it.theme = Some("light".to_owned());
        })
        .unwrap();
    assert!(!store.settings().compaction_enabled());
    assert_eq!(store.settings().theme.as_deref(), Some("light"));
    assert_eq!(
        store.scope(ConfigScope::User).theme.as_deref(),
        Some("dark")
    );
    store.reload();
    assert!(!store.settings().compaction_enabled());
}

#[test]
fn first_setting_creates_file_and_directory() {
    let home = TempHome::new();
    let agent_dir = AgentDir::at(home.path().join("new/agent"));
    let store = SettingsStore::open(&agent_dir, &home.path().join("p"), ProjectAccess::Trusted);
    assert!(!agent_dir.path().exists(), "reading creates nothing");
    for scope in [ConfigScope::User, ConfigScope::Project] {
        store
            .update(scope, |it| it.theme = Some("x".to_owned()))
            .unwrap();
    }
    assert_eq!(
        home.read("new/agent/settings.json"),
        "{\n  \"theme\": \"x\"\n}"
    );
    assert_eq!(home.read("p/.pi/settings.json"), "{\n  \"theme\": \"x\"\n}");
}

#[test]
fn held_lock_is_an_error_and_stale_lock_is_not() {
    let env = SettingsTestEnv::new().user("{}");
    let lock = env.home.path().join("agent/settings.json.lock");
    fs::create_dir(&lock).unwrap();
    let store = env.open(ProjectAccess::Trusted);
    let result = store.update(ConfigScope::User, |it| it.theme = Some("x".to_owned()));
    assert!(matches!(result, Err(SettingsError::Locked { .. })));
    assert_eq!(env.user_text(), "{}");
    let long_ago = std::time::SystemTime::now() - std::time::Duration::from_mins(1);
    fs::File::open(&lock)
        .unwrap()
        .set_modified(long_ago)
        .unwrap();
    store
        .update(ConfigScope::User, |it| it.theme = Some("y".to_owned()))
        .unwrap();
    assert_eq!(env.user_json(), json!({"theme": "y"}));
    assert_eq!(env.names("agent"), ["settings.json"]);
}

#[test]
fn concurrent_threads_lose_no_changes() {
    let env = SettingsTestEnv::new().user("{\"unknown\": 1}");
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let store = env.open(ProjectAccess::Trusted);
            scope.spawn(move || add_levels(&store, &format!("t{thread}"), 20));
        }
    });
    let levels = env.user_json()["modelThinkingLevels"].clone();
    assert_eq!(levels.as_object().unwrap().len(), 80);
    assert_eq!(env.user_json()["unknown"], 1);
    assert_eq!(env.names("agent"), ["settings.json"]);
}

/// Adds entries one by one, retrying while the file is locked.
fn add_levels(store: &SettingsStore, writer: &str, count: usize) {
    for index in 0..count {
        let key = format!("{writer}/{index}");
        loop {
            match store.update(ConfigScope::User, |settings| {
                settings
                    .model_thinking_levels
                    .insert(key.clone(), pi_protocol::ThinkingLevel::High);
            }) {
                Ok(()) => break,
                Err(SettingsError::Locked { .. }) => {}
                Err(error) => panic!("{error}"),
            }
        }
    }
}

const AGENT_DIR: &str = "TEST_SETTINGS_AGENT_DIR";
const WRITER: &str = "TEST_SETTINGS_WRITER";

#[test]
#[ignore = "run by another test as a child process"]
fn write_from_a_process() {
    let (Ok(agent_dir), Ok(writer)) = (std::env::var(AGENT_DIR), std::env::var(WRITER)) else {
        return;
    };
    let agent_dir = AgentDir::at(agent_dir);
    let store = SettingsStore::open(&agent_dir, Path::new("/"), ProjectAccess::Denied);
    add_levels(&store, &writer, 20);
}

#[test]
fn concurrent_processes_lose_no_changes() {
    let env = SettingsTestEnv::new().user("{\"unknown\": 1}");
    let children: Vec<_> = (0..3)
        .map(|process| {
            std::process::Command::new(std::env::current_exe().unwrap())
                .args(["--ignored", "--exact", "settings::write_from_a_process"])
                .env(AGENT_DIR, env.agent_dir.path())
                .env(WRITER, format!("p{process}"))
                .stdout(std::process::Stdio::null())
                .spawn()
                .unwrap()
        })
        .collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let levels = env.user_json()["modelThinkingLevels"].clone();
    assert_eq!(levels.as_object().unwrap().len(), 60);
    assert_eq!(env.user_json()["unknown"], 1);
    assert_eq!(env.names("agent"), ["settings.json"]);
}

#[cfg(unix)]
mod hostile;
