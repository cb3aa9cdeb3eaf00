//! Dialogs of extensions as requests that any client of the session may answer.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use pi_config::ResourceFlags;
use pi_host::{
    DialogResponse, ExtensionDialog, ExtensionFailure, ExtensionMode, ExtensionOptions,
    ExtensionUi, Host, Observed, Observer, SessionHandle,
};
use pi_protocol::{
    Ack, Answer, Command, Rejected, RejectionCode, Request, RequestId, RequestKind, SessionEvent,
};
use pretty_assertions::assert_eq;
use tokio::sync::{Mutex, mpsc, oneshot};
use tokio::task::JoinHandle;

use crate::test_env::{RuntimeTestEnv, prompt};

/// Asks in every way, and names the session after the answers.
const ASKING: &str = r#"
export default function (pi) {
    let stop;
    const command = (name, handler) => pi.registerCommand(name, { description: name, handler });
    const answered = (answer) => pi.setSessionName(JSON.stringify(answer ?? null));
    command("confirm", async (_args, ctx) => answered(await ctx.ui.confirm("Sure?", "Really")));
    command("select", async (_args, ctx) => answered(await ctx.ui.select("Which?", ["a", "b"])));
    command("input", async (_args, ctx) => answered(await ctx.ui.input("Name?", "yours")));
    command("editor", async (_args, ctx) => answered(await ctx.ui.editor("Text?", "start")));
    command("cancelable", async (_args, ctx) => {
        stop = new AbortController();
        answered(await ctx.ui.input("Name?", "", { signal: stop.signal }));
    });
    command("stop", async () => stop.abort());
}
"#;

/// A dialog that the front end shows, and its answer. Closed when the front end has to dismiss it.
type Shown = (ExtensionDialog, oneshot::Sender<DialogResponse>);

/// A front end that shows dialogs until the test answers them.
struct ShowingUi(mpsc::UnboundedSender<Shown>);

impl ExtensionUi for ShowingUi {
    fn mode(&self) -> ExtensionMode {
        ExtensionMode::Rpc
    }

    fn show_dialog(&self, dialog: ExtensionDialog) -> BoxFuture<'static, DialogResponse> {
        let (sender, receiver) = oneshot::channel();
        self.0.send((dialog, sender)).unwrap();
        Box::pin(async move { receiver.await.unwrap() })
    }

    fn report_failure(&self, failure: ExtensionFailure) -> BoxFuture<'static, ()> {
        panic!("an extension failed: {failure:?}");
    }
}

struct AskingSession {
    handle: SessionHandle,
    shown: Mutex<mpsc::UnboundedReceiver<Shown>>,
    _env: RuntimeTestEnv,
}

impl AskingSession {
    async fn open() -> Self {
        let env = RuntimeTestEnv::new();
        let file = env.home.write("extensions/asking.ts", ASKING);
        let (sender, shown) = mpsc::unbounded_channel();
        let options = env.options().with(|_, session| {
            session.resources = ResourceFlags {
                extensions: vec![file.to_string_lossy().into_owned()],
                ..ResourceFlags::default()
            };
            session.extensions = ExtensionOptions {
                ui: Arc::new(ShowingUi(sender)),
                ..ExtensionOptions::default()
            };
        });
        let handle = Host::new(options.host).open(options.session).await.unwrap();
        Self {
            handle,
            shown: Mutex::new(shown),
            _env: env,
        }
    }

    /// Runs a command of the extension until it shows a dialog.
    async fn ask(&self, command: &'static str) -> (Shown, JoinHandle<()>) {
        let session = self.handle.session();
        let running = tokio::spawn(async move { prompt(&session, command).await });
        (self.shown.lock().await.recv().await.unwrap(), running)
    }

    async fn answer(&self, id: &str, answer: Answer) -> Result<Ack, Rejected> {
        let request = RequestId(id.to_owned());
        self.handle
            .submit(Command::Answer { request, answer })
            .await
    }

    fn answered(&self) -> Option<String> {
        self.handle.session().session_name()
    }
}

fn value(value: &str) -> Answer {
    Answer::Value {
        value: value.to_owned(),
    }
}

/// Returns the next request and its outcome.
async fn next_dialog(observer: &mut Observer) -> (Request, RequestId, Answer) {
    let mut opened = None;
    loop {
        let Some(Observed::Event(envelope)) = observer.next().await else {
            panic!("the observer keeps up and the session stays open");
        };
        match (&envelope.event, opened.take()) {
            (SessionEvent::DialogRequested { request }, None) => opened = Some(request.clone()),
            (SessionEvent::DialogResolved { request, answer }, Some(opened)) => {
                return (opened, request.clone(), answer.clone());
            }
            (_, before) => opened = before,
        }
    }
}

