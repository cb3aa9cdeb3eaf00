//! Git packages; `insteadOf` maps their URLs to local directories.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use pi_packages::PackageError;
use pretty_assertions::assert_eq;
use serde_json::json;

use crate::test_env::{PackageTestEnv, addresses, listing, package, temporary};

/// A repository with the source `h.x/o/NAME`.
struct Repository(PathBuf);

impl Repository {
    /// Creates the repository and maps its URL to it in the test's git configuration.
    fn create(env: &PackageTestEnv, name: &str) -> Self {
        let dir = env.path("served").join(name);
        fs::create_dir_all(&dir).unwrap();
        let own = Self(dir);
        own.git(&["init", "--quiet", "--initial-branch=main"]);
        own
    }

    fn git(&self, args: &[&str]) -> String {
        let output = Command::new("git")
            .args(["-c", "user.name=t", "-c", "user.email=t@example.com"])
            .args(args)
            .current_dir(&self.0)
            .output()
            .unwrap();
        assert!(output.status.success(), "{args:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    fn commit(&self, files: &[(&str, &str)]) -> String {
        for (path, content) in files {
            let path = self.0.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            let mut file = fs::File::create(path).unwrap();
            file.write_all(content.as_bytes()).unwrap();
        }
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--message", "x"]);
        self.git(&["rev-parse", "HEAD"])
    }

    /// Serves the repositories with `git daemon`, if it is installed.
    fn daemon(env: &PackageTestEnv) -> Option<Daemon> {
        let port = {
            let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
            free.local_addr().unwrap().port()
        };
        // Start the daemon's executable directly: `git daemon` runs it as a child, which survives a kill.
        let programs = Command::new("git").arg("--exec-path").output().unwrap();
        let programs = String::from_utf8(programs.stdout).unwrap();
        let program = Path::new(programs.trim()).join("git-daemon");
        if !program.exists() {
            return None;
        }
        let process = Command::new(program)
            .args(["--reuseaddr", "--export-all", "--listen=127.0.0.1"])
            .arg(format!("--port={port}"))
            .arg(format!("--base-path={}", env.path("served").display()))
            .arg(env.path("served"))
            .spawn()
            .unwrap();
        let daemon = Daemon { process, port };
        // Wait until it accepts connections.
        while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
            std::thread::yield_now();
        }
        Some(daemon)
    }
}

struct Daemon {
    process: std::process::Child,
    port: u16,
}

impl Daemon {
    fn source(&self, name: &str) -> String {
        format!("git://127.0.0.1:{}/o/{name}", self.port)
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        self.process.kill().ok();
        self.process.wait().ok();
    }
}

fn checkout_dir(env: &PackageTestEnv, name: &str) -> PathBuf {
    env.path("agent/git/127.0.0.1/o").join(name)
}

fn read(env: &PackageTestEnv, path: &str) -> String {
    fs::read_to_string(checkout_dir(env, "tools").join(path)).unwrap()
}

#[tokio::test]
async fn installs_and_updates_a_repository_with_dependencies() {
    let env = PackageTestEnv::new();
    env.registry
        .publish("dep", "1.0.0", &json!({}), &[("v.txt", "dep 1")]);
    let manifest = json!({
        "name": "tools", "dependencies": {"dep": "^1.0.0"}, "devDependencies": {"dev": "1"},
        "peerDependencies": {"@earendil-works/pi-ai": "*"},
    });
    let repository = Repository::create(&env, "o/tools");
    repository.commit(&[("package.json", &manifest.to_string()), ("a.txt", "one")]);
    let Some(daemon) = Repository::daemon(&env) else {
        return;
    };
    let source = daemon.source("tools");
    env.install(&source).await.unwrap();
    assert_eq!(read(&env, "a.txt"), "one");
    assert_eq!(read(&env, "node_modules/dep/v.txt"), "dep 1");
    assert!(
        !checkout_dir(&env, "tools")
            .join("node_modules/@earendil-works")
            .exists()
    );

    let installer = env.installer();
    let used = [package(&source)];
    assert!(installer.outdated(&used).await.is_empty());
    repository.commit(&[("a.txt", "two")]);
    assert_eq!(installer.outdated(&used).await.len(), 1);
    installer.update(&used).await.unwrap();
    assert_eq!(read(&env, "a.txt"), "two");
    assert_eq!(read(&env, "node_modules/dep/v.txt"), "dep 1");
    assert!(installer.outdated(&used).await.is_empty());

    // An update whose dependencies cannot be installed does not change the checkout.
    let broken = json!({"name": "tools", "dependencies": {"gone": "1"}}).to_string();
    repository.commit(&[("package.json", &broken), ("a.txt", "three")]);
    let error = installer.update(&used).await.unwrap_err();
    assert!(matches!(error, PackageError::UnknownPackage(_)), "{error}");
    assert_eq!(read(&env, "a.txt"), "two");
    let siblings: Vec<_> = fs::read_dir(checkout_dir(&env, "tools").parent().unwrap())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(siblings, ["tools"]);

    installer.remove(&package(&source)).await.unwrap();
    assert_eq!(listing(&env.path("agent/git")), [".gitignore"]);
    assert!(!env.path("agent/git/127.0.0.1").exists());
}

