//! The command `/agents`: lists agents and running sub-agents, and stops them.

use std::sync::Arc;

use pi_host::{DialogPrompt, ExtensionNotice, ExtensionUi};

use crate::child::{Child, StopCause, row};
use crate::runner::TaskRunner;

pub(crate) const COMMAND: &str = "agents";

/// Runs the command. `stop ID` and `stop all` need no dialog.
pub(crate) async fn run(runner: &TaskRunner, arguments: &str) {
    let ui = &runner.options.extensions.ui;
    let mut words = arguments.split_whitespace();
    let text = match (words.next(), words.next()) {
        (None, _) => match choose(runner, ui).await {
            Some(text) => text,
            None => return,
        },
        (Some("stop"), Some(id)) => stop(&runner.tree.running(), id),
        _ => "Usage: /agents [stop ID | stop all]".to_owned(),
    };
    let notice = ExtensionNotice::Notify {
        message: text,
        notify_type: Some("info".to_owned()),
    };
    ui.notify(notice).await;
}

/// Shows the agents; if sub-agents run, the user can choose one to stop it. Returns a text to show.
async fn choose(runner: &TaskRunner, ui: &Arc<dyn ExtensionUi>) -> Option<String> {
    let running = runner.tree.running();
    let session = runner.session().filter(|_| ui.mode().has_ui());
    let Some(session) = session.filter(|_| !running.is_empty()) else {
        return Some(listing(runner, &running));
    };
    let rows: Vec<String> = running.iter().map(|child| row(&child.status())).collect();
    let prompt = DialogPrompt::Select {
        title: "Running sub-agents: choose one to stop it".to_owned(),
        options: rows.clone(),
    };
    let chosen = session.requests().ask_dialog(ui, prompt).await?;
    let index = rows.iter().position(|row| *row == chosen)?;
    Some(stop(&running, &running.get(index)?.id()))
}

fn listing(runner: &TaskRunner, running: &[Arc<Child>]) -> String {
    let agents = runner.tree.agents.iter();
    let agents = agents.map(|agent| format!("{}: {}", agent.name, agent.description));
    let running = running.iter().map(|child| row(&child.status()));
    let rows: Vec<String> = running.chain(agents).collect();
    rows.join("\n")
}

fn stop(running: &[Arc<Child>], id: &str) -> String {
    let is_meant = |child: &&Arc<Child>| id == "all" || child.id() == id;
    let meant: Vec<_> = running.iter().filter(is_meant).collect();
    for child in &meant {
        child.stop(StopCause::User);
    }
    match meant.as_slice() {
        [] => format!("No running sub-agent has the ID {id}"),
        _ => {
            let ids: Vec<_> = meant.iter().map(|child| child.id()).collect();
            format!("Stopped {}", ids.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn one_or_all_are_stopped() {
        let child = || {
            Arc::new(Child::new(
                Arc::default(),
                "p".to_owned(),
                false,
                "c".to_owned(),
                false,
            ))
        };
        let running = [child(), child()];
        let ids = running.each_ref().map(|child| child.id());
        assert_eq!(
            stop(&running, "task-x"),
            "No running sub-agent has the ID task-x"
        );
        assert_eq!(stop(&running, &ids[1]), format!("Stopped {}", ids[1]));
        assert_eq!(running[0].stop_cause(), None);
        assert_eq!(
            stop(&running, "all"),
            format!("Stopped {}, {}", ids[0], ids[1])
        );
        assert_eq!(running[0].stop_cause(), Some(StopCause::User));
    }
}
