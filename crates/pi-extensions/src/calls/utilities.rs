//! Diffs, token estimates, images, and the resources and settings of a directory.

use std::path::PathBuf;

use pi_protocol::{AgentMessage, SourceInfo, Usage};
use serde::Serialize;
use serde_json::{Map, Value};

use super::group::calls;
use crate::handlers::{ImageInput, ResourceLookup, SummaryJob, TrustChange};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TextDiff {
    pub(crate) diff: String,
    pub(crate) patch: String,
    pub(crate) first_changed_line: Option<usize>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ResizedImage {
    pub(crate) data: String,
    pub(crate) mime_type: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SkillInfo {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) file_path: PathBuf,
    pub(crate) base_dir: PathBuf,
    pub(crate) disable_model_invocation: bool,
    pub(crate) source_info: SourceInfo,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PromptTemplateInfo {
    pub(crate) name: String,
    pub(crate) description: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) argument_hint: Option<String>,
    pub(crate) content: String,
    pub(crate) file_path: PathBuf,
    pub(crate) source_info: SourceInfo,
}

#[derive(Serialize)]
pub(crate) struct ContextFile {
    pub(crate) path: PathBuf,
    pub(crate) content: String,
}

#[derive(Serialize)]
pub(crate) struct ResourceProblem {
    #[serde(rename = "type")]
    pub(crate) kind: &'static str,
    pub(crate) message: String,
    pub(crate) path: Option<PathBuf>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LoadedResources {
    pub(crate) skills: Vec<SkillInfo>,
    pub(crate) prompts: Vec<PromptTemplateInfo>,
    pub(crate) agents_files: Vec<ContextFile>,
    pub(crate) extensions: Vec<PathBuf>,
    pub(crate) system_prompt: Option<String>,
    pub(crate) append_system_prompt: Vec<String>,
    pub(crate) diagnostics: Vec<ResourceProblem>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CompactionSummary {
    pub(crate) summary: String,
    pub(crate) first_kept_entry_id: Option<String>,
    pub(crate) tokens_before: u64,
    pub(crate) details: Option<Value>,
    pub(crate) usage: Option<Usage>,
    /// The text of the first summary, without file lists.
    pub(crate) text: Option<String>,
}

/// The summary of a branch; only `summary` is present if there was nothing to summarize.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct BranchSummaryText {
    pub(crate) summary: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) usage: Option<Usage>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) read_files: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) modified_files: Option<Value>,
}

impl BranchSummaryText {
    pub(crate) fn empty() -> Self {
        Self {
            summary: "No content to summarize".to_owned(),
            usage: None,
            read_files: None,
            modified_files: None,
        }
    }
}

calls! {
    trait UtilityCalls {
        call "utility.diff" => diff(
            before: String,
            after: String,
            path: Option<String>,
        ) -> TextDiff;
        call "utility.estimateTokens" => estimate_tokens(message: AgentMessage) -> u64;
        /// Returns whether a context is so large that it should be compacted.
        call "utility.exceedsThreshold" => exceeds_threshold(
            tokens: u64,
            context_window as "contextWindow": u64,
            reserve_tokens as "reserveTokens": u64,
        ) -> bool;
        /// Returns the MIME type of an image that models support, from its first bytes in base64.
        call "utility.imageType" => image_type(head: String) -> Option<&'static str>;
        /// Resizes an image for models; null if it cannot be made small enough.
        request "utility.resizeImage" => resize_image(
            image as "...": ImageInput,
        ) -> Option<ResizedImage>;
        /// Converts an image to PNG, in base64; null if it cannot be decoded.
        request "utility.convertToPng" => convert_to_png(data: String) -> Option<String>;
        call "utility.loadResources" => load_resources(
            lookup as "...": ResourceLookup,
        ) -> LoadedResources;
        call "utility.loadSettings" => load_settings(
            cwd: Option<PathBuf>,
            agent_dir as "agentDir": Option<PathBuf>,
        ) -> Value;
        /// Merges values into a settings file under the lock that every pi takes; null removes a key.
        call "utility.changeSettings" => change_settings(
            file: PathBuf,
            changes: Map<String, Value>,
        );
        /// Saves decisions about directories under the lock of the file.
        call "utility.saveTrust" => save_trust(
            agent_dir as "agentDir": PathBuf,
            decisions: Vec<TrustChange>,
        );
        /// Writes the summary of a prepared compaction.
        request "utility.summarizeCompaction" => summarize_compaction(
            job as "...": Box<SummaryJob>,
        ) -> CompactionSummary;
        /// Writes the summary of an abandoned branch.
        request "utility.summarizeBranch" => summarize_branch(
            job as "...": Box<SummaryJob>,
        ) -> BranchSummaryText;
    }
}
