//! `--export`: exports a session file to HTML.

use std::path::{Path, PathBuf};

use pi_config::{
    AgentDir, AuthFile, ResourceFlags, ResourceRequest, SettingsStore, load_resources,
};
use pi_env::Env;
use pi_export::{ExportTheme, HtmlOptions, export_html_file, stored_secrets};
use pi_protocol::ProjectAccess;

use crate::output::{Exit, Failure, print};

const USAGE: &str =
    "usage: pi --export SESSION.jsonl [PAGE.html]; sessions are in ~/.pi/agent/sessions";

/// Exports a session file and prints the path of the page.
pub(crate) async fn run(input: &str, output: Option<&str>, env: Env) -> Exit {
    let agent_dir = AgentDir::from_env(&env);
    let credentials = AuthFile::new(agent_dir.auth_file());
    let options = HtmlOptions {
        output: output.map(PathBuf::from),
        theme: theme(&agent_dir, &env),
        redaction: stored_secrets(&credentials).await,
        env,
        ..HtmlOptions::default()
    };
    match export_html_file(Path::new(input), &options) {
        Ok(path) => print(&format!("Exported to {}\n", path.display())),
        Err(error) => Failure::from_chain(&error).hint(USAGE).report(),
    }
}

/// The error for arguments after the output file, such as the expansion of `*.jsonl`.
pub(crate) fn too_many_arguments(extra: &[String]) -> Failure {
    Failure::new(format!(
        "--export takes one session and one output file; unexpected: {}",
        extra.join(" ")
    ))
    .hint(USAGE)
}

/// Returns the colors of the user's theme; project settings are ignored, since trust was not decided.
fn theme(agent_dir: &AgentDir, env: &Env) -> ExportTheme {
    let cwd = std::env::current_dir().unwrap_or_default();
    let project = ProjectAccess::Denied;
    let settings = SettingsStore::open(agent_dir, &cwd, project);
    let setting = settings.settings().theme.clone();
    let resources = load_resources(&ResourceRequest {
        agent_dir: agent_dir.clone(),
        cwd,
        env: env.clone(),
        settings,
        project,
        flags: ResourceFlags {
            no_extensions: true,
            no_skills: true,
            no_prompt_templates: true,
            no_context_files: true,
            ..ResourceFlags::default()
        },
    });
    ExportTheme::from_setting(setting.as_deref(), &resources.themes)
}
