//! Time limits of hooks: code of extensions that the session waits for.
//!
//! Every hook has a deadline, which does not run while a dialog of an extension is open. After it, the
//! user chooses to wait, to disable the extension or to quit; without a user, the hook is skipped.
//! An abort abandons the hooks in progress at once. The session then continues without their results.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use pi_ext::ExtensionHost;
use serde_json::{Map, Value};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::ExtensionsInner;
use crate::events::{
    ExtensionEvent as _, InputEvent, SessionShutdownEvent, UiPromptEnd, UiPromptStart,
};
use crate::front_end::{
    DialogPrompt, DialogResponse, ExtensionDialog, ExtensionFailure, ExtensionMode,
};
use crate::hook_limits::HookLimits;

/// Time that hooks have to end after an abort, so that those that are almost done are not lost.
const ABORT_GRACE: Duration = Duration::from_millis(25);

/// Time that a host has to respond after an abort; with [`ABORT_GRACE`] less than 100 ms.
const ABORT_RECOVERY: Duration = Duration::from_millis(40);

/// Time that a host has to respond after a hook missed its deadline.
const RECOVERY: Duration = Duration::from_millis(500);

/// Why what an extension decides about fails while it is paused.
pub(crate) const IS_PAUSED: &str =
    "is paused because it exceeds its budget (extensionBudget); run /reload to use it again";

const WAIT: &str = "Wait";
const DISABLE: &str = "Disable the extension until /reload";
const QUIT: &str = "Quit";

/// Why hooks in progress are abandoned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookInterrupt {
    /// The user aborted what is in progress.
    Abort,
    /// The program ends: later hooks do not ask the user either.
    Close,
}

/// A hook that the session waits for.
pub(crate) struct Hook<'a> {
    /// The event or operation.
    pub(crate) name: &'a str,
    /// Returns the path of the extension whose code runs, if known.
    pub(crate) extension: &'a (dyn Fn() -> Option<String> + Sync),
    pub(crate) cancel: Option<&'a CancellationToken>,
    /// The ID of the abort signal that the extension received.
    pub(crate) signal: Option<u64>,
}

/// A hook whose result the session no longer waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AbandonedHook {
    /// The user aborted it.
    Aborted,
    /// It missed its deadline.
    Late,
}

impl AbandonedHook {
    /// Returns the time that the extension host has to respond again.
    pub(crate) fn recovery(self) -> Duration {
        match self {
            Self::Aborted => ABORT_RECOVERY,
            Self::Late => RECOVERY,
        }
    }
}

enum HookDecision {
    Wait,
    Skip,
}

/// Extensions that receive no events, by path.
#[derive(Debug, Default)]
struct SkippedExtensions {
    /// Until the extensions are reloaded. The value states whether the user chose it; otherwise
    /// events that their handlers decide about fail.
    disabled: HashMap<String, bool>,
    /// Until the extensions are reloaded: they exceeded their budget.
    paused: HashSet<String>,
    /// Until the next input: the user aborted one of their hooks.
    suspended: HashSet<String>,
}

/// State of the hooks of a session.
#[derive(Debug)]
pub(crate) struct HookState {
    pub(crate) limits: HookLimits,
    /// Number of interrupts so far.
    interrupts: watch::Sender<u64>,
    is_closing: AtomicBool,
    skipped: Mutex<SkippedExtensions>,
}

impl HookState {
    pub(crate) fn new(limits: HookLimits) -> Self {
        Self {
            limits,
            interrupts: watch::Sender::new(0),
            is_closing: AtomicBool::new(false),
            skipped: Mutex::default(),
        }
    }

    pub(crate) fn interrupt(&self, interrupt: HookInterrupt) {
        if interrupt == HookInterrupt::Close {
            self.is_closing.store(true, Ordering::Relaxed);
        }
        self.interrupts.send_modify(|count| *count += 1);
    }

    fn limit_of(&self, event: &str) -> Duration {
        let limit = self.limits.of(event);
        if self.is_closing() {
            limit.min(self.limits.shutdown)
        } else {
            limit
        }
    }

    fn is_closing(&self) -> bool {
        self.is_closing.load(Ordering::Relaxed)
    }

    /// Lets suspended extensions receive events again, if this one begins something new.
    pub(crate) fn begin(&self, event: &str) {
        if [InputEvent::NAME, SessionShutdownEvent::NAME].contains(&event) {
            self.skipped.lock().suspended.clear();
        }
    }

