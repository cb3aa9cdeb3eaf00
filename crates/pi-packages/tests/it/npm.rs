//! Packages of a registry.

use std::fs;

use pi_config::SourceScope;
use pi_packages::{InstallerOptions, PackageError, PackageInstaller, UsedPackage};
use pi_test_support::archive;
use pretty_assertions::assert_eq;
use serde_json::{Map, Value, json};

use crate::world::{World, package};

fn shelves(world: &World) {
    let registry = &world.registry;
    registry.publish(
        "@own/tools",
        "1.0.0",
        &json!({"dependencies": {"shared": "^1.0.0", "old": "^1.0.0"}, "bin": "cli.js"}),
        &[("index.js", "tools"), ("cli.js", "#!/usr/bin/env node\n")],
    );
    registry.publish("shared", "1.2.0", &json!({}), &[("index.js", "shared")]);
    registry.publish(
        "old",
        "1.0.0",
        &json!({"dependencies": {"shared": "0.9.0"}}),
        &[("index.js", "old")],
    );
    registry.publish("shared", "0.9.0", &json!({}), &[("index.js", "ancient")]);
    registry.publish(
        "other",
        "2.0.0",
        &json!({"dependencies": {"shared": "1"}}),
        &[],
    );
}

#[tokio::test]
async fn a_package_with_its_dependencies() {
    let world = World::new();
    shelves(&world);
    world.install("npm:@own/tools").await.unwrap();
    assert_eq!(world.read("node_modules/@own/tools/index.js"), "tools");
    assert_eq!(world.read("node_modules/shared/index.js"), "shared");
    assert_eq!(
        world.read("node_modules/old/node_modules/shared/index.js"),
        "ancient"
    );
    if cfg!(unix) {
        assert!(world.read("node_modules/.bin/tools").starts_with("#!"));
    }
    let manifest: Value = serde_json::from_str(&world.read("package.json")).unwrap();
    assert_eq!(
        manifest,
        json!({"name": "pi-extensions", "private": true, "dependencies": {"@own/tools": "^1.0.0"}})
    );
    let lock: Value = serde_json::from_str(&world.read("package-lock.json")).unwrap();
    let packages: Vec<&String> = lock["packages"].as_object().unwrap().keys().collect();
    assert_eq!(
        packages,
        [
            "",
            "node_modules/@own/tools",
            "node_modules/old",
            "node_modules/old/node_modules/shared",
            "node_modules/shared"
        ]
    );
    assert_eq!(lock["packages"]["node_modules/shared"]["version"], "1.2.0");
}

#[tokio::test]
async fn a_second_package_leaves_the_first_alone() {
    let world = World::new();
    shelves(&world);
    world.install("npm:@own/tools").await.unwrap();
    let before = world.registry.requests().len();
    world.install("npm:other").await.unwrap();
    let asked: Vec<String> = world.registry.requests()[before..]
        .iter()
        .map(|(path, _)| path.clone())
        .collect();
    assert_eq!(asked, ["/other", "/other/-/2.0.0.tgz"]);
    assert_eq!(world.read("node_modules/shared/index.js"), "shared");
    let tools = package("npm:@own/tools");
    world.installer().remove(&tools).await.unwrap();
    let left: Vec<String> = world.tree();
    assert_eq!(
        left,
        [
            ".gitignore",
            "node_modules/other/package.json",
            "node_modules/shared/index.js",
            "node_modules/shared/package.json",
            "package-lock.json",
            "package.json"
        ]
    );
}

#[tokio::test]
async fn updates_follow_the_source() {
    let world = World::new();
    for version in ["1.0.0", "1.1.0"] {
        world
            .registry
            .publish("moving", version, &json!({}), &[("v.txt", version)]);
    }
    world.install("npm:moving@1.0.0").await.unwrap();
    assert_eq!(world.read("node_modules/moving/v.txt"), "1.0.0");
    let pinned = [package("npm:moving@1.0.0")];
    let ranged = [package("npm:moving@~1.0")];
    let loose = [package("npm:moving")];
    let installer = world.installer();
    assert!(installer.outdated(&pinned).await.is_empty());
    assert!(installer.outdated(&ranged).await.is_empty());
    assert_eq!(installer.outdated(&loose).await, loose);
    installer.update(&pinned).await.unwrap();
    installer.update(&ranged).await.unwrap();
    assert_eq!(world.read("node_modules/moving/v.txt"), "1.0.0");
    installer.update(&loose).await.unwrap();
    assert_eq!(world.read("node_modules/moving/v.txt"), "1.1.0");
}

