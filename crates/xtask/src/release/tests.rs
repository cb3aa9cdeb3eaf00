use std::io::Write as _;
use std::process::{Output, Stdio};

use pi_test_support::write_program;
use pretty_assertions::assert_eq;
use tempfile::TempDir;

use super::*;
use crate::file_server::{serve, serve_truncated};

/// A program that behaves like pi as far as packages need it.
fn fake_pi(directory: &Path, version: &str) -> PathBuf {
    let path = directory.join("fake-pi");
    let script = format!(
        "#!/bin/sh\ncase \"$*\" in\n\
         '--version --verbose') printf 'pi 1\\nrelease {version}\\n' ;;\n\
         *) echo \"$*\" ;;\nesac\n"
    );
    write_program(&path, script);
    path
}

fn key() -> SigningKey {
    SigningKey::generate().unwrap().1
}

/// A release for this machine, and the directory of its files.
struct TestRelease {
    directory: TempDir,
    tag: String,
    archive: String,
}

impl TestRelease {
    fn new(key: &SigningKey) -> Self {
        let directory = TempDir::new().unwrap();
        let packages = directory.path().join("packages");
        let binary = fake_pi(directory.path(), &pi_env::release());
        let platform = platforms::of_this_machine().unwrap();
        // install.sh chooses the second one if the system has no recent glibc.
        let musl = format!("{}-musl", platform.name);
        for platform in PLATFORMS
            .iter()
            .filter(|it| **it == *platform || it.name == musl)
        {
            package(&PackageOptions {
                binary: binary.clone(),
                target: Some(platform.target.to_owned()),
                out: packages.clone(),
            })
            .unwrap();
        }
        let release = Self {
            directory,
            tag: format!("v{}", ReleaseVersion::current().tag()),
            archive: platform.archive(),
        };
        release.sign(key).unwrap();
        release
    }

    fn sign(&self, key: &SigningKey) -> Result<String> {
        let options = ReleaseOptions {
            packages: self.path(""),
            releases: "https://example.com/pi/releases".to_owned(),
            notes: None,
        };
        write_release(&options, key)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join("packages").join(name)
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// Returns the files as a release page serves them.
    fn served(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut files = BTreeMap::new();
        for entry in fs::read_dir(self.directory.path().join("packages")).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap();
            let content = fs::read(&path).unwrap();
            for place in ["latest/download", &format!("download/{}", self.tag)] {
                files.insert(Path::new(place).join(name), content.clone());
            }
        }
        files
    }
}

#[test]
fn the_list_of_a_release_has_one_line_per_platform() {
    let release = Release {
        version: ReleaseVersion("1.5.0+rs.2".to_owned()),
        releases: "https://example.com/releases".to_owned(),
        notes: Some("Faster \"starts\".".to_owned()),
        platforms: vec![PackagedPlatform {
            platform: &PLATFORMS[0],
            sha256: "ab".to_owned(),
        }],
    };
    let feed = release.feed();
    assert_eq!(
        feed,
        "{\n  \"version\": \"1.5.0+rs.2\",\n  \"notes\": \"Faster \\\"starts\\\".\",\n  \"programs\": {\n    \
         \"linux-x86_64\": {\"url\": \"https://example.com/releases/download/v1.5.0-rs.2/pi-x86_64-unknown-linux-gnu.tar.gz\", \
         \"sha256\": \"ab\"}\n  }\n}\n"
    );
    let parsed: Value = serde_json::from_str(&feed).unwrap();
    assert_eq!(parsed["programs"]["linux-x86_64"]["sha256"], "ab");
}

