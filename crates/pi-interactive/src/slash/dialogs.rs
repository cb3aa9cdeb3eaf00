//! Commands that open a dialog, or apply their argument directly.

use crate::app::command::AppCommand;
use crate::app::context::AppContext;
use crate::controllers::dialogs::{DialogMsg, DialogRequest};
use crate::controllers::llama::LlamaMsg;
use crate::controllers::models::ModelMsg;
use crate::session::command::SessionCommand;

/// `/settings`
pub(super) fn settings(_argument: &str, _ctx: &AppContext<'_>) -> Vec<AppCommand> {
    open(DialogRequest::Settings)
}

/// `/model [model]`
pub(super) fn model(argument: &str, _ctx: &AppContext<'_>) -> Vec<AppCommand> {
    vec![AppCommand::send(ModelMsg::Select(argument.to_owned()))]
}

/// `/thinking [level]`
pub(super) fn thinking(argument: &str, _ctx: &AppContext<'_>) -> Vec<AppCommand> {
    vec![AppCommand::send(ModelMsg::SelectThinking(
        argument.to_owned(),
    ))]
}

/// `/scoped-models`
pub(super) fn scoped_models(_argument: &str, _ctx: &AppContext<'_>) -> Vec<AppCommand> {
    open(DialogRequest::ScopedModels)
}

/// `/fork`
pub(super) fn fork(_argument: &str, _ctx: &AppContext<'_>) -> Vec<AppCommand> {
    vec![AppCommand::Session(SessionCommand::ListForkPoints)]
}

/// `/tree`
pub(super) fn tree(_argument: &str, _ctx: &AppContext<'_>) -> Vec<AppCommand> {
    open(DialogRequest::Tree { selected: None })
}

/// `/trust`
pub(super) fn trust(_argument: &str, _ctx: &AppContext<'_>) -> Vec<AppCommand> {
    open(DialogRequest::Trust)
}

/// `/login [provider]`
pub(super) fn login(argument: &str, _ctx: &AppContext<'_>) -> Vec<AppCommand> {
    open(DialogRequest::Login {
        provider: argument.to_owned(),
    })
}

/// `/logout`
pub(super) fn logout(_argument: &str, _ctx: &AppContext<'_>) -> Vec<AppCommand> {
    vec![AppCommand::Session(SessionCommand::ListLogins)]
}

/// `/resume`
pub(super) fn resume(_argument: &str, _ctx: &AppContext<'_>) -> Vec<AppCommand> {
    open(DialogRequest::Resume { search: None })
}

/// `/llama`
pub(super) fn llama(_argument: &str, _ctx: &AppContext<'_>) -> Vec<AppCommand> {
    vec![AppCommand::send(LlamaMsg::Open)]
}

/// `/changelog`
pub(super) fn changelog(_argument: &str, _ctx: &AppContext<'_>) -> Vec<AppCommand> {
    open(DialogRequest::Changelog)
}

/// `/diff`
pub(super) fn diff(_argument: &str, _ctx: &AppContext<'_>) -> Vec<AppCommand> {
    open(DialogRequest::Review)
}

/// `/hotkeys`
pub(super) fn hotkeys(_argument: &str, _ctx: &AppContext<'_>) -> Vec<AppCommand> {
    open(DialogRequest::Hotkeys)
}

fn open(request: DialogRequest) -> Vec<AppCommand> {
    vec![AppCommand::send(DialogMsg::Open(request))]
}
