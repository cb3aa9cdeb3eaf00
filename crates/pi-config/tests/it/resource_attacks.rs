//! Hostile and corrupted resources.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::time::{Duration, Instant};

use pi_config::{Resources, load_resources};
use pi_protocol::ProjectAccess;
use pretty_assertions::assert_eq;

use crate::resources::ResourceTestEnv;

fn make_pipe(env: &ResourceTestEnv, path: &str) {
    let path = env.root().join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let status = std::process::Command::new("mkfifo").arg(&path).status();
    assert!(status.unwrap().success());
}

fn is_empty(resources: &Resources) -> bool {
    resources.skills.is_empty()
        && resources.prompt_templates.is_empty()
        && resources.themes.is_empty()
        && resources.extensions.is_empty()
        && resources.system_prompt.is_none()
        && resources.append_system_prompt.is_empty()
        && resources.missing_packages.is_empty()
}

#[test]
fn project_files_are_not_opened_before_trust() {
    let mut env = ResourceTestEnv::with(&[("agent/AGENTS.md", "agent")]);
    // Opening any of these would be detected: pipes by their name, a file by its text.
    for path in [
        "project/.pi/SYSTEM.md",
        "project/.pi/APPEND_SYSTEM.md",
        "project/.pi/prompts/p.md",
        "project/.pi/themes/t.json",
        "project/.pi/skills/s/SKILL.md",
        "project/.pi/extensions/package.json",
        "project/.agents/skills/a/SKILL.md",
    ] {
        make_pipe(&env, path);
    }
    env.home.write(
        "project/.pi/skills/real/SKILL.md",
        "---\ndescription: d\n---\n",
    );
    env.home.write("project/.pi/prompts/real.md", "text");
    env.home.write("project/.pi/extensions/real.ts", "");
    env.home.write(
        "project/.pi/themes/real.json",
        r#"{"name": "x", "colors": {}}"#,
    );
    env.home.write(
        "project/.agents/skills/other/SKILL.md",
        "---\ndescription: d\n---\n",
    );
    for project in [ProjectAccess::Undecided, ProjectAccess::Denied] {
        env.project = project;
        let resources = env.load();
        assert!(is_empty(&resources), "{resources:?}");
        assert_eq!(env.messages(&resources), [""; 0]);
    }
    env.project = ProjectAccess::Trusted;
    let resources = env.load();
    assert_eq!(resources.skills.len(), 2);
    assert_eq!(resources.prompt_templates.len(), 1);
}

#[test]
fn pipe_as_system_prompt_does_not_block() {
    let mut env = ResourceTestEnv::with(&[]);
    make_pipe(&env, "project/prompt");
    env.flags.system_prompt = Some("prompt".to_owned());
    env.flags.append_system_prompt = vec!["prompt".to_owned()];
    let resources = env.load();
    assert!(is_empty(&resources), "{resources:?}");
    let messages = env.messages(&resources);
    assert_eq!(messages.len(), 2, "{messages:?}");
    assert!(messages[0].contains("not a regular file"), "{messages:?}");
}

#[test]
fn unreadable_directory_of_untrusted_project_is_not_reported() {
    let mut env = ResourceTestEnv::with(&[
        (
            "project/.pi/skills/s/SKILL.md",
            "---\ndescription: d\n---\n",
        ),
        ("project/.pi/settings.json", r#"{"skills": ["skills"]}"#),
    ]);
    let closed = env.root().join("project/.pi");
    std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o000)).unwrap();
    env.project = ProjectAccess::Denied;
    let resources = env.load();
    std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(env.messages(&resources), [""; 0]);
}

#[test]
fn pipes_instead_of_files_do_not_block() {
    let env = ResourceTestEnv::new();
    for path in [
        "agent/AGENTS.md",
        "agent/SYSTEM.md",
        "agent/skills/s/SKILL.md",
        "agent/skills/.gitignore",
        "agent/prompts/p.md",
        "agent/themes/t.json",
        "agent/extensions/package.json",
        "agent/extensions/e.ts",
        "project/AGENTS.md",
        "project/CLAUDE.md",
        "project/.pi/SYSTEM.md",
    ] {
        make_pipe(&env, path);
    }
    env.home.write("agent/CLAUDE.md", "still read");
    let resources = env.load();
    assert!(is_empty(&resources), "{resources:?}");
    let texts: Vec<&str> = resources
        .context_files
        .iter()
        .filter(|file| file.path.starts_with(env.root()))
        .map(|file| file.content.as_str())
        .collect();
    assert_eq!(texts, ["still read"]);
    assert!(env.messages(&resources).contains(
        &"Warning project/AGENTS.md: skipped context file: not a regular file".to_owned()
    ));
}

