//! Settings through files: what counts, what is written, and what never is.

use std::fs;
use std::path::Path;

use pi_config::{
    AgentDir, CacheWarming, ConfigDiagnostic, ConfigScope, DeliveryMode, DiagnosticLevel,
    PackageSource, ProjectAccess, ProjectTrustDefault, Settings, SettingsError, SettingsOverrides,
    SettingsStore,
};
use pi_test_support::TempHome;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

/// A user's directory and a project beside it.
struct Setup {
    home: TempHome,
    agent_dir: AgentDir,
}

impl Setup {
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
fn a_trusted_project_lies_over_the_user_and_lists_are_replaced() {
    let setup = Setup::new()
        .user(
            json!({"theme": "dark", "skills": ["a"], "retry": {"enabled": false, "maxRetries": 9}})
                .to_string(),
        )
        .project(json!({"skills": ["b"], "retry": {"maxRetries": 1}}).to_string());
    let store = setup.open(ProjectAccess::Trusted);
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
fn nothing_of_an_untrusted_project_counts_and_nothing_is_written_to_it() {
    let setup = Setup::new()
        .user(json!({"theme": "dark"}).to_string())
        .project(json!({"theme": "evil", "sessionDir": "/tmp/evil"}).to_string());
    for access in [ProjectAccess::Denied, ProjectAccess::Undecided] {
        let store = setup.open(access);
        assert_eq!(store.settings().theme.as_deref(), Some("dark"));
        assert_eq!(store.settings().session_dir, None);
        assert_eq!(*store.scope(ConfigScope::Project), Settings::default());
        let refused = store.update(ConfigScope::Project, |it| it.theme = None);
        assert!(matches!(refused, Err(SettingsError::ProjectNotTrusted)));
    }
    let store = setup.open(ProjectAccess::Undecided);
    store.set_project_access(ProjectAccess::Trusted);
    assert_eq!(store.settings().theme.as_deref(), Some("evil"));
    store.set_project_access(ProjectAccess::Denied);
    assert_eq!(store.settings().theme.as_deref(), Some("dark"));
    assert_eq!(setup.names("project/.pi"), ["settings.json"]);
}

#[test]
fn a_project_cannot_set_what_is_the_users_alone() {
    let setup = Setup::new()
        .user(json!({"cacheWarming": "off"}).to_string())
        .project(
            json!({"cacheWarming": "idle", "httpProxy": "http://evil", "defaultProjectTrust": "always"})
                .to_string(),
        );
    let store = setup.open(ProjectAccess::Trusted);
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
fn a_change_touches_nothing_but_its_keys() {
    let setup = Setup::new().user(
        "\u{feff}{\n\t\"zeta\": {\"b\": 1, \"a\": [1.50, null]},\n\t\"retry\": {\"later\": 1, \"enabled\": true},\n\t\"theme\": \"dark\"\n}\n",
    );
    let store = setup.open(ProjectAccess::Trusted);
    store
        .update(ConfigScope::User, |settings| {
            settings.retry.enabled = Some(false);
            settings.steering_mode = Some(DeliveryMode::All);
        })
        .unwrap();
    assert_eq!(
        setup.user_text(),
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
    assert_eq!(store.settings().steering_mode(), DeliveryMode::All);
    store
        .update(ConfigScope::User, |settings| {
            settings.retry.enabled = None;
            settings.theme = None;
        })
        .unwrap();
    assert_eq!(
        setup.user_json(),
        json!({"zeta": {"b": 1, "a": [1.5, null]}, "retry": {"later": 1}, "steeringMode": "all"})
    );
    assert_eq!(setup.names("agent"), ["settings.json"]);
}

#[test]
fn a_change_is_made_to_what_the_file_says_at_that_moment() {
    let setup = Setup::new().user(json!({"packages": ["npm:a"]}).to_string());
    let store = setup.open(ProjectAccess::Trusted);
    // Another program adds a package and changes the theme.
    setup.home.write(
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
        setup.user_json(),
        json!({"packages": ["npm:a", "npm:b", "npm:c"], "theme": "x"})
    );
    assert_eq!(store.settings().theme.as_deref(), Some("x"));
}

#[test]
fn a_change_that_changes_nothing_writes_nothing() {
    let setup = Setup::new().user("{ \"theme\":   \"dark\" }");
    let store = setup.open(ProjectAccess::Trusted);
    store
        .update(ConfigScope::User, |settings| {
            settings.theme = Some("dark".to_owned());
        })
        .unwrap();
    assert_eq!(setup.user_text(), "{ \"theme\":   \"dark\" }");
}

#[test]
fn earlier_names_are_understood_and_replaced_on_the_next_write() {
    let setup = Setup::new().user(json!({"queueMode": "all", "websockets": true}).to_string());
    let store = setup.open(ProjectAccess::Trusted);
    assert_eq!(store.settings().steering_mode(), DeliveryMode::All);
    store
        .update(ConfigScope::User, |settings| {
            settings.theme = Some("x".to_owned());
        })
        .unwrap();
    assert_eq!(
        setup.user_json(),
        json!({"steeringMode": "all", "transport": "websocket", "theme": "x"})
    );
}

#[test]
fn elements_we_do_not_understand_stay_in_their_list() {
    let setup = Setup::new().user(json!({"packages": [{"from": "later"}, "npm:a"]}).to_string());
    let store = setup.open(ProjectAccess::Trusted);
    assert_eq!(problems(&store).len(), 1);
    store
        .update(ConfigScope::User, |settings| {
            settings.packages = Some(vec!["npm:b".into()]);
        })
        .unwrap();
    assert_eq!(
        setup.user_json(),
        json!({"packages": ["npm:b", {"from": "later"}]})
    );
}

#[test]
fn a_file_that_cannot_be_read_is_never_overwritten_but_the_change_counts() {
    for content in ["{ not json", "[1]", "{\"a\": 1}\0", "\u{1}", "{\"a\": 1,}"] {
        let setup = Setup::new().user(content);
        let store = setup.open(ProjectAccess::Trusted);
        let reported = problems(&store);
        assert!(
            matches!(reported.as_slice(), [one] if one.starts_with("settings file FILE is ignored: line ")),
            "{reported:?}"
        );
        let result = store.update(ConfigScope::User, |settings| {
            settings.theme = Some("x".to_owned());
        });
        assert!(
            matches!(&result, Err(SettingsError::Unreadable { .. })),
            "{content:?}"
        );
        assert!(result.unwrap_err().to_string().contains("was not changed"));
        assert_eq!(setup.user_text(), content);
        assert_eq!(store.settings().theme.as_deref(), Some("x"));
        assert_eq!(setup.names("agent"), ["settings.json"]);
    }
}

#[test]
fn a_read_only_file_is_not_replaced() {
    let setup = Setup::new().user("{}");
    let file = setup.agent_dir.settings_file();
    let mut permissions = fs::metadata(&file).unwrap().permissions();
    permissions.set_readonly(true);
    fs::set_permissions(&file, permissions).unwrap();
    let store = setup.open(ProjectAccess::Trusted);
    let result = store.update(ConfigScope::User, |it| it.theme = Some("x".to_owned()));
    assert!(matches!(result, Err(SettingsError::Write { .. })));
    assert_eq!(setup.user_text(), "{}");
    assert_eq!(store.settings().theme.as_deref(), Some("x"));
    assert_eq!(setup.names("agent"), ["settings.json"]);
}

#[test]
fn reading_again_keeps_what_was_known_of_a_broken_file() {
    let setup = Setup::new().user(json!({"theme": "dark"}).to_string());
    let store = setup.open(ProjectAccess::Trusted);
    setup.home.write("agent/settings.json", "{");
    store.reload();
    assert_eq!(store.settings().theme.as_deref(), Some("dark"));
    assert_eq!(problems(&store).len(), 1);
    setup
        .home
        .write("agent/settings.json", "{\"theme\": \"light\"}");
    store.reload();
    assert_eq!(store.settings().theme.as_deref(), Some("light"));
    assert_eq!(problems(&store), [""; 0]);
}

#[test]
fn what_holds_for_this_run_is_on_top_and_never_saved() {
    let setup = Setup::new()
        .user(json!({"theme": "dark"}).to_string())
        .project(json!({"theme": "light"}).to_string());
    let store = setup.open(ProjectAccess::Trusted);
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
    let next = setup.open(ProjectAccess::Trusted);
    next.set_overrides(&run);
    assert_eq!(next.settings().theme.as_deref(), Some("chosen"));
    assert!(next.settings().hide_thinking_block());
    assert_eq!(setup.user_json(), json!({"theme": "dark"}));
    assert_eq!(
        setup.home.read("project/.pi/settings.json"),
        "{\n  \"theme\": \"chosen\"\n}"
    );
}

#[test]
fn settings_in_memory_need_no_files() {
    let store = SettingsStore::in_memory(Settings {
        theme: Some("dark".to_owned()),
        ..Settings::default()
    });
    store
        .update(ConfigScope::User, |it| it.compaction.enabled = Some(false))
        .unwrap();
    store
        .update(ConfigScope::Project, |it| {
            it.theme = Some("light".to_owned())
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
fn the_first_setting_creates_the_file_and_its_dir() {
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
fn a_lock_that_is_not_released_is_an_error_and_a_stale_one_is_not() {
    let setup = Setup::new().user("{}");
    let lock = setup.home.path().join("agent/settings.json.lock");
    fs::create_dir(&lock).unwrap();
    let store = setup.open(ProjectAccess::Trusted);
    let held = store.update(ConfigScope::User, |it| it.theme = Some("x".to_owned()));
    assert!(matches!(held, Err(SettingsError::Locked { .. })));
    assert_eq!(setup.user_text(), "{}");
    let long_ago = std::time::SystemTime::now() - std::time::Duration::from_mins(1);
    fs::File::open(&lock)
        .unwrap()
        .set_modified(long_ago)
        .unwrap();
    store
        .update(ConfigScope::User, |it| it.theme = Some("y".to_owned()))
        .unwrap();
    assert_eq!(setup.user_json(), json!({"theme": "y"}));
    assert_eq!(setup.names("agent"), ["settings.json"]);
}

#[test]
fn stores_of_several_threads_lose_nothing() {
    let setup = Setup::new().user("{\"foreign\": 1}");
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let store = setup.open(ProjectAccess::Trusted);
            scope.spawn(move || add_levels(&store, &format!("t{thread}"), 20));
        }
    });
    let levels = setup.user_json()["modelThinkingLevels"].clone();
    assert_eq!(levels.as_object().unwrap().len(), 80);
    assert_eq!(setup.user_json()["foreign"], 1);
    assert_eq!(setup.names("agent"), ["settings.json"]);
}

/// Adds entries one by one, waiting for the lock as often as it takes.
fn add_levels(store: &SettingsStore, writer: &str, count: usize) {
    for index in 0..count {
        let key = format!("{writer}/{index}");
        loop {
            match store.update(ConfigScope::User, |settings| {
                settings
                    .model_thinking_levels
                    .insert(key.clone(), pi_ai::ThinkingLevel::High);
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
#[ignore = "run by another test, in a process of its own"]
fn write_from_a_process() {
    let (Ok(agent_dir), Ok(writer)) = (std::env::var(AGENT_DIR), std::env::var(WRITER)) else {
        return;
    };
    let agent_dir = AgentDir::at(agent_dir);
    let store = SettingsStore::open(&agent_dir, Path::new("/"), ProjectAccess::Denied);
    add_levels(&store, &writer, 20);
}

#[test]
fn several_processes_lose_nothing() {
    let setup = Setup::new().user("{\"foreign\": 1}");
    let children: Vec<_> = (0..3)
        .map(|process| {
            std::process::Command::new(std::env::current_exe().unwrap())
                .args(["--ignored", "--exact", "settings::write_from_a_process"])
                .env(AGENT_DIR, setup.agent_dir.path())
                .env(WRITER, format!("p{process}"))
                .stdout(std::process::Stdio::null())
                .spawn()
                .unwrap()
        })
        .collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let levels = setup.user_json()["modelThinkingLevels"].clone();
    assert_eq!(levels.as_object().unwrap().len(), 60);
    assert_eq!(setup.user_json()["foreign"], 1);
    assert_eq!(setup.names("agent"), ["settings.json"]);
}

#[cfg(unix)]
mod hostile;
