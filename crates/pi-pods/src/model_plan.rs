//! How known models are served: arguments of vLLM, tool parsers and numbers of GPUs, from `data/model-plans.json`.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::pods_file::Pod;

const PLANS: &str = include_str!("../data/model-plans.json");

/// A model that we know how to serve.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct KnownModel {
    /// ID on the model hub.
    pub(crate) model: String,
    /// What users may write instead; the name of the running model unless they choose one.
    pub(crate) alias: String,
    /// Display name.
    pub(crate) name: String,
    /// Wire API in pi, if not Chat Completions.
    pub(crate) api: Option<String>,
    #[serde(default)]
    pub(crate) reasoning: bool,
    pub(crate) note: Option<String>,
    pub(crate) layouts: Vec<Layout>,
}

/// How a model is served on a number of GPUs.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct Layout {
    pub(crate) gpus: usize,
    /// Parts of the names of GPUs.
    pub(crate) types: Vec<String>,
    pub(crate) args: Vec<String>,
    #[serde(default)]
    pub(crate) env: BTreeMap<String, String>,
}

/// What a user asks for.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct PlanRequest {
    /// Alias, ID on the model hub, or path on the pod.
    pub(crate) model: String,
    pub(crate) gpus: Option<usize>,
    pub(crate) context: Option<u64>,
    /// Share of each GPU's memory.
    pub(crate) memory: Option<f64>,
    /// Replace all arguments that we know.
    pub(crate) arguments: Vec<String>,
}

/// How a model will be served.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ModelPlan {
    pub(crate) model: String,
    /// Name unless the user chooses one.
    pub(crate) default_name: String,
    pub(crate) display_name: String,
    pub(crate) api: Option<String>,
    pub(crate) reasoning: bool,
    pub(crate) note: Option<String>,
    /// `None` if vLLM chooses.
    pub(crate) gpus: Option<usize>,
    pub(crate) memory: Option<f64>,
    pub(crate) context: Option<u64>,
    pub(crate) arguments: Vec<String>,
    pub(crate) variables: BTreeMap<String, String>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PlanError {
    #[error(
        "\"{0}\" is neither a known model, an ID of the model hub such as org/model, nor an absolute path"
    )]
    InvalidModel(String),
    #[error("{model} has no configuration for {requested} GPUs; it can use {}", available.join(", "))]
    NoLayout {
        model: String,
        requested: usize,
        available: Vec<String>,
    },
    #[error("{model} needs {needed} GPUs, and the pod has {available}")]
    TooFewGpus {
        model: String,
        needed: usize,
        available: usize,
    },
}

/// Returns the known models.
pub(crate) fn known_models() -> Vec<KnownModel> {
    serde_json::from_str(PLANS).unwrap_or_default()
}

/// Returns how a model is served on a pod.
pub(crate) fn plan(request: &PlanRequest, pod: &Pod) -> Result<ModelPlan, PlanError> {
    let mut known = known_models().into_iter();
    let known = known.find(|known| known.alias == request.model || known.model == request.model);
    let mut plan = match known {
        Some(known) => of_known(known, request, pod)?,
        None => of_unknown(request)?,
    };
    if request.arguments.is_empty() {
        if let Some(memory) = request.memory {
            set_argument(&mut plan.arguments, MEMORY, memory.to_string());
        }
        if let Some(context) = request.context {
            set_argument(&mut plan.arguments, CONTEXT, context.to_string());
        }
        plan.memory = argument(&plan.arguments, MEMORY).and_then(|value| value.parse().ok());
    } else {
        plan.gpus = None;
        plan.memory = None;
        plan.arguments.clone_from(&request.arguments);
    }
    plan.context = argument(&plan.arguments, CONTEXT).and_then(|value| value.parse().ok());
    Ok(plan)
}

const MEMORY: &str = "--gpu-memory-utilization";
const CONTEXT: &str = "--max-model-len";

fn argument<'list>(arguments: &'list [String], name: &str) -> Option<&'list str> {
    let position = arguments.iter().position(|argument| argument == name)?;
    arguments.get(position + 1).map(String::as_str)
}

