use std::sync::atomic::{AtomicBool, Ordering};

use pretty_assertions::assert_eq;
use tokio::sync::Semaphore;

use super::super::store::{CredentialInfo, InMemoryCredentialStore};
use super::super::testing::{FakeService, HOUR, NOW, credential, rejected, unreachable};
use super::*;

struct Setup {
    refresher: Refresher,
    store: Arc<dyn CredentialStore>,
    flow: Arc<dyn OAuthFlow>,
    service: Arc<FakeService>,
    env: Env,
}

impl Setup {
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

    async fn fresh(&self) -> Result<String, AuthError> {
        self.fresh_for(None).await
    }

    async fn fresh_for(&self, asked: Option<Duration>) -> Result<String, AuthError> {
        let stored = self.stored().await;
        let renewed = self
            .refresher
            .fresh(&self.store, &self.flow, "p", stored, &self.env, asked)
            .await?;
        Ok(renewed.unwrap().access.expose_secret().to_owned())
    }
}

fn expired() -> OAuthCredential {
    credential(1, NOW + 1000)
}

#[tokio::test]
async fn a_token_with_time_left_is_used_as_it_is() {
    for (left, renewed) in [(5 * 60_000 + 1, false), (5 * 60_000, true), (-HOUR, true)] {
        let setup = Setup::new(FakeService::new(), credential(1, NOW + left));
        let access = setup.fresh().await.unwrap();
        assert_eq!(access == "a2", renewed, "{left} ms left");
        assert_eq!(setup.service.seen().len(), usize::from(renewed));
    }
}

#[tokio::test]
async fn many_requests_share_one_renewal() {
    let setup = Setup::new(FakeService::new(), expired());
    let all = futures_util::future::join_all((0..50).map(|_| setup.fresh())).await;
    assert!(all.iter().all(|access| access.as_ref().unwrap() == "a2"));
    assert_eq!(setup.service.seen(), ["r1"]);
    assert_eq!(setup.stored().await, credential(2, NOW + HOUR));
}

#[tokio::test]
async fn a_failure_is_shared_and_leaves_the_credential() {
    let setup = Setup::new(FakeService::failing([unreachable(false)]), expired());
    let all = futures_util::future::join_all((0..10).map(|_| setup.fresh())).await;
    assert!(all.iter().all(Result::is_err));
    assert_eq!(setup.service.seen(), ["r1"]);
    assert_eq!(
        setup.stored().await,
        expired(),
        "no mark: the token was not sent"
    );
    assert_eq!(
        setup.fresh().await.unwrap(),
        "a2",
        "the next request tries again"
    );
}

#[tokio::test]
async fn a_renewal_outlives_the_request_that_started_it() {
    let mut service = FakeService::new();
    service.gate = Some(Semaphore::new(0));
    let setup = Setup::new(service, expired());
    {
        let request = setup.fresh();
        tokio::pin!(request);
        assert!(futures_util::poll!(request.as_mut()).is_pending());
        // Until the token is marked as sent, then the request is dropped.
        while !setup.stored().await.extra.contains_key(STARTED) {
            assert!(futures_util::poll!(request.as_mut()).is_pending());
            tokio::task::yield_now().await;
        }
    }
    setup.service.gate.as_ref().unwrap().add_permits(1);
    setup.refresher.wait_for_refreshes().await;
    assert_eq!(setup.stored().await, credential(2, NOW + HOUR));
}

#[tokio::test]
async fn what_another_process_renewed_is_adopted() {
    let setup = Setup::new(FakeService::new(), credential(7, NOW + HOUR));
    let outdated = expired();
    let renewed = setup
        .refresher
        .fresh(&setup.store, &setup.flow, "p", outdated, &setup.env, None)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(renewed.access.expose_secret(), "a7");
    assert_eq!(setup.service.seen(), Vec::<String>::new());
}

#[tokio::test]
async fn a_sign_out_meanwhile_is_no_error() {
    let setup = Setup::with_store(FakeService::new(), Arc::new(InMemoryCredentialStore::default()));
    let gone = setup
        .refresher
        .fresh(&setup.store, &setup.flow, "p", expired(), &setup.env, None)
        .await
        .unwrap();
    assert_eq!(gone, None);
}

