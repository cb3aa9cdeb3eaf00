use std::sync::atomic::{AtomicBool, Ordering};

use pretty_assertions::assert_eq;
use tokio::sync::Semaphore;

use super::super::store::{CredentialInfo, InMemoryCredentialStore};
use super::super::testing::{FakeService, HOUR, NOW, credential, rejected, unreachable};
use super::*;

struct RefreshTest {
    refresher: Refresher,
    store: Arc<dyn CredentialStore>,
    flow: Arc<dyn OAuthFlow>,
    service: Arc<FakeService>,
    env: Env,
}

impl RefreshTest {
    fn new(service: FakeService, stored: OAuthCredential) -> Self {
        let entries = [("p".to_owned(), Credential::OAuth(stored))];
        Self::with_store(service, Arc::new(InMemoryCredentialStore::new(entries)))
    }

    fn with_store(service: FakeService, store: Arc<dyn CredentialStore>) -> Self {
        let service = Arc::new(service);
        Self {
            refresher: Refresher::new(HttpClient::new()),
            store,
            flow: Arc::new(Arc::clone(&service)),
            service,
            env: Env::fixed([("X", "")]).with_clock(|| NOW),
        }
    }

    async fn stored(&self) -> OAuthCredential {
        let stored = self.store.read("p").await.unwrap().unwrap();
        stored.as_oauth().unwrap().clone()
    }

    async fn ensure_fresh(&self) -> Result<String, AuthError> {
        self.ensure_fresh_for(None).await
    }

    async fn ensure_fresh_for(&self, min_validity: Option<Duration>) -> Result<String, AuthError> {
        let stored = self.stored().await;
        let refreshed = self
            .refresher
            .ensure_fresh(
                &self.store,
                &self.flow,
                "p",
                stored,
                &self.env,
                min_validity,
            )
            .await?;
        Ok(refreshed.unwrap().access.expose_secret().to_owned())
    }
}

fn expired() -> OAuthCredential {
    credential(1, NOW + 1000)
}

#[tokio::test]
async fn valid_token_is_not_refreshed() {
    for (left, refreshed) in [(5 * 60_000 + 1, false), (5 * 60_000, true), (-HOUR, true)] {
        let test = RefreshTest::new(FakeService::new(), credential(1, NOW + left));
        let access = test.ensure_fresh().await.unwrap();
        assert_eq!(access == "a2", refreshed, "{left} ms left");
        assert_eq!(test.service.received().len(), usize::from(refreshed));
    }
}

#[tokio::test]
async fn concurrent_requests_share_one_refresh() {
    let test = RefreshTest::new(FakeService::new(), expired());
    let all = futures_util::future::join_all((0..50).map(|_| test.ensure_fresh())).await;
    assert!(all.iter().all(|access| access.as_ref().unwrap() == "a2"));
    assert_eq!(test.service.received(), ["r1"]);
    assert_eq!(test.stored().await, credential(2, NOW + HOUR));
}

#[tokio::test]
async fn failure_is_shared_and_keeps_the_credential() {
    let test = RefreshTest::new(FakeService::failing([unreachable(false)]), expired());
    let all = futures_util::future::join_all((0..10).map(|_| test.ensure_fresh())).await;
    assert!(all.iter().all(Result::is_err));
    assert_eq!(test.service.received(), ["r1"]);
    assert_eq!(
        test.stored().await,
        expired(),
        "no mark: the token was not sent"
    );
    assert_eq!(
        test.ensure_fresh().await.unwrap(),
        "a2",
        "the next request retries"
    );
}

#[tokio::test]
async fn replaced_tokens_are_remembered_for_redaction() {
    let test = RefreshTest::new(FakeService::new(), expired());
    test.ensure_fresh().await.unwrap();
    test.ensure_fresh().await.unwrap();
    let used = test.refresher.used_tokens();
    let used: Vec<&str> = used.iter().map(ExposeSecret::expose_secret).collect();
    assert_eq!(used, ["a1", "r1", "a2", "r2"]);
}