fn set_argument(arguments: &mut Vec<String>, name: &str, value: String) {
    if let Some(position) = arguments.iter().position(|argument| argument == name) {
        let end = (position + 2).min(arguments.len());
        arguments.drain(position..end);
    }
    arguments.extend([name.to_owned(), value]);
}

fn of_known(known: KnownModel, request: &PlanRequest, pod: &Pod) -> Result<ModelPlan, PlanError> {
    let layout = if request.arguments.is_empty() {
        Some(choose_layout(&known, request.gpus, pod)?)
    } else {
        None
    };
    Ok(ModelPlan {
        model: known.model,
        default_name: known.alias,
        display_name: known.name,
        api: known.api,
        reasoning: known.reasoning,
        note: known.note,
        gpus: layout.as_ref().map(|layout| layout.gpus),
        memory: None,
        context: None,
        arguments: layout
            .as_ref()
            .map(|layout| layout.args.clone())
            .unwrap_or_default(),
        variables: layout.map(|layout| layout.env).unwrap_or_default(),
    })
}

/// Prefers layouts for the type of the pod's GPUs, and of those the one with the fewest GPUs: others stay free.
fn choose_layout(
    known: &KnownModel,
    requested: Option<usize>,
    pod: &Pod,
) -> Result<Layout, PlanError> {
    let gpu = pod.gpus.first().map_or("", |gpu| gpu.name.as_str());
    let words: Vec<&str> = gpu.split([' ', '-']).collect();
    let matches_type = |layout: &&Layout| {
        let mut types = layout.types.iter();
        types.any(|name| words.contains(&name.as_str()))
    };
    let fits = |layout: &&Layout| match requested {
        Some(count) => layout.gpus == count,
        None => layout.gpus <= pod.gpus.len(),
    };
    let fitting: Vec<&Layout> = known.layouts.iter().filter(fits).collect();
    let of_type = fitting.iter().copied().filter(|it| matches_type(it));
    let chosen = of_type.min_by_key(|layout| layout.gpus);
    let chosen = chosen.or_else(|| fitting.iter().copied().min_by_key(|layout| layout.gpus));
    if let Some(layout) = chosen {
        return Ok(layout.clone());
    }
    let mut counts: Vec<usize> = known.layouts.iter().map(|layout| layout.gpus).collect();
    counts.sort_unstable();
    counts.dedup();
    Err(match requested {
        Some(requested) => PlanError::NoLayout {
            model: known.name.clone(),
            requested,
            available: counts.iter().map(usize::to_string).collect(),
        },
        None => PlanError::TooFewGpus {
            model: known.name.clone(),
            needed: counts.first().copied().unwrap_or(1),
            available: pod.gpus.len(),
        },
    })
}

fn of_unknown(request: &PlanRequest) -> Result<ModelPlan, PlanError> {
    let model = &request.model;
    if !is_model_id(model) {
        return Err(PlanError::InvalidModel(model.clone()));
    }
    let gpus = request.gpus.unwrap_or(1);
    let arguments = if gpus > 1 {
        vec!["--tensor-parallel-size".to_owned(), gpus.to_string()]
    } else {
        Vec::new()
    };
    let last = model.rsplit('/').next().unwrap_or(model);
    Ok(ModelPlan {
        model: model.clone(),
        default_name: last.to_ascii_lowercase(),
        display_name: last.to_owned(),
        api: None,
        reasoning: false,
        note: None,
        gpus: Some(gpus),
        memory: None,
        context: None,
        arguments,
        variables: BTreeMap::new(),
    })
}

