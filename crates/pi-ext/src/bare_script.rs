//! Runs one untrusted script in a separate JavaScript context: no Node, no modules, no timers, no files.
//!
//! The script reaches the outside only through a prelude, which exchanges text messages with the owner of the
//! [`ScriptHandle`]. The script runs on a dedicated thread, so that a loop that never ends blocks nothing else.

use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc as blocking;
use std::time::Duration;

use rquickjs::context::EvalOptions;
use rquickjs::function::Func;
use rquickjs::{Context, Ctx, Function, Object, Persistent, Runtime};
use tokio::sync::mpsc;

use crate::engine::{Heartbeat, Watchdog, take_exception};
use crate::error::JsException;

/// Name of the prelude in stack traces.
const PRELUDE_FILE: &str = "prelude.js";

/// Resource limits of a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScriptLimits {
    /// Maximum size of the heap in bytes.
    pub heap: usize,
    /// Maximum size of the stack in bytes.
    pub stack: usize,
    /// CPU time that the script may use without waiting for a message.
    pub slice: Duration,
}

/// A script and its surroundings.
#[derive(Debug, Clone)]
pub struct BareScript {
    /// A function expression that receives `send`, a function for messages, and `input`. It returns an object with the
    /// functions `run`, which receives the script as an async function, `receive`, which receives a message, and
    /// `idle`, which is called whenever no promise job is left.
    pub prelude: &'static str,
    pub input: String,
    /// Parameters of the async function.
    pub parameters: &'static str,
    /// The body of the async function.
    pub source: String,
    /// Name of the script in stack traces.
    pub file_name: &'static str,
    pub limits: ScriptLimits,
}

/// What a script reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScriptMessage {
    /// A message of the prelude.
    Sent(String),
    /// The script cannot be parsed.
    Invalid(JsException),
    /// The thread has ended before its owner stopped it.
    Failed(ScriptFailure),
}

/// Why a script ended on its own.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScriptFailure {
    #[error(
        "the script ran for {} s of CPU time without waiting for a call",
        .0.as_secs()
    )]
    Runaway(Duration),
    #[error("the script was stopped")]
    Stopped,
    #[error("the script engine failed: {0}")]
    Engine(String),
}

/// A running script. Dropping the handle stops it.
#[derive(Debug)]
pub struct ScriptHandle {
    heartbeat: Arc<Heartbeat>,
    inbox: blocking::Sender<String>,
    messages: mpsc::UnboundedReceiver<ScriptMessage>,
}

impl ScriptHandle {
    /// Starts a script on a new thread. `guard` is dropped when the thread has ended, which may be long after the
    /// handle is dropped if the script is in a native operation.
    pub fn start(script: BareScript, guard: impl Send + 'static) -> std::io::Result<Self> {
        let heartbeat = Heartbeat::new();
        let (inbox, received) = blocking::channel();
        // Unbounded: the prelude limits what a script may send.
        let (outbox, messages) = mpsc::unbounded_channel();
        let beat = Arc::clone(&heartbeat);
        // As for extensions: the engine checks its limit only at calls.
        let stack = script.limits.stack.saturating_mul(2) + 1024 * 1024;
        std::thread::Builder::new()
            .name("pi-script".to_owned())
            .stack_size(stack)
            .spawn(move || {
                if let Err(failure) = run(&script, &beat, &received, &outbox) {
                    // Fails only if the handle was dropped.
                    drop(outbox.send(ScriptMessage::Failed(failure)));
                }
                drop(guard);
            })?;
        Ok(Self {
            heartbeat,
            inbox,
            messages,
        })
    }

    /// Returns the next message; `None` after the thread has ended.
    pub async fn next(&mut self) -> Option<ScriptMessage> {
        self.messages.recv().await
    }

    /// Sends a message to the prelude. A script that has ended ignores it.
    pub fn send(&self, message: String) {
        drop(self.inbox.send(message));
    }
}

impl Drop for ScriptHandle {
    fn drop(&mut self) {
        self.heartbeat.stop();
    }
}

/// The functions of the prelude.
struct PreludeFunctions {
    run: Persistent<Function<'static>>,
    receive: Persistent<Function<'static>>,
    idle: Persistent<Function<'static>>,
}

struct ScriptRealm<'a> {
    script: &'a BareScript,
    watchdog: Rc<Watchdog>,
    heartbeat: &'a Arc<Heartbeat>,
    context: &'a Context,
    runtime: &'a Runtime,
}

