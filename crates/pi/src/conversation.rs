//! Sends the prompts of the command line to a session, one after the other.

use pi_auth::CredentialStore as _;
use pi_config::AuthFile;
use pi_host::{AgentSession, InputSource, Prompt, PromptError, SessionRuntime};

use crate::output::Failure;
use crate::prompt_input::Prompts;
use crate::startup::no_model;

/// Sends each prompt and waits until its run has ended. `attach` is called with the session before each prompt,
/// since a prompt may replace the session.
pub(crate) async fn converse(
    runtime: &SessionRuntime,
    prompts: Prompts,
    mut attach: impl FnMut(&AgentSession),
) -> Result<(), Failure> {
    let rest = prompts.rest.into_iter().map(|text| (text, Vec::new()));
    for (text, images) in prompts.first.into_iter().chain(rest) {
        let session = runtime.session();
        attach(&session);
        let prompt = Prompt {
            text,
            images,
            streaming_behavior: None,
            expand: true,
            source: InputSource::Interactive,
        };
        match session.prompt(prompt).await {
            Ok(_run) => session.wait_for_idle().await,
            Err(PromptError::NoModel) => return Err(explain_missing_model(runtime).await),
            Err(refused) => return Err(refused.into()),
        }
    }
    Ok(())
}

/// Explains why there is no model: unreadable credentials are reported differently from missing ones.
async fn explain_missing_model(runtime: &SessionRuntime) -> Failure {
    let credentials = AuthFile::new(runtime.workspace().agent_dir.auth_file());
    match credentials.read_all().await {
        Ok(_readable) => no_model(),
        Err(error) => Failure::from_chain(&error),
    }
}
