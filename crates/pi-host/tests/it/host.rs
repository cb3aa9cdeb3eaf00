//! Many sessions in one host, with clients that come and go.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::poll;
use pi_host::{
    AttachError, Host, LifecycleHook, Observed, Observer, Participants, SessionHandle,
    SessionOptions, SessionShutdown, SessionStart, StartError,
};
use pi_protocol::SessionEvent;
use pi_providers::{FauxGate, FauxResponse};
use pretty_assertions::assert_eq;
use tokio::sync::Notify;
use tokio::task::JoinSet;

use crate::test_env::{RuntimeTestEnv, prompt};

const SESSIONS: usize = 50;
const PROMPTS: usize = 3;
const LIMIT: Duration = Duration::from_mins(1);

fn host(env: &RuntimeTestEnv) -> Host {
    Host::new(env.options().host)
}

async fn open(host: &Host, env: &RuntimeTestEnv) -> SessionHandle {
    host.open(env.options().session).await.unwrap()
}

/// Reads until the session is closed; returns the number of settled runs, or `None` if events were missed.
async fn count_settled(mut observer: Observer) -> Option<usize> {
    let (mut settled, mut has_lagged) = (0, false);
    while let Some(observed) = observer.next().await {
        match observed {
            Observed::Event(envelope) => {
                settled += usize::from(matches!(envelope.event, SessionEvent::AgentSettled));
            }
            Observed::Lagged => has_lagged = true,
        }
        tokio::task::yield_now().await;
    }
    (!has_lagged).then_some(settled)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn fifty_sessions_run_with_three_observers_each_one_of_which_never_reads() {
    let env = RuntimeTestEnv::new();
    let host = host(&env);
    // More deltas than the log keeps, so that the idle observer misses some.
    let text = "word ".repeat(2000);
    for _ in 0..SESSIONS * PROMPTS {
        env.faux.push(FauxResponse::text(text.clone()));
    }
    let mut handles = Vec::new();
    for _ in 0..SESSIONS {
        handles.push(open(&host, &env).await);
    }
    assert_eq!(host.sessions().len(), SESSIONS);
    let mut clients = JoinSet::new();
    for handle in handles {
        clients.spawn(async move {
            let observers = [handle.observe(None), handle.observe(None)];
            let observers = observers.map(|observer| tokio::spawn(count_settled(observer)));
            let mut idle = handle.observe(None);
            for number in 0..PROMPTS {
                prompt(&handle.session(), &format!("prompt {number}")).await;
            }
            let count = handle.session().history().messages().unwrap().len();
            let last_seq = handle.observe(None).cursor().seq;
            handle.runtime().shutdown().await;
            for observer in observers {
                let settled = observer.await.unwrap();
                assert!(
                    settled.is_none_or(|settled| settled == PROMPTS),
                    "{settled:?}"
                );
            }
            // The observer that never read learns that it missed events and is then up to date.
            match idle.next().await {
                Some(Observed::Lagged) => assert!(idle.cursor().seq >= last_seq),
                other => panic!("the observer has missed events: {other:?}"),
            }
            assert_eq!(handle.snapshot().message_count, count);
            count
        });
    }
    let counts = clients.join_all().await;
    // System message, and a prompt and a response per run.
    assert_eq!(counts, [1 + 2 * PROMPTS; SESSIONS]);
}

#[tokio::test]
async fn sessions_of_a_directory_share_its_workspace() {
    let env = RuntimeTestEnv::new();
    let host = host(&env);
    let (one, other) = (open(&host, &env).await, open(&host, &env).await);
    assert_ne!(one.id(), other.id());
    let workspaces = [one.runtime().workspace(), other.runtime().workspace()];
    assert!(std::sync::Arc::ptr_eq(&workspaces[0], &workspaces[1]));
    // A reload reads the files again, and only for the session that asked for it.
    one.runtime().reload().await.unwrap();
    assert!(!std::sync::Arc::ptr_eq(
        &one.runtime().workspace(),
        &workspaces[1]
    ));
    host.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn an_idle_session_without_clients_is_closed_and_opened_again_on_demand() {
    let env = RuntimeTestEnv::new();
    let host = host(&env);
    let handle = open(&host, &env).await;
    prompt(&handle.session(), "hello").await;
    let id = handle.id();

    tokio::time::advance(LIMIT).await;
    assert_eq!(host.close_idle(LIMIT).await, 0, "a client is attached");
    let old = handle.session();
    drop(handle);
    assert_eq!(host.close_idle(LIMIT).await, 0, "the client was just here");
    tokio::time::advance(LIMIT).await;
    assert_eq!(host.close_idle(LIMIT).await, 1);
    assert_eq!(host.sessions().len(), 0);
    drop(old);

    let again = host.attach(&id, env.options().session).await.unwrap();
    assert_eq!(again.id(), id);
    assert_eq!(again.session().history().messages().unwrap().len(), 3);
    prompt(&again.session(), "still there?").await;
    assert_eq!(again.session().history().messages().unwrap().len(), 5);
    host.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn idle_sessions_are_closed_while_the_host_looks_for_them() {
    let env = RuntimeTestEnv::new();
    let host = host(&env);
    drop(open(&host, &env).await);
    let closing = tokio::spawn({
        let host = host.clone();
        async move { host.keep_closing_idle(LIMIT).await }
    });
    while !host.sessions().is_empty() {
        tokio::time::sleep(LIMIT / 8).await;
    }
    closing.abort();
}

#[tokio::test(start_paused = true)]
async fn a_session_with_work_left_is_not_closed() {
    let env = RuntimeTestEnv::new();
    let host = host(&env);
    let handle = open(&host, &env).await;
    let session = handle.session();
    let gate = FauxGate::new();
    env.faux.push(FauxResponse::after(&gate).then_text("late"));
    let running = tokio::spawn(async move { prompt(&session, "hello").await });
    gate.reached().await;
    drop(handle);
    tokio::time::advance(2 * LIMIT).await;
    assert_eq!(host.close_idle(LIMIT).await, 0);
    gate.open();
    running.await.unwrap();
    assert_eq!(host.close_idle(LIMIT).await, 0, "it was just busy");
    tokio::time::advance(LIMIT).await;
    assert_eq!(host.close_idle(LIMIT).await, 1);
}

#[tokio::test]
async fn clients_attach_to_the_same_live_session() {
    let env = RuntimeTestEnv::new();
    let host = host(&env);
    let handle = open(&host, &env).await;
    prompt(&handle.session(), "hello").await;
    let options = env.options().session;
    let second = host.attach(&handle.id(), options.clone()).await.unwrap();
    assert_eq!(host.sessions().len(), 1);
    assert_eq!(second.session().history().messages().unwrap().len(), 3);

    // A session that a client shut down is opened again.
    second.runtime().shutdown().await;
    let (id, old) = (handle.id(), handle.session());
    drop((handle, second, old));
    let again = host.attach(&id, options.clone()).await.unwrap();
    assert_eq!(host.sessions().len(), 1);
    prompt(&again.session(), "still there?").await;

    let unknown = host.attach("no-such-session", options).await;
    assert!(
        matches!(&unknown, Err(AttachError::NotFound(id)) if id == "no-such-session"),
        "{unknown:?}"
    );
    host.shutdown().await;
    assert_eq!(host.sessions().len(), 0);
}

/// Waits in `session_start` or `session_shutdown`.
#[derive(Default)]
struct GatedLifecycle {
    gates_start: bool,
    reached: Notify,
    release: Notify,
}

impl GatedLifecycle {
    async fn wait(&self) {
        self.reached.notify_one();
        self.release.notified().await;
    }
}

impl LifecycleHook for GatedLifecycle {
    fn session_start(&self, _start: SessionStart) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            if self.gates_start {
                self.wait().await;
            }
        })
    }

    fn session_shutdown(&self, _shutdown: SessionShutdown) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            if !self.gates_start {
                self.wait().await;
            }
        })
    }
}

