//! Calls of `models`: lists of models, and tasks of models that do not chat.

use futures_util::future::BoxFuture;
use pi_protocol::Usage;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

/// The functions of `models`.
pub(crate) const MODEL_FUNCTIONS: [&str; 5] = [
    "getModelsOfType",
    "getAvailableOfType",
    "getModelOfType",
    "classify",
    "generateImages",
];

/// Number of tasks that a script may run at the same time.
pub(crate) const MAX_TASKS: usize = 4;

/// The models that scripts may use.
pub trait ModelDirectory: Send + Sync {
    /// Returns the models of a type, without secrets, as JSON. With `only_available`, those whose provider has
    /// credentials.
    fn models(&self, kind: &str, provider: Option<&str>, only_available: bool) -> Vec<Value>;

    /// Prepares a task; the error is for the script.
    fn prepare(&self, task: ModelTask) -> Result<BoxFuture<'static, ModelTaskResult>, String>;
}

/// What a model that does not chat is asked.
#[derive(Debug)]
pub struct ModelTask {
    pub kind: ModelTaskKind,
    pub provider: String,
    pub id: String,
    pub context: Value,
    pub cancel: CancellationToken,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelTaskKind {
    Classify,
    GenerateImages,
}

/// The result of a task, which may be a failure.
#[derive(Debug)]
pub struct ModelTaskResult {
    /// What the script receives.
    pub value: Value,
    pub usage: Option<Usage>,
    pub error: Option<String>,
}

impl ModelTask {
    /// Reads the arguments of a call; `None` if the function is no task.
    pub(crate) fn read(
        function: &str,
        arguments: &[Value],
        cancel: CancellationToken,
    ) -> Option<Result<Self, String>> {
        let kind = match function {
            "models.classify" => ModelTaskKind::Classify,
            "models.generateImages" => ModelTaskKind::GenerateImages,
            _ => return None,
        };
        let model = arguments.first();
        let text = |key: &str| Some(model?.get(key)?.as_str()?.to_owned());
        let (Some(provider), Some(id)) = (text("provider"), text("id")) else {
            let error = format!("{function}(model, context) needs a model with provider and id");
            return Some(Err(error));
        };
        Some(Ok(Self {
            kind,
            provider,
            id,
            context: arguments.get(1).cloned().unwrap_or_default(),
            cancel,
        }))
    }
}

/// Answers a question about models; `None` is `undefined`.
pub(crate) fn list_models(
    function: &str,
    arguments: &[Value],
    directory: Option<&dyn ModelDirectory>,
) -> Result<Option<Value>, String> {
    let text = |position: usize| arguments.get(position).and_then(Value::as_str);
    let kind = text(0).filter(|it| ["chat", "image", "classifier"].contains(it));
    let kind = kind.ok_or_else(|| {
        format!("models.{function}() needs the type \"chat\", \"image\" or \"classifier\"")
    })?;
    let list = |provider, only_available| {
        directory.map_or_else(Vec::new, |it| it.models(kind, provider, only_available))
    };
    match function {
        "getModelsOfType" => Ok(Some(list(text(1), false).into())),
        "getAvailableOfType" => Ok(Some(list(text(1), true).into())),
        "getModelOfType" => {
            let (Some(provider), Some(id)) = (text(1), text(2)) else {
                return Err("models.getModelOfType(type, provider, id) needs three strings".into());
            };
            let mut models = list(Some(provider), false).into_iter();
            Ok(models.find(|model| model.get("id").and_then(Value::as_str) == Some(id)))
        }
        _ => Err(format!("unknown function models.{function}")),
    }
}
