//! Context files and system prompt files.

use pi_config::{ProjectAccess, Resources, load_resources};
use pretty_assertions::assert_eq;

use crate::resources::World;

/// The context files by path and text, those above the temporary directory left out.
fn context(world: &World, resources: &Resources) -> Vec<(String, String)> {
    let root = world.root();
    resources
        .context_files
        .iter()
        .filter(|file| file.path.starts_with(&root))
        .map(|file| (world.short(&file.path), file.content.clone()))
        .collect()
}

fn pairs(list: &[(&str, &str)]) -> Vec<(String, String)> {
    list.iter()
        .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()))
        .collect()
}

#[test]
fn one_context_file_per_dir_from_general_to_particular() {
    let world = World::with(&[
        ("agent/CLAUDE.md", "agent"),
        ("AGENTS.md", "above"),
        ("project/AGENTS.override.md", "\u{feff}override"),
        ("project/AGENTS.md", "not this"),
        ("project/sub/AGENTS.md/in-the-way", "a folder"),
        ("project/sub/CLAUDE.md", "sub"),
    ]);
    let mut request = world.request();
    request.cwd = world.root().join("project/sub");
    for project in [ProjectAccess::Trusted, ProjectAccess::Undecided] {
        request.project = project;
        assert_eq!(
            context(&world, &load_resources(&request)),
            pairs(&[
                ("agent/CLAUDE.md", "agent"),
                ("AGENTS.md", "above"),
                ("project/AGENTS.override.md", "override"),
                ("project/sub/CLAUDE.md", "sub"),
            ])
        );
    }
    request.flags.no_context_files = true;
    assert_eq!(load_resources(&request).context_files, []);
}

#[test]
fn a_refused_project_keeps_its_context_files_to_itself() {
    let mut world = World::with(&[
        ("agent/AGENTS.md", "agent"),
        ("project/AGENTS.md", "project"),
    ]);
    world.project = ProjectAccess::Denied;
    assert_eq!(
        context(&world, &world.load()),
        pairs(&[("agent/AGENTS.md", "agent")])
    );
}

#[test]
fn a_worktree_inside_its_repository_hides_the_repositorys_copy() {
    let world = World::with(&[
        ("repo/.git/HEAD", "ref: x"),
        ("repo/.git/worktrees/feat/HEAD", "ref: y"),
        ("repo/.git/worktrees/feat/commondir", "../..\n"),
        ("repo/AGENTS.md", "main"),
        ("repo/trees/AGENTS.md", "between"),
        ("repo/trees/feat/AGENTS.md", "worktree"),
        ("repo/trees/feat/sub/AGENTS.md", "sub"),
    ]);
    let git_dir = world.root().join("repo/.git/worktrees/feat");
    world.home.write(
        "repo/trees/feat/.git",
        format!("gitdir: {}\n", git_dir.display()),
    );
    let mut request = world.request();
    request.cwd = world.root().join("repo/trees/feat/sub");
    let hidden = pairs(&[
        ("repo/trees/AGENTS.md", "between"),
        ("repo/trees/feat/AGENTS.md", "worktree"),
        ("repo/trees/feat/sub/AGENTS.md", "sub"),
    ]);
    assert_eq!(context(&world, &load_resources(&request)), hidden);

    // A file of another name is not a copy.
    world
        .home
        .write("repo/trees/feat/AGENTS.override.md", "own");
    let texts: Vec<String> = context(&world, &load_resources(&request))
        .into_iter()
        .map(|(_, text)| text)
        .collect();
    assert_eq!(texts, ["main", "between", "own", "sub"]);

    // A submodule has no common directory: nothing is hidden.
    std::fs::remove_file(git_dir.join("commondir")).unwrap();
    assert_eq!(context(&world, &load_resources(&request)).len(), 4);
}

#[test]
fn system_prompt_files_come_from_the_trusted_project_or_the_user() {
    let mut world = World::with(&[
        ("agent/SYSTEM.md", "agent system"),
        ("agent/APPEND_SYSTEM.md", "agent append"),
        ("project/.pi/SYSTEM.md", "project system"),
    ]);
    let trusted = world.load();
    assert_eq!(trusted.system_prompt.as_deref(), Some("project system"));
    assert_eq!(
        trusted.system_prompt_source,
        Some(world.root().join("project/.pi/SYSTEM.md"))
    );
    assert_eq!(trusted.append_system_prompt, ["agent append"]);
    world.project = ProjectAccess::Undecided;
    assert_eq!(world.load().system_prompt.as_deref(), Some("agent system"));
}

#[test]
fn prompt_flags_are_a_text_or_name_a_file() {
    let mut world = World::with(&[
        ("agent/SYSTEM.md", "agent"),
        ("agent/APPEND_SYSTEM.md", "agent"),
        ("project/sys.md", "from file\n"),
        ("project/folder/x", ""),
    ]);
    for (flag, expected) in [
        ("sys.md", Some("from file\n")),
        ("You are terse.", Some("You are terse.")),
        ("folder", Some("folder")),
        ("", None),
        (&"long ".repeat(2000), Some(&*"long ".repeat(2000))),
        ("nul\0byte", Some("nul\0byte")),
    ] {
        world.flags.system_prompt = Some(flag.to_owned());
        assert_eq!(world.load().system_prompt.as_deref(), expected);
    }
    world.flags.append_system_prompt = vec!["one".to_owned(), "sys.md".to_owned()];
    let resources = world.load();
    assert_eq!(resources.append_system_prompt, ["one", "from file\n"]);
    assert_eq!(
        resources.append_system_prompt_sources,
        [world.root().join("project/sys.md")]
    );
}
