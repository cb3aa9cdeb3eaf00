//! Application keys at the prompt.

use pi_host::CycleDirection;
use pi_protocol::Delivery;
use pi_tui::action;
use pi_views::keys;

use super::App;
use super::command::AppCommand;
use super::message::AppMsg;
use crate::ExitReason;
use crate::controllers::appearance::AppearanceMsg;
use crate::controllers::dialogs::{DialogMsg, DialogRequest};
use crate::controllers::models::ModelMsg;
use crate::controllers::prompt::PromptMsg;
use crate::controllers::terminal::{EditTarget, TerminalMsg};
use crate::prompt::editor_area::ACTIONS;
use crate::transcript::TranscriptMsg;

impl App {
    pub(super) fn perform_action(&mut self, action: &'static str) {
        match action {
            keys::EXIT => self.quit(ExitReason::Quit),
            keys::MESSAGE_COPY => self.perform(AppCommand::CopyAnswer),
            keys::MESSAGE_FOLLOW_UP => {
                let (text, messages) = self.display.take_prompt();
                for message in messages {
                    self.route(message);
                }
                let delivery = Delivery::FollowUp;
                self.route(PromptMsg::Submitted { text, delivery });
            }
            keys::EDITOR_EXTERNAL => {
                let text = self.display.expanded_prompt();
                let target = EditTarget::Prompt;
                self.route(TerminalMsg::Edit { text, target });
            }
            keys::PROMPT_STASH => {
                let text = self.display.expanded_prompt();
                self.route(PromptMsg::Stash(text));
            }
            action => match message(action) {
                Some(message) => self.route(message),
                None => tracing::warn!(action, "action has no effect at the prompt"),
            },
        }
    }

    /// Performs an application action triggered in an extension's editor.
    pub(super) fn perform_action_by_name(&mut self, action: &str) {
        let known = ACTIONS.iter().chain([&keys::EXIT]);
        if let Some(action) = known.copied().find(|known| *known == action) {
            self.perform_action(action);
        }
    }
}

/// Returns the message that an action sends.
fn message(action: &str) -> Option<AppMsg> {
    Some(match action {
        action::EDITOR_PAGE_UP => TerminalMsg::EnterScrollback.into(),
        keys::INTERRUPT => TerminalMsg::Interrupt.into(),
        keys::CLEAR => PromptMsg::Clear.into(),
        keys::SUSPEND => TerminalMsg::Suspend.into(),
        keys::THINKING_CYCLE => ModelMsg::CycleThinking.into(),
        keys::MODEL_CYCLE_FORWARD => ModelMsg::Cycle(CycleDirection::Forward).into(),
        keys::MODEL_CYCLE_BACKWARD => ModelMsg::Cycle(CycleDirection::Backward).into(),
        keys::TOOLS_EXPAND => TranscriptMsg::ToggleExpanded.into(),
        keys::THINKING_TOGGLE => AppearanceMsg::ToggleThinking.into(),
        keys::MESSAGE_DEQUEUE => PromptMsg::Dequeue.into(),
        keys::PROMPT_HISTORY => PromptMsg::SearchHistory.into(),
        keys::PALETTE => DialogMsg::Open(DialogRequest::Palette).into(),
        keys::CLIPBOARD_PASTE_IMAGE => TerminalMsg::Paste.into(),
        keys::MODEL_SELECT => slash("/model"),
        keys::SESSION_NEW => slash("/new"),
        keys::SESSION_TREE => slash("/tree"),
        keys::SESSION_FORK => slash("/fork"),
        keys::SESSION_RESUME => slash("/resume"),
        _ => return None,
    })
}

/// Runs a command as if it had been typed.
fn slash(text: &'static str) -> AppMsg {
    PromptMsg::RunCommand(text).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_of_the_prompt_has_an_effect() {
        let direct = [
            keys::EXIT,
            keys::MESSAGE_COPY,
            keys::MESSAGE_FOLLOW_UP,
            keys::EDITOR_EXTERNAL,
            keys::PROMPT_STASH,
        ];
        for action in ACTIONS.iter().filter(|action| !direct.contains(action)) {
            assert!(message(action).is_some(), "{action}");
        }
    }
}
