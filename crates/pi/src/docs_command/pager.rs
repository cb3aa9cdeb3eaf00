//! Shows text in the user's pager.

use std::io::Write as _;
use std::process::{Command, Stdio};

use pi_env::Env;

/// The variable that git and man use.
const PAGER: &str = "PAGER";

/// Shows the text; returns `false` if there is no pager.
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
        // Exit if everything fits the screen, keep colors, leave the text on the screen.
        command.env("LESS", "FRX");
    }
    let Ok(mut child) = command.stdin(Stdio::piped()).spawn() else {
        return false;
    };
    if let Some(mut input) = child.stdin.take() {
        // The pager may exit early.
        input.write_all(text.as_bytes()).ok();
    }
    // 127: the shell did not find the pager.
    child.wait().is_ok_and(|status| status.code() != Some(127))
}
