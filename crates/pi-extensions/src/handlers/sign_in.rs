//! Handles notices and prompts of sign-ins.

use pi_ext::HostError;
use tokio::sync::oneshot;

use super::Caller;
use crate::calls::{Pending, SignInCalls};
use crate::sign_in::{SignInNotice, SignInPrompt, SignInStep};

impl SignInCalls for Caller<'_> {
    fn notify_sign_in(&self, signal: u64, notice: SignInNotice) -> Result<(), HostError> {
        if let Some(steps) = self.bridge.sign_ins.lock().get(&signal) {
            // The sign-in may be over.
            steps.send(SignInStep::Show(notice)).ok();
        }
        Ok(())
    }

    fn prompt_sign_in(
        &self,
        signal: u64,
        prompt: SignInPrompt,
    ) -> Result<Pending<String>, HostError> {
        let (sender, reply) = oneshot::channel();
        let steps = self.bridge.sign_ins.lock().get(&signal).cloned();
        let is_sent =
            steps.is_some_and(|steps| steps.send(SignInStep::Ask(prompt, sender)).is_ok());
        if !is_sent {
            return Err(HostError::new("this sign-in has ended"));
        }
        Ok(Pending::new(async move {
            match reply.await {
                Ok(Some(text)) => Ok(text),
                Ok(None) | Err(_) => Err(HostError::new("Login cancelled")),
            }
        }))
    }
}
