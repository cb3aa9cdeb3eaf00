//! Registrations of extensions after they were loaded.

use serde::Deserialize;
use serde_json::Value;

use super::group::calls;
use crate::mcp_servers::McpServerData;
use crate::registration::{CommandData, ProviderData, ShortcutData, ToolData, VirtualModelData};

/// What a renderer renders.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum RendererKind {
    Message,
    Entry,
    Markdown,
    Tool,
}

calls! {
    trait RegistrationCalls {
        call "registration.tool" => register_tool(extension: String, tool: ToolData);
        call "registration.command" => register_command(extension: String, command: CommandData);
        call "registration.shortcut" => register_shortcut(
            extension: String,
            shortcut: ShortcutData,
        );
        call "registration.renderer" => register_renderer(
            kind: RendererKind,
            custom_type as "customType": Option<String>,
        );
        call "registration.provider" => register_provider(
            extension: String,
            provider: ProviderData,
        );
        call "registration.removeProvider" => remove_provider(name: String);
        call "registration.virtualModel" => register_virtual_model(
            extension: String,
            model: VirtualModelData,
        );
        call "registration.removeVirtualModel" => remove_virtual_model(provider: String, id: String);
        call "registration.mcpServer" => register_mcp_server(
            extension: String,
            name: String,
            config: Value,
        );
        /// Returns whether the extension had registered the server.
        call "registration.removeMcpServer" => remove_mcp_server(
            extension: String,
            name: String,
        ) -> bool;
        call "registration.mcpServers" => mcp_servers() -> Vec<McpServerData>;
        /// Replaces the set of events that any extension handles.
        call "registration.events" => register_events(events: Vec<String>);
    }
}
