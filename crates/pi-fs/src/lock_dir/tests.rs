use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::SystemTime;

use pretty_assertions::assert_eq;
use tempfile::TempDir;

use super::protocol::open_directory;
use super::*;

const TIMING: LockTiming = LockTiming {
    stale: Duration::from_secs(30),
    patience: Duration::from_millis(300),
    max_delay: Duration::from_secs(1),
    renewal: Some(Duration::from_secs(4)),
};

fn setup() -> (TempDir, PathBuf, PathBuf) {
    let home = TempDir::new().unwrap();
    let file = home.path().join("auth.json");
    let lock = home.path().join("auth.json.lock");
    (home, file, lock)
}

/// Backdates a lock, as if its holder had crashed.
fn age(lock: &Path, seconds: u64) {
    let then = SystemTime::now() - Duration::from_secs(seconds);
    open_directory(lock).unwrap().set_modified(then).unwrap();
}

#[test]
fn lock_is_a_directory_next_to_the_file() {
    let (_home, file, lock) = setup();
    let held = LockDir::acquire(&file, TIMING).unwrap();
    assert!(lock.is_dir());
    assert!(held.is_held());
    let modified = fs::metadata(&lock).unwrap().modified().unwrap();
    let since_epoch = modified.duration_since(SystemTime::UNIX_EPOCH).unwrap();
    // JavaScript reads times in milliseconds and compares them exactly.
    assert_eq!(since_epoch.subsec_nanos() % 1_000_000, 0);
    drop(held);
    assert!(!lock.exists());
}

#[test]
fn waits_for_held_lock() {
    let (_home, file, lock) = setup();
    fs::create_dir(&lock).unwrap();
    age(&lock, 15);
    let refused = LockDir::acquire(&file, TIMING);
    assert!(matches!(refused, Err(LockError::Held)));
    assert!(lock.exists(), "the lock of another program is left alone");

    let patient = LockTiming {
        patience: Duration::from_secs(20),
        ..TIMING
    };
    let waiting = thread::spawn(move || LockDir::acquire(&file, patient));
    thread::sleep(Duration::from_millis(5));
    assert!(!waiting.is_finished());
    fs::remove_dir(&lock).unwrap();
    assert!(waiting.join().unwrap().unwrap().is_held());
}

#[test]
fn stale_lock_is_taken_over() {
    let (home, file, lock) = setup();
    fs::create_dir(&lock).unwrap();
    age(&lock, 31);
    let held = LockDir::acquire(&file, TIMING).unwrap();
    assert!(held.is_held());
    drop(held);
    assert_eq!(fs::read_dir(home.path()).unwrap().count(), 0, "no debris");
}

#[test]
fn lock_from_the_future_is_taken_over() {
    let (_home, file, lock) = setup();
    fs::create_dir(&lock).unwrap();
    let ahead = |seconds| SystemTime::now() + Duration::from_secs(seconds);
    let date = |then| open_directory(&lock).unwrap().set_modified(then).unwrap();
    date(ahead(20));
    let refused = LockDir::acquire(&file, TIMING);
    assert!(
        matches!(refused, Err(LockError::Held)),
        "clocks differ a little"
    );
    date(ahead(3_000_000_000));
    let held = LockDir::acquire(&file, TIMING).unwrap();
    assert!(held.is_held());
}

#[test]
fn lost_lock_is_detected_and_not_released() {
    let (_home, file, lock) = setup();
    let held = LockDir::acquire(&file, TIMING).unwrap();
    // Another process took it over.
    fs::remove_dir(&lock).unwrap();
    assert!(!held.is_held());
    fs::create_dir(&lock).unwrap();
    assert!(!held.is_held(), "a directory of the same name is not ours");
    drop(held);
    assert!(lock.exists(), "what is not ours is not released");
}

#[test]
fn held_lock_is_renewed() {
    let (_home, file, lock) = setup();
    let quick = LockTiming {
        renewal: Some(Duration::from_millis(20)),
        ..TIMING
    };
    let held = LockDir::acquire(&file, quick).unwrap();
    let first = fs::metadata(&lock).unwrap().modified().unwrap();
    let deadline = Instant::now() + Duration::from_secs(10);
    while fs::metadata(&lock).unwrap().modified().unwrap() == first {
        assert!(Instant::now() < deadline, "the lock was never renewed");
        thread::sleep(Duration::from_millis(5));
    }
    assert!(held.is_held());
    // A different modification time stops the renewal.
    age(&lock, 60);
    while held.held.lock().is_some() {
        assert!(Instant::now() < deadline, "the loss was never noticed");
        thread::sleep(Duration::from_millis(5));
    }
    assert!(!held.is_held());
}

#[test]
fn stale_lock_has_one_new_holder() {
    let (_home, file, lock) = setup();
    for _round in 0..20 {
        fs::create_dir(&lock).unwrap();
        age(&lock, 31);
        let inside = Arc::new(AtomicU32::new(0));
        let timing = LockTiming {
            patience: Duration::from_secs(30),
            ..TIMING
        };
        let tasks: Vec<_> = (0..6)
            .map(|_| {
                let (file, inside) = (file.clone(), Arc::clone(&inside));
                thread::spawn(move || {
                    let held = LockDir::acquire(&file, timing).unwrap();
                    let before = inside.fetch_add(1, Ordering::SeqCst);
                    thread::yield_now();
                    // A process that lost the lock notices before it writes.
                    let clean = before == 0 || !held.is_held();
                    inside.fetch_sub(1, Ordering::SeqCst);
                    clean
                })
            })
            .collect();
        for task in tasks {
            assert!(task.join().unwrap());
        }
        assert!(!lock.exists());
    }
}

#[test]
fn an_attempt_returns_the_delay_until_the_next() {
    let (_home, file, lock) = setup();
    fs::create_dir(&lock).unwrap();
    let mut attempts = LockAttempts::start(&file, TIMING).unwrap();
    for expected in [10, 20, 40] {
        let LockAttempt::Retry(delay) = attempts.attempt().unwrap() else {
            panic!("the lock is held");
        };
        let expected = Duration::from_millis(expected);
        assert!(
            (expected..expected * 2).contains(&delay),
            "{delay:?} {expected:?}"
        );
    }
    fs::remove_dir(&lock).unwrap();
    let attempt = attempts.attempt().unwrap();
    assert!(matches!(attempt, LockAttempt::Acquired(held) if held.is_held()));
}

#[test]
fn a_lock_without_renewal_keeps_its_time() {
    let (_home, file, lock) = setup();
    let held = LockDir::acquire(&file, LockTiming::SETTINGS).unwrap();
    assert_eq!(Arc::strong_count(&held.held), 1, "no thread renews it");
    drop(held);
    assert!(!lock.exists());
}
