//! Lists the extensions that run on Node, with the reason. All others run on the embedded engine.

use std::fmt::Write as _;

use pi_config::{ExtensionFile, ResourceFlags, ResourceRequest, extension_engine, load_resources};
use pi_packages::{SourceCache, node_need};
use pi_protocol::ProjectAccess;
use pi_protocol::settings::ExtensionEngine;

use super::Packages;

/// Returns a section about extensions that run on Node; empty if there are none. Reads their code without running it.
pub(super) fn section(packages: &Packages<'_>, access: ProjectAccess) -> String {
    let locations = packages.locations;
    let resources = load_resources(&ResourceRequest {
        agent_dir: locations.agent_dir.clone(),
        cwd: locations.cwd.to_owned(),
        env: locations.env.clone(),
        settings: packages.settings.clone(),
        project: access,
        flags: ResourceFlags::default(),
    });
    let settings = packages.settings.settings();
    let mut text = String::new();
    for ExtensionFile { path, .. } in &resources.extensions {
        let reason = match extension_engine(&settings, path) {
            Some(ExtensionEngine::QuickJs) => None,
            Some(ExtensionEngine::Node) => Some("set by `extensionHost`".to_owned()),
            None => node_need(&SourceCache::disabled(), path).map(|need| format!("uses {need}")),
        };
        if let Some(reason) = reason {
            // Writing to a string cannot fail.
            writeln!(text, "  {}: {reason}", path.display()).ok();
        }
    }
    if text.is_empty() {
        text
    } else {
        format!("Extensions that run on Node:\n{text}")
    }
}
