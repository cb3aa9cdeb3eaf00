//! Commands that open a dialog, or apply their argument directly.

use pi_protocol::ThinkingLevel;
use pi_runtime::Persist;

use crate::app::App;

/// `/settings`
pub(super) fn settings(app: &mut App, _argument: &str) {
    app.open_settings();
}

/// `/model [model]`
pub(super) fn model(app: &mut App, argument: &str) {
    let exact = (!argument.is_empty())
        .then(|| app.exact_model(argument))
        .flatten();
    match exact {
        Some(model) => app.use_model(model, Persist::Session),
        None => app.open_models(argument),
    }
}

/// `/thinking [level]`
pub(super) fn thinking(app: &mut App, argument: &str) {
    if argument.is_empty() {
        app.open_thinking();
        return;
    }
    let levels = app.session.available_thinking_levels();
    match ThinkingLevel::from_name(argument).filter(|level| levels.contains(level)) {
        Some(level) => app.use_thinking(level, Persist::Session),
        None => {
            let names: Vec<&str> = levels.iter().map(|level| level.as_str()).collect();
            let names = names.join(", ");
            app.error(format!(
                "Unknown thinking level \"{argument}\" for this model; available: {names}"
            ));
        }
    }
}

/// `/scoped-models`
pub(super) fn scoped_models(app: &mut App, _argument: &str) {
    app.open_scoped_models();
}

/// `/fork`
pub(super) fn fork(app: &mut App, _argument: &str) {
    app.open_fork();
}

/// `/tree`
pub(super) fn tree(app: &mut App, _argument: &str) {
    app.open_tree(None);
}

/// `/trust`
pub(super) fn trust(app: &mut App, _argument: &str) {
    app.open_trust();
}

/// `/login [provider]`
pub(super) fn login(app: &mut App, argument: &str) {
    app.open_login(argument);
}

/// `/logout`
pub(super) fn logout(app: &mut App, _argument: &str) {
    app.open_logout();
}

/// `/resume`
pub(super) fn resume(app: &mut App, _argument: &str) {
    app.open_resume();
}

/// `/llama`
pub(super) fn llama(app: &mut App, _argument: &str) {
    app.open_llama();
}
