//! Resources that somebody hostile, or a broken disk, left behind.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::time::{Duration, Instant};

use pi_config::{ProjectAccess, Resources, load_resources};
use pretty_assertions::assert_eq;

use crate::resources::World;

fn make_pipe(world: &World, path: &str) {
    let path = world.root().join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let status = std::process::Command::new("mkfifo").arg(&path).status();
    assert!(status.unwrap().success());
}

fn everything_is_empty(resources: &Resources) -> bool {
    resources.skills.is_empty()
        && resources.prompt_templates.is_empty()
        && resources.themes.is_empty()
        && resources.extensions.is_empty()
        && resources.system_prompt.is_none()
        && resources.append_system_prompt.is_empty()
        && resources.missing_packages.is_empty()
}

#[test]
fn nothing_of_a_project_is_opened_before_trust() {
    let mut world = World::with(&[("agent/AGENTS.md", "agent")]);
    // Every one of these would be noticed: pipes by name, a file by its text.
    for path in [
        "project/.pi/SYSTEM.md",
        "project/.pi/APPEND_SYSTEM.md",
        "project/.pi/prompts/p.md",
        "project/.pi/themes/t.json",
        "project/.pi/skills/s/SKILL.md",
        "project/.pi/extensions/package.json",
        "project/.agents/skills/a/SKILL.md",
    ] {
        make_pipe(&world, path);
    }
    world.home.write(
        "project/.pi/skills/real/SKILL.md",
        "---\ndescription: d\n---\n",
    );
    world.home.write("project/.pi/prompts/real.md", "text");
    world.home.write("project/.pi/extensions/real.ts", "");
    world.home.write(
        "project/.pi/themes/real.json",
        r#"{"name": "x", "colors": {}}"#,
    );
    world.home.write(
        "project/.agents/skills/other/SKILL.md",
        "---\ndescription: d\n---\n",
    );
    for project in [ProjectAccess::Undecided, ProjectAccess::Denied] {
        world.project = project;
        let resources = world.load();
        assert!(everything_is_empty(&resources), "{resources:?}");
        assert_eq!(world.said(&resources), [""; 0]);
    }
    world.project = ProjectAccess::Trusted;
    let resources = world.load();
    assert_eq!(resources.skills.len(), 2);
    assert_eq!(resources.prompt_templates.len(), 1);
}

#[test]
fn a_pipe_named_as_system_prompt_does_not_block() {
    let mut world = World::with(&[]);
    make_pipe(&world, "project/prompt");
    world.flags.system_prompt = Some("prompt".to_owned());
    world.flags.append_system_prompt = vec!["prompt".to_owned()];
    let resources = world.load();
    assert!(everything_is_empty(&resources), "{resources:?}");
    let said = world.said(&resources);
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(said[0].contains("not a regular file"), "{said:?}");
}

#[test]
fn a_closed_dir_of_an_untrusted_project_is_not_noticed() {
    let mut world = World::with(&[
        (
            "project/.pi/skills/s/SKILL.md",
            "---\ndescription: d\n---\n",
        ),
        ("project/.pi/settings.json", r#"{"skills": ["skills"]}"#),
    ]);
    let closed = world.root().join("project/.pi");
    std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o000)).unwrap();
    world.project = ProjectAccess::Denied;
    let resources = world.load();
    std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(world.said(&resources), [""; 0]);
}

#[test]
fn pipes_in_the_place_of_files_do_not_hold_us_up() {
    let world = World::new();
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
        make_pipe(&world, path);
    }
    world.home.write("agent/CLAUDE.md", "still read");
    let resources = world.load();
    assert!(everything_is_empty(&resources), "{resources:?}");
    let texts: Vec<&str> = resources
        .context_files
        .iter()
        .filter(|file| file.path.starts_with(world.root()))
        .map(|file| file.content.as_str())
        .collect();
    assert_eq!(texts, ["still read"]);
    assert!(world.said(&resources).contains(
        &"Warning project/AGENTS.md: context file is left out: it is not a regular file".to_owned()
    ));
}

#[test]
fn linked_dirs_that_lead_in_circles_are_entered_once() {
    let world = World::with(&[("agent/skills/a/b/s/SKILL.md", "---\ndescription: d\n---\n")]);
    let skills = world.root().join("agent/skills");
    symlink(&skills, skills.join("a/up")).unwrap();
    symlink("..", skills.join("a/b/back")).unwrap();
    symlink("self", skills.join("self")).unwrap();
    for dir in ["x", "y"] {
        std::fs::create_dir(skills.join(dir)).unwrap();
        for number in 0..20 {
            symlink(&skills, skills.join(format!("{dir}/{number}"))).unwrap();
        }
    }
    let resources = world.load();
    assert_eq!(resources.skills.len(), 1);
    assert_eq!(world.said(&resources), [""; 0]);
}

