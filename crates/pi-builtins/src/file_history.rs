//! The built-in extension `file-history`: records what tools change, and restores it with `/undo` and when the session
//! moves in its tree. The setting `fileHistory` turns it on.

mod question;
mod recording_files;
mod session_history;

use std::path::Path;
use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use pi_checkpoint::{FileCondition, Resolution, RestorePlan};
use pi_config::BuiltinExtension;
use pi_core::{FinishedToolCall, HookError, PendingToolCall, ReviewedToolCall, ToolResultUpdate};
use pi_host::{
    BoundaryDecision, DialogPrompt, ExtensionNotice, ExtensionUi, InputHook, LifecycleHook,
    NativeCommand, NativeContext, NativeExtension, NativeParts, NavigationHook, Participants,
    SessionShutdown, ToolPolicy, TreeMoved, TreeProposal, TreeVerdict, TurnBoundary, TurnHook,
    UserBashVerdict, UserCommand,
};
use pi_protocol::settings::FileHistoryMode;
use pi_protocol::{AgentMessage, EntryId};
use tokio_util::sync::CancellationToken;

use question::{Choice, RestoreQuestion, report_text};
use recording_files::RecordingFiles;
use session_history::SessionHistory;
pub use session_history::restore_patch;

const COMMAND: &str = "undo";

const BUSY: &str = "The agent is busy: wait until it is idle, or interrupt it, before /undo";

/// Tools that run shell commands.
const SHELLS: [&str; 3] = ["bash", "powershell", "process"];

pub(crate) const EXTENSION: NativeExtension =
    NativeExtension::new(BuiltinExtension::FileHistory, load);

fn load(context: &NativeContext<'_>) -> NativeParts {
    let settings = context.workspace.settings.settings();
    // The scan does not follow links, so its root must not be one.
    let cwd = &context.workspace.cwd;
    let root = (settings.file_history() == FileHistoryMode::All)
        .then(|| cwd.canonicalize().unwrap_or_else(|_| cwd.clone()));
    let max_bytes = settings.file_history_max_bytes();
    let history = Arc::new(SessionHistory::new(max_bytes, root));
    let extension = Arc::new(FileHistoryExtension {
        history: Arc::clone(&history),
        ui: Arc::clone(context.ui),
        chosen: Mutex::default(),
    });
    let participants = Participants::builder()
        .input(Arc::clone(&extension))
        .turn(Arc::clone(&extension))
        .tool_policy(Arc::clone(&extension))
        .navigation(Arc::clone(&extension))
        .lifecycle(Arc::clone(&extension))
        .build();
    let recorded = Arc::clone(&history);
    NativeParts {
        commands: vec![NativeCommand {
            name: COMMAND,
            description: "Restore the files that the last turn changed",
        }],
        participants,
        wrap_files: Some(Box::new(move |files| {
            Arc::new(RecordingFiles::new(files, Arc::clone(&recorded)))
        })),
        bind: Some(Box::new(move |session| history.bind(session))),
        ..NativeParts::default()
    }
}

/// What a move in the tree restores.
enum TreeChoice {
    Conversation,
    Both(Resolution),
    /// The session stays where it is.
    Files(Resolution),
    Cancel,
}

struct ChosenRestore {
    target: EntryId,
    plan: RestorePlan,
    resolution: Resolution,
}

struct FileHistoryExtension {
    history: Arc<SessionHistory>,
    ui: Arc<dyn ExtensionUi>,
    /// What to restore once the session has moved to an entry.
    chosen: Mutex<Option<ChosenRestore>>,
}

impl FileHistoryExtension {
    async fn notify(&self, message: impl Into<String>) {
        let notice = ExtensionNotice::Notify {
            message: message.into(),
            notify_type: Some("info".to_owned()),
        };
        self.ui.notify(notice).await;
    }

