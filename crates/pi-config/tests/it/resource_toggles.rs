//! Toggling resources writes the same settings as the TypeScript pi, and loading applies them.

use std::path::Path;

use pi_config::{
    AgentDir, ProjectOverride, ResourceFlags, ResourceRequest, ResourceToggles, SettingsStore,
    load_resources,
};
use pi_env::Env;
use pi_protocol::{ConfigScope, ProjectAccess};
use pi_test_support::TempHome;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

struct TogglesTestEnv(TempHome);

impl TogglesTestEnv {
    fn new() -> Self {
        let home = TempHome::new();
        home.write("agent/prompts/daily.md", "x");
        home.write("agent/extensions/own.ts", "export default () => {}");
        home.write(
            "tools/package.json",
            r#"{"name": "tools", "version": "1.0.0"}"#,
        );
        home.write("tools/prompts/review.md", "x");
        home.write("tools/prompts/fix.md", "x");
        home.write("project/.pi/prompts/local.md", "x");
        home.write("agent/settings.json", r#"{"packages": ["../tools"]}"#);
        Self(home)
    }

    fn request(&self) -> ResourceRequest {
        let path = |name: &str| self.0.path().join(name);
        let agent_dir = AgentDir::at(path("agent"));
        let access = ProjectAccess::Trusted;
        ResourceRequest {
            settings: SettingsStore::open(&agent_dir, &path("project"), access),
            agent_dir,
            cwd: path("project"),
            env: Env::fixed([("HOME", self.0.path().to_string_lossy())]),
            project: access,
            flags: ResourceFlags::default(),
        }
    }

    fn toggles(&self) -> ResourceToggles {
        ResourceToggles::load(self.request())
    }

    fn settings(&self, file: &str) -> Value {
        serde_json::from_str(&self.0.read(file)).unwrap()
    }

    fn prompts(&self) -> Vec<String> {
        let mut names: Vec<String> = load_resources(&self.request())
            .prompt_templates
            .into_iter()
            .map(|template| template.name)
            .collect();
        names.sort();
        names
    }
}

fn index_of(toggles: &ResourceToggles, scope: ConfigScope, file: &str) -> usize {
    let resources = toggles.resources(scope).iter();
    let named = |path: &Path| path.file_name().is_some_and(|name| name == file);
    resources
        .enumerate()
        .find(|(_, item)| named(&item.source_info.path))
        .unwrap()
        .0
}

#[test]
fn user_resources_are_toggled() {
    let env = TogglesTestEnv::new();
    let mut toggles = env.toggles();
    for file in ["daily.md", "review.md", "own.ts"] {
        let number = index_of(&toggles, ConfigScope::User, file);
        toggles.toggle(ConfigScope::User, number).unwrap();
    }
    assert_eq!(
        env.settings("agent/settings.json"),
        json!({
            "packages": [{"source": "../tools", "prompts": ["-prompts/review.md"]}],
            "prompts": ["-prompts/daily.md"],
            "extensions": ["-extensions/own.ts"],
        })
    );
    assert_eq!(env.prompts(), ["fix", "local"]);
    assert!(load_resources(&env.request()).extensions.is_empty());
    let daily = index_of(&toggles, ConfigScope::User, "daily.md");
    toggles.toggle(ConfigScope::User, daily).unwrap();
    assert_eq!(
        env.settings("agent/settings.json")["prompts"],
        json!(["+prompts/daily.md"])
    );
    assert_eq!(env.prompts(), ["daily", "fix", "local"]);
}

#[test]
fn project_override_cycles_through_states() {
    let env = TogglesTestEnv::new();
    let mut toggles = env.toggles();
    let state = |toggles: &ResourceToggles, number: usize| {
        let item = &toggles.resources(ConfigScope::Project)[number];
        (toggles.project_override(item), item.enabled)
    };
    let review = index_of(&toggles, ConfigScope::Project, "review.md");
    assert_eq!(state(&toggles, review), (ProjectOverride::Inherit, true));
    toggles.toggle(ConfigScope::Project, review).unwrap();
    assert_eq!(state(&toggles, review), (ProjectOverride::Unload, false));
    assert_eq!(
        env.settings("project/.pi/settings.json"),
        json!({"packages": [
            {"source": "../../tools", "autoload": false, "prompts": ["-prompts/review.md"]}
        ]})
    );
    assert_eq!(env.prompts(), ["daily", "fix", "local"]);
    toggles.toggle(ConfigScope::Project, review).unwrap();
    assert_eq!(state(&toggles, review), (ProjectOverride::Load, true));
    toggles.toggle(ConfigScope::Project, review).unwrap();
    assert_eq!(state(&toggles, review), (ProjectOverride::Inherit, true));
    assert_eq!(
        env.settings("project/.pi/settings.json"),
        json!({"packages": []})
    );

    let local = index_of(&toggles, ConfigScope::Project, "local.md");
    toggles.toggle(ConfigScope::Project, local).unwrap();
    assert_eq!(state(&toggles, local), (ProjectOverride::Unload, false));
    assert_eq!(
        env.settings("project/.pi/settings.json")["prompts"],
        json!(["-prompts/local.md"])
    );
    assert_eq!(env.prompts(), ["daily", "fix", "review"]);

    // Project resources cannot be toggled in user settings.
    let before = env.settings("agent/settings.json");
    assert!(toggles.resources(ConfigScope::User).iter().all(|item| {
        item.source_info
            .path
            .file_name()
            .is_some_and(|name| name != "local.md")
    }));
    assert_eq!(env.settings("agent/settings.json"), before);
}

#[test]
fn user_resource_is_disabled_in_one_project() {
    let env = TogglesTestEnv::new();
    let mut toggles = env.toggles();
    let daily = index_of(&toggles, ConfigScope::Project, "daily.md");
    toggles.toggle(ConfigScope::Project, daily).unwrap();
    let path = env.0.path().join("agent/prompts/daily.md");
    let path = path.to_string_lossy();
    assert_eq!(
        env.settings("project/.pi/settings.json"),
        json!({"prompts": [path, format!("-{path}")]})
    );
    toggles.toggle(ConfigScope::Project, daily).unwrap();
    toggles.toggle(ConfigScope::Project, daily).unwrap();
    assert_eq!(
        env.settings("project/.pi/settings.json"),
        json!({"prompts": []})
    );
}

#[test]
fn built_in_extensions_are_toggled() {
    let env = TogglesTestEnv::new();
    let mut toggles = env.toggles();
    let number = index_of(&toggles, ConfigScope::User, "builtin:codemode");
    assert!(toggles.resources(ConfigScope::User)[number].enabled);
    toggles.toggle(ConfigScope::User, number).unwrap();
    let user = || env.settings("agent/settings.json")["extensions"].clone();
    assert_eq!(user(), json!(["-builtin:codemode"]));

    let mut toggles = env.toggles();
    let number = index_of(&toggles, ConfigScope::Project, "builtin:codemode");
    assert!(!toggles.resources(ConfigScope::Project)[number].enabled);
    toggles.toggle(ConfigScope::Project, number).unwrap();
    let project = env.settings("project/.pi/settings.json");
    assert_eq!(project["extensions"], json!(["+builtin:codemode"]));
    let loaded = load_resources(&env.request()).builtin_extensions;
    assert!(loaded.contains(pi_config::BuiltinExtension::Codemode));

    let number = index_of(&toggles, ConfigScope::User, "builtin:codemode");
    toggles.toggle(ConfigScope::User, number).unwrap();
    assert_eq!(user(), json!([]));
}