#[tokio::test]
async fn one_client_answers_and_the_others_see_it() {
    let asking = AskingSession::open().await;
    let mut observers = [asking.handle.observe(None), asking.handle.observe(None)];
    let ((dialog, mut front_end), running) = asking.ask("/select").await;
    assert_eq!(
        asking.answer(&dialog.id, value("c")).await,
        Err(Rejected::new(
            RejectionCode::Invalid,
            "this request expects `value` with one of the options, or `cancelled`"
        ))
    );
    let done = Ok(Ack::Done { data: None });
    assert_eq!(asking.answer(&dialog.id, value("b")).await, done);
    // The front end is notified to dismiss its dialog.
    front_end.closed().await;
    running.await.unwrap();
    assert_eq!(asking.answered().unwrap(), r#""b""#);
    for observer in &mut observers {
        let (request, resolved, answer) = next_dialog(observer).await;
        assert_eq!(request.id.0, dialog.id);
        assert_eq!((resolved, answer), (request.id, value("b")));
    }
    assert_eq!(
        asking.answer(&dialog.id, value("a")).await,
        Err(Rejected::new(
            RejectionCode::NotFound,
            "another client has answered first"
        ))
    );
}

#[tokio::test]
async fn a_client_that_attaches_later_finds_the_request_in_the_snapshot() {
    let asking = AskingSession::open().await;
    for (command, kind, response, answer) in [
        (
            "/confirm",
            RequestKind::Confirm {
                title: "Sure?".to_owned(),
                message: "Really".to_owned(),
                timeout: None,
            },
            DialogResponse::Confirmed(true),
            "true",
        ),
        (
            "/input",
            RequestKind::Input {
                title: "Name?".to_owned(),
                placeholder: Some("yours".to_owned()),
                timeout: None,
            },
            DialogResponse::Text("Ada".to_owned()),
            r#""Ada""#,
        ),
        (
            "/editor",
            RequestKind::Editor {
                title: "Text?".to_owned(),
                prefill: Some("start".to_owned()),
            },
            DialogResponse::Cancelled,
            "null",
        ),
    ] {
        let mut observer = asking.handle.observe(None);
        let ((dialog, front_end), running) = asking.ask(command).await;
        let pending = asking.handle.snapshot().pending;
        assert_eq!(pending.len(), 1, "{pending:?}");
        assert_eq!((&pending[0].id.0, &pending[0].kind), (&dialog.id, &kind));
        // The answer of the front end is the answer of the request.
        front_end.send(response.clone()).unwrap();
        running.await.unwrap();
        assert_eq!(asking.answered().unwrap(), answer);
        let (_, _, resolved) = next_dialog(&mut observer).await;
        assert_eq!(resolved, Answer::from(response));
        assert_eq!(asking.handle.snapshot().pending, []);
        let late = asking.answer(&dialog.id, Answer::Cancelled).await;
        assert_eq!(late.unwrap_err().code, RejectionCode::NotFound);
    }
}

#[tokio::test]
async fn an_aborted_dialog_cancels_its_request() {
    let asking = AskingSession::open().await;
    let mut observer = asking.handle.observe(None);
    let ((dialog, mut front_end), running) = asking.ask("/cancelable").await;
    prompt(&asking.handle.session(), "/stop").await;
    front_end.closed().await;
    running.await.unwrap();
    assert_eq!(asking.answered().unwrap(), "null");
    let (request, _, answer) = next_dialog(&mut observer).await;
    assert_eq!(
        (request.id.0, answer),
        (dialog.id.clone(), Answer::Cancelled)
    );
    assert_eq!(asking.handle.snapshot().pending, []);
    assert_eq!(
        asking.answer(&dialog.id, value("late")).await,
        Err(Rejected::new(
            RejectionCode::NotFound,
            "no request waits for this answer"
        ))
    );
}

#[tokio::test]
async fn closing_the_session_cancels_its_requests() {
    let asking = AskingSession::open().await;
    let mut observer = asking.handle.observe(None);
    let ((dialog, _front_end), running) = asking.ask("/input").await;
    asking.handle.runtime().shutdown().await;
    let (request, _, answer) = next_dialog(&mut observer).await;
    assert_eq!((request.id.0, answer), (dialog.id, Answer::Cancelled));
    assert_eq!(asking.handle.snapshot().pending, []);
    running.abort();
}
