//! The JavaScript world of one engine thread: its context, what it waits for, who runs now.
//!
//! Everything enters JavaScript through [`Realm::enter`], which arms the watchdog, names the
//! extension on whose behalf the code runs, drains the promise jobs and reports what nobody
//! handles. JavaScript never runs while a Rust future is polled, so nothing here is re-entered.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::time::Duration;

use rquickjs::{Array, Context, Ctx, Error, Function, Object, Persistent, Runtime, Value};
use tokio::sync::oneshot;

use super::values::{self, Reply};
use super::watchdog::{Budgets, Effort, Pulse, Watchdog};
use super::{EngineOptions, timers::Timers};
use crate::embedded;
use crate::error::{EngineError, Thrown};
use crate::host::{ConsoleLevel, ConsoleLine, Fault, FaultKind};
use crate::loader::{ExtensionLoader, ExtensionResolver, ModuleTable};
use crate::node::{NativeError, Resources};
use crate::terminal_kit::Parts;

/// Bytes on the heap before garbage is first looked for. Loading makes hardly any, and a look costs more
/// the more has been loaded.
const FIRST_COLLECTION: usize = 16 * 1024 * 1024;

thread_local! {
    /// The realm of this thread; native functions find it here.
    static CURRENT: RefCell<Weak<Realm>> = const { RefCell::new(Weak::new()) };
}

/// The extension on whose behalf code runs.
pub(crate) type Owner = Option<Arc<str>>;

/// What a call gives back.
pub(crate) type CallResult = Result<serde_json::Value, EngineError>;

/// The functions of ours, in JavaScript, that Rust calls.
pub(crate) struct EntryPoints {
    complete: Persistent<Function<'static>>,
    fire: Persistent<Function<'static>>,
    invoke: Persistent<Function<'static>>,
}

struct PendingCall {
    owner: Owner,
    reply: oneshot::Sender<CallResult>,
}

struct Rejection {
    promise: Persistent<Value<'static>>,
    reason: Thrown,
    owner: Owner,
}

/// A call of an exported function.
#[derive(Debug, Clone)]
pub(crate) struct Invocation {
    pub(crate) id: u64,
    pub(crate) owner: Owner,
    pub(crate) module: String,
    pub(crate) export: String,
    pub(crate) arguments: Vec<serde_json::Value>,
    pub(crate) slice: Duration,
}

/// The JavaScript world of one thread.
pub(crate) struct Realm {
    entry_points: RefCell<Option<EntryPoints>>,
    /// Modules that were asked for by name while something ran. Each question makes a module of its own, which stays.
    namespaces: RefCell<HashMap<String, Persistent<Object<'static>>>>,
    rejections: RefCell<Vec<Rejection>>,
    calls: RefCell<HashMap<u64, PendingCall>>,
    owner: RefCell<Owner>,
    flooding: Cell<bool>,
    pub(crate) timers: Timers,
    pub(crate) resources: Resources,
    pub(crate) parts: RefCell<Parts>,
    pub(crate) modules: Rc<ModuleTable>,
    pub(crate) options: Arc<EngineOptions>,
    pub(crate) watchdog: Rc<Watchdog>,
    pulse: Arc<Pulse>,
    // Last: what the fields above keep belongs to it.
    context: Context,
    runtime: Runtime,
}

impl Realm {
    pub(crate) fn new(
        options: Arc<EngineOptions>,
        pulse: Arc<Pulse>,
    ) -> Result<Rc<Self>, EngineError> {
        let start = |error: Error| EngineError::Start(error.to_string());
        if let Some(kit) = &options.terminal_kit {
            kit.0.begin();
        }
        let runtime = Runtime::new().map_err(start)?;
        runtime.set_memory_limit(options.budgets.memory);
        runtime.set_max_stack_size(options.budgets.stack);
        runtime.set_gc_threshold(FIRST_COLLECTION);
        let watchdog = Watchdog::new(Arc::clone(&pulse));
        let guard = Rc::clone(&watchdog);
        runtime.set_interrupt_handler(Some(Box::new(move || guard.should_interrupt())));
        let modules = Rc::new(ModuleTable::new(&options, Rc::clone(&watchdog)));
        runtime.set_loader(
            ExtensionResolver::new(Rc::clone(&modules)),
            ExtensionLoader::new(Rc::clone(&modules)),
        );
        runtime.set_host_promise_rejection_tracker(Some(Box::new(track_rejection)));
        let context = Context::full(&runtime).map_err(start)?;
        let realm = Rc::new(Self {
            entry_points: RefCell::default(),
            namespaces: RefCell::default(),
            rejections: RefCell::default(),
            calls: RefCell::default(),
            owner: RefCell::default(),
            flooding: Cell::new(false),
            timers: Timers::default(),
            resources: Resources::default(),
            parts: RefCell::default(),
            modules,
            options,
            watchdog,
            pulse,
            context,
            runtime,
        });
        CURRENT.with(|current| *current.borrow_mut() = Rc::downgrade(&realm));
        realm
            .enter(None, realm.budgets().slice, |ctx| {
                embedded::evaluate(ctx, "pi:bootstrap")
            })
            .map_err(|error| EngineError::Start(error.to_string()))?;
        Ok(realm)
    }

