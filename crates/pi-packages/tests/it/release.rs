//! Self-update from a signed feed.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::time::{Duration, SystemTime};

use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair as _};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use pi_env::Env;
use pi_packages::{PackageError, ReleaseFeed};
use pi_test_support::{ScriptedReply, ScriptedServer, TempHome};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

const OLD: &str = "1.5.0+rs.1";
const NEW: &str = "1.5.0+rs.2";

fn program(version: &str) -> String {
    format!(
        "#!/bin/sh\n[ \"$*\" = '--version --verbose' ] && printf 'pi 1.5.0\\nrelease {version}\\n'\n"
    )
}

/// The servers of a feed and its executable.
struct Servers(
    #[expect(dead_code, reason = "they serve as long as they live")] [ScriptedServer; 2],
);

fn ok(body: impl Into<Vec<u8>>) -> ScriptedReply {
    ScriptedReply::full(200, &[], body.into())
}

/// Serves a signed feed for `content`. `served` is the actual download; `twist`
/// modifies the feed after signing.
async fn channel(
    content: &str,
    served: &str,
    twist: impl Fn(&mut Value),
) -> (ReleaseFeed, Servers) {
    channel_of("pi", content.as_bytes(), served.as_bytes(), twist).await
}

/// The same for a download with a file name.
async fn channel_of(
    file: &str,
    content: &[u8],
    served: &[u8],
    twist: impl Fn(&mut Value),
) -> (ReleaseFeed, Servers) {
    let key = Ed25519KeyPair::generate().unwrap();
    let programs = ScriptedServer::start([ok(served)]).await;
    let digest = Sha256::digest(content);
    let digest = digest.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap();
        text
    });
    let platform = format!("{}-{}", std::env::consts::OS, std::env::consts::ARCH);
    let mut feed = json!({
        "version": NEW, "notes": "Faster.",
        "programs": {platform: {"url": format!("{}/{file}", programs.url()), "sha256": digest}},
    });
    let signature = STANDARD.encode(key.sign(feed.to_string().as_bytes()).as_ref());
    twist(&mut feed);
    let feeds = ScriptedServer::start([ok(feed.to_string()), ok(signature)]).await;
    let public = STANDARD.encode(key.public_key().as_ref());
    let address = format!("{}/feed.json", feeds.url());
    let env = Env::fixed([("HOME", "/nowhere")]);
    let channel = ReleaseFeed::new(&address, &public, env, None).unwrap();
    (channel, Servers([programs, feeds]))
}

fn installed(home: &TempHome) -> std::path::PathBuf {
    let path = home.write("bin/pi", program(OLD));
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

#[tokio::test]
async fn signed_release_replaces_the_executable() {
    let home = TempHome::new();
    let path = installed(&home);
    let (channel, _server) = channel(&program(NEW), &program(NEW), |_| {}).await;
    let news = channel.latest().await.unwrap();
    assert_eq!(
        (news.version.as_str(), news.notes.as_deref()),
        (NEW, Some("Faster."))
    );
    assert!(news.is_newer_than(OLD));
    channel.install(&news, &path, OLD).await.unwrap();
    assert_eq!(home.read("bin/pi"), program(NEW));
    assert_eq!(fs::read_dir(home.path().join("bin")).unwrap().count(), 1);
    assert_eq!(
        fs::metadata(&path).unwrap().permissions().mode() & 0o777,
        0o755
    );
}

#[tokio::test]
async fn modified_feed_is_rejected() {
    let (channel, _server) = channel(&program(NEW), &program(NEW), |feed| {
        feed["version"] = json!("9.9.9");
    })
    .await;
    let error = channel.latest().await.unwrap_err();
    assert_eq!(error.to_string(), "invalid signature of the release feed");
}

#[tokio::test]
async fn invalid_executable_changes_nothing() {
    for (content, served) in [
        // The download differs from the signed content.
        (program(NEW), program("evil")),
        // The signed executable does not report the expected version.
        (program("another"), program("another")),
        ("not a program".to_owned(), "not a program".to_owned()),
    ] {
        let home = TempHome::new();
        let path = installed(&home);
        let (channel, _servers) = channel(&content, &served, |_| {}).await;
        let news = channel.latest().await.unwrap();
        let error = channel.install(&news, &path, OLD).await.unwrap_err();
        assert!(!matches!(error, PackageError::Network { .. }), "{error}");
        assert_eq!(home.read("bin/pi"), program(OLD), "{error}");
        assert_eq!(fs::read_dir(home.path().join("bin")).unwrap().count(), 1);
    }
}

#[tokio::test]
async fn older_releases_and_managed_executables_are_rejected() {
    let home = TempHome::new();
    let (channel, _server) = channel(&program(NEW), &program(NEW), |_| {}).await;
    let news = channel.latest().await.unwrap();
    let path = installed(&home);
    let error = channel
        .install(&news, &path, "1.6.0+rs.1")
        .await
        .unwrap_err();
    assert!(error.to_string().contains("older than"), "{error}");
    let managed = home.write("lib/node_modules/pi/pi", program(OLD));
    let error = channel.install(&news, &managed, OLD).await.unwrap_err();
    assert!(error.to_string().contains("package manager"), "{error}");
}

/// Returns an archive as releases have it.
fn archive(path: &str, program: &str) -> Vec<u8> {
    let encoder = GzEncoder::new(Vec::new(), Compression::default());
    let mut builder = tar::Builder::new(encoder);
    for (path, content) in [("pi-1/completions/_pi", "other"), (path, program)] {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_mode(0o755);
        builder
            .append_data(&mut header, path, content.as_bytes())
            .unwrap();
    }
    builder.into_inner().unwrap().finish().unwrap()
}

#[tokio::test]
async fn the_executable_is_taken_from_the_archive() {
    let home = TempHome::new();
    let path = installed(&home);
    let content = archive("pi-1/pi", &program(NEW));
    let (channel, _servers) = channel_of("pi.tar.gz", &content, &content, |_| {}).await;
    let news = channel.latest().await.unwrap();
    channel.install(&news, &path, OLD).await.unwrap();
    assert_eq!(home.read("bin/pi"), program(NEW));
}

#[tokio::test]
async fn damaged_archives_change_nothing() {
    let complete = archive("pi-1/pi", &program(NEW));
    for content in [
        archive("pi-1/readme", &program(NEW)),
        complete[..complete.len() / 2].to_vec(),
        b"no archive".to_vec(),
    ] {
        let home = TempHome::new();
        let path = installed(&home);
        let (channel, _servers) = channel_of("pi.tar.gz", &content, &content, |_| {}).await;
        let news = channel.latest().await.unwrap();
        channel.install(&news, &path, OLD).await.unwrap_err();
        assert_eq!(home.read("bin/pi"), program(OLD));
        assert_eq!(fs::read_dir(home.path().join("bin")).unwrap().count(), 1);
    }
}

#[tokio::test]
async fn partial_updates_are_removed_once_they_are_old() {
    let home = TempHome::new();
    let path = installed(&home);
    let old = home.write("bin/.pi-update-0000000000000001", "partial");
    let day_ago = SystemTime::now() - Duration::from_hours(24);
    let file = fs::File::options().write(true).open(&old).unwrap();
    file.set_modified(day_ago).unwrap();
    let running = home.write("bin/.pi-update-0000000000000002", "partial");
    let (channel, _servers) = channel(&program(NEW), &program(NEW), |_| {}).await;
    let news = channel.latest().await.unwrap();
    channel.install(&news, &path, OLD).await.unwrap();
    assert!(!old.exists());
    assert!(running.exists());
    assert_eq!(home.read("bin/pi"), program(NEW));
}
