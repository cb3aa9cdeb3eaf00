//! The resources of installed packages.

use pi_config::{PackageAddress, Resources};
use pi_protocol::{ProjectAccess, SourceScope};
use pretty_assertions::assert_eq;
use serde_json::json;

use crate::resources::ResourceTestEnv;

fn templates(resources: &Resources) -> Vec<(&str, &str)> {
    let templates = resources.prompt_templates.iter();
    templates
        .map(|template| (template.name.as_str(), template.source_info.source.as_str()))
        .collect()
}

fn names(resources: &Resources) -> Vec<&str> {
    templates(resources)
        .into_iter()
        .map(|(name, _)| name)
        .collect()
}

const LOCAL: [(&str, &str); 4] = [
    ("agent/pack/prompts/a.md", "a"),
    ("agent/pack/prompts/deep/b.md", "b"),
    ("agent/pack/extensions/e.ts", ""),
    ("agent/pack/skills/s/SKILL.md", "---\ndescription: d\n---\n"),
];

#[test]
fn package_without_manifest_uses_conventional_directories() {
    let env = ResourceTestEnv::with(&LOCAL);
    env.home
        .write("agent/settings.json", r#"{"packages": ["./pack"]}"#);
    let resources = env.load();
    assert_eq!(names(&resources), ["a", "b"]);
    assert_eq!(resources.skills.len(), 1);
    let extension = resources.extensions.first().unwrap();
    let root = env.root();
    assert_eq!(
        serde_json::to_value(&extension.source_info).unwrap(),
        json!({
            "path": root.join("agent/pack/extensions/e.ts"),
            "source": "./pack",
            "scope": "user",
            "origin": "package",
            "baseDir": root.join("agent/pack")
        })
    );
    assert_eq!(env.messages(&resources), [""; 0]);
}

#[test]
fn manifest_lists_paths_globs_and_overrides() {
    let env = ResourceTestEnv::with(&[
        (
            "agent/pack/package.json",
            r#"{"pi": {"prompts": ["lists/**/*.md", "one.md", "!lists/x/no.md"], "skills": 3}}"#,
        ),
        ("agent/pack/lists/a.md", "a"),
        ("agent/pack/lists/x/b.md", "b"),
        ("agent/pack/lists/x/no.md", "no"),
        ("agent/pack/lists/.dot/c.md", "c"),
        ("agent/pack/one.md", "one"),
        ("agent/pack/prompts/unlisted.md", "unlisted"),
        ("agent/pack/skills/s/SKILL.md", "---\ndescription: d\n---\n"),
        ("agent/settings.json", r#"{"packages": ["pack"]}"#),
    ]);
    let resources = env.load();
    assert_eq!(names(&resources), ["a", "b", "one"]);
    assert_eq!(resources.skills, []);
}

#[test]
fn filter_affects_only_its_kind() {
    for (filter, expected, skills) in [
        (json!({}), vec!["a", "b"], 1),
        (json!({"prompts": []}), vec![], 1),
        (json!({"prompts": ["a.md"]}), vec!["a"], 1),
        (json!({"prompts": ["!a.md"], "skills": []}), vec!["b"], 0),
        (
            json!({"prompts": ["!*.md", "+prompts/deep/b.md"]}),
            vec!["b"],
            1,
        ),
        (json!({"prompts": ["-prompts/a.md"]}), vec!["b"], 1),
        (
            json!({"autoload": false, "prompts": ["+prompts/a.md"]}),
            vec!["a"],
            0,
        ),
    ] {
        let env = ResourceTestEnv::with(&LOCAL);
        let mut entry = filter.clone();
        entry["source"] = json!("./pack");
        let settings = json!({"packages": [entry]}).to_string();
        env.home.write("agent/settings.json", settings);
        let resources = env.load();
        assert_eq!(names(&resources), expected, "{filter}");
        assert_eq!(resources.skills.len(), skills, "{filter}");
    }
}

#[test]
fn project_entry_replaces_or_modifies_user_entry() {
    let env = ResourceTestEnv::with(&[
        ("pack/prompts/a.md", "a"),
        ("pack/prompts/b.md", "b"),
        ("agent/settings.json", r#"{"packages": ["../pack"]}"#),
        (
            "project/.pi/settings.json",
            r#"{"packages": [{"source": "../../pack", "autoload": false, "prompts": ["-prompts/a.md"]}]}"#,
        ),
    ]);
    let resources = env.load();
    assert_eq!(templates(&resources), [("b", "../pack")]);
    env.home.write(
        "project/.pi/settings.json",
        r#"{"packages": [{"source": "../../pack", "prompts": ["a.md"]}]}"#,
    );
    let resources = env.load();
    assert_eq!(templates(&resources), [("a", "../../pack")]);
}

#[test]
fn missing_packages_are_listed() {
    let env = ResourceTestEnv::with(&[
        (
            "agent/settings.json",
            r#"{"packages": ["npm:@s/here@^1.0.0", "npm:old@2.0.0", "npm:gone", "git:h.x/o/r", "npm:../../evil"]}"#,
        ),
        (
            "agent/npm/node_modules/@s/here/package.json",
            r#"{"version": "1.4.0"}"#,
        ),
        ("agent/npm/node_modules/@s/here/prompts/here.md", "here"),
        (
            "agent/npm/node_modules/old/package.json",
            r#"{"version": "1.9.0"}"#,
        ),
        ("agent/npm/node_modules/old/prompts/old.md", "old"),
        ("agent/git/h.x/o/r/prompts/repo.md", "repo"),
        ("evil/prompts/evil.md", "evil"),
    ]);
    let resources = env.load();
    assert_eq!(names(&resources), ["here", "repo"]);
    let missing: Vec<(&str, SourceScope)> = resources
        .missing_packages
        .iter()
        .map(|package| (package.source.as_str(), package.scope))
        .collect();
    assert_eq!(
        missing,
        [
            ("npm:old@2.0.0", SourceScope::User),
            ("npm:gone", SourceScope::User)
        ]
    );
    let gone = resources.missing_packages.last().unwrap();
    assert_eq!(env.short(&gone.install_path), "agent/npm/node_modules/gone");
    assert!(matches!(gone.address, PackageAddress::Npm(_)));
    assert!(
        env.messages(&resources)
            .iter()
            .any(|line| line.contains("invalid npm package name"))
    );
}

#[test]
fn project_packages_require_trust() {
    let mut env = ResourceTestEnv::with(&[
        (
            "project/.pi/settings.json",
            r#"{"packages": ["npm:x", "../pack"]}"#,
        ),
        ("project/pack/prompts/p.md", "p"),
    ]);
    assert_eq!(names(&env.load()), ["p"]);
    assert_eq!(env.load().missing_packages.len(), 1);
    for project in [ProjectAccess::Undecided, ProjectAccess::Denied] {
        env.project = project;
        let resources = env.load();
        assert_eq!(resources.prompt_templates, []);
        assert_eq!(resources.missing_packages, []);
    }
}

#[test]
fn extension_flag_loads_all_resources_of_a_package_directory() {
    let mut env = ResourceTestEnv::with(&[
        ("project/pack/prompts/p.md", "p"),
        ("project/pack/extensions/e.ts", ""),
        (
            "project/pack/skills/s/SKILL.md",
            "---\ndescription: d\n---\n",
        ),
        ("project/bare/index.ts", ""),
    ]);
    env.flags.extensions = vec!["pack".to_owned(), "bare".to_owned(), "npm:later".to_owned()];
    env.flags.no_extensions = true;
    let resources = env.load();
    let paths: Vec<String> = resources
        .extensions
        .iter()
        .map(|extension| env.short(&extension.path))
        .collect();
    assert_eq!(paths, ["project/pack/extensions/e.ts", "project/bare"]);
    assert_eq!(names(&resources), ["p"]);
    assert_eq!(resources.skills.first().unwrap().source_info.source, "cli");
    assert_eq!(resources.extension_errors, []);
    assert_eq!(
        resources.missing_packages.first().unwrap().scope,
        SourceScope::Temporary
    );
}

#[test]
fn an_extension_package_with_its_own_copies_of_pi_packages_gets_a_warning() {
    let manifest =
        r#"{"dependencies": {"typebox": "1", "left-pad": "1", "@earendil-works/pi-ai": "*"}}"#;
    let env = ResourceTestEnv::with(&LOCAL);
    env.home.write("agent/pack/package.json", manifest);
    env.home
        .write("agent/settings.json", r#"{"packages": ["./pack"]}"#);
    let messages = env.messages(&env.load());
    let [message] = messages.as_slice() else {
        panic!("{messages:?}");
    };
    assert!(
        message.contains("pi provides @earendil-works/pi-ai, typebox"),
        "{message}"
    );
    std::fs::remove_dir_all(env.root().join("agent/pack/extensions")).unwrap();
    assert_eq!(env.messages(&env.load()), [""; 0]);
}