#[tokio::test]
async fn refresh_outlives_the_request_that_started_it() {
    let mut service = FakeService::new();
    service.gate = Some(Semaphore::new(0));
    let test = RefreshTest::new(service, expired());
    {
        let request = test.ensure_fresh();
        tokio::pin!(request);
        assert!(futures_util::poll!(request.as_mut()).is_pending());
        // Poll until the token is marked as sent, then drop the request.
        while !test.stored().await.extra.contains_key(REFRESH_STARTED) {
            assert!(futures_util::poll!(request.as_mut()).is_pending());
            tokio::task::yield_now().await;
        }
    }
    test.service.gate.as_ref().unwrap().add_permits(1);
    test.refresher.wait_for_refreshes().await;
    assert_eq!(test.stored().await, credential(2, NOW + HOUR));
}

#[tokio::test]
async fn tokens_refreshed_by_another_process_are_adopted() {
    let test = RefreshTest::new(FakeService::new(), credential(7, NOW + HOUR));
    let outdated = expired();
    let refreshed = test
        .refresher
        .ensure_fresh(&test.store, &test.flow, "p", outdated, &test.env, None)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(refreshed.access.expose_secret(), "a7");
    assert_eq!(test.service.received(), Vec::<String>::new());
}

#[tokio::test]
async fn sign_out_during_refresh_is_not_an_error() {
    let test = RefreshTest::with_store(
        FakeService::new(),
        Arc::new(InMemoryCredentialStore::default()),
    );
    let gone = test
        .refresher
        .ensure_fresh(&test.store, &test.flow, "p", expired(), &test.env, None)
        .await
        .unwrap();
    assert_eq!(gone, None);
}

#[tokio::test]
async fn interrupted_refresh_is_distinguished_from_revocation() {
    // No response arrived: the token may be spent, so the mark stays.
    let test = RefreshTest::new(
        FakeService::failing([unreachable(true), rejected()]),
        expired(),
    );
    test.ensure_fresh().await.unwrap_err();
    assert_eq!(
        test.stored().await.extra.get(REFRESH_STARTED),
        Some(&Value::from(NOW))
    );
    assert_eq!(
        test.ensure_fresh().await.unwrap_err().to_string(),
        "cannot refresh the OAuth token for p: token refresh rejected (HTTP 400): invalid_grant; \
         an earlier refresh was interrupted before its result was saved, sign in again"
    );

    assert!(
        test.stored().await.extra.contains_key(REFRESH_STARTED),
        "the mark stays, so the next error is explained, too"
    );

    let test = RefreshTest::new(FakeService::failing([rejected(), rejected()]), expired());
    for _attempt in 0..2 {
        assert_eq!(
            test.ensure_fresh().await.unwrap_err().to_string(),
            "cannot refresh the OAuth token for p: token refresh rejected (HTTP 400): \
             invalid_grant; sign in again"
        );
        assert_eq!(test.stored().await, expired());
    }

    // The request may not have arrived: the old token is tried again and works.
    let test = RefreshTest::new(FakeService::failing([unreachable(true)]), expired());
    test.ensure_fresh().await.unwrap_err();
    assert_eq!(test.ensure_fresh().await.unwrap(), "a2");
    assert_eq!(
        test.stored().await,
        credential(2, NOW + HOUR),
        "the mark is gone"
    );
}

#[tokio::test(start_paused = true)]
async fn unresponsive_service_fails_after_fifteen_seconds() {
    let mut service = FakeService::new();
    service.gate = Some(Semaphore::new(0));
    let test = RefreshTest::new(service, expired());
    let started = tokio::time::Instant::now();
    let error = test.ensure_fresh().await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot refresh the OAuth token for p: token refresh took longer than 15 s"
    );
    assert_eq!(started.elapsed(), Duration::from_secs(15));
    assert!(test.stored().await.extra.contains_key(REFRESH_STARTED));
}

#[tokio::test]
async fn refreshed_token_must_meet_the_requested_validity() {
    let test = RefreshTest::new(FakeService::new(), credential(1, NOW + 20 * 60_000));
    let half_hour = Some(Duration::from_mins(30));
    assert_eq!(test.ensure_fresh().await.unwrap(), "a1");
    assert_eq!(test.ensure_fresh_for(half_hour).await.unwrap(), "a2");
    let two_hours = Some(Duration::from_hours(2));
    let error = test.ensure_fresh_for(two_hours).await.unwrap_err();
    assert!(matches!(error, AuthError::ExpiresTooSoon { .. }), "{error}");
}

