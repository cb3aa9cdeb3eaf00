//! Restoring where links, modes and kinds of paths are in the way.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use pi_checkpoint::Resolution;
use pretty_assertions::assert_eq;

use crate::random_trees::restore_and_compare;
use crate::simulated_session::{SimulatedSession, text, write};

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

/// Caches of build tools consist of such directories.
#[test]
fn directories_that_may_not_be_written_come_back_with_their_files() {
    let mut session = SimulatedSession::new();
    let [directory, inner, file] = ["d", "d/e", "d/e/a"].map(|name| session.path(name));
    fs::create_dir_all(&inner).unwrap();
    write(&file, "old");
    for path in [&inner, &directory] {
        set_mode(path, 0o555);
    }
    let before = session.prompt();
    let paths = [directory.clone(), inner.clone(), file.clone()];
    let removed = session.call(&paths, || {
        for path in [&directory, &inner] {
            set_mode(path, 0o755);
        }
        fs::remove_dir_all(&directory).unwrap();
    });
    restore_and_compare(&mut session, &before, 0);
    assert_eq!(text(&file).unwrap(), "old");
    for path in [&inner, &directory] {
        assert_eq!(mode(path), 0o555);
    }
    restore_and_compare(&mut session, &removed, 0);
    assert!(!directory.exists());
    restore_and_compare(&mut session, &before, 0);
    // A file in a directory that stays.
    let changed = session.call(std::slice::from_ref(&file), || {
        set_mode(&inner, 0o755);
        write(&file, "new");
        set_mode(&inner, 0o555);
    });
    restore_and_compare(&mut session, &before, 0);
    restore_and_compare(&mut session, &changed, 0);
    assert_eq!(
        (text(&file).unwrap().as_str(), mode(&inner)),
        ("new", 0o555)
    );
    for path in [&directory, &inner] {
        set_mode(path, 0o755);
    }
}

#[test]
fn files_links_and_directories_replace_each_other() {
    let mut session = SimulatedSession::new();
    let [path, below, other] = ["x", "x/a", "other"].map(|name| session.path(name));
    fs::create_dir(&other).unwrap();
    write(&other.join("a"), "of the other directory");
    let paths = [path.clone(), below.clone()];
    let mut entries = vec![session.prompt()];
    entries.push(session.call(&paths, || {
        fs::create_dir(&path).unwrap();
        write(&below, "in a directory");
    }));
    entries.push(session.call(&paths, || {
        fs::remove_dir_all(&path).unwrap();
        write(&path, "a file");
        set_mode(&path, 0o4711);
    }));
    entries.push(session.call(&paths[..1], || {
        fs::remove_file(&path).unwrap();
        symlink("other", &path).unwrap();
    }));
    entries.push(session.call(&paths[..1], || {
        fs::remove_file(&path).unwrap();
        symlink("missing", &path).unwrap();
    }));
    entries.push(session.call(&paths, || {
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        symlink("../other/a", &below).unwrap();
    }));
    for from in &entries {
        for to in &entries {
            restore_and_compare(&mut session, from, 0);
            restore_and_compare(&mut session, to, 0);
            assert_eq!(text(&other.join("a")).unwrap(), "of the other directory");
        }
    }
}

#[test]
fn a_file_next_to_a_changed_one_replaces_nothing_and_follows_no_link() {
    let mut session = SimulatedSession::new();
    let [directory, file, elsewhere] = ["d", "d/a", "elsewhere"].map(|name| session.path(name));
    for path in [&directory, &elsewhere] {
        fs::create_dir(path).unwrap();
    }
    write(&file, "old");
    let prompt = session.prompt();
    session.write("d/a", "new");
    write(&file, "mine");
    write(&session.path("d/a.restored"), "mine, too");
    let plan = session.history.plan(&session.branch(&prompt)).unwrap();
    let mut restore = || {
        let report = session.history.restore(&plan, Resolution::WriteNextTo);
        report.unwrap()
    };
    let report = restore();
    assert_eq!(report.written_next_to, [directory.join("a.restored-2")]);
    let texts = ["a", "a.restored", "a.restored-2"].map(|name| text(&directory.join(name)));
    assert_eq!(texts.map(Option::unwrap), ["mine", "mine, too", "old"]);
    fs::remove_dir_all(&directory).unwrap();
    write(&elsewhere.join("a"), "mine");
    symlink(&elsewhere, &directory).unwrap();
    let report = restore();
    assert_eq!(report.failed.len(), 1, "{report:?}");
    assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 1);
}

/// A process in the background that replaces the file, or its directory, by a link just before it is written.
#[test]
fn a_link_that_appears_during_a_restore_is_not_followed() {
    for name in ["d", "d/a"] {
        let mut session = SimulatedSession::new();
        let [directory, secret] = ["d", "secret"].map(|name| session.path(name));
        for path in [&directory, &secret] {
            fs::create_dir(path).unwrap();
        }
        write(&secret.join("a"), "secret");
        let file = directory.join("a");
        write(&file, "chosen by the attacker");
        let prompt = session.prompt();
        session.write("d/a", "new");
        let plan = session.history.plan(&session.branch(&prompt)).unwrap();
        let (swapped, kept) = (session.path(name), session.path("kept"));
        let target = if name == "d" {
            secret.clone()
        } else {
            secret.join("a")
        };
        let is_done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_done.load(Ordering::Relaxed) {
                    // The restore may have created another one in between.
                    fs::remove_dir_all(&kept).ok();
                    fs::remove_file(&kept).ok();
                    if fs::rename(&swapped, &kept).is_ok() {
                        symlink(&target, &swapped).ok();
                        fs::remove_file(&swapped).ok();
                        fs::rename(&kept, &swapped).ok();
                    }
                }
            });
            for _ in 0..300 {
                session.history.restore(&plan, Resolution::Overwrite).ok();
            }
            is_done.store(true, Ordering::Relaxed);
        });
        assert_eq!(text(&secret.join("a")).unwrap(), "secret", "{name}");
        assert_eq!(fs::read_dir(&secret).unwrap().count(), 1, "{name}");
    }
}
