//! Checks that a sandbox can be used before channels rely on it.

use std::path::Path;

use pi_core::{Environment, ExitCode, ShellCommand};
use pi_env::Env;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::config::SandboxChoice;
use crate::docker::docker_environment;
use crate::session::CONTAINER_WORKSPACE;

/// Verifies a sandbox and describes it in a sentence.
pub async fn check_sandbox(
    sandbox: &SandboxChoice,
    workspace: &Path,
    env: &Env,
) -> Result<String, String> {
    match sandbox {
        SandboxChoice::Host => Ok("Sandbox: none, tools run on this machine".to_owned()),
        SandboxChoice::Confined => {
            Ok("Sandbox: confined, enforced when a session is opened".to_owned())
        }
        SandboxChoice::Docker(name) => {
            let environment = docker_environment(name, workspace, env);
            check_container(&environment, workspace)
                .await
                .map_err(|reason| {
                    format!(
                        "cannot use the container {name}: {reason}\nhint: start it with \
                     docker run -d --name {name} -v {}:{CONTAINER_WORKSPACE} IMAGE sleep infinity",
                        workspace.display()
                    )
                })?;
            Ok(format!("Sandbox: container {name}"))
        }
    }
}

/// Runs a command in the workspace of a container.
async fn check_container(environment: &Environment, workspace: &Path) -> Result<(), String> {
    let command = ShellCommand {
        command: "pwd".to_owned(),
        cwd: workspace.to_owned(),
        ..ShellCommand::default()
    };
    let (sender, mut receiver) = mpsc::channel::<bytes::Bytes>(16);
    let collecting = async {
        let mut output = Vec::new();
        while let Some(chunk) = receiver.recv().await {
            output.extend_from_slice(&chunk);
        }
        String::from_utf8_lossy(&output).trim().to_owned()
    };
    let executing = environment
        .processes
        .execute(command, sender, CancellationToken::new());
    let (executed, output) = tokio::join!(executing, collecting);
    match executed {
        Ok(ExitCode(Some(0))) if output == CONTAINER_WORKSPACE => Ok(()),
        Ok(_) => Err(output.chars().take(300).collect()),
        Err(error) => Err(error.to_string()),
    }
}
