//! The file tools with symlinks, pipes, permissions, unusual names and large files on Unix.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::future::BoxFuture;
use pi_core::{
    DirectoryEntry, Environment, FileError, FileFuture, FileOperations, FileStatus, OpenFile,
};
use pi_tools::{BufferedFiles, LocalFiles, OpenBuffers, local_environment};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use tempfile::{TempDir, tempdir};

use crate::support::{TestProject, call, run_isolated, text};

fn write_file(path: &Path, contents: &[u8]) -> io::Result<()> {
    fs::File::create(path)?.write_all(contents)
}

fn names(directory: &Path) -> io::Result<Vec<OsString>> {
    let mut names = fs::read_dir(directory)?
        .map(|entry| Ok(entry?.file_name()))
        .collect::<io::Result<Vec<_>>>()?;
    names.sort();
    Ok(names)
}

fn edits(old: &str, new: &str) -> Value {
    json!([{"oldText": old, "newText": new}])
}

#[tokio::test]
async fn links_are_followed_to_their_target() {
    let directory = tempdir().unwrap();
    let root = directory.path();
    write_file(&root.join("target"), b"old").unwrap();
    symlink("target", root.join("link")).unwrap();
    symlink("new/target", root.join("dangling")).unwrap();
    symlink("loop", root.join("loop")).unwrap();
    let write = TestProject::local(root).write();

    call(&write, json!({"path": "link", "content": "through"}))
        .await
        .unwrap();
    assert_eq!(fs::read(root.join("target")).unwrap(), b"through");
    assert!(
        fs::symlink_metadata(root.join("link"))
            .unwrap()
            .is_symlink()
    );

    call(&write, json!({"path": "dangling", "content": "made"}))
        .await
        .unwrap();
    assert_eq!(fs::read(root.join("new/target")).unwrap(), b"made");

    let edit = TestProject::local(root).edit();
    call(
        &edit,
        json!({"path": "link", "edits": edits("through", "edited")}),
    )
    .await
    .unwrap();
    assert_eq!(fs::read(root.join("target")).unwrap(), b"edited");
    assert!(
        fs::symlink_metadata(root.join("link"))
            .unwrap()
            .is_symlink()
    );

    let error = call(&write, json!({"path": "loop", "content": ""}))
        .await
        .unwrap_err();
    assert!(error.0.starts_with("Cannot write loop: "), "{}", error.0);
}

#[tokio::test]
async fn edits_through_two_paths_of_a_file_are_both_applied() {
    let directory = tempdir().unwrap();
    write_file(&directory.path().join("f"), b"one two").unwrap();
    symlink("f", directory.path().join("link")).unwrap();
    let edit = TestProject::local(directory.path()).edit();
    let (first, second) = tokio::join!(
        call(&edit, json!({"path": "f", "edits": edits("one", "1")})),
        call(&edit, json!({"path": "link", "edits": edits("two", "2")})),
    );
    first.unwrap();
    second.unwrap();
    assert_eq!(fs::read(directory.path().join("f")).unwrap(), b"1 2");
}

/// Local files with an action that runs right before an operation.
struct RacingFiles<F> {
    action: F,
    before: RaceStep,
}

#[derive(Clone, Copy, PartialEq)]
enum RaceStep {
    CreateDirectories,
    OpenReal,
    Replace,
}

