use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::FutureExt;
use pretty_assertions::assert_eq;
use tokio::sync::Notify;

use super::*;
use crate::memory::MemoryFiles;

fn is_idle(queue: &MutationQueue) -> bool {
    queue.0.busy().is_empty()
}

/// A mutation that signals its start and waits until it is released.
#[derive(Clone, Default)]
struct Gate {
    started: Arc<Notify>,
    open: Arc<Notify>,
}

impl Gate {
    async fn run(self) {
        self.started.notify_one();
        self.open.notified().await;
    }
}

#[tokio::test]
async fn mutations_of_one_file_run_in_order_and_one_at_a_time() {
    let (queue, files, cancel) = (
        MutationQueue::default(),
        MemoryFiles::default(),
        CancellationToken::new(),
    );
    let order = Arc::new(Mutex::new(Vec::new()));
    let running = Arc::new(AtomicUsize::new(0));
    let run = |number: usize| {
        let (order, running) = (Arc::clone(&order), Arc::clone(&running));
        queue.run(
            &files,
            Path::new("/f"),
            move |_| async move {
                assert_eq!(running.fetch_add(1, Ordering::SeqCst), 0);
                tokio::task::yield_now().await;
                order.lock().push(number);
                running.fetch_sub(1, Ordering::SeqCst);
            },
            &cancel,
        )
    };
    for outcome in futures_util::future::join_all((0..20).map(run)).await {
        outcome.unwrap();
    }
    assert_eq!(*order.lock(), (0..20).collect::<Vec<_>>());
    assert!(is_idle(&queue));
}

#[tokio::test]
async fn different_files_do_not_wait() {
    let (queue, files, cancel) = (
        MutationQueue::default(),
        MemoryFiles::default(),
        CancellationToken::new(),
    );
    let gate = Gate::default();
    let mut blocked = queue
        .run(&files, Path::new("/a"), |_| gate.clone().run(), &cancel)
        .boxed();
    assert!(blocked.as_mut().now_or_never().is_none());
    let path = queue
        .run(&files, Path::new("/b"), |path| async move { path }, &cancel)
        .await
        .unwrap();
    assert_eq!(path, Path::new("/b"));
    gate.open.notify_one();
    blocked.await.unwrap();
    assert!(is_idle(&queue));
}

#[tokio::test]
async fn a_mutation_without_a_caller_keeps_its_permit() {
    let (queue, files, cancel) = (
        MutationQueue::default(),
        MemoryFiles::default(),
        CancellationToken::new(),
    );
    let gate = Gate::default();
    let mut first = queue
        .run(&files, Path::new("/f"), |_| gate.clone().run(), &cancel)
        .boxed();
    assert!(first.as_mut().now_or_never().is_none());
    gate.started.notified().await;
    drop(first);

    let mut second = queue
        .run(&files, Path::new("/f"), |_| async {}, &cancel)
        .boxed();
    tokio::task::yield_now().await;
    assert!(second.as_mut().now_or_never().is_none());
    gate.open.notify_one();
    second.await.unwrap();
    queue.wait_idle().await;
    assert!(is_idle(&queue));
}

#[tokio::test]
async fn canceled_waiters_are_skipped() {
    let (queue, files) = (MutationQueue::default(), MemoryFiles::default());
    let (cancel, canceled) = (CancellationToken::new(), CancellationToken::new());
    let gate = Gate::default();
    let mut first = queue
        .run(&files, Path::new("/f"), |_| gate.clone().run(), &cancel)
        .boxed();
    assert!(first.as_mut().now_or_never().is_none());
    let mut second = queue
        .run(&files, Path::new("/f"), |_| async {}, &canceled)
        .boxed();
    assert!(second.as_mut().now_or_never().is_none());
    let mut third = queue
        .run(&files, Path::new("/f"), |_| async { 3 }, &cancel)
        .boxed();
    assert!(third.as_mut().now_or_never().is_none());
    canceled.cancel();
    assert!(matches!(second.await, Err(MutationError::Canceled)));
    gate.open.notify_one();
    let (first, third) = tokio::join!(first, third);
    first.unwrap();
    assert_eq!(third.unwrap(), 3);
    assert!(is_idle(&queue));
}

#[tokio::test]
async fn a_panicking_mutation_releases_its_file() {
    let (queue, files, cancel) = (
        MutationQueue::default(),
        MemoryFiles::default(),
        CancellationToken::new(),
    );
    let panicked = queue
        .run(
            &files,
            Path::new("/f"),
            |_| async { panic!("test panic") },
            &cancel,
        )
        .await;
    assert!(
        matches!(panicked, Err(MutationError::Failed(_))),
        "{panicked:?}"
    );
    queue
        .run(&files, Path::new("/f"), |_| async {}, &cancel)
        .await
        .unwrap();
    assert!(is_idle(&queue));
}
