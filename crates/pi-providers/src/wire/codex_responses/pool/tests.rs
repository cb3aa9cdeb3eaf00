//! The rules of the pool, with fake sockets.

use std::sync::atomic::{AtomicUsize, Ordering};

use pi_http::WebSocketMessage;
use pi_protocol::ProviderError;
use pretty_assertions::assert_eq;
use tokio::sync::watch;

use super::*;

/// A socket that receives nothing until the test closes it.
#[derive(Debug)]
struct QuietSocket {
    number: usize,
    closed_by_service: watch::Receiver<bool>,
    closed: Arc<AtomicUsize>,
}

impl MessageSocket for QuietSocket {
    async fn send(&mut self, _text: String) -> Result<(), ProviderError> {
        Ok(())
    }

    async fn receive(
        &mut self,
        _limit: Option<Duration>,
    ) -> Result<WebSocketMessage, ProviderError> {
        if self
            .closed_by_service
            .wait_for(|closed_by_service| *closed_by_service)
            .await
            .is_err()
        {
            std::future::pending::<()>().await;
        }
        let reason = String::new();
        Ok(WebSocketMessage::Closed { code: 1000, reason })
    }

    async fn close(self) {
        self.closed.fetch_add(1, Ordering::Relaxed);
    }
}

struct PoolFixture {
    pool: SocketPool<QuietSocket>,
    closed_by_service: watch::Sender<bool>,
    closed: Arc<AtomicUsize>,
}

impl PoolFixture {
    fn new() -> Self {
        Self {
            pool: SocketPool::default(),
            closed_by_service: watch::Sender::new(false),
            closed: Arc::default(),
        }
    }

    fn open(&self, number: usize) -> Connection<QuietSocket> {
        Connection::new(QuietSocket {
            number,
            closed_by_service: self.closed_by_service.subscribe(),
            closed: Arc::clone(&self.closed),
        })
    }

    /// Leases a key and returns the pooled connection.
    async fn lease(&self, session: &str) -> (Lease<QuietSocket>, Option<Connection<QuietSocket>>) {
        let key = SocketKey {
            session_id: session.to_owned(),
            account_id: "account".to_owned(),
            url: "ws://127.0.0.1".to_owned(),
        };
        self.pool.lease(Some(key)).await
    }

    async fn pool(&self, session: &str, number: usize) {
        let (lease, _) = self.lease(session).await;
        lease.release(self.open(number));
    }

    async fn pooled(&self, session: &str) -> Option<usize> {
        let (_lease, connection) = self.lease(session).await;
        connection.map(|connection| connection.socket.number)
    }

    fn closed(&self) -> usize {
        self.closed.load(Ordering::Relaxed)
    }
}

/// Runs every ready task: the paused clock only advances when none is.
async fn run_ready_tasks() {
    tokio::time::sleep(Duration::from_millis(1)).await;
}

#[tokio::test(start_paused = true)]
async fn a_pooled_connection_serves_the_same_session_only() {
    let fixture = PoolFixture::new();
    fixture.pool("one", 1).await;
    assert_eq!(fixture.pooled("other").await, None);
    assert_eq!(fixture.pooled("one").await, Some(1));
    assert_eq!(fixture.pooled("one").await, None, "it was not given back");
}

#[tokio::test(start_paused = true)]
async fn a_leased_connection_is_not_shared() {
    let fixture = PoolFixture::new();
    fixture.pool("one", 1).await;
    let (lease, connection) = fixture.lease("one").await;
    let (second_lease, second) = fixture.lease("one").await;
    assert!(second.is_none());
    second_lease.release(fixture.open(2));
    run_ready_tasks().await;
    assert_eq!(
        fixture.closed(),
        1,
        "the second connection is closed after use"
    );
    lease.release(connection.unwrap());
    assert_eq!(fixture.pooled("one").await, Some(1));
}

#[tokio::test(start_paused = true)]
async fn an_idle_connection_is_closed() {
    let fixture = PoolFixture::new();
    fixture.pool("one", 1).await;
    tokio::time::sleep(IDLE_LIMIT.saturating_sub(Duration::from_secs(1))).await;
    let (lease, connection) = fixture.lease("one").await;
    lease.release(connection.unwrap());
    tokio::time::sleep(IDLE_LIMIT + Duration::from_secs(1)).await;
    assert_eq!(fixture.closed(), 1);
    assert_eq!(fixture.pooled("one").await, None);
}

#[tokio::test(start_paused = true)]
async fn an_old_connection_is_closed() {
    let fixture = PoolFixture::new();
    let (lease, _) = fixture.lease("one").await;
    let connection = fixture.open(1);
    tokio::time::sleep(AGE_LIMIT).await;
    lease.release(connection);
    assert_eq!(fixture.pooled("one").await, None);
    run_ready_tasks().await;
    assert_eq!(fixture.closed(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_connection_closed_by_the_service_is_dropped() {
    let fixture = PoolFixture::new();
    fixture.pool("one", 1).await;
    fixture.closed_by_service.send_replace(true);
    run_ready_tasks().await;
    assert_eq!(fixture.closed(), 1);
    assert_eq!(fixture.pooled("one").await, None);
}

#[tokio::test(start_paused = true)]
async fn dropping_the_pool_closes_all_connections() {
    let fixture = PoolFixture::new();
    fixture.pool("one", 1).await;
    let PoolFixture {
        pool,
        closed_by_service,
        ..
    } = fixture;
    assert_eq!(closed_by_service.receiver_count(), 1);
    drop(pool);
    closed_by_service.closed().await;
}

#[tokio::test(start_paused = true)]
async fn a_request_without_session_closes_its_connection() {
    let fixture = PoolFixture::new();
    for number in 1..=2 {
        let (lease, pooled) = fixture.pool.lease(None).await;
        assert!(pooled.is_none());
        lease.release(fixture.open(number));
        run_ready_tasks().await;
        assert_eq!(fixture.closed(), number);
    }
}