#[test]
fn symlink_cycles_are_entered_once() {
    let env =
        ResourceTestEnv::with(&[("agent/skills/a/b/s/SKILL.md", "---\ndescription: d\n---\n")]);
    let skills = env.root().join("agent/skills");
    symlink(&skills, skills.join("a/up")).unwrap();
    symlink("..", skills.join("a/b/back")).unwrap();
    symlink("self", skills.join("self")).unwrap();
    for dir in ["x", "y"] {
        std::fs::create_dir(skills.join(dir)).unwrap();
        for number in 0..20 {
            symlink(&skills, skills.join(format!("{dir}/{number}"))).unwrap();
        }
    }
    let resources = env.load();
    assert_eq!(resources.skills.len(), 1);
    assert_eq!(env.messages(&resources), [""; 0]);
}

#[test]
fn symlink_out_of_project_requires_trust() {
    let mut env = ResourceTestEnv::with(&[("secret/s/SKILL.md", "---\ndescription: d\n---\n")]);
    let root = env.root();
    std::fs::create_dir_all(root.join("project/.pi")).unwrap();
    symlink(root.join("secret"), root.join("project/.pi/skills")).unwrap();
    assert_eq!(env.load().skills.len(), 1);
    env.project = ProjectAccess::Undecided;
    assert_eq!(env.load().skills, []);
}

#[test]
fn context_file_symlink_cannot_expose_keys() {
    let env = ResourceTestEnv::with(&[
        ("agent/auth.json", "keys"),
        ("home/.ssh/id_ed25519", "keys"),
        ("project/.env", "keys"),
        ("dotfiles/GUIDE.md", "guide"),
        ("project/sub/.cursorrules", "rules"),
        ("dotfiles/own", "own"),
    ]);
    let root = env.root();
    let files = || -> Vec<String> {
        let files = env.load().context_files.into_iter();
        files.map(|file| file.content).collect()
    };
    let link = root.join("project/AGENTS.md");
    for target in ["../agent/auth.json", "../home/.ssh/id_ed25519", ".env"] {
        symlink(target, &link).unwrap();
        assert_eq!(files(), [""; 0], "{target}");
        let messages = env.messages(&env.load());
        assert!(
            messages
                .iter()
                .any(|it| it.contains("skipped context file")),
            "{messages:?}"
        );
        std::fs::remove_file(&link).unwrap();
    }
    for (target, expected) in [
        ("../dotfiles/GUIDE.md", "guide"),
        ("sub/.cursorrules", "rules"),
    ] {
        symlink(target, &link).unwrap();
        assert_eq!(files(), [expected], "{target}");
        std::fs::remove_file(&link).unwrap();
    }
    // The user's own symlinks are followed.
    symlink("../dotfiles/own", root.join("agent/AGENTS.md")).unwrap();
    assert_eq!(files(), ["own"]);
}

#[test]
fn context_file_symlink_out_of_the_project_requires_trust() {
    let mut env = ResourceTestEnv::with(&[
        ("home/diary.txt", "private"),
        ("dotfiles/AGENTS.md", "mine"),
        ("project/docs/guide.md", "guide"),
    ]);
    let link = env.root().join("project/AGENTS.md");
    for (target, undecided, trusted) in [
        ("../home/diary.txt", None, Some("private")),
        ("../dotfiles/AGENTS.md", Some("mine"), Some("mine")),
        ("docs/guide.md", Some("guide"), Some("guide")),
    ] {
        symlink(target, &link).unwrap();
        for (project, expected) in [
            (ProjectAccess::Undecided, undecided),
            (ProjectAccess::Trusted, trusted),
        ] {
            env.project = project;
            let resources = env.load();
            let content = resources.context_files.first();
            let content = content.map(|file| file.content.as_str());
            assert_eq!(content, expected, "{target} {project:?}");
            let warned = !env.messages(&resources).is_empty();
            assert_eq!(warned, expected.is_none(), "{target} {project:?}");
        }
        std::fs::remove_file(&link).unwrap();
    }
}