#[test]
fn definitions_have_the_address_and_checksum_of_each_archive() {
    let releases = "https://example.com/pi/releases";
    let release = Release {
        version: ReleaseVersion::current(),
        releases: releases.to_owned(),
        notes: None,
        platforms: PLATFORMS
            .iter()
            .map(|platform| PackagedPlatform {
                platform,
                sha256: sha256(platform.target.as_bytes()),
            })
            .collect(),
    };
    let files = templates::render_all(&release, &key()).unwrap();
    for (file, targets) in [
        (
            "pi.rb",
            &[
                "x86_64-apple-darwin",
                "aarch64-apple-darwin",
                "x86_64-unknown-linux-musl",
            ][..],
        ),
        (
            "PKGBUILD",
            &["x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"],
        ),
        (
            "package.nix",
            &["aarch64-apple-darwin", "aarch64-unknown-linux-musl"],
        ),
    ] {
        for target in targets {
            let platform = platforms::of_target(target).unwrap();
            assert!(
                files[file].contains(&release.address(&platform.archive())),
                "{file} {target}"
            );
            assert!(
                files[file].contains(&sha256(target.as_bytes())),
                "{file} {target}"
            );
        }
    }
    assert!(files["install.sh"].contains(releases));
    check_with("shellcheck", &["-"], &files["install.sh"]);
    check_with("shellcheck", &["-"], &files["PKGBUILD"]);
    check_with("ruby", &["-c"], &files["pi.rb"]);
    for file in ["package.nix", "flake.nix"] {
        check_with("nix-instantiate", &["--parse", "-"], &files[file]);
    }
}

/// Passes text to a program that checks it; does nothing if it is not installed.
fn check_with(program: &str, arguments: &[&str], text: &str) {
    let child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let Ok(mut child) = child else {
        let message = format!("skipped: {program} is not installed\n");
        std::io::stderr().write_all(message.as_bytes()).unwrap();
        return;
    };
    let mut input = child.stdin.take().unwrap();
    input.write_all(text.as_bytes()).unwrap();
    drop(input);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{program}: {output:?}");
}

#[test]
fn the_version_for_cargo_binstall_is_that_of_the_source() {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("../pi/Cargo.toml");
    let manifest = fs::read_to_string(manifest).unwrap();
    let tag = format!("/download/v{{ version }}-rs.{}/", pi_env::RELEASE_NUMBER);
    assert!(manifest.contains(&tag), "{tag}");
}

#[test]
fn a_release_is_signed_only_with_the_key_of_its_binaries() {
    let key = key();
    let public = key.public_key();
    assert!(check_public_key(&key, Some(&format!("{public}\n"))).is_ok());
    let other = self::key().public_key();
    for (built_with, message) in [
        (None, "PI_RELEASE_KEY is not set"),
        (Some(""), "PI_RELEASE_KEY is not set"),
        (Some(other.as_str()), "which is not the signing key's"),
    ] {
        let error = check_public_key(&key, built_with).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
        assert!(error.contains(&format!("hint: build with PI_RELEASE_KEY={public}")));
    }
}

#[test]
fn packages_for_node_have_the_version_of_the_source() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let manifest = |path: &str| -> Value {
        serde_json::from_slice(&fs::read(root.join(path)).unwrap()).unwrap()
    };
    let main = manifest("packages/node/package.json");
    assert_eq!(main["version"], pi_env::VERSION);
    let platforms = main["optionalDependencies"].as_object().unwrap();
    assert_eq!(platforms.len(), 6);
    for (name, version) in platforms {
        assert_eq!(version, pi_env::VERSION, "{name}");
        let platform = name.trim_start_matches("@pi-native/coding-agent-");
        let package = manifest(&format!("packages/node/npm/{platform}/package.json"));
        assert_eq!(package["version"], pi_env::VERSION, "{name}");
        assert_eq!(package["name"], **name);
    }
    let editors = manifest("editors/acp-registry/pi/agent.json");
    assert_eq!(editors["version"], pi_env::VERSION);
}