fn gated_options(env: &RuntimeTestEnv, gate: &Arc<GatedLifecycle>) -> SessionOptions {
    SessionOptions {
        participants: Arc::new(Participants::builder().lifecycle(Arc::clone(gate)).build()),
        ..env.options().session
    }
}

#[tokio::test]
async fn a_session_that_is_being_opened_is_canceled_by_shutdown_and_later_ones_are_refused() {
    let env = RuntimeTestEnv::new();
    let host = host(&env);
    let gate = Arc::new(GatedLifecycle {
        gates_start: true,
        ..GatedLifecycle::default()
    });
    let opening = tokio::spawn({
        let (host, options) = (host.clone(), gated_options(&env, &gate));
        async move { host.open(options).await }
    });
    gate.reached.notified().await;
    host.shutdown().await;
    let opened = opening.await.unwrap();
    assert!(
        matches!(opened, Err(StartError::HostShutDown)),
        "{opened:?}"
    );
    let later = host.open(env.options().session).await;
    assert!(matches!(later, Err(StartError::HostShutDown)), "{later:?}");
    assert_eq!(host.sessions().len(), 0);
}

#[tokio::test(start_paused = true)]
async fn shutdown_waits_for_a_session_that_is_being_closed() {
    let env = RuntimeTestEnv::new();
    let host = host(&env);
    let gate = Arc::new(GatedLifecycle::default());
    drop(host.open(gated_options(&env, &gate)).await.unwrap());
    tokio::time::advance(LIMIT).await;
    let closing = tokio::spawn({
        let host = host.clone();
        async move { host.close_idle(LIMIT).await }
    });
    gate.reached.notified().await;
    let mut shutdown = pin!(host.shutdown());
    assert!(poll!(shutdown.as_mut()).is_pending());
    gate.release.notify_one();
    shutdown.await;
    assert_eq!(closing.await.unwrap(), 1);
}
