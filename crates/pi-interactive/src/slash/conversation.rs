//! Commands that change the conversation as a whole.

use pi_runtime::CompactError;

use crate::app::App;
use crate::transcript::NoticeLevel;

/// `/new`
pub(super) fn new(app: &mut App, _argument: &str) {
    let runtime = app.runtime.clone();
    let work = async move { runtime.new_session(None).await };
    app.replace(work, |app, replacement| {
        if !replacement.cancelled {
            app.status("A new session has begun");
        }
    });
}

/// `/clone`
pub(super) fn clone(app: &mut App, _argument: &str) {
    let runtime = app.runtime.clone();
    let work = async move { runtime.clone_session().await };
    app.replace(work, |app, replacement| {
        if !replacement.cancelled {
            app.status("This is a copy; the session it came from stays as it is");
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
        Err(CompactError::Cancelled) => app.status("The session was not compacted"),
        Err(error) => app.error(pi_runtime::describe_error(&error)),
    });
}

/// `/reload`
pub(super) fn reload(app: &mut App, _argument: &str) {
    if !app.session.is_idle() {
        app.tell(
            NoticeLevel::Warning,
            "Wait until the work under way is done, then reload",
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
        app.status("Keys, settings, resources and context files have been read again");
    });
}