#[cfg(unix)]
#[test]
fn packages_are_reproducible_and_contain_everything() {
    let directory = TempDir::new().unwrap();
    let binary = fake_pi(directory.path(), &pi_env::release());
    let packaged_at = |name: &str| {
        let out = directory.path().join(name);
        package(&PackageOptions {
            binary: binary.clone(),
            target: Some("x86_64-unknown-linux-gnu".to_owned()),
            out: out.clone(),
        })
        .unwrap();
        out
    };
    let (one, other) = (packaged_at("one"), packaged_at("other"));
    let archive = "pi-x86_64-unknown-linux-gnu.tar.gz";
    let deb = format!("pi_{}_amd64.deb", ReleaseVersion::current().tag());
    for name in [archive, &deb] {
        assert!(
            fs::read(one.join(name)).unwrap() == fs::read(other.join(name)).unwrap(),
            "{name}"
        );
    }
    let listed = Command::new("tar")
        .arg("-tzf")
        .arg(one.join(archive))
        .output()
        .unwrap();
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    for file in ["pi", "VERSION", "completions/_pi", "man/pi.1", "LICENSE"] {
        let path = format!("pi-x86_64-unknown-linux-gnu/{file}\n");
        assert!(listed.contains(&path), "{listed}");
    }
    let Ok(info) = Command::new("dpkg-deb")
        .arg("--info")
        .arg(one.join(&deb))
        .output()
    else {
        return;
    };
    assert!(info.status.success(), "{info:?}");
    let contents = Command::new("dpkg-deb")
        .arg("--contents")
        .arg(one.join(&deb))
        .output()
        .unwrap();
    let contents = String::from_utf8_lossy(&contents.stdout).into_owned();
    // dpkg creates no directory that has no entry.
    for directory in [" usr/bin/\n", " usr/share/fish/vendor_completions.d/\n"] {
        assert!(contents.contains(directory), "{contents}");
    }
    let unpacked = directory.path().join("unpacked");
    let status = Command::new("dpkg-deb")
        .arg("-x")
        .arg(one.join(&deb))
        .arg(&unpacked)
        .status();
    assert!(status.unwrap().success());
    assert_eq!(
        fs::read(unpacked.join("usr/bin/pi")).unwrap(),
        fs::read(&binary).unwrap()
    );
    assert!(unpacked.join("usr/share/man/man1/pi.1.gz").exists());
}

#[test]
fn a_binary_of_another_version_is_not_packaged() {
    let directory = TempDir::new().unwrap();
    let binary = fake_pi(directory.path(), "0.1.0+rs.1");
    if cfg!(unix) {
        let error = ReleaseVersion::of(&binary).unwrap_err().to_string();
        assert!(error.contains("reports release 0.1.0+rs.1"), "{error}");
    }
}

#[cfg(unix)]
#[test]
fn packages_of_another_version_are_not_signed() {
    let release = TestRelease::new(&key());
    let refuse = |path: &Path, content: &[u8], message: &str| {
        let before = fs::read(path).ok();
        replace(path, content);
        let error = format!("{:#}", release.sign(&key()).unwrap_err());
        assert!(error.contains(message), "{error}");
        match before {
            Some(before) => replace(path, &before),
            None => fs::remove_file(path).unwrap(),
        }
        release.sign(&key()).unwrap();
    };
    let pi = packaged("pi", 0o755, b"pi".to_vec());
    let version = packaged("VERSION", 0o644, b"0.1.0+rs.1\n".to_vec());
    let path = release.path(&release.archive);
    let other = archive("pi-platform", &[pi.clone(), version]).unwrap();
    refuse(&path, &other, "it contains pi 0.1.0+rs.1");
    let unknown = archive("pi-platform", &[pi]).unwrap();
    refuse(&path, &unknown, "it has no file VERSION");
    let deb = release.path("pi_0.1.0-rs.1_amd64.deb");
    refuse(&deb, b"", "remove packages of other versions");
}

fn replace(path: &Path, content: &[u8]) {
    atomic_file::write(path, content, NewFileMode::Default).unwrap();
}

/// An attempt to install a release.
#[cfg(unix)]
struct Installation {
    home: TempDir,
    script: PathBuf,
    shell: &'static str,
    /// Replaces the search path.
    path: Option<PathBuf>,
}

#[cfg(unix)]
impl Installation {
    fn new(release: &TestRelease, shell: &'static str) -> Self {
        Self {
            home: TempDir::new().unwrap(),
            script: release.path("install.sh"),
            shell,
            path: None,
        }
    }