#[test]
fn context_file_in_a_directory_that_everyone_can_write_to_is_skipped() {
    let env = ResourceTestEnv::with(&[
        ("shared/AGENTS.md", "injected"),
        ("shared/mine/AGENTS.md", "mine"),
    ]);
    let shared = env.root().join("shared");
    let set_mode = |mode| {
        std::fs::set_permissions(&shared, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    let mut request = env.request();
    let mut contents = |directory: &str| -> Vec<String> {
        request.cwd = env.root().join(directory);
        let files = load_resources(&request).context_files.into_iter();
        files.map(|file| file.content).collect()
    };
    set_mode(0o777);
    assert_eq!(contents("shared/mine"), ["mine"]);
    // Working in the directory itself is the user's choice.
    assert_eq!(contents("shared"), ["injected"]);
    set_mode(0o755);
    assert_eq!(contents("shared/mine"), ["injected", "mine"]);
}

#[test]
fn huge_and_garbled_files_are_handled() {
    let env = ResourceTestEnv::new();
    let huge = vec![b'x'; 5 * 1024 * 1024];
    env.home.write("project/AGENTS.md", &huge);
    env.home.write("agent/prompts/huge.md", &huge);
    env.home.write("agent/skills/huge.md", &huge);
    let mut skill = b"---\nname: s\ndescription: d\xff\n---\n".to_vec();
    skill.extend(&huge);
    env.home.write("agent/skills/s/SKILL.md", &skill);
    env.home.write("agent/prompts/latin.md", b"caf\xe9 $1");
    let mut open_block = b"---\n".to_vec();
    open_block.extend(&huge);
    env.home.write("agent/skills/open/SKILL.md", &open_block);
    let resources = env.load();
    assert_eq!(resources.skills.first().unwrap().description, "d\u{fffd}");
    assert_eq!(resources.skills.len(), 1);
    assert_eq!(
        resources.prompt_templates.first().unwrap().content,
        "caf\u{fffd} $1"
    );
    assert_eq!(
        env.messages(&resources),
        [
            "Warning agent/skills/open/SKILL.md: skipped skill: no description; add one to its front matter",
            "Warning agent/prompts/huge.md: skipped prompt template: larger than 4 MiB",
            "Warning project/AGENTS.md: skipped context file: larger than 4 MiB",
        ]
    );
}

#[test]
fn ten_thousand_skill_files_load_quickly() {
    let env = ResourceTestEnv::new();
    for number in 0..10_000 {
        env.home
            .write(&format!("agent/skills/n{number}.md"), "no skill");
    }
    env.home
        .write("agent/skills/s/SKILL.md", "---\ndescription: d\n---\n");
    let request = env.request();
    let begin = Instant::now();
    let resources = load_resources(&request);
    assert_eq!(resources.skills.len(), 1);
    assert!(
        begin.elapsed() < Duration::from_secs(5),
        "{:?}",
        begin.elapsed()
    );
}

#[test]
fn deep_directories_stop_the_search() {
    let env = ResourceTestEnv::new();
    let deep = "d/".repeat(200);
    env.home.write(
        &format!("agent/skills/{deep}SKILL.md"),
        "---\ndescription: d\n---\n",
    );
    assert_eq!(env.load().skills, []);
}

#[test]
fn names_with_control_characters_are_escaped() {
    let env = ResourceTestEnv::with(&[
        ("agent/prompts/a\u{1b}]0;x\u{7}.md", "text"),
        (
            "agent/skills/new\nline/SKILL.md",
            "---\ndescription: d\n---\n",
        ),
    ]);
    let resources = env.load();
    assert_eq!(resources.prompt_templates.len(), 1);
    assert_eq!(resources.skills.len(), 1);
    for line in resources.diagnostics {
        assert!(!line.message.contains(char::is_control), "{}", line.message);
    }
}

#[test]
fn hostile_patterns_and_ignore_files_are_fast() {
    let env = ResourceTestEnv::with(&[
        ("agent/skills/s/SKILL.md", "---\ndescription: d\n---\n"),
        ("agent/skills/.gitignore", &"{a,b}".repeat(2_000)),
    ]);
    let pattern = format!("!{}", "**/*a*/".repeat(500));
    let braces = format!("!{}", "{a,b}".repeat(50));
    let settings = serde_json::json!({"skills": [pattern, braces, "![", "+", "-", "!"]});
    env.home.write("agent/settings.json", settings.to_string());
    assert_eq!(env.load().skills.len(), 1);
}
