//! The tool `codemode`.

use std::path::PathBuf;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use pi_core::{
    LoadoutChanges, ReachedTools, RegisteredTool, Tool, ToolContext, ToolError, ToolExposure,
    ToolLoadout, ToolMetadata, ToolOrigin,
};
use pi_protocol::json::JsonObject;
use pi_protocol::settings::CodemodeSettings;
use pi_protocol::{ConstrainedSampling, GrammarVariants, Tool as ToolDeclaration, ToolOutput};
use serde_json::{Value, json};

use crate::description::{prepare_loadout, tool_description};
use crate::model_calls::ModelDirectory;
use crate::run::run_script;
use crate::workers::WorkerSlots;

/// The name of the tool and of its built-in extension.
pub(crate) const NAME: &str = "codemode";

/// Any text, with the options line as a separate token.
const GRAMMAR: &str = r"
start: (OPTIONS LINE_END)? SCRIPT
OPTIONS: /[ \t]*\/\/ @options:[^\r\n]*/
LINE_END: /\r?\n/
SCRIPT: /[\s\S]+/
";

/// Globals with which a script finds tools that its source does not name.
const DISCOVERY: [&str; 4] = [
    "searchTools",
    "describeNamespace",
    "describeTool",
    "ALL_TOOLS",
];

/// What the tool uses of its session and its process.
#[derive(Clone)]
pub struct CodemodeOptions {
    /// Returns the current settings.
    pub settings: Arc<dyn Fn() -> CodemodeSettings + Send + Sync>,
    pub models: Option<Arc<dyn ModelDirectory>>,
    pub workers: WorkerSlots,
    /// Where images, and output that is too long, are saved.
    pub directory: PathBuf,
}

/// Returns the tool, inactive until flags, settings or a session name it.
pub fn codemode(options: CodemodeOptions) -> RegisteredTool {
    let tool = Codemode {
        declaration: ToolDeclaration {
            name: NAME.to_owned(),
            description: tool_description(&[], 0),
            parameters: json!({
                "type": "object",
                "required": ["code"],
                "properties": {"code": {"type": "string", "description": "JavaScript source."}},
            }),
            constrained_sampling: Some(ConstrainedSampling::Grammar(GrammarVariants {
                openai_lark: Some(GRAMMAR.to_owned()),
                ..GrammarVariants::default()
            })),
            extra: JsonObject::new(),
        },
        options,
    };
    RegisteredTool {
        tool: Arc::new(tool),
        origin: ToolOrigin::Builtin,
        snippet: Some("Run JavaScript that calls other tools".to_owned()),
        guidelines: vec![
            "Use codemode for several calls at once, calls that depend on each other, and results \
             that only need to be filtered; call a single tool directly."
                .to_owned(),
        ],
        is_default_active: false,
        metadata: ToolMetadata {
            // A script must not start another one.
            exposure: ToolExposure::ModelOnly,
            reaches_tools: true,
            prepares_loadout: true,
            builtin_extension: Some(NAME),
            ..ToolMetadata::default()
        },
    }
}

struct Codemode {
    declaration: ToolDeclaration,
    options: CodemodeOptions,
}

impl Tool for Codemode {
    fn declaration(&self) -> &ToolDeclaration {
        &self.declaration
    }

    fn prepare_loadout(&self, loadout: ToolLoadout) -> BoxFuture<'_, LoadoutChanges> {
        let changes = prepare_loadout(&loadout, &(self.options.settings)());
        Box::pin(std::future::ready(changes))
    }

    fn reached_tools(&self, arguments: &JsonObject) -> ReachedTools {
        let code = arguments.get("code").and_then(Value::as_str);
        reached_tools(code.unwrap_or_default())
    }

    fn call(
        &self,
        cx: ToolContext,
        arguments: JsonObject,
    ) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let code = arguments.get("code").and_then(Value::as_str);
            run_script(cx, code.unwrap_or_default(), &self.options).await
        })
    }
}

/// Returns the tools that a script may call: every one if it can find out their names, else those it names.
fn reached_tools(code: &str) -> ReachedTools {
    let is_word = |character: char| character.is_ascii_alphanumeric() || character == '_';
    let words = code.split(|character| !is_word(character));
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    if words.iter().any(|word| DISCOVERY.contains(word)) {
        return ReachedTools::All;
    }
    ReachedTools::Words(words.into_iter().map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn a_script_reaches_what_it_names() {
        let words = |words: &[&str]| {
            let words = words.iter().map(|&word| word.to_owned());
            ReachedTools::Words(words.collect())
        };
        assert_eq!(
            reached_tools("await tools.mcp__docs__search({})"),
            words(&["await", "tools", "mcp__docs__search"])
        );
        assert_eq!(reached_tools("ALL_TOOLS.map(x => x)"), ReachedTools::All);
        assert_eq!(reached_tools("MY_ALL_TOOLS"), words(&["MY_ALL_TOOLS"]));
        assert_eq!(reached_tools(""), words(&[]));
    }
}