impl<F: Fn() + Send + Sync> FileOperations for RacingFiles<F> {
    fn real_path<'a>(&'a self, path: &'a Path) -> FileFuture<'a, PathBuf> {
        LocalFiles.real_path(path)
    }
    fn status<'a>(&'a self, path: &'a Path) -> FileFuture<'a, FileStatus> {
        LocalFiles.status(path)
    }
    fn open<'a>(&'a self, path: &'a Path) -> FileFuture<'a, OpenFile> {
        if self.before == RaceStep::OpenReal {
            (self.action)();
        }
        LocalFiles.open(path)
    }
    fn open_real<'a>(&'a self, path: &'a Path) -> FileFuture<'a, OpenFile> {
        if self.before == RaceStep::OpenReal {
            (self.action)();
        }
        LocalFiles.open_real(path)
    }
    fn list<'a>(&'a self, path: &'a Path) -> FileFuture<'a, Vec<DirectoryEntry>> {
        LocalFiles.list(path)
    }
    fn check_editable<'a>(&'a self, path: &'a Path) -> FileFuture<'a, ()> {
        LocalFiles.check_editable(path)
    }
    fn create_directories<'a>(&'a self, path: &'a Path) -> FileFuture<'a, ()> {
        if self.before == RaceStep::CreateDirectories {
            (self.action)();
        }
        LocalFiles.create_directories(path)
    }
    fn replace<'a>(&'a self, path: &'a Path, contents: Vec<u8>) -> FileFuture<'a, ()> {
        if self.before == RaceStep::Replace {
            (self.action)();
        }
        LocalFiles.replace(path, contents)
    }
}

fn racing_project(
    root: &Path,
    before: RaceStep,
    action: impl Fn() + Send + Sync + 'static,
) -> TestProject {
    let environment = Environment {
        files: Arc::new(RacingFiles { action, before }),
        ..local_environment()
    };
    TestProject::new(root, environment)
}

/// Creates a project next to a directory outside of it.
fn project_and_outside() -> io::Result<(TempDir, PathBuf, PathBuf)> {
    let directory = tempdir()?;
    let project = directory.path().join("project");
    let outside = directory.path().join("outside");
    fs::create_dir_all(project.join("dir"))?;
    fs::create_dir(&outside)?;
    write_file(&project.join("dir/f"), b"inside")?;
    write_file(&outside.join("f"), b"inside")?;
    Ok((directory, project, outside))
}

/// A client without open files.
struct NoBuffers;

impl OpenBuffers for NoBuffers {
    fn text<'a>(&'a self, _path: &'a Path) -> BoxFuture<'a, Option<String>> {
        Box::pin(std::future::ready(None))
    }

    fn replace<'a>(&'a self, _path: &'a Path, _text: &'a str) -> BoxFuture<'a, bool> {
        Box::pin(std::future::ready(false))
    }
}

#[tokio::test]
async fn buffers_do_not_follow_a_symlink_created_after_the_check() {
    let (_temp, project, outside) = project_and_outside().unwrap();
    let project = project.canonicalize().unwrap();
    let inner = project.join("dir");
    let action = move || {
        fs::remove_dir_all(&inner).unwrap();
        symlink(&outside, &inner).unwrap();
    };
    let before = RaceStep::OpenReal;
    let files = BufferedFiles {
        local: Arc::new(RacingFiles { action, before }),
        buffers: Arc::new(NoBuffers),
    };
    let opened = files.open_real(&project.join("dir/f")).await;
    assert!(matches!(opened, Err(FileError::LinkAppeared)));
}

#[tokio::test]
async fn a_symlink_created_after_the_check_is_not_followed() {
    for step in [RaceStep::CreateDirectories, RaceStep::Replace] {
        for swap_file in [false, true] {
            let (_temp, project, outside) = project_and_outside().unwrap();
            let (inner, elsewhere) = (project.join("dir"), outside.clone());
            let swap = move || {
                if swap_file {
                    fs::remove_file(inner.join("f")).unwrap();
                    symlink(elsewhere.join("f"), inner.join("f")).unwrap();
                } else {
                    fs::remove_dir_all(&inner).unwrap();
                    symlink(&elsewhere, &inner).unwrap();
                }
            };
            let write = racing_project(&project, step, swap.clone()).write();
            let error = call(&write, json!({"path": "dir/f", "content": "evil"}))
                .await
                .unwrap_err();
            assert_eq!(
                error.0,
                "Cannot write dir/f: a component of the path became a symbolic link; nothing was written"
            );
            assert_eq!(fs::read(outside.join("f")).unwrap(), b"inside");
            assert_eq!(names(&outside).unwrap(), ["f"]);
        }
    }
    let (_temp, project, outside) = project_and_outside().unwrap();
    let (inner, elsewhere) = (project.join("dir"), outside.clone());
    let swap = move || {
        fs::remove_dir_all(&inner).unwrap();
        symlink(&elsewhere, &inner).unwrap();
    };
    let edit = racing_project(&project, RaceStep::Replace, swap).edit();
    let arguments = json!({"path": "dir/f", "edits": edits("inside", "evil")});
    assert!(
        call(&edit, arguments)
            .await
            .unwrap_err()
            .0
            .starts_with("Cannot edit dir/f: a component of")
    );
    assert_eq!(fs::read(outside.join("f")).unwrap(), b"inside");
}