#[tokio::test]
async fn a_failed_install_changes_nothing() {
    let world = World::new();
    shelves(&world);
    world.install("npm:@own/tools").await.unwrap();
    let before = (world.tree(), world.read("package.json"));
    let registry = &world.registry;
    registry.publish(
        "broken",
        "1.0.0",
        &json!({"dependencies": {"nowhere": "1"}}),
        &[],
    );
    registry.publish("changed", "1.0.0", &json!({}), &[]);
    registry.tamper("changed", "1.0.0");
    registry.publish_archive("rubbish", "1.0.0", Map::new(), b"not an archive".to_vec());
    let climbing = archive(&[("../../../climbed".to_owned(), "x".to_owned())]);
    registry.publish_archive("climbing", "1.0.0", Map::new(), climbing);
    for (source, expected) in [
        ("npm:broken", "the registry has no package nowhere"),
        (
            "npm:changed",
            "the archive of changed@1.0.0 does not match its checksum",
        ),
        ("npm:rubbish", "the archive of rubbish@1.0.0 is refused"),
        ("npm:climbing", "the archive of climbing@1.0.0 is refused"),
        ("npm:missing", "the registry has no package missing"),
        ("npm:shared@^9", "no version of shared matches ^9"),
    ] {
        let error = world.install(source).await.unwrap_err().to_string();
        assert!(error.starts_with(expected), "{source}: {error}");
        assert_eq!(
            (world.tree(), world.read("package.json")),
            before,
            "{source}"
        );
    }
    assert!(!world.path("agent/climbed").exists());
    assert!(!world.path("agent/npm/climbed").exists());
}

#[tokio::test]
async fn bundled_and_optional_dependencies() {
    let world = World::new();
    let registry = &world.registry;
    registry.publish(
        "bundle",
        "1.0.0",
        &json!({
            "dependencies": {"inside": "1", "outside": "1"}, "bundleDependencies": ["inside"],
            "optionalDependencies": {"elsewhere": "1", "gone": "1"},
        }),
        &[(
            "node_modules/inside/package.json",
            r#"{"name": "inside", "version": "1.0.0", "dependencies": {"needed": "1"}}"#,
        )],
    );
    registry.publish("outside", "1.0.0", &json!({}), &[]);
    registry.publish("needed", "1.0.0", &json!({}), &[]);
    registry.publish("elsewhere", "1.0.0", &json!({"os": ["nowhere"]}), &[]);
    world.install("npm:bundle").await.unwrap();
    let packages: Vec<String> = world
        .tree()
        .into_iter()
        .filter(|path| path.ends_with("/package.json"))
        .collect();
    assert_eq!(
        packages,
        [
            "node_modules/bundle/node_modules/inside/package.json",
            "node_modules/bundle/package.json",
            "node_modules/needed/package.json",
            "node_modules/outside/package.json"
        ]
    );
}

#[tokio::test]
async fn the_token_goes_to_its_registry_and_nowhere_else() {
    let world = World::new();
    let private = pi_test_support::NpmRegistry::start();
    private.require_token("s3cret");
    private.publish(
        "@own/hidden",
        "1.0.0",
        &json!({"dependencies": {"open": "1"}}),
        &[],
    );
    world.registry.publish("open", "1.0.0", &json!({}), &[]);
    world.home.write(
        ".npmrc",
        format!(
            "registry={}\n@own:registry={}\n{}:_authToken=${{OWN_TOKEN}}\n",
            world.registry.url(),
            private.url(),
            private.place()
        ),
    );
    let error = world.install("npm:@own/hidden").await.unwrap_err();
    assert!(
        matches!(error, PackageError::Refused { status: 401, .. }),
        "{error}"
    );
    let mut world = world;
    world
        .variables
        .insert("OWN_TOKEN".to_owned(), "s3cret".to_owned());
    world.install("npm:@own/hidden").await.unwrap();
    assert!(
        world
            .tree()
            .contains(&"node_modules/open/package.json".to_owned())
    );
    assert!(
        world
            .registry
            .requests()
            .iter()
            .all(|(_, shown)| shown.is_none())
    );
}

#[tokio::test]
async fn a_project_has_its_own_packages_and_registry() {
    let world = World::new();
    let own = pi_test_support::NpmRegistry::start();
    own.publish("local-only", "1.0.0", &json!({}), &[]);
    world
        .home
        .write("project/.npmrc", format!("registry={}\n", own.url()));
    assert!(world.install("npm:local-only").await.is_err());
    let mut wanted = package("npm:local-only");
    wanted.scope = SourceScope::Project;
    world.installer().install(&wanted).await.unwrap();
    assert!(
        world
            .path("project/.pi/npm/node_modules/local-only")
            .is_dir()
    );
    let ignored = fs::read_to_string(world.path("project/.pi/npm/.gitignore")).unwrap();
    assert_eq!(ignored, "*\n!.gitignore\n");
}