#[tokio::test]
async fn an_interrupted_renewal_is_told_apart_from_a_revocation() {
    // The answer never came: the token may be spent, so the mark stays.
    let setup = Setup::new(
        FakeService::failing([unreachable(true), rejected()]),
        expired(),
    );
    setup.fresh().await.unwrap_err();
    assert_eq!(
        setup.stored().await.extra.get(STARTED),
        Some(&Value::from(NOW))
    );
    assert_eq!(
        setup.fresh().await.unwrap_err().to_string(),
        "cannot renew the sign-in of p: the token renewal was refused (HTTP 400): invalid_grant; \
         an earlier renewal was interrupted before its result could be saved, sign in again"
    );

    assert!(
        setup.stored().await.extra.contains_key(STARTED),
        "it stays explained"
    );

    let setup = Setup::new(FakeService::failing([rejected(), rejected()]), expired());
    for _attempt in 0..2 {
        assert_eq!(
            setup.fresh().await.unwrap_err().to_string(),
            "cannot renew the sign-in of p: the token renewal was refused (HTTP 400): \
             invalid_grant; sign in again"
        );
        assert_eq!(setup.stored().await, expired());
    }

    // The request may not have arrived: the old token is tried, and works.
    let setup = Setup::new(FakeService::failing([unreachable(true)]), expired());
    setup.fresh().await.unwrap_err();
    assert_eq!(setup.fresh().await.unwrap(), "a2");
    assert_eq!(
        setup.stored().await,
        credential(2, NOW + HOUR),
        "the mark is gone"
    );
}

#[tokio::test(start_paused = true)]
async fn a_service_that_does_not_answer_is_given_up_after_fifteen_seconds() {
    let mut service = FakeService::new();
    service.gate = Some(Semaphore::new(0));
    let setup = Setup::new(service, expired());
    let started = tokio::time::Instant::now();
    let error = setup.fresh().await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot renew the sign-in of p: the renewal took longer than 15 s"
    );
    assert_eq!(started.elapsed(), Duration::from_secs(15));
    assert!(setup.stored().await.extra.contains_key(STARTED));
}

#[tokio::test]
async fn what_the_caller_asks_for_must_hold_after_the_renewal() {
    let setup = Setup::new(FakeService::new(), credential(1, NOW + 20 * 60_000));
    let half_hour = Some(Duration::from_mins(30));
    assert_eq!(setup.fresh().await.unwrap(), "a1");
    assert_eq!(setup.fresh_for(half_hour).await.unwrap(), "a2");
    let two_hours = Some(Duration::from_hours(2));
    let error = setup.fresh_for(two_hours).await.unwrap_err();
    assert!(matches!(error, AuthError::ExpiresTooSoon { .. }), "{error}");
}

/// A store that fails from the second write of a lock on while `full` is set: its disk is full, or
/// somebody took the lock over and wrote their own.
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
            let Some(theirs) = self.conflict.clone() else {
                let full = std::io::ErrorKind::StorageFull.into();
                return Err(AuthError::file("write", "auth.json", full));
            };
            self.inner.save(Some(Credential::OAuth(theirs))).await?;
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
async fn an_answer_that_could_not_be_written_is_written_later() {
    let (store, full) = failing_store(None);
    let setup = Setup::with_store(FakeService::new(), store);
    let error = setup.fresh().await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot write auth.json: no storage space"
    );
    assert_eq!(setup.stored().await.refresh.expose_secret(), "r1");
    full.store(false, Ordering::Relaxed);
    assert_eq!(setup.fresh().await.unwrap(), "a2");
    assert_eq!(
        setup.service.seen(),
        ["r1"],
        "the spent token is not sent again"
    );
    assert_eq!(setup.stored().await, credential(2, NOW + HOUR));
}

#[tokio::test]
async fn whoever_took_the_lock_over_and_got_further_is_right() {
    let (store, _full) = failing_store(Some(credential(9, NOW + HOUR)));
    let setup = Setup::with_store(FakeService::new(), store);
    assert_eq!(setup.fresh().await.unwrap(), "a9");
    assert_eq!(setup.stored().await, credential(9, NOW + HOUR));
}

#[tokio::test]
async fn tokens_that_do_not_rotate_are_not_marked() {
    let mut service = FakeService::failing([unreachable(true)]);
    service.rotates = false;
    let setup = Setup::new(service, expired());
    setup.fresh().await.unwrap_err();
    assert_eq!(setup.stored().await, expired());
}
