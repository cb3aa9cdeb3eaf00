//! Commands that replace or compact the conversation.

use pi_runtime::CompactError;

use crate::app::App;
use crate::transcript::NoticeLevel;

/// `/new`
pub(super) fn new(app: &mut App, _argument: &str) {
    let runtime = app.runtime.clone();
    let work = async move { runtime.new_session(None).await };
    app.replace(work, |app, replacement| {
        if !replacement.cancelled {
            app.status("New session started");
        }
    });
}

/// `/clone`
pub(super) fn clone(app: &mut App, _argument: &str) {
    let runtime = app.runtime.clone();
    let work = async move { runtime.clone_session().await };
    app.replace(work, |app, replacement| {
        if !replacement.cancelled {
            app.status("Switched to a copy; the original session is unchanged");
        }
    });
}

/// `/compact [instructions]`
pub(super) fn compact(app: &mut App, argument: &str) {
    let instructions = (!argument.is_empty()).then(|| argument.to_owned());
    let session = app.session.clone();
    let work = async move { session.compact(instructions).await };
    app.spawn(work, |app, result| match result {
        Ok(_) => {}
        Err(CompactError::Cancelled) => app.status("Compaction canceled"),
        Err(error) => app.error(pi_runtime::describe_error(&error)),
    });
}

/// `/reload`
pub(super) fn reload(app: &mut App, _argument: &str) {
    if !app.session.is_idle() {
        app.notify(
            NoticeLevel::Warning,
            "Cannot reload while a run is in progress",
        );
        return;
    }
    let runtime = app.runtime.clone();
    let work = async move {
        runtime
            .reload()
            .await
            .map(|()| pi_runtime::ReplaceOutcome::default())
    };
    app.replace(work, |app, _| {
        app.status("Reloaded keys, settings, resources and context files");
    });
}
