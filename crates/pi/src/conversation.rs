//! Says the prompts of a command line to a session, one after the other.

use pi_ai::CredentialStore as _;
use pi_config::AuthFile;
use pi_runtime::{AgentSession, InputSource, Prompt, PromptError, SessionRuntime};

use crate::output::Failure;
use crate::prompt_input::Prompts;
use crate::startup::no_model;

/// Says every prompt and waits for its run to end. `meet` sees the session before each prompt, because a
/// prompt may have put another session in its place.
pub(crate) async fn converse(
    runtime: &SessionRuntime,
    prompts: Prompts,
    mut meet: impl FnMut(&AgentSession),
) -> Result<(), Failure> {
    let rest = prompts.rest.into_iter().map(|text| (text, Vec::new()));
    for (text, images) in prompts.first.into_iter().chain(rest) {
        let session = runtime.session();
        meet(&session);
        let prompt = Prompt {
            text,
            images,
            streaming_behavior: None,
            expand: true,
            source: InputSource::Interactive,
        };
        match session.prompt(prompt).await {
            Ok(_run) => session.wait_for_idle().await,
            Err(PromptError::NoModel) => return Err(without_model(runtime).await),
            Err(refused) => return Err(refused.into()),
        }
    }
    Ok(())
}

/// Says why there is no model: credentials that cannot be read are another matter than none.
async fn without_model(runtime: &SessionRuntime) -> Failure {
    let credentials = AuthFile::new(runtime.services().agent_dir.auth_file());
    match credentials.read_all().await {
        Ok(_readable) => no_model(),
        Err(error) => Failure::from_chain(&error),
    }
}
