//! `/llama`: lists, loads, unloads and downloads models of a llama.cpp router.
//!
//! Other clients may use the same router: its models are listed again before every choice, and nothing is
//! unloaded without confirmation.

#[cfg(test)]
mod tests;
mod work;

use pi_host::LlamaRouter;
use pi_protocol::{LlamaModel, LlamaState};
use pi_views::dialogs::dialog::DialogUpdate;
use pi_views::dialogs::intent::QuestionAnswer;
use pi_views::dialogs::{ProgressUpdate, QuestionOptions};
use tokio_util::sync::CancellationToken;

use super::dialogs::{Asker, DialogMsg, DialogRequest};
use super::status::StatusMsg;
use crate::app::command::AppCommand;
use crate::app::context::AppContext;
use crate::app::tasks::AppHandle;
use crate::session::command::SessionCommand;
use crate::transcript::NoticeLevel;
use work::LlamaWork;

#[derive(Debug)]
pub(crate) enum LlamaMsg {
    /// Finds the router and lists its models.
    Open,
    Found(Result<Option<LlamaRouter>, String>),
    Listed(Result<Vec<LlamaModel>, String>),
    /// Lists the models, unless the user is doing something else by now.
    ListIfFree,
    Answered(QuestionAnswer),
    Progress(ProgressUpdate),
    Finished {
        /// `None` if it was canceled.
        outcome: Option<Result<(), String>>,
        done: String,
    },
}

/// The open dialog.
#[derive(Debug, Default)]
enum LlamaDialog {
    #[default]
    None,
    Models(Vec<LlamaModel>),
    Retry,
    Unload(String),
    Load {
        model: String,
        /// Models in memory.
        others: Vec<String>,
    },
    Download,
    Progress {
        cancel: CancellationToken,
        /// Shown when the user dismisses it.
        canceled: &'static str,
    },
}

#[derive(Debug)]
pub(crate) struct LlamaController {
    handle: AppHandle,
    router: Option<LlamaRouter>,
    dialog: LlamaDialog,
}

impl LlamaController {
    pub(crate) fn new(handle: AppHandle) -> Self {
        Self {
            handle,
            router: None,
            dialog: LlamaDialog::None,
        }
    }

    pub(crate) fn update(&mut self, message: LlamaMsg, ctx: &AppContext<'_>) -> Vec<AppCommand> {
        match message {
            LlamaMsg::Open => vec![AppCommand::Session(SessionCommand::FindLlamaRouter)],
            LlamaMsg::Found(Ok(Some(router))) => {
                self.router = Some(router);
                self.list()
            }
            LlamaMsg::Found(Ok(None)) => vec![AppCommand::notify(
                NoticeLevel::Warning,
                "No llama.cpp server configured. Run /login llama.cpp to add one.",
            )],
            LlamaMsg::Found(Err(message)) => vec![AppCommand::error(message)],
            LlamaMsg::Listed(listed) => vec![
                AppCommand::send(StatusMsg::ModelChanged),
                match listed {
                    Ok(listed) => self.choose(listed),
                    Err(message) => self.offer_retry(message),
                },
            ],
            LlamaMsg::ListIfFree if ctx.has_dialog => Vec::new(),
            LlamaMsg::ListIfFree => self.list(),
            LlamaMsg::Answered(answer) => self.answered(&answer),
            LlamaMsg::Progress(progress) => {
                if matches!(self.dialog, LlamaDialog::Progress { .. }) {
                    vec![AppCommand::UpdateDialog(DialogUpdate::Progress(progress))]
                } else {
                    Vec::new()
                }
            }
            LlamaMsg::Finished { outcome, done } => self.finished(outcome, done),
        }
    }

    fn list(&self) -> Vec<AppCommand> {
        let router = self.router.iter().cloned();
        router
            .map(|router| AppCommand::Session(SessionCommand::ListLlama(router)))
            .collect()
    }

    fn ask(&mut self, dialog: LlamaDialog, request: DialogRequest) -> AppCommand {
        self.dialog = dialog;
        AppCommand::send(DialogMsg::Ask {
            request,
            asker: Asker::Llama,
        })
    }

    fn offer_retry(&mut self, message: String) -> AppCommand {
        let request = choose(
            "llama.cpp server not reachable",
            message,
            &["Try again", "Close"],
        );
        self.ask(LlamaDialog::Retry, request)
    }

    fn choose(&mut self, listed: Vec<LlamaModel>) -> AppCommand {
        let mut choices: Vec<String> = listed.iter().map(describe).collect();
        choices.push("Download a model…".to_owned());
        let loaded = listed.iter().filter(|model| model.state.is_in_memory());
        let address = self
            .router
            .as_ref()
            .map(|router| router.address().to_owned());
        let details = format!(
            "{}: {} models, {} loaded. Press Enter to load or unload a model.",
            address.unwrap_or_default(),
            listed.len(),
            loaded.count(),
        );
        let choices: Vec<&str> = choices.iter().map(String::as_str).collect();
        let request = choose("llama.cpp models", details, &choices);
        self.ask(LlamaDialog::Models(listed), request)
    }

