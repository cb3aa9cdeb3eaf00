//! Starts tasks in order, on any number of threads.

use std::future::Future;
use std::task::Poll;

use tokio::sync::oneshot;

/// Lets futures that run in different tasks start in the order in which they were added: each begins when the one
/// before it has run up to its first wait.
#[derive(Debug, Default)]
pub struct StartOrder {
    /// Completes when the last future has started.
    last: Option<oneshot::Receiver<()>>,
}

impl StartOrder {
    /// Returns a future that starts after those that were added before it.
    pub fn add<F: Future>(&mut self, future: F) -> impl Future<Output = F::Output> + use<F> {
        let (started, last) = oneshot::channel::<()>();
        let previous = self.last.replace(last);
        async move {
            if let Some(previous) = previous {
                // An error means that the previous future has ended, which is as good.
                previous.await.ok();
            }
            let mut future = std::pin::pin!(future);
            let first = futures_util::poll!(future.as_mut());
            drop(started);
            match first {
                Poll::Ready(output) => output,
                Poll::Pending => future.await,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use tokio::sync::mpsc;

    use super::*;

    #[tokio::test]
    async fn a_future_starts_after_those_before_it_whichever_is_polled_first() {
        let mut order = StartOrder::default();
        let (sender, mut started) = mpsc::unbounded_channel();
        let mut add = |name: &'static str| {
            let sender = sender.clone();
            Box::pin(order.add(async move {
                sender.send(name).unwrap();
                std::future::pending::<()>().await;
            }))
        };
        let (mut first, mut second) = (add("first"), add("second"));
        assert!(futures_util::poll!(&mut second).is_pending());
        assert!(futures_util::poll!(&mut first).is_pending());
        assert!(futures_util::poll!(&mut second).is_pending());
        assert_eq!(started.recv().await, Some("first"));
        assert_eq!(started.recv().await, Some("second"));
        drop((first, add("third")));
        let mut fourth = add("fourth");
        assert!(futures_util::poll!(&mut fourth).is_pending());
        assert_eq!(started.recv().await, Some("fourth"));
    }
}
