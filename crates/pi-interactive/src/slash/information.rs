//! Commands that show information.

use crate::app::App;
use crate::session::report::session_report;
use crate::transcript::NoticeLevel;

/// `/name [name]`
pub(super) fn name(app: &mut App, argument: &str) {
    let name = argument
        .split(['\r', '\n'])
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join(" ");
    let name = name.trim().to_owned();
    if name.is_empty() {
        match app.session.session_name() {
            Some(name) => app.notify(NoticeLevel::Info, format!("Session name: {name}")),
            None => app.notify(
                NoticeLevel::Info,
                "The session has no name. Set one with /name <name>.",
            ),
        }
        return;
    }
    let session = app.session.clone();
    let work = async move { session.set_session_name(&name).await.map(|()| name) };
    app.spawn(work, |app, result| match result {
        Ok(name) => {
            app.refresh_title();
            app.refresh_footer();
            app.status(format!("Session renamed to {name}"));
        }
        Err(error) => app.error(pi_runtime::describe_error(&error)),
    });
}

/// `/session`
pub(super) fn session(app: &mut App, _argument: &str) {
    let session = app.session.clone();
    let version = app.options.version.clone();
    app.spawn_blocking(
        move || session_report(&session, &version),
        |app, report| match report {
            Ok(report) => app.notify(NoticeLevel::Info, report),
            Err(error) => app.error(pi_runtime::describe_error(&error)),
        },
    );
}

/// `/changelog`
pub(super) fn changelog(app: &mut App, _argument: &str) {
    app.open_changelog();
}

/// `/hotkeys`
pub(super) fn hotkeys(app: &mut App, _argument: &str) {
    app.open_hotkeys();
}