    fn answered(&mut self, answer: &QuestionAnswer) -> Vec<AppCommand> {
        let chosen = match answer {
            QuestionAnswer::Chosen(index) => Some(*index),
            _ => None,
        };
        match std::mem::take(&mut self.dialog) {
            LlamaDialog::Models(listed) => self.model_chosen(&listed, chosen),
            LlamaDialog::Retry if chosen == Some(0) => self.list(),
            LlamaDialog::None | LlamaDialog::Retry => Vec::new(),
            LlamaDialog::Unload(model) if chosen == Some(0) => {
                self.start(LlamaWork::Unload { model })
            }
            LlamaDialog::Load { model, others } if chosen == Some(0) => {
                let replaced = others;
                self.start(LlamaWork::Load { model, replaced })
            }
            LlamaDialog::Load { model, .. } if chosen == Some(1) => {
                let replaced = Vec::new();
                self.start(LlamaWork::Load { model, replaced })
            }
            LlamaDialog::Unload(_) | LlamaDialog::Load { .. } => self.list(),
            LlamaDialog::Download => {
                let name = match answer {
                    QuestionAnswer::Text(text) => text.trim(),
                    _ => "",
                };
                if is_repository(name) {
                    let model = name.to_owned();
                    return self.start(LlamaWork::Download { model });
                }
                let mut commands = Vec::new();
                if !name.is_empty() {
                    commands.push(AppCommand::error(format!(
                        "{name} is not a valid owner/repository"
                    )));
                }
                commands.extend(self.list());
                commands
            }
            LlamaDialog::Progress { cancel, canceled } => {
                cancel.cancel();
                vec![AppCommand::status(canceled)]
            }
        }
    }

    fn model_chosen(&mut self, listed: &[LlamaModel], chosen: Option<usize>) -> Vec<AppCommand> {
        let Some(chosen) = chosen else {
            return Vec::new();
        };
        let Some(model) = listed.get(chosen) else {
            return vec![self.ask_download()];
        };
        match model.state {
            LlamaState::Loaded | LlamaState::Sleeping => vec![self.ask_unload(model.id.clone())],
            LlamaState::Unloaded | LlamaState::Failed => self.ask_load(listed, model.id.clone()),
            _ => {
                let status = format!("{} is {}", model.id, model.state.as_str());
                let mut commands = vec![AppCommand::status(status)];
                commands.extend(self.list());
                commands
            }
        }
    }

    fn ask_unload(&mut self, model: String) -> AppCommand {
        let details = format!("Frees the memory used by {model}. The model file is kept.");
        let request = choose("Unload this model?", details, &["Unload", "Cancel"]);
        self.ask(LlamaDialog::Unload(model), request)
    }

    fn ask_load(&mut self, listed: &[LlamaModel], model: String) -> Vec<AppCommand> {
        let others = listed.iter().filter(|other| other.state.is_in_memory());
        let others: Vec<String> = others.map(|other| other.id.clone()).collect();
        if others.is_empty() {
            let replaced = Vec::new();
            return self.start(LlamaWork::Load { model, replaced });
        }
        let request = choose(
            "Other models are loaded",
            others.join("\n"),
            &["Unload them first", "Keep them loaded", "Cancel"],
        );
        vec![self.ask(LlamaDialog::Load { model, others }, request)]
    }

    fn ask_download(&mut self) -> AppCommand {
        let question = QuestionOptions {
            title: "Download a model".to_owned(),
            details: Some(
                "Hugging Face model as owner/repository[:quantization]. The server downloads it. Gated repositories require HF_TOKEN in the server's environment."
                    .to_owned(),
            ),
            ..QuestionOptions::default()
        };
        let request = DialogRequest::Line {
            question,
            example: "ggml-org/gemma-3-4b-it-GGUF:Q4_K_M",
        };
        self.ask(LlamaDialog::Download, request)
    }

    /// Starts work on the server and shows its progress.
    fn start(&mut self, work: LlamaWork) -> Vec<AppCommand> {
        let Some(router) = self.router.clone() else {
            return Vec::new();
        };
        let cancel = CancellationToken::new();
        let dialog = LlamaDialog::Progress {
            cancel: cancel.clone(),
            canceled: work.canceled(),
        };
        let request = DialogRequest::Progress {
            title: work.title(),
            subject: work.model().to_owned(),
        };
        vec![
            self.ask(dialog, request),
            AppCommand::Run(work.task(router, self.handle.clone(), cancel)),
        ]
    }

    /// Reports the outcome of an operation and lists the models again.
    fn finished(&mut self, outcome: Option<Result<(), String>>, done: String) -> Vec<AppCommand> {
        let mut commands = Vec::new();
        if matches!(self.dialog, LlamaDialog::Progress { .. }) {
            self.dialog = LlamaDialog::None;
            commands.push(AppCommand::send(DialogMsg::Finish(Asker::Llama)));
        }
        match outcome {
            Some(Ok(())) => commands.push(AppCommand::status(done)),
            Some(Err(message)) => commands.push(AppCommand::error(message)),
            None => {}
        }
        commands.push(AppCommand::send(LlamaMsg::ListIfFree));
        commands
    }
}

fn choose(title: &str, details: String, choices: &[&str]) -> DialogRequest {
    DialogRequest::Choose {
        question: QuestionOptions {
            title: title.to_owned(),
            details: Some(details),
            ..QuestionOptions::default()
        },
        choices: choices.iter().map(|choice| (*choice).to_owned()).collect(),
    }
}

/// Returns the list label of a model.
fn describe(model: &LlamaModel) -> String {
    let state = model.state.as_str();
    let context = model.context.filter(|_| model.state.is_in_memory());
    match context {
        None => format!("{} · {state}", model.id),
        Some(short @ 0..1000) => format!("{} · {state} · {short} context", model.id),
        Some(long) => format!("{} · {state} · {}k context", model.id, (long + 500) / 1000),
    }
}

/// Returns whether a name is `owner/repository[:quantization]`.
fn is_repository(name: &str) -> bool {
    let (repository, quantization) = match name.split_once(':') {
        Some((repository, quantization)) => (repository, Some(quantization)),
        None => (name, None),
    };
    let is_word = |word: &str| {
        !word.is_empty()
            && word
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
    };
    repository
        .split_once('/')
        .is_some_and(|(owner, name)| is_word(owner) && is_word(name))
        && quantization.is_none_or(is_word)
}