    /// Returns the realm of this thread.
    pub(crate) fn current() -> Result<Rc<Self>, Error> {
        CURRENT
            .with(|current| current.borrow().upgrade())
            .ok_or(Error::Unknown)
    }

    pub(crate) fn budgets(&self) -> Budgets {
        self.options.budgets
    }

    /// Returns the extension on whose behalf code runs now.
    pub(crate) fn owner(&self) -> Owner {
        self.owner.borrow().clone()
    }

    pub(crate) fn set_entry_points<'js>(
        &self,
        ctx: &Ctx<'js>,
        object: &Object<'js>,
    ) -> rquickjs::Result<()> {
        let function = |name: &str| -> rquickjs::Result<Persistent<Function<'static>>> {
            Ok(Persistent::save(ctx, object.get::<_, Function<'js>>(name)?))
        };
        let entry_points = EntryPoints {
            complete: function("complete")?,
            fire: function("fire")?,
            invoke: function("invoke")?,
        };
        *self.entry_points.borrow_mut() = Some(entry_points);
        Ok(())
    }

    /// Returns the namespace of a module that was asked for before.
    pub(crate) fn namespace<'js>(
        &self,
        ctx: &Ctx<'js>,
        name: &str,
    ) -> rquickjs::Result<Option<Object<'js>>> {
        let known = self.namespaces.borrow().get(name).cloned();
        known.map(|known| known.restore(ctx)).transpose()
    }

    pub(crate) fn keep_namespace<'js>(
        &self,
        ctx: &Ctx<'js>,
        name: String,
        namespace: &Object<'js>,
    ) {
        let kept = Persistent::save(ctx, namespace.clone());
        self.namespaces.borrow_mut().insert(name, kept);
    }

    /// Runs something in JavaScript, then all jobs it made.
    pub(crate) fn enter<T>(
        self: &Rc<Self>,
        owner: Owner,
        slice: Duration,
        work: impl for<'js> FnOnce(&Ctx<'js>) -> rquickjs::Result<T>,
    ) -> Result<T, EngineError> {
        *self.owner.borrow_mut() = owner;
        self.watchdog.arm(slice);
        let outcome = self.context.with(|ctx| {
            work(&ctx).map_err(|error| self.classify(values::take_thrown(&ctx, &error), slice))
        });
        if outcome.is_ok() {
            self.notice_swallowed_stop(slice);
        }
        self.run_jobs();
        self.report_rejections();
        self.watchdog.disarm();
        *self.owner.borrow_mut() = None;
        outcome
    }

    /// Tells a plain exception from a stop by the watchdog and from a full heap.
    fn classify(&self, thrown: Thrown, slice: Duration) -> EngineError {
        if self.watchdog.has_fired() {
            EngineError::Runaway(slice)
        } else if self.pulse.is_stopping() {
            EngineError::Stopped
        } else if is_out_of_memory(&thrown) {
            EngineError::OutOfMemory(self.budgets().memory / (1024 * 1024))
        } else {
            EngineError::Thrown(thrown)
        }
    }

    /// Reports a stop that left no exception: the engine drops one inside of a dynamic import,
    /// whose promise is then never settled.
    fn notice_swallowed_stop(&self, slice: Duration) {
        if self.watchdog.has_fired() {
            let error = EngineError::Runaway(slice);
            self.report(&error, FaultKind::Runaway);
            self.fail_calls(&error);
        }
    }

    /// Runs promise jobs until there are none, or until they have had their share.
    fn run_jobs(self: &Rc<Self>) {
        let slice = self.budgets().slice;
        let paused = self.watchdog.paused();
        let mut effort = Effort::since(self.watchdog.arm(slice));
        loop {
            match self.runtime.execute_pending_job() {
                Ok(true) => self.notice_swallowed_stop(slice),
                Ok(false) => {
                    self.flooding.set(false);
                    return;
                }
                Err(failed) => {
                    let error = failed
                        .0
                        .with(|ctx| self.classify(values::thrown_from_value(&ctx.catch()), slice));
                    self.report(&error, FaultKind::Uncaught);
                    // An async function that was stopped never settles its promise.
                    if !matches!(error, EngineError::Thrown(_)) {
                        self.fail_calls(&error);
                    }
                }
            }
            if self.pulse.is_stopping() {
                return;
            }
            let now = self.watchdog.arm(slice);
            let own_work = self.watchdog.paused().saturating_sub(paused);
            if effort.exceeds(slice.saturating_add(own_work), now) {
                self.continue_later();
                return;
            }
        }
    }

    /// Lets timers and commands in before the next jobs.
    fn continue_later(self: &Rc<Self>) {
        let owner = self.owner();
        if !self.flooding.replace(true) {
            self.options.host.0.fault(Fault {
                extension: owner.as_deref().map(str::to_owned),
                kind: FaultKind::JobFlood,
                message: "promise jobs keep making promise jobs without a pause".to_owned(),
                stack: None,
            });
        }
        let realm = Rc::clone(self);
        self.resources.spawn(async move {
            tokio::task::yield_now().await;
            let slice = realm.budgets().slice;
            if let Err(error) = realm.enter(owner, slice, |_| Ok(())) {
                realm.report(&error, FaultKind::Uncaught);
            }
        });
    }

    fn report_rejections(&self) {
        let rejections = self.rejections.take();
        for Rejection {
            reason,
            owner,
            promise,
        } in rejections
        {
            drop(promise);
            if self.pulse.is_stopping() {
                continue;
            }
            self.options.host.0.fault(Fault {
                extension: owner.as_deref().map(str::to_owned),
                kind: FaultKind::UnhandledRejection,
                message: reason.to_string(),
                stack: reason.stack,
            });
        }
    }

    /// Reports a failure nobody waits for.
    pub(crate) fn report(&self, error: &EngineError, otherwise: FaultKind) {
        if self.pulse.is_stopping() {
            return;
        }
        let (kind, stack) = match error {
            EngineError::Runaway(_) => (FaultKind::Runaway, None),
            EngineError::OutOfMemory(_) => (FaultKind::OutOfMemory, None),
            EngineError::Thrown(thrown) => (otherwise, thrown.stack.clone()),
            EngineError::TimedOut(_)
            | EngineError::Stuck
            | EngineError::Stopped
            | EngineError::Start(_)
            | EngineError::Node(_)
            | EngineError::Value(_) => (otherwise, None),
        };
        self.options.host.0.fault(Fault {
            extension: self.owner().as_deref().map(str::to_owned),
            kind,
            message: error.to_string(),
            stack,
        });
    }

    pub(crate) fn print(&self, level: ConsoleLevel, text: String) {
        if !self.pulse.is_stopping() {
            let extension = self.owner().as_deref().map(str::to_owned);
            self.options.host.0.console(ConsoleLine {
                extension,
                level,
                text,
            });
        }
    }

    /// Calls an exported function and sends its value, or what its promise becomes.
    pub(crate) fn invoke(
        self: &Rc<Self>,
        invocation: Invocation,
        reply: oneshot::Sender<CallResult>,
    ) {
        let Invocation {
            id,
            owner,
            module,
            export,
            arguments,
            slice,
        } = invocation;
        let pending = PendingCall {
            owner: owner.clone(),
            reply,
        };
        self.calls.borrow_mut().insert(id, pending);
        let outcome = self.enter(owner, slice, |ctx| {
            let invoke = self.entry_point(ctx, |points| &points.invoke)?;
            let given = Array::new(ctx.clone())?;
            for (index, argument) in arguments.iter().enumerate() {
                given.set(index, values::json_to_value(ctx, argument)?)?;
            }
            invoke.call::<_, ()>((id, module, export, given))
        });
        if let Err(error) = outcome {
            self.settle(id, Err(error));
        }
    }

    /// Ends a call; a second end is ignored.
    pub(crate) fn settle(&self, id: u64, result: CallResult) {
        if let Some(call) = self.calls.borrow_mut().remove(&id) {
            // The caller may have given up; then nobody wants the result.
            drop(call.reply.send(result));
        }
    }

    pub(crate) fn settle_thrown(&self, id: u64, thrown: Thrown) {
        let error = self.classify(thrown, self.budgets().slice);
        self.settle(id, Err(error));
    }

    /// Fails the open calls of the extension that runs now.
    fn fail_calls(&self, error: &EngineError) {
        let owner = self.owner();
        let mut calls = self.calls.borrow_mut();
        let ids: Vec<u64> = calls
            .iter()
            .filter(|(_, call)| call.owner == owner)
            .map(|(id, _)| *id)
            .collect();
        for id in ids {
            if let Some(call) = calls.remove(&id) {
                drop(call.reply.send(Err(error.clone())));
            }
        }
    }

    /// Hands the result of a native operation to JavaScript.
    pub(crate) fn complete(
        self: &Rc<Self>,
        owner: Owner,
        id: u64,
        result: Result<Reply, NativeError>,
    ) {
        let slice = self.budgets().slice;
        let outcome = self.enter(owner.clone(), slice, |ctx| {
            let complete = self.entry_point(ctx, |points| &points.complete)?;
            match result {
                Ok(reply) => complete.call::<_, ()>((id, true, reply.into_value(ctx)?)),
                Err(error) => complete.call::<_, ()>((id, false, error.into_value(ctx)?)),
            }
        });
        self.report_as(owner, outcome);
    }

    /// Runs the callback of a timer.
    pub(crate) fn fire(self: &Rc<Self>, owner: Owner, id: u64) {
        let slice = self.budgets().slice;
        let outcome = self.enter(owner.clone(), slice, |ctx| {
            self.entry_point(ctx, |points| &points.fire)?
                .call::<_, ()>((id,))
        });
        self.report_as(owner, outcome);
    }

    fn report_as(&self, owner: Owner, outcome: Result<(), EngineError>) {
        if let Err(error) = outcome {
            *self.owner.borrow_mut() = owner;
            self.report(&error, FaultKind::Uncaught);
            if !matches!(error, EngineError::Thrown(_)) {
                self.fail_calls(&error);
            }
            *self.owner.borrow_mut() = None;
        }
    }

    fn entry_point<'js>(
        &self,
        ctx: &Ctx<'js>,
        choose: impl FnOnce(&EntryPoints) -> &Persistent<Function<'static>>,
    ) -> rquickjs::Result<Function<'js>> {
        let entry_points = self.entry_points.borrow();
        let entry_points = entry_points.as_ref().ok_or(Error::Unknown)?;
        choose(entry_points).clone().restore(ctx)
    }

    /// Returns the bytes the JavaScript heap takes.
    pub(crate) fn memory_used(&self) -> u64 {
        self.runtime.run_gc();
        u64::try_from(self.runtime.memory_usage().malloc_size).unwrap_or_default()
    }
}