    async fn undo(&self) {
        let Some(session) = self.history.session() else {
            return;
        };
        if !session.is_idle() {
            return self.notify(BUSY).await;
        }
        let plan = self.history.run(|history, place| {
            history.refresh()?;
            history.plan_undo(&place.branch)
        });
        let plan = match plan.await {
            Ok(Some(Some(plan))) => plan,
            Ok(Some(None)) => return self.notify("No file changes to undo").await,
            Ok(None) => {
                let text = "No file changes to undo: this session is not saved";
                return self.notify(text).await;
            }
            Err(error) => return self.notify(format!("Cannot undo: {error}")).await,
        };
        let question = RestoreQuestion::undo(&plan, session.cwd());
        let resolution = if plan.count(FileCondition::ChangedSince) == 0 {
            Resolution::Skip
        } else if self.ui.mode().has_ui() {
            match self.ask(&plan, &question).await {
                Choice::Restore(resolution) => resolution,
                Choice::Keep | Choice::OnlyFiles | Choice::Cancel => {
                    return self.notify("Canceled").await;
                }
            }
        } else {
            Resolution::Skip
        };
        // A run may have started meanwhile, and it changes files, too.
        if !session.is_idle() {
            return self.notify(BUSY).await;
        }
        self.restore(plan, resolution).await;
    }

    /// Asks what to restore; shows the differences as often as the user wants.
    async fn ask(&self, plan: &RestorePlan, question: &RestoreQuestion) -> Choice {
        let Some(session) = self.history.session() else {
            return Choice::Cancel;
        };
        loop {
            let prompt = question.prompt();
            let answer = session.requests().ask_dialog(&self.ui, prompt).await;
            let Some(answer) = answer else {
                return Choice::Cancel;
            };
            if let Some(choice) = question.choice(&answer) {
                return choice;
            }
            let shown = DialogPrompt::Editor {
                title: "Differences (changes here have no effect)".to_owned(),
                prefill: Some(self.history.differences(plan).await),
            };
            session.requests().ask_dialog(&self.ui, shown).await;
        }
    }

    /// Asks what a move in the tree restores, and what happens to files that were changed outside pi.
    async fn ask_move(&self, plan: &RestorePlan, cwd: &Path) -> TreeChoice {
        let question = RestoreQuestion::tree(plan, cwd);
        let moves = match self.ask(plan, &question).await {
            Choice::Keep => return TreeChoice::Conversation,
            Choice::Restore(_) => true,
            Choice::OnlyFiles => false,
            Choice::Cancel => return TreeChoice::Cancel,
        };
        let resolution = if plan.count(FileCondition::ChangedSince) == 0 {
            Resolution::Skip
        } else {
            let question = RestoreQuestion::changed_files(plan, cwd);
            match self.ask(plan, &question).await {
                Choice::Restore(resolution) => resolution,
                Choice::Keep | Choice::OnlyFiles | Choice::Cancel => return TreeChoice::Cancel,
            }
        };
        if moves {
            TreeChoice::Both(resolution)
        } else {
            TreeChoice::Files(resolution)
        }
    }

    async fn restore(&self, plan: RestorePlan, resolution: Resolution) {
        let restored = self
            .history
            .run(move |history, _| history.restore(&plan, resolution));
        let text = match restored.await {
            Ok(Some(report)) => report_text(&report, self.history.session().as_ref()),
            Ok(None) => return,
            Err(error) => format!("Cannot restore files: {error}"),
        };
        self.notify(text).await;
    }
}

impl InputHook for FileHistoryExtension {
    fn has_command(&self, name: &str) -> bool {
        name == COMMAND
    }

    fn run_command<'a>(&'a self, _name: &'a str, _arguments: &'a str) -> BoxFuture<'a, ()> {
        self.undo().boxed()
    }

    /// The next scan finds what the command has changed, as changes of the user.
    fn user_bash(
        &self,
        _command: UserCommand,
    ) -> BoxFuture<'_, Result<UserBashVerdict, HookError>> {
        async {
            self.history.scan(None).await;
            Ok(UserBashVerdict::Run)
        }
        .boxed()
    }
}

