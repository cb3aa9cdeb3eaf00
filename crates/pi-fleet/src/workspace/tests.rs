//! Snapshots with real Git; skipped if it is missing.

use pretty_assertions::assert_eq;

use super::*;
use crate::task::parse_tasks;

fn has_git() -> bool {
    let version = std::process::Command::new("git").arg("--version").output();
    let found = version.is_ok();
    if !found {
        eprintln!("skipped: git is missing");
    }
    found
}

fn task(fields: &str) -> FleetTask {
    let line = format!("{{\"id\":\"a\",\"prompt\":\"x\"{fields}}}");
    parse_tasks(&line).unwrap().remove(0)
}

fn workspace(directory: &Path, task: &FleetTask) -> RunWorkspace {
    std::fs::create_dir_all(directory.join("runs")).unwrap();
    let mirrors = Mirrors::new(directory.join("mirrors"));
    RunWorkspace::new(directory, "b", task, mirrors, Vec::new())
}

#[tokio::test]
async fn a_snapshot_restores_tracked_and_untracked_files() {
    if !has_git() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let task = task("");
    let workspace = workspace(directory.path(), &task);
    let base = workspace.create(&task, None).await.unwrap();
    let file = |name: &str| workspace.path.join(name);
    std::fs::write(file("kept"), "one\n").unwrap();
    std::fs::write(file(".gitignore"), "ignored\n").unwrap();
    let tree = workspace.snapshot().await.unwrap();

    std::fs::write(file("kept"), "two\n").unwrap();
    std::fs::write(file("added"), "x").unwrap();
    std::fs::write(file("ignored"), "x").unwrap();
    std::fs::remove_file(file(".gitignore")).unwrap();
    std::fs::write(file(".gitignore"), "ignored\n").unwrap();
    workspace.restore(&tree).await.unwrap();
    assert_eq!(std::fs::read_to_string(file("kept")).unwrap(), "one\n");
    assert!(!file("added").exists());
    assert!(file("ignored").exists());
    assert_eq!(workspace.snapshot().await.unwrap(), tree);

    let patch = workspace.patch(&base, &tree).await.unwrap();
    let patch = String::from_utf8(patch).unwrap();
    assert!(patch.contains("+one") && !patch.contains("two"), "{patch}");
    workspace.remove().await.unwrap();
    assert!(!workspace.exists());
}

