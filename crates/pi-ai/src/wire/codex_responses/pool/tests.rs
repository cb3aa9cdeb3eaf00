//! The rules of the pool, over sockets that only pretend.

use std::sync::atomic::{AtomicUsize, Ordering};

use pretty_assertions::assert_eq;
use tokio::sync::watch;

use super::*;
use crate::error::ProviderError;
use crate::transport::websocket::Incoming;

/// A socket that never says anything until it is told to.
#[derive(Debug)]
struct QuietSocket {
    number: usize,
    speaks: watch::Receiver<bool>,
    closed: Arc<AtomicUsize>,
}

impl MessageSocket for QuietSocket {
    async fn send(&mut self, _text: String) -> Result<(), ProviderError> {
        Ok(())
    }

    async fn receive(&mut self, _limit: Option<Duration>) -> Result<Incoming, ProviderError> {
        if self.speaks.wait_for(|speaks| *speaks).await.is_err() {
            std::future::pending::<()>().await;
        }
        let reason = String::new();
        Ok(Incoming::Closed { code: 1000, reason })
    }

    async fn close(self) {
        self.closed.fetch_add(1, Ordering::Relaxed);
    }
}

struct Fixture {
    pool: SocketPool<QuietSocket>,
    speaks: watch::Sender<bool>,
    closed: Arc<AtomicUsize>,
}

impl Fixture {
    fn new() -> Self {
        Self {
            pool: SocketPool::default(),
            speaks: watch::Sender::new(false),
            closed: Arc::default(),
        }
    }

    fn open(&self, number: usize) -> Connection<QuietSocket> {
        Connection::new(QuietSocket {
            number,
            speaks: self.speaks.subscribe(),
            closed: Arc::clone(&self.closed),
        })
    }

    /// Leases a key and returns which socket was kept there.
    async fn lease(&self, session: &str) -> (Lease<QuietSocket>, Option<Connection<QuietSocket>>) {
        let key = SocketKey {
            session_id: session.to_owned(),
            account_id: "account".to_owned(),
            url: "ws://127.0.0.1".to_owned(),
        };
        self.pool.lease(Some(key)).await
    }

    async fn keep(&self, session: &str, number: usize) {
        let (lease, _) = self.lease(session).await;
        lease.give_back(self.open(number));
    }

    async fn kept(&self, session: &str) -> Option<usize> {
        let (_lease, connection) = self.lease(session).await;
        connection.map(|connection| connection.socket.number)
    }

    fn closed(&self) -> usize {
        self.closed.load(Ordering::Relaxed)
    }
}

/// Runs every task that can run: the paused clock advances only when none can.
async fn let_others_run() {
    tokio::time::sleep(Duration::from_millis(1)).await;
}

#[tokio::test(start_paused = true)]
async fn a_kept_connection_serves_the_same_session_only() {
    let fixture = Fixture::new();
    fixture.keep("one", 1).await;
    assert_eq!(fixture.kept("other").await, None);
    assert_eq!(fixture.kept("one").await, Some(1));
    assert_eq!(fixture.kept("one").await, None, "it was not given back");
}

#[tokio::test(start_paused = true)]
async fn a_leased_connection_is_not_shared() {
    let fixture = Fixture::new();
    fixture.keep("one", 1).await;
    let (lease, connection) = fixture.lease("one").await;
    let (second_lease, second) = fixture.lease("one").await;
    assert!(second.is_none());
    second_lease.give_back(fixture.open(2));
    let_others_run().await;
    assert_eq!(
        fixture.closed(),
        1,
        "the second connection is closed after use"
    );
    lease.give_back(connection.unwrap());
    assert_eq!(fixture.kept("one").await, Some(1));
}

#[tokio::test(start_paused = true)]
async fn a_connection_nobody_wants_is_closed() {
    let fixture = Fixture::new();
    fixture.keep("one", 1).await;
    tokio::time::sleep(IDLE_LIMIT.saturating_sub(Duration::from_secs(1))).await;
    let (lease, connection) = fixture.lease("one").await;
    lease.give_back(connection.unwrap());
    tokio::time::sleep(IDLE_LIMIT + Duration::from_secs(1)).await;
    assert_eq!(fixture.closed(), 1);
    assert_eq!(fixture.kept("one").await, None);
}

#[tokio::test(start_paused = true)]
async fn an_old_connection_is_closed() {
    let fixture = Fixture::new();
    let (lease, _) = fixture.lease("one").await;
    let connection = fixture.open(1);
    tokio::time::sleep(AGE_LIMIT).await;
    lease.give_back(connection);
    assert_eq!(fixture.kept("one").await, None);
    let_others_run().await;
    assert_eq!(fixture.closed(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_connection_the_service_closes_is_let_go() {
    let fixture = Fixture::new();
    fixture.keep("one", 1).await;
    fixture.speaks.send_replace(true);
    let_others_run().await;
    assert_eq!(fixture.closed(), 1);
    assert_eq!(fixture.kept("one").await, None);
}

#[tokio::test(start_paused = true)]
async fn dropping_the_pool_lets_go_of_everything() {
    let fixture = Fixture::new();
    fixture.keep("one", 1).await;
    let Fixture { pool, speaks, .. } = fixture;
    assert_eq!(speaks.receiver_count(), 1);
    drop(pool);
    speaks.closed().await;
}

#[tokio::test(start_paused = true)]
async fn a_request_without_session_closes_its_connection() {
    let fixture = Fixture::new();
    for number in 1..=2 {
        let (lease, kept) = fixture.pool.lease(None).await;
        assert!(kept.is_none());
        lease.give_back(fixture.open(number));
        let_others_run().await;
        assert_eq!(fixture.closed(), number);
    }
}