    fn run(&self, releases: &str, arguments: &[&str]) -> Output {
        let mut command = Command::new(self.shell);
        command
            .arg(&self.script)
            .args(arguments)
            .env("HOME", self.home.path())
            .env("PI_RELEASES", releases)
            .env_remove("PI_INSTALL_DIR")
            // Proxies of the environment do not reach the loopback interface.
            .env("no_proxy", "*");
        if let Some(path) = &self.path {
            command.env("PATH", path);
        }
        command.output().unwrap()
    }

    fn binary(&self) -> PathBuf {
        self.home.path().join(".local/bin/pi")
    }

    /// Puts a pi of a version in place.
    fn put(&self, version: &str) {
        let directory = self.binary();
        let directory = directory.parent().unwrap();
        fs::create_dir_all(directory).unwrap();
        fs::rename(fake_pi(directory, version), self.binary()).unwrap();
    }

    /// Fails unless the run failed with a message, and left what was installed and nothing else.
    fn expect_failure(&self, output: &Output, message: &str) {
        let problems = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success(), "{output:?}");
        assert!(problems.contains(message), "{problems}");
        let directory = self.binary();
        let left: Vec<_> = fs::read_dir(directory.parent().unwrap())
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        assert_eq!(left, ["pi"], "{problems}");
        let version = Command::new(self.binary())
            .args(["--version", "--verbose"])
            .output()
            .unwrap();
        assert!(String::from_utf8_lossy(&version.stdout).contains("1.0.0+rs.1"));
    }
}

#[cfg(unix)]
#[test]
fn the_installer_verifies_and_replaces() {
    let key = key();
    let release = TestRelease::new(&key);
    let address = serve(release.served());
    for shell in ["sh", "dash", "bash"] {
        if !has(shell) {
            continue;
        }
        let installation = Installation::new(&release, shell);
        installation.put("1.0.0+rs.1");
        let output = installation.run(&address, &[]);
        assert!(output.status.success(), "{shell}: {output:?}");
        assert!(
            ReleaseVersion::of(&installation.binary()).is_ok(),
            "{shell}"
        );
        let names = fs::read_dir(installation.binary().parent().unwrap()).unwrap();
        assert_eq!(names.count(), 1, "{shell}");
    }
    let elsewhere = Installation::new(&release, "sh");
    let directory = elsewhere.home.path().join("with blanks");
    let tag = release.tag.trim_start_matches('v');
    let to = directory.to_str().unwrap();
    let output = elsewhere.run(&address, &["--to", to, "--version", tag]);
    assert!(output.status.success(), "{output:?}");
    assert!(directory.join("pi").exists());
    let output = elsewhere.run(&address, &["--too"]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("unknown argument --too"));
}

#[cfg(unix)]
fn has(program: &str) -> bool {
    Command::new(program).args(["-c", ":"]).output().is_ok()
}

#[cfg(unix)]
#[test]
fn the_installer_changes_nothing_if_anything_is_wrong() {
    let key = key();
    let release = TestRelease::new(&key);
    let latest = |name: &str| PathBuf::from(format!("latest/download/{name}"));
    let archives: Vec<PathBuf> = release
        .served()
        .into_keys()
        .filter(|path| path.starts_with("download") && path.to_string_lossy().ends_with(".tar.gz"))
        .collect();
    let attempt = |files: BTreeMap<PathBuf, Vec<u8>>, truncated: Option<&str>, message: &str| {
        let installation = Installation::new(&release, "sh");
        installation.put("1.0.0+rs.1");
        let output = installation.run(&serve_truncated(files, truncated), &[]);
        installation.expect_failure(&output, message);
    };
    // The list was changed after it was signed, or signed by another key.
    let mut files = release.served();
    let feed = release.read(FEED).replace("1.5.0", "9.9.9");
    files.insert(latest(FEED), feed.clone().into_bytes());
    attempt(
        files.clone(),
        None,
        "the signature of the release is invalid",
    );
    let other = SigningKey::generate().unwrap().1;
    files.insert(
        latest("release.json.sig"),
        other.sign(feed.as_bytes()).into_bytes(),
    );
    attempt(files, None, "the signature of the release is invalid");
    // The archive is another one, incomplete or missing.
    let mut files = release.served();
    for archive in &archives {
        files.insert(archive.clone(), b"other".to_vec());
    }
    attempt(files.clone(), None, "the checksum of");
    for archive in &archives {
        files.remove(archive);
    }
    attempt(files, None, "cannot download");
    let archive = format!("download/{}/{}", release.tag, release.archive);
    attempt(release.served(), Some(&archive), "cannot download");
}

