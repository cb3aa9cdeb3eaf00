//! The controllers: each owns one part of the application's state.
//!
//! A controller handles messages and returns commands. It does no I/O and sees the rest of the application only
//! through an [`AppContext`]; the application performs the commands.

pub(crate) mod appearance;
pub(crate) mod approvals;
pub(crate) mod dialogs;
pub(crate) mod extensions;
pub(crate) mod llama;
pub(crate) mod models;
pub(crate) mod prompt;
pub(crate) mod report;
pub(crate) mod review;
pub(crate) mod share;
mod shortcuts;
pub(crate) mod sign_in;
pub(crate) mod status;
pub(crate) mod switching;
pub(crate) mod terminal;

use pi_host::Prompt;
use pi_views::theme::selector::ThemeSelector;

use crate::app::command::AppCommand;
use crate::app::context::AppContext;
use crate::app::message::AppMsg;
use crate::app::tasks::AppHandle;
use appearance::AppearanceController;
use approvals::ApprovalController;
use dialogs::DialogController;
use extensions::ExtensionController;
use llama::LlamaController;
use models::ModelController;
use prompt::PromptController;
use report::ReportController;
use review::ReviewController;
use share::ShareController;
use sign_in::SignInController;
use status::StatusController;
use switching::SwitchController;
use terminal::TerminalController;

/// All controllers but the transcript, which is part of the display.
#[derive(Debug)]
pub(crate) struct Controllers {
    pub(crate) prompt: PromptController,
    pub(crate) status: StatusController,
    pub(crate) dialogs: DialogController,
    pub(crate) approvals: ApprovalController,
    pub(crate) sign_in: SignInController,
    pub(crate) switching: SwitchController,
    pub(crate) extensions: ExtensionController,
    pub(crate) terminal: TerminalController,
    pub(crate) models: ModelController,
    pub(crate) appearance: AppearanceController,
    pub(crate) share: ShareController,
    pub(crate) report: ReportController,
    pub(crate) llama: LlamaController,
}

impl Controllers {
    pub(crate) fn new(handle: &AppHandle, themes: ThemeSelector, prompts: Vec<Prompt>) -> Self {
        Self {
            prompt: PromptController::new(prompts),
            status: StatusController::default(),
            dialogs: DialogController::default(),
            approvals: ApprovalController::default(),
            sign_in: SignInController::new(handle.clone()),
            switching: SwitchController::new(handle.clone()),
            extensions: ExtensionController::default(),
            terminal: TerminalController::default(),
            models: ModelController,
            appearance: AppearanceController::new(themes),
            share: ShareController::default(),
            report: ReportController::default(),
            llama: LlamaController::new(handle.clone()),
        }
    }

    /// Delivers a message to its controller. Messages to the transcript are handled by the display.
    pub(crate) fn update(&mut self, message: AppMsg, ctx: &AppContext<'_>) -> Vec<AppCommand> {
        match message {
            AppMsg::Prompt(message) => self.prompt.update(message, ctx),
            AppMsg::Transcript(_) => Vec::new(),
            AppMsg::Status(message) => self.status.update(message, ctx),
            AppMsg::Dialogs(message) => self.dialogs.update(message, ctx),
            AppMsg::Approvals(message) => self.approvals.update(message),
            AppMsg::SignIn(message) => self.sign_in.update(message, ctx),
            AppMsg::Switch(message) => self.switching.update(message, ctx),
            AppMsg::Extensions(message) => self.extensions.update(message, ctx),
            AppMsg::Terminal(message) => self.terminal.update(message, ctx),
            AppMsg::Models(message) => self.models.update(message, ctx),
            AppMsg::Appearance(message) => self.appearance.update(message, ctx),
            AppMsg::Share(message) => self.share.update(message),
            AppMsg::Report(message) => self.report.update(message),
            AppMsg::Review(message) => ReviewController::update(message, ctx),
            AppMsg::Llama(message) => self.llama.update(message, ctx),
        }
    }
}