    /// Returns the extensions that receive no events, for [`pi_ext::HookDispatch::run`].
    pub(crate) fn skipped(&self) -> Value {
        let skipped = self.skipped.lock();
        let suspended = skipped.suspended.iter().map(|path| (path.clone(), true));
        let disabled = skipped.disabled.iter();
        let disabled = disabled.map(|(path, by_user)| (path.clone(), !by_user));
        let paused = skipped.paused.iter();
        let paused = paused.map(|path| (path.clone(), Value::from(IS_PAUSED)));
        let skipped: Map<String, Value> = suspended
            .chain(disabled)
            .map(|(path, fails)| (path, fails.into()))
            .chain(paused)
            .collect();
        if skipped.is_empty() {
            return Value::Null;
        }
        skipped.into()
    }

    /// Stops sending events to an extension that does not respond.
    pub(crate) fn disable(&self, extension: String, by_user: bool) {
        self.skipped.lock().disabled.insert(extension, by_user);
    }

    /// Stops sending events to an extension that exceeds its budget; those that its handlers decide about fail.
    pub(crate) fn pause(&self, extension: String) {
        self.skipped.lock().paused.insert(extension);
    }

    pub(crate) fn is_paused(&self, extension: &str) -> bool {
        self.skipped.lock().paused.contains(extension)
    }

    fn suspend(&self, extension: Option<String>) {
        self.skipped.lock().suspended.extend(extension);
    }
}

impl ExtensionsInner {
    /// Awaits a hook; fails if the session is not to wait for it any longer.
    pub(crate) async fn unless_abandoned<Data>(
        &self,
        hook: &Hook<'_>,
        running: impl Future<Output = Data>,
    ) -> Result<Data, AbandonedHook> {
        // Before the hook starts: from then on, an abort may arrive at any moment.
        let interrupts = self.hooks.interrupts.subscribe();
        tokio::select! {
            biased;
            outcome = running => Ok(outcome),
            abandoned = self.abandonment(hook, interrupts) => Err(abandoned),
        }
    }

    /// Completes when a hook is abandoned.
    async fn abandonment(
        &self,
        hook: &Hook<'_>,
        mut interrupts: watch::Receiver<u64>,
    ) -> AbandonedHook {
        let limit = self.hooks.limit_of(hook.name);
        loop {
            tokio::select! {
                () = aborted(hook, &mut interrupts) => return self.abort_hook(hook).await,
                () = self.hook_deadline(hook, limit) => {}
            }
            let decision = tokio::select! {
                decision = self.decide(hook, limit) => decision,
                () = aborted(hook, &mut interrupts) => return self.abort_hook(hook).await,
            };
            match decision {
                HookDecision::Wait => {}
                HookDecision::Skip => return AbandonedHook::Late,
            }
        }
    }

    async fn abort_hook(&self, hook: &Hook<'_>) -> AbandonedHook {
        let grace = tokio::time::sleep(ABORT_GRACE);
        match hook.signal {
            // A blocked host does not process the signal.
            Some(signal) => tokio::select! {
                () = grace => {}
                () = self.signal_and_wait(signal) => {}
            },
            None => grace.await,
        }
        self.hooks.suspend((hook.extension)());
        AbandonedHook::Aborted
    }

    async fn signal_and_wait(&self, signal: u64) {
        self.signal_cancellation(signal).await;
        std::future::pending::<()>().await;
    }

    /// Completes when the time of a hook is over. Hooks that observe dialogs have no more time while one is
    /// open: they may be what keeps it from being shown.
    async fn hook_deadline(&self, hook: &Hook<'_>, limit: Duration) {
        if [UiPromptStart::NAME, UiPromptEnd::NAME].contains(&hook.name) {
            tokio::time::sleep(limit).await;
        } else {
            self.deadline(limit).await;
        }
    }

    /// Completes when the time is over that extensions have without a dialog.
    pub(crate) async fn deadline(&self, limit: Duration) {
        let mut dialogs = self.bridge.open_dialogs.lock().subscribe();
        loop {
            // Fails only without a sender; then there are no dialogs.
            dialogs.wait_for(|open| *open == 0).await.ok();
            let opened = async {
                if dialogs.wait_for(|open| *open > 0).await.is_err() {
                    std::future::pending::<()>().await;
                }
            };
            tokio::select! {
                () = tokio::time::sleep(limit) => return,
                () = opened => {}
            }
        }
    }