#[cfg(unix)]
#[test]
fn the_installer_refuses_a_binary_of_another_release() {
    let key = key();
    let release = TestRelease::new(&key);
    let old = fs::read(fake_pi(release.directory.path(), "1.4.0+rs.7")).unwrap();
    let version = format!("{}\n", pi_env::release());
    let files = [
        packaged("pi", 0o755, old),
        packaged("VERSION", 0o644, version.into_bytes()),
    ];
    for platform in &PLATFORMS {
        let path = release.path(&platform.archive());
        if path.exists() {
            replace(&path, &archive(&platform.stem(), &files).unwrap());
        }
    }
    release.sign(&key).unwrap();
    let installation = Installation::new(&release, "sh");
    installation.put("1.0.0+rs.1");
    let output = installation.run(&serve(release.served()), &[]);
    installation.expect_failure(&output, "contains pi 1.4.0+rs.7 instead of");
}

#[cfg(unix)]
#[test]
fn the_installer_refuses_to_downgrade() {
    let key = key();
    let release = TestRelease::new(&key);
    let address = serve(release.served());
    let number = pi_env::RELEASE_NUMBER;
    for (installed, is_newer) in [
        (format!("{}+rs.{}", pi_env::VERSION, number + 9), true),
        ("1.50.0+rs.1".to_owned(), true),
        ("1.4.9+rs.99".to_owned(), false),
        (pi_env::release(), false),
    ] {
        let installation = Installation::new(&release, "sh");
        installation.put(&installed);
        let output = installation.run(&address, &[]);
        assert_eq!(
            output.status.success(),
            !is_newer,
            "{installed}: {output:?}"
        );
        if is_newer {
            let problems = String::from_utf8_lossy(&output.stderr);
            assert!(problems.contains("is newer"), "{problems}");
            let output = installation.run(&address, &["--allow-downgrade"]);
            assert!(output.status.success(), "{output:?}");
        }
    }
}

#[cfg(unix)]
#[test]
fn openssh_verifies_where_openssl_cannot() {
    const TOOLS: [&str; 22] = [
        "awk",
        "cat",
        "chmod",
        "curl",
        "cut",
        "env",
        "find",
        "getconf",
        "grep",
        "gzip",
        "head",
        "mkdir",
        "mktemp",
        "mv",
        "rm",
        "sed",
        "sh",
        "sha256sum",
        "shasum",
        "tar",
        "tr",
        "uname",
    ];
    let key = key();
    let release = TestRelease::new(&key);
    let tools = TempDir::new().unwrap();
    let search = std::env::var_os("PATH").unwrap();
    let find = |tool: &str| {
        std::env::split_paths(&search)
            .map(|it| it.join(tool))
            .find(|it| it.is_file())
    };
    let Some(_) = find("ssh-keygen") else { return };
    for tool in TOOLS.iter().chain(&["ssh-keygen"]) {
        if let Some(path) = find(tool) {
            std::os::unix::fs::symlink(path, tools.path().join(tool)).unwrap();
        }
    }
    let with_ssh = || Installation {
        path: Some(tools.path().to_owned()),
        ..Installation::new(&release, "/bin/sh")
    };
    let output = with_ssh().run(&serve(release.served()), &[]);
    assert!(output.status.success(), "{output:?}");
    let mut files = release.served();
    let feed = release.read(FEED).replace("1.5.0", "9.9.9");
    files.insert("latest/download/release.json".into(), feed.into_bytes());
    let installation = with_ssh();
    installation.put("1.0.0+rs.1");
    let output = installation.run(&serve(files.clone()), &[]);
    installation.expect_failure(&output, "the signature of the release is invalid");
    fs::remove_file(tools.path().join("ssh-keygen")).unwrap();
    let output = installation.run(&serve(files), &[]);
    installation.expect_failure(&output, "cannot verify the signature");
}
