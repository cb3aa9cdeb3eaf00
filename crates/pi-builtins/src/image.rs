//! The built-in extension `image`: a tool with which a model generates pictures. Only sessions whose settings or flags name
//! it have it. The catalog of image models is read when the tool is first called.

mod files;
mod tool;

use std::sync::Arc;

use pi_config::{BuiltinExtension, SettingsStore};
use pi_host::{NativeContext, NativeExtension, NativeParts};
use pi_model_tasks::{TaskModel, find_task_model, image_definition_problem, task_models};
use pi_protocol::ModelKind;
use pi_providers::Models;

use self::tool::ImageTool;

pub(crate) const EXTENSION: NativeExtension = NativeExtension::new(BuiltinExtension::Image, load);

fn load(context: &NativeContext<'_>) -> NativeParts {
    let choice = ModelChoice {
        models: context.workspace.models.clone(),
        settings: context.workspace.settings.clone(),
    };
    NativeParts {
        tools: vec![ImageTool::new(Arc::new(choice)).registered()],
        ..NativeParts::default()
    }
}

/// Where the tool finds its model.
struct ModelChoice {
    models: Models,
    settings: SettingsStore,
}

impl ModelChoice {
    /// Returns the model of the setting, else the first one with credentials.
    fn model(&self) -> Result<TaskModel, String> {
        if let Some(name) = &self.settings.settings().images.model {
            let found = name.split_once('/').and_then(|(provider, id)| {
                find_task_model(&self.models, ModelKind::Image, provider, id)
            });
            return found.ok_or_else(|| {
                self.explained(format!(
                    "The setting images.model names {name}, which is no image model."
                ))
            });
        }
        let listed = task_models(&self.models, ModelKind::Image, None).into_iter();
        let mut available =
            listed.filter(|model| self.models.auth_status(&model.provider).is_some());
        available.next().ok_or_else(|| {
            self.explained("No image model is available: its provider needs a key.".to_owned())
        })
    }

    fn explained(&self, problem: String) -> String {
        match image_definition_problem(&self.models) {
            Some(cause) => format!("{problem} {cause}"),
            None => problem,
        }
    }
}
