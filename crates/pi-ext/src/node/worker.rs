//! Native half of `Worker`: a worker is a separate engine, on its own thread.
//!
//! Both sides exchange messages as text. What a worker prints and calls reaches the host of the extension that started it.

use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::{Mutex, mpsc};
use tokio_util::sync::CancellationToken;

use super::{NativeError, NativeFuture, NativeRequest};
use crate::engine::{CallOptions, Engine, NativeReply, Realm};
use crate::error::{EngineError, JsException};
use crate::host::{ConsoleLine, EngineHost, ExtensionFault, HostError, HostFuture, SharedHost};

/// CPU time that a worker may use without yielding. It blocks only itself, and its parent can terminate it.
const SLICE: Duration = Duration::from_mins(10);

/// Exit codes of workers that failed or were terminated.
const FAILED: i32 = 1;

/// IDs of the threads of workers.
static LAST_THREAD: AtomicU64 = AtomicU64::new(0);

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct WorkerArguments {
    id: u32,
    script: String,
    is_source: bool,
    data: String,
    environment: Vec<(String, String)>,
    message: String,
}

/// What a worker reports to its parent.
#[derive(Debug)]
enum WorkerEvent {
    Online,
    Message(String),
    Failed(JsException),
    Exit(i32),
}

/// A worker's side of the connection to its parent.
#[derive(Debug)]
pub(crate) struct WorkerPort {
    thread: u64,
    /// `workerData`.
    data: String,
    // Unbounded, like the queues of Node: `postMessage` cannot wait.
    inbox: Mutex<mpsc::UnboundedReceiver<String>>,
    outbox: mpsc::UnboundedSender<WorkerEvent>,
}

/// A parent's side of the connection.
struct RunningWorker {
    messages: mpsc::UnboundedSender<String>,
    events: Mutex<mpsc::UnboundedReceiver<WorkerEvent>>,
    terminated: CancellationToken,
}

impl Drop for RunningWorker {
    fn drop(&mut self) {
        self.terminated.cancel();
    }
}

/// Runs an operation synchronously.
pub(super) fn call(realm: &Rc<Realm>, request: &NativeRequest) -> Result<NativeReply, NativeError> {
    let arguments: WorkerArguments = request.read()?;
    let port = realm.options.worker.as_deref();
    match request.operation.as_str() {
        "own" => {
            let own = |port: &WorkerPort| json!({"thread": port.thread, "data": port.data});
            return Ok(port.map_or(NativeReply::Nothing, |it| NativeReply::Json(own(it))));
        }
        "post" => {
            if let Some(port) = port {
                // The parent may have ended.
                drop(port.outbox.send(WorkerEvent::Message(arguments.message)));
            }
        }
        "start" => return Ok(start_worker(realm, arguments)),
        "send" => {
            if let Some(worker) = realm.resources.get::<RunningWorker>(arguments.id) {
                // The worker may have ended.
                drop(worker.messages.send(arguments.message));
            }
        }
        "terminate" => {
            if let Some(worker) = realm.resources.get::<RunningWorker>(arguments.id) {
                worker.terminated.cancel();
            }
        }
        _ => return Err(request.unknown("worker")),
    }
    Ok(NativeReply::Nothing)
}

/// Starts an operation. `receive` returns the next message for this worker; `next` returns the next event of a worker as
/// kind and content.
pub(super) fn start(realm: &Rc<Realm>, request: NativeRequest) -> NativeFuture {
    let realm = Rc::clone(realm);
    Box::pin(async move {
        match request.operation.as_str() {
            "receive" => {
                let message = match realm.options.worker.as_deref() {
                    Some(port) => port.inbox.lock().await.recv().await,
                    None => None,
                };
                match message {
                    Some(message) => Ok(NativeReply::Text(message)),
                    // The parent has ended, and ends this worker.
                    None => std::future::pending().await,
                }
            }
            "next" => {
                let id = request.number("id");
                let worker = realm.resources.get::<RunningWorker>(id);
                let event = match &worker {
                    Some(worker) => worker.events.lock().await.recv().await,
                    None => None,
                };
                let event = event.unwrap_or(WorkerEvent::Exit(FAILED));
                if matches!(event, WorkerEvent::Exit(_)) {
                    realm.resources.release(id);
                }
                Ok(NativeReply::Json(event_json(event)))
            }
            _ => Err(request.unknown("worker")),
        }
    })
}

