//! Settings files that are links, pipes, directories, or not what they should be.

use std::os::unix::fs::{PermissionsExt, symlink};

use pretty_assertions::assert_eq;

use super::*;

#[test]
fn a_linked_file_stays_a_link_and_keeps_its_mode() {
    let setup = Setup::new();
    let real = setup.home.write("dotfiles.json", "{\"theme\": \"dark\"}");
    fs::set_permissions(&real, fs::Permissions::from_mode(0o600)).unwrap();
    let link = setup.home.path().join("agent/settings.json");
    symlink("../dotfiles.json", &link).unwrap();
    let store = setup.open(ProjectAccess::Trusted);
    store
        .update(ConfigScope::User, |it| it.theme = Some("x".to_owned()))
        .unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(setup.home.read("dotfiles.json"), "{\n  \"theme\": \"x\"\n}");
    assert_eq!(
        fs::metadata(&real).unwrap().permissions().mode() & 0o777,
        0o600
    );
}

/// Puts something where a settings file should be.
type Creator<'a> = &'a dyn Fn(&Path);

#[test]
fn what_is_no_settings_file_is_reported_and_has_no_effect() {
    let deep = format!("{}1{}", "{\"a\":".repeat(100_000), "}".repeat(100_000));
    let large = format!("{{\"theme\": \"{}\"}}", "x".repeat(10 << 20));
    let cases: [(&str, Creator<'_>); 7] = [
        ("it is not a regular file", &|path| {
            rustix::fs::mknodat(
                rustix::fs::CWD,
                path,
                rustix::fs::FileType::Fifo,
                rustix::fs::Mode::RWXU,
                0,
            )
            .unwrap();
        }),
        ("it is not a regular file", &|path| {
            fs::create_dir(path).unwrap();
        }),
        ("it is not a regular file", &|path| {
            symlink("/dev/zero", path).unwrap();
        }),
        ("it is larger than 4 MiB", &|path| {
            put(path, large.as_bytes());
        }),
        ("recursion limit exceeded", &|path| {
            put(path, deep.as_bytes());
        }),
        ("it is not UTF-8 text", &|path| {
            put(path, b"{\"theme\": \"\xff\"}");
        }),
        (
            "control character (\\u0000-\\u001F) found while parsing a string",
            &|path| put(path, b"{\"theme\": \"da\0rk\"}"),
        ),
    ];
    for (expected, create) in cases {
        for scope in [ConfigScope::User, ConfigScope::Project] {
            let setup = Setup::new();
            let file = match scope {
                ConfigScope::User => setup.home.path().join("agent/settings.json"),
                ConfigScope::Project => setup.home.path().join("project/.pi/settings.json"),
            };
            create(&file);
            let store = setup.open(ProjectAccess::Trusted);
            assert_eq!(*store.settings(), Settings::default(), "{expected}");
            let reported = problems(&store);
            assert!(
                matches!(reported.as_slice(), [one] if one.starts_with("settings file FILE is ignored: ") && one.ends_with(expected)),
                "{expected}: {reported:?}"
            );
            let result = store.update(scope, |it| it.theme = Some("x".to_owned()));
            assert!(matches!(result, Err(SettingsError::Unreadable { .. })));
        }
    }
}

fn put(path: &Path, content: &[u8]) {
    pi_config::atomic_file::write(path, content, pi_config::atomic_file::NewFileMode::Default)
        .unwrap();
}

#[test]
fn a_link_in_the_place_of_dot_pi_is_not_followed_before_trust() {
    let setup = Setup::new();
    fs::remove_dir(setup.home.path().join("project/.pi")).unwrap();
    fs::create_dir(setup.home.path().join("elsewhere")).unwrap();
    setup
        .home
        .write("elsewhere/settings.json", "{\"theme\": \"evil\"}");
    symlink("../elsewhere", setup.home.path().join("project/.pi")).unwrap();
    let store = setup.open(ProjectAccess::Denied);
    assert_eq!(*store.settings(), Settings::default());
    assert_eq!(setup.names("elsewhere"), ["settings.json"]);
    let endless = setup.home.path().join("loop");
    symlink("loop", &endless).unwrap();
    let agent_dir = AgentDir::at(&endless);
    let store = SettingsStore::open(&agent_dir, &endless, ProjectAccess::Trusted);
    assert_eq!(*store.settings(), Settings::default());
    assert_eq!(problems(&store).len(), 2);
}

#[test]
fn many_wrong_keys_give_few_messages() {
    let wrong: serde_json::Map<String, Value> = (0..10_000)
        .map(|index| (format!("p/{index}"), json!(index)))
        .collect();
    let setup =
        Setup::new().user(json!({"modelThinkingLevels": wrong, "theme": "dark"}).to_string());
    let store = setup.open(ProjectAccess::Trusted);
    assert_eq!(store.settings().theme.as_deref(), Some("dark"));
    let reported = problems(&store);
    assert_eq!(reported.len(), 11);
    assert_eq!(
        reported.last().unwrap(),
        "settings file FILE: 9990 more keys are ignored"
    );
}
