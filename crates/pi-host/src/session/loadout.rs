//! Lets active tools change the declarations of the active tools.

use std::sync::Arc;

use pi_core::{LoadoutChanges, ToolLoadout};
use pi_protocol::Message;

use super::tools_and_prompt::ToolsAndPrompt;

impl ToolsAndPrompt<'_> {
    /// Asks the active tools that change declarations for their changes. A later tool wins.
    pub(crate) async fn prepare_loadout(self) {
        let active = self.active_names();
        let tools = self.toolset();
        let declared: Vec<_> = active.iter().filter_map(|name| tools.get(name)).collect();
        let mut changes = LoadoutChanges::default();
        if declared.iter().any(|tool| tool.metadata.prepares_loadout) {
            let loadout = ToolLoadout {
                declared: declared.iter().copied().cloned().collect(),
                callable: tools.callable(&active).cloned().collect(),
                registered: tools.tools().to_vec(),
            };
            for tool in declared {
                if tool.metadata.prepares_loadout {
                    changes.merge(tool.tool.prepare_loadout(loadout.clone()).await);
                }
            }
        }
        let mut state = self.session.0.state();
        state.loadout = changes;
        state.loadout_tools = Some(active);
    }

    /// Does the same, if the tools have changed since the last time.
    pub(super) async fn update_loadout(self) {
        let active = self.active_names();
        let is_current = self.session.0.state().loadout_tools.as_ref() == Some(&active);
        if !is_current {
            self.prepare_loadout().await;
        }
    }

    /// Removes declarations that tools hide from a request. The transcript keeps them.
    pub(super) fn hide_declarations(self, messages: &mut [Message]) {
        let loadout = self.session.0.state().loadout.clone();
        if loadout.hidden.is_empty() {
            return;
        }
        for message in messages {
            if let Message::System(system) = message {
                let system = Arc::make_mut(system);
                system.tools_added.take_if(|added| {
                    added.retain(|tool| !loadout.hides(&tool.name));
                    added.is_empty()
                });
                system.tools_removed.take_if(|removed| {
                    removed.retain(|tool| !loadout.hides(&tool.name));
                    removed.is_empty()
                });
            }
        }
    }
}
