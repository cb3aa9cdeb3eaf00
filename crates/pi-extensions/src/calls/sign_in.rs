//! Calls of an extension's sign-in code.

use super::group::calls;
use crate::sign_in::{SignInNotice, SignInPrompt};

calls! {
    trait SignInCalls {
        /// Shows a notice of a sign-in.
        call "signIn.notify" => notify_sign_in(signal as "signalId": u64, notice: SignInNotice);
        /// Shows a prompt of a sign-in and returns the response.
        request "signIn.prompt" => prompt_sign_in(
            signal as "signalId": u64,
            prompt: SignInPrompt,
        ) -> String;
    }
}