#[tokio::test]
async fn pipes_and_devices_are_rejected_without_blocking() {
    let directory = tempdir().unwrap();
    let root = directory.path();
    let status = std::process::Command::new("mkfifo")
        .arg(root.join("pipe"))
        .status()
        .unwrap();
    assert!(status.success());
    let _socket = std::os::unix::net::UnixListener::bind(root.join("socket")).unwrap();
    let project = TestProject::local(root);
    let (read, write, edit) = (project.read(), project.write(), project.edit());
    for (path, kind) in [
        ("pipe", "a named pipe"),
        ("socket", "a socket"),
        ("/dev/zero", "a device"),
    ] {
        let error = call(&read, json!({"path": path})).await.unwrap_err();
        assert_eq!(error.0, format!("Cannot read {path}: is {kind}"));
        let error = call(&write, json!({"path": path, "content": "x"}))
            .await
            .unwrap_err();
        assert_eq!(error.0, format!("Cannot write {path}: is {kind}"));
        let error = call(&edit, json!({"path": path, "edits": edits("a", "b")}))
            .await
            .unwrap_err();
        assert_eq!(error.0, format!("Cannot edit {path}: is {kind}"));
    }
    let output = call(&project.ls(), json!({})).await.unwrap();
    assert_eq!(text(&output), "pipe\nsocket");
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn extended_attributes_and_mode_are_kept() {
    use std::os::unix::fs::PermissionsExt;

    use rustix::fs::{XattrFlags, getxattr, setxattr};

    let directory = tempdir().unwrap();
    let project = TestProject::local(directory.path());
    let path = directory.path().join("f");
    write_file(&path, b"before").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    if setxattr(
        &path,
        "user.origin",
        b"https://example.com",
        XattrFlags::CREATE,
    )
    .is_err()
    {
        eprintln!("skipped: the file system has no extended attributes");
        return;
    }
    setxattr(&path, "user.empty", b"", XattrFlags::CREATE).unwrap();
    let check = |contents: &str| {
        assert_eq!(fs::read_to_string(&path).unwrap(), contents);
        assert_eq!(
            fs::metadata(&path).unwrap().permissions().mode() & 0o7777,
            0o640
        );
        let mut value = [0; 64];
        let size = getxattr(&path, "user.origin", &mut value).unwrap();
        assert_eq!(&value[..size], b"https://example.com");
        assert_eq!(getxattr(&path, "user.empty", &mut value), Ok(0));
    };
    let written = json!({"path": "f", "content": "written"});
    call(&project.write(), written).await.unwrap();
    check("written");
    let edited = json!({"path": "f", "edits": edits("written", "edited")});
    call(&project.edit(), edited).await.unwrap();
    check("edited");
}

#[tokio::test]
async fn unusual_names_are_supported() {
    let directory = tempdir().unwrap();
    let project = TestProject::local(directory.path());
    let (write, edit) = (project.write(), project.edit());
    let (read, ls) = (project.read(), project.ls());
    let long = "n".repeat(255);
    for name in [
        "new\nline",
        "-rf",
        "quo'te\"",
        "tab\there",
        "日本語",
        long.as_str(),
    ] {
        call(&write, json!({"path": name, "content": "one"}))
            .await
            .unwrap();
        call(&edit, json!({"path": name, "edits": edits("one", "two")}))
            .await
            .unwrap();
        let output = call(&read, json!({"path": name})).await.unwrap();
        assert_eq!(text(&output), "two", "{name:?}");
    }
    let output = call(&ls, json!({})).await.unwrap();
    assert!(text(&output).contains("new\nline\n"), "{:?}", text(&output));
    assert_eq!(names(directory.path()).unwrap().len(), 6);
}

#[tokio::test]
async fn mode_and_hard_links_are_preserved() {
    let directory = tempdir().unwrap();
    let root = directory.path();
    write_file(&root.join("script"), b"#!/bin/sh\n").unwrap();
    fs::set_permissions(root.join("script"), fs::Permissions::from_mode(0o750)).unwrap();
    write_file(&root.join("one"), b"old and longer").unwrap();
    fs::hard_link(root.join("one"), root.join("two")).unwrap();
    let write = TestProject::local(root).write();
    for (path, content) in [("script", "#!/bin/bash\n"), ("one", "new")] {
        call(&write, json!({"path": path, "content": content}))
            .await
            .unwrap();
    }
    assert_eq!(
        fs::metadata(root.join("script")).unwrap().mode() & 0o7777,
        0o750
    );
    assert_eq!(fs::read(root.join("two")).unwrap(), b"new");
    assert_eq!(names(root).unwrap(), ["one", "script", "two"]);
}

#[tokio::test]
async fn the_owner_is_preserved() {
    let directory = tempdir().unwrap();
    let path = directory.path().join("f");
    write_file(&path, b"old").unwrap();
    if std::os::unix::fs::chown(&path, Some(12_345), Some(12_346)).is_err() {
        // Only root can change the owner.
        return;
    }
    let write = TestProject::local(directory.path()).write();
    call(&write, json!({"path": "f", "content": "new"}))
        .await
        .unwrap();
    let metadata = fs::metadata(&path).unwrap();
    assert_eq!((metadata.uid(), metadata.gid()), (12_345, 12_346));
    assert_eq!(fs::read(&path).unwrap(), b"new");
}

#[tokio::test]
async fn permissions_are_respected() {
    if !run_isolated("unix_files::permissions_are_respected") {
        return;
    }
    let directory = tempdir().unwrap();
    let root = directory.path();
    for (name, mode) in [("secret", 0o000), ("fixed", 0o444)] {
        write_file(&root.join(name), b"old").unwrap();
        fs::set_permissions(root.join(name), fs::Permissions::from_mode(mode)).unwrap();
    }
    fs::create_dir(root.join("closed")).unwrap();
    write_file(&root.join("closed/f"), b"old").unwrap();
    let close =
        |mode| fs::set_permissions(root.join("closed"), fs::Permissions::from_mode(mode)).unwrap();
    close(0o555);
    let project = TestProject::local(root);
    let (read, write, edit) = (project.read(), project.write(), project.edit());
    let denied = "permission denied (EACCES)";

    let error = call(&read, json!({"path": "secret"})).await.unwrap_err();
    assert_eq!(error.0, format!("Cannot read secret: {denied}"));
    for path in ["secret", "fixed"] {
        let error = call(&write, json!({"path": path, "content": "new"}))
            .await
            .unwrap_err();
        assert_eq!(error.0, format!("Cannot write {path}: {denied}"));
        let error = call(&edit, json!({"path": path, "edits": edits("old", "new")}))
            .await
            .unwrap_err();
        assert_eq!(error.0, format!("Cannot edit {path}: {denied}"));
    }
    // No new file can be created there, but the existing one can be written.
    let error = call(&write, json!({"path": "closed/g", "content": "new"}))
        .await
        .unwrap_err();
    assert_eq!(error.0, format!("Cannot write closed/g: {denied}"));
    call(&write, json!({"path": "closed/f", "content": "new"}))
        .await
        .unwrap();
    assert_eq!(fs::read(root.join("closed/f")).unwrap(), b"new");
    assert_eq!(names(&root.join("closed")).unwrap(), ["f"]);
    // A directory that can be entered but not listed.
    close(0o311);
    call(&write, json!({"path": "closed/f", "content": "newer"}))
        .await
        .unwrap();
    let error = call(&project.ls(), json!({"path": "closed"}))
        .await
        .unwrap_err();
    assert!(error.0.ends_with(denied), "{}", error.0);
    close(0o755);
}

#[tokio::test]
async fn a_large_file_is_read_in_constant_memory() {
    const LINE: &str = "0123456789abcdef0123456789abcdef0123456789abcdef\n";
    const LINES: usize = 100 * 1024 * 1024 / LINE.len();
    if !run_isolated("unix_files::a_large_file_is_read_in_constant_memory") {
        return;
    }
    let directory = tempdir().unwrap();
    let mut file = fs::File::create(directory.path().join("large")).unwrap();
    let block = LINE.repeat(1000);
    for _ in 0..LINES / 1000 {
        file.write_all(block.as_bytes()).unwrap();
    }
    let lines = LINES / 1000 * 1000;
    let read = TestProject::local(directory.path()).read();
    let before = peak_memory();
    let output = call(
        &read,
        json!({"path": "large", "offset": lines - 1, "limit": 1}),
    )
    .await
    .unwrap();
    let line = LINE.trim_end();
    assert_eq!(
        text(&output),
        format!("{line}\n\n[2 more lines in file. Use offset={lines} to continue]")
    );
    let output = call(&read, json!({"path": "large"})).await.unwrap();
    assert_eq!(output.details.unwrap()["truncation"]["totalLines"], lines);
    if let (Some(before), Some(after)) = (before, peak_memory()) {
        let growth = after - before;
        assert!(growth < 16 * 1024, "reading took {growth} KiB");
    }
}

#[tokio::test]
async fn a_huge_file_is_rejected_without_reading_it() {
    if !run_isolated("unix_files::a_huge_file_is_rejected_without_reading_it") {
        return;
    }
    let directory = tempdir().unwrap();
    let huge = directory.path().join("huge");
    fs::File::create(&huge).unwrap().set_len(1 << 30).unwrap();
    write_file(&directory.path().join("small"), b"a needle\n").unwrap();
    let project = TestProject::local(directory.path());
    let before = peak_memory();

    let error = call(&project.read(), json!({"path": "huge"}))
        .await
        .unwrap_err();
    assert!(
        error.0.contains("the file is binary (1024.0MB)"),
        "{}",
        error.0
    );
    let edit = json!({"path": "huge", "edits": edits("a", "b")});
    let error = call(&project.edit(), edit).await.unwrap_err();
    assert!(
        error
            .0
            .ends_with("file too large (1073741824 bytes); use a shell command instead"),
        "{}",
        error.0
    );
    let found = call(&project.grep(), json!({"pattern": "needle"}))
        .await
        .unwrap();
    assert_eq!(text(&found), "small:1: a needle");

    assert_eq!(fs::metadata(&huge).unwrap().len(), 1 << 30);
    if let (Some(before), Some(after)) = (before, peak_memory()) {
        let growth = after - before;
        assert!(growth < 16 * 1024, "memory grew by {growth} KiB");
    }
}

#[tokio::test]
async fn paths_that_are_too_long_fail_cleanly() {
    let directory = tempdir().unwrap();
    let project = TestProject::local(directory.path());
    let tools = [
        project.read(),
        project.write(),
        project.edit(),
        project.ls(),
        project.grep(),
        project.find(),
    ];
    let long_name = "n".repeat(4096);
    let deep = "directory/".repeat(4096 / 7) + "file";
    for path in [long_name.clone(), deep, format!("new/{long_name}")] {
        for tool in &tools {
            let arguments = match tool.tool.declaration().name.as_str() {
                "write" => json!({"path": path, "content": "text"}),
                "edit" => json!({"path": path, "edits": [{"oldText": "a", "newText": "b"}]}),
                "grep" | "find" => json!({"path": path, "pattern": "x"}),
                _ => json!({"path": path}),
            };
            let error = call(tool, arguments).await.unwrap_err();
            let name = &tool.tool.declaration().name;
            assert!(error.0.contains("(ENAMETOOLONG)"), "{name}: {}", error.0);
        }
        assert!(names(directory.path()).unwrap().is_empty());
    }
}

/// Returns the peak memory use of this process in KiB.
fn peak_memory() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}