#[tokio::test]
async fn refs_are_branches_tags_and_commits() {
    let env = PackageTestEnv::new();
    let repository = Repository::create(&env, "o/tools");
    let first = repository.commit(&[("a.txt", "one")]);
    repository.git(&["tag", "v1"]);
    repository.commit(&[("a.txt", "two")]);
    repository.git(&["branch", "next"]);
    repository.commit(&[("a.txt", "three")]);
    let Some(daemon) = Repository::daemon(&env) else {
        return;
    };
    for (reference, expected) in [
        ("v1", "one"),
        ("next", "two"),
        (first.as_str(), "one"),
        ("main", "three"),
    ] {
        let source = format!("{}@{reference}", daemon.source("tools"));
        env.install(&source).await.unwrap();
        assert_eq!(read(&env, "a.txt"), expected, "{reference}");
    }
    let error = env
        .install(&format!("{}@no-such", daemon.source("tools")))
        .await;
    assert!(error.is_err());
    assert_eq!(read(&env, "a.txt"), "three");
}

#[tokio::test]
async fn temporary_checkouts_follow_their_ref() {
    let env = PackageTestEnv::new();
    let repository = Repository::create(&env, "o/tools");
    let first = repository.commit(&[("a.txt", "one")]);
    let Some(daemon) = Repository::daemon(&env) else {
        return;
    };
    let installer = env.installer();
    let source = daemon.source("tools");
    let branch = format!("{source}@main");
    let commit = format!("{source}@{first}");
    let sources = [source.as_str(), &branch, &commit];
    let content = |source: &str| {
        let dir = env.installed_at(&temporary(source));
        fs::read_to_string(dir.join("a.txt")).unwrap()
    };
    for source in sources {
        installer.install(&temporary(source)).await.unwrap();
        assert_eq!(content(source), "one");
    }
    repository.commit(&[("a.txt", "two")]);
    assert!(!installer.refresh(&addresses(&[&commit])).await);
    assert!(installer.refresh(&addresses(&sources)).await);
    assert_eq!(sources.map(content), ["two", "two", "one"]);
    // Without the server the checkouts stay as they are.
    drop(daemon);
    assert!(!installer.refresh(&addresses(&sources)).await);
    assert_eq!(sources.map(content), ["two", "two", "one"]);
}

#[tokio::test]
async fn repository_code_never_runs_or_escapes() {
    let env = PackageTestEnv::new();
    env.registry
        .publish("dep", "1.0.0", &json!({}), &[("v.txt", "dep")]);
    let outside = env.path("outside");
    fs::create_dir_all(&outside).unwrap();
    let repository = Repository::create(&env, "o/tools");
    std::os::unix::fs::symlink(&outside, repository.0.join("node_modules")).unwrap();
    let manifest = json!({
        "name": "tools", "dependencies": {"dep": "1"},
        "scripts": {"postinstall": "touch ran", "prepare": "touch ran"},
    });
    repository.commit(&[
        ("package.json", &manifest.to_string()),
        (
            ".gitmodules",
            "[submodule \"x\"]\n\tpath = x\n\turl = ext::sh -c touch% ran\n",
        ),
    ]);
    let Some(daemon) = Repository::daemon(&env) else {
        return;
    };
    env.install(&daemon.source("tools")).await.unwrap();
    assert_eq!(read(&env, "node_modules/dep/v.txt"), "dep");
    assert_eq!(listing(&outside), Vec::<String>::new());
    let files = listing(&checkout_dir(&env, "tools"));
    assert!(!files.iter().any(|file| file.ends_with("ran")), "{files:?}");
}

#[tokio::test]
async fn repository_cannot_control_the_registry() {
    let mut env = PackageTestEnv::new();
    env.variables
        .insert("OWN_TOKEN".to_owned(), "secret".to_owned());
    let stranger = pi_test_support::FakeNpmRegistry::start();
    for registry in [&env.registry, &stranger] {
        registry.publish("dep", "1.0.0", &json!({}), &[("v.txt", "dep 1")]);
        registry.publish("more", "1.0.0", &json!({}), &[("v.txt", "more 1")]);
    }
    let manifest = |dependencies: serde_json::Value| {
        json!({"name": "tools", "dependencies": dependencies}).to_string()
    };
    let configuration = format!("registry={}/${{OWN_TOKEN}}/\n", stranger.url());
    let repository = Repository::create(&env, "o/tools");
    repository.commit(&[
        ("package.json", &manifest(json!({"dep": "1"}))),
        (".npmrc", &configuration),
    ]);
    let Some(daemon) = Repository::daemon(&env) else {
        return;
    };
    let source = daemon.source("tools");
    env.install(&source).await.unwrap();
    repository.commit(&[("package.json", &manifest(json!({"dep": "1", "more": "1"})))]);
    let used = [package(&source)];
    env.installer().update(&used).await.unwrap();
    assert_eq!(read(&env, "node_modules/more/v.txt"), "more 1");
    assert_eq!(stranger.requests().len(), 0);
}

#[tokio::test]
async fn missing_repository_leaves_nothing_behind() {
    let env = PackageTestEnv::new();
    fs::create_dir_all(env.path("served")).unwrap();
    let Some(daemon) = Repository::daemon(&env) else {
        return;
    };
    let error = env.install(&daemon.source("gone")).await.unwrap_err();
    assert!(matches!(error, PackageError::Command { .. }), "{error}");
    assert_eq!(listing(&env.path("agent/git")), [".gitignore"]);
    assert!(!Path::new(&env.path("agent/git/127.0.0.1")).exists());
}
