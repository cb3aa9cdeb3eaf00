//! The JavaScript realm of an engine thread: context, pending calls and the running extension.
//!
//! All JavaScript runs through [`Realm::enter`], which arms the watchdog, records the extension
//! that owns the code, drains promise jobs and reports unhandled rejections. JavaScript never runs
//! while a Rust future is polled, so nothing here is re-entered.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rquickjs::{Array, Context, Ctx, Error, Function, Object, Persistent, Runtime, Value};
use tokio::sync::oneshot;

use super::charge::{ChargeClock, CodeOwner};
use super::values::{self, NativeReply};
use super::watchdog::{CpuTimer, EngineLimits, Heartbeat, Watchdog};
use super::{EngineOptions, timers::Timers};
use crate::embedded;
use crate::error::{EngineError, JsException};
use crate::host::{ConsoleLevel, ConsoleLine, ExtensionFault, FaultKind};
use crate::loader::{ExtensionLoader, ExtensionResolver, ModuleTable};
use crate::node::{NativeError, RealmResources};
use crate::tui_toolkit::WidgetTable;
use crate::usage_meter::CodeKind;

/// Heap size in bytes that triggers the first garbage collection. Loading modules creates little
/// garbage, and collections get slower as more code is loaded.
const GC_THRESHOLD: usize = 16 * 1024 * 1024;

thread_local! {
    /// The realm of this thread, for native functions.
    static CURRENT: RefCell<Weak<Realm>> = const { RefCell::new(Weak::new()) };
}

pub(crate) type InvokeResult = Result<serde_json::Value, EngineError>;

/// JavaScript functions that Rust calls.
pub(crate) struct EntryPoints {
    complete: Persistent<Function<'static>>,
    fire: Persistent<Function<'static>>,
    invoke: Persistent<Function<'static>>,
}

struct PendingInvocation {
    owner: CodeOwner,
    reply: oneshot::Sender<InvokeResult>,
}

struct PendingRejection {
    promise: Persistent<Value<'static>>,
    reason: JsException,
    owner: CodeOwner,
}

/// A call of an exported function.
#[derive(Debug, Clone)]
pub(crate) struct Invocation {
    pub(crate) id: u64,
    pub(crate) owner: CodeOwner,
    pub(crate) module: String,
    pub(crate) export: String,
    pub(crate) arguments: Vec<serde_json::Value>,
    pub(crate) slice: Duration,
}

/// The JavaScript realm of one engine thread.
pub(crate) struct Realm {
    entry_points: RefCell<Option<EntryPoints>>,
    /// Namespaces of modules loaded by `require`, by name. Cached because each lookup creates a
    /// bridge module that is never freed.
    namespaces: RefCell<HashMap<String, Persistent<Object<'static>>>>,
    rejections: RefCell<Vec<PendingRejection>>,
    calls: RefCell<HashMap<u64, PendingInvocation>>,
    owner: RefCell<CodeOwner>,
    clock: ChargeClock,
    flooding: Cell<bool>,
    pub(crate) timers: Timers,
    pub(crate) resources: RealmResources,
    pub(crate) widgets: RefCell<WidgetTable>,
    pub(crate) modules: Rc<ModuleTable>,
    pub(crate) options: Arc<EngineOptions>,
    pub(crate) watchdog: Rc<Watchdog>,
    pub(crate) heartbeat: Arc<Heartbeat>,
    // Dropped last: the fields above hold JavaScript values of this context.
    context: Context,
    runtime: Runtime,
}

