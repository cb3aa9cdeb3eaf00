//! Settings files that are symlinks, pipes, directories or malformed.

use std::os::unix::fs::{PermissionsExt, symlink};

use pretty_assertions::assert_eq;

use super::*;

#[test]
fn symlink_and_mode_are_preserved() {
    let env = SettingsTestEnv::new();
    let real = env.home.write("dotfiles.json", "{\"theme\": \"dark\"}");
    fs::set_permissions(&real, fs::Permissions::from_mode(0o600)).unwrap();
    let link = env.home.path().join("agent/settings.json");
    symlink("../dotfiles.json", &link).unwrap();
    let store = env.open(ProjectAccess::Trusted);
    store
        .update(ConfigScope::User, |it| it.theme = Some("x".to_owned()))
        .unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(env.home.read("dotfiles.json"), "{\n  \"theme\": \"x\"\n}");
    assert_eq!(
        fs::metadata(&real).unwrap().permissions().mode() & 0o777,
        0o600
    );
}

/// Creates something in place of a settings file.
type Creator<'a> = &'a dyn Fn(&Path);

#[test]
fn invalid_settings_file_is_reported_and_ignored() {
    let deep = format!("{}1{}", "{\"a\":".repeat(100_000), "}".repeat(100_000));
    let large = format!("{{\"theme\": \"{}\"}}", "x".repeat(10 << 20));
    let cases: [(&str, Creator<'_>); 7] = [
        ("not a regular file", &|path| {
            rustix::fs::mknodat(
                rustix::fs::CWD,
                path,
                rustix::fs::FileType::Fifo,
                rustix::fs::Mode::RWXU,
                0,
            )
            .unwrap();
        }),
        ("not a regular file", &|path| {
            fs::create_dir(path).unwrap();
        }),
        ("not a regular file", &|path| {
            symlink("/dev/zero", path).unwrap();
        }),
        ("larger than 4 MiB", &|path| {
            put(path, large.as_bytes());
        }),
        ("recursion limit exceeded", &|path| {
            put(path, deep.as_bytes());
        }),
        ("not valid UTF-8", &|path| {
            put(path, b"{\"theme\": \"\xff\"}");
        }),
        (
            "control character (\\u0000-\\u001F) found while parsing a string",
            &|path| put(path, b"{\"theme\": \"da\0rk\"}"),
        ),
    ];
    for (expected, create) in cases {
        for scope in [ConfigScope::User, ConfigScope::Project] {
            let env = SettingsTestEnv::new();
            let file = match scope {
                ConfigScope::User => env.home.path().join("agent/settings.json"),
                ConfigScope::Project => env.home.path().join("project/.pi/settings.json"),
            };
            create(&file);
            let store = env.open(ProjectAccess::Trusted);
            assert_eq!(*store.settings(), Settings::default(), "{expected}");
            let reported = problems(&store);
            assert!(
                matches!(reported.as_slice(), [one] if one.starts_with("cannot read settings: FILE: ") && one.contains(expected)),
                "{expected}: {reported:?}"
            );
            // What restricts the model may be in a file of the user that is not read.
            let is_unknown = scope == ConfigScope::User && expected.starts_with("larger");
            assert_eq!(
                store.invalid_restriction().is_some(),
                is_unknown,
                "{expected}"
            );
            let result = store.update(scope, |it| it.theme = Some("x".to_owned()));
            assert!(matches!(result, Err(SettingsError::Unreadable { .. })));
        }
    }
}

fn put(path: &Path, content: &[u8]) {
    pi_fs::atomic_file::write(path, content, pi_fs::NewFileMode::Default).unwrap();
}

#[test]
fn symlinked_dot_pi_is_not_followed_before_trust() {
    let env = SettingsTestEnv::new();
    fs::remove_dir(env.home.path().join("project/.pi")).unwrap();
    fs::create_dir(env.home.path().join("elsewhere")).unwrap();
    env.home
        .write("elsewhere/settings.json", "{\"theme\": \"evil\"}");
    symlink("../elsewhere", env.home.path().join("project/.pi")).unwrap();
    let store = env.open(ProjectAccess::Denied);
    assert_eq!(*store.settings(), Settings::default());
    assert_eq!(env.names("elsewhere"), ["settings.json"]);
    let endless = env.home.path().join("loop");
    symlink("loop", &endless).unwrap();
    let agent_dir = AgentDir::at(&endless);
    let store = SettingsStore::open(&agent_dir, &endless, ProjectAccess::Trusted);
    assert_eq!(*store.settings(), Settings::default());
    assert_eq!(problems(&store).len(), 2);
}

#[test]
fn invalid_keys_are_reported_up_to_a_limit() {
    let wrong: serde_json::Map<String, Value> = (0..10_000)
        .map(|index| (format!("p/{index}"), json!(index)))
        .collect();
    let env = SettingsTestEnv::new()
        .user(json!({"modelThinkingLevels": wrong, "theme": "dark"}).to_string());
    let store = env.open(ProjectAccess::Trusted);
    assert_eq!(store.settings().theme.as_deref(), Some("dark"));
    let reported = problems(&store);
    assert_eq!(reported.len(), 11);
    assert_eq!(
        reported.last().unwrap(),
        "FILE: ignoring 9990 more invalid settings"
    );
}
