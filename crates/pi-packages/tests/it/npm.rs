//! npm packages.

use std::fs;

use pi_packages::{ConfiguredPackage, InstallerOptions, PackageError, PackageInstaller};
use pi_protocol::SourceScope;
use pi_test_support::npm_archive;
use pretty_assertions::assert_eq;
use serde_json::{Map, Value, json};

use crate::test_env::{PackageTestEnv, addresses, package, temporary};

fn publish_packages(env: &PackageTestEnv) {
    let registry = &env.registry;
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
async fn installs_a_package_with_dependencies() {
    let env = PackageTestEnv::new();
    publish_packages(&env);
    env.install("npm:@own/tools").await.unwrap();
    assert_eq!(env.read("node_modules/@own/tools/index.js"), "tools");
    assert_eq!(env.read("node_modules/shared/index.js"), "shared");
    assert_eq!(
        env.read("node_modules/old/node_modules/shared/index.js"),
        "ancient"
    );
    if cfg!(unix) {
        assert!(env.read("node_modules/.bin/tools").starts_with("#!"));
    }
    let manifest: Value = serde_json::from_str(&env.read("package.json")).unwrap();
    assert_eq!(
        manifest,
        json!({"name": "pi-extensions", "private": true, "dependencies": {"@own/tools": "^1.0.0"}})
    );
    let lock: Value = serde_json::from_str(&env.read("package-lock.json")).unwrap();
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
async fn second_package_does_not_change_the_first() {
    let env = PackageTestEnv::new();
    publish_packages(&env);
    env.install("npm:@own/tools").await.unwrap();
    let before = env.registry.requests().len();
    env.install("npm:other").await.unwrap();
    let asked: Vec<String> = env.registry.requests()[before..]
        .iter()
        .map(|(path, _)| path.clone())
        .collect();
    assert_eq!(asked, ["/other", "/other/-/2.0.0.tgz"]);
    assert_eq!(env.read("node_modules/shared/index.js"), "shared");
    let tools = package("npm:@own/tools");
    env.installer().remove(&tools).await.unwrap();
    let left: Vec<String> = env.tree();
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

/// The registry serves other bytes under a version that was installed before, with a matching checksum.
#[tokio::test]
async fn the_lock_file_applies_to_every_fetch() {
    let env = PackageTestEnv::new();
    publish_packages(&env);
    env.install("npm:@own/tools").await.unwrap();
    let lock = env.read("package-lock.json");
    let contents = [("index.js", "replaced")];
    env.registry
        .publish("shared", "1.2.0", &json!({}), &contents);
    fs::remove_dir_all(env.path("agent/npm/node_modules")).unwrap();
    let error = env.install("npm:@own/tools").await.unwrap_err();
    assert!(
        matches!(&error, PackageError::Integrity(package) if package == "shared@1.2.0"),
        "{error}"
    );
    assert!(!env.path("agent/npm/node_modules").exists());
    assert_eq!(env.read("package-lock.json"), lock);
    // A package that is installed anew has no entry in the lock file.
    fs::remove_file(env.path("agent/npm/package-lock.json")).unwrap();
    env.install("npm:@own/tools").await.unwrap();
    assert_eq!(env.read("node_modules/shared/index.js"), "replaced");
}

#[tokio::test]
async fn updates_follow_the_source() {
    let env = PackageTestEnv::new();
    for version in ["1.0.0", "1.1.0"] {
        env.registry
            .publish("moving", version, &json!({}), &[("v.txt", version)]);
    }
    env.install("npm:moving@1.0.0").await.unwrap();
    assert_eq!(env.read("node_modules/moving/v.txt"), "1.0.0");
    let pinned = [package("npm:moving@1.0.0")];
    let ranged = [package("npm:moving@~1.0")];
    let loose = [package("npm:moving")];
    let installer = env.installer();
    assert!(installer.outdated(&pinned).await.is_empty());
    assert!(installer.outdated(&ranged).await.is_empty());
    assert_eq!(installer.outdated(&loose).await, loose);
    installer.update(&pinned).await.unwrap();
    installer.update(&ranged).await.unwrap();
    assert_eq!(env.read("node_modules/moving/v.txt"), "1.0.0");
    installer.update(&loose).await.unwrap();
    assert_eq!(env.read("node_modules/moving/v.txt"), "1.1.0");
}

#[tokio::test]
async fn failed_install_changes_nothing() {
    let env = PackageTestEnv::new();
    publish_packages(&env);
    env.install("npm:@own/tools").await.unwrap();
    let before = (env.tree(), env.read("package.json"));
    let registry = &env.registry;
    registry.publish(
        "broken",
        "1.0.0",
        &json!({"dependencies": {"nowhere": "1"}}),
        &[],
    );
    registry.publish("changed", "1.0.0", &json!({}), &[]);
    registry.tamper("changed", "1.0.0");
    registry.publish_archive("rubbish", "1.0.0", Map::new(), b"not an archive".to_vec());
    let climbing = npm_archive(&[("../../../climbed".to_owned(), "x".to_owned())]);
    registry.publish_archive("climbing", "1.0.0", Map::new(), climbing);
    for (source, expected) in [
        ("npm:broken", "package not found in the registry: nowhere"),
        ("npm:changed", "checksum mismatch: changed@1.0.0"),
        ("npm:rubbish", "unsafe archive: rubbish@1.0.0"),
        ("npm:climbing", "unsafe archive: climbing@1.0.0"),
        ("npm:missing", "package not found in the registry: missing"),
        ("npm:shared@^9", "no version of shared matches ^9"),
    ] {
        let error = env.install(source).await.unwrap_err().to_string();
        assert!(error.starts_with(expected), "{source}: {error}");
        assert_eq!((env.tree(), env.read("package.json")), before, "{source}");
    }
    assert!(!env.path("agent/climbed").exists());
    assert!(!env.path("agent/npm/climbed").exists());
}

#[tokio::test]
async fn bundled_and_optional_dependencies() {
    let env = PackageTestEnv::new();
    let registry = &env.registry;
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
    env.install("npm:bundle").await.unwrap();
    let packages: Vec<String> = env
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
async fn token_is_only_sent_to_its_registry() {
    let env = PackageTestEnv::new();
    let private = pi_test_support::FakeNpmRegistry::start();
    private.require_token("s3cret");
    private.publish(
        "@own/hidden",
        "1.0.0",
        &json!({"dependencies": {"open": "1"}}),
        &[],
    );
    env.registry.publish("open", "1.0.0", &json!({}), &[]);
    env.home.write(
        ".npmrc",
        format!(
            "registry={}\n@own:registry={}\n{}:_authToken=${{OWN_TOKEN}}\n",
            env.registry.url(),
            private.url(),
            private.npmrc_prefix()
        ),
    );
    let error = env.install("npm:@own/hidden").await.unwrap_err();
    assert!(
        matches!(error, PackageError::HttpStatus { status: 401, .. }),
        "{error}"
    );
    let mut env = env;
    env.variables
        .insert("OWN_TOKEN".to_owned(), "s3cret".to_owned());
    env.install("npm:@own/hidden").await.unwrap();
    assert!(
        env.tree()
            .contains(&"node_modules/open/package.json".to_owned())
    );
    assert!(
        env.registry
            .requests()
            .iter()
            .all(|(_, shown)| shown.is_none())
    );
}

#[tokio::test]
async fn project_has_its_own_packages_and_registry() {
    let env = PackageTestEnv::new();
    let own = pi_test_support::FakeNpmRegistry::start();
    own.publish("local-only", "1.0.0", &json!({}), &[]);
    env.home
        .write("project/.npmrc", format!("registry={}\n", own.url()));
    assert!(env.install("npm:local-only").await.is_err());
    let mut local = package("npm:local-only");
    local.scope = SourceScope::Project;
    env.installer().install(&local).await.unwrap();
    assert!(env.path("project/.pi/npm/node_modules/local-only").is_dir());
    let ignored = fs::read_to_string(env.path("project/.pi/npm/.gitignore")).unwrap();
    assert_eq!(ignored, "*\n!.gitignore\n");
}

#[cfg(unix)]
#[tokio::test]
async fn scripts_run_only_if_allowed() {
    let env = PackageTestEnv::new();
    let scripts = json!({"scripts": {"postinstall": "echo $npm_package_name > ran"}});
    env.registry.publish("eager", "1.0.0", &scripts, &[]);
    env.install("npm:eager").await.unwrap();
    assert!(!env.path("agent/npm/node_modules/eager/ran").exists());
    assert_eq!(
        *env.notes.lock().unwrap(),
        ["skipped install scripts of eager; to run them, use --allow-scripts eager"]
    );
    env.registry.publish("eager", "1.1.0", &scripts, &[]);
    let eager = package("npm:eager");
    env.allowing("eager").install(&eager).await.unwrap();
    assert_eq!(env.read("node_modules/eager/ran"), "eager\n");
    let failing = json!({"scripts": {"install": "echo no good >&2; exit 3"}});
    env.registry.publish("eager", "1.2.0", &failing, &[]);
    let error = env.allowing("eager").install(&eager).await.unwrap_err();
    assert_eq!(error.to_string(), "install script of eager failed: no good");
    assert_eq!(env.read("node_modules/eager/ran"), "eager\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_installs_both_succeed() {
    let env = PackageTestEnv::new();
    publish_packages(&env);
    env.registry.publish("slow", "1.0.0", &json!({}), &[]);
    env.registry.block_archive("slow", "1.0.0");
    let (installer, other) = (env.installer(), env.installer());
    let first = tokio::spawn(async move { installer.install(&package("npm:slow")).await });
    let registry = &env.registry;
    tokio::task::block_in_place(|| registry.wait_for_request("/slow/-/1.0.0.tgz"));
    let second = tokio::spawn(async move { other.install(&package("npm:other")).await });
    registry.unblock_archives();
    first.await.unwrap().unwrap();
    second.await.unwrap().unwrap();
    let manifest: Value = serde_json::from_str(&env.read("package.json")).unwrap();
    assert_eq!(
        manifest["dependencies"],
        json!({"other": "^2.0.0", "slow": "^1.0.0"})
    );
    for name in ["slow", "other", "shared"] {
        let path = format!("agent/npm/node_modules/{name}/package.json");
        assert!(env.path(&path).exists(), "{name}");
    }
}

#[cfg(unix)]
#[tokio::test]
async fn external_package_manager_is_used() {
    let env = PackageTestEnv::new();
    let script = env
        .home
        .write("manager.sh", "#!/bin/sh\necho \"$@\" >> \"$0.log\"\n");
    let installer = PackageInstaller::new(InstallerOptions {
        npm_command: Some(vec!["sh".to_owned(), script.to_string_lossy().into_owned()]),
        ..env.options()
    });
    let package = package("npm:@s/a@^1");
    installer.install(&package).await.unwrap();
    installer.remove(&package).await.unwrap();
    let root = env.path("agent/npm");
    let root = root.display();
    assert_eq!(
        env.home.read("manager.sh.log"),
        format!(
            "install @s/a@^1 --prefix {root} --legacy-peer-deps --no-audit --no-fund\n\
             uninstall @s/a --prefix {root} --legacy-peer-deps --no-audit --no-fund\n"
        )
    );
    assert!(env.registry.requests().is_empty());
}

#[cfg(unix)]
#[tokio::test]
async fn an_update_without_effect_is_reported() {
    let env = PackageTestEnv::new();
    env.registry.publish("moving", "1.0.0", &json!({}), &[]);
    env.install("npm:moving").await.unwrap();
    env.registry.publish("moving", "1.1.0", &json!({}), &[]);
    let script = env.home.write("manager.sh", "exit 0\n");
    let stale = PackageInstaller::new(InstallerOptions {
        npm_command: Some(vec!["sh".to_owned(), script.to_string_lossy().into_owned()]),
        ..env.options()
    });
    stale.update(&[package("npm:moving")]).await.unwrap();
    let notes = env.notes.lock().unwrap().join("\n");
    assert!(
        notes.contains("npm:moving is still 1.0.0, although the registry has 1.1.0"),
        "{notes}"
    );
    env.notes.lock().unwrap().clear();
    env.installer()
        .update(&[package("npm:moving")])
        .await
        .unwrap();
    assert!(
        env.read("node_modules/moving/package.json")
            .contains("1.1.0")
    );
    assert!(env.notes.lock().unwrap().is_empty());
}

#[tokio::test]
async fn temporary_packages_are_refreshed() {
    let env = PackageTestEnv::new();
    let publish = |version: &str| {
        let files = [("v.txt", version)];
        env.registry.publish("moving", version, &json!({}), &files);
    };
    let installer = env.installer();
    let version_of = |source: &str| {
        let package = temporary(source);
        let dir = env.installed_at(&package);
        fs::read_to_string(dir.join("v.txt")).unwrap()
    };
    publish("1.0.0");
    for source in ["npm:moving@1.0.0", "npm:moving@^1", "npm:moving"] {
        installer.install(&temporary(source)).await.unwrap();
    }
    assert!(!installer.refresh(&addresses(&["npm:moving"])).await);
    publish("1.1.0");
    publish("2.0.0");
    assert!(!installer.refresh(&addresses(&["npm:moving@1.0.0"])).await);
    assert_eq!(version_of("npm:moving"), "1.0.0");
    assert!(installer.refresh(&addresses(&["npm:moving@^1"])).await);
    assert_eq!(version_of("npm:moving"), "1.1.0");
    assert!(installer.refresh(&addresses(&["npm:moving"])).await);
    assert_eq!(version_of("npm:moving"), "2.0.0");
    // A failed check keeps the copy.
    assert!(!installer.refresh(&addresses(&["npm:moving@nowhere"])).await);
    assert_eq!(version_of("npm:moving"), "2.0.0");
}

#[tokio::test]
async fn offline_makes_no_requests() {
    let mut env = PackageTestEnv::new();
    publish_packages(&env);
    env.variables
        .insert("PI_OFFLINE".to_owned(), "1".to_owned());
    let error = env.install("npm:other").await.unwrap_err();
    assert!(matches!(error, PackageError::Offline { .. }), "{error}");
    let used: Vec<ConfiguredPackage> = vec![package("npm:other"), package("git:h.x/o/r")];
    env.installer().update(&used).await.unwrap();
    assert!(env.installer().outdated(&used).await.is_empty());
    assert!(env.registry.requests().is_empty());
}

#[tokio::test]
async fn missing_registry_error_has_a_hint() {
    let env = PackageTestEnv::new();
    env.home.write(".npmrc", "");
    let error = env.install("npm:x").await.unwrap_err();
    // The build may have a default registry, which is not reachable from here.
    if option_env!("PI_NPM_REGISTRY").is_none() {
        assert!(matches!(error, PackageError::NoRegistry), "{error}");
        assert!(error.hints()[0].contains("registry=URL"));
    }
}