/// A store whose second and later writes under a lock fail while `full` is set: the disk is full, or
/// another process took over the lock and wrote its own tokens.
struct FailingStore {
    inner: InMemoryCredentialStore,
    full: Arc<AtomicBool>,
    conflict: Option<OAuthCredential>,
}

struct FailingEntry {
    inner: Box<dyn LockedCredential>,
    full: Arc<AtomicBool>,
    conflict: Option<OAuthCredential>,
    writes: usize,
}

impl CredentialStore for FailingStore {
    fn read<'a>(
        &'a self,
        provider: &'a str,
    ) -> BoxFuture<'a, Result<Option<Credential>, AuthError>> {
        self.inner.read(provider)
    }

    fn list(&self) -> BoxFuture<'_, Result<Vec<CredentialInfo>, AuthError>> {
        self.inner.list()
    }

    fn lock<'a>(
        &'a self,
        provider: &'a str,
    ) -> BoxFuture<'a, Result<Box<dyn LockedCredential>, AuthError>> {
        async move {
            Ok(Box::new(FailingEntry {
                inner: self.inner.lock(provider).await?,
                full: Arc::clone(&self.full),
                conflict: self.conflict.clone(),
                writes: 0,
            }) as Box<dyn LockedCredential>)
        }
        .boxed()
    }
}

impl LockedCredential for FailingEntry {
    fn current(&self) -> Option<&Credential> {
        self.inner.current()
    }

    fn save(&mut self, credential: Option<Credential>) -> BoxFuture<'_, Result<(), AuthError>> {
        self.writes += 1;
        if self.writes == 1 || !self.full.load(Ordering::Relaxed) {
            return self.inner.save(credential);
        }
        async move {
            let Some(current) = self.conflict.clone() else {
                let full = std::io::ErrorKind::StorageFull.into();
                return Err(AuthError::file("write", "auth.json", full));
            };
            self.inner.save(Some(Credential::OAuth(current))).await?;
            Err(AuthError::Conflict {
                file: "auth.json".into(),
                provider: "p".to_owned(),
            })
        }
        .boxed()
    }
}

fn failing_store(conflict: Option<OAuthCredential>) -> (Arc<FailingStore>, Arc<AtomicBool>) {
    let full = Arc::new(AtomicBool::new(true));
    let entries = [("p".to_owned(), Credential::OAuth(expired()))];
    let store = Arc::new(FailingStore {
        inner: InMemoryCredentialStore::new(entries),
        full: Arc::clone(&full),
        conflict,
    });
    (store, full)
}

#[tokio::test]
async fn unsaved_tokens_are_written_later() {
    let (store, full) = failing_store(None);
    let test = RefreshTest::with_store(FakeService::new(), store);
    let error = test.ensure_fresh().await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot write auth.json: no storage space"
    );
    assert_eq!(test.stored().await.refresh.expose_secret(), "r1");
    full.store(false, Ordering::Relaxed);
    assert_eq!(test.ensure_fresh().await.unwrap(), "a2");
    assert_eq!(
        test.service.received(),
        ["r1"],
        "the spent token is not sent again"
    );
    assert_eq!(test.stored().await, credential(2, NOW + HOUR));
}

#[tokio::test]
async fn tokens_of_a_process_that_took_over_the_lock_win() {
    let (store, _full) = failing_store(Some(credential(9, NOW + HOUR)));
    let test = RefreshTest::with_store(FakeService::new(), store);
    assert_eq!(test.ensure_fresh().await.unwrap(), "a9");
    assert_eq!(test.stored().await, credential(9, NOW + HOUR));
}

#[tokio::test]
async fn non_rotating_tokens_are_not_marked() {
    let mut service = FakeService::failing([unreachable(true)]);
    service.rotates = false;
    let test = RefreshTest::new(service, expired());
    test.ensure_fresh().await.unwrap_err();
    assert_eq!(test.stored().await, expired());
}
