//! `--export`: a session file as a web page.

use std::path::{Path, PathBuf};

use pi_ai::Env;
use pi_config::{AgentDir, AuthFile};
use pi_runtime::{HtmlOptions, export_html_file, stored_secrets};

use crate::output::{Exit, Failure, print};

/// Exports a session file and says where the page is.
pub(crate) async fn run(input: &str, output: Option<&str>, env: Env) -> Exit {
    let credentials = AuthFile::new(AgentDir::from_env(&env).auth_file());
    let options = HtmlOptions {
        output: output.map(PathBuf::from),
        redaction: stored_secrets(&credentials).await,
        env,
        ..HtmlOptions::default()
    };
    match export_html_file(Path::new(input), &options) {
        Ok(path) => print(&format!("Exported to {}\n", path.display())),
        Err(error) => Failure::from_chain(&error)
            .hint(
                "pi --export SESSION.jsonl [PAGE.html]; sessions are kept in ~/.pi/agent/sessions",
            )
            .report(),
    }
}
