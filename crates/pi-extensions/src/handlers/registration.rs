//! Handles registrations of extensions that are already loaded.

use pi_ext::HostError;
use pi_providers::{ProviderLayer, RefreshOptions};
use serde_json::Value;

use super::Caller;
use crate::bridge::host_error;
use crate::calls::{RegistrationCalls, RendererKind};
use crate::mcp_servers::McpServerData;
use crate::registration::{CommandData, ProviderData, ShortcutData, ToolData, VirtualModelData};
use crate::virtual_model;

impl RegistrationCalls for Caller<'_> {
    fn register_tool(&self, extension: String, tool: ToolData) -> Result<(), HostError> {
        let (session, extensions) = (self.bridge.session()?, self.bridge.extensions()?);
        session.register_tool(extensions.tool(&extension, &tool));
        let tools = &mut self.bridge.registry().tools;
        tools.retain(|(_, known)| known.name != tool.name);
        tools.push((extension, tool));
        Ok(())
    }

    fn register_command(&self, extension: String, command: CommandData) -> Result<(), HostError> {
        let mut registry = self.bridge.registry();
        if let Some(source_info) = registry.sources.get(&extension).cloned() {
            registry.add_command(&extension, &source_info, command);
        }
        Ok(())
    }

    fn register_shortcut(
        &self,
        extension: String,
        shortcut: ShortcutData,
    ) -> Result<(), HostError> {
        self.bridge.registry().add_shortcut(&extension, shortcut);
        Ok(())
    }

    fn register_renderer(
        &self,
        kind: RendererKind,
        custom_type: Option<String>,
    ) -> Result<(), HostError> {
        let mut registry = self.bridge.registry();
        let custom_type = custom_type.unwrap_or_default();
        match kind {
            RendererKind::Markdown => registry.transforms_markdown = true,
            RendererKind::Tool => {
                let extension = self.extension.unwrap_or_default();
                let renderer = &mut registry.tool_renderer;
                renderer.get_or_insert_with(|| extension.to_owned());
            }
            RendererKind::Entry => {
                registry.entry_renderers.insert(custom_type);
            }
            RendererKind::Message => {
                registry.message_renderers.insert(custom_type);
            }
        }
        Ok(())
    }

    fn register_provider(
        &self,
        extension: String,
        provider: ProviderData,
    ) -> Result<(), HostError> {
        let extensions = self.bridge.extensions()?;
        let refresh = RefreshOptions {
            providers: Some(vec![provider.name.clone()]),
            ..RefreshOptions::default()
        };
        let models = self.bridge.models.clone();
        let registered = extensions.register_provider(&models, extension, provider);
        registered.map_err(host_error)?;
        self.bridge
            .begin(async move { drop(models.refresh(refresh).await) });
        Ok(())
    }

    fn remove_provider(&self, name: String) -> Result<(), HostError> {
        let models = &self.bridge.models;
        models.unregister(&name, ProviderLayer::Extension);
        Ok(())
    }

    fn register_virtual_model(
        &self,
        extension: String,
        model: VirtualModelData,
    ) -> Result<(), HostError> {
        let extensions = self.bridge.extensions()?;
        let models = &self.bridge.models;
        virtual_model::register(&extensions.0, models, extension, model).map_err(host_error)
    }

    fn remove_virtual_model(&self, provider: String, id: String) -> Result<(), HostError> {
        self.bridge.models.unregister_virtual(&provider, &id);
        Ok(())
    }

    fn register_mcp_server(
        &self,
        extension: String,
        name: String,
        config: Value,
    ) -> Result<(), HostError> {
        self.bridge.check_not_stale()?;
        {
            let servers = &mut self.bridge.registry().mcp_servers;
            let registered = servers.register(extension.clone(), &name, &config);
            registered.map_err(HostError::new)?;
        }
        self.bridge.mcp_servers_changed(extension);
        Ok(())
    }

    fn remove_mcp_server(&self, extension: String, name: String) -> Result<bool, HostError> {
        self.bridge.check_not_stale()?;
        let is_removed = {
            let servers = &mut self.bridge.registry().mcp_servers;
            servers.remove(&extension, &name)
        };
        if is_removed {
            self.bridge.mcp_servers_changed(extension);
        }
        Ok(is_removed)
    }

    fn mcp_servers(&self) -> Result<Vec<McpServerData>, HostError> {
        self.bridge.check_not_stale()?;
        Ok(self.bridge.registry().mcp_servers.describe())
    }

    fn register_events(&self, events: Vec<String>) -> Result<(), HostError> {
        self.bridge.registry().events = events.into_iter().collect();
        Ok(())
    }
}