fn event_json(event: WorkerEvent) -> Value {
    match event {
        WorkerEvent::Online => json!(["online"]),
        WorkerEvent::Message(message) => json!(["message", message]),
        WorkerEvent::Exit(code) => json!(["exit", code]),
        WorkerEvent::Failed(error) => json!(["error", {
            "name": error.name, "message": error.message, "stack": error.stack, "code": error.code,
        }]),
    }
}

/// Starts a thread with an engine that runs the script.
fn start_worker(realm: &Rc<Realm>, arguments: WorkerArguments) -> NativeReply {
    let thread = LAST_THREAD.fetch_add(1, Ordering::Relaxed) + 1;
    let (messages, inbox) = mpsc::unbounded_channel();
    let (outbox, events) = mpsc::unbounded_channel();
    let terminated = CancellationToken::new();
    let failed = CancellationToken::new();
    let mut options = (*realm.options).clone();
    options.host = SharedHost(Arc::new(WorkerHost {
        parent: options.host,
        outbox: outbox.clone(),
        failed: failed.clone(),
    }));
    options.limits.slice = options.limits.slice.max(SLICE);
    options.process.environment = arguments.environment;
    // The screen belongs to the thread of the extensions.
    options.tui_toolkit = None;
    options.worker = Some(Arc::new(WorkerPort {
        thread,
        data: arguments.data,
        inbox: Mutex::new(inbox),
        outbox: outbox.clone(),
    }));
    let owner = realm.owner();
    let call = CallOptions {
        extension: owner.path().map(str::to_owned),
        charged: owner.charged.as_deref().map(str::to_owned),
        ..CallOptions::default()
    };
    let engine = Engine::new(options);
    let script = vec![json!(arguments.script), json!(arguments.is_source)];
    let ended = terminated.clone();
    realm.resources.spawn(async move {
        // The parent may have ended before any of these.
        drop(outbox.send(WorkerEvent::Online));
        let run = engine.call("pi:worker", "run", script, call);
        let code = tokio::select! {
            biased;
            () = ended.cancelled() => FAILED,
            () = failed.cancelled() => FAILED,
            result = run => match result {
                Ok(_) => {
                    // Rejections are reported after the call; the engine runs this later.
                    drop(engine.run(|_| ()).await);
                    if failed.is_cancelled() { FAILED } else { 0 }
                }
                Err(error) => {
                    drop(outbox.send(WorkerEvent::Failed(exception(error))));
                    FAILED
                }
            },
        };
        // Its code is interrupted; what blocks in native code is left behind.
        engine.replace();
        drop(outbox.send(WorkerEvent::Exit(code)));
    });
    let id = realm.resources.insert(RunningWorker {
        messages,
        events: Mutex::new(events),
        terminated,
    });
    NativeReply::Json(json!({"id": id, "thread": thread}))
}

fn exception(error: EngineError) -> JsException {
    match error {
        EngineError::Exception(thrown) => thrown,
        other => JsException {
            name: "Error".to_owned(),
            message: other.to_string(),
            ..JsException::default()
        },
    }
}

/// The host of a worker: that of its parent, except that failures end the worker and are events of it.
struct WorkerHost {
    parent: SharedHost,
    outbox: mpsc::UnboundedSender<WorkerEvent>,
    failed: CancellationToken,
}

impl EngineHost for WorkerHost {
    fn console(&self, line: ConsoleLine) {
        self.parent.0.console(line);
    }

    fn fault(&self, fault: ExtensionFault) {
        let error = JsException {
            name: "Error".to_owned(),
            message: fault.message,
            stack: fault.stack,
            code: None,
        };
        // The parent may have ended.
        drop(self.outbox.send(WorkerEvent::Failed(error)));
        self.failed.cancel();
    }

    fn call(
        &self,
        extension: Option<&str>,
        method: &str,
        arguments: Value,
    ) -> Result<Value, HostError> {
        self.parent.0.call(extension, method, arguments)
    }

    fn request(&self, extension: Option<&str>, method: &str, arguments: Value) -> HostFuture {
        self.parent.0.request(extension, method, arguments)
    }
}