/// Whether a text is an ID of the model hub or an absolute path, in characters that need no quoting.
fn is_model_id(text: &str) -> bool {
    let is_part = |part: &str| {
        let is_allowed = |it: char| it.is_ascii_alphanumeric() || matches!(it, '.' | '_' | '-');
        !part.is_empty()
            && part.chars().all(is_allowed)
            && !part.starts_with('-')
            && !matches!(part, "." | "..")
    };
    let (is_path, rest) = match text.strip_prefix('/') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let parts = rest.split('/').count();
    text.len() <= 256 && rest.split('/').all(is_part) && (is_path || parts == 2)
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::pods_file::Gpu;

    fn pod(name: &str, count: u32) -> Pod {
        let gpu = |id| Gpu {
            id,
            name: name.to_owned(),
            ..Gpu::default()
        };
        Pod {
            gpus: (0..count).map(gpu).collect(),
            ..Pod::default()
        }
    }

    fn request(model: &str) -> PlanRequest {
        PlanRequest {
            model: model.to_owned(),
            ..PlanRequest::default()
        }
    }

    #[test]
    fn the_table_is_complete() {
        let known = known_models();
        assert_eq!(known.len(), 12);
        for model in &known {
            assert!(is_model_id(&model.model), "{}", model.model);
            assert!(crate::pods_file::is_valid_name(&model.alias));
            assert!(!model.layouts.is_empty(), "{}", model.model);
        }
    }

    #[test]
    fn known_models_get_their_arguments() {
        let one = plan(&request("qwen"), &pod("NVIDIA H100 80GB HBM3", 4)).unwrap();
        assert_eq!(one.model, "Qwen/Qwen3-Coder-30B-A3B-Instruct");
        assert_eq!((one.gpus, one.default_name.as_str()), (Some(1), "qwen"));
        assert_eq!(
            one.arguments,
            [
                "--enable-auto-tool-choice",
                "--tool-call-parser",
                "qwen3_coder"
            ]
        );
        let mut two = request("Qwen/Qwen3-Coder-30B-A3B-Instruct");
        two.gpus = Some(2);
        two.context = Some(32_768);
        two.memory = Some(0.5);
        let two = plan(&two, &pod("NVIDIA H200", 4)).unwrap();
        assert_eq!(two.arguments[..2], ["--tensor-parallel-size", "2"]);
        assert_eq!((two.memory, two.context), (Some(0.5), Some(32_768)));
        // One H200 suffices, two H100 are needed.
        assert_eq!(
            plan(&request("glm"), &pod("NVIDIA H200", 2)).unwrap().gpus,
            Some(1)
        );
        assert_eq!(
            plan(&request("glm"), &pod("NVIDIA H100 PCIe", 2))
                .unwrap()
                .gpus,
            Some(2)
        );
        let blackwell = plan(&request("gpt-oss"), &pod("NVIDIA B200", 1)).unwrap();
        assert_eq!(blackwell.variables.len(), 4);
        assert_eq!(blackwell.api.as_deref(), Some("openai-responses"));
    }

    #[test]
    fn arguments_of_the_user_replace_ours() {
        let mut own = request("qwen");
        own.arguments = ["--tensor-parallel-size", "4", "--max-model-len", "4096"]
            .map(str::to_owned)
            .to_vec();
        own.memory = Some(0.1);
        let own = plan(&own, &pod("NVIDIA H100", 4)).unwrap();
        assert_eq!(
            (own.gpus, own.memory, own.context),
            (None, None, Some(4096))
        );
        assert_eq!(own.arguments.len(), 4);
        let mut unknown = request("org/Some-Model_7B");
        unknown.gpus = Some(2);
        let unknown = plan(&unknown, &pod("x", 2)).unwrap();
        assert_eq!(unknown.default_name, "some-model_7b");
        assert_eq!(unknown.arguments, ["--tensor-parallel-size", "2"]);
    }

    #[test]
    fn what_cannot_be_served_is_refused() {
        let error = plan(&request("kimi"), &pod("NVIDIA H200", 8)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "Kimi-K2 needs 16 GPUs, and the pod has 8"
        );
        let mut three = request("qwen");
        three.gpus = Some(3);
        let error = plan(&three, &pod("NVIDIA H200", 8)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "Qwen3-Coder-30B has no configuration for 3 GPUs; it can use 1, 2"
        );
        for hostile in [
            "",
            "qwen3",
            "a/b/c",
            "-x/y",
            "x/-y",
            "x/$(id)",
            "x/y;id",
            "x/y z",
            "../y",
            "x/..",
            "/a/../b",
            "x/'y'",
            "x/`y`",
            "x/y\n",
            "/",
            "http://x/y",
        ] {
            let error = plan(&request(hostile), &pod("x", 1)).unwrap_err();
            assert_eq!(error, PlanError::InvalidModel(hostile.to_owned()));
        }
        assert!(plan(&request("/mnt/models/own-7b"), &pod("x", 1)).is_ok());
    }
}
