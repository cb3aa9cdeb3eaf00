use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::FutureExt;
use pretty_assertions::assert_eq;
use tokio::sync::Notify;

use super::*;
use crate::operations::MemoryFiles;

fn is_idle(queue: &MutationQueue) -> bool {
    queue.0.busy().is_empty()
}

/// A mutation that says it has begun and waits to be let go.
#[derive(Clone, Default)]
struct Gate {
    begun: Arc<Notify>,
    open: Arc<Notify>,
}

impl Gate {
    async fn pass(self) {
        self.begun.notify_one();
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
                order.lock().unwrap().push(number);
                running.fetch_sub(1, Ordering::SeqCst);
            },
            &cancel,
        )
    };
    for outcome in futures_util::future::join_all((0..20).map(run)).await {
        outcome.unwrap();
    }
    assert_eq!(*order.lock().unwrap(), (0..20).collect::<Vec<_>>());
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
    let mut held = queue
        .run(&files, Path::new("/a"), |_| gate.clone().pass(), &cancel)
        .boxed();
    assert!(held.as_mut().now_or_never().is_none());
    let path = queue
        .run(&files, Path::new("/b"), |path| async move { path }, &cancel)
        .await
        .unwrap();
    assert_eq!(path, Path::new("/b"));
    gate.open.notify_one();
    held.await.unwrap();
    assert!(is_idle(&queue));
}

#[tokio::test]
async fn a_mutation_whose_caller_is_gone_keeps_its_place_until_it_settles() {
    let (queue, files, cancel) = (
        MutationQueue::default(),
        MemoryFiles::default(),
        CancellationToken::new(),
    );
    let gate = Gate::default();
    let mut first = queue
        .run(&files, Path::new("/f"), |_| gate.clone().pass(), &cancel)
        .boxed();
    assert!(first.as_mut().now_or_never().is_none());
    gate.begun.notified().await;
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
async fn who_stops_waiting_is_passed_over() {
    let (queue, files) = (MutationQueue::default(), MemoryFiles::default());
    let (cancel, impatient) = (CancellationToken::new(), CancellationToken::new());
    let gate = Gate::default();
    let mut first = queue
        .run(&files, Path::new("/f"), |_| gate.clone().pass(), &cancel)
        .boxed();
    assert!(first.as_mut().now_or_never().is_none());
    let mut second = queue
        .run(&files, Path::new("/f"), |_| async {}, &impatient)
        .boxed();
    assert!(second.as_mut().now_or_never().is_none());
    let mut third = queue
        .run(&files, Path::new("/f"), |_| async { 3 }, &cancel)
        .boxed();
    assert!(third.as_mut().now_or_never().is_none());
    impatient.cancel();
    assert!(matches!(second.await, Err(MutationError::Cancelled)));
    gate.open.notify_one();
    let (first, third) = tokio::join!(first, third);
    first.unwrap();
    assert_eq!(third.unwrap(), 3);
    assert!(is_idle(&queue));
}

#[tokio::test]
async fn a_mutation_that_breaks_down_frees_its_file() {
    let (queue, files, cancel) = (
        MutationQueue::default(),
        MemoryFiles::default(),
        CancellationToken::new(),
    );
    let broken = queue
        .run(
            &files,
            Path::new("/f"),
            |_| async { panic!("broken") },
            &cancel,
        )
        .await;
    assert!(
        matches!(broken, Err(MutationError::Failed(_))),
        "{broken:?}"
    );
    queue
        .run(&files, Path::new("/f"), |_| async {}, &cancel)
        .await
        .unwrap();
    assert!(is_idle(&queue));
}