impl Realm {
    pub(crate) fn new(
        options: Arc<EngineOptions>,
        heartbeat: Arc<Heartbeat>,
    ) -> Result<Rc<Self>, EngineError> {
        let start = |error: Error| EngineError::Start(error.to_string());
        if let Some(toolkit) = &options.tui_toolkit {
            toolkit.0.engine_started();
        }
        let runtime = Runtime::new().map_err(start)?;
        runtime.set_memory_limit(options.limits.memory);
        runtime.set_max_stack_size(options.limits.stack);
        runtime.set_gc_threshold(GC_THRESHOLD);
        let watchdog = Watchdog::new(Arc::clone(&heartbeat));
        let guard = Rc::clone(&watchdog);
        runtime.set_interrupt_handler(Some(Box::new(move || guard.should_interrupt())));
        let kind = match options.worker {
            Some(_) => CodeKind::Worker,
            None => CodeKind::Ordinary,
        };
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
            clock: ChargeClock::new(kind),
            flooding: Cell::new(false),
            timers: Timers::default(),
            resources: RealmResources::default(),
            widgets: RefCell::default(),
            modules,
            options,
            watchdog,
            heartbeat,
            context,
            runtime,
        });
        CURRENT.with(|current| *current.borrow_mut() = Rc::downgrade(&realm));
        realm
            .enter(CodeOwner::default(), realm.limits().slice, |ctx| {
                embedded::evaluate(ctx, "pi:bootstrap")
            })
            .map_err(|error| EngineError::Start(error.to_string()))?;
        Ok(realm)
    }

    pub(crate) fn current() -> Result<Rc<Self>, Error> {
        CURRENT
            .with(|current| current.borrow().upgrade())
            .ok_or(Error::Unknown)
    }

    pub(crate) fn limits(&self) -> EngineLimits {
        self.options.limits
    }

    /// Returns the extension that owns the code running now.
    pub(crate) fn owner(&self) -> CodeOwner {
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

    /// Returns the cached namespace of a module.
    pub(crate) fn namespace<'js>(
        &self,
        ctx: &Ctx<'js>,
        name: &str,
    ) -> rquickjs::Result<Option<Object<'js>>> {
        let known = self.namespaces.borrow().get(name).cloned();
        known.map(|known| known.restore(ctx)).transpose()
    }

    pub(crate) fn cache_namespace<'js>(
        &self,
        ctx: &Ctx<'js>,
        name: String,
        namespace: &Object<'js>,
    ) {
        let saved = Persistent::save(ctx, namespace.clone());
        self.namespaces.borrow_mut().insert(name, saved);
    }

    /// Runs `work` in the JavaScript context, then all promise jobs it scheduled.
    pub(crate) fn enter<T>(
        self: &Rc<Self>,
        owner: CodeOwner,
        slice: Duration,
        work: impl for<'js> FnOnce(&Ctx<'js>) -> rquickjs::Result<T>,
    ) -> Result<T, EngineError> {
        *self.owner.borrow_mut() = owner;
        self.heartbeat.enter();
        self.clock.start(self.watchdog.arm(slice));
        let outcome = self.context.with(|ctx| {
            work(&ctx).map_err(|error| self.classify(values::take_exception(&ctx, &error), slice))
        });
        if outcome.is_ok() {
            self.report_swallowed_interrupt(slice);
        }
        self.run_jobs();
        self.report_rejections();
        self.watchdog.disarm();
        self.heartbeat.leave();
        self.finish_charge();
        *self.owner.borrow_mut() = CodeOwner::default();
        outcome
    }

    /// Charges an extension, or none, for what runs from now on; returns the one that was charged until now.
    pub(crate) fn charge(
        &self,
        extension: Option<Arc<str>>,
        is_rendering: bool,
    ) -> Option<Arc<str>> {
        let before = std::mem::replace(&mut self.owner.borrow_mut().charged, extension);
        let meter = self.options.running_hooks.meter();
        self.clock
            .lap(meter, before.as_ref(), is_rendering, Instant::now());
        before
    }

    fn finish_charge(&self) {
        let now = Instant::now();
        let meter = self.options.running_hooks.meter();
        let owner = self.owner();
        self.clock.lap(meter, owner.charged.as_ref(), false, now);
        self.clock.stop();
        self.clock.sample_if_due(meter, now, || self.heap_size());
    }

    /// Samples the heap before and after garbage collection: growth belongs to those who ran, garbage to all.
    pub(crate) fn sample_live_heap(&self) {
        let meter = self.options.running_hooks.meter();
        meter.sample_heap(self.heap_size());
        meter.sample_heap(self.memory_used());
    }

    fn heap_size(&self) -> u64 {
        u64::try_from(self.runtime.memory_usage().malloc_size).unwrap_or_default()
    }

    /// Distinguishes ordinary exceptions from watchdog interrupts and out-of-memory errors.
    fn classify(&self, thrown: JsException, slice: Duration) -> EngineError {
        if self.watchdog.has_fired() {
            self.interrupt_error(slice)
        } else if self.heartbeat.is_stopping() {
            EngineError::Stopped
        } else if is_out_of_memory(&thrown) {
            EngineError::OutOfMemory(self.limits().memory / (1024 * 1024))
        } else {
            EngineError::Exception(thrown)
        }
    }

    /// Reports an interrupt that left no exception. The engine swallows it inside a dynamic
    /// import, whose promise then never settles.
    fn report_swallowed_interrupt(&self, slice: Duration) {
        if self.watchdog.has_fired() {
            let error = self.interrupt_error(slice);
            self.report(&error, FaultKind::Runaway);
            self.fail_calls(&error);
        }
    }

    /// Returns why the watchdog interrupted the code.
    fn interrupt_error(&self, slice: Duration) -> EngineError {
        if self.watchdog.was_requested() {
            EngineError::Interrupted
        } else {
            EngineError::Runaway(slice)
        }
    }

    /// Runs promise jobs until the queue is empty or the time slice is used up.
    fn run_jobs(self: &Rc<Self>) {
        let slice = self.limits().slice;
        let paused = self.watchdog.paused();
        let mut timer = CpuTimer::start_at(self.watchdog.arm(slice));
        loop {
            match self.runtime.execute_pending_job() {
                Ok(true) => self.report_swallowed_interrupt(slice),
                Ok(false) => {
                    self.flooding.set(false);
                    return;
                }
                Err(failed) => {
                    let error = failed.0.with(|ctx| {
                        self.classify(values::exception_from_value(&ctx.catch()), slice)
                    });
                    self.report(&error, FaultKind::Uncaught);
                    // An interrupted async function never settles its promise.
                    if !matches!(error, EngineError::Exception(_)) {
                        self.fail_calls(&error);
                    }
                }
            }
            if self.heartbeat.is_stopping() {
                return;
            }
            let now = self.watchdog.arm(slice);
            let host_work = self.watchdog.paused().saturating_sub(paused);
            if timer.exceeds(slice.saturating_add(host_work), now) {
                self.defer_jobs();
                return;
            }
        }
    }

    /// Yields to timers and commands before running further jobs.
    fn defer_jobs(self: &Rc<Self>) {
        let owner = self.owner();
        if !self.flooding.replace(true) {
            let message = "promise jobs keep scheduling more promise jobs without yielding";
            self.fault(&owner, FaultKind::JobFlood, message.to_owned(), None);
        }
        let realm = Rc::clone(self);
        self.resources.spawn(async move {
            tokio::task::yield_now().await;
            let slice = realm.limits().slice;
            if let Err(error) = realm.enter(owner, slice, |_| Ok(())) {
                realm.report(&error, FaultKind::Uncaught);
            }
        });
    }

    fn report_rejections(&self) {
        let rejections = self.rejections.take();
        for PendingRejection {
            reason,
            owner,
            promise,
        } in rejections
        {
            drop(promise);
            if self.heartbeat.is_stopping() {
                continue;
            }
            let message = reason.to_string();
            self.fault(&owner, FaultKind::UnhandledRejection, message, reason.stack);
        }
    }

    /// Reports a failure that no caller awaits.
    pub(crate) fn report(&self, error: &EngineError, default_kind: FaultKind) {
        // An interrupt is reported by the caller that requested it.
        if self.heartbeat.is_stopping() || *error == EngineError::Interrupted {
            return;
        }
        let (kind, stack) = match error {
            EngineError::Runaway(_) => (FaultKind::Runaway, None),
            EngineError::OutOfMemory(_) => (FaultKind::OutOfMemory, None),
            EngineError::Exception(thrown) => (default_kind, thrown.stack.clone()),
            EngineError::TimedOut(_)
            | EngineError::Interrupted
            | EngineError::Stuck
            | EngineError::Stopped
            | EngineError::Start(_)
            | EngineError::Node(_)
            | EngineError::InvalidValue(_) => (default_kind, None),
        };
        self.fault(&self.owner(), kind, error.to_string(), stack);
    }

    /// Reports a failure of the owner. One that is only known to be charged is not named, but counted.
    fn fault(&self, owner: &CodeOwner, kind: FaultKind, message: String, stack: Option<String>) {
        if let (None, Some(charged)) = (&owner.extension, &owner.charged) {
            self.options.running_hooks.meter().add_error(charged);
        }
        self.options.host.0.fault(ExtensionFault {
            extension: owner.path().map(str::to_owned),
            kind,
            message,
            stack,
        });
    }

    pub(crate) fn print(&self, level: ConsoleLevel, text: String) {
        if !self.heartbeat.is_stopping() {
            let extension = self.owner().path().map(str::to_owned);
            self.options.host.0.console(ConsoleLine {
                extension,
                level,
                text,
            });
        }
    }

    /// Calls an exported function and sends its result, after awaiting it if it is a promise.
    pub(crate) fn invoke(
        self: &Rc<Self>,
        invocation: Invocation,
        reply: oneshot::Sender<InvokeResult>,
    ) {
        let Invocation {
            id,
            owner,
            module,
            export,
            arguments,
            slice,
        } = invocation;
        let pending = PendingInvocation {
            owner: owner.clone(),
            reply,
        };
        self.calls.borrow_mut().insert(id, pending);
        let outcome = self.enter(owner, slice, |ctx| {
            let invoke = self.entry_point(ctx, |points| &points.invoke)?;
            let js_arguments = Array::new(ctx.clone())?;
            for (index, argument) in arguments.iter().enumerate() {
                js_arguments.set(index, values::json_to_value(ctx, argument)?)?;
            }
            invoke.call::<_, ()>((id, module, export, js_arguments))
        });
        if let Err(error) = outcome {
            self.settle(id, Err(error));
        }
    }

    /// Completes a call. Later completions of the same call are ignored.
    pub(crate) fn settle(&self, id: u64, result: InvokeResult) {
        if let Some(call) = self.calls.borrow_mut().remove(&id) {
            // Sending fails only if the caller has dropped its receiver.
            drop(call.reply.send(result));
        }
    }

    pub(crate) fn settle_exception(&self, id: u64, thrown: JsException) {
        let error = self.classify(thrown, self.limits().slice);
        self.settle(id, Err(error));
    }

    /// Fails the pending calls of the extension that is running now.
    fn fail_calls(&self, error: &EngineError) {
        let owner = self.owner();
        let mut calls = self.calls.borrow_mut();
        let ids: Vec<u64> = calls
            .iter()
            .filter(|(_, call)| call.owner.extension == owner.extension)
            .map(|(id, _)| *id)
            .collect();
        for id in ids {
            if let Some(call) = calls.remove(&id) {
                drop(call.reply.send(Err(error.clone())));
            }
        }
    }

    /// Passes the result of a native operation to JavaScript.
    pub(crate) fn complete(
        self: &Rc<Self>,
        owner: CodeOwner,
        id: u64,
        result: Result<NativeReply, NativeError>,
    ) {
        let slice = self.limits().slice;
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
    pub(crate) fn fire(self: &Rc<Self>, owner: CodeOwner, id: u64) {
        let slice = self.limits().slice;
        let outcome = self.enter(owner.clone(), slice, |ctx| {
            self.entry_point(ctx, |points| &points.fire)?
                .call::<_, ()>((id,))
        });
        self.report_as(owner, outcome);
    }

    fn report_as(&self, owner: CodeOwner, outcome: Result<(), EngineError>) {
        if let Err(error) = outcome {
            *self.owner.borrow_mut() = owner;
            self.report(&error, FaultKind::Uncaught);
            if !matches!(error, EngineError::Exception(_)) {
                self.fail_calls(&error);
            }
            *self.owner.borrow_mut() = CodeOwner::default();
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

    /// Runs garbage collection and returns the heap size in bytes.
    pub(crate) fn memory_used(&self) -> u64 {
        self.runtime.run_gc();
        self.heap_size()
    }
}

fn is_out_of_memory(thrown: &JsException) -> bool {
    // The message is empty if there was no memory left for it.
    (thrown.name == "InternalError" && matches!(thrown.message.as_str(), "out of memory" | ""))
        // If the error object itself cannot be allocated, the engine throws `null`.
        || (thrown.name.is_empty() && thrown.message == "null")
}

/// Records a rejected promise until all jobs have run, unless a handler is attached first.
#[expect(
    clippy::needless_pass_by_value,
    reason = "rquickjs passes the values by value"
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
    let rejection = PendingRejection {
        promise: Persistent::save(&ctx, promise),
        reason: values::exception_from_value(&reason),
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