fn is_out_of_memory(thrown: &Thrown) -> bool {
    // There may be no memory left for the words.
    (thrown.name == "InternalError" && matches!(thrown.message.as_str(), "out of memory" | ""))
        // With no memory left for the error itself, the engine throws `null`.
        || (thrown.name.is_empty() && thrown.message == "null")
}

/// Remembers a rejected promise until the jobs are done; forgets it when somebody looks.
#[expect(
    clippy::needless_pass_by_value,
    reason = "the engine hands its tracker the values"
)]
fn track_rejection<'js>(ctx: Ctx<'js>, promise: Value<'js>, reason: Value<'js>, is_handled: bool) {
    let Ok(realm) = Realm::current() else {
        return;
    };
    if is_handled {
        realm.rejections.borrow_mut().retain(|rejection| {
            rejection
                .promise
                .clone()
                .restore(&ctx)
                .map_or(true, |known| known != promise)
        });
        return;
    }
    let rejection = Rejection {
        promise: Persistent::save(&ctx, promise),
        reason: values::thrown_from_value(&reason),
        owner: realm.owner(),
    };
    realm.rejections.borrow_mut().push(rejection);
}

impl Drop for Realm {
    fn drop(&mut self) {
        for (_, call) in self.calls.take() {
            drop(call.reply.send(Err(EngineError::Stopped)));
        }
    }
}
