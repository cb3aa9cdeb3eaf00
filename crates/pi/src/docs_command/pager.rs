//! Shows text in the user's pager.

use std::io::Write as _;
use std::process::{Command, Stdio};

use pi_ai::Env;

/// The pager, as git and man know it.
const PAGER: &str = "PAGER";

/// Shows the text; `false` if there is no pager, so that nothing was shown.
pub(super) fn show(text: &str, env: &Env) -> bool {
    let chosen = env.var(PAGER).filter(|pager| !pager.trim().is_empty());
    let mut command = match chosen.as_deref().map(str::trim) {
        Some("cat") => return false,
        Some(pager) if cfg!(unix) => {
            let mut shell = Command::new("sh");
            shell.args(["-c", pager]);
            shell
        }
        Some(pager) => Command::new(pager),
        None => Command::new("less"),
    };
    if env.var("LESS").is_none() {
        // Ends by itself when all fits the screen, keeps colors, leaves the text on the screen.
        command.env("LESS", "FRX");
    }
    let Ok(mut child) = command.stdin(Stdio::piped()).spawn() else {
        return false;
    };
    if let Some(mut input) = child.stdin.take() {
        // A reader who leaves early has read enough.
        input.write_all(text.as_bytes()).ok();
    }
    // A shell that does not find the pager ends with 127.
    child.wait().is_ok_and(|status| status.code() != Some(127))
}
