//! Migration of files from earlier versions, by one and by several concurrent processes.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Barrier;

use pi_config::{AgentDir, run_project_migrations, run_startup_migrations};
use pi_protocol::DiagnosticLevel;
use pi_test_support::TempHome;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

/// Returns every file under a directory with its content.
fn files(dir: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut dirs = vec![dir.to_owned()];
    while let Some(next) = dirs.pop() {
        for entry in fs::read_dir(&next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                dirs.push(path);
            } else {
                let name = path.strip_prefix(dir).unwrap().display().to_string();
                found.insert(name, fs::read_to_string(&path).unwrap());
            }
        }
    }
    found
}

/// An agent directory of an early version.
fn early_home() -> (TempHome, AgentDir) {
    let home = TempHome::new();
    let agent = home.path().join("agent");
    for dir in ["commands", "tools", "hooks"] {
        fs::create_dir_all(agent.join(dir)).unwrap();
    }
    home.write(
        "agent/oauth.json",
        json!({"anthropic": {"refresh": "r", "access": "a", "expires": 5}}).to_string(),
    );
    home.write(
        "agent/settings.json",
        json!({"theme": "dark", "apiKeys": {"anthropic": "old", "openai": "sk"}, "zeta": 1})
            .to_string(),
    );
    home.write(
        "agent/stray.jsonl",
        "{\"type\":\"session\",\"cwd\":\"/home/me/a:b\",\"id\":\"1\"}\n{\"type\":\"message\"}\n",
    );
    home.write("agent/notes.jsonl", "{\"type\":\"note\"}\n");
    home.write("agent/commands/fix.md", "fix it");
    home.write("agent/tools/rg", "program");
    home.write("agent/tools/mine.ts", "tool");
    home.write("agent/tools/.hidden", "");
    home.write(
        "agent/keybindings.json",
        "{\"submit\": \"enter\", \"other\": 1, \"tui.input.tab\": \"tab\", \"tab\": \"x\"}",
    );
    let agent_dir = AgentDir::at(agent);
    (home, agent_dir)
}

fn migrated() -> BTreeMap<String, String> {
    let auth = json!({
        "anthropic": {"type": "oauth", "refresh": "r", "access": "a", "expires": 5},
        "openai": {"type": "api_key", "key": "sk"},
    });
    [
        ("auth.json", pretty(&auth)),
        (
            "oauth.json.migrated",
            json!({"anthropic": {"refresh": "r", "access": "a", "expires": 5}}).to_string(),
        ),
        ("settings.json", pretty(&json!({"theme": "dark", "zeta": 1}))),
        (
            "sessions/--home-me-a-b--/stray.jsonl",
            "{\"type\":\"session\",\"cwd\":\"/home/me/a:b\",\"id\":\"1\"}\n{\"type\":\"message\"}\n"
                .to_owned(),
        ),
        ("notes.jsonl", "{\"type\":\"note\"}\n".to_owned()),
        ("prompts/fix.md", "fix it".to_owned()),
        ("bin/rg", "program".to_owned()),
        ("tools/mine.ts", "tool".to_owned()),
        ("tools/.hidden", String::new()),
        (
            "keybindings.json",
            "{\n  \"tui.input.submit\": \"enter\",\n  \"other\": 1,\n  \"tui.input.tab\": \"tab\"\n}\n"
                .to_owned(),
        ),
    ]
    .into_iter()
    .map(|(name, content)| (name.to_owned(), content))
    .collect()
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap()
}

#[test]
fn migration_is_complete_and_idempotent() {
    let (home, agent_dir) = early_home();
    let report = run_startup_migrations(&agent_dir);
    assert_eq!(files(agent_dir.path()), migrated());
    let warnings: Vec<_> = report
        .iter()
        .filter(|it| it.level == DiagnosticLevel::Warning)
        .map(|it| it.path.clone().unwrap())
        .collect();
    assert_eq!(
        warnings,
        [
            agent_dir.path().join("hooks"),
            agent_dir.path().join("tools")
        ]
    );
    // The second run reports only warnings.
    let again = run_startup_migrations(&agent_dir);
    assert_eq!(again.len(), 2);
    assert_eq!(files(agent_dir.path()), migrated());
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = fs::metadata(agent_dir.auth_file()).unwrap().permissions();
        assert_eq!(mode.mode() & 0o777, 0o600);
    }
    drop(home);
}

#[test]
fn concurrent_starts_lose_nothing() {
    for _ in 0..10 {
        let (_home, agent_dir) = early_home();
        let barrier = Barrier::new(4);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    barrier.wait();
                    run_startup_migrations(&agent_dir);
                });
            }
        });
        assert_eq!(files(agent_dir.path()), migrated());
    }
}

