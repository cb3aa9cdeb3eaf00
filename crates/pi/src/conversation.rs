//! Says the prompts of a command line to a session, one after the other.

use pi_runtime::{AgentSession, InputSource, Prompt, PromptRefused, SessionRuntime};

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
        session
            .prompt(prompt)
            .await
            .map_err(|refused| match refused {
                PromptRefused::NoModel => no_model(),
                other => other.into(),
            })?;
        session.wait_for_idle().await;
    }
    Ok(())
}