#[test]
fn a_link_out_of_a_project_is_followed_only_with_trust() {
    let mut world = World::with(&[("secret/s/SKILL.md", "---\ndescription: d\n---\n")]);
    let root = world.root();
    std::fs::create_dir_all(root.join("project/.pi")).unwrap();
    symlink(root.join("secret"), root.join("project/.pi/skills")).unwrap();
    assert_eq!(world.load().skills.len(), 1);
    world.project = ProjectAccess::Undecided;
    assert_eq!(world.load().skills, []);
}

#[test]
fn a_context_file_is_no_way_to_the_users_keys() {
    let world = World::with(&[
        ("agent/auth.json", "keys"),
        ("home/.ssh/id_ed25519", "keys"),
        ("project/.env", "keys"),
        ("dotfiles/GUIDE.md", "guide"),
        ("project/sub/.cursorrules", "rules"),
        ("dotfiles/own", "own"),
    ]);
    let root = world.root();
    let files = || -> Vec<String> {
        let files = world.load().context_files.into_iter();
        files.map(|file| file.content).collect()
    };
    let link = root.join("project/AGENTS.md");
    for target in ["../agent/auth.json", "../home/.ssh/id_ed25519", ".env"] {
        symlink(target, &link).unwrap();
        assert_eq!(files(), [""; 0], "{target}");
        let said = world.said(&world.load());
        assert!(said.iter().any(|it| it.contains("left out")), "{said:?}");
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
    // What the user links is the user's.
    symlink("../dotfiles/own", root.join("agent/AGENTS.md")).unwrap();
    assert_eq!(files(), ["own"]);
}

#[test]
fn huge_and_garbled_files_are_reported_or_read_as_far_as_they_go() {
    let world = World::new();
    let huge = vec![b'x'; 5 * 1024 * 1024];
    world.home.write("project/AGENTS.md", &huge);
    world.home.write("agent/prompts/huge.md", &huge);
    world.home.write("agent/skills/huge.md", &huge);
    let mut skill = b"---\nname: s\ndescription: d\xff\n---\n".to_vec();
    skill.extend(&huge);
    world.home.write("agent/skills/s/SKILL.md", &skill);
    world.home.write("agent/prompts/latin.md", b"caf\xe9 $1");
    let mut open_block = b"---\n".to_vec();
    open_block.extend(&huge);
    world.home.write("agent/skills/open/SKILL.md", &open_block);
    let resources = world.load();
    assert_eq!(resources.skills.first().unwrap().description, "d\u{fffd}");
    assert_eq!(resources.skills.len(), 1);
    assert_eq!(
        resources.prompt_templates.first().unwrap().content,
        "caf\u{fffd} $1"
    );
    assert_eq!(
        world.said(&resources),
        [
            "Warning agent/skills/open/SKILL.md: skill has no description and is not loaded; add one to its front matter",
            "Warning agent/prompts/huge.md: prompt template is left out: it is larger than 4 MiB",
            "Warning project/AGENTS.md: context file is left out: it is larger than 4 MiB",
        ]
    );
}

#[test]
fn ten_thousand_files_in_a_skill_dir_take_a_moment_not_a_minute() {
    let world = World::new();
    for number in 0..10_000 {
        world
            .home
            .write(&format!("agent/skills/n{number}.md"), "no skill");
    }
    world
        .home
        .write("agent/skills/s/SKILL.md", "---\ndescription: d\n---\n");
    let request = world.request();
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
fn deep_dirs_end_the_search_quietly() {
    let world = World::new();
    let deep = "d/".repeat(200);
    world.home.write(
        &format!("agent/skills/{deep}SKILL.md"),
        "---\ndescription: d\n---\n",
    );
    assert_eq!(world.load().skills, []);
}

#[test]
fn names_with_control_characters_do_no_harm() {
    let world = World::with(&[
        ("agent/prompts/a\u{1b}]0;x\u{7}.md", "text"),
        (
            "agent/skills/new\nline/SKILL.md",
            "---\ndescription: d\n---\n",
        ),
    ]);
    let resources = world.load();
    assert_eq!(resources.prompt_templates.len(), 1);
    assert_eq!(resources.skills.len(), 1);
    for line in resources.diagnostics {
        assert!(!line.message.contains(char::is_control), "{}", line.message);
    }
}

#[test]
fn hostile_patterns_and_ignore_files_cost_little() {
    let world = World::with(&[
        ("agent/skills/s/SKILL.md", "---\ndescription: d\n---\n"),
        ("agent/skills/.gitignore", &"{a,b}".repeat(2_000)),
    ]);
    let pattern = format!("!{}", "**/*a*/".repeat(500));
    let braces = format!("!{}", "{a,b}".repeat(50));
    let settings = serde_json::json!({"skills": [pattern, braces, "![", "+", "-", "!"]});
    world
        .home
        .write("agent/settings.json", settings.to_string());
    assert_eq!(world.load().skills.len(), 1);
}