impl ToolPolicy for FileHistoryExtension {
    fn tool_call<'a>(
        &'a self,
        call: PendingToolCall,
        _cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<ReviewedToolCall, HookError>> {
        async move {
            if SHELLS.contains(&call.call.name.as_str()) {
                self.history.scan(None).await;
            }
            Ok(ReviewedToolCall::allow(call.arguments))
        }
        .boxed()
    }

    fn tool_result<'a>(
        &'a self,
        call: &'a FinishedToolCall,
        _cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<ToolResultUpdate, HookError>> {
        async move {
            let call = &call.pending.call;
            if SHELLS.contains(&call.name.as_str()) {
                self.history.scan(Some(&call.id)).await;
            }
            Ok(ToolResultUpdate::default())
        }
        .boxed()
    }
}

impl TurnHook for FileHistoryExtension {
    fn turn_end<'a>(&'a self, turn: TurnBoundary<'a>) -> BoxFuture<'a, BoundaryDecision> {
        async move {
            let entries = turn.tool_result_entry_ids.iter();
            let results = turn.tool_results.iter().zip(entries);
            let results = results.filter_map(|(message, entry)| match &**message {
                AgentMessage::ToolResult(result) => {
                    Some((result.tool_call_id.clone(), entry.clone()))
                }
                _ => None,
            });
            let results = results.collect();
            self.history
                .bind_results(turn.message_entry_id, results)
                .await;
            BoundaryDecision::default()
        }
        .boxed()
    }
}

impl NavigationHook for FileHistoryExtension {
    fn choose_move<'a>(
        &'a self,
        target: &'a EntryId,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, bool> {
        async move {
            *self.chosen.lock() = None;
            if !self.ui.mode().has_ui() {
                return true;
            }
            let Some(session) = self.history.session() else {
                return true;
            };
            let branch = session.history().with_session(|session| {
                let branch = session.entries().branch_to(target);
                branch.map(pi_session::SessionBranch::ids)
            });
            let Ok(branch) = branch else {
                return true;
            };
            let plan = self.history.run(move |history, _| {
                history.refresh()?;
                history.plan(&branch)
            });
            let plan = match plan.await {
                Ok(plan) => plan.unwrap_or_default(),
                Err(error) => {
                    tracing::warn!(%error, "cannot read the file history");
                    return true;
                }
            };
            if plan.is_empty() {
                return true;
            }
            let asked = self.ask_move(&plan, session.cwd());
            let choice = cancel.run_until_cancelled(asked).await;
            match choice.unwrap_or(TreeChoice::Cancel) {
                TreeChoice::Conversation => true,
                TreeChoice::Both(resolution) => {
                    *self.chosen.lock() = Some(ChosenRestore {
                        target: target.clone(),
                        plan,
                        resolution,
                    });
                    true
                }
                TreeChoice::Files(resolution) => {
                    self.restore(plan, resolution).await;
                    false
                }
                TreeChoice::Cancel => false,
            }
        }
        .boxed()
    }

    /// The user may have chosen another entry since.
    fn before_tree<'a>(&'a self, proposal: TreeProposal<'a>) -> BoxFuture<'a, TreeVerdict> {
        self.chosen
            .lock()
            .take_if(|chosen| chosen.target != *proposal.target_id);
        async { TreeVerdict::default() }.boxed()
    }

    fn tree<'a>(&'a self, _moved: TreeMoved<'a>) -> BoxFuture<'a, ()> {
        async {
            let chosen = self.chosen.lock().take();
            if let Some(chosen) = chosen {
                self.restore(chosen.plan, chosen.resolution).await;
            }
        }
        .boxed()
    }
}

impl LifecycleHook for FileHistoryExtension {
    fn session_shutdown(&self, _shutdown: SessionShutdown) -> BoxFuture<'_, ()> {
        self.history.release();
        async {}.boxed()
    }
}