fn run(
    script: &BareScript,
    heartbeat: &Arc<Heartbeat>,
    inbox: &blocking::Receiver<String>,
    outbox: &mpsc::UnboundedSender<ScriptMessage>,
) -> Result<(), ScriptFailure> {
    let engine = |error: rquickjs::Error| ScriptFailure::Engine(error.to_string());
    let runtime = Runtime::new().map_err(engine)?;
    runtime.set_memory_limit(script.limits.heap);
    runtime.set_max_stack_size(script.limits.stack);
    let watchdog = Watchdog::new(Arc::clone(heartbeat));
    let guard = Rc::clone(&watchdog);
    runtime.set_interrupt_handler(Some(Box::new(move || guard.should_interrupt())));
    let context = Context::full(&runtime).map_err(engine)?;
    let realm = ScriptRealm {
        script,
        watchdog,
        heartbeat,
        context: &context,
        runtime: &runtime,
    };
    let functions = realm.enter(|ctx| load_prelude(ctx, script, outbox.clone()))?;
    let body = realm.enter(|ctx| Ok(compile(ctx, script)))?;
    let body = match body {
        Ok(body) => body,
        Err(exception) => {
            drop(outbox.send(ScriptMessage::Invalid(exception)));
            return Ok(());
        }
    };
    realm.enter(|ctx| {
        let run = functions.run.clone().restore(ctx)?;
        run.call::<_, ()>((body.restore(ctx)?,))
    })?;
    realm.drain(&functions)?;
    while let Ok(message) = inbox.recv() {
        if heartbeat.is_stopping() {
            break;
        }
        realm.enter(|ctx| {
            let receive = functions.receive.clone().restore(ctx)?;
            receive.call::<_, ()>((message,))
        })?;
        realm.drain(&functions)?;
    }
    Ok(())
}

impl ScriptRealm<'_> {
    /// Runs `work` in the context.
    fn enter<T>(
        &self,
        work: impl for<'js> FnOnce(&Ctx<'js>) -> rquickjs::Result<T>,
    ) -> Result<T, ScriptFailure> {
        self.heartbeat.enter();
        self.watchdog.arm(self.script.limits.slice);
        let outcome = self
            .context
            .with(|ctx| work(&ctx).map_err(|error| take_exception(&ctx, &error).to_string()));
        let outcome = outcome.map_err(|error| self.failure(error));
        self.leave();
        outcome
    }

    /// Runs the promise jobs, then lets the prelude check whether anything can settle the rest.
    fn drain(&self, functions: &PreludeFunctions) -> Result<(), ScriptFailure> {
        self.heartbeat.enter();
        self.watchdog.arm(self.script.limits.slice);
        let outcome = loop {
            // An interrupted job may leave no exception.
            if self.heartbeat.is_stopping() || self.watchdog.has_fired() {
                break Err(self.failure(String::new()));
            }
            match self.runtime.execute_pending_job() {
                Ok(true) => {}
                Ok(false) => break Ok(()),
                Err(failed) => failed.0.with(|ctx| drop(ctx.catch())),
            }
        };
        self.leave();
        outcome?;
        self.enter(|ctx| functions.idle.clone().restore(ctx)?.call::<_, ()>(()))
    }

    fn leave(&self) {
        self.watchdog.disarm();
        self.heartbeat.leave();
    }

    fn failure(&self, error: String) -> ScriptFailure {
        if self.heartbeat.is_stopping() {
            ScriptFailure::Stopped
        } else if self.watchdog.has_fired() {
            ScriptFailure::Runaway(self.script.limits.slice)
        } else {
            ScriptFailure::Engine(error)
        }
    }
}

fn load_prelude(
    ctx: &Ctx<'_>,
    script: &BareScript,
    outbox: mpsc::UnboundedSender<ScriptMessage>,
) -> rquickjs::Result<PreludeFunctions> {
    let prelude: Function<'_> = ctx.eval_with_options(script.prelude, options(PRELUDE_FILE))?;
    let send = Func::from(move |message: String| {
        // Fails only if the handle was dropped.
        drop(outbox.send(ScriptMessage::Sent(message)));
    });
    let functions: Object<'_> = prelude.call((send, script.input.as_str()))?;
    let function = |name: &str| -> rquickjs::Result<_> {
        Ok(Persistent::save(
            ctx,
            functions.get::<_, Function<'_>>(name)?,
        ))
    };
    Ok(PreludeFunctions {
        run: function("run")?,
        receive: function("receive")?,
        idle: function("idle")?,
    })
}

fn compile(
    ctx: &Ctx<'_>,
    script: &BareScript,
) -> Result<Persistent<Function<'static>>, JsException> {
    // The body starts on the first line, so that line numbers are those of the script.
    let source = format!("(async ({}) => {{{}\n}})", script.parameters, script.source);
    let function = ctx.eval_with_options::<Function<'_>, _>(source, options(script.file_name));
    match function {
        Ok(function) => Ok(Persistent::save(ctx, function)),
        Err(error) => Err(take_exception(ctx, &error)),
    }
}

fn options(file_name: &str) -> EvalOptions {
    let mut options = EvalOptions::default();
    options.strict = false;
    options.filename = Some(file_name.to_owned());
    options
}
