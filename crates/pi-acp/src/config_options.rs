//! The options of a session that a client shows: model, thinking level, mode, auto-compaction.

use std::sync::Arc;

use pi_host::AgentSession;
use pi_protocol::{Command, JsonRpcError, Model};
use serde_json::{Value, json};

use crate::backing::Backing;
use crate::capabilities::ClientCapabilities;
use crate::modes::{self, MODE};
use crate::params;
use crate::session::AcpSession;

const MODEL: &str = "model";
const THINKING: &str = "thinking";
const COMPACTION: &str = "compaction";

/// Returns the options with their current values.
pub(crate) fn config_options(
    backing: &Backing,
    client: ClientCapabilities,
    is_planning: bool,
) -> Value {
    let session = &backing.session();
    let selection = session.selection();
    let mut options = Vec::new();
    if let Some(model) = selection.model() {
        options.push(json!({
            "type": "select",
            "id": MODEL,
            "name": "Model",
            "category": "model",
            "currentValue": model_value(&model),
            "options": model_groups(session, &model),
        }));
        let levels = selection.available_thinking_levels();
        if levels.len() > 1 {
            let levels = levels.iter().map(|level| {
                let name = level.as_str();
                json!({"value": name, "name": name})
            });
            options.push(json!({
                "type": "select",
                "id": THINKING,
                "name": "Thinking",
                "category": "thought_level",
                "currentValue": selection.thinking_level().as_str(),
                "options": levels.collect::<Vec<_>>(),
            }));
        }
    }
    options.extend(modes::option(backing, is_planning));
    if client.boolean_options {
        options.push(json!({
            "type": "boolean",
            "id": COMPACTION,
            "name": "Auto-compact",
            "description": "Summarize earlier messages when the context is full",
            "currentValue": session.compaction().is_automatic(),
        }));
    }
    Value::Array(options)
}

pub(crate) fn model_value(model: &Model) -> String {
    format!("{}/{}", model.provider, model.id)
}

/// Returns the models by provider; those of the scope come first.
fn model_groups(session: &AgentSession, current: &Arc<Model>) -> Vec<Value> {
    let mut groups: Vec<(String, String, Vec<Value>)> = Vec::new();
    let mut push = |group: &str, name: &str, model: &Model| {
        let option = json!({"value": model_value(model), "name": model.name});
        match groups.iter_mut().find(|(id, ..)| id == group) {
            Some((_, _, options)) => options.push(option),
            None => groups.push((group.to_owned(), name.to_owned(), vec![option])),
        }
    };
    let scoped = session.selection().scoped_models();
    for scoped in &scoped {
        push("scoped", "Selected models", &scoped.model);
    }
    let available = session.models().available();
    let is_scoped = |model: &Model| scoped.iter().any(|scoped| scoped.model.is_same(model));
    for model in available.iter().filter(|model| !is_scoped(model)) {
        push(&model.provider, &model.provider, model);
    }
    if !is_scoped(current) && !available.iter().any(|model| model.is_same(current)) {
        push(&current.provider, &current.provider, current);
    }
    let groups = groups
        .into_iter()
        .map(|(group, name, options)| json!({"group": group, "name": name, "options": options}));
    groups.collect()
}

/// Changes an option.
pub(crate) async fn set_config_option(
    session: &AcpSession,
    params: &Value,
) -> Result<(), JsonRpcError> {
    let backing = &session.backing;
    let command = match params::text(params, "configId")? {
        MODEL => set_model(params::text(params, "value")?)?,
        THINKING => {
            let level = params::text(params, "value")?;
            let levels = backing.session().selection().available_thinking_levels();
            if !levels.iter().any(|known| known.as_str() == level) {
                let problem = "must be a thinking level of the model";
                return Err(JsonRpcError::invalid_params("value", problem));
            }
            Command::SetThinkingLevel {
                level: level.to_owned(),
            }
        }
        MODE => return modes::select(session, params::text(params, "value")?).await,
        COMPACTION => {
            let enabled = params.get("value").and_then(Value::as_bool);
            let enabled = enabled
                .ok_or_else(|| JsonRpcError::invalid_params("value", "must be true or false"))?;
            Command::SetAutoCompaction { enabled }
        }
        other => {
            let problem = format!("is not an option of this session: {other}");
            return Err(JsonRpcError::invalid_params("configId", problem));
        }
    };
    backing.submit(command).await?;
    Ok(())
}

fn set_model(value: &str) -> Result<Command, JsonRpcError> {
    let (provider, model_id) = value.split_once('/').ok_or_else(|| {
        JsonRpcError::invalid_params("value", "must have the form provider/model")
    })?;
    Ok(Command::SetModel {
        provider: provider.to_owned(),
        model_id: model_id.to_owned(),
    })
}
