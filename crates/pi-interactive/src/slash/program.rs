//! Commands for the application, export and sharing.

use std::path::Path;

use pi_export::{HtmlOptions, JsonlOptions, export_html, export_jsonl, stored_secrets};

use crate::ExitReason;
use crate::app::App;

/// Argument that makes `/debug` panic in development builds, to test terminal recovery.
const CRASH: &str = "crash";

/// `/quit`
pub(super) fn quit(app: &mut App, _argument: &str) {
    app.leave(ExitReason::Quit);
}

/// `/copy`
pub(super) fn copy(app: &mut App, _argument: &str) {
    app.copy_answer();
}

/// `/export [file]`
pub(super) fn export(app: &mut App, argument: &str) {
    let services = app.runtime.services();
    let output = path_argument(argument).map(|path| {
        services
            .cwd
            .join(pi_config::expand_home(&path, &services.env))
    });
    let is_jsonl = output.as_ref().is_some_and(|path| {
        path.extension()
            .is_some_and(|extension| extension == "jsonl")
    });
    let session = app.session.clone();
    let env = services.env.clone();
    let theme = app.export_theme();
    let work = async move {
        let redaction = stored_secrets(session.models().authenticator().store().as_ref()).await;
        let write = move || {
            let system_prompt = Some(session.system_prompt());
            session.with_copy(|session| {
                if is_jsonl {
                    let options = JsonlOptions {
                        output,
                        redaction,
                        env,
                    };
                    return export_jsonl(session, &options);
                }
                let options = HtmlOptions {
                    output,
                    theme,
                    system_prompt,
                    redaction,
                    env,
                    ..HtmlOptions::default()
                };
                export_html(session, &options)
            })
        };
        tokio::task::spawn_blocking(write).await
    };
    app.spawn(work, |app, result| match result {
        Ok(Ok(path)) => app.status(format!("Session exported to {}", path.display())),
        Ok(Err(error)) => app.error(pi_runtime::describe_error(&error)),
        Err(error) => app.error(pi_runtime::describe_error(&error)),
    });
}

/// `/import <file>`
pub(super) fn import(app: &mut App, argument: &str) {
    match path_argument(argument) {
        Some(path) => app.ask_import(Path::new(&path)),
        None => app.error("Usage: /import <file.jsonl>"),
    }
}

/// `/share`
pub(super) fn share(app: &mut App, _argument: &str) {
    app.share();
}

/// `/bug [what happened]`
pub(super) fn bug(app: &mut App, argument: &str) {
    app.report_problem(argument);
}

/// `/debug`
pub(super) fn debug(app: &mut App, argument: &str) {
    assert!(
        !cfg!(debug_assertions) || argument != CRASH,
        "requested with /debug {CRASH}"
    );
    app.write_debug_record();
}

/// Returns a bare or quoted path.
fn path_argument(argument: &str) -> Option<String> {
    let argument = argument.trim();
    for quote in ['"', '\''] {
        if let Some(rest) = argument.strip_prefix(quote) {
            return rest.split_once(quote).map(|(path, _)| path.to_owned());
        }
    }
    argument.split_whitespace().next().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_ends_at_a_space_unless_quoted() {
        assert_eq!(path_argument("a.html and more").as_deref(), Some("a.html"));
        assert_eq!(path_argument("\"a b.html\" x").as_deref(), Some("a b.html"));
        assert_eq!(path_argument("'a b'").as_deref(), Some("a b"));
        assert_eq!(path_argument("\"open"), None);
        assert_eq!(path_argument("  "), None);
    }
}
