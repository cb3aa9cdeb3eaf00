//! Context files and system prompt files.

use pi_config::{Resources, load_resources};
use pi_protocol::ProjectAccess;
use pretty_assertions::assert_eq;

use crate::resources::ResourceTestEnv;

/// Returns the context files as path and text, without those above the temporary directory.
fn context(env: &ResourceTestEnv, resources: &Resources) -> Vec<(String, String)> {
    let root = env.root();
    resources
        .context_files
        .iter()
        .filter(|file| file.path.starts_with(&root))
        .map(|file| (env.short(&file.path), file.content.clone()))
        .collect()
}

fn pairs(list: &[(&str, &str)]) -> Vec<(String, String)> {
    list.iter()
        .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()))
        .collect()
}

#[test]
fn one_context_file_per_directory_most_general_first() {
    let env = ResourceTestEnv::with(&[
        ("agent/CLAUDE.md", "agent"),
        ("AGENTS.md", "above"),
        ("project/AGENTS.override.md", "\u{feff}override"),
        ("project/AGENTS.md", "not this"),
        ("project/sub/AGENTS.md/in-the-way", "a folder"),
        ("project/sub/CLAUDE.md", "sub"),
    ]);
    let mut request = env.request();
    request.cwd = env.root().join("project/sub");
    for project in [ProjectAccess::Trusted, ProjectAccess::Undecided] {
        request.project = project;
        assert_eq!(
            context(&env, &load_resources(&request)),
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
fn denied_project_has_no_context_files() {
    let mut env = ResourceTestEnv::with(&[
        ("agent/AGENTS.md", "agent"),
        ("project/AGENTS.md", "project"),
    ]);
    env.project = ProjectAccess::Denied;
    assert_eq!(
        context(&env, &env.load()),
        pairs(&[("agent/AGENTS.md", "agent")])
    );
}

/// Writes the files by which a linked worktree and its repository know each other.
fn link_worktree(env: &ResourceTestEnv, worktree: &str, git_dir: &str) {
    let pointer = format!("gitdir: {}\n", env.root().join(git_dir).display());
    env.home.write(&format!("{worktree}/.git"), pointer);
    let pointer = env.root().join(worktree).join(".git");
    let pointer = format!("{}\n", pointer.display());
    env.home.write(&format!("{git_dir}/gitdir"), pointer);
}

#[test]
fn a_git_file_of_a_downloaded_directory_hides_nothing() {
    let env = ResourceTestEnv::with(&[
        ("repo/.git/HEAD", "ref: x"),
        ("repo/AGENTS.md", "main"),
        ("repo/vendor/lib/AGENTS.md", "vendored"),
        ("repo/vendor/lib/fake/HEAD", "ref: y"),
        ("repo/vendor/lib/fake/commondir", "../../../.git\n"),
    ]);
    link_worktree(&env, "repo/vendor/lib", "repo/vendor/lib/fake");
    let mut request = env.request();
    request.cwd = env.root().join("repo/vendor/lib");
    let all = [
        ("repo/AGENTS.md", "main"),
        ("repo/vendor/lib/AGENTS.md", "vendored"),
    ];
    assert_eq!(context(&env, &load_resources(&request)), pairs(&all));
}

#[cfg(unix)]
#[test]
fn a_worktree_can_link_to_the_file_of_its_main_repository() {
    let mut env = ResourceTestEnv::with(&[
        ("repo/.git/HEAD", "ref: x"),
        ("repo/.git/worktrees/feat/HEAD", "ref: y"),
        ("repo/.git/worktrees/feat/commondir", "../..\n"),
        ("repo/docs/guide.md", "guide"),
    ]);
    env.project = ProjectAccess::Undecided;
    link_worktree(&env, "feat", "repo/.git/worktrees/feat");
    let link = env.root().join("feat/AGENTS.md");
    std::os::unix::fs::symlink("../repo/docs/guide.md", link).unwrap();
    let mut request = env.request();
    request.cwd = env.root().join("feat");
    assert_eq!(
        context(&env, &load_resources(&request)),
        pairs(&[("feat/AGENTS.md", "guide")])
    );
}

#[test]
fn a_nested_worktree_can_link_to_the_file_it_shadows() {
    let env = ResourceTestEnv::with(&[
        ("repo/.git/HEAD", "ref: x"),
        ("repo/.git/worktrees/feat/HEAD", "ref: y"),
        ("repo/.git/worktrees/feat/commondir", "../..\n"),
        ("repo/AGENTS.md", "main"),
    ]);
    link_worktree(&env, "repo/trees/feat", "repo/.git/worktrees/feat");
    let link = env.root().join("repo/trees/feat/AGENTS.md");
    std::os::unix::fs::symlink("../../AGENTS.md", link).unwrap();
    let mut request = env.request();
    request.cwd = env.root().join("repo/trees/feat");
    assert_eq!(
        context(&env, &load_resources(&request)),
        pairs(&[("repo/trees/feat/AGENTS.md", "main")])
    );
}

#[test]
fn nested_worktree_shadows_main_repository() {
    let env = ResourceTestEnv::with(&[
        ("repo/.git/HEAD", "ref: x"),
        ("repo/.git/worktrees/feat/HEAD", "ref: y"),
        ("repo/.git/worktrees/feat/commondir", "../..\n"),
        ("repo/AGENTS.md", "main"),
        ("repo/trees/AGENTS.md", "between"),
        ("repo/trees/feat/AGENTS.md", "worktree"),
        ("repo/trees/feat/sub/AGENTS.md", "sub"),
    ]);
    let git_dir = "repo/.git/worktrees/feat";
    link_worktree(&env, "repo/trees/feat", git_dir);
    let mut request = env.request();
    request.cwd = env.root().join("repo/trees/feat/sub");
    let hidden = pairs(&[
        ("repo/trees/AGENTS.md", "between"),
        ("repo/trees/feat/AGENTS.md", "worktree"),
        ("repo/trees/feat/sub/AGENTS.md", "sub"),
    ]);
    assert_eq!(context(&env, &load_resources(&request)), hidden);

    // A file with a different name is not shadowed.
    env.home.write("repo/trees/feat/AGENTS.override.md", "own");
    let texts: Vec<String> = context(&env, &load_resources(&request))
        .into_iter()
        .map(|(_, text)| text)
        .collect();
    assert_eq!(texts, ["main", "between", "own", "sub"]);

    // A submodule has no common directory: nothing is shadowed.
    std::fs::remove_file(env.root().join(git_dir).join("commondir")).unwrap();
    assert_eq!(context(&env, &load_resources(&request)).len(), 4);
}

#[test]
fn system_prompt_files_of_trusted_project_or_user() {
    let mut env = ResourceTestEnv::with(&[
        ("agent/SYSTEM.md", "agent system"),
        ("agent/APPEND_SYSTEM.md", "agent append"),
        ("project/.pi/SYSTEM.md", "project system"),
    ]);
    let trusted = env.load();
    assert_eq!(trusted.system_prompt.as_deref(), Some("project system"));
    assert_eq!(
        trusted.system_prompt_source,
        Some(env.root().join("project/.pi/SYSTEM.md"))
    );
    assert_eq!(trusted.append_system_prompt, ["agent append"]);
    env.project = ProjectAccess::Undecided;
    assert_eq!(env.load().system_prompt.as_deref(), Some("agent system"));
}

#[test]
fn prompt_flags_accept_text_or_file() {
    let mut env = ResourceTestEnv::with(&[
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
        env.flags.system_prompt = Some(flag.to_owned());
        assert_eq!(env.load().system_prompt.as_deref(), expected);
    }
    env.flags.append_system_prompt = vec!["one".to_owned(), "sys.md".to_owned()];
    let resources = env.load();
    assert_eq!(resources.append_system_prompt, ["one", "from file\n"]);
    assert_eq!(
        resources.append_system_prompt_sources,
        [env.root().join("project/sys.md")]
    );
}