/// Creates a repository with a file; returns its path and what runs Git in it.
fn repository(directory: &Path) -> (PathBuf, impl Fn(&[&str]) -> String + use<>) {
    let repository = directory.join("repository");
    std::fs::create_dir(&repository).unwrap();
    let path = repository.clone();
    let git = move |arguments: &[&str]| {
        let identity = ["-c", "user.name=a", "-c", "user.email=a@localhost"];
        let mut command = std::process::Command::new("git");
        command.args(identity).args(arguments).current_dir(&path);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    git(&["init", "--quiet", "-b", "main"]);
    std::fs::write(repository.join("file"), "old\n").unwrap();
    git(&["add", "."]);
    git(&["commit", "--quiet", "-m", "one"]);
    (repository, git)
}

#[tokio::test]
async fn a_workspace_cannot_make_its_worker_start_programs() {
    if !has_git() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let (repository, git) = repository(directory.path());
    let link = format!("160000,{},module", git(&["rev-parse", "HEAD"]));
    git(&["update-index", "--add", "--cacheinfo", &link]);
    git(&["commit", "--quiet", "-m", "two"]);
    let started = directory.path().join("started");
    let plant = |place: &Path| {
        let clone = std::process::Command::new("git")
            .args(["clone", "--quiet", "--"])
            .args([&repository, place])
            .output();
        assert!(clone.unwrap().status.success());
        let program = format!("touch {}; cat", started.display());
        let config = format!(
            "[filter \"x\"]\nclean = \"{program}\"\nsmudge = \"{program}\"\n[diff \"x\"]\ntextconv = \"{program}\"\n\
             command = \"{program}\"\n[core]\nrepositoryformatversion = 0\nfsmonitor = \"{program}\"\n"
        );
        std::fs::write(place.join(".git/config"), config).unwrap();
        std::fs::write(place.join(".gitattributes"), "* filter=x diff=x\n").unwrap();
        std::fs::write(place.join("file"), "planted\n").unwrap();
    };
    let with_repository = format!(r#","repo":"{}""#, repository.display());
    for (name, fields) in [("repository", with_repository.as_str()), ("none", "")] {
        let task = task(fields);
        let workspace = workspace(&directory.path().join(name), &task);
        let base = workspace.create(&task, None).await.unwrap();
        let first = workspace.snapshot().await.unwrap();
        if !fields.is_empty() {
            assert_eq!(first, git(&["rev-parse", "HEAD^{tree}"]), "nothing changed");
        }
        let planted = directory.path().join(format!("{name}-planted"));
        plant(&planted);
        let repository_file = workspace.path.join(".git");
        std::fs::remove_file(&repository_file)
            .or_else(|_| std::fs::remove_dir_all(&repository_file))
            .unwrap();
        for name in [".git", ".gitattributes", "file"] {
            std::fs::rename(planted.join(name), workspace.path.join(name)).unwrap();
        }
        if !fields.is_empty() {
            std::fs::remove_dir(workspace.path.join("module")).unwrap();
            plant(&workspace.path.join("module"));
        }
        plant(&workspace.path.join("nested"));
        for content in ["one\n", "two\n"] {
            std::fs::write(workspace.path.join("file"), content).unwrap();
            let tree = workspace.snapshot().await.unwrap();
            let patch = workspace.patch(&base, &tree).await.unwrap();
            let patch = String::from_utf8(patch).unwrap();
            assert!(patch.contains(&format!("+{content}")), "{patch}");
            assert!(!patch.contains("nested"), "{patch}");
            workspace.restore(&first).await.unwrap();
            workspace.restore(&tree).await.unwrap();
        }
        assert!(!started.exists(), "{name}");
        workspace.remove().await.unwrap();
    }
}

#[tokio::test]
async fn a_snapshot_has_all_kinds_of_changes_and_no_nested_repositories() {
    if !has_git() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let (repository, git) = repository(directory.path());
    std::fs::create_dir(repository.join("d")).unwrap();
    for name in ["d/e", "gone", "to-directory", "to link"] {
        std::fs::write(repository.join(name), name).unwrap();
    }
    git(&["add", "."]);
    git(&["commit", "--quiet", "-m", "two"]);
    let task = task(&format!(r#","repo":"{}""#, repository.display()));
    let workspace = workspace(directory.path(), &task);
    workspace.create(&task, None).await.unwrap();
    let file = |name: &str| workspace.path.join(name);
    for name in ["gone", "to-directory", "to link"] {
        std::fs::remove_file(file(name)).unwrap();
    }
    std::fs::remove_dir_all(file("d")).unwrap();
    std::fs::create_dir_all(file("to-directory")).unwrap();
    std::fs::create_dir_all(file("nested/inside")).unwrap();
    Git::outside(&file("nested"))
        .run(&["init", "--quiet"])
        .await
        .unwrap();
    for name in ["to-directory/a", "nested/a"] {
        std::fs::write(file(name), name).unwrap();
    }
    #[cfg(unix)]
    for name in ["to link", "d"] {
        std::os::unix::fs::symlink("/etc", file(name)).unwrap();
    }
    let tree = workspace.snapshot().await.unwrap();
    let git = workspace.snapshot_git();
    let list = ["ls-tree", "-r", "--format=%(objectmode) %(path)", &tree];
    let listed = git.output(&list).await.unwrap();
    let expected = [
        "120000 d",
        "100644 file",
        "100644 to-directory/a",
        "120000 to link",
    ];
    let mut listed: Vec<String> = listed.lines().map(str::to_owned).collect();
    listed.sort_by_key(|line| line.split_once(' ').map(|(_, path)| path.to_owned()));
    let mut expected = expected.map(str::to_owned);
    expected.sort_by_key(|line| line.split_once(' ').map(|(_, path)| path.to_owned()));
    assert_eq!(listed, expected);
    workspace.restore(&tree).await.unwrap();
    assert!(file("nested/a").exists());
}

#[tokio::test]
async fn worktrees_with_the_same_name_have_separate_directories() {
    if !has_git() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let (repository, _git) = repository(directory.path());
    let task = task(&format!(r#","repo":"{}""#, repository.display()));
    let mirrors = Mirrors::new(directory.path().join("mirrors"));
    let [first, second] = ["one", "two"].map(|batch| {
        let directory = directory.path().join(batch);
        std::fs::create_dir_all(directory.join("runs")).unwrap();
        RunWorkspace::new(&directory, batch, &task, mirrors.clone(), Vec::new())
    });
    for workspace in [&first, &second] {
        workspace.create(&task, None).await.unwrap();
    }
    let lock = first.agent_repository().unwrap().join("index.lock");
    std::fs::write(&lock, "").unwrap();
    second.remove_stale_locks();
    assert!(lock.exists(), "it is a lock of the other run");
    first.remove_stale_locks();
    assert!(!lock.exists());
}

#[tokio::test]
async fn a_worktree_starts_at_the_commit_of_the_task() {
    if !has_git() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let repository = directory.path().join("repository");
    std::fs::create_dir(&repository).unwrap();
    let git = |arguments: &[&str]| {
        let identity = ["-c", "user.name=a", "-c", "user.email=a@localhost"];
        let mut command = std::process::Command::new("git");
        command.args(identity).args(arguments);
        assert!(command.current_dir(&repository).status().unwrap().success());
    };
    git(&["init", "--quiet", "-b", "main"]);
    std::fs::write(repository.join("file"), "old\n").unwrap();
    git(&["add", "."]);
    git(&["commit", "--quiet", "-m", "one"]);
    git(&["tag", "v1"]);
    std::fs::write(repository.join("file"), "new\n").unwrap();
    git(&["commit", "--quiet", "-am", "two"]);

    let repo = repository.to_string_lossy();
    for (reference, expected) in [("v1", "old\n"), ("main", "new\n")] {
        let task = task(&format!(
            ",\"repo\":\"{repo}\",\"ref\":\"{reference}\",\"setup\":\"echo x > made\""
        ));
        let workspace = workspace(directory.path(), &task);
        workspace.create(&task, None).await.unwrap();
        let content = std::fs::read_to_string(workspace.path.join("file")).unwrap();
        assert_eq!(content, expected);
        assert!(workspace.path.join("made").exists());
    }
    let task = task(&format!(",\"repo\":\"{repo}\",\"ref\":\"missing\""));
    let error = workspace(directory.path(), &task).create(&task, None).await;
    let error = error.unwrap_err().to_string();
    assert!(error.contains("has no such commit"), "{error}");
}

#[tokio::test]
async fn a_setup_that_fails_reports_its_output() {
    if !has_git() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let task = task(",\"setup\":\"echo broken; exit 3\"");
    let error = workspace(directory.path(), &task).create(&task, None).await;
    assert_eq!(error.unwrap_err().to_string(), "setup failed: broken");
}

#[tokio::test]
async fn a_command_may_leave_a_server_and_write_without_end() {
    if !has_git() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let task = task("");
    let workspace = workspace(directory.path(), &task);
    workspace.create(&task, None).await.unwrap();
    let command = "(while :; do echo served; sleep 0.1; done) & echo $! > server; \
                   head -c 1000000 /dev/zero | tr '\\0' x; echo; echo last";
    let ran = workspace.shell(command).await.unwrap();
    assert!(ran.status.success());
    assert!(ran.tail.len() <= ERROR_TAIL && ran.tail.contains("x\nlast"));
    let server = std::fs::read_to_string(workspace.path.join("server")).unwrap();
    let server = rustix::process::Pid::from_raw(server.trim().parse().unwrap()).unwrap();
    let kill = rustix::process::kill_process(server, rustix::process::Signal::KILL);
    assert!(kill.is_ok(), "it stays");
}

#[tokio::test]
async fn the_output_of_git_is_limited() {
    if !has_git() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let task = task("");
    let workspace = workspace(directory.path(), &task);
    workspace.create(&task, None).await.unwrap();
    std::fs::write(workspace.path.join("file"), "x".repeat(1_000_000)).unwrap();
    let tree = workspace.snapshot().await.unwrap();
    let show = format!("{tree}:file");
    let show = ["cat-file", "blob", &show];
    let git = workspace.snapshot_git();
    let content = git.clone().with_limit(1_000_000).bytes(&show).await;
    assert_eq!(content.unwrap().len(), 1_000_000);
    let error = git.with_limit(999_999).bytes(&show).await.unwrap_err();
    let error = error.to_string();
    assert!(
        error.starts_with("the output of git cat-file has more than"),
        "{error}"
    );
}

#[tokio::test]
async fn a_snapshot_is_restored_on_another_machine() {
    if !has_git() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let repository = directory.path().join("repository");
    std::fs::create_dir(&repository).unwrap();
    std::fs::write(repository.join("file"), "old\n").unwrap();
    for arguments in [
        &["init", "--quiet", "-b", "main"][..],
        &["add", "."],
        &[
            "-c",
            "user.name=a",
            "-c",
            "user.email=a@localhost",
            "commit",
            "--quiet",
            "-m",
            "one",
        ],
    ] {
        let mut git = std::process::Command::new("git");
        git.args(arguments).current_dir(&repository);
        assert!(git.status().unwrap().success());
    }
    let with_repository = task(&format!(",\"repo\":\"{}\"", repository.display()));
    for (name, task) in [("repository", with_repository), ("none", task(""))] {
        let machine = |number: u8| directory.path().join(format!("{name}-{number}"));
        let first = workspace(&machine(1), &task);
        let base = first.create(&task, None).await.unwrap();
        let mut packs = Vec::new();
        let mut known = base.clone();
        for content in ["one\n", "two\n"] {
            std::fs::write(first.path.join("added"), content).unwrap();
            let tree = first.snapshot().await.unwrap();
            packs.push(first.pack(&known, &tree).await.unwrap());
            known = tree;
        }
        let second = workspace(&machine(2), &task);
        assert_eq!(second.create(&task, Some(&base)).await.unwrap(), base);
        for pack in packs {
            second.unpack(pack).await.unwrap();
        }
        second.restore(&known).await.unwrap();
        let content = std::fs::read_to_string(second.path.join("added")).unwrap();
        assert_eq!(content, "two\n");
        assert_eq!(second.snapshot().await.unwrap(), known);
        assert_eq!(
            second.patch(&base, &known).await.unwrap(),
            first.patch(&base, &known).await.unwrap()
        );
    }
}

#[tokio::test]
async fn a_workspace_whose_setup_was_interrupted_is_created_again() {
    if !has_git() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let broken = task(r#","setup":"echo one > file; exit 1""#);
    let workspace = workspace(directory.path(), &broken);
    workspace.create(&broken, None).await.unwrap_err();
    assert!(workspace.path.exists() && !workspace.exists());
    let sound = task(r#","setup":"test ! -e file""#);
    workspace.create(&sound, None).await.unwrap();
    assert!(workspace.exists());
    workspace.remove().await.unwrap();
    assert!(!workspace.exists());
}

#[tokio::test]
async fn locks_of_killed_commands_are_removed() {
    if !has_git() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let repository = directory.path().join("repository");
    std::fs::create_dir(&repository).unwrap();
    let git = Git::outside(&repository);
    git.run(&["init", "--quiet", "-b", "main"]).await.unwrap();
    let identity = ["-c", "user.name=a", "-c", "user.email=a@localhost"];
    let commit = ["commit", "--quiet", "--allow-empty", "-m", "one"];
    git.run(&[&identity[..], &commit[..]].concat())
        .await
        .unwrap();
    for fields in [
        String::new(),
        format!(r#","repo":"{}""#, repository.display()),
    ] {
        let task = task(&fields);
        let batch = directory
            .path()
            .join(if fields.is_empty() { "b" } else { "c" });
        let workspace = workspace(&batch, &task);
        workspace.create(&task, None).await.unwrap();
        std::fs::write(workspace.path.join("file"), "one").unwrap();
        workspace.snapshot().await.unwrap();
        let agent = workspace.agent_repository().unwrap();
        let reference = workspace.snapshots().join(&workspace.reference);
        for locked in [
            workspace.index.with_extension("index.lock"),
            agent.join("index.lock"),
            reference.with_extension("lock"),
        ] {
            std::fs::write(&locked, "").unwrap();
        }
        std::fs::write(workspace.path.join("file"), "two").unwrap();
        workspace.snapshot().await.unwrap_err();
        workspace.remove_stale_locks();
        workspace.snapshot().await.unwrap();
        // The agent may use Git, too.
        Git::outside(&workspace.path)
            .run(&["add", "."])
            .await
            .unwrap();
    }
}
