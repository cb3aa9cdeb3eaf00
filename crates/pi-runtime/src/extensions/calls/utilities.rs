//! Diffs, token estimates, images, and the resources and settings of a directory.

use std::path::PathBuf;

use pi_config::SourceInfo;
use pi_protocol::{AgentMessage, Usage};
use serde::Serialize;
use serde_json::Value;

use super::group::calls;
use crate::extensions::handlers::{ImageInput, ResourceLookup, SummaryJob};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::extensions) struct TextDiff {
    pub(in crate::extensions) diff: String,
    pub(in crate::extensions) patch: String,
    pub(in crate::extensions) first_changed_line: Option<usize>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::extensions) struct ResizedImage {
    pub(in crate::extensions) data: String,
    pub(in crate::extensions) mime_type: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::extensions) struct SkillInfo {
    pub(in crate::extensions) name: String,
    pub(in crate::extensions) description: String,
    pub(in crate::extensions) file_path: PathBuf,
    pub(in crate::extensions) base_dir: PathBuf,
    pub(in crate::extensions) disable_model_invocation: bool,
    pub(in crate::extensions) source_info: SourceInfo,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::extensions) struct PromptTemplateInfo {
    pub(in crate::extensions) name: String,
    pub(in crate::extensions) description: String,
    pub(in crate::extensions) content: String,
    pub(in crate::extensions) file_path: PathBuf,
    pub(in crate::extensions) source_info: SourceInfo,
}

#[derive(Serialize)]
pub(in crate::extensions) struct ContextFile {
    pub(in crate::extensions) path: PathBuf,
    pub(in crate::extensions) content: String,
}

#[derive(Serialize)]
pub(in crate::extensions) struct ResourceProblem {
    #[serde(rename = "type")]
    pub(in crate::extensions) kind: &'static str,
    pub(in crate::extensions) message: String,
    pub(in crate::extensions) path: Option<PathBuf>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::extensions) struct LoadedResources {
    pub(in crate::extensions) skills: Vec<SkillInfo>,
    pub(in crate::extensions) prompts: Vec<PromptTemplateInfo>,
    pub(in crate::extensions) agents_files: Vec<ContextFile>,
    pub(in crate::extensions) system_prompt: Option<String>,
    pub(in crate::extensions) append_system_prompt: Vec<String>,
    pub(in crate::extensions) diagnostics: Vec<ResourceProblem>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::extensions) struct CompactionSummary {
    pub(in crate::extensions) summary: String,
    pub(in crate::extensions) first_kept_entry_id: Option<String>,
    pub(in crate::extensions) tokens_before: u64,
    pub(in crate::extensions) details: Option<Value>,
    pub(in crate::extensions) usage: Option<Usage>,
    /// The text of the first summary, without file lists.
    pub(in crate::extensions) text: Option<String>,
}

/// The summary of a branch; only `summary` is present if there was nothing to summarize.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::extensions) struct BranchSummaryText {
    pub(in crate::extensions) summary: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::extensions) usage: Option<Usage>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::extensions) read_files: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::extensions) modified_files: Option<Value>,
}

impl BranchSummaryText {
    pub(in crate::extensions) fn empty() -> Self {
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