#[cfg(unix)]
#[tokio::test]
async fn scripts_run_only_where_they_are_allowed() {
    let world = World::new();
    let scripts = json!({"scripts": {"postinstall": "echo $npm_package_name > ran"}});
    world.registry.publish("eager", "1.0.0", &scripts, &[]);
    world.install("npm:eager").await.unwrap();
    assert!(!world.path("agent/npm/node_modules/eager/ran").exists());
    assert_eq!(
        *world.notes.lock().unwrap(),
        ["install scripts were not run: eager; --allow-scripts eager runs them"]
    );
    world.registry.publish("eager", "1.1.0", &scripts, &[]);
    let eager = package("npm:eager");
    world.allowing("eager").install(&eager).await.unwrap();
    assert_eq!(world.read("node_modules/eager/ran"), "eager\n");
    let failing = json!({"scripts": {"install": "echo no good >&2; exit 3"}});
    world.registry.publish("eager", "1.2.0", &failing, &[]);
    let error = world.allowing("eager").install(&eager).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the install script of eager failed: no good"
    );
    assert_eq!(world.read("node_modules/eager/ran"), "eager\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn two_installs_at_once_both_succeed() {
    let world = World::new();
    shelves(&world);
    world.registry.publish("slow", "1.0.0", &json!({}), &[]);
    world.registry.hold("slow", "1.0.0");
    let (installer, other) = (world.installer(), world.installer());
    let first = tokio::spawn(async move { installer.install(&package("npm:slow")).await });
    let registry = &world.registry;
    tokio::task::block_in_place(|| registry.asked("/slow/-/1.0.0.tgz"));
    let second = tokio::spawn(async move { other.install(&package("npm:other")).await });
    registry.let_go();
    first.await.unwrap().unwrap();
    second.await.unwrap().unwrap();
    let manifest: Value = serde_json::from_str(&world.read("package.json")).unwrap();
    assert_eq!(
        manifest["dependencies"],
        json!({"other": "^2.0.0", "slow": "^1.0.0"})
    );
    for name in ["slow", "other", "shared"] {
        let path = format!("agent/npm/node_modules/{name}/package.json");
        assert!(world.path(&path).exists(), "{name}");
    }
}

#[cfg(unix)]
#[tokio::test]
async fn the_users_own_package_manager_is_used_instead() {
    let world = World::new();
    let script = world
        .home
        .write("manager.sh", "#!/bin/sh\necho \"$@\" >> \"$0.log\"\n");
    let installer = PackageInstaller::new(InstallerOptions {
        npm_command: Some(vec!["sh".to_owned(), script.to_string_lossy().into_owned()]),
        ..world.options()
    });
    let wanted = package("npm:@s/a@^1");
    installer.install(&wanted).await.unwrap();
    installer.remove(&wanted).await.unwrap();
    let root = world.path("agent/npm");
    let root = root.display();
    assert_eq!(
        world.home.read("manager.sh.log"),
        format!(
            "install @s/a@^1 --prefix {root} --legacy-peer-deps\n\
             uninstall @s/a --prefix {root} --legacy-peer-deps\n"
        )
    );
    assert!(world.registry.requests().is_empty());
}

#[tokio::test]
async fn offline_nothing_is_asked() {
    let mut world = World::new();
    shelves(&world);
    world
        .variables
        .insert("PI_OFFLINE".to_owned(), "1".to_owned());
    let error = world.install("npm:other").await.unwrap_err();
    assert!(matches!(error, PackageError::Offline { .. }), "{error}");
    let used: Vec<UsedPackage> = vec![package("npm:other"), package("git:h.x/o/r")];
    world.installer().update(&used).await.unwrap();
    assert!(world.installer().outdated(&used).await.is_empty());
    assert!(world.registry.requests().is_empty());
}

#[tokio::test]
async fn without_a_registry_the_user_is_told_which_line_to_add() {
    let world = World::new();
    world.home.write(".npmrc", "");
    let error = world.install("npm:x").await.unwrap_err();
    // A build may name a registry of its own, which is not reached from here.
    if option_env!("PI_NPM_REGISTRY").is_none() {
        assert!(matches!(error, PackageError::NoRegistry), "{error}");
        assert!(error.hints()[0].contains("registry=URL"));
    }
}
