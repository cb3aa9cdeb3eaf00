use std::sync::atomic::{AtomicU32, Ordering};

use pretty_assertions::assert_eq;
use tempfile::TempDir;

use super::*;

const TIMING: LockTiming = LockTiming {
    stale: Duration::from_secs(30),
    patience: Duration::from_millis(300),
    renewal: Duration::from_secs(4),
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

#[tokio::test]
async fn lock_is_a_directory_next_to_the_file() {
    let (_home, file, lock) = setup();
    let held = LockDir::acquire(&file, TIMING).await.unwrap();
    assert!(lock.is_dir());
    assert!(held.is_held());
    let modified = fs::metadata(&lock).unwrap().modified().unwrap();
    let since_epoch = modified.duration_since(SystemTime::UNIX_EPOCH).unwrap();
    // JavaScript reads times in milliseconds and compares them exactly.
    assert_eq!(since_epoch.subsec_nanos() % 1_000_000, 0);
    drop(held);
    assert!(!lock.exists());
}

#[tokio::test]
async fn waits_for_held_lock() {
    let (_home, file, lock) = setup();
    fs::create_dir(&lock).unwrap();
    age(&lock, 15);
    let refused = LockDir::acquire(&file, TIMING).await;
    assert!(matches!(refused, Err(LockError::Held)));
    assert!(lock.exists(), "the lock of another program is left alone");

    let patient = LockTiming {
        patience: Duration::from_secs(20),
        ..TIMING
    };
    let path = file.clone();
    let waiting = tokio::spawn(async move { LockDir::acquire(&path, patient).await });
    tokio::task::yield_now().await;
    assert!(!waiting.is_finished());
    fs::remove_dir(&lock).unwrap();
    assert!(waiting.await.unwrap().unwrap().is_held());
}

#[tokio::test]
async fn stale_lock_is_taken_over() {
    let (home, file, lock) = setup();
    fs::create_dir(&lock).unwrap();
    age(&lock, 31);
    let held = LockDir::acquire(&file, TIMING).await.unwrap();
    assert!(held.is_held());
    drop(held);
    assert_eq!(fs::read_dir(home.path()).unwrap().count(), 0, "no debris");
}

#[tokio::test]
async fn lock_from_the_future_is_taken_over() {
    let (_home, file, lock) = setup();
    fs::create_dir(&lock).unwrap();
    let ahead = |seconds| SystemTime::now() + Duration::from_secs(seconds);
    let date = |then| open_directory(&lock).unwrap().set_modified(then).unwrap();
    date(ahead(20));
    let refused = LockDir::acquire(&file, TIMING).await;
    assert!(
        matches!(refused, Err(LockError::Held)),
        "clocks differ a little"
    );
    date(ahead(3_000_000_000));
    let held = LockDir::acquire(&file, TIMING).await.unwrap();
    assert!(held.is_held());
}

#[tokio::test]
async fn lost_lock_is_detected_and_not_released() {
    let (_home, file, lock) = setup();
    let held = LockDir::acquire(&file, TIMING).await.unwrap();
    // Another process took it over.
    fs::remove_dir(&lock).unwrap();
    assert!(!held.is_held());
    fs::create_dir(&lock).unwrap();
    assert!(!held.is_held(), "a directory of the same name is not ours");
    drop(held);
    assert!(lock.exists(), "what is not ours is not released");
}

#[tokio::test]
async fn held_lock_is_renewed() {
    let (_home, file, lock) = setup();
    let quick = LockTiming {
        renewal: Duration::from_millis(20),
        ..TIMING
    };
    let held = LockDir::acquire(&file, quick).await.unwrap();
    let first = fs::metadata(&lock).unwrap().modified().unwrap();
    let deadline = Instant::now() + Duration::from_secs(10);
    while fs::metadata(&lock).unwrap().modified().unwrap() == first {
        assert!(Instant::now() < deadline, "the lock was never renewed");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(held.is_held());
    // A different modification time stops the renewal.
    age(&lock, 60);
    while held.identity.lock().unwrap().is_some() {
        assert!(Instant::now() < deadline, "the loss was never noticed");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(!held.is_held());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn stale_lock_has_one_new_holder() {
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
                tokio::spawn(async move {
                    let held = LockDir::acquire(&file, timing).await.unwrap();
                    let before = inside.fetch_add(1, Ordering::SeqCst);
                    tokio::task::yield_now().await;
                    // A process that lost the lock notices before it writes.
                    let clean = before == 0 || !held.is_held();
                    inside.fetch_sub(1, Ordering::SeqCst);
                    clean
                })
            })
            .collect();
        for task in tasks {
            assert!(task.await.unwrap());
        }
        assert!(!lock.exists());
    }
}