#[test]
fn empty_auth_file_does_not_prevent_migration() {
    let (home, agent_dir) = early_home();
    home.write("agent/auth.json", "{}");
    run_startup_migrations(&agent_dir);
    assert_eq!(files(agent_dir.path()), migrated());
}

#[test]
fn existing_credentials_are_not_migrated() {
    for auth in [
        "{\"x\": {\"type\": \"api_key\", \"key\": \"k\"}}",
        "{ broken",
    ] {
        let (home, agent_dir) = early_home();
        home.write("agent/auth.json", auth);
        let settings = home.read("agent/settings.json");
        run_startup_migrations(&agent_dir);
        assert_eq!(home.read("agent/auth.json"), auth);
        assert_eq!(home.read("agent/settings.json"), settings);
        assert!(agent_dir.path().join("oauth.json").exists());
    }
}

#[test]
fn locked_auth_file_is_left_for_the_next_start() {
    let (_home, agent_dir) = early_home();
    let lock = agent_dir.path().join("auth.json.lock");
    fs::create_dir(&lock).unwrap();
    run_startup_migrations(&agent_dir);
    assert!(!agent_dir.auth_file().exists());
    assert!(agent_dir.path().join("oauth.json").exists());
    fs::remove_dir(&lock).unwrap();
    run_startup_migrations(&agent_dir);
    assert_eq!(files(agent_dir.path()), migrated());
}

#[test]
fn existing_targets_are_not_overwritten() {
    let (home, agent_dir) = early_home();
    for dir in ["prompts", "bin", "sessions/--home-me-a-b--"] {
        fs::create_dir_all(agent_dir.path().join(dir)).unwrap();
    }
    home.write("agent/bin/rg", "newer");
    home.write("agent/oauth.json.migrated", "earlier");
    home.write("agent/sessions/--home-me-a-b--/stray.jsonl", "other");
    run_startup_migrations(&agent_dir);
    let files = files(agent_dir.path());
    assert_eq!(files["bin/rg"], "newer");
    assert_eq!(files["oauth.json.migrated"], "earlier");
    assert!(files.contains_key("oauth.json") && files.contains_key("auth.json"));
    assert_eq!(files["tools/rg"], "program");
    assert_eq!(files["commands/fix.md"], "fix it");
    assert_eq!(files["sessions/--home-me-a-b--/stray.jsonl"], "other");
    assert!(files.contains_key("stray.jsonl"));
}

#[test]
fn unreadable_files_are_unchanged() {
    let home = TempHome::new();
    fs::create_dir(home.path().join("agent")).unwrap();
    for (name, content) in [
        ("oauth.json", "{ broken"),
        ("settings.json", "nothing"),
        ("keybindings.json", "[]"),
        ("empty.jsonl", ""),
        ("odd.jsonl", "{\"type\":\"session\",\"cwd\":7}\n"),
    ] {
        home.write(&format!("agent/{name}"), content);
    }
    let agent_dir = AgentDir::at(home.path().join("agent"));
    let before = files(agent_dir.path());
    let report = run_startup_migrations(&agent_dir);
    assert_eq!(files(agent_dir.path()), before);
    assert_eq!(report.len(), 1, "{report:?}");
}

#[test]
fn nothing_to_migrate() {
    let home = TempHome::new();
    let agent_dir = AgentDir::at(home.path().join("missing"));
    assert_eq!(run_startup_migrations(&agent_dir), []);
    assert!(!agent_dir.path().exists());
}

#[test]
fn project_templates_are_migrated() {
    let home = TempHome::new();
    fs::create_dir_all(home.path().join("project/.pi/commands")).unwrap();
    home.write("project/.pi/commands/fix.md", "fix it");
    let report = run_project_migrations(&home.path().join("project"));
    assert_eq!(report.len(), 1);
    assert_eq!(home.read("project/.pi/prompts/fix.md"), "fix it");
    assert_eq!(run_project_migrations(home.path()), []);
}

#[cfg(unix)]
#[test]
fn pipe_instead_of_file_does_not_block_startup() {
    let home = TempHome::new();
    for name in ["oauth.json", "settings.json", "keybindings.json", "s.jsonl"] {
        rustix::fs::mknodat(
            rustix::fs::CWD,
            home.path().join(name),
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RWXU,
            0,
        )
        .unwrap();
    }
    let report = run_startup_migrations(&AgentDir::at(home.path()));
    assert_eq!(report.len(), 1, "{report:?}");
}