    /// Awaits a step of loading extensions; `None` if it takes too long.
    pub(crate) async fn within_load_limit<Data>(
        &self,
        step: impl Future<Output = Data>,
    ) -> Option<Data> {
        tokio::select! {
            biased;
            data = step => Some(data),
            () = self.load_deadline() => None,
        }
    }

    /// Completes when loading takes too long. An extension that runs agents instead of loading has no limit.
    async fn load_deadline(&self) {
        self.deadline(self.hooks.limits.load).await;
        if self.bridge.agents.lock().has_created {
            std::future::pending::<()>().await;
        }
    }

    /// Stops the code of an extension that did not load in time; if it loads later, it receives no events.
    pub(crate) async fn abandon_load(&self, path: &Path, host: ExtensionHost) {
        let extension = path.to_string_lossy().into_owned();
        self.hooks.disable(extension, true);
        self.engine.recover(host, RECOVERY).await;
    }

    /// Reports a hook that missed its deadline, and lets the user decide about it.
    async fn decide(&self, hook: &Hook<'_>, limit: Duration) -> HookDecision {
        let extension = (hook.extension)();
        let mode = self.bridge.ui.mode();
        let has_user = mode.has_ui() && !self.hooks.is_closing();
        let has_user = has_user && hook.name != SessionShutdownEvent::NAME;
        let session = self.bridge.session().ok().filter(|_| has_user);
        let consequence = match session {
            Some(_) => "",
            None => "; it receives no more events",
        };
        let seconds = limit.as_secs_f32();
        self.report_hook(
            hook,
            format!("the extension is not responding ({seconds} s){consequence}"),
        )
        .await;
        let Some(session) = session else {
            if let Some(extension) = extension {
                self.hooks.disable(extension, false);
            }
            return HookDecision::Skip;
        };
        let name = extension.as_deref().unwrap_or("An extension");
        let dialog = ExtensionDialog {
            id: uuid::Uuid::new_v4().to_string(),
            prompt: DialogPrompt::Select {
                title: format!("{name} is not responding ({})", hook.name),
                options: [WAIT, DISABLE, QUIT].map(str::to_owned).to_vec(),
            },
            // A client may not show dialogs, or start to read after the start.
            timeout: (mode == ExtensionMode::Rpc).then_some(limit),
        };
        match self.bridge.ask_user(&*session, dialog).await {
            DialogResponse::Text(choice) if choice == WAIT => return HookDecision::Wait,
            DialogResponse::Text(choice) if choice == DISABLE => {
                if let Some(extension) = extension {
                    self.hooks.disable(extension, true);
                }
            }
            DialogResponse::Text(_) => {
                self.bridge.ui.request_shutdown();
                self.bridge.begin(async move { session.abort().await });
            }
            _ => self.hooks.suspend(extension),
        }
        HookDecision::Skip
    }

    async fn report_hook(&self, hook: &Hook<'_>, error: String) {
        let failure = ExtensionFailure {
            extension: (hook.extension)(),
            event: hook.name.to_owned(),
            error,
            stack: None,
        };
        self.bridge.report(failure).await;
    }
}

/// Completes when the user aborts what is in progress.
async fn aborted(hook: &Hook<'_>, interrupts: &mut watch::Receiver<u64>) {
    let canceled = async {
        match hook.cancel {
            Some(cancel) => cancel.cancelled().await,
            None => std::future::pending().await,
        }
    };
    let interrupted = async {
        // The last event of a session has its own limit.
        if hook.name == SessionShutdownEvent::NAME || interrupts.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    };
    tokio::select! {
        () = canceled => {}
        () = interrupted => {}
    }
}

#[cfg(test)]
mod tests {
    use pi_env::Env;
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;

    #[test]
    fn an_aborted_extension_receives_events_again_with_the_next_input() {
        let state = HookState::new(HookLimits::from_env(&Env::fixed::<&str, &str>([])));
        state.suspend(Some("/a.ts".to_owned()));
        state.disable("/b.ts".to_owned(), false);
        state.disable("/c.ts".to_owned(), true);
        state.begin("turn_end");
        assert_eq!(
            state.skipped(),
            json!({"/a.ts": true, "/b.ts": true, "/c.ts": false})
        );
        state.begin("input");
        assert_eq!(state.skipped(), json!({"/b.ts": true, "/c.ts": false}));
    }
}
